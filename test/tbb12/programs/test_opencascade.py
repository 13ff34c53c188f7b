# SPDX-License-Identifier: Apache-2.0
"""Open CASCADE's DRAW makes boolean operations and meshes in parallel. It has threads of its own, too:
`dparallel -occt 0` selects TBB."""

import os
import sys

import both
from both import common

sys.path.insert(0, os.path.join(both.onetbb.ROOT, "bench", "kernels", "opencascade"))
import draw as occt  # noqa: E402

SCRIPT = os.path.join(both.HERE, "opencascade.tcl")


def test(scratch):
    draw = common.require(occt.PROGRAM, package="occt-draw")
    try:
        links, env = occt.environment(scratch)
    except occt.Missing as missing:
        common.skip(str(missing))
    both.compare("Open CASCADE", [draw, "-b", "-f", SCRIPT], scratch, both.result_lines,
                 env={**env, "LD_LIBRARY_PATH": links, "SIZE": "7" if common.FULL else "5"},
                 uses=["execute_and_wait", "initialize"])


common.main(test)
