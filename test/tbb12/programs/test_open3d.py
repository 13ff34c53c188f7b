# SPDX-License-Identifier: Apache-2.0
"""A program with Debian's Open3D: normals, voxels, clusters, registration and nearest neighbors of
points. libOpen3D.so is what calls oneTBB: libstdc++'s parallel algorithms, loops, isolation."""

import os

import both
from both import common

HEADER = "/usr/include/open3d/Open3D.h"


def test(scratch):
    if not os.path.exists(HEADER):
        common.skip(f"no {HEADER} (Debian package libopen3d-dev)")
    program = both.compiled("open3d_client.cpp", scratch, "-isystem", "/usr/include/eigen3",
                            "-lOpen3D", "-lfmt")
    both.compare("Open3D", [program, "20000" if common.FULL else "8000"], scratch, both.result_lines,
                 uses=["execute_and_wait", "spawn"])


common.main(test)
