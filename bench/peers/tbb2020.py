# SPDX-License-Identifier: Apache-2.0
"""Classic TBB 2020, the last with tbb::task and task_scheduler_init. PyPI has its library up to
2020.3 and its headers up to 2020.0; the library provides all that the headers need."""

from lab import fetch
from lab.peers import Scheduler

NAME = "tbb2020"
TITLE = "TBB"
KINDS = {"scheduler"}
SOURCES = [{"registry": "pypi", "package": "tbb", "series": "2020"},
           {"registry": "pypi", "package": "tbb-devel", "series": "2020"}]


def build(context):
    fetch.cxx()
    context.wheel("tbb", "2020")
    context.wheel("tbb-devel", "2020")


def schedulers(context):
    library = context.folder / "tbb" / "lib"
    return [Scheduler("tbb2020", TITLE, "classic", fetch.cxx(),
                      ["-DTBB_SUPPRESS_DEPRECATED_MESSAGES=1",
                       "-isystem", str(context.folder / "tbb-devel" / "include")],
                      [str(library / "libtbb.so.2"), f"-Wl,-rpath,{library}"])]
