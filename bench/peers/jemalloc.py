# SPDX-License-Identifier: Apache-2.0
"""jemalloc (jemalloc/jemalloc on GitHub), from the sources inside a crate, in its default
configuration. The crate carries the finished configure script with the sources."""

import shutil

from lab import fetch
from lab.peers import Allocator

NAME = "jemalloc"
TITLE = "jemalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "crates", "package": "tikv-jemalloc-sys"}]


def build(context):
    make = fetch.tool("make", "apt-get install make")
    crate = context.crate("tikv-jemalloc-sys")
    sources = crate / "jemalloc"
    shutil.copy2(crate / "configure" / "configure", sources)
    context.say("compiling")
    context.run(["sh", "./configure", f"--with-version={full_version(context)}", "--disable-doc"],
                "configuring jemalloc", cwd=sources)
    context.run([make, "-j2", "build_lib_shared"], "compiling jemalloc", cwd=sources)
    shutil.copy2(sources / "lib" / "libjemalloc.so.2", context.folder)


def full_version(context):
    """The part of the crate's version that is jemalloc's own: 5.3.1-0-g<commit>."""
    return fetch.entry(context.lock, "crates", "tikv-jemalloc-sys")["version"].partition("+")[2]


def version(context):
    return full_version(context).partition("-")[0]


def allocator(context):
    return Allocator([str(context.folder / "libjemalloc.so.2")])
