# SPDX-License-Identifier: Apache-2.0
"""Writes the results of a run to disk and reads them.

A folder holds run.json (the plan, the machine, the contestants), results.jsonl (a line for each
single run, written immediately) and results.csv (a line for each row and contestant). A lab that was
killed may leave an incomplete last line, which is dropped. Nothing else is dropped: a failed run stays
with the reason, and a disturbed run that was repeated stays as not kept.
"""
import csv
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from lab import statistics

FORMAT = 1
PLAN = "run.json"
RUNS = "results.jsonl"
TABLE = "results.csv"
METRICS = ("value", "seconds", "peak_rss_kib", "peak_vm_kib", "minor_faults", "major_faults",
           "cpu_seconds", "wall_seconds")
REFERENCES = ("glibc", "serial", "serial@glibc")
# The work of an allocator kernel may depend on the number of threads; a scheduler's never does.
SAME_ON_ALL_THREADS = ("serial", "serial@glibc")
# What pages of files and of the loader add to the figures by chance.
RESOLUTION = {"peak_rss_kib": 128.0, "peak_vm_kib": 4.0, "minor_faults": 32.0,
              "major_faults": 32.0}


class Broken(Exception):
    """A folder does not hold a run; the text says why."""


@dataclass
class Run:
    folder: Path
    meta: dict
    runs: list = field(default_factory=list)

    def __post_init__(self):
        self.reindex()

    def reindex(self):
        """Must be called after a change of `runs` from outside."""
        self._pairs, self._wrong = {}, {}  # _wrong: rows judged since their last run
        self._rows = {row["id"]: row for row in self.meta["rows"]}
        self._names = {row["id"]: row["contestants"] for row in self.meta["rows"]}
        for run in self.runs:
            self._pairs.setdefault((run["row"], run["contestant"]), []).append(run)

    def add(self, run):
        self.runs.append(run)
        self._pairs.setdefault((run["row"], run["contestant"]), []).append(run)
        # A serial program's result also counts in the other rows of its kernel.
        for row in self.meta["rows"]:
            if row.get("kernel") == run.get("kernel"):
                self._wrong.pop(row["id"], None)

    def of(self, row, contestant):
        """All runs of a contestant in a row, including disturbed and failed ones."""
        return self._pairs.get((row, contestant), [])

    def kept(self, row, contestant, metric="value"):
        """The values that count, in the order of the rounds; none when the contestant failed."""
        return [value for _, value in sorted(self._by_round(row, contestant, metric).items())]

    def median(self, row, contestant, metric="value"):
        values = self.kept(row, contestant, metric)
        return statistics.median(values) if values else None

    def compare(self, row, base, other, metric="value"):
        """`other` against `base` in a row, by statistics.compare(). In a row with enough other
        contestants, the effect of each round on them is removed first. None when either has no
        value."""
        sides = [self._by_round(row, contestant, metric) for contestant in (base, other)]
        resolution = RESOLUTION.get(metric, 0.0)
        found = statistics.compare(*(list(side.values()) for side in sides), resolution)
        others = [values for name in self._names.get(row, ()) if name not in (base, other)
                  and (values := self._by_round(row, name, metric))]
        if found is None or metric in RESOLUTION or len(others) < statistics.MIN_OF_ROW:
            return found
        if min(min(values.values()) for values in [*sides, *others]) <= 0:
            return found
        factors = round_factors(others)
        usual = statistics.median([statistics.spread(freed) / statistics.median(freed)
                                   for freed in (_freed(values, factors) for values in others)])
        found.verdict = statistics.verdict(*(_freed(side, factors) for side in sides), resolution, usual)
        if {"lower": found.ratio > 1, "higher": found.ratio < 1}.get(found.verdict):
            found.verdict = "same"
        return found

    def _by_round(self, row, contestant, metric):
        if self.failure(row, contestant):
            return {}
        return {run["round"]: run[metric] for run in self.of(row, contestant)
                if run["kept"] and run.get(metric) is not None}

    def failure(self, row, contestant):
        """Why a contestant failed in a row, or None."""
        for run in self.of(row, contestant):
            if run.get("failed"):
                return run["failed"]
        if row not in self._rows:
            return None
        if row not in self._wrong:
            self._wrong[row] = self._judge(self._rows[row])
        return self._wrong[row].get(contestant)

    def _judge(self, row):
        """{contestant: what is wrong} for all results that differ from the others."""
        return judge_checksums({c: self.of(row["id"], c) for c in row["contestants"]},
                               self._reference_elsewhere(row))

    def _reference_elsewhere(self, row):
        """(reference, checksum) from a row with another number of threads or without a limit, because
        serial programs run once for a case."""
        work = row.get("kernel"), row.get("case")
        for reference in SAME_ON_ALL_THREADS:
            sums = {run["checksum"] for other in self.meta["rows"]
                    if (other.get("kernel"), other.get("case")) == work
                    for run in self.of(other["id"], reference) if not run.get("failed")}
            if len(sums) == 1:
                return reference, sums.pop()
        return None

    def failures(self):
        """[(row, contestant, why)]"""
        return [(row["id"], contestant, self.failure(row["id"], contestant))
                for row in self.meta["rows"] for contestant in row["contestants"]
                if self.failure(row["id"], contestant)]

    def disturbed(self, row=None, contestant=None):
        """The number of kept runs that were disturbed."""
        runs = self.of(row, contestant) if row else self.runs
        return sum(bool(run["kept"] and run["disturbed"]) for run in runs)

    def kernel(self, row):
        """The description of a row's kernel."""
        return self.meta["kernels"][row["kernel"]]


