# SPDX-License-Identifier: Apache-2.0
"""snmalloc with all its checks, from the sources inside a crate: the target snmallocshim-checks of
its own CMake files, which defines SNMALLOC_CHECK_CLIENT."""

from lab import fetch
from lab.peers import Allocator

NAME = "snmalloc-checks"
TITLE = "snmalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "crates", "package": "snmalloc-sys"}]


def build(context):
    cmake = fetch.tool("cmake", "apt-get install cmake")
    sources = context.crate("snmalloc-sys") / "upstream"
    made = context.folder / "made"
    context.say("compiling")
    context.run([cmake, "-S", sources, "-B", made, "-DCMAKE_BUILD_TYPE=Release",
                 "-DSNMALLOC_BUILD_TESTING=OFF", "-DCMAKE_CXX_FLAGS=-w"], "configuring snmalloc")
    context.run([cmake, "--build", made, "--target", "snmallocshim-checks", "-j2"],
                "compiling snmalloc")


def allocator(context):
    return Allocator([str(context.folder / "made" / "libsnmallocshim-checks.so")])
