# SPDX-License-Identifier: Apache-2.0
"""Thrust with its TBB back end, compiled unchanged with Corbel's headers and linked to its
scheduler, with one, two and four threads. The output must be that of Thrust's serial back end."""

import os

import common

SOURCE = os.path.join(common.HERE, "thrust_client.cpp")
HEADER = "/usr/include/thrust/version.h"


def build(compiler, target, system, *more):
    common.run([compiler, "-std=c++17", "-O1", "-pthread", "-w", SOURCE, "-o", target,
                "-DTHRUST_HOST_SYSTEM=THRUST_HOST_SYSTEM_CPP",
                "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_" + system, *more], timeout=300)


def test(scratch):
    compiler = common.require("g++", package="g++")
    if not os.path.exists(HEADER):
        common.skip("no %s (Debian package libthrust-dev)" % HEADER)
    libs = common.scheduler_dir()
    serial = os.path.join(scratch, "serial")
    build(compiler, serial, "CPP")
    expected = common.run([serial, "1"], "system").out
    common.check(expected.count(b"\n") == 16, "the serial program printed %r" % expected)

    parallel = os.path.join(scratch, "parallel")
    build(compiler, parallel, "TBB", *("-I" + path for path in common.include_dirs()),
          "-L" + libs, "-l:" + common.SCHEDULER, "-Wl,-rpath," + libs)
    for threads in "124":
        done = common.run([parallel, threads], "system")
        common.same("the output with %s threads" % threads, expected, done.out)
        common.same("standard error with %s threads" % threads, b"", done.err)
        print("%s threads: %.1f s" % (threads, done.seconds))


common.main(test)
