#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perl on strings, arrays and hashes; it must print the same sums each time."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program_runner as runner  # noqa: E402

SCRIPT = Path(__file__).resolve().parent / "strings.pl"


def run(arguments, _folder):
    rounds, lines = arguments.number("rounds", 2), arguments.number("lines", 10_000)
    program = runner.find("perl")
    # The order of a hash's keys, and with it the work, must not change from run to run.
    done = runner.measure([program, SCRIPT, rounds, lines], env={"PERL_HASH_SEED": "0"})
    printed = [line.split("|") for line in done.output.decode().splitlines()]
    runner.check([row[:2] for row in printed] == [[str(i + 1), str(lines)] for i in range(rounds)],
                 "a round is missing")
    runner.check(all(int(row[3]) >= int(row[2]) > 0 for row in printed), "words are missing")
    return runner.result(done, extra={"lines": rounds * lines})


runner.main(runner.describe(
    name="perl", title="Perl",
    what="One thread builds lines of words, splits, replaces, joins and reverses them, and counts "
         "and sorts the words in hashes. Every string, array and hash of Perl is a block of "
         "malloc, most of them small and short-lived.",
    cases=[("", "rounds=1 lines=4000", "rounds=1 lines=20000", "rounds=4 lines=100000")]), run)
