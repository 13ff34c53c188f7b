# SPDX-License-Identifier: Apache-2.0
"""Programs that were compiled with oneTBB's headers, on Corbel's libtbb.so.12."""

import shutil

from lab import fetch
from lab.peers import Scheduler, Unavailable

NAME = "corbel-tbb12"
TITLE = "Corbel as libtbb.so.12"
KINDS = {"scheduler"}
SOURCES = [{"registry": "corbel"}, {"registry": "pypi", "package": "tbb-devel"}]
REMEDY = "./dev build release"
LIBRARY = "libtbb.so.12"


def build(context):
    fetch.cxx()
    context.copy_of_corbel()
    library = context.corbel / "corbel" / LIBRARY
    if not library.is_file():
        raise Unavailable("this version of Corbel has no " + LIBRARY)
    (context.folder / "corbel").mkdir()
    shutil.copy2(library, context.folder / "corbel" / LIBRARY)
    context.wheel("tbb-devel")


def version(context):
    return ""


def schedulers(context):
    folder = context.folder / "corbel"
    return [Scheduler(NAME, TITLE, "tbb", fetch.cxx(),
                      ["-isystem", str(context.folder / "tbb-devel" / "include")],
                      [str(folder / LIBRARY), f"-Wl,-rpath,{folder}"])]
