#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CAD conversion with Open CASCADE itself: DRAW without a window builds a model, writes it to a
STEP file and reads it back, repeatedly in one process.

After "Memory management challenges in parallel applications" (2009), where the same conversion took
longer and longer; the kernel `conversion` is a synthetic version of it. The times are CPU
time: DRAW has one thread, and other processes must not distort the curve.
"""
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program_runner as runner  # noqa: E402

import draw  # noqa: E402

LIBRARIES = "BENCH_ENV_LD_LIBRARY_PATH"


def environment(folder):
    try:
        plugins, env = draw.environment(str(folder))
    except draw.Missing as missing:
        raise runner.NotInstalled(missing) from None
    if os.environ.get(LIBRARIES):  # the contestant's own path, which would otherwise replace ours
        os.environ[LIBRARIES] = f"{plugins}:{os.environ[LIBRARIES]}"
    # MMGT_OPT=0: its memory manager forwards each request to malloc.
    return {**env, "LD_LIBRARY_PATH": plugins, "MMGT_OPT": "0", "FOLDER": str(folder)}


def growth(times):
    """The time of the last third ÷ that of the first third, without the very first conversion."""
    third = (len(times) - 1) // 3
    if third == 0:
        return 1.0
    return statistics.median(times[-third:]) / statistics.median(times[1:1 + third])


def run(arguments, folder):
    arguments.number("share", 0)  # for the lab, which then runs its sampler in front
    conversions = arguments.number("conversions", 3)
    columns = arguments.number("columns", 2)
    program = runner.find(draw.PROGRAM)
    env = environment(folder)
    done = runner.measure([program, "-b", "-f", draw.SCRIPT], cwd=folder,
                          env={**env, "CONVERSIONS": str(conversions),
                               "COLUMNS": str(columns)})
    lines = done.output.decode("utf8", "replace").splitlines()
    results = draw.results(lines)
    runner.check(results is not None, "the script did not get to its end")
    # Counts and volume of each conversion that the script checks. The files differ a little: their
    # product names are numbered through the whole session.
    kept = {tuple(line.split()[2:-1]) for line in results[1:-1]}
    runner.check(len(kept) == 1, "the conversions do not all give the same model")
    files = [draw.without_date(folder / f"model{n}.stp") for n in (1, conversions)]
    seconds = [time / 1e9 for time in draw.times(lines)]
    runner.check(len(seconds) == conversions, "not all conversions were timed")
    return runner.result(done, value=sum(seconds) / conversions,
                         text="\n".join(results).encode() + b"".join(files),
                         extra={"last_to_first": growth(seconds)},
                         series={"conversion": seconds})


SHARE = ("share in the allocator", "columns=1 conversions=8 share=1",
         "columns=4 conversions=16 share=1", "columns=8 conversions=50 share=1")

descriptor = runner.describe(
    name="opencascade", title="Open CASCADE, STEP out and in",
    what="DRAW, the test program of Open CASCADE, builds a model, then writes it to a STEP file and "
         "reads it back, again and again in one process. On an allocator that fragments, the n-th "
         "conversion takes longer than the first.",
    group="seed allocator", figure="the growing conversion times of CAD Exchanger",
    metric="processor time of a conversion", plot="series",
    cases=[("", "columns=1 conversions=8", "columns=4 conversions=16",
            "columns=8 conversions=100"), SHARE])
# Only these: DRAW takes too long to start to measure the share for every contestant.
descriptor["cases"][1]["allocators"] = ["glibc", "tbbmalloc", "corbel"]
runner.main(descriptor, run)
