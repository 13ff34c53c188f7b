# SPDX-License-Identifier: Apache-2.0
"""One run of one kernel: a fresh process in a fixed environment, and what else the machine did
meanwhile.

The figures of the run itself come from the kernel. From outside come the elapsed time, the CPU time
of the process and its children (wait4), and the CPU time that everybody else used while it ran: all
busy jiffies of /proc/stat without the run's own, and what the host took away (steal). The address
space stays randomised: a layout that happens to suit one contestant must not stay for all rounds.
"""
import datetime
import json
import os
import signal
import subprocess
import tempfile
import threading
import time

from lab import share
from lab.fetch import Unavailable

KEPT = ("PATH", "HOME")  # all that a run inherits; no MALLOC_*, no LD_*, no OMP_*
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
    """What a run sees. A program.py gets the contestant's part as BENCH_*: it is for the program
    that it measures, not for itself."""
    made = {name: os.environ[name] for name in KEPT if name in os.environ}
    made["LC_ALL"] = "C"
    libraries = ":".join(map(str, preload))
    if libraries:
        made["BENCH_PRELOAD" if program else "LD_PRELOAD"] = libraries
    for name, value in (more or {}).items():
        made["BENCH_ENV_" + name if program else name] = str(value)
    return made


def machine_times(path="/proc/stat"):
    """(busy, steal) seconds, since the machine started, of the processors that this process may
    use; None where there is no such file."""
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    busy = stolen = 0
    try:
        with open(path, encoding="ascii") as file:
            for name, *fields in (line.split() for line in file if line.startswith("cpu")):
                if name in mine:
                    user, nice, system, _, _, irq, softirq, steal = \
                        ([int(field) for field in fields] + [0] * 8)[:8]
                    busy += user + nice + system + irq + softirq
                    stolen += steal
    except (OSError, ValueError):
        return None
    tick = os.sysconf("SC_CLK_TCK")
    return busy / tick, stolen / tick


def is_disturbed(others_seconds, wall_seconds, cores):
    """Whether others used more of the machine than a run can bear: 30 ms, or 3 % of it."""
    return others_seconds > max(DISTURBED_SECONDS, DISTURBED_SHARE * wall_seconds * cores)


def wait_until_quiet(seconds, sample=0.25, times=machine_times):
    """Waits until the others use less than 5 % of the machine; returns whether they do."""
    deadline = time.monotonic() + seconds
    while True:
        before, begin = times(), time.monotonic()
        if before is None:
            return True
        time.sleep(sample)
        used = sum(times()) - sum(before)
        if used <= QUIET_SHARE * (time.monotonic() - begin) * usable_cores() + 0.011:
            return True
        if time.monotonic() >= deadline:
            return False


def run(command, env, timeout, cwd=None):
    """Runs once; returns the part of a result line that one run can tell. `failed` is None or says
    why the run does not count; NotInstalled is raised for a program that is not here."""
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
        found = _process([str(word) for word in command], env, timeout, cwd, output, errors)
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
    late = threading.Event()
    started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    before, begin = machine_times(), time.monotonic()
    process = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output,
                               stderr=errors, start_new_session=True)

    def too_late():
        late.set()
        _end(process.pid)

    timer = threading.Timer(timeout, too_late)
    timer.daemon = True
    timer.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:
        _end(process.pid)
        process.wait()
        raise
    finally:
        timer.cancel()
    wall = time.monotonic() - begin
    after = machine_times()
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = used.ru_utime + used.ru_stime
    others = max(0.0, after[0] - before[0] - cpu) if before and after else 0.0
    steal = after[1] - before[1] if before and after else 0.0
    return {"started": started, "wall_seconds": round(wall, 6), "cpu_seconds": round(cpu, 6),
            "others_cpu_seconds": round(others, 3), "steal_seconds": round(steal, 3),
            "disturbed": is_disturbed(others + steal, wall, usable_cores()),
            "code": process.returncode, "late": late.is_set()}


def _end(pid):
    """A program.py is asked first, so that it can end what it started."""
    for how, patience in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 0)):
        try:
            os.killpg(pid, how)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    break
            except ChildProcessError:
                return
            time.sleep(0.02)


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
