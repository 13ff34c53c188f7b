# SPDX-License-Identifier: Apache-2.0
"""Measures the workloads with `corbel compare`, one interleaved round at a time. The command adds
each round to a file and judges all of them; this module only reads the file."""
import json
import subprocess

METRICS = (("wall_seconds", "time"), ("cpu_seconds", "CPU"), ("peak_rss_bytes", "peak memory"))


class Failure(Exception):
    """A program that could not be measured; the text says why."""


class Measured:
    """One workload and the comparison of all its runs so far, as `corbel compare --json` wrote it."""

    def __init__(self, workload, file):
        self.workload, self.file = workload, file
        self.comparison = {}

    @property
    def problems(self):
        return self.comparison["problems"]

    @property
    def warnings(self):
        return self.comparison["warnings"]

    @property
    def machine(self):
        return self.comparison["machine"]

    def values(self, side, metric):
        return [run[metric] for run in self.comparison["runs"] if run["side"] == side]

    def summary(self, side, metric):
        return next(each["summary"][metric] for each in self.comparison["sides"]
                    if each["name"] == side)

    def median(self, side, metric):
        return self.summary(side, metric)["median"]

    def mad(self, side, metric):
        return self.summary(side, metric)["mad"]

    def ratio(self, metric):
        return self.summary("corbel", metric)["ratio"]

    def verdict(self, metric):
        """"lower", "higher", "same", or "too few runs"."""
        return self.summary("corbel", metric)["verdict"]

    def runs(self):
        return len(self.comparison["runs"])

    def disturbed(self):
        return self.comparison["disturbed_runs"]


def one_round(corbel, measured, seed, keep=True):
    """Runs a workload once on each side, in an order that `seed` determines; returns the seconds."""
    command = [str(corbel), "compare", "-n", "1", "--warmup", "0", "--seed", str(seed), "-q",
               "--json", str(measured.file)]
    if keep:
        command.append("--append")
    if measured.workload.checks_output:
        command.append("--check-output")
    measured.file.parent.mkdir(parents=True, exist_ok=True)
    before = measured.runs() if keep and measured.comparison else 0
    done = subprocess.run(command + ["--"] + measured.workload.command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, check=False)
    try:
        found = json.loads(measured.file.read_text())
    except (OSError, ValueError):
        found = {"runs": []}
    runs = found["runs"][before:]
    if not runs:
        lines = done.stderr.strip().splitlines()
        raise Failure(lines[-1] if lines else f"exit code {done.returncode}") from None
    exits = {run["side"]: run["exit_code"] for run in runs}
    if exits["system"] != 0:
        raise Failure(f"it fails on the system's malloc, too (exit code {exits['system']})")
    if keep:
        measured.comparison = found
    else:
        measured.file.unlink()
    return sum(run["wall_seconds"] for run in runs)


def conversion_times(corbel, build, folder, conversions):
    """The seconds of each conversion of a long run, by side; empty when a run fails."""
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
