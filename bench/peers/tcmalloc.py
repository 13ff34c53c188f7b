# SPDX-License-Identifier: Apache-2.0
"""The tcmalloc of gperftools (gperftools/gperftools on GitHub), as the distribution ships
it. If the package is not installed, it is only unpacked."""

import shutil

from lab import fetch
from lab.peers import Allocator, Unavailable

NAME = "tcmalloc"
TITLE = "gperftools tcmalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "debian", "package": "libtcmalloc-minimal4"}]


def build(context):
    root, have = context.debian("libtcmalloc-minimal4")
    library = next(root.glob("usr/lib/*/libtcmalloc_minimal.so.4"), None)
    if not library:
        raise Unavailable("libtcmalloc-minimal4 has no libtcmalloc_minimal.so.4")
    shutil.copy2(library, context.folder / library.name)
    (context.folder / "version").write_text(have)


def version(context):
    return found(context) + (", not locked" if note(context) else "")


def found(context):
    return (context.folder / "version").read_text()


def note(context):
    return fetch.unlike_lock("libtcmalloc-minimal4", found(context), context.lock)


def allocator(context):
    return Allocator([str(context.folder / "libtcmalloc_minimal.so.4")])
