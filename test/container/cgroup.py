# SPDX-License-Identifier: Apache-2.0
"""Makes a memory cgroup of version 1 or 2 for the duration of a test.

    with Cgroup("server", limit=256 << 20) as group:
        process = subprocess.Popen(group.command(["./server"]))
        ...
        group.figures()  # Figures(peak, failures, kills)

The group has no swap: a process that does not fit is killed. Unavailable says why no group can be
made here.
"""
import collections
import os
import re
import signal
import time
from pathlib import Path

Figures = collections.namedtuple("Figures", "peak failures kills")


class Unavailable(Exception):
    """No memory cgroup can be made here; the text says why."""


def _unescaped(path):
    return re.sub(r"\\(\d{3})", lambda found: chr(int(found.group(1), 8)), path)


def mounts(mountinfo="/proc/self/mountinfo", controller="memory"):
    """[(version, mounted root of the hierarchy, mount point)] of the mounts that may have the
    controller."""
    found = []
    for line in Path(mountinfo).read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if kind[0] == "cgroup" and controller in kind[2].split(","):
            found.append((1, _unescaped(fields[3]), Path(_unescaped(fields[4]))))
        elif kind[0] == "cgroup2":
            found.append((2, _unescaped(fields[3]), Path(_unescaped(fields[4]))))
    return sorted(found)


def own_path(version, cgroup="/proc/self/cgroup", controller="memory"):
    for line in Path(cgroup).read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if (version == 2 and number == "0") or (version == 1 and controller in controllers.split(",")):
            return path
    return "/"


def down_to_own(version, root, where, controller="memory"):
    """The folders from the top of the mount down to the process's own group."""
    inside = os.path.relpath(own_path(version, controller=controller), root)
    folders = [where]
    if ".." not in Path(inside).parts:
        for part in Path(inside).parts:
            folders.append(folders[-1] / part)
    return folders


def parents(version, root, where):
    """Where a new cgroup may be made: as far up as possible, so that the manager of the own group
    is not disturbed. In version 2 a cgroup that holds processes cannot have children with a memory
    limit, so groups without such children are left out."""
    return [folder for folder in down_to_own(version, root, where)
            if version == 1 or "memory" in _text(folder / "cgroup.subtree_control").split()]


def _text(path):
    try:
        return path.read_text()
    except OSError:
        return ""


class Cgroup:
    def __init__(self, name, limit):
        self.limit, self.path, reasons = limit, None, []
        for version, root, where in mounts():
            for parent in parents(version, root, where):
                path = parent / f"corbel-{name}-{os.getpid()}"
                try:
                    path.mkdir()
                except OSError as error:
                    reasons.append(f"{path}: {error.strerror}")
                    continue
                try:
                    self._set_limit(version, path)
                except OSError as error:
                    reasons.append(f"{path}: the limit cannot be set: {error.strerror}")
                    path.rmdir()
                    continue
                self.version, self.path = version, path
                return
            if not parents(version, root, where):
                reasons.append(f"no cgroup below {where} may have a memory limit")
        raise Unavailable("; ".join(reasons) or "no memory cgroup is mounted")

    def _set_limit(self, version, path):
        if version == 2:
            (path / "memory.max").write_text(str(self.limit))
            without_swap = path / "memory.swap.max"
            if without_swap.exists():
                without_swap.write_text("0")
            return
        (path / "memory.limit_in_bytes").write_text(str(self.limit))
        both = path / "memory.memsw.limit_in_bytes"
        if both.exists():
            both.write_text(str(self.limit))

    def command(self, words):
        """The words of a command that runs in the group: a shell enters the cgroup and execs the
        command."""
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.path / "cgroup.procs"),
                *map(str, words)]

    def figures(self):
        if self.version == 2:
            events = dict(line.split() for line in _text(self.path / "memory.events").splitlines())
            peak = _text(self.path / "memory.peak")  # since Linux 5.19
            return Figures(int(peak) if peak else None, int(events.get("max", 0)),
                           int(events.get("oom_kill", 0)))
        control = dict(line.split() for line in
                       _text(self.path / "memory.oom_control").splitlines())
        # A combined limit on memory and swap is reached first.
        failures = sum(int(_text(self.path / name) or 0)
                       for name in ("memory.failcnt", "memory.memsw.failcnt"))
        return Figures(int(_text(self.path / "memory.max_usage_in_bytes") or 0), failures,
                       int(control.get("oom_kill", 0)))

    def used(self):
        name = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        return int(_text(self.path / name) or 0)

    def remove(self):
        """Ends what still runs in the group, and removes it."""
        deadline = time.monotonic() + 20
        while self.path is not None:
            for pid in _text(self.path / "cgroup.procs").split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            try:
                self.path.rmdir()
                self.path = None
            except FileNotFoundError:
                self.path = None
            except OSError:  # dead processes take a moment to leave
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
