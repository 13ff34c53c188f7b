# SPDX-License-Identifier: Apache-2.0
"""The OpenMP of GCC, as the machine has it."""

from lab import fetch
from lab.peers import Scheduler

NAME = "libgomp"
TITLE = "GCC libgomp"
KINDS = {"scheduler"}
SOURCES = [{"registry": "system"}]


def build(context):
    fetch.cxx()


def version(context):
    return context.run([fetch.cxx(), "-dumpfullversion"], "asking for the version").strip()


def schedulers(context):
    return [Scheduler("libgomp", TITLE, "openmp", fetch.cxx(), ["-fopenmp"], ["-fopenmp"])]
