# SPDX-License-Identifier: Apache-2.0
"""A plug-in compiled with oneTBB's headers in a program compiled with Corbel's: one scheduler."""

import os
import re

import onetbb
from onetbb import common

FOLDER = os.path.join(onetbb.HERE, "plugin")
EXPECTED = """\
together: 3
of the process: 1
nested: 8000
no more than three at a time: 1
no more than three threads: 1
of the process: 1
both at the same time: 1
of the process: 1
the same limit: 1
the program's: 2
the plug-in's: 1
one thread: 1
the program's again: 2
the same limit again: 1
through the plug-in: from the program
through the program: from the plug-in
through an arena: from the program
the program's reaches the plug-in: 1
and both see it: 1
the plug-in's reaches the program: 1
the same width: 1
wrong in arenas: 0
waits in isolation: 8
wrong in isolation: 0
the plug-in ends the workers: 1
nested: 8000
no more than three at a time: 1
no more than three threads: 1
of the process: 1
the program does: 1
"""


def build(scratch, flags=(), compiler=None):
    compiler = compiler or common.require("g++", package="g++")
    headers, library = onetbb.folders()
    plugin, program = os.path.join(scratch, "libplugin.so"), os.path.join(scratch, "program")
    options = [compiler, "-O1", "-pthread", "-w", *flags]
    common.run([*options, "-std=c++17", "-shared", "-fPIC", os.path.join(FOLDER, "plugin.cpp"), "-o", plugin,
                "-isystem", headers, os.path.join(library, onetbb.LIBRARY)], timeout=300)
    includes = [word for folder in common.include_dirs() for word in ("-I", folder)]
    common.run([*options, "-std=c++20", os.path.join(FOLDER, "program.cpp"), "-o", program, *includes, plugin,
                common.library(common.SCHEDULER), "-Wl,--allow-shlib-undefined"], timeout=300)
    return program


def run(scratch, program, *words, **more):
    folders = [scratch, onetbb.ours(), common.lib_dir()]
    return common.run([program, *words], {"LD_LIBRARY_PATH": ":".join(folders)}, **more)


def trace(scratch, program):
    text = run(scratch, program, "tasks", env={"CORBEL_TRACE": "summary"}).err.decode()
    found = re.search(r"work ([\d.]+) ms.* (\d+) tasks taken up", text)
    common.check(found and float(found[1]) > 0 and int(found[2]) >= 300,
                 "not all of 300 tasks are in the trace: " + text)


def test(scratch):
    program = build(scratch)
    for _ in range(10):
        common.same("the output", EXPECTED, run(scratch, program).out.decode())
    trace(scratch, program)


if __name__ == "__main__":
    common.main(test)
