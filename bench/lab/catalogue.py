# SPDX-License-Identifier: Apache-2.0
"""The kernels, and the rows that they form with the contestants.

A row is one case of a kernel with one number of threads. All of its contestants do the same work and
must compute the same checksum. The serial program of a scheduler kernel runs once for each case, in
the row with the fewest threads.
"""
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from lab import build, measure, paths
from lab.peers import Allocator

OUTSIDE = "outside"  # programs that nothing is tuned to: only measured when asked for
GROUPS = ("seed allocator", "seed scheduler", "modern allocator", "program", "modern scheduler",
          "container", "flow graph", OUTSIDE)
CONTROL = "control"
CONTROL_KERNEL = "fast16"
CONTROL_SCALE = "normal"
CONTROL_REPEATS = 3  # runs in each round: the control must find smaller differences
SERIAL = "serial"
APIS = {"tbb": "tbb.cpp", "classic": "classic.cpp", "openmp": "openmp.cpp", "rayon": "rayon.rs",
        # Libraries of containers.
        **{name: f"{name}.cpp" for name in ("atomic_queue", "cuckoo", "lockfree", "moodycamel")},
        **{name: f"{name}.rs" for name in ("crossbeam", "dashmap", "flurry", "papaya", "scc")}}


@dataclass
class Contestant:
    """One side of a row: its command, and the names that it is recorded under."""
    id: str
    command: list
    preload: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    scheduler: str = None
    variant: str = None
    allocator: str = None
    program: bool = False
    files: list = field(default_factory=list)  # further files that it consists of

    def environment(self):
        return measure.environment(self.preload, self.env, self.program)


@dataclass
class Row:
    id: str
    kernel: str
    case: str
    threads: int
    contestants: list = field(default_factory=list)
    repeats: int = 1
    watches: bool = False  # sleeps most of the time; see the kernels' harness.hpp
    max_rounds: int = None
    skipped: str = None

    def record(self):
        """Its entry in run.json."""
        made = {"id": self.id, "kernel": self.kernel, "case": self.case, "threads": self.threads,
                "contestants": [contestant.id for contestant in self.contestants]}
        return {**made, "skipped": self.skipped} if self.skipped else made


@dataclass
class Kernel:
    folder: Path
    kind: str  # "allocator", "scheduler" or "program"
    descriptor: dict = None
    program: Path = None  # of allocator kernels, and the program.py
    schedulers: list = field(default_factory=list)  # (Scheduler, path) that could be compiled

    @property
    def name(self):
        return self.folder.name


def discover(folder=paths.KERNELS):
    found = []
    for path in sorted(Path(folder).iterdir()):
        for source, kind in (("malloc.cpp", "allocator"), ("serial.cpp", "scheduler"),
                             ("program.py", "program")):
            if (path / source).is_file():
                found.append(Kernel(path, kind))
    return found


def compile_described(kernels, contestants, builder):
    """Builds the programs that describe the kernels: those of the allocator kernels, and the
    serial ones. Returns a line for each program that does not compile."""
    jobs = []
    serial = next((s for s in contestants.schedulers if s.api == SERIAL), None)
    for kernel in kernels:
        if kernel.kind == "allocator":
            jobs.append((kernel, None, build.allocator_job(kernel.name, kernel.folder / "malloc.cpp",
                                                           builder.built)))
        elif kernel.kind == "scheduler" and serial:
            jobs.append((kernel, serial, build.scheduler_job(
                kernel.name, kernel.folder / "serial.cpp", serial, builder.built)))
        elif kernel.kind == "program":
            kernel.program = kernel.folder / "program.py"
    return _compile(jobs, builder)


def compile_schedulers(kernels, contestants, builder):
    """Builds the other programs of the scheduler kernels."""
    jobs = []
    for kernel in kernels:
        for scheduler in contestants.schedulers:
            source = kernel.folder / APIS.get(scheduler.api, "-")
            if kernel.kind == "scheduler" and source.is_file():
                jobs.append((kernel, scheduler, build.scheduler_job(
                    kernel.name, source, scheduler, builder.built)))
    return _compile(jobs, builder)


