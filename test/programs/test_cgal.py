# SPDX-License-Identifier: Apache-2.0
"""CGAL with its parallel algorithms, compiled unchanged with Corbel's headers and linked to its
scheduler, with one, two and four threads: Delaunay triangulations, which use the concurrent_vector and
more. The triangulation of points is unique, so its figures must be those of CGAL's sequential
algorithm. ./dev test --full also refines a mesh (a minute to compile)."""

import os

import common

SOURCE = os.path.join(common.HERE, "cgal_client.cpp")
HEADER = "/usr/include/CGAL/Delaunay_triangulation_3.h"
# As the sequential algorithm and CGAL on oneTBB 2023.2 print it.
TRIANGULATIONS = b"""\
inserted: 1 40000 308342 536531 268188 0.97552452063823392
removed: 1 26604 204579 355806 177830 1.1666255324150658
"""
MESH = b"valid 1, size 1, volume 1\n"


def build(compiler, target, libs, mesh):
    # -frounding-math: CGAL's interval arithmetic changes the rounding mode.
    common.run([compiler, "-std=c++17", "-O1", "-pthread", "-w", "-frounding-math", SOURCE, "-o",
                target, f"-DMESH={mesh}", "-DPARALLEL=1", "-DCGAL_LINKED_WITH_TBB",
                *("-I" + path for path in common.include_dirs()), "-L" + libs,
                "-l:" + common.SCHEDULER, "-l:" + common.CORE, "-Wl,-rpath," + libs, "-lgmp",
                "-lmpfr"], timeout=500)


def compare(scratch, compiler, libs, name, mesh, expected, counts="124"):
    program = os.path.join(scratch, name)
    build(compiler, program, libs, mesh)
    for threads in counts:
        done = common.run([program, threads], "system")
        common.same("%s with %s threads" % (name, threads), expected, done.out)
        print("%s, %s threads: %.1f s %s" % (name, threads, done.seconds, done.err.decode().strip()))


def test(scratch):
    compiler = common.require("g++", package="g++")
    if not os.path.exists(HEADER):
        common.skip("no %s (Debian package libcgal-dev)" % HEADER)
    libs = common.scheduler_dir()
    compare(scratch, compiler, libs, "triangulation", 0, TRIANGULATIONS)
    if common.FULL:
        # Not with four: on fewer processors CGAL's threads hinder each other, with any library.
        compare(scratch, compiler, libs, "mesh", 1, MESH, "12")


common.main(test)
