#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Python program in which every object is a block of malloc: json, re, zlib and sqlite3 in four
threads."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "programs"))
import inputs  # noqa: E402
import program_runner as runner  # noqa: E402


def run(arguments, _folder):
    rounds, records = arguments.number("rounds", 2), arguments.number("records", 1500)
    # Without the user's packages (-s), but not -E or -I: these would ignore the settings.
    settings = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"}
    done = runner.measure([inputs.python(), "-s", "-B", inputs.THREADS, rounds, records],
                          env=settings)
    digests = done.output.decode().split()
    runner.check(len(digests) == 4 and len(set(digests)) == 4, "there are not four digests")
    return runner.result(done, extra={"records": rounds * records * 4})


runner.main(runner.describe(
    name="python", title="Python 3",
    what="Four threads of one interpreter make, print, parse, search, pack and store records with "
         "PYTHONMALLOC=malloc, so that every object is a block of the allocator. One thread runs at "
         "a time, but blocks move between all of them.",
    cases=[("", "rounds=1 records=400", "rounds=2 records=1500", "rounds=6 records=2500")]), run)
