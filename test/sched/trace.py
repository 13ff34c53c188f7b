#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CORBEL_TRACE reports of programs of known shape. Usage: trace.py TRACED TRACED_CALLS."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
CALLS = sys.argv.pop(1)

# The thread sanitizer refuses threads in the child of a fork.
os.environ["TSAN_OPTIONS"] = os.environ.get("TSAN_OPTIONS", "") + ":die_after_fork=0"


SUMMARY = re.compile(
    r"corbel: (?P<threads>\d+) threads of at most (?P<limit>\d+); work (?P<work>[\d.]+) ms, "
    r"span (?P<span>[\d.]+) ms, parallelism (?P<parallelism>[\d.]+); (?P<tasks>\d+) tasks taken up, "
    r"(?P<stolen>\d+) of them stolen; "
    r"idle (?P<idle>[\d.]+) % of (?P<calls>[\d.]+) ms in parallel calls\n")


def run(value, *arguments, program=PROGRAM):
    environment = dict(os.environ)
    environment.pop("CORBEL_TRACE", None)
    if value is not None:
        environment["CORBEL_TRACE"] = str(value)
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True,
                          timeout=60)


def summary(case, *arguments, program=PROGRAM):
    """Runs the program. Returns the values of its summary, and the finished process."""
    done = run("summary", *arguments, program=program)
    case.assertEqual(done.returncode, 0, done.stderr)
    found = SUMMARY.fullmatch(done.stderr)
    case.assertIsNotNone(found, done.stderr)
    return {name: float(value) for name, value in found.groupdict().items()}, done


def until_undisturbed(case, look):
    """Other load on the machine may lengthen a span beyond what it is at most, the second result of
    look(). So several runs are tried."""
    for _ in range(10):
        span, at_most = look()
        if span < at_most:
            return
    case.fail(f"a span of {span} ms instead of {at_most}, ten times")


class Trace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = pathlib.Path(self.folder.name) / "timeline.json"

    def test_no_output_without_the_variable(self):
        for value in (None, ""):
            done = run(value)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def tree(self):
        values, done = summary(self)
        self.assertEqual(done.stderr.count("\n"), 1)
        work, span, parallelism = (values[f] for f in ("work", "span", "parallelism"))
        # 32 leaves of 1 ms, and a path through one of them.
        self.assertGreaterEqual(work, 32)
        self.assertGreaterEqual(span, 1)
        self.assertAlmostEqual(parallelism, work / span, delta=parallelism / 10)
        self.assertGreaterEqual(values["stolen"], 1)  # one of the two bodies that meet
        return span, work / 2

    def test_summary(self):
        until_undisturbed(self, self.tree)

    def test_timeline(self):
        done = run(self.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        timeline = json.loads(self.file.read_text())
        events = timeline["traceEvents"]
        names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.assertLessEqual({"thread 1", "worker 2"}, names)
        self.assertTrue(all(re.fullmatch(r"thread 1|worker \d+", name) for name in names), names)
        spans = [e for e in events if e["ph"] == "X"]
        self.assertTrue({"task", "wait", "call"} <= {e["name"] for e in spans})
        numbers = {e["tid"] for e in spans}
        steals = [e for e in events if e["name"] == "steal" and e["ph"] == "i"]
        self.assertTrue(steals)
        for e in steals:
            self.assertIn(e["args"]["from"], numbers - {e["tid"]})
            self.assertLessEqual(e["args"]["pushed"], e["ts"])
        arrows = [(e["ph"], e["id"]) for e in events if e["ph"] in "sf"]
        self.assertEqual(sorted((ph, i + 1) for ph in "sf" for i in range(len(steals))),
                         sorted(arrows))
        data = timeline["otherData"]
        self.assertGreaterEqual(data["work_ns"], data["span_ns"])
        self.assertEqual(data["stolen"], len(steals))
        known = {f["run"]: f for f in data["functions"]}
        for e in spans:
            if e["name"] == "task":
                self.assertTrue(pathlib.Path(known[e["args"]["run"]]["file"]).exists())
        for e in spans:
            self.assertGreaterEqual(e["ts"], 0)
            self.assertGreaterEqual(e["dur"], 0)
        # Events of one thread follow or contain each other, but never overlap partly.
        for thread in {e["tid"] for e in spans}:
            ends = []
            own = [e for e in spans if e["tid"] == thread]
            for e in sorted(own, key=lambda e: (e["ts"], -e["dur"])):
                while ends and ends[-1] <= e["ts"] + 0.001:
                    ends.pop()
                if ends:
                    self.assertLessEqual(e["ts"] + e["dur"], ends[-1] + 0.002)
                ends.append(e["ts"] + e["dur"])

    def test_a_forked_child_does_not_write_it(self):
        done = run(self.file, "fork")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        json.loads(self.file.read_text())
        self.assertEqual(run("summary", "fork").stderr.count("corbel:"), 1)

    def test_threads_that_have_ended(self):
        values, _ = summary(self, "short_threads")
        self.assertGreaterEqual(values["threads"], 200)

    def test_a_timeline_of_threads_that_have_ended(self):
        done = run(self.file, "short_threads")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        events = json.loads(self.file.read_text())["traceEvents"]
        names = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len([name for name in names if name.startswith("thread ")]), 200)
        # Each buffer has room for 8 MiB of events.
        self.assertLess(int(done.stdout), 180 * (1 << 20))

    def suspended(self):
        values, done = summary(self, "suspended")
        work, span, calls = (values[f] for f in ("work", "span", "calls"))
        took = float(done.stdout)
        self.assertLessEqual(calls, took)
        self.assertGreater(calls, took / 2)
        return span, work / 2

    def test_suspended_stacks_are_separate_in_the_critical_path(self):
        # Three pieces of work run one after the other, although they could run in parallel.
        until_undisturbed(self, self.suspended)

    def test_a_page_is_not_what_the_library_writes(self):
        page = pathlib.Path(self.folder.name) / "x.html"
        done = run(page)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, f"corbel: CORBEL_TRACE={page}: the library writes JSON; for a page: "
                                      f"corbel trace -o {page} -- PROGRAM\n")
        self.assertFalse(page.exists())

    def test_a_file_that_cannot_be_written(self):
        missing = pathlib.Path(self.folder.name) / "no" / "file.json"
        done = run(missing)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr,
                         f"corbel: CORBEL_TRACE={missing}: cannot write that file (No such file or "
                         "directory); set it to a file for a timeline or to \"summary\"\n")


