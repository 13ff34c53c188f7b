# SPDX-License-Identifier: Apache-2.0
"""Corbel itself, as the release build made it."""

import re

from lab import fetch
from lab.peers import Allocator, Scheduler, Unavailable

NAME = "corbel"
TITLE = "Corbel"
KINDS = {"allocator", "scheduler"}
SOURCES = [{"registry": "corbel"}]


def build(context):
    pass


def version(context):
    project = (context.root / "CMakeLists.txt").read_text()
    found = re.search(r"project\([^)]*VERSION ([\d.]+)", project)
    return found.group(1) if found else ""


def allocator(context):
    library = context.corbel / "libcorbelmalloc_proxy.so.1"
    if not library.is_file():
        raise Unavailable("it is not built: ./dev build release")
    return Allocator([str(library)])


def schedulers(context):
    headers = context.root / "include"
    if not (headers / "tbb" / "parallel_for.h").is_file():
        raise Unavailable("this version of Corbel has no scheduler")
    libs = [f"-L{context.corbel}", f"-Wl,-rpath,{context.corbel}", "-lcorbel"]
    return [Scheduler("corbel", TITLE, api, fetch.cxx(), [f"-I{headers}"], libs)
            for api in ("tbb", "classic")]
