# SPDX-License-Identifier: Apache-2.0
"""Macaulay2 computes Groebner bases with mathicgb and its own F4, and resolutions, in parallel."""

import os

import both
from both import common


def test(scratch):
    m2 = common.require("M2", package="macaulay2")
    # M2 is a shell script that sets a library path: the bindings are those of M2-binary.
    both.compare("Macaulay2", [m2, "--script", os.path.join(both.HERE, "macaulay2_ideals.m2")],
                 scratch, both.result_lines, uses=["execute_and_wait", "spawn"])


common.main(test)