def _compile(jobs, builder):
    lines = []
    results = builder.build([job for _, _, job in jobs])
    for kernel, scheduler, job in jobs:
        result = results[job.name]
        if isinstance(result, build.Failure):
            title = scheduler.title if scheduler else "all"
            lines.append(f"{kernel.name} is left out for {title}: it does not compile: {result}")
            continue
        if scheduler:
            kernel.schedulers.append((scheduler, result))
        if scheduler is None or scheduler.api == SERIAL:
            kernel.program = result
    return lines


def describe(kernels):
    """Asks each kernel for its description; returns (the kernels that gave one, lines about the others),
    in the order of the chapters."""
    good, lines = [], []
    for kernel in kernels:
        if kernel.program is None:
            continue  # reported already: it does not compile
        command = [sys.executable, "-B"] if kernel.kind == "program" else []
        try:
            done = subprocess.run([*command, str(kernel.program), "--describe"], timeout=60,
                                  env=measure.environment(), capture_output=True, text=True,
                                  check=True)
            kernel.descriptor = json.loads(done.stdout)
            if kernel.descriptor["name"] != kernel.name:
                raise ValueError(f"it calls itself {kernel.descriptor['name']}")
            _check(kernel.descriptor)
            good.append(kernel)
        except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
            lines.append(f"{kernel.name} is left out: its description is not right: {error}")
    good.sort(key=lambda kernel: (_chapter(kernel.descriptor["group"]), kernel.name))
    return good, lines


def _check(descriptor):
    labels = [case["label"] for case in descriptor["cases"]]
    if not labels or len(set(labels)) != len(labels):
        raise ValueError("its cases need labels that differ")
    for case in descriptor["cases"]:
        for scale in ("quick", "normal", "full"):
            case[scale].split()
    if not descriptor["threads"] or min(descriptor["threads"]) < 1:
        raise ValueError("its threads are not right")


def _chapter(group):
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)


def of_chapters(kernels, outside):
    """The kernels of the group `outside`, or all others."""
    return [kernel for kernel in kernels if (kernel.descriptor["group"] == OUTSIDE) == outside]


def rows(kernels, contestants, scale, threads=None, only=None, outside=False):
    """All rows whose name matches `only` (a compiled expression), and the control's. `threads`
    replaces the numbers of threads of the kernels that have several. A quick run of all rows has
    fewer of some kernels. The rows are those of the group `outside`, or all others."""
    found = []
    brief = scale == "quick" and not only
    for kernel in of_chapters(kernels, outside):
        for case, row in _rows_of(kernel, threads, brief):
            if not only or only.search(row.id):
                row.contestants = list(_contestants(kernel, case, row.threads, scale, contestants))
                found.append(row)
    _serial_once(found)
    found = [row for row in found if row.contestants]
    return control(kernels, contestants) + found


def _rows_of(kernel, threads, brief=False):
    """All (case, row without contestants) of a kernel."""
    asked = kernel.descriptor["threads"]
    if len(asked) > 1:
        asked = threads or (brief and kernel.descriptor.get("brief_threads")) or asked
    for case in kernel.descriptor["cases"]:
        for count in asked:
            yield case, Row(f"{kernel.name}/{case['label'] or '-'}/t{count}", kernel.name,
                            case["label"], count, watches=kernel.descriptor.get("watches", False))


def matching(kernels, threads, only):
    """The kernels that have a row whose name matches."""
    return [kernel for kernel in kernels
            if not only or any(only.search(row.id) for _, row in _rows_of(kernel, threads))]


