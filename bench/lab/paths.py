# SPDX-License-Identifier: Apache-2.0
"""Where the lab finds and leaves things."""
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
KERNELS = BENCH / "kernels"
PROGRAMS = ROOT / "tools" / "programs"  # inputs of real programs
BUILT = ROOT / "build" / "bench"  # kernels, peers, and one folder for each run


def shown(path):
    """A path as people like to read it: below the current folder without what leads there."""
    path = Path(path).resolve()
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
