# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels by calling the compilers, into build/bench/kernels/.

A program is compiled again only when one of its inputs has changed: the command, the compiler's
version, the source, or an included file of this project. A program that does not compile is left out
with the compiler's first error; the others are built all the same.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from lab import paths

COMMON = ["-std=c++20", "-g1", "-Wall", "-Wextra", "-pthread"]
# An allocator kernel must call malloc where its source says so.
ALLOCATOR_FLAGS = ["-O2", "-fno-builtin-malloc", "-fno-builtin-calloc", "-fno-builtin-realloc",
                   "-fno-builtin-free"]
# The optimisation level of cargo's release profile, so that a loop body is compiled alike for all
# schedulers. Aligned, because a loop of two instructions takes twice as long when it crosses a cache
# line, which has nothing to do with the scheduler.
SCHEDULER_FLAGS = ["-O3", "-falign-functions=64", "-falign-loops=32"]
RUST_FLAGS = ["-Cdebuginfo=1", "-Ccodegen-units=1"]  # the recipe adds the rest
# A program that mentions this macro gets its compiler and flags as a string.
MEASURES_COMPILER = "BENCH_COMPILER"
AT_ONCE = 2
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"|#\[path\s*=\s*"([^"]+)"\]'
                     rb'|include!\("([^"]+)"\)', re.M)


class Failure(Exception):
    """A program that does not compile; the text is one line that says why."""


@dataclass
class Job:
    """One program to compile."""
    kernel: str
    source: Path
    output: Path
    compiler: str
    flags: list = field(default_factory=list)
    libs: list = field(default_factory=list)
    stamp: str = ""  # of the peer whose headers and libraries it uses

    @property
    def is_rust(self):
        return self.source.suffix == ".rs"

    @property
    def name(self):
        return f"{self.kernel}/{self.output.name}"


def default_compiler():
    return os.environ.get("CXX") or "g++"


def allocator_job(kernel, source, built=paths.BUILT):
    return Job(kernel, source, built / "kernels" / kernel / source.stem, default_compiler(),
               ALLOCATOR_FLAGS, ["-ldl"])


def scheduler_job(kernel, source, scheduler, built=paths.BUILT):
    """One program of a scheduler kernel. The serial program counts as a scheduler."""
    output = built / "kernels" / kernel / f"{source.stem}-{scheduler.id}"
    if source.suffix == ".rs":
        return Job(kernel, source, output, scheduler.compiler, list(scheduler.flags),
                   list(scheduler.libs), scheduler.stamp)
    # Warnings in a peer's own headers are not ours to fix.
    own = f"-I{paths.ROOT / 'include'}"
    flags = [flag if flag == own or not flag.startswith("-I") else f"-isystem{flag[2:]}"
             for flag in scheduler.flags]
    if MEASURES_COMPILER in source.read_text(encoding="utf-8"):
        command = shlex.join([scheduler.compiler, *flags])
        flags = [*flags, f"-D{MEASURES_COMPILER}={json.dumps(command)}"]
    return Job(kernel, source, output, scheduler.compiler, SCHEDULER_FLAGS + flags,
               list(scheduler.libs) + ["-ldl"], scheduler.stamp)


