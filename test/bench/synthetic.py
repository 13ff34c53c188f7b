# SPDX-License-Identifier: Apache-2.0
"""Writes an invented run of the lab: every kind of plot, contestants that fail or are skipped,
disturbed runs, controls. For the tests of the page, and to see the page without hours of measuring.

    synthetic.py FOLDER
"""
import json
import random
import sys
from pathlib import Path

ALLOCATORS = {"corbel": 1.0, "glibc": 1.6, "tbbmalloc": 1.7, "mimalloc3": 0.95, "mimalloc2": 1.05,
              "snmalloc": 1.0, "jemalloc": 1.3, "rpmalloc": 1.2, "tcmalloc": 0.9}
SCHEDULERS = {"serial": 1.0, "onetbb": 1.15, "tbb2020": 1.3, "tbb2020+C": 1.4, "tbb2020+CB": 1.2,
              "tbb2020+CBR": 1.05, "libomp": 1.5, "libgomp": 2.5, "rayon": 1.02}
WHAT = ("Every thread repeats the operation of this experiment. The time "
        "tells how well the allocator does it.")


def kernel(name, plot, threads, cases=("",), **more):
    return {"name": name, "title": more.pop("title", name.replace("_", " ").capitalize()),
            "what": WHAT, "group": "modern allocator", "figure": "", "metric": "time", "unit": "s",
            "higher_is_better": False, "plot": plot, "threads": list(threads),
            "cases": [{"label": case, "quick": f"n=100 case={case or 'only'}", "normal": "n=1000",
                       "full": "n=10000"} for case in cases], "variants": [], "allocators": [],
            **more}


def kernels():
    seed = {"group": "seed allocator"}
    tasks = {"group": "seed scheduler"}
    limits = ("no limit", "500 MB", "400 MB", "300 MB")
    return [
        kernel("soft1", "table", [2], limits, figure="the article's table", **seed),
        kernel("soft2", "table", [2], limits + ("no limit, touched",),
               figure="the article's table", **seed),
        kernel("soft3", "table", [2], limits, figure="the article's table", **seed),
        kernel("false_sharing", "difference", [1, 2, 4, 8], figure="Figure 10", **seed),
        kernel("speed_cross", "log lines", [1, 2, 4, 8], figure="Figure 11", unit="ns",
               metric="time of a block", **seed),
        kernel("mts_mix", "lines", [1, 2, 4, 8], figure="Figure 12", **seed),
        kernel("larson", "lines", [1, 2, 4, 8], figure="Figure 13", unit="1/s",
               metric="pairs of malloc and free", higher_is_better=True, **seed),
        kernel("conversion", "series", [2], metric="time of a conversion", **seed),
        kernel("fast16", "bars", [1, 2, 4], unit="ns", title="malloc(16) and free"),
        kernel("mixed", "bars", [1], ("8 to 64 bytes", "up to 4 KiB", "up to 1 MiB")),
        kernel("tree", "table", [1, 2]),
        kernel("spike", "series", [2], unit="MiB", metric="resident memory 2 s after the spike"),
        kernel("decay", "decay", [1], ("ended threads", "one frees"), unit="MiB",
               metric="resident memory at the end"),
        kernel("redis", "bars", [1], ("SET", "GET"), group="program", unit="1/s",
               higher_is_better=True, metric="requests"),
        kernel("fibonacci", "speedup", [1, 2, 4, 8], ("cut-off 12", "cut-off 20"),
               figure="Figure 6", **tasks),
        kernel("tree_sum", "speedup", [1, 2, 4, 8], ("allocation, cut-off 10",),
               figure="Figure 14", allocators=["glibc", "corbel"], **tasks),
        kernel("nqueens", "speedup", [1, 2], group="modern scheduler"),
        kernel("wide_even", "wide", [8, 32], ("for, auto", "scan"), group="modern scheduler",
               unit="x", metric="time ÷ greedy bound"),
        kernel("wide_start", "wide", [8, 32], ("for, idle",), group="modern scheduler", unit="ns",
               metric="time until the last body begins"),
        kernel("control", "bars", [1], group="control", unit="ns", title="Control experiment"),
        kernel("fork_cost", "bars", [1, 2], group="modern scheduler", unit="ns"),
    ]