# How many tasks each algorithm takes up; None: that depends on the threads.
TASKS = {
    "classic_continuation": 4, "classic_wait": 4, "deterministic_reduce": 15, "enqueue": 4,
    "feeder": 14, "for_one_context": None, "fork_of_two": 1, "invoke": 7, "invoke_many": 3,
    "task_group": 16, "task_group_order": 3, "task_group_tree": 12,
}


class Calls(unittest.TestCase):
    """Each algorithm, with bodies that measure how long they take.

    What the trace has measured beyond that, the time between the bodies, is in the work, and what
    of it lies on the critical path is in the span. So other load on the machine does not matter:
    however much it delays the program, the span is not longer than that of the bodies and all the
    additional work."""

    ROUNDING = 0.02  # ms

    def look(self, algorithm, threads):
        """Returns the span and what it is at most."""
        trace, done = summary(self, algorithm, str(threads), program=CALLS)
        bodies = dict(zip(("work", "shortest", "longest", "took"),
                          map(float, done.stdout.split())))
        self.assertGreaterEqual(trace["work"], bodies["work"] - self.ROUNDING)
        self.assertLessEqual(trace["calls"], bodies["took"] + self.ROUNDING)
        between = trace["work"] - bodies["work"]
        self.assertGreaterEqual(trace["span"], bodies["shortest"] - self.ROUNDING)
        self.assertLessEqual(trace["span"], trace["calls"] + self.ROUNDING)
        self.assertAlmostEqual(trace["parallelism"], trace["work"] / trace["span"], delta=0.05)
        busy = trace["work"] / (threads * trace["calls"])
        self.assertAlmostEqual(trace["idle"], max(0, 100 * (1 - busy)), delta=0.3)
        self.assertLessEqual(trace["stolen"], trace["tasks"])
        if TASKS.get(algorithm) is not None:
            self.assertEqual(trace["tasks"], TASKS[algorithm])
        # Enqueued tasks run in a worker, which one thread gets in addition.
        if algorithm == "enqueue":
            self.assertEqual(trace["stolen"], 4)
        elif algorithm in ("fork_of_two", "waits_elsewhere"):
            self.assertEqual(trace["stolen"], 1)
        elif threads == 1:
            self.assertEqual(trace["stolen"], 0)
        return trace["span"], bodies["longest"] + between + 2 * self.ROUNDING

    def test_every_algorithm(self):
        algorithms = run(None, program=CALLS).stdout.split()
        self.assertGreater(len(algorithms), 20)
        for algorithm in algorithms:
            for threads in (1, 2, 4):
                # Two bodies wait for each other; two calls have two threads; how the pieces of a
                # scan depend on each other differs from run to run.
                if (algorithm, threads) in (("fork_of_two", 1), ("two_calls", 1),
                                               ("scan", 2), ("scan", 4)):
                    continue
                with self.subTest(algorithm=algorithm, threads=threads):
                    if algorithm == "pipeline_tokens" and threads > 1:
                        # An item waits until another has left, and the trace takes the first that
                        # has reported it: perhaps a later one than in the model, if a thread was
                        # preempted before it reported.
                        until_undisturbed(self, lambda: self.look(algorithm, threads))
                    else:
                        self.assertLessEqual(*self.look(algorithm, threads))


if __name__ == "__main__":
    unittest.main()