class Builder:
    """Compiles jobs, two at a time. Calls `report(text)` for each compilation and `warn(text)` for
    each that gives warnings."""

    def __init__(self, built=paths.BUILT, kernels=paths.KERNELS, report=None, warn=None):
        self.built, self.shared = Path(built), Path(kernels)
        self.report = report or (lambda text: None)
        self.warn = warn or (lambda text: None)
        self._versions, self._lock = {}, threading.Lock()

    def build(self, jobs):
        """{job name: path or Failure}"""
        objects = {}
        for job in jobs:
            if not job.is_rust:
                objects.setdefault(self._harness_key(job), job)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            made = dict(zip(objects, pool.map(
                lambda job: self._try(self._compile_harness, job), objects.values())))
            found = pool.map(lambda job: self._try(self._compile_rust, job) if job.is_rust else
                             self._try(self._compile, job, made[self._harness_key(job)]), jobs)
            return {job.name: result for job, result in zip(jobs, found)}

    def _try(self, make, *what):
        try:
            return make(*what)
        except Failure as failure:
            return failure

    def _harness_key(self, job):
        optimisation = tuple(flag for flag in job.flags if flag in ("-O2", "-O3"))
        return (job.compiler, optimisation)

    def _compile_harness(self, job):
        source = paths.KERNELS / "harness.cpp"
        compiler, optimisation = self._harness_key(job)
        name = re.sub(r"[^A-Za-z0-9]+", "-", " ".join([Path(compiler).name, *optimisation]))
        output = self.built / "kernels" / f"harness-{name}.o"
        command = [compiler, *COMMON, *optimisation, "-I", str(paths.KERNELS), "-c", str(source),
                   "-o", str(output)]
        return self._make("the harness", command, [source], output)

    def _compile(self, job, harness):
        if isinstance(harness, Failure):
            raise harness
        command = [job.compiler, *COMMON, *job.flags, "-I", str(paths.KERNELS), "-I",
                   str(job.source.parent), str(job.source), str(harness), "-o", str(job.output),
                   *job.libs]
        return self._make(job.name, command, [job.source, harness], job.output, job.stamp)

    def _compile_rust(self, job):
        command = [job.compiler, *RUST_FLAGS, *job.flags, "-o", str(job.output), str(job.source),
                   *job.libs]
        given = [Path(flag.partition("=")[2]) for flag in job.flags if flag.endswith(".rlib")]
        return self._make(job.name, command, [job.source, *given], job.output, job.stamp)

    def _make(self, name, command, sources, output, peer=""):
        if not shutil.which(command[0]):
            raise Failure(f"{command[0]} is not installed")
        stamp = output.with_name(output.name + ".stamp")
        digest = self.digest(command, sources, peer)
        if output.exists() and stamp.exists() and stamp.read_text() == digest:
            return output
        self.report(f"compiling {name}")
        output.parent.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
        # Compile into a separate folder, then rename. A running program keeps its file, another lab
        # may compile the same program, and rustc writes more files next to its output.
        with tempfile.TemporaryDirectory(prefix=".draft-", dir=output.parent) as folder:
            draft = Path(folder) / output.name
            command[command.index("-o") + 1] = str(draft)
            done = run_cached(command, folder)
            if done.returncode == 0:
                draft.replace(output)
        log = output.with_name(output.name + ".log")
        log.write_text(" ".join(command) + "\n" + done.stdout + done.stderr)
        if done.returncode != 0:
            raise Failure(f"{first_error(done.stderr)} ({paths.shown(log)})")
        if "warning:" in done.stderr:
            self.warn(f"{name}: the compiler warns: {first_error(done.stderr, 'warning:')} "
                      f"({paths.shown(log)})")
        stamp.write_text(digest)
        return output

    def digest(self, command, sources, peer=""):
        """A digest of all inputs of the program; `peer` is a stamp."""
        parts = [command, self._version(command[0]), *filter(None, [peer])]
        digest = hashlib.sha256(json.dumps(parts).encode())
        for path in sorted(self._inputs(command, sources)):
            digest.update(str(path).encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()

    def _version(self, compiler):
        with self._lock:
            if compiler not in self._versions:
                done = subprocess.run([compiler, "--version"], capture_output=True, text=True,
                                      check=False)
                self._versions[compiler] = done.stdout
            return self._versions[compiler]

    def _inputs(self, command, sources):
        """The sources, the files that they include with quotes, and Corbel's own headers if they
        are on the include path."""
        found, left = set(), [Path(source) for source in sources]
        while left:
            path = left.pop()
            if path in found:
                continue
            found.add(path)
            if path.suffix in (".o", ".rlib"):
                continue
            for names in INCLUDE.findall(path.read_bytes()):
                name = next(name for name in names if name).decode()
                for folder in (path.parent, self.shared, paths.KERNELS):
                    if (folder / name).is_file():
                        left.append((folder / name).resolve())
                        break
        own = paths.ROOT / "include"
        if f"-I{own}" in command:
            found.update(path for path in own.rglob("*") if path.is_file())
        return found


def run_cached(command, folder):
    """Runs a compiler's command, through the compiler cache that ./dev has found, if any. The cache
    stores object files alone: a program is then linked by a command of its own."""
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split()
    source = next((word for word in command if word.endswith(".cpp")), None)
    if not launcher or not source:
        return _run(command)
    if "-c" in command:
        return _run([*launcher, *command])
    made = str(Path(folder) / "object.o")
    compiling = [word for word in command
                 if not re.match(r"-l|-Wl,|.*\.(?:o|a|so[.0-9]*)$", word)]
    compiling[compiling.index("-o") + 1] = made
    done = _run([*launcher, *compiling, "-c"])
    if done.returncode == 0:
        linked = _run([made if word == source else word for word in command])
        linked.stderr = done.stderr + linked.stderr
        return linked
    return done


def _run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def first_error(text, word="error:"):
    lines = [line for line in text.splitlines() if word in line or "undefined reference" in line]
    return (lines or text.strip().splitlines() or ["it said nothing"])[0].strip()
