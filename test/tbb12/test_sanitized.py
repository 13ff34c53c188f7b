# SPDX-License-Identifier: Apache-2.0
"""The programs of this folder with a sanitizer, in the library and in what they compile of oneTBB's
headers. Its reports fail the test."""

import os

import clients
import onetbb
import test_life
import test_plugin
from onetbb import common

# Of graphs and containers, little is in the library.
CLIENTS = ["algorithms", "arenas", "blocks", "groups", "locks", "pipelines", "random"]
KINDS = os.environ.get("CORBEL_SANITIZE", "")
COMPILER = os.environ.get("CORBEL_CXX")  # that of the library, whose runtime it shares
# vptr: the flow graph of oneTBB's headers casts a task to its class after the task's destructor. It
# only passes the address on, to have its memory freed.
FLAGS = ["-O0", "-g1", "-fsanitize=" + KINDS, "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
FLAGS += ["-fno-sanitize=vptr"] if "undefined" in KINDS else []
# The thread sanitizer refuses threads in the child of a fork.
EXTRA = {"TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "") + ":die_after_fork=0"}


def test(scratch):
    programs = test_life.Programs(scratch, FLAGS, COMPILER)
    of_clients = clients.compiled(programs.headers, programs.theirs, scratch, CLIENTS, COMPILER, FLAGS)
    programs.build("exceptions", "ends", "fork", "handles", "suspends", "enqueues",
                   "observers", "controls", "contexts", ["plugin", "-shared", "-fPIC"])

    def run(name, *words, expect=0):
        return programs.run(name, programs.ours, *words, expect=expect, env=EXTRA)

    for _ in range(5 if common.FULL else 1):
        for name in of_clients:
            common.check(run(name).out.endswith(b"end\n"), name + " did not reach its end")
        for name in "handles", "enqueues", "observers", "controls", "contexts":
            run(name)
        run("controls", "alone")
        run("suspends", "more")
        test_life.check_children(run("fork").out)
        run("exceptions", programs.path("plugin"))
    for way, code in test_life.WAYS.items():
        run("ends", way, expect=code)
    program = test_plugin.build(scratch, FLAGS, COMPILER)
    common.same("the output", test_plugin.EXPECTED, test_plugin.run(scratch, program).out.decode())


common.main(test)
