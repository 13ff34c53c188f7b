#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sqlite3 shell: inserts from a script, an index and three queries, all in memory."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "programs"))
import inputs  # noqa: E402
import program_runner as runner  # noqa: E402


def run(arguments, folder):
    rows = arguments.number("rows", 50_000)
    program = runner.find("sqlite3")
    script = inputs.sqlite_script(folder / "script.sql", rows)
    done = runner.measure([program, "-batch", ":memory:", f".read {script}"])
    lines = done.output.decode().splitlines()
    runner.check(len(lines) == 5, f"{len(lines)} lines instead of 5")
    runner.check(lines[0].startswith(f"{rows}|"), f"not all of {rows} rows are there")
    # group_concat(id): as many numbers as the count before it says
    for line in lines[1:4]:
        _, count, ids = line.split("|")
        runner.check(len(set(ids.split(","))) == int(count), "a group is not as large as it says")
    return runner.result(done, extra={"rows": rows})


runner.main(runner.describe(
    name="sqlite", title="sqlite3",
    what="The sqlite3 shell reads a script of inserts, makes an index and answers three queries, "
         "in memory. Time is that of the whole process, its peak memory is mostly the table.",
    cases=[("", "rows=15000", "rows=100000", "rows=600000")]), run)
