# SPDX-License-Identifier: Apache-2.0
"""oneTBB's headers and library, which PyPI has, for the tests of this folder."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "test", "programs"), os.path.join(ROOT, "bench")]

import common  # noqa: E402
from lab import peers  # noqa: E402

LIBRARY = "libtbb.so.12"
OURS = os.path.join("corbel", LIBRARY)  # in the folder of Corbel's libraries


def folders():
    """The folders of the headers and of the library. Skips the test where PyPI does not answer."""
    found = peers.prepare(["onetbb"])["onetbb"]
    if isinstance(found, Exception):
        common.skip(str(found))
    base = os.path.join(ROOT, "build", "bench", "peers", "onetbb")
    return os.path.join(base, "tbb-devel", "include"), os.path.join(base, "tbb", "lib")


def ours():
    """The folder of Corbel's library."""
    return os.path.dirname(common.library(OURS))
