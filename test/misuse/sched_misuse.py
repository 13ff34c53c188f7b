#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the misuses of the scheduler, each in a process of its own, and compares the exit status and
every line of output.

Usage: sched_misuse.py PROGRAM [CASE ...]
"""
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

FAILURE = "Failure: a body failed\n"
OUT = "each came out\n"
MISSING_WAIT = "missing_wait: wait() was not called on a task group that has tasks\n"
STEP = "invalid_argument: parallel_for: step must be positive\n"
UNSAFE = "another exception: the threads of the scheduler could not be waited for\n"
LEAVING = "on the way out\n"

# case: its output, if it ends normally
CASES = {
    "group-destroyed-with-tasks": MISSING_WAIT,
    "group-destroyed-while-unwinding": "Failure: of the program's own\n",
    "group-handle-never-run": "complete\n",
    "group-handle-assigned-over": "complete\n",
    "group-wait-without-tasks": "complete\ncomplete\n",
    "group-body-throws": FAILURE + "complete\n",
    "group-several-bodies-throw": FAILURE + "complete\n",
    "group-run-and-wait-throws": FAILURE + "complete\n",
    "group-body-copy-throws": 2 * "Failure: a copy failed\n" + "complete\n",
    "group-returned-handle-of-thrower": FAILURE,
    "group-after-a-thrower": FAILURE,
    "group-after-one-never-run": "complete\n",
    "group-cancelled-before": "canceled\ncomplete\n",
    "group-cancelled-from-inside": "canceled\n",
    "group-cancelled-from-outside": "canceled\n",
    "group-parent-cancelled": "cancelled\n",
    "group-child-cancelled": "complete\n",
    "group-isolated-child-of-cancelled": "canceled\n",
    "classic-spawned-without-wait": "1000 have run\n",
    "classic-enqueued-without-wait": "1000 have run\n",
    "classic-never-spawned": "1 reference left\n",
    "classic-execute-throws": FAILURE + "1 has run\n",
    "classic-several-throw": FAILURE,
    "classic-constructor-throws": 2 * "Failure: a constructor failed\n" + "1 reference left\n",
    "classic-throws-deep-inside": "Failure: ten deep\n",
    "classic-cancels-deep-inside": 2 * "nothing thrown\n" + "cancelled\n",
    "for-auto": OUT,
    "for-simple": OUT,
    "for-static": OUT,
    "for-affinity": OUT,
    "for-numbers": OUT,
    "reduce-auto": OUT,
    "reduce-simple": OUT,
    "reduce-static": OUT,
    "reduce-affinity": OUT,
    "reduce-functions": OUT,
    "reduce-deterministic": OUT,
    "scan": OUT,
    "sort-comparator": OUT,
    "sort-comparator-copy": "no matter\n",
    "sort-moves": OUT,
    "for-each": OUT,
    "for-each-feeder": OUT,
    "invoke": OUT,
    "pipeline-parallel": OUT,
    "pipeline-in-order": OUT,
    "pipeline-out-of-order": OUT,
    "thread-specific-initialiser": OUT,
    "for-step-of-zero": 3 * STEP,
    "for-range-that-ends-before": "0 calls\n",
    "arena-execute-throws": FAILURE + "7\n",
    "arena-delegated-execute-throws": FAILURE,
    "arena-enqueue-in-group-throws": FAILURE,
    "arena-isolate-throws": FAILURE + "7\n",
    "arena-three-deep": FAILURE,
    "arena-round-and-round": "Failure: three deep\n",
    "arena-crowd": "2800 calls, 100 failures\n",
    "arena-initialized-twice": "2\nnot active\n2\n",
    "arena-odd-sizes": "6 calls\n",
    "arena-terminated-with-tasks": "500 calls\n",
    "control-of-zero": "invalid_argument: max_allowed_parallelism cannot be 0\n"
                       "invalid_argument: not a parameter that can be set\n",
    "control-finalized-inside": UNSAFE + "nothing thrown\n" + UNSAFE,
    "observers-go": "all gone\n",
    "fork-in-a-body": "64 children\n",
    "fork-after-a-call": "1022 calls, the child ends with 0\n",
    "leave-after-a-call": LEAVING,
    "leave-before-another-calls": LEAVING,
    "leave-with-enqueued-tasks": "1000 calls\n",
    "leave-and-handle": LEAVING,
    "leave-in-a-child": "the child ends with 0\n",
    "threads-none": "354 calls\n",
    "threads-none-for-enqueued-tasks": "100 calls\n",
    "threads-no-more": "254 calls\n",
}
MEMORY_CASES = [
    "memory-groups", "memory-isolated-groups", "memory-ordered-groups", "memory-invokes",
    "memory-traced-invokes", "memory-isolated-invokes", "memory-loops", "memory-isolated-mail",
    "memory-bound-arenas", "memory-reductions", "memory-fed-items", "memory-pipelines",
    "memory-arenas", "memory-classic", "memory-first-worker"]

# case: the assertion that ends it
ASSERTIONS = {
    "group-run-empty-handle": "the handle holds no task",
    "group-run-twice": "the handle holds no task",
    "group-run-in-another-group": "the task is another group's",
    "group-order-of-empty-handle": "the handle holds no task",
    "group-wait-in-own-task": "a task waits for its own group",
    "for-grainsize-of-zero": "a grainsize must be positive",
    "pipeline-of-nothing": "an empty pipeline",
    "pipeline-without-tokens": "a pipeline needs at least one live token",
}

# case: the exception that ends it, because no code can catch it
UNCAUGHT = {
    "arena-enqueue-throws": "nobody waits",
    "control-of-exceptions": "on the way",
    "observer-throws": "on entry",
}

# A signal ends the program.
TERMINATED = ["leave-and-be-terminated"]

# The program calls exit(7).
EXITS = ["exit-in-a-body", "exit-in-a-worker", "exit-with-enqueued-tasks", "quick-exit-in-a-body"]


def expected_of(case):
    """How the case ends, its output, and its error output without file names."""
    if case in ASSERTIONS:
        return -signal.SIGABRT, "", f"corbel: ASSERTION: {ASSERTIONS[case]}\n"
    if case in UNCAUGHT:
        return -signal.SIGABRT, "", ("terminate called after throwing an instance of "
                                     f"'std::runtime_error'\n  what():  {UNCAUGHT[case]}\n")
    if case in TERMINATED:
        return -signal.SIGTERM, LEAVING, ""
    if case in EXITS:
        return 7, LEAVING, ""
    if case in MEMORY_CASES:
        return 0, "each was refused or done\n", ""
    return 0, CASES[case], ""


def run(program, case):
    """Whether the case ended as expected."""
    expected = expected_of(case)
    environment = dict(os.environ)
    if "-traced-" in case:
        timeline = tempfile.NamedTemporaryFile()
        environment["CORBEL_TRACE"] = timeline.name
    if case.startswith(("threads-", "leave-")):
        environment["ASAN_OPTIONS"] += ":detect_leaks=0"  # leak detection needs threads
    try:
        ended = subprocess.run([program, case], env=environment, capture_output=True, text=True,
                               timeout=60)
    except subprocess.TimeoutExpired as late:
        print(f"{case}: has not ended; it said {late.stdout!r}, {late.stderr!r}")
        return False
    if ended.returncode == 77:
        print(f"{case}: cannot be run here")
        return True
    said = re.sub(r"corbel: \S+: assertion .* failed: ", "corbel: ASSERTION: ", ended.stderr)
    if "-traced-" in case:
        said = re.sub(r"corbel: CORBEL_TRACE: .*\n", "", said)  # a timeline may be incomplete
    if (ended.returncode, ended.stdout, said) == expected:
        return True
    print(f"{case}: expected: exit code %d, %r, %r" % expected)
    print(f"{case}: got:      exit code {ended.returncode}, {ended.stdout!r}, {said!r}")
    return False


def main():
    program = sys.argv[1]
    # A sanitizer's handler of SIGABRT would print more, and memory in use at exit is no leak.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":handle_abort=0"
    # The thread sanitizer waits a second at the end, and refuses threads in the child of a fork.
    os.environ["TSAN_OPTIONS"] = (os.environ.get("TSAN_OPTIONS", "") +
                                  ":atexit_sleep_ms=0:die_after_fork=0")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    there = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    known = {*MEMORY_CASES} if set(there) & {*MEMORY_CASES} else {*CASES, *ASSERTIONS, *UNCAUGHT,
                                                                  *TERMINATED, *EXITS}
    if set(there) != known:
        print("only in the program or in the table:", sorted(set(there) ^ known))
        return 1
    cases = sys.argv[2:] or there
    return 0 if all([run(program, case) for case in cases]) else 1


if __name__ == "__main__":
    sys.exit(main())
