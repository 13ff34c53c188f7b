# SPDX-License-Identifier: Apache-2.0
"""jemalloc for debugging: assertions and every check that its configure script offers."""

from lab.misuse import jemalloc
from lab.peers import Allocator

NAME = "jemalloc-debug"
TITLE = "jemalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "crates", "package": "tikv-jemalloc-sys"}]
INPUTS = [jemalloc.__file__]


def build(context):
    jemalloc.build(context, ["--enable-debug", "--enable-opt-safety-checks", "--enable-opt-size-checks",
                             "--enable-uaf-detection"])


def version(context):
    return jemalloc.version(context)


def allocator(context):
    return Allocator([str(context.folder / "libjemalloc.so.2")])
