# SPDX-License-Identifier: Apache-2.0
"""Open CASCADE writes and reads STEP repeatedly in one process: with Corbel preloaded, with its
libtbbmalloc.so.2 swapped for ours, and with both. The shapes and the files must be the same as on
the system's malloc, and the n-th conversion must not take longer than the first ones."""

import os
import re
import statistics
import sys

import common

sys.path.insert(0, os.path.join(common.HERE, "..", "..", "bench", "kernels", "opencascade"))
import draw as occt  # noqa: E402

CONVERSIONS = 45 if common.FULL else 30
WARM_UP = 6
GROWTH = 1.3
TICKS = 10e6  # Nanoseconds: the kernel may account processor time in ticks of 4 or 10 ms.


def growth(name, times):
    """How much longer the last conversions take than the first, by the lower quartile: other
    programs slow single conversions down, but a heap that degrades slows all of them down."""
    times = times[WARM_UP:]
    third = len(times) // 3
    first, last = (statistics.quantiles(part, n=4)[0] for part in (times[:third], times[-third:]))
    print("%s: conversions %d..%d take %.1f ms, the last %d %.1f ms (x%.2f)" % (
        name, WARM_UP + 1, WARM_UP + third, first / 1e6, third, last / 1e6, last / first))
    return last > GROWTH * first + TICKS


def convert(name, draw, mode, scratch, env):
    folder = os.path.join(scratch, name)
    os.mkdir(folder)
    done = common.run([draw, "-b", "-f", occt.SCRIPT], mode, timeout=120, cwd=folder,
                      env=dict(env, FOLDER=folder, CONVERSIONS=str(CONVERSIONS)))
    lines = done.out.decode("utf8", "replace").splitlines()
    results = occt.results(lines)
    common.check(results, "%s: %s\n%s" % (
        name, "\n".join(lines[-10:]), done.err.decode("utf8", "replace")))
    common.no_complaint(name, done.err)
    done.results = "\n".join(results)
    done.times = occt.times(lines)
    common.check(len(done.times) == CONVERSIONS, "not all conversions were timed")
    done.files = [occt.without_date(os.path.join(folder, "model%d.stp" % n)) for n in (1, CONVERSIONS)]
    with open(os.path.join(folder, "maps")) as maps:
        done.maps = maps.read()
    with open(os.path.join(folder, "status")) as status:
        done.peak = int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))
    print("%s: %.1f s, peak %d MiB" % (name, done.seconds, done.peak // 1024))
    done.grows = growth(name, done.times)
    return done


def convert_without_growth(name, draw, mode, scratch, env):
    """Growth is a property of the heap, so it shows in every run. Noise does not."""
    for attempt in range(3):
        done = convert("%s-%d" % (name, attempt) if attempt else name, draw, mode, scratch, env)
        if not done.grows:
            return done
    raise common.Failure("%s: the conversions take longer and longer: %r" % (name, done.times))


def test(scratch):
    draw = common.require(occt.PROGRAM, package="occt-draw")
    try:
        links, env = occt.environment(scratch)
    except occt.Missing as missing:
        common.skip(str(missing))
    swapped = os.path.join(scratch, "swap")
    os.mkdir(swapped)
    os.symlink(common.library(common.DROPIN), os.path.join(swapped, common.DROPIN))

    system = {"LD_LIBRARY_PATH": links}
    proxy = dict(system, LD_PRELOAD=common.library(common.PROXY))
    swap = {"LD_LIBRARY_PATH": swapped + ":" + links}
    both = dict(swap, LD_PRELOAD=common.library(common.PROXY))
    scalable = dict(env, MMGT_OPT="2")  # Open CASCADE's allocator calls scalable_malloc.

    # The dynamic linker shows which library serves which.
    probe = os.path.join(scratch, "probe.tcl")
    with open(probe, "w") as out:
        out.write("pload MODELING XDE\nbox b 1 2 3\nexit\n")
    command = [draw, "-b", "-f", probe]
    common.bound_to_corbel(common.bindings(command, proxy, scratch, env=env, cwd=scratch), objects=5)
    for mode in (swap, both):
        bound = {(os.path.basename(source).split(".")[0], symbol): target
                 for log in common.bindings(command, mode, scratch, env=scalable, cwd=scratch)
                 for source, target, symbol in log if symbol.startswith("scalable_")}
        for symbol in ("scalable_malloc", "scalable_calloc", "scalable_realloc", "scalable_free"):
            target = bound.get(("libTKernel", symbol), "nothing")
            common.check(target.startswith(swapped) or common.lib_dir() in target,
                         "%s of libTKernel is bound to %s" % (symbol, target))

    expected = convert("system", draw, system, scratch, env)
    dropin = os.path.realpath(common.library(common.DROPIN))
    for name, mode, more in (
            ("proxy", proxy, env), ("proxy-scalable", proxy, scalable), ("swapped", swap, env),
            ("swapped-scalable", swap, scalable), ("swapped-proxy-scalable", both, scalable)):
        done = convert_without_growth(name, draw, mode, scratch, more)
        if "LD_PRELOAD" in mode:
            common.check(common.PROXY in done.maps, name + ": the proxy is not in the process")
        if mode in (swap, both):
            common.check(dropin in done.maps, name + ": our " + common.DROPIN + " is not in the process")
        common.same(name + ": shapes", expected.results, done.results)
        for number, (mine, other) in enumerate(zip(expected.files, done.files)):
            common.same("%s: STEP file %d" % (name, number + 1), mine, other)
    print("%s\nSTEP files of %d bytes" % (expected.results.splitlines()[0], len(expected.files[0])))


common.main(test)
