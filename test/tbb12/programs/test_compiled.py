# SPDX-License-Identifier: Apache-2.0
"""Programs that Debian's compiler makes of Debian's headers and -ltbb: libstdc++'s parallel algorithms;
with ./dev test --full also CGAL's triangulation (a minute to compile), which uses oneTBB's containers."""

import os

import both
from both import common

CGAL_CLIENT = os.path.join("..", "..", "programs", "cgal_client.cpp")


def test(scratch):
    common.require("g++", package="g++")
    if not os.path.exists("/usr/include/oneapi/tbb.h"):
        common.skip("no headers of oneTBB (Debian package libtbb-dev)")
    program = both.compiled("algorithms_client.cpp", scratch, "-ltbb")
    both.compare("algorithms", [program, "1000000" if common.FULL else "200000"], scratch,
                 both.result_lines, uses=["execute_and_wait", "isolate_within_arena"])
    if common.FULL and os.path.exists("/usr/include/CGAL/Delaunay_triangulation_3.h"):
        os.mkdir(os.path.join(scratch, "cgal"))
        # -frounding-math: CGAL's interval arithmetic changes the rounding mode.
        program = both.compiled(CGAL_CLIENT, os.path.join(scratch, "cgal"), "-frounding-math", "-DMESH=0",
                                "-DPARALLEL=1", "-DCGAL_LINKED_WITH_TBB", "-ltbb", "-ltbbmalloc", "-lgmp", "-lmpfr")
        both.compare("CGAL", [program, "2"], scratch, uses=["execute_and_wait", "allocate_memory"])


common.main(test)
