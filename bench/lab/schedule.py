# SPDX-License-Identifier: Apache-2.0
"""The order of all runs. It depends only on the rows and the seed.

A round visits the rows in their order. Within a row the contestants run one after another in a random
order. The runs that are compared are therefore seconds apart, while the speed of a shared machine
drifts over minutes. The drift affects all contestants of a row alike; between two rounds it shows as
spread and not as a difference. If all pairs were shuffled, the contestants of a row would run minutes
apart, and with three rounds chance would give one of them the better minutes. The order within a row
is random because in a fixed order each contestant would always inherit the caches and the clock rate
of the same predecessor.

After each round every row has a value for every contestant, so a stopped run is still a result. There
are no warm-up runs: they would double a quick run. The files are read once before the first round (see
driver.py), and the median absorbs an odd first value.
"""
import random
from dataclasses import dataclass

ROUNDS = {"quick": 3, "normal": 5, "full": 5}
QUICK_ROUNDS_OF_WATCHING = 1  # for rows that watch memory over time, which hardly varies
LONG_SECONDS = 3.0  # a row with longer runs
ROUNDS_OF_LONG = 3  # has at most this many rounds


@dataclass(frozen=True)
class Step:
    round: int
    row: object
    contestant: object


def spare(rows, scale, rounds):
    """Limits the rounds of rows that would take most of a quick run, unless the user asked for a
    number of `rounds`."""
    for row in rows:
        if row.watches and scale == "quick" and not rounds:
            row.max_rounds = QUICK_ROUNDS_OF_WATCHING
    return rows


def steps(rows, rounds, seed):
    """All steps in their order. A row with `repeats` runs that many times in every round: the control
    experiment, which must find smaller differences."""
    order = []
    for number in range(rounds):
        for row in rows:
            if row.max_rounds and number >= row.max_rounds:
                continue
            for again in range(row.repeats):
                own = number * row.repeats + again
                # One generator per row and repetition, so that leaving a row out changes no other row.
                contestants = list(row.contestants)
                random.Random(f"{seed}/{own}/{row.id}").shuffle(contestants)
                order += [Step(own, row, contestant) for contestant in contestants]
    return order


def is_enough(step, row_seconds):
    """Whether a row takes so long that the rounds so far must suffice. `row_seconds` is the median of
    its runs, or None."""
    return (row_seconds is not None and row_seconds > LONG_SECONDS
            and step.round >= ROUNDS_OF_LONG * step.row.repeats)
