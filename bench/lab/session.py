# SPDX-License-Identifier: Apache-2.0
"""Executes a plan. Each step runs once and its result is written immediately, so that a run can be
stopped at any moment and resumed later."""
import datetime
import fcntl
import os
import shutil
import time
from pathlib import Path

from lab import measure, results, schedule, statistics
from lab.progress import span

TIMEOUTS = {"quick": 60.0, "normal": 120.0, "full": 900.0}
GUESSES = {"quick": 0.1, "normal": 0.7, "full": 3.0}  # seconds of a run, until one is measured
GUESSES_OF_WATCHING = {"quick": 1.7, "normal": 7.0, "full": 7.0}
ATTEMPTS = 3
# The limit on repeating disturbed runs. On a machine that is never quiet it would triple the time.
REPEAT_SECONDS = 20.0
REPEAT_SHARE = 0.25
# The maximal wait for a quiet machine before a repetition.
QUIET_SECONDS = min(1.0, float(os.environ.get("CORBEL_BENCH_QUIET_SECONDS", 1)))


class InUse(Exception):
    """Another lab writes to the folder."""


class Changed(Exception):
    """A program or library has changed since the run started."""


def hold(folder):
    """Locks the folder for this process until the returned descriptor is closed."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise InUse(f"{folder} is in use by another lab") from None
    return held


def is_held(folder):
    try:
        os.close(hold(folder))
    except InUse:
        return True
    return False


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


class Estimate:
    """The expected time of a step: that of the same pair, else of the same row or kernel, else a guess
    for the scale."""

    def __init__(self, scale):
        self.scale = scale
        self._seconds = {}

    def add(self, step, seconds):
        for key in self._keys(step):
            self._seconds.setdefault(key, []).append(seconds)

    def of(self, step):
        for key in self._keys(step):
            if key in self._seconds:
                return statistics.median(self._seconds[key])
        return (GUESSES_OF_WATCHING if step.row.watches else GUESSES)[self.scale]

    @staticmethod
    def _keys(step):
        return ((step.row.id, step.contestant.id), step.row.id, ("kernel", step.row.kernel))


class Session:
    def __init__(self, folder, meta, rows, progress, run_once=measure.run,
                 wait_until_quiet=measure.wait_until_quiet, changed=lambda: []):
        self.folder, self.meta, self.rows, self.progress = Path(folder), meta, rows, progress
        self.run_once, self.wait_until_quiet = run_once, wait_until_quiet
        self.changed = changed  # the names of files that have changed since the plan was made
        scale = meta["scale"]
        self.timeout, self.estimate = TIMEOUTS[scale], Estimate(scale)
        self.scratch = self.folder / "scratch"
        self.spent = self.repeating = self.measured = 0.0  # seconds
        self.order = 0

    def run(self):
        """Raises KeyboardInterrupt when it is stopped; the results so far are on disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        held = hold(self.folder)
        try:
            self._run()
        finally:
            os.close(held)

    def _run(self):
        self.scratch.mkdir(exist_ok=True)
        if not (self.folder / results.PLAN).exists():
            results.save_plan(self.folder, self.meta)
        self.journal = results.Journal(self.folder)
        self.found = results.load(self.folder)
        self.order = max((run["order"] for run in self.found.runs), default=-1) + 1
        try:
            self._steps()
        finally:
            self.journal.close()
            self._remove_scratch()
        self.meta["finished"] = now()
        results.save_plan(self.folder, self.meta)

    def _steps(self):
        steps = schedule.steps(self.rows, self.meta["rounds"], self.meta["seed"])
        done = {(run["round"], run["row"], run["contestant"])
                for run in self.found.runs if run["kept"]}
        for step in steps:
            for run in self.found.of(step.row.id, step.contestant.id):
                if run["kept"] and run["round"] == step.round:
                    self.estimate.add(step, run["wall_seconds"])
        left = [step for step in steps
                if (step.round, step.row.id, step.contestant.id) not in done]
        number = None
        for index, step in enumerate(left):
            if step.round != number:
                number = step.round
                self._check_unchanged()
            if self._needless(step):
                continue
            self._show(step, len(steps) - len(left) + index, len(steps), left[index:])
            self._take(step)
        self._check_unchanged()

    def _check_unchanged(self):
        """Results of two versions of a program must not be mixed."""
        if names := self.changed():
            raise Changed(f"changed while it was measured: {', '.join(names[:5])}")

    def _needless(self, step):
        if step.row.skipped or self.found.failure(step.row.id, step.contestant.id):
            return True
        # Only earlier rounds count, so that all contestants of a row stop after the same round.
        seconds = [run["wall_seconds"] for c in step.row.contestants
                   for run in self.found.of(step.row.id, c.id)
                   if run["kept"] and run["round"] < step.round]
        return schedule.is_enough(step, statistics.median(seconds) if seconds else None)

    def _show(self, step, done, total, left):
        """Estimates the time left in seconds and not in steps: rows differ by a factor of a thousand."""
        ahead = sum(self.estimate.of(each) for each in left if not each.row.skipped)
        past = sum(run["wall_seconds"] for run in self.found.runs)
        share = past / (past + ahead) if ahead else 1.0
        factor = self.spent / self.measured if self.measured > 1 else 1.05
        self.progress.update(f"{step.row.id}  {step.contestant.id}", done, total, share,
                             ahead * max(1.0, factor))

    def _take(self, step):
        """One step: a run, and up to two repetitions when it was disturbed."""
        begin = time.monotonic()
        attempts = []
        try:
            while True:
                attempts.append(self._attempt(step, len(attempts)))
                if step.row.watches or not self._again(attempts):
                    break
                self.wait_until_quiet(QUIET_SECONDS)
        except measure.NotInstalled as missing:
            self._skip(step.row, str(missing))
            return
        finally:
            self._record(attempts)
        best = min(attempts, key=_disturbance)
        seconds = time.monotonic() - begin
        self.spent += seconds
        self.measured += best["wall_seconds"]
        self.repeating += seconds * (len(attempts) - 1) / len(attempts)
        self.estimate.add(step, best["wall_seconds"])
        self._tell(step, best)

    def _record(self, attempts):
        """Records the attempts, also when the step is stopped during a repetition."""
        if attempts:
            min(attempts, key=_disturbance)["kept"] = True
            self.journal.write(attempts)
            for run in attempts:
                self.found.add(run)

    def _attempt(self, step, number):
        contestant = step.contestant
        figures = self.run_once(contestant.command, contestant.environment(), self.timeout,
                                self.scratch)
        self.order += 1
        return {"row": step.row.id, "kernel": step.row.kernel, "case": step.row.case,
                "threads": step.row.threads, "contestant": contestant.id,
                "scheduler": contestant.scheduler, "variant": contestant.variant,
                "allocator": contestant.allocator, "round": step.round, "attempt": number,
                "order": self.order - 1, **figures, "kept": False}

    def _again(self, attempts):
        if not attempts[-1]["disturbed"] or attempts[-1]["failed"] or len(attempts) == ATTEMPTS:
            return False
        return self.repeating <= REPEAT_SECONDS + REPEAT_SHARE * self.spent

    def _skip(self, row, why):
        row.skipped = why
        for record in self.meta["rows"]:
            if record["id"] == row.id:
                record["skipped"] = why
        results.save_plan(self.folder, self.meta)
        self.progress.say(f"{row.id} is left out: {why}")

    def _tell(self, step, run):
        """Reports a failure, or a result that differs from the others, as soon as it happens."""
        row, contestant = step.row.id, step.contestant.id
        if why := self.found.failure(row, contestant):
            self.progress.say(f"FAILED  {row}  {contestant}: {why}")

    def _remove_scratch(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def seconds_of(self, rows):
        """The first estimate, as text."""
        steps = schedule.steps(rows, self.meta["rounds"], self.meta["seed"])
        return span(sum(self.estimate.of(step) for step in steps))


def _disturbance(run):
    """The order of attempts: a failed one first, then by disturbance. The first one is kept."""
    if run["failed"]:
        return -1.0
    if not run["disturbed"]:
        return 0.0
    return (run["others_cpu_seconds"] + run["steal_seconds"]) / max(run["wall_seconds"], 1e-3)
