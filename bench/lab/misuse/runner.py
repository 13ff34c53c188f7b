# SPDX-License-Identifier: Apache-2.0
"""Runs every kind with every contestant and size, on all cores: nothing is timed.

A cell has FIRST runs, and all `runs` if these differ in their outcome. Where chance decides (threads,
or where blocks happen to lie), it has all from the beginning; where each run also takes a million
allocations, FAR runs, or SLOW on a slow contestant, and all if they differ and the contestant is not
slow. Where the first HANGS runs do not end, there are no more."""
import concurrent.futures
import json
import os
import resource
import subprocess

from lab.misuse import judge, record

FIRST, FAR, SLOW, HANGS = 5, 10, 3, 3
TIMEOUT = 90  # seconds: a slow contestant with a million allocations needs 20
KEPT = ("PATH", "HOME")


def counts(kind, contestant, runs):
    """(runs at first, runs if these differ)"""
    runs = min(runs, contestant.most or runs)
    if contestant.slow and kind.far:
        return min(SLOW, runs), min(SLOW, runs)
    if kind.far:
        return min(FAR, runs), runs
    chance = kind.by_chance or contestant.sampled
    return (runs if chance else min(FIRST, runs)), runs


def environment(contestant):
    made = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**made, "LC_ALL": "C", **contestant.env}


def once(kind, contestant, size, seed, timeout=TIMEOUT):
    """(outcome, line)"""
    command = [*contestant.command, kind.name, f"size={size}", f"seed={seed}"]
    if contestant.far:
        command.append(f"far={contestant.far}")
    try:
        done = subprocess.run(command, env=environment(contestant), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=timeout)
        code, late, output, errors = done.returncode, False, done.stdout, done.stderr
    except subprocess.TimeoutExpired as expired:
        code, late, output, errors = 0, True, expired.stdout or b"", expired.stderr or b""
    return judge.outcome(kind.fault, code, output.decode("utf8", "replace"),
                         errors.decode("utf8", "replace"), late)


def cell(kind, contestant, size, runs, write):
    """All runs of a cell. `write(run's facts)` is called for each."""
    first, most = counts(kind, contestant, runs)
    found = []
    for seed in range(1, most + 1):
        outcomes = {outcome for outcome, _ in found}
        if len(outcomes) == 1 and (seed > first or seed > HANGS and "hung" in outcomes):
            break
        found.append(once(kind, contestant, size, seed))
        write({"contestant": contestant.name, "kind": kind.name, "size": size, "seed": seed,
               "outcome": found[-1][0], "line": found[-1][1]})
    return record.Cell.of(found)


def run(kinds, contestants, runs, lines, progress=None):
    """({contestant: {kind: {size: Cell}}}, whether it was interrupted). Every run is a line of the
    file `lines`. An interruption leaves only the contestants that have all their cells."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # these programs crash on purpose
    jobs = [(kind, contestant, size) for contestant in contestants for kind in kinds
            for size in kind.sizes]

    def write(facts):
        lines.write(json.dumps(facts, ensure_ascii=False) + "\n")  # one call: whole lines

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = {pool.submit(cell, kind, contestant, size, runs, write): (kind, contestant, size)
                   for kind, contestant, size in jobs}
        stopped = False
        try:
            for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
                future.result()
                if progress:
                    progress(done, len(jobs), futures[future][1])
        except KeyboardInterrupt:
            stopped = True
            pool.shutdown(wait=True, cancel_futures=True)
    cells = {}
    for future, (kind, contestant, size) in futures.items():
        if not future.cancelled() and not future.exception():
            cells.setdefault(contestant.name, {}).setdefault(kind.name, {})[size] = future.result()
    whole = len(jobs) // len(contestants)
    return {name: found for name, found in cells.items()
            if sum(map(len, found.values())) == whole}, stopped
