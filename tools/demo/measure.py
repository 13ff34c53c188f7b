# SPDX-License-Identifier: Apache-2.0
"""Measures the workloads with `corbel compare`, one interleaved round at a time."""
import json
import statistics
import subprocess

METRICS = (("wall_seconds", "time"), ("cpu_seconds", "CPU"), ("peak_rss_bytes", "peak memory"))
# As `corbel compare` judges: medians further apart than both spreads together (wider for few
# runs), half a per cent, and what pages of files add to memory by chance.
DEVIATIONS_PER_MAD = 1.4826
SMALL_SAMPLE = 20
SMALLEST_SHARE = 0.005
RESOLUTION = {"peak_rss_bytes": 128 * 1024}


class Failure(Exception):
    """A program that could not be measured; the text says why."""


class Measured:
    """One workload and all of its runs so far."""

    def __init__(self, workload):
        self.workload = workload
        self.runs = {"system": [], "corbel": []}
        self.problems = []
        self.warnings = []
        self.machine = {}

    def round_seconds(self):
        """How long one round of both sides takes, from the runs so far."""
        return sum(statistics.median(run["wall_seconds"] for run in side)
                   for side in self.runs.values() if side)

    def values(self, side, metric):
        return [run[metric] for run in self.runs[side]]

    def median(self, side, metric):
        return statistics.median(self.values(side, metric))

    def mad(self, side, metric):
        middle = self.median(side, metric)
        return statistics.median(abs(value - middle) for value in self.values(side, metric))

    def ratio(self, metric):
        base = self.median("system", metric)
        return self.median("corbel", metric) / base if base else None

    def verdict(self, metric):
        """"lower", "higher", "same", or "few" below three runs a side."""
        runs = min(len(side) for side in self.runs.values())
        if runs < 3:
            return "few"
        base, other = self.median("system", metric), self.median("corbel", metric)
        spread = (1 + SMALL_SAMPLE / runs**2) * DEVIATIONS_PER_MAD * (
            self.mad("system", metric) + self.mad("corbel", metric))
        least = max(spread, SMALLEST_SHARE * max(base, other), RESOLUTION.get(metric, 0))
        if abs(other - base) <= least:
            return "same"
        return "lower" if other < base else "higher"

    def disturbed(self):
        return sum(run["disturbed"] for side in self.runs.values() for run in side)


def one_round(corbel, measured, seed, keep=True):
    """Runs a workload once on each side, in an order that `seed` draws; returns the seconds."""
    command = [str(corbel), "compare", "-n", "1", "--warmup", "0", "--seed", str(seed), "-q",
               "--json", "-"]
    if measured.workload.checks_output:
        command.append("--check-output")
    done = subprocess.run(command + ["--"] + measured.workload.command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, check=False)
    try:
        result = json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines()
        raise Failure(lines[-1] if lines else f"exit code {done.returncode}") from None
    exits = {run["side"]: run["exit_code"] for run in result["runs"]}
    if exits["system"] != 0:
        raise Failure(f"it fails on the system's malloc, too (exit code {exits['system']})")
    for problem in result["problems"]:
        if problem not in measured.problems:
            measured.problems.append(problem)
    for warning in result["warnings"]:
        if warning not in measured.warnings:
            measured.warnings.append(warning)
    measured.machine = result["machine"]
    if keep:
        for run in result["runs"]:
            measured.runs[run["side"]].append(run)
    return sum(run["wall_seconds"] for run in result["runs"])


def conversion_times(corbel, build, folder, conversions):
    """The seconds of each conversion of a long run, by side; empty when it cannot be had."""
    program = build / "bin" / "corbel-demo-conversion"
    times = {}
    for side, start in (("system", []), ("corbel", [str(corbel), "run", "--"])):
        file = folder / f"conversions-{side}.txt"
        done = subprocess.run(start + [str(program), "--conversions", str(conversions),
                                       "--times", str(file)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if done.returncode != 0 or not file.exists():
            return {}
        times[side] = [float(line) for line in file.read_text().split()]
    return times
