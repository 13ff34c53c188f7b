# SPDX-License-Identifier: Apache-2.0
"""What the lab's real programs share: the kernel protocol for a program.py, and measuring.

A program.py in a folder of this one looks like this:

    import sys
    from pathlib import Path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import program_runner as runner

    def run(arguments, folder):              # folder: a scratch folder, removed afterwards
        program = runner.find("sqlite3")     # exit code 77 if it is not installed
        done = runner.measure([program, ":memory:", f".read {arguments.text('script', 'x.sql')}"])
        return runner.result(done)

    runner.main(runner.describe(name="sqlite", title="…", what="…. ….", cases=[…]), run)

Only `measure` and `Server` start a process with the contestant: LD_PRELOAD is BENCH_PRELOAD, and
each BENCH_ENV_<NAME> becomes NAME. Start every other process with `quiet_environment()`.
"""
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from lab import engine, paths  # noqa: E402

NOT_INSTALLED = 77
POLL_SECONDS = 0.02


class Failure(Exception):
    """The run failed or its result is wrong; the text says how."""


class NotInstalled(Exception):
    """This machine cannot run the row; the text says what is missing."""


# --- the protocol ------------------------------------------------------------------------------

class Arguments:
    """name=value arguments. One that the program never reads is an error, as in the C++ kernels."""

    def __init__(self, words):
        self.values, self.asked = {}, {"threads"}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise SystemExit(f"'{word}' is not of the form name=value")
            self.values[name] = value

    def text(self, name, fallback):
        self.asked.add(name)
        return self.values.get(name, fallback)

    def number(self, name, fallback):
        return int(self.text(name, fallback))

    def unknown(self):
        return sorted(set(self.values) - self.asked)


def describe(name, title, what, cases, *, metric="time", unit="s", higher_is_better=False,
             plot="bars", group="program", figure="", threads=(1,)):
    """The descriptor. `cases`: (label, quick, normal, full), the last three arguments of a run."""
    return {"name": name, "title": title, "what": what, "group": group, "figure": figure,
            "metric": metric, "unit": unit, "higher_is_better": higher_is_better, "plot": plot,
            "threads": list(threads),
            "cases": [dict(zip(("label", "quick", "normal", "full"), case)) for case in cases],
            "variants": [], "allocators": []}


