# SPDX-License-Identifier: Apache-2.0
"""A control: Corbel behind controls/slowed.cpp, which makes a pair of malloc and free 15 to 20 %
slower. The lab must find the difference."""

from lab import fetch
from lab.peers import BENCH, CONTROLS, Allocator, Unavailable

NAME = "corbel-slowed"
TITLE = "Corbel, slowed"
KINDS = {"allocator"}
SOURCES = [{"registry": "corbel"}]
CONTROL = True
INPUTS = [CONTROLS / "slowed.cpp", BENCH / "lab" / "share" / "family.hpp"]
FLAGS = ["-x", "c++", "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
         "-fno-exceptions", "-fno-builtin"]
ROUNDS = 2  # of multiplications; the detour itself is a good half of the difference


def build(context):
    context.run([fetch.cc(), *FLAGS, f"-DSLOWED_ROUNDS={ROUNDS}", INPUTS[0], "-o",
                 context.folder / "libslowed.so", "-ldl"], "compiling slowed.cpp")


def version(context):
    return ""


def allocator(context):
    corbel = context.corbel / "libcorbelmalloc_proxy.so.1"
    if not corbel.is_file():
        raise Unavailable("Corbel is not built: ./dev build release")
    return Allocator([str(context.folder / "libslowed.so"), str(corbel)])
