# SPDX-License-Identifier: Apache-2.0
"""A program that is compiled with oneTBB's headers prints the same on oneTBB's library and on
Corbel's, ten times, also on one processor."""

import os

import onetbb
from onetbb import common

SOURCE = os.path.join(onetbb.HERE, "interface_client.cpp")


def test(scratch):
    compiler = common.require("g++", package="g++")
    headers, library = onetbb.folders()
    program = os.path.join(scratch, "client")
    common.run([compiler, "-std=c++17", "-O1", "-pthread", "-w", SOURCE, "-o", program,
                "-isystem", headers, os.path.join(library, onetbb.LIBRARY)], timeout=300)
    expected = common.run([program], {"LD_LIBRARY_PATH": library}).out
    common.check(expected.endswith(b"end\n"), "the program did not reach its end on oneTBB")
    own = {"LD_LIBRARY_PATH": onetbb.ours()}
    for _ in range(10):
        done = common.run([program], own)
        common.same("the output", expected, done.out)
        common.same("standard error", b"", done.err)
    done = common.run(["taskset", "-c", "0", program], own)
    common.same("the output on one processor", expected, done.out)


if __name__ == "__main__":
    common.main(test)
