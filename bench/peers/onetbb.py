# SPDX-License-Identifier: Apache-2.0
"""The scheduler of oneTBB (uxlfoundation/oneTBB on GitHub), as released."""

from lab import fetch
from lab.peers import Scheduler

NAME = "onetbb"
TITLE = "oneTBB"
KINDS = {"scheduler"}
SOURCES = [{"registry": "pypi", "package": "tbb"}, {"registry": "pypi", "package": "tbb-devel"}]


def build(context):
    fetch.cxx()
    context.wheel("tbb")
    context.wheel("tbb-devel")


def schedulers(context):
    library = context.folder / "tbb" / "lib"
    return [Scheduler("onetbb", TITLE, "tbb", fetch.cxx(),
                      ["-isystem", str(context.folder / "tbb-devel" / "include")],
                      [str(library / "libtbb.so.12"), f"-Wl,-rpath,{library}"])]
