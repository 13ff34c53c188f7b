# SPDX-License-Identifier: Apache-2.0
"""A C++ program with threads and exceptions on Corbel: preloaded, preloaded under the name of the
original, linked as a shared library, linked statically. The output is the same each time."""

import os

import common

SOURCE = os.path.join(common.HERE, "threads_and_exceptions.cpp")


def build(compiler, target, *link):
    done = common.run([compiler, "-std=c++17", "-O2", "-pthread", SOURCE, "-o", target, *link],
                      timeout=120)
    common.same("the compiler's messages", b"", done.out + done.err)


def test(scratch):
    compiler = common.require("g++", package="g++")
    libs = common.lib_dir()
    plain = os.path.join(scratch, "plain")
    build(compiler, plain)
    expected = common.run([plain], "system")
    common.same("standard error", b"", expected.err)
    common.bound_to_corbel(common.bindings([plain], "proxy", scratch))

    def compare(what, program, mode, library):
        done = common.run([program, "maps"], mode)
        common.same("output, " + what, expected.out, done.out)
        if library:
            common.check(library.encode() in done.err, "%s: %s is not in the process" % (what, library))
        print("%s: %.1f s" % (what, done.seconds))

    compare("preloaded", plain, "proxy", common.PROXY)
    compare("preloaded drop-in", plain, "dropin_proxy", common.DROPIN_PROXY)

    shared = os.path.join(scratch, "shared")
    build(compiler, shared, "-Wl,--no-as-needed", "-L" + libs, "-l:" + common.PROXY, "-Wl,-rpath," + libs)
    compare("linked with the shared library", shared, "system", common.PROXY)

    archive = os.path.join(libs, "libcorbelmalloc_proxy.a")
    if os.path.exists(archive):
        static = os.path.join(scratch, "static")
        build(compiler, static, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive")
        compare("linked with the static library", static, "system", None)
    else:
        raise common.Failure("no " + archive)


common.main(test)
