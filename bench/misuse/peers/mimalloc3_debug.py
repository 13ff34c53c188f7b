# SPDX-License-Identifier: Apache-2.0
"""mimalloc 3 with all its checks and guard pages, from the sources inside a crate: what
MI_DEBUG_FULL=ON and MI_GUARDED=ON of its CMakeLists.txt define."""

from lab.misuse import mimalloc
from lab.peers import Allocator

NAME = "mimalloc3-debug"
TITLE = "mimalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "crates", "package": "libmimalloc-sys"}]
INPUTS = [mimalloc.__file__]


def build(context):
    mimalloc.build(context, "v3", ["-DMI_DEBUG=3", "-DMI_GUARDED=1"])


def version(context):
    return mimalloc.version(context, "v3")


def allocator(context):
    return Allocator([str(context.folder / "libmimalloc.so")])
