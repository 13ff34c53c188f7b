# SPDX-License-Identifier: Apache-2.0
"""rpmalloc (mjansson/rpmalloc on GitHub), from the sources inside a crate, built as its own
build files build the library that replaces malloc."""

from lab.peers import Allocator

NAME = "rpmalloc"
TITLE = "rpmalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "crates", "package": "rpmalloc-sys"}]
LIBRARY = "librpmallocwrap.so"


def build(context):
    sources = context.crate("rpmalloc-sys") / "rpmalloc" / "rpmalloc"
    context.shared_library(LIBRARY, [sources / "rpmalloc.c"],
                           ["-std=c11", "-D_GNU_SOURCE=1", "-DRPMALLOC_COMPILE=1",
                            "-DENABLE_PRELOAD=1", "-DENABLE_OVERRIDE=1"], libs=["-ldl"])


def version(context):
    """The newest entry of its change log; the crate has a numbering of its own."""
    with open(context.folder / "rpmalloc-sys" / "rpmalloc" / "CHANGELOG") as log:
        return log.readline().strip()


def allocator(context):
    return Allocator([str(context.folder / LIBRARY)])
