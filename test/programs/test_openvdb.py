# SPDX-License-Identifier: Apache-2.0
"""OpenVDB's headers, compiled unchanged with Corbel's headers and linked to its scheduler, with one,
two and four threads: level sets are filtered and become surfaces. What comes out must be what came
out with oneTBB. ./dev test --full also makes a level set of a surface.

libopenvdb-dev depends on oneTBB's headers, which would hide a header that Corbel lacks: ./dev unpacks
the package instead of installing it (scripts/dev/packages.sh)."""

import glob
import os

import common

SOURCE = os.path.join(common.HERE, "openvdb_client.cpp")
PACKAGE = os.path.join(common.HERE, "..", "..", "build", "unpacked", "libopenvdb-dev")
LIBRARY = "/usr/lib/*/libopenvdb.so.10.0"
# As the program prints it that was compiled with the headers of oneTBB 2023.2.
FILTERED = b"""\
ball: 120414 voxels, 55636 inside, values 81321288
joined: 158794 voxels, 73232 inside, values -392711037
gaussian: 157644 voxels, 73842 inside, values 46838513
mean: 157338 voxels, 73468 inside, values -3997035
median: 154408 voxels, 72146 inside, values 21611970
laplacian: 154276 voxels, 72242 inside, values 67673592
curvature: 153188 voxels, 71810 inside, values 119142736
offset: 165224 voxels, 78614 inside, values 56408132
area 6918.0, volume 44137.3
surface: 41140 points, 0 triangles, 41138 quads, 6123704.45
adaptive surface: 361 points, 130 triangles, 294 quads, 38054.45
"""
CONVERTED = b"""\
converted: 43524 voxels, 19118 inside, values 133915512
gradient: 43524 voxels, 40826646
"""


def test(scratch):
    compiler = common.require("g++", package="g++")
    headers = os.path.join(PACKAGE, "usr", "include")
    library = next(iter(glob.glob(LIBRARY)), None)
    if not library or not os.path.isdir(headers):
        common.skip("no OpenVDB 10.0 (./dev test unpacks it on Debian 12)")
    libs = common.scheduler_dir()
    program = os.path.join(scratch, "program")
    common.run([compiler, "-std=c++17", "-O1", "-pthread", "-w", SOURCE, "-o", program,
                f"-DCONVERT={int(common.FULL)}", *("-I" + path for path in common.include_dirs()),
                "-isystem", headers, "-isystem", "/usr/include/Imath", "-L" + libs,
                "-l:" + common.SCHEDULER, "-l:" + common.CORE, library, "-Wl,-rpath," + libs,
                "-lImath-3_1"], timeout=500)
    expected = FILTERED + (CONVERTED if common.FULL else b"")
    for threads in "124":
        done = common.run([program, threads], "system")
        common.same("the output with %s threads" % threads, expected, done.out)
        common.same("standard error with %s threads" % threads, b"", done.err)
        print("%s threads: %.1f s" % (threads, done.seconds))


common.main(test)
