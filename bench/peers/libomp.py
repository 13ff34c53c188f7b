# SPDX-License-Identifier: Apache-2.0
"""The OpenMP of LLVM, with its compiler; both from the distribution."""

import pathlib

from lab import fetch
from lab.peers import Scheduler, Unavailable

NAME = "libomp"
TITLE = "LLVM libomp"
KINDS = {"scheduler"}
SOURCES = [{"registry": "debian", "package": "libomp-19-dev"},
           {"registry": "debian", "package": "clang-19"}]
TOOLS = ["clang++-19"]
HOME = pathlib.Path("/usr/lib/llvm-19/lib")
INSTALL = "apt-get install clang-19 libomp-19-dev"


def build(context):
    fetch.tool("clang++-19", INSTALL)
    if not (HOME / "libomp.so").exists():
        raise Unavailable(f"libomp 19 is not installed ({INSTALL})")


def version(context):
    own = context.run(["clang++-19", "-dumpversion"], "asking clang for its version").strip()
    return f"{own}, not locked" if note(context) else own


def note(context):
    """Clang must be installed to work, so it is the distribution's version and not the lock's."""
    return "; ".join(filter(None, (
        fetch.unlike_lock(source["package"], fetch.installed(source["package"]), context.lock)
        for source in SOURCES)))


def schedulers(context):
    return [Scheduler("libomp", TITLE, "openmp", fetch.tool("clang++-19", INSTALL),
                      ["-fopenmp=libomp"], ["-fopenmp=libomp", f"-Wl,-rpath,{HOME}"],
                      files=[str(HOME / "libomp.so")])]
