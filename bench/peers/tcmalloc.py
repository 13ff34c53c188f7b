# SPDX-License-Identifier: Apache-2.0
"""The tcmalloc of gperftools (gperftools/gperftools on GitHub), as the distribution ships
it. Installed or not: the package is unpacked into the peer's folder where it is missing."""

import shutil

from lab.peers import Allocator, Unavailable

NAME = "tcmalloc"
TITLE = "gperftools tcmalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "debian", "package": "libtcmalloc-minimal4"}]


def build(context):
    root, found = context.debian("libtcmalloc-minimal4")
    library = next(root.glob("usr/lib/*/libtcmalloc_minimal.so.4"), None)
    if not library:
        raise Unavailable("libtcmalloc-minimal4 has no libtcmalloc_minimal.so.4")
    shutil.copy2(library, context.folder / library.name)
    (context.folder / "version").write_text(found)


def version(context):
    return (context.folder / "version").read_text()


def allocator(context):
    return Allocator([str(context.folder / "libtcmalloc_minimal.so.4")])
