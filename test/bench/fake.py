# SPDX-License-Identifier: Apache-2.0
"""Shared by the lab's tests: a lab without a machine. Rows and contestants are made up, and the test
chooses the result of each run, so that no test depends on the speed or load of this machine."""
import os
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]

from lab import catalogue, results, session  # noqa: E402
from lab.progress import Silent  # noqa: E402

DESCRIPTOR = {"name": "fake", "title": "Fake", "what": "It is made up. It measures nothing.",
              "group": "modern allocator", "figure": "", "metric": "time", "unit": "s",
              "higher_is_better": False, "plot": "bars", "threads": [1], "variants": [],
              "allocators": [], "cases": [{"label": "", "quick": "", "normal": "", "full": ""}]}
FACTS = {"title": "", "version": "1", "kind": "allocator", "origin": "", "skipped": None}


def row(name, contestants, kernel="fake", repeats=1, watches=False):
    made = catalogue.Row(name, kernel, "", 1, repeats=repeats, watches=watches)
    made.contestants = [catalogue.Contestant(one, [one], allocator=one) for one in contestants]
    return made


def meta(rows, rounds=3, seed=1, scale="quick", **more):
    names = {one.id for each in rows for one in each.contestants}
    kernels = {each.kernel: {**DESCRIPTOR, "name": each.kernel,
                             "group": "control" if each.kernel == "control" else
                             DESCRIPTOR["group"]} for each in rows}
    return {"format": results.FORMAT, "started": session.now(), "finished": None, "scale": scale,
            "seed": seed, "rounds": rounds, "options": {}, "commit": "0", "machine": {},
            "notes": [], "contestants": {name: dict(FACTS, title=name) for name in names},
            "kernels": kernels, "digests": {}, "rows": [each.record() for each in rows], **more}


def figures(value, **more):
    """The figures that one run of a kernel returns."""
    return {"started": session.now(), "wall_seconds": 0.01, "cpu_seconds": 0.01,
            "others_cpu_seconds": 0.0, "steal_seconds": 0.0, "disturbed": False, "value": value,
            "seconds": value, "checksum": "00ff", "peak_rss_kib": 3000, "peak_vm_kib": 9000,
            "minor_faults": 100, "major_faults": 0, "extra": {}, "series": {}, "failed": None,
            **more}


class Machine:
    """Runs fake contestants: each has a speed, and noise with a heavy right tail on top."""

    def __init__(self, speeds, seed=1, special=None):
        self.speeds, self.random, self.special = speeds, random.Random(seed), special or {}
        self.calls = []

    def __call__(self, command, env, timeout, cwd):
        name = command[0]
        self.calls.append(name)
        value = self.speeds.get(name, 1.0) * noise(self.random)
        special = self.special.get(name, {})
        special = special(len(self.calls)) if callable(special) else special
        return {**figures(value), **special}


def noise(source):
    """The noise of a machine: about 1 % up, and sometimes much more."""
    made = 1 + 0.01 * abs(source.gauss(0, 1))
    return made + (source.expovariate(10) if source.random() < 0.1 else 0)


def run(folder, rows, machine, **more):
    """A whole run on a fake machine: (the results on disk, the lines of the progress)."""
    said = Silent()
    session.Session(folder, meta(rows, **more), rows, said, run_once=machine,
                    wait_until_quiet=lambda seconds: True).run()
    return results.load(folder), said.said


def environment(**more):
    made = {name: value for name, value in os.environ.items()
            if name not in ("LD_PRELOAD", "CORBEL_REPORT_VENV")}
    return {**made, "CORBEL_BENCH_PLAIN": "1", "CORBEL_BENCH_QUIET_SECONDS": "0",
            "NO_COLOR": "1", **more}
