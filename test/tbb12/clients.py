# SPDX-License-Identifier: Apache-2.0
"""The programs in clients/: compiled with some version of oneTBB's headers, they print the same on
that version's library and on Corbel's."""

import concurrent.futures
import os

import onetbb
from onetbb import common

FOLDER = os.path.join(onetbb.HERE, "clients")
ALL = sorted(name[:-4] for name in os.listdir(FOLDER) if name.endswith(".cpp"))
SECONDS = 60  # of one run


def compiled(headers, library, scratch, names=ALL, compiler=None, more=()):
    """The paths of the programs, which are compiled side by side, by name."""
    compiler = compiler or common.require("g++", package="g++")
    flags = [compiler, *onetbb.FLAGS, "-isystem", headers, *more]
    if common.run([compiler, "-dumpmachine"]).out.startswith(b"x86_64"):
        flags.append("-mrtm")  # the speculative locks are in the library
    # The header of all of them is compiled once. -include finds it before the one beside the sources.
    header = os.path.join(scratch, "client.hpp")
    os.symlink(os.path.join(FOLDER, "client.hpp"), header)
    common.run([*flags, "-x", "c++-header", header, "-o", header + ".gch"], timeout=300)

    def compile_one(name):
        program = os.path.join(scratch, name)
        common.run([*flags, "-include", header, os.path.join(FOLDER, name + ".cpp"), "-o", program,
                    os.path.join(library, onetbb.LIBRARY), "-Wl,-rpath-link," + common.lib_dir()],
                   timeout=300)
        return program

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(names, pool.map(compile_one, names)))


def compare(programs, library, runs=1, what=""):
    """Runs each program on `library` and, `runs` times and also on one processor, on Corbel's."""
    own = {"LD_LIBRARY_PATH": onetbb.ours()}
    for name, program in programs.items():
        expected = onetbb.theirs([program], library, timeout=SECONDS).out
        common.check(expected.endswith(b"end\n"), "%s did not reach its end on oneTBB" % name)
        common.same("the output of " + name, expected, onetbb.corbels([program], timeout=SECONDS).out)
        one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
        for prefix in [[]] * (runs - 1) + [one]:
            done = common.run([*prefix, program], own, timeout=SECONDS)
            common.same(" ".join(["the output of", *prefix, name, what]), expected, done.out)
            common.same("standard error", b"", done.err)
