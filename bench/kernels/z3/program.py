#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The theorem prover z3 on the pigeonhole principle; its own counters must be the same each time."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "programs"))
import inputs  # noqa: E402
import program_runner as runner  # noqa: E402


def run(arguments, folder):
    holes = arguments.number("holes", 8)
    program = runner.find("z3")
    problem = inputs.pigeons(folder / "pigeons.smt2", holes)
    done = runner.measure([program, "-st", problem])
    output = done.output.decode()
    runner.check(output.startswith("unsat\n"), f"{holes + 1} pigeons were put into {holes} holes")
    # The search statistics, without the times: a run that searched differently would be different
    # work.
    counters = dict(re.findall(r":(\S+)\s+(\d+)[\s)]", output))
    steps = sorted((name, count) for name, count in counters.items() if name.startswith("sat-"))
    runner.check(bool(steps), "there are no counters")
    calls = float(counters.get("num-allocs", 0))
    return runner.result(done, text=f"unsat {steps}", extra={"allocations": calls})


runner.main(runner.describe(
    name="z3", title="z3",
    what="The theorem prover shows that n + 1 pigeons do not fit into n holes. Millions of small "
         "blocks in one thread, and a heap of some ten megabytes.",
    cases=[("", "holes=8", "holes=9", "holes=10")]), run)
