# SPDX-License-Identifier: Apache-2.0
"""The page's data: kernels, their rows, and a cell for each contestant of a row.

A partial run is fine: its missing cells are empty.
"""
import statistics as numbers
from collections import defaultdict
from functools import cached_property

from lab import results, statistics

from . import looks

MEMORY = "peak_rss_kib"
TIME_UNITS = {"s", "ms", "us", "ns", "1/s"}
DEFAULTS = {"title": "", "what": "", "group": "modern allocator", "figure": "", "metric": "time",
            "unit": "s", "higher_is_better": False, "plot": "bars", "threads": [], "cases": []}
GROUPS = (("seed allocator", "The founding experiments: allocators"),
          ("modern allocator", "Modern experiments: allocators"),
          ("program", "Real programs"),
          ("outside", "Programs from outside, which nothing is tuned to"),
          ("seed scheduler", "The founding experiments: schedulers"),
          ("modern scheduler", "Modern experiments: schedulers"),
          ("container", "Concurrent containers"),
          ("flow graph", "Flow graphs"),
          ("control", "The control experiment"))

# The contest of a group; all others are the allocators'.
KINDS = {"seed scheduler": "scheduler", "modern scheduler": "scheduler", "container": "container",
         "flow graph": "flow graph"}


class Kernel:
    """A kernel's description."""

    def __init__(self, name, descriptor):
        self.name = name
        for key, value in DEFAULTS.items():
            setattr(self, key, descriptor.get(key) or value)
        self.title = self.title or name
        self.rows = []

    @property
    def kind(self):
        """Which contest it belongs to."""
        return KINDS.get(self.group, "allocator")

    @property
    def is_time(self):
        return self.unit in TIME_UNITS

    def arguments(self, case, scale):
        for each in self.cases:
            if each.get("label", "") == case:
                return each.get(scale, "")
        return ""

    @property
    def case_labels(self):
        found = list(dict.fromkeys(row.case for row in self.rows))
        known = [each.get("label", "") for each in self.cases]
        return sorted(found, key=lambda case: known.index(case) if case in known else len(known))

    @property
    def thread_counts(self):
        return sorted({row.threads for row in self.rows})

    @property
    def contestants(self):
        found = {identity for row in self.rows for identity in row.cells}
        return sorted(found, key=looks.sort_key)

    def row(self, case, threads):
        for row in self.rows:
            if row.case == case and row.threads == threads:
                return row
        return None

    def cell(self, case, threads, identity):
        """The cell if it was measured."""
        row = self.row(case, threads)
        cell = row.cells.get(identity) if row else None
        return cell if cell and cell.good else None


class Cell:
    """All runs of a contestant in a row."""

    def __init__(self, row, identity, runs, failure):
        self.row, self.identity, self.runs, self.failure = row, identity, runs, failure
        self._summaries = {}

    @cached_property
    def good(self):
        """The runs that count; none when the contestant failed."""
        if self.failure:
            return []
        return [run for run in self.runs if run.get("kept") and run.get("value") is not None]

    @property
    def marked(self):
        return sum(bool(run.get("disturbed")) for run in self.good)

    def values(self, metric="value"):
        return [run[metric] for run in self.good if isinstance(run.get(metric), (int, float))]

    def extra(self, name):
        values = [run["extra"][name] for run in self.good if name in (run.get("extra") or {})]
        return numbers.median(values) if values else None

    def costs(self, metric="value"):
        """The values, inverted if higher is better, so that less is better."""
        values = self.values(metric)
        if metric == "value" and self.row.kernel.higher_is_better:
            return [1 / value for value in values if value > 0]
        return values

    def summary(self, metric="value"):
        """None without runs."""
        if metric not in self._summaries:
            values = self.values(metric)
            self._summaries[metric] = statistics.summary(values) if values else None
        return self._summaries[metric]

    def median(self, metric="value"):
        values = self.values(metric)
        return numbers.median(values) if values else None

    def series(self):
        """{name: medians of the curves of all runs}."""
        gathered = defaultdict(list)
        for run in self.good:
            for name, curve in (run.get("series") or {}).items():
                gathered[name].append(curve)
        return {name: [numbers.median(points) for points in zip(*curves)]
                for name, curves in gathered.items() if all(curves)}


class Row:
    """A kernel with one case and one number of threads."""

    def __init__(self, kernel, case, threads, identity, found):
        self.kernel, self.case, self.threads, self.id = kernel, case, threads, identity
        self.results = found
        self.cells = {}
        self._compared = {}

    def measured(self, controls=False):
        """The cells with results, in the page's order."""
        return [self.cells[identity] for identity in sorted(self.cells, key=looks.sort_key)
                if self.cells[identity].good
                and (controls or not looks.is_control(identity))]

    def compare(self, base, other, metric="value"):
        """`other` ÷ `base`, less is better; None when one has no result."""
        key = (base, other, metric)
        if key not in self._compared:
            self._compared[key] = self._compare(*key)
        return self._compared[key]

    def _compare(self, base, other, metric):
        if base not in self.cells or other not in self.cells:
            return None
        one, two = self.cells[base].costs(metric), self.cells[other].costs(metric)
        if not one or not two or numbers.median(one) <= 0 or numbers.median(two) <= 0:
            return None
        if metric == "value" and self.kernel.higher_is_better:
            base, other = other, base  # the ratio of the costs
        return self.results.compare(self.id, base, other, metric)


class Run:
    """The content of a folder of results."""

    def __init__(self, folder):
        self.results = results.load(folder)
        self.meta = self.results.meta
        self.kernels = {name: Kernel(name, descriptor or {})
                        for name, descriptor in (self.meta.get("kernels") or {}).items()}
        for plan in self.meta.get("rows") or []:
            self._add(plan)
        self.kernels = {name: kernel for name, kernel in self.kernels.items()
                        if any(row.cells for row in kernel.rows)}

    def _add(self, plan):
        owner = self.kernels.setdefault(plan["kernel"], Kernel(plan["kernel"], {}))
        row = Row(owner, plan.get("case") or "", plan.get("threads") or 1, plan["id"],
                  self.results)
        owner.rows.append(row)
        for identity in plan.get("contestants") or []:
            runs = self.results.of(row.id, identity)
            if runs:
                row.cells[identity] = Cell(row, identity, runs,
                                           self.results.failure(row.id, identity))

    @property
    def count(self):
        return len(self.results.runs)

    @property
    def marked(self):
        """Disturbed runs that are kept because repeating did not help."""
        return self.results.disturbed()

    @property
    def repeated(self):
        return sum(bool(run.get("disturbed") and not run.get("kept")) for run in self.results.runs)

    def groups(self):
        """[(group, title, kernels)] in the page's order."""
        known = dict(GROUPS)
        names = list(known) + sorted({k.group for k in self.kernels.values()} - set(known))
        found = [(name, known.get(name, name),
                  [kernel for kernel in self.kernels.values() if kernel.group == name])
                 for name in names]
        return [each for each in found if each[2]]

    def rows_of(self, kind):
        return [row for _, _, kernels in self.groups() for kernel in kernels
                if kernel.kind == kind and kernel.group != "control"
                for row in ordered(kernel) if row.cells]


def ordered(kernel):
    """A kernel's rows: case by case, threads rising."""
    cases = kernel.case_labels
    return sorted(kernel.rows, key=lambda row: (cases.index(row.case), row.threads))