class Writer:
    """Draws the figures of every run."""

    def __init__(self, seed, rounds):
        self.random = random.Random(seed)
        self.rounds = rounds
        self.lines = []

    def noisy(self, value):
        return value * self.random.lognormvariate(0, 0.02)

    def value(self, descriptor, factor, threads):
        if descriptor["plot"] == "wide":
            return factor
        base = {"s": 0.3, "ns": 20, "1/s": 2e7, "MiB": 80}[descriptor["unit"]]
        if descriptor["unit"] == "1/s":
            return self.noisy(base / factor * min(threads, 2) ** 0.8)
        if descriptor["plot"] == "speedup":
            return self.noisy(base * factor / min(threads, 2))
        return self.noisy(base * factor * (1 + 0.6 * max(0, threads - 2) * (factor > 1.5)))

    def series(self, descriptor, factor):
        if descriptor["name"] == "conversion":
            return {"conversion": [self.noisy(0.02 * factor * (1 + n * 0.004)) for n in range(40)]}
        if descriptor["name"] == "spike":
            steps = [0.1 * n for n in range(40)]
            return {"second": steps,
                    "resident MiB": [self.noisy(400 * factor * 0.9 ** (n * (factor < 1.5)))
                                     for n in range(40)]}
        if descriptor["name"] == "decay":
            return {"seconds": [0.25 * n for n in range(25)],
                    "rss_mib": [60 + self.noisy(250 * (1 if factor >= 1.6 else 0.7 ** n))
                                for n in range(25)]}
        return {}

    def extra(self, descriptor, value):
        if descriptor["name"] == "decay":
            return {"peak MiB": 330.0, "pinned pages MiB": 60.0, "stacks MiB": 2.0,
                    "bound MiB": 84.2}
        if descriptor["unit"] == "x":
            return {"÷ Graham's bound": value / 1.25}
        return {"p99 ns": 3 * value}

    def run(self, descriptor, row, identity, factor, number):
        base, _, variant = identity.partition("@")[0].partition("+")
        allocator = identity.partition("@")[2]
        tasks = descriptor["group"].endswith("scheduler")
        failed = "exit code 1: wrong result" if (identity, row["kernel"]) == ("jemalloc", "mixed") \
            else None
        disturbed = self.random.random() < 0.03
        value = self.value(descriptor, factor, row["threads"])
        peak = int(self.noisy(40000 * (0.5 + self.random.random() * 0.02 + factor / 2)))
        self.lines.append({
            "row": row["id"], "kernel": row["kernel"], "case": row["case"],
            "threads": row["threads"], "contestant": identity,
            "scheduler": base if tasks else None, "variant": variant, "round": number,
            "allocator": (allocator or "glibc") if tasks else identity, "attempt": 0, "order": 0,
            "started": "2026-01-01T00:00:00", "value": None if failed else value,
            "seconds": 0.3, "wall_seconds": 0.31, "cpu_seconds": 0.5, "others_cpu_seconds": 0.01,
            "steal_seconds": 0, "disturbed": disturbed,
            "kept": not (disturbed and self.random.random() < 0.7),
            "checksum": "00000000deadbeef", "peak_rss_kib": peak, "peak_vm_kib": peak * 3,
            "minor_faults": peak // 4, "major_faults": 0, "extra": self.extra(descriptor, value),
            "series": self.series(descriptor, factor), "failed": failed})


def contestants_of(descriptor):
    if descriptor["group"] == "control":
        return {"corbel": 1.0, "corbel-copy": 1.0, "corbel-slowed": 1.5}
    if not descriptor["group"].endswith("scheduler"):
        return ALLOCATORS
    if descriptor["allocators"]:
        return {f"{name}@{allocator}": factor * (1.3 if allocator == "glibc" else 1)
                for name, factor in SCHEDULERS.items() if "libgomp" not in name
                for allocator in descriptor["allocators"]}
    return SCHEDULERS


def write(folder, seed=1, rounds=7, only=None, scale="quick"):
    """Writes run.json and results.jsonl; `only` keeps the kernels of these names."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [each for each in kernels() if not only or each["name"] in only]
    writer, rows = Writer(seed, rounds), []
    for descriptor in chosen:
        for case in descriptor["cases"]:
            for threads in descriptor["threads"]:
                field = contestants_of(descriptor)
                if threads > 1:
                    field = {name: f for name, f in field.items() if not name.startswith("serial")}
                row = {"id": f"{descriptor['name']}/{case['label'] or '-'}/t{threads}",
                       "kernel": descriptor["name"], "case": case["label"], "threads": threads,
                       "contestants": list(field)}
                rows.append(row)
                for number in range(rounds):
                    for identity, factor in field.items():
                        writer.run(descriptor, row, identity, factor, number)
    names = {name: "allocator" for name in (*ALLOCATORS, "corbel-copy", "corbel-slowed")}
    names.update({name: "scheduler" for name in SCHEDULERS})
    meta = {
        "format": 1, "started": "2026-01-01T10:00:00+00:00",
        "finished": "2026-01-01T10:09:30+00:00", "scale": scale, "seed": 42,
        "rounds": rounds, "options": {"rounds": rounds, "only": None, "threads": None},
        "commit": "0123456789ab",
        "machine": {"processor": "Invented CPU @ 2.10GHz", "cores": 4, "usable_cores": 2,
                    "memory_bytes": 8 << 30, "kernel": "6.1.0", "distribution": "Debian 12",
                    "c_library": "glibc 2.36", "compiler": "g++ 12.2.0", "load_average": [0.1] * 3,
                    "transparent_huge_pages": "madvise"},
        "contestants": {name: {"title": name, "version": "1.2.3", "kind": kind,
                               "origin": "an invented registry", "skipped": None}
                        for name, kind in names.items()},
        "kernels": {each["name"]: each for each in chosen}, "rows": rows}
    meta["contestants"]["hoard"] = {"title": "hoard", "version": None, "kind": "allocator",
                                    "origin": "", "skipped": "it is in no registry"}
    (folder / "run.json").write_text(json.dumps(meta), encoding="utf-8")
    (folder / "results.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in writer.lines), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