def main(descriptor, run):
    """Answers --describe, or calls run(arguments, folder) once and prints its result."""
    if sys.argv[1:] == ["--describe"]:
        print(json.dumps(descriptor, ensure_ascii=False))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the measured program too
    name = descriptor["name"]
    arguments = Arguments(sys.argv[1:])
    try:
        with tempfile.TemporaryDirectory(prefix=f"bench-{name}-") as folder:
            found = run(arguments, Path(folder))
    except NotInstalled as missing:
        print(f"{name}: {missing}", file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    except (Failure, OSError, subprocess.SubprocessError) as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(1)
    if arguments.unknown():
        print(f"{name}: there is no argument '{arguments.unknown()[0]}'", file=sys.stderr)
        sys.exit(2)
    print(json.dumps(found))


def find(program, package=None):
    """The path of an installed program."""
    path = shutil.which(program)
    if not path:
        raise NotInstalled(f"{program} is not installed (Debian package {package or program})")
    return path


def check(good, what):
    if not good:
        raise Failure(f"wrong result: {what}")


def checksum(*outputs):
    """The checksum of a program's output, bytes or text, in the form that the kernels use."""
    digest = hashlib.sha256()
    for output in outputs:
        digest.update(output.encode() if isinstance(output, str) else output)
    return digest.hexdigest()[:16]


def result(measured, value=None, text=None, extra=None, series=None):
    """The result that a run prints. `value` defaults to the seconds, `text`, which is hashed, to the
    program's output."""
    return {"value": measured.seconds if value is None else value, "seconds": measured.seconds,
            "checksum": checksum(measured.output if text is None else text),
            "peak_rss_kib": measured.peak_rss_kib, "peak_vm_kib": measured.peak_vm_kib,
            "minor_faults": measured.minor_faults, "major_faults": measured.major_faults,
            "extra": extra or {}, "series": series or {}}


# --- inputs ------------------------------------------------------------------------------------

def prepared(name, make):
    """The file or folder that make(path) makes, kept in build/bench/inputs for later runs. It is made
    anew when the program that makes it, or this module, has changed."""
    makers = [Path(sys.argv[0]).read_bytes(), Path(__file__).read_bytes()]
    path = paths.BUILT / "inputs" / f"{name}-{checksum(*makers)}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            make(Path(folder) / "made")
            try:
                (Path(folder) / "made").rename(path)
            except OSError:  # another run has made it in the meantime
                if not path.exists():
                    raise
    return path


def text(kib):
    """A file of that many KiB of made-up words and numbers, a few words much more often than most."""
    def make(path):
        source = random.Random(1)
        words = ["".join(source.choices("etaoinshrdlucmfwypvbgk", k=source.randrange(2, 10)))
                 for _ in range(5000)]
        lines = []
        for _ in range(12_000):
            chosen = [words[min(int(source.paretovariate(0.6)) - 1, 4999)] for _ in range(19)]
            lines.append(f"{' '.join(chosen)} {source.randrange(10**6)}\n")
        with open(path, "w", encoding="ascii") as out:
            while out.tell() < kib << 10:
                source.shuffle(lines)
                out.writelines(lines)
            out.truncate(kib << 10)
    return prepared(f"text-{kib}", make)


# --- environments ------------------------------------------------------------------------------

def quiet_environment(**more):
    """For programs that are not measured: without the contestant."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("BENCH_") and name != "LD_PRELOAD"}
    return {**kept, **more}


def contestant_environment(**more):
    """For the measured program: the contestant's library and settings."""
    made = quiet_environment(**more)
    for name, value in os.environ.items():
        if name.startswith("BENCH_ENV_"):
            made[name[len("BENCH_ENV_"):]] = value
    if os.environ.get("BENCH_PRELOAD"):
        made["LD_PRELOAD"] = os.environ["BENCH_PRELOAD"]
    return made


# --- measuring ---------------------------------------------------------------------------------

@dataclass
class Measured:
    seconds: float = 0.0
    peak_rss_kib: int = 0
    peak_vm_kib: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    output: bytes = b""
    errors: bytes = b""
    ended: bool = field(default=False, repr=False)


def status_kib(pid, name):
    """A figure of /proc/PID/status; 0 when it cannot be read, for example after the process ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith(name + ":"):
                    return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _descendants(pid):
    """The descendants of a process that still run, children first."""
    found = [pid]
    for parent in found:
        try:
            with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
        except (OSError, ValueError):
            pass
    return found[1:]


class _Watch(threading.Thread):
    """Polls VmPeak, which is lost when a process ends and which the engine does not report."""

    def __init__(self, engine_pid):
        super().__init__(daemon=True)
        self.pid, self.vm, self.over = engine_pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set():
            for pid in _descendants(self.pid):
                self.vm = max(self.vm, status_kib(pid, "VmPeak"))
            self.over.wait(POLL_SECONDS)

    def end(self):
        self.over.set()
        self.join()


class Server:
    """A measured process that runs beside its clients. Its output goes into files, so nothing has to
    read it during the measurement."""

    def __init__(self, command, folder=None, env=None, stdin=None, cwd=None):
        self._own = None if folder else tempfile.TemporaryDirectory(prefix="bench-output-")
        folder = Path(folder or self._own.name)
        self._files = [folder / "measured.out", folder / "measured.err"]
        self.command, self.measured = command, Measured()
        with open(self._files[0], "wb") as out, open(self._files[1], "wb") as errors, \
                open(stdin or os.devnull, "rb") as given:
            self._process = engine.Process(command, contestant_environment(**(env or {})),
                                           stdin=given, stdout=out, stderr=errors, cwd=cwd)
        self._watch = _Watch(self._process.engine_pid)

    @property
    def pid(self):
        """The measured process, once it runs."""
        return _descendants(self._process.engine_pid)[0]

    def wait_until(self, ready, seconds=20):
        """Calls ready() until it is true. It is a failure when the server ends or takes too long."""
        deadline = time.monotonic() + seconds
        while not ready():
            if not self._process.running() or time.monotonic() > deadline:
                self.kill()
                raise Failure(f"{self.command[0]} did not start: {self._last_error()}")
            time.sleep(0.01)

    def wait(self, exit_codes=(0,)):
        """Waits for the end and fills in the figures; any other exit code is a failure."""
        if not self.measured.ended:
            self._finish()
        if self.code not in exit_codes:
            raise Failure(f"{self.command[0]} ended with {self.code}: {self._last_error()}")
        if b"cannot be preloaded" in self.measured.errors:
            raise Failure(self._last_error())
        return self.measured

    def kill(self):
        if not self.measured.ended:
            self._process.stop()
            self._finish()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        if self._own:
            self._own.cleanup()

    def _finish(self):
        self.measured.ended = True
        try:
            found = self._process.wait()
        finally:
            self._watch.end()
        self.code = -found["signal"] or found["exit_code"]
        self.measured.seconds = found["wall_seconds"]
        self.measured.peak_vm_kib = self._watch.vm
        self.measured.peak_rss_kib = found["peak_rss_bytes"] // 1024
        self.measured.minor_faults = found["minor_faults"]
        self.measured.major_faults = found["major_faults"]
        self.measured.output, self.measured.errors = (file.read_bytes() for file in self._files)

    def _last_error(self):
        text = self._files[1].read_bytes() or self._files[0].read_bytes()
        lines = text.decode("utf8", "replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


def measure(command, env=None, stdin=None, cwd=None, exit_codes=(0,)):
    """Runs a program once on the contestant, from its start to its end."""
    with Server(command, env=env, stdin=stdin, cwd=cwd) as server:
        return server.wait(exit_codes)
