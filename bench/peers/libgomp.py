# SPDX-License-Identifier: Apache-2.0
"""The OpenMP of GCC, as installed."""

from lab import fetch
from lab.peers import Scheduler, Unavailable

NAME = "libgomp"
TITLE = "GCC libgomp"
KINDS = {"scheduler"}
SOURCES = [{"registry": "system"}]


def build(context):
    macros = context.run([fetch.cxx(), "-dM", "-E", "-x", "c++", "/dev/null"],
                         "asking what compiler this is")
    if any(f"#define {other} " in macros for other in ("__clang__", "__INTEL_COMPILER")):
        raise Unavailable(f"it comes with GCC, and the C++ compiler here is {fetch.cxx()}: "
                          "set CXX=g++")


def version(context):
    return context.run([fetch.cxx(), "-dumpfullversion"], "asking for the version").strip()


def schedulers(context):
    library = context.run([fetch.cxx(), "-print-file-name=libgomp.so.1"], "looking for libgomp")
    return [Scheduler("libgomp", TITLE, "openmp", fetch.cxx(), ["-fopenmp"], ["-fopenmp"],
                      files=[library.strip()])]
