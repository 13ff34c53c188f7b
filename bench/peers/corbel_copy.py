# SPDX-License-Identifier: Apache-2.0
"""A control: the same bits as Corbel in another folder. The lab must find the two equal."""

import shutil

from lab.peers import Allocator, Unavailable

NAME = "corbel-copy"
TITLE = "Corbel again"
KINDS = {"allocator"}
SOURCES = [{"registry": "corbel"}]
CONTROL = True


def build(context):
    for name in ("libcorbelmalloc_proxy.so.1", "libcorbelmalloc.so.1"):
        if not (context.corbel / name).is_file():
            raise Unavailable("Corbel is not built: ./dev build release")
        shutil.copy2(context.corbel / name, context.folder / name)


def version(context):
    return ""


def allocator(context):
    return Allocator([str(context.folder / "libcorbelmalloc_proxy.so.1")])
