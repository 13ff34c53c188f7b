# SPDX-License-Identifier: Apache-2.0
"""The optimised serial program that every speed-up is relative to."""

from lab import fetch
from lab.peers import Scheduler

NAME = "serial"
TITLE = "serial program"
KINDS = {"scheduler"}
SOURCES = [{"registry": "system"}]


def build(context):
    pass


def version(context):
    return ""


def schedulers(context):
    return [Scheduler("serial", "serial program", "serial", fetch.cxx())]
