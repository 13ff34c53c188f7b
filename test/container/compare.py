#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the server in a container of limited memory on every allocator of the bench lab, each in a
memory cgroup of its own: which server survives, and for how long?

    ./dev bench container [--seconds 600] [--limit 256] [--at-once N] [--peers a,b] [--out FILE]
    ./dev bench container --table A.json B.json [--out FILE]

Writes a table in Markdown, and beside it a JSON file to which every contestant adds a record;
--table makes the table again from such files. All servers run at the same time unless --at-once
sets a number. Requests are counted per second of processor time, so the servers remain comparable.
Each allocator runs with its defaults, and also with each setting for little memory that it
documents. --peers names the allocators; each runs with all its settings.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import threading
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "bench"), str(ROOT / "tools")]

import served  # noqa: E402
from cgroup import Unavailable  # noqa: E402

# Recommendations for little memory, by the allocators' makers or by people who run them in
# containers: {name: environment}. rpmalloc, snmalloc and tbbmalloc read no such variable.
SETTINGS = {
    # Setting the default of 128 KiB explicitly keeps both thresholds from growing (mallopt(3)).
    "glibc": [{"MALLOC_ARENA_MAX": "1"},
              {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "131072",
               "MALLOC_MMAP_THRESHOLD_": "131072"}],
    # The examples of its TUNING.md, for few resources and for minimal memory, and the most common
    # setting.
    "jemalloc": [{"MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"},
                 {"MALLOC_CONF": "narenas:1,tcache_max:1024,dirty_decay_ms:1000,muzzy_decay_ms:0"},
                 {"MALLOC_CONF": "narenas:1,tcache:false,dirty_decay_ms:0,muzzy_decay_ms:0"}],
    "mimalloc3": [{"MIMALLOC_PURGE_DELAY": "0"}],
    "mimalloc2": [{"MIMALLOC_PURGE_DELAY": "0"}],
    "tcmalloc": [{"TCMALLOC_AGGRESSIVE_DECOMMIT": "1"},
                 {"TCMALLOC_AGGRESSIVE_DECOMMIT": "1",
                  "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "1048576"}],
    # Shows what the limit that Corbel finds by itself is worth.
    "corbel": [{"CORBEL_HEAP_LIMIT": "none"},
               {"CORBEL_HEAP_LIMIT": "none", "CORBEL_PURGE_DELAY": "0"}],
}

SOURCES = (HERE / "server.cpp", HERE.parent / "stress" / "block.cpp")


def compiled(folder):
    """The server, compiled once."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "container_server"
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-pthread",
                    *map(str, SOURCES), "-o", str(program)], check=True)
    return program


def allocators(names):
    """{name: (title, setting, environment)} of the available allocators."""
    from lab import contestants
    found, lines = contestants.prepare(names)
    for line in lines:
        print(line, file=sys.stderr)
    made = {}
    for name, one in found.allocators.items():
        if names and name not in names:
            continue
        environment = dict(one.env)
        if one.preload:
            environment["LD_PRELOAD"] = ":".join(map(str, one.preload))
        facts = found.facts[name]
        title = facts["title"]
        if facts["version"] not in title:
            title += f" {facts['version']}"
        for number, setting in enumerate([{}, *SETTINGS.get(name, ())]):
            words = " ".join(f"{key}={value}" for key, value in setting.items())
            made[f"{name}-{number}" if number else name] = (title, words,
                                                            {**environment, **setting})
    return made


def described(one):
    """The table row of one record."""
    outcome = "survived" if one["ended"] == "done" else (
        f"killed after {one['seconds']:.0f} s" if one["ended"] == "killed" else one["ended"])
    peak = f"{one['peak']:.0f}" if one["peak"] is not None else "?"
    rate = one["requests"] / one["cpu_seconds"] if one["cpu_seconds"] else 0
    setting = f"`{one['setting']}`" if one["setting"] else "as it comes"
    return (f"| {one['title']} | {setting} | {outcome} | {one['live']:.1f} | {one['resident']:.0f} "
            f"| {peak} | {one['requests'] / 1e6:.2f} | {one['cpu_seconds']:.0f} | {rate:.0f} |")


def table(records, limit, seconds):
    live = int(limit * served.LIVE_SHARE)
    return "\n".join([
        f"A server with 8 threads and {live} MiB alive in a container of {limit} MiB without swap, "
        f"for {seconds:g} s.", "",
        "| allocator | setting | outcome | most alive, MiB | most resident, MiB | peak of the "
        "container, MiB | requests, millions | processor, s | requests a processor s |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *map(described, records)]) + "\n"


class Record:
    """Results, written to a file as soon as they are known."""

    def __init__(self, path, given):
        self.path, self.lock = path, threading.Lock()
        self.all = {"limit": given.limit, "seconds": given.seconds, "seed": given.seed,
                    "contestants": {}}

    def add(self, name, title, setting, outcome):
        one = {"title": title, "setting": setting, **dataclasses.asdict(outcome)}
        with self.lock:
            self.all["contestants"][name] = one
            print(described(one), file=sys.stderr)
            if self.path:
                self.path.write_text(json.dumps(self.all, indent=1) + "\n")
        return one


def again(files):
    """The table of earlier records."""
    read = [json.loads(Path(one).read_text()) for one in files]
    if len({(one["limit"], one["seconds"]) for one in read}) != 1:
        raise SystemExit("container: the files differ in limit or time")
    return table([one for file in read for one in file["contestants"].values()],
                 read[0]["limit"], read[0]["seconds"])


def main(arguments=None):
    words = argparse.ArgumentParser(prog="bench container",
                                    description=__doc__.splitlines()[0])
    words.add_argument("--seconds", type=float,
                       default=float(os.environ.get("CORBEL_CONTAINER_SECONDS", 60)))
    words.add_argument("--limit", type=int, default=256, help="MiB")
    words.add_argument("--at-once", type=int, default=0, help="how many run at a time (all)")
    words.add_argument("--peers", help="separated by commas; all of the lab's allocators")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--out", help="a file for the table; the JSON file is written beside it")
    words.add_argument("--table", nargs="+", metavar="JSON", help="only write the table of these")
    given = words.parse_args(arguments)
    if given.table:
        return finish(again(given.table), given.out)
    chosen = allocators(given.peers.split(",") if given.peers else None)
    server = compiled(ROOT / "build" / "bench" / "container")
    record = Record(Path(given.out).with_suffix(".json") if given.out else None, given)

    def run(name):
        title, setting, environment = chosen[name]
        return record.add(name, title, setting,
                          served.serve(server, name, given.limit, given.seconds, environment,
                                       seed=given.seed))

    try:
        with concurrent.futures.ThreadPoolExecutor(given.at_once or len(chosen)) as pool:
            records = list(pool.map(run, chosen))
    except Unavailable as why:
        print(f"container: no memory cgroup can be made here: {why}", file=sys.stderr)
        return 77
    finish(table(records, given.limit, given.seconds), given.out)
    return 1 if any(one["ended"].startswith("failed") for one in records) else 0


def finish(text, out):
    print(text, end="")
    if out:
        Path(out).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
