# SPDX-License-Identifier: Apache-2.0
"""A control: Corbel with controls/slowed.cpp preloaded before it, which makes a pair of malloc and
free 15 to 20 % slower. The lab must find the difference."""

from lab import fetch
from lab.peers import BENCH, CONTROLS, Allocator

NAME = "corbel-slowed"
TITLE = "Corbel, slowed"
KINDS = {"allocator"}
SOURCES = [{"registry": "corbel"}]
CONTROL = True
REMEDY = "./dev build release"
INPUTS = [CONTROLS / "slowed.cpp", BENCH / "lab" / "share" / "family.hpp"]
FLAGS = ["-x", "c++", "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
         "-fno-exceptions", "-fno-builtin"]
ROUNDS = 2  # of multiplications; the forwarding itself is a good half of the difference


def build(context):
    context.copy_of_corbel()
    context.run([fetch.cc(), *FLAGS, f"-DSLOWED_ROUNDS={ROUNDS}", INPUTS[0], "-o",
                 context.folder / "libslowed.so", "-ldl"], "compiling slowed.cpp")


def version(context):
    return ""


def allocator(context):
    return Allocator([str(context.folder / "libslowed.so"),
                      str(context.folder / "libcorbelmalloc_proxy.so.1")])
