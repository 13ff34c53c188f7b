# SPDX-License-Identifier: Apache-2.0
"""mimalloc 3 with its security mitigations, from the sources inside a crate: what MI_SECURE=ON of
its CMakeLists.txt defines."""

from lab.misuse import mimalloc
from lab.peers import Allocator

NAME = "mimalloc3-secure"
TITLE = "mimalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "crates", "package": "libmimalloc-sys"}]
INPUTS = [mimalloc.__file__]


def build(context):
    mimalloc.build(context, "v3", ["-DMI_SECURE=4"])


def version(context):
    return mimalloc.version(context, "v3")


def allocator(context):
    return Allocator([str(context.folder / "libmimalloc.so")])
