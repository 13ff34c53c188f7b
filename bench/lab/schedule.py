# SPDX-License-Identifier: Apache-2.0
"""The order of all runs, the same for the same seed.

A round goes through the rows in their order; within a row the contestants run one after another in
a random order. So the runs that are compared lie seconds apart, while the speed of a shared machine
drifts over minutes: the drift falls on all contestants of a row alike, and the distance between two
rounds shows it as spread instead of hiding it in a difference. With all pairs shuffled the
contestants of a row would lie minutes apart, and with three rounds chance alone would give one the
better minutes. The order within the row is random because a fixed one would always run the same
contestant behind the same other one, in the caches, and at the clock rate, that it leaves.

After each round every row has a value for everybody, so a run that is stopped is still a result.
Nothing is warmed up by running it: that would double a quick run. The files are read once before
the first round (see session.py), and a first value that is odd for another reason is one of three
or five, of which the median is taken.
"""
import random
from dataclasses import dataclass

ROUNDS = {"quick": 3, "normal": 5, "full": 5}
QUICK_ROUNDS_OF_WATCHING = 1  # of rows that wait to see memory change, which hardly varies
LONG_SECONDS = 3.0  # rows whose runs take longer have
ROUNDS_OF_LONG = 3  # no more rounds than this


@dataclass(frozen=True)
class Step:
    round: int
    row: object
    contestant: object


def spare(rows, scale, rounds):
    """Gives rows fewer rounds than the others have where they would cost most of a quick run; not
    when a number of `rounds` was asked for."""
    for row in rows:
        if row.watches and scale == "quick" and not rounds:
            row.most_rounds = QUICK_ROUNDS_OF_WATCHING
    return rows


def steps(rows, rounds, seed):
    """All steps in their order. A row with `repeats` runs that many times in every round (the
    control experiment, which has to tell smaller differences)."""
    order = []
    for number in range(rounds):
        for row in rows:
            if row.most_rounds and number >= row.most_rounds:
                continue
            for again in range(row.repeats):
                own = number * row.repeats + again
                # Each has a generator of its own, so that leaving rows out changes no other's order.
                contestants = list(row.contestants)
                random.Random(f"{seed}/{own}/{row.id}").shuffle(contestants)
                order += [Step(own, row, contestant) for contestant in contestants]
    return order


def is_enough(step, row_seconds):
    """Whether a row is so long that the rounds so far have to do; `row_seconds` is the median of
    its runs, or None."""
    return (row_seconds is not None and row_seconds > LONG_SECONDS
            and step.round >= ROUNDS_OF_LONG * step.row.repeats)
