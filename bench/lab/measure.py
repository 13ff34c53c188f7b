# SPDX-License-Identifier: Apache-2.0
"""One run of one kernel: a fresh process in a fixed environment.

The kernel itself reports the figures of its run. The engine (engine.py) adds the elapsed time, the
CPU time of the process and its children, the CPU time that other processes used meanwhile, and what
the hypervisor took away (steal). The address space stays randomised: a layout that happens to suit
one contestant must not stay for all rounds.
"""
import datetime
import json
import os
import signal
import subprocess
import tempfile
import time

from lab import counts, engine, share
from lab.fetch import Unavailable

KEPT = ("PATH", "HOME")  # the only inherited variables; no MALLOC_*, no LD_*, no OMP_*
DISTURBED_SECONDS = 0.030
DISTURBED_SHARE = 0.03
QUIET_SHARE = 0.05
FIGURES = ("value", "seconds", "checksum", "peak_rss_kib", "peak_vm_kib", "minor_faults",
           "major_faults")
NOT_INSTALLED = 77


class NotInstalled(Exception):
    """The kernel's program is missing here; the text says which."""


def usable_cores():
    return len(os.sched_getaffinity(0))


def environment(preload=(), more=None, program=False):
    """The environment of a run. A program.py gets the contestant's part as BENCH_*: that part is for
    the program that it measures."""
    made = {name: os.environ[name] for name in KEPT if name in os.environ}
    made["LC_ALL"] = "C"
    libraries = ":".join(map(str, preload))
    if libraries:
        made["BENCH_PRELOAD" if program else "LD_PRELOAD"] = libraries
    for name, value in (more or {}).items():
        made["BENCH_ENV_" + name if program else name] = str(value)
    return made


def is_disturbed(others_seconds, wall_seconds, cores):
    """Whether other processes used too much of the machine during a run: 30 ms, or 3 %."""
    return others_seconds > max(DISTURBED_SECONDS, DISTURBED_SHARE * wall_seconds * cores)


def wait_until_quiet(seconds, sample=0.25):
    """Waits until other processes use less than 5 % of the machine; returns whether they do."""
    deadline = time.monotonic() + seconds
    while True:
        idle = engine.run(["sleep", str(sample)], environment())
        used = idle["other_cpu_seconds"] + idle["steal_seconds"]
        if used <= QUIET_SHARE * idle["wall_seconds"] * usable_cores() + 0.011:
            return True
        if time.monotonic() >= deadline:
            return False


def run(command, env, timeout, cwd=None):
    """Runs once and returns the run's part of a result line. `failed` is None or the reason why the
    run does not count. NotInstalled means that the kernel's program is missing."""
    if counts.mode(command):
        try:
            with counts.counted(command) as under:
                return _run(under, env, timeout, cwd)
        except Unavailable as why:
            raise NotInstalled(str(why)) from None
    if share.WORD not in command:
        return _run(command, env, timeout, cwd)
    program = any(str(word).endswith("program.py") for word in command)
    try:
        with share.counted(program) as count:
            found = _run(command, count.environment(env), timeout, cwd)
            found["extra"].update(count.extra())
    except Unavailable as why:
        raise NotInstalled(str(why)) from None
    return found


def _run(command, env, timeout, cwd):
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        found = _process(command, env, timeout, cwd, output, errors)
        code, late = found.pop("code"), found.pop("late")
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode("utf8", "replace"))
    result, failed = _judge(code, late, timeout, *texts)
    for name in FIGURES:
        found[name] = result.get(name)
    found["extra"] = result.get("extra") or {}
    found["series"] = result.get("series") or {}
    found["failed"] = failed
    return found


def _process(command, env, timeout, cwd, output, errors):
    started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    found = engine.run(command, env, timeout=timeout, cwd=cwd, stdin=subprocess.DEVNULL,
                       stdout=output, stderr=errors)
    cpu, wall = found["user_seconds"] + found["system_seconds"], found["wall_seconds"]
    others, steal = found["other_cpu_seconds"], found["steal_seconds"]
    return {"started": started, "wall_seconds": round(wall, 6), "cpu_seconds": round(cpu, 6),
            "others_cpu_seconds": others, "steal_seconds": steal,
            "disturbed": is_disturbed(others + steal, wall, usable_cores()),
            "code": -found["signal"] or found["exit_code"], "late": found["timed_out"]}


def _judge(code, late, timeout, output, errors):
    """(the kernel's result, None or why the run failed)."""
    last = (errors.strip().splitlines() or ["it said nothing"])[-1]
    if late:
        return {}, f"stopped after {timeout:g} s"
    if code == NOT_INSTALLED:
        raise NotInstalled(last)
    if "cannot be preloaded" in errors:
        return {}, last
    if code < 0:
        return {}, f"ended by {_signal_name(-code)}: {last}"
    if code > 0:
        return {}, f"exit code {code}: {last}"
    try:
        result = json.loads(output.strip().splitlines()[-1])
        float(result["value"])
        result["checksum"] = str(result["checksum"])
    except (ValueError, LookupError, TypeError):
        return {}, "its output is not a result"
    return result, None


def _signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
