# SPDX-License-Identifier: Apache-2.0
"""The pairs to compare: Corbel with each peer and with the best one, row by row."""
import statistics as numbers
from collections import Counter

from lab.statistics import geometric_mean

from . import looks
from .model import MEMORY

AHEAD, LEVEL, BEHIND, UNKNOWN = "lower", "same", "higher", "few"


class View:
    """A row, or the part of it on one allocator, as a contest. A column is a contestant without
    the allocator."""

    def __init__(self, row, allocator=""):
        self.row, self.allocator = row, allocator
        self.identities = {}
        for identity in sorted(row.cells, key=looks.sort_key):
            base, _, on = looks.parts(identity)
            if on == allocator and base != "serial" and not looks.is_control(identity):
                self.identities[identity.partition("@")[0]] = identity

    @property
    def label(self):
        return self.row.case + (", " if self.row.case and self.allocator else "") + (
            f"on {looks.name(self.allocator)}" if self.allocator else "")

    def cell(self, column):
        """The cell with results, or None."""
        cell = self.row.cells.get(self.identities.get(column))
        return cell if cell and cell.good else None

    def cost(self, column, metric):
        cell = self.cell(column)
        costs = cell.costs(metric) if cell else []
        middle = numbers.median(costs) if costs else 0
        return middle if middle > 0 else None

    @property
    def own(self):
        """Corbel's columns in this row: several if it has variants."""
        return [column for column in self.identities
                if looks.parts(column)[0] == "corbel" and self.cell(column)]

    @property
    def subject(self):
        """The column that is compared: plain Corbel, or its best variant; None without Corbel."""
        own = self.own
        if "corbel" in own or not own:
            return "corbel" if own else None
        return min(own, key=lambda column: self.cost(column, "value") or float("inf"))

    def peers(self):
        return [column for column in self.identities
                if looks.is_peer(column) and self.cell(column)]

    def best(self, metric):
        """The peer with the lowest cost, or None."""
        costs = {column: self.cost(column, metric) for column in self.peers()}
        costs = {column: cost for column, cost in costs.items() if cost}
        return min(costs, key=costs.get) if costs else None

    def compare(self, base, other, metric):
        """`other` ÷ `base`, of columns; None when one has no result."""
        if base is None or other is None:
            return None
        return self.row.compare(self.identities.get(base), self.identities.get(other), metric)

    def against(self, column, metric):
        """Corbel ÷ a column."""
        return self.compare(column, self.subject, metric)


def views(row):
    """The contests of a row."""
    allocators = dict.fromkeys(looks.parts(identity)[2] for identity in row.cells
                               if looks.parts(identity)[0] != "serial")
    return [view for view in (View(row, allocator) for allocator in allocators)
            if view.identities]


class Contest:
    """All rows of one kind: of the allocators, of the schedulers."""

    def __init__(self, run, kind):
        self.rows = run.rows_of(kind)
        self.views = [view for row in self.rows for view in views(row)]
        self.with_corbel = [view for view in self.views if view.subject]
        found = {column for view in self.views for column in view.identities}
        self.columns = sorted(found, key=looks.sort_key)
        self.peers = [c for c in self.columns if looks.is_peer(c)]

    @staticmethod
    def counts(view, metric):
        """Whether the row has the metric: a row whose figure is not a time has no time."""
        return metric == MEMORY or view.row.kernel.is_time

    def comparisons(self, column, metric, among=None):
        """Corbel ÷ a peer, or ÷ the best peer of each row (column None). A peer that is the only one
        to support a row (a heap limit, for example) is not the best."""
        found = []
        for view in self.with_corbel if among is None else among:
            alone = column is None and len(view.peers()) == 1 < len(self.peers)
            if self.counts(view, metric) and not alone:
                compared = view.against(column or view.best(metric), metric)
                if compared:
                    found.append(compared)
        return found

    def mean(self, column, metric, among=None):
        """(geometric mean of the ratios or None, number of rows)."""
        found = [each.ratio for each in self.comparisons(column, metric, among)]
        return geometric_mean(found), len(found)

    def tally(self, column, metric):
        """Counter of ahead, level, behind, unknown."""
        return Counter(each.verdict for each in self.comparisons(column, metric))

    def distance(self, column, metric):
        """(geometric mean of a column ÷ the best peer, rows, rows in which it is the best)."""
        ratios = [view.cost(column, metric) / view.cost(view.best(metric), metric)
                  for view in self.views
                  if self.counts(view, metric) and view.cost(column, metric)]
        return geometric_mean(ratios), len(ratios), sum(ratio <= 1 for ratio in ratios)

    def relative(self, base):
        """{column: (time ÷ base's, memory ÷ base's, rows)} over the rows that all contestants share
        which are in nearly every row."""
        rows = [view for view in self.views
                if view.row.kernel.is_time and view.cost(base, "value")]
        often = [column for column in self.columns
                 if sum(view.cost(column, "value") is not None for view in rows)
                 >= 0.8 * len(rows)]
        common = [view for view in rows
                  if all(view.cost(column, metric) for column in often
                         for metric in ("value", MEMORY))]
        return {column: (*(geometric_mean([view.cost(column, metric) / view.cost(base, metric)
                                           for view in common])
                           for metric in ("value", MEMORY)), len(common))
                for column in often} if common else {}
