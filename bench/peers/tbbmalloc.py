# SPDX-License-Identifier: Apache-2.0
"""The scalable allocator of oneTBB (uxlfoundation/oneTBB on GitHub), as released."""

from lab.peers import Allocator

NAME = "tbbmalloc"
TITLE = "tbbmalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "pypi", "package": "tbb"}]


def build(context):
    context.wheel("tbb")


def allocator(context):
    libraries = context.folder / "tbb" / "lib"
    # The proxy opens the allocator by name, which works in any folder if it is loaded already.
    return Allocator([str(libraries / "libtbbmalloc_proxy.so.2"),
                      str(libraries / "libtbbmalloc.so.2")])
