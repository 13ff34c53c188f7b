# SPDX-License-Identifier: Apache-2.0
"""The OpenMP of GCC, as the machine has it."""

from lab import fetch
from lab.peers import Scheduler

NAME = "libgomp"
TITLE = "GCC libgomp"
KINDS = {"scheduler"}
SOURCES = [{"registry": "system"}]
TOOLS = ["g++"]


def build(context):
    fetch.tool("g++", "apt-get install g++")


def version(context):
    return context.run(["g++", "-dumpfullversion"], "asking g++ for its version").strip()


def schedulers(context):
    return [Scheduler("libgomp", TITLE, "openmp", fetch.tool("g++"), ["-fopenmp"], ["-fopenmp"])]
