# SPDX-License-Identifier: Apache-2.0
"""One run of the server in a cgroup of its own, watched from outside."""
import dataclasses
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

from cgroup import Cgroup

MIB = 1 << 20
LIVE_SHARE = 0.70  # of the limit
AT = re.compile(r"at ([\d.]+) requests (\d+) live ([\d.]+) resident ([\d.]+) most ([\d.]+)")


@dataclasses.dataclass
class Outcome:
    """The result of a run. `ended` is "done", "killed" or what was wrong; `seconds` is the
    duration."""
    ended: str
    seconds: float
    requests: int
    cpu_seconds: float
    live: float  # MiB, the maximum at any moment
    resident: float  # MiB, the maximum of its reports, four a second
    peak: float  # MiB, of the cgroup; None if unknown
    failures: int  # how often the limit was reached
    kills: int
    samples: list  # (seconds, MiB in the cgroup)

    @property
    def survived(self):
        return self.ended == "done"


def _sample(group, start, samples, over):
    while not over.wait(0.25):
        samples.append((time.monotonic() - start, group.used() / MIB))


def serve(server, name, limit_mib, seconds, env, threads=8, seed=1, live_mib=None, prefix=()):
    """Runs the server with `live_mib` of live memory (70 % of the limit) and waits for its end.
    `prefix` is a command that starts the server."""
    live_mib = int(limit_mib * LIVE_SHARE) if live_mib is None else live_mib
    with Cgroup(name, limit_mib * MIB) as group, tempfile.TemporaryFile("w+") as output, \
            tempfile.TemporaryFile("w+") as errors:
        words = [*prefix, server, live_mib, seconds, threads, seed]
        # The shell that enters the cgroup runs on the system's malloc: only the server gets the
        # preload.
        given = [f"{key}={value}" for key, value in env.items()]
        start, samples, over = time.monotonic(), [], threading.Event()
        process = subprocess.Popen(group.command(["env", *given, *words] if given else words),
                                   stdout=output, stderr=errors, stdin=subprocess.DEVNULL)
        watcher = threading.Thread(target=_sample, args=(group, start, samples, over), daemon=True)
        watcher.start()
        try:
            code, used = _wait(process, seconds * 2 + 120)
        finally:
            over.set()
            watcher.join()
        took, figures = time.monotonic() - start, group.figures()
        output.seek(0)
        errors.seek(0)
        text, said = output.read(), errors.read().strip()
    found = [tuple(map(float, groups)) for groups in AT.findall(text)]
    done = re.search(r"^done requests (\d+)$", text, re.M)
    if code == 0 and done and not said:
        ended = "done"
    elif code in (-signal.SIGKILL, 128 + signal.SIGKILL) and figures.kills:
        ended = "killed"
    else:
        ended = f"failed: exit code {code}: {said[-300:] or 'it said nothing'}"
    return Outcome(ended, took, int(done.group(1)) if done else int(found[-1][1]) if found else 0,
                   used, max((one[4] for one in found), default=0.0),
                   max((one[3] for one in found), default=0.0),
                   figures.peak / MIB if figures.peak is not None else None, figures.failures,
                   figures.kills, samples)


def _wait(process, patience):
    """Returns (exit code, processor seconds). Ends a server that hangs; its code is None."""
    timer = threading.Timer(patience, process.kill)
    timer.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime
