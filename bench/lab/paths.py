# SPDX-License-Identifier: Apache-2.0
"""The folders of the lab."""
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
KERNELS = BENCH / "kernels"
PROGRAMS = ROOT / "tools" / "programs"  # inputs of real programs
BUILT = ROOT / "build" / "bench"  # kernels, peers, and one folder for each run


def shown(path):
    """A path for the user: relative to the current folder if it is below it."""
    path = Path(path).resolve()
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