def _contestants(kernel, case, threads, scale, contestants):
    words = case[scale].split()
    if kernel.kind == "scheduler":
        yield from _schedulers(kernel, case, threads, words, contestants)
        return
    start = [sys.executable, "-B"] if kernel.kind == "program" else []
    only = case.get("allocators") or kernel.descriptor.get("allocators")
    for name, allocator in contestants.allocators.items():
        if not only or name in only:
            yield Contestant(name, [*start, str(kernel.program), f"threads={threads}", *words],
                             list(allocator.preload), dict(allocator.env), allocator=name,
                             program=kernel.kind == "program",
                             files=[*files_of(allocator), *_parts(kernel)])


def files_of(peer):
    """The files, other than the preloaded ones, that a run of an allocator or scheduler needs."""
    return list(getattr(peer, "files", ()))


def _parts(kernel):
    """The shared scripts and inputs of the real programs."""
    if kernel.kind != "program":
        return []
    return [*kernel.folder.glob("*.*"), paths.KERNELS / "program_runner.py",
            *paths.PROGRAMS.glob("*.*")]


def _schedulers(kernel, case, threads, words, contestants):
    allocators = case.get("allocators") or kernel.descriptor.get("allocators") or [None]
    taken = set()
    apis = case.get("apis") or [*APIS]
    for scheduler, program in kernel.schedulers:
        if scheduler.api not in (SERIAL, *apis):
            continue
        names = [v["name"] for v in kernel.descriptor["variants"] if v["api"] == scheduler.api]
        for variant in names or [""]:
            for allocator in allocators:
                given = contestants.allocators.get(allocator) if allocator else Allocator()
                if given is None:
                    continue
                name = scheduler_id(scheduler.id, variant, allocator)
                if name in taken:  # one library with two interfaces
                    name = scheduler_id(f"{scheduler.id}.{scheduler.api}", variant, allocator)
                taken.add(name)
                count = 1 if scheduler.api == SERIAL else threads
                yield Contestant(
                    name, [str(program), f"threads={count}", *words,
                           *([f"variant={variant}"] if variant else [])],
                    list(given.preload), {**given.env, **scheduler.env}, scheduler.id,
                    variant or None, allocator or "glibc",
                    files=[*files_of(given), *files_of(scheduler)])


def scheduler_id(scheduler, variant, allocator):
    plain = variant in ("", "plain")
    return scheduler + ("" if plain else f"+{variant}") + (f"@{allocator}" if allocator else "")


def _serial_once(found):
    first = {}
    for row in found:
        key = (row.kernel, row.case)
        if key not in first or row.threads < first[key].threads:
            first[key] = row
    for row in found:
        if first[row.kernel, row.case] is not row:
            row.contestants = [c for c in row.contestants if c.scheduler != SERIAL]


def control(kernels, contestants):
    """The control experiment's row: Corbel, a copy of it, and a slowed one. Its size is always the
    same, because it must find a difference of a few per cent in a quick run too."""
    kernel = next((k for k in kernels if k.name == CONTROL_KERNEL), None)
    corbel = contestants.allocators.get("corbel")
    if kernel is None or corbel is None or len(contestants.controls) < 2:
        return []
    words = kernel.descriptor["cases"][0][CONTROL_SCALE].split()
    row = Row(f"{CONTROL}/-/t1", CONTROL, "", 1, repeats=CONTROL_REPEATS)
    row.contestants = [
        Contestant(name, [str(kernel.program), "threads=1", *words], list(allocator.preload),
                   dict(allocator.env), allocator=name, files=files_of(allocator))
        for name, allocator in {"corbel": corbel, **contestants.controls}.items()]
    return [row]


def control_descriptor(kernels):
    kernel = next(k for k in kernels if k.name == CONTROL_KERNEL)
    return {**kernel.descriptor, "name": CONTROL, "group": CONTROL, "title": "Control experiment",
            "what": "Corbel runs beside a byte-identical copy of itself and beside a copy that was "
                    "made slower on purpose. A run can be trusted when the first two are found "
                    "equal and the third is found slower.", "threads": [1], "plot": "bars",
            "cases": [dict.fromkeys(("quick", "normal", "full"),
                                    kernel.descriptor["cases"][0][CONTROL_SCALE])
                      | {"label": ""}], "figure": ""}
