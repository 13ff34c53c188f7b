# SPDX-License-Identifier: Apache-2.0
"""Scudo, LLVM's hardened allocator, with GWP-ASan in it."""

import platform

from lab import fetch
from lab.peers import Allocator, Unavailable

NAME = "scudo"
TITLE = "Scudo"
KINDS = {"allocator"}
SOURCES = [{"registry": "debian", "package": "libclang-rt-19-dev"}]


def build(context):
    root, have = context.debian("libclang-rt-19-dev")
    name = f"libclang_rt.scudo_standalone-{platform.machine()}.so"
    found = sorted(root.glob(f"usr/lib/llvm-19/lib/clang/*/lib/linux/{name}"))
    if not found:
        raise Unavailable(f"libclang-rt-19-dev has no {name}")
    (context.folder / "libscudo.so").write_bytes(found[-1].read_bytes())
    (context.folder / "version").write_text(have)


def version(context):
    return context.debian_version().split(":")[-1].partition("-")[0]


def note(context):
    return fetch.unlike_lock("libclang-rt-19-dev", context.debian_version(), context.lock)


def allocator(context):
    return Allocator([str(context.folder / "libscudo.so")])
