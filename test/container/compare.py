#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server in a container of limited memory, on every allocator of the bench lab, each in a
memory cgroup of its own: who survives, and for how long?

    ./dev bench container [--seconds 600] [--limit 256] [--at-once N] [--peers a,b] [--out FILE]

Writes a table in Markdown. All run side by side unless --at-once says how many; requests are given
for each second of processor time, so that they can be compared all the same. Besides the allocators
as they come, the table has those that document a setting for little memory with that setting.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "bench"), str(ROOT / "tools")]

import served  # noqa: E402
from cgroup import Unavailable  # noqa: E402

# What their makers, or those who run them in containers, recommend for little memory.
SETTINGS = {
    "glibc": {"MALLOC_ARENA_MAX": "1"},
    "jemalloc": {"MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
                 "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"},
    "mimalloc3": {"MIMALLOC_PURGE_DELAY": "0"},
    "mimalloc2": {"MIMALLOC_PURGE_DELAY": "0"},
}

SOURCES = (HERE / "server.cpp", HERE.parent / "stress" / "block.cpp")


def compiled(folder):
    """The server, compiled once for all."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "container_server"
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-pthread",
                    *map(str, SOURCES), "-o", str(program)], check=True)
    return program


def allocators(names):
    """{name: (title, environment)} of those that can be had here."""
    from lab import contestants
    found, lines = contestants.prepare(names)
    for line in lines:
        print(line, file=sys.stderr)
    made = {}
    for name, one in found.allocators.items():
        environment = dict(one.env)
        if one.preload:
            environment["LD_PRELOAD"] = ":".join(map(str, one.preload))
        title = found.facts[name]["title"]
        made[name] = (title, environment)
        if name in SETTINGS:
            key, value = next(iter(SETTINGS[name].items()))
            made[name + "-set"] = (f"{title}, {key}={value}", {**environment, **SETTINGS[name]})
    return made


def table(outcomes, limit, seconds):
    live = int(limit * served.LIVE_SHARE)
    lines = [f"A server with 8 threads and {live} MiB alive in a container of {limit} MiB without "
             f"swap, for {seconds:g} s.", "",
             "| allocator | outcome | peak, MiB | limit met, times | requests | requests a processor s "
             "|",
             "| --- | --- | ---: | ---: | ---: | ---: |"]
    for title, one in outcomes:
        outcome = "survived" if one.survived else (
            f"killed after {one.seconds:.0f} s" if one.ended == "killed" else one.ended)
        peak = f"{one.peak:.1f}" if one.peak is not None else "?"
        rate = one.requests / one.cpu_seconds if one.cpu_seconds else 0
        lines.append(f"| {title} | {outcome} | {peak} | {one.failures} | {one.requests} | "
                     f"{rate:.0f} |")
    return "\n".join(lines) + "\n"


def main(arguments=None):
    words = argparse.ArgumentParser(prog="bench container",
                                    description=__doc__.splitlines()[0])
    words.add_argument("--seconds", type=float,
                       default=float(os.environ.get("CORBEL_CONTAINER_SECONDS", 60)))
    words.add_argument("--limit", type=int, default=256, help="MiB")
    words.add_argument("--at-once", type=int, default=0, help="how many run side by side (all)")
    words.add_argument("--peers", help="separated by commas; all of the lab's allocators")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--out", help="a file for the table")
    given = words.parse_args(arguments)
    chosen = allocators(given.peers.split(",") if given.peers else None)
    server = compiled(ROOT / "build" / "bench" / "container")

    def run(name):
        return served.serve(server, name, given.limit, given.seconds, chosen[name][1],
                            seed=given.seed)

    try:
        with concurrent.futures.ThreadPoolExecutor(given.at_once or len(chosen)) as pool:
            outcomes = list(pool.map(run, chosen))
    except Unavailable as why:
        print(f"container: there can be no memory cgroup here: {why}", file=sys.stderr)
        return 77
    text = table([(chosen[name][0], one) for name, one in zip(chosen, outcomes)], given.limit,
                 given.seconds)
    print(text, end="")
    if given.out:
        Path(given.out).write_text(text)
    return 0 if all(not one.ended.startswith("failed") for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
