# SPDX-License-Identifier: Apache-2.0
"""jemalloc optimised, with the checks that its configure script offers for such a build."""

from lab.misuse import jemalloc
from lab.peers import Allocator

NAME = "jemalloc-safety"
TITLE = "jemalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "crates", "package": "tikv-jemalloc-sys"}]
INPUTS = [jemalloc.__file__]


def build(context):
    jemalloc.build(context, ["--enable-opt-safety-checks", "--enable-opt-size-checks",
                             "--enable-uaf-detection"])


def version(context):
    return jemalloc.version(context)


def allocator(context):
    return Allocator([str(context.folder / "libjemalloc.so.2")])