def round_factors(others):
    """{round: its slowdown against the median}, from contestants' values by round."""
    shares = {}
    for values in others:
        middle = statistics.median(list(values.values()))
        for number, value in values.items():
            shares.setdefault(number, []).append(value / middle)
    return {number: statistics.median(values) for number, values in shares.items()
            if len(values) >= statistics.MIN_OF_ROW}


def _freed(values, factors):
    return [value / factors.get(number, 1.0) for number, value in values.items()]


def judge_checksums(runs_of, elsewhere=None):
    """{contestant: what is wrong} of one row, from {contestant: its runs}. The right checksum is the
    one that glibc, or the serial program, found in every run, or found `elsewhere` (its name, the
    checksum). Without these the majority decides. Without a majority all are wrong."""
    sums = {c: [run["checksum"] for run in runs if not run.get("failed")]
            for c, runs in runs_of.items()}
    sums = {c: values for c, values in sums.items() if values}
    if not sums:
        return {}
    right, owner = None, "most others'"
    for reference in REFERENCES:
        if len(set(sums.get(reference, ()))) == 1:
            right, owner = sums[reference][0], f"{reference}'s"
            break
    else:
        votes = Counter(value for values in sums.values() for value in set(values)).most_common(2)
        if elsewhere:
            owner, right = f"{elsewhere[0]}'s", elsewhere[1]
        elif len(votes) < 2 or votes[0][1] > votes[1][1]:
            right = votes[0][0]
        else:
            return dict.fromkeys(sums, "the contestants' checksums differ, and no side has the "
                                 "majority")
    return {c: f"wrong result: its checksum is {bad[0]}, {owner} is {right}"
            for c, values in sums.items() if (bad := [v for v in values if v != right])}


def save_plan(folder, meta):
    """Writes run.json atomically: a reader sees the old file or the new one."""
    draft = folder / f".{PLAN}"
    draft.write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n")
    draft.replace(folder / PLAN)


def load(folder):
    folder = Path(folder)
    if not (folder / PLAN).is_file():
        raise Broken(f"{folder} holds no run: there is no {PLAN}")
    try:
        meta = json.loads((folder / PLAN).read_text())
    except ValueError as error:
        raise Broken(f"{folder / PLAN} is not valid: {error}") from None
    if meta.get("format") != FORMAT:
        raise Broken(f"{folder / PLAN} has format {meta.get('format')}, this lab reads {FORMAT}")
    return Run(folder, meta, _read_runs(folder / RUNS)[0])


def _read_runs(path):
    """(the runs, the length of the file up to the last complete line)"""
    runs, good = [], 0
    data = path.read_bytes() if path.exists() else b""
    while (end := data.find(b"\n", good)) >= 0:
        try:
            runs.append(json.loads(data[good:end]))
        except ValueError:
            if data.find(b"\n", end + 1) >= 0:
                raise Broken(f"{path}: line {len(runs) + 1} is not valid") from None
            break
        good = end + 1
    return runs, good


class Journal:
    """Writes results.jsonl. Opening it removes an incomplete last line."""

    def __init__(self, folder):
        path = Path(folder) / RUNS
        _, good = _read_runs(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._file, good)
        os.lseek(self._file, 0, os.SEEK_END)

    def write(self, runs):
        data = "".join(json.dumps(run, ensure_ascii=False) + "\n" for run in runs).encode()
        while data:
            data = data[os.write(self._file, data):]

    def close(self):
        os.close(self._file)


def write_table(run):
    """results.csv: medians and spreads."""
    names = ["row", "kernel", "case", "threads", "contestant", "unit", "runs", "disturbed",
             "failed"]
    for metric in METRICS:
        names += [metric, f"{metric}_low", f"{metric}_high", f"{metric}_mad"]
    with open(run.folder / TABLE, "w", newline="", encoding="utf8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in run.meta["rows"]:
            for contestant in row["contestants"]:
                if not run.of(row["id"], contestant):
                    continue
                line = [row["id"], row["kernel"], row["case"], row["threads"], contestant,
                        run.kernel(row)["unit"], len(run.kept(row["id"], contestant)),
                        run.disturbed(row["id"], contestant),
                        run.failure(row["id"], contestant) or ""]
                for metric in METRICS:
                    found = statistics.summary(run.kept(row["id"], contestant, metric))
                    line += [f"{v:.9g}" for v in (found.median, found.low, found.high, found.mad)] \
                        if found else [""] * 4
                writer.writerow(line)
