#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program in a cgroup of version 1 or 2 with a quota of one processor, and once with an
affinity mask of one processor: quota.py PROGRAM. The program is told how many processors to expect.
Nothing may hang. Exits with 77 (skipped) on a machine with one processor."""
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "container"))
import cgroup


def has_quota():
    """Whether this process already runs under a quota, as in a container."""
    files = [folder / ("cpu.cfs_quota_us" if version == 1 else "cpu.max")
             for version, root, where in cgroup.mounts(controller="cpu")
             for folder in cgroup.down_to_own(version, root, where, controller="cpu")]
    return any(file.read_text().split()[0] not in ("max", "-1") for file in files if file.is_file())


def make_group(version, where, quota):
    """Makes a group with a quota of `quota` us in 100 ms. Returns its folder, or None if that
    fails."""
    folder = where / f"corbel-quota-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        return None
    try:
        if version == 1:
            (folder / "cpu.cfs_period_us").write_text("100000")
            (folder / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (folder / "cpu.max").write_text(f"{quota} 100000")
        return folder
    except OSError:
        folder.rmdir()
        return None


def remove(group):
    """A process that has ended takes a moment to leave its group."""
    for _ in range(200):
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.05)
    return group.rmdir()


def run(program, expected, enter):
    done = subprocess.run([program, str(expected)], preexec_fn=enter, timeout=120)
    print(f"{program} {expected}: {done.returncode}")
    return done.returncode == 0


def main():
    program = sys.argv[1]
    processors = len(os.sched_getaffinity(0))
    if processors == 1:
        return 77 if run(program, 1, lambda: None) else 1
    one = min(os.sched_getaffinity(0))
    passed = has_quota() or run(program, processors, lambda: None)
    passed &= run(program, 1, lambda: os.sched_setaffinity(0, {one}))
    for quota in 100000, 50000:
        for version, _, where in cgroup.mounts(controller="cpu"):
            group = make_group(version, where, quota)
            if group is None:
                continue
            try:
                enter = lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
                passed &= run(program, 1, enter)
            finally:
                remove(group)
            break
        else:
            print("no group can be made here")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
