# SPDX-License-Identifier: Apache-2.0
"""Corbel from the release build: a copy, like that of the control corbel-copy."""

import re

from lab import fetch
from lab.peers import Allocator, Scheduler, Unavailable

NAME = "corbel"
TITLE = "Corbel"
KINDS = {"allocator", "scheduler"}
SOURCES = [{"registry": "corbel"}]
REMEDY = "./dev build release"


def build(context):
    context.copy_of_corbel()


def version(context):
    project = (context.root / "CMakeLists.txt").read_text()
    found = re.search(r"project\([^)]*VERSION ([\d.]+)", project)
    return found.group(1) if found else ""


def allocator(context):
    return Allocator([str(context.folder / "libcorbelmalloc_proxy.so.1")])


def schedulers(context):
    headers, library = context.root / "include", context.folder / "libcorbel.so.1"
    if not (headers / "tbb" / "parallel_for.h").is_file() or not library.is_file():
        raise Unavailable("this version of Corbel has no scheduler")
    libs = [str(library), f"-Wl,-rpath,{context.folder}"]
    classic = (headers / "tbb" / "task_scheduler_init.h").is_file()
    return [Scheduler("corbel", TITLE, api, fetch.cxx(), [f"-I{headers}"], libs)
            for api in (("tbb", "classic") if classic else ("tbb",))]
