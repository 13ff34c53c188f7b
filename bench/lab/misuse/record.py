# SPDX-License-Identifier: Apache-2.0
"""The results: a cell is what a contestant did with a kind and a size, in all its runs."""
import collections
import json

from lab.misuse import judge, kinds

FORMAT = 1
# What a cell is called, from the best to the worst.
VERDICTS = {
    "named": "found always, and named",
    "found": "found always",
    "sometimes": "found in some runs",
    "ended": "ended or hung without a message, in at least one run",
    "defused": "not found, made harmless",
    "missed": "missed",
    "harmed": "harmed, in at least one run",
}


class Cell:
    """`counts` is {outcome: runs}; `lines` is {outcome: the most frequent line}."""

    def __init__(self, counts, lines):
        self.counts, self.lines = dict(counts), dict(lines)

    @classmethod
    def of(cls, runs):
        """From [(outcome, line)]."""
        lines = collections.defaultdict(collections.Counter)
        for outcome, line in runs:
            lines[outcome][line] += 1
        return cls(collections.Counter(outcome for outcome, _ in runs),
                   {outcome: found.most_common(1)[0][0] for outcome, found in lines.items()})

    @property
    def runs(self):
        return sum(self.counts.values())

    @property
    def found(self):
        return sum(self.counts.get(one, 0) for one in judge.FOUND)

    def has(self, *outcomes):
        return sum(self.counts.get(one, 0) for one in outcomes)

    @property
    def verdict(self):
        """A key of VERDICTS. A single harmed run makes the cell harmed, because users remember that
        one; runs that were found do not excuse it."""
        if self.has("harmed"):
            return "harmed"
        if self.runs and self.has("named") == self.runs:
            return "named"
        if self.runs and self.found == self.runs:
            return "found"
        if self.found:
            return "sometimes"
        if self.has("stopped", "crashed", "hung"):
            return "ended"
        if self.has("missed", "broken") or not self.runs:
            return "missed"
        return "defused"


class Results:
    """All cells: `cells[contestant][kind][size]`; `meta` has the machine, the commit, the kinds and
    the contestants."""

    def __init__(self, meta, cells):
        self.meta, self.cells = meta, cells

    @property
    def contestants(self):
        return [one for one in self.meta["contestants"] if one["name"] in self.cells]

    def of(self, contestant, kind):
        """[(size, Cell)] in the order of the sizes."""
        found = self.cells.get(contestant, {}).get(kind, {})
        return sorted(found.items())

    def false_alarms(self, contestant):
        """The cells of the control in which a correct program did not end well."""
        return [(size, cell) for size, cell in self.of(contestant, kinds.CONTROL)
                if cell.has("missed") != cell.runs]

    def shares(self, contestant, names=kinds.ORDER):
        """{verdict: share of the kinds}, each kind with the same weight; None without cells."""
        total, counted = collections.Counter(), 0
        for name in names:
            cells = [cell for _, cell in self.of(contestant, name)]
            for cell in cells:
                total[cell.verdict] += 1 / len(cells)
            counted += bool(cells)
        return {verdict: total[verdict] / counted for verdict in VERDICTS} if counted else None

    def save(self, path):
        path.write_text(json.dumps({**self.meta, "format": FORMAT, "cells": {
            contestant: {kind: {str(size): {"counts": cell.counts, "lines": cell.lines}
                                for size, cell in sorted(sizes.items())}
                         for kind, sizes in kinds_.items()}
            for contestant, kinds_ in self.cells.items()}}, indent=1, ensure_ascii=False) + "\n")


def load(paths):
    """Results from one or more files. A contestant that is in several comes from the last one, and
    keeps the commit of its own file."""
    meta, cells, contestants = None, {}, {}
    for path in paths:
        read = json.loads(path.read_text())
        if read.get("format") != FORMAT:
            raise ValueError(f"{path} is no result of this version of the misuse table")
        meta = meta or {key: value for key, value in read.items() if key != "cells"}
        contestants |= {one["name"]: one for one in read["contestants"]}
        for name, found in read["cells"].items():
            cells[name] = {kind: {int(size): Cell(**cell) for size, cell in sizes.items()}
                           for kind, sizes in found.items()}
    meta["contestants"] = list(contestants.values())
    return Results(meta, cells)
