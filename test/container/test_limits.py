#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The allocator's limits in real memory cgroups: found without a setting, the smallest limit among
the ancestors counts, and a change is noticed while the program runs.

Usage: test_limits.py LIMIT_SEEN CORBEL
"""
import json
import os
import subprocess
import sys
import time
import unittest

from cgroup import Cgroup, Unavailable

MIB = 1 << 20


class Limits(unittest.TestCase):
    def setUp(self):
        try:
            self.group = Cgroup("limits", limit=512 * MIB)
        except Unavailable as reason:
            self.skipTest(str(reason))
        self.addCleanup(self.group.remove)

    def start(self, inside=None, **environment):
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("CORBEL_HEAP")}
        procs = (inside or self.group.path) / "cgroup.procs"
        process = subprocess.Popen(
            ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(procs), LIMIT_SEEN],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**clean, **environment})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def limits(self, process):
        process.stdin.write("grow\n")
        process.stdin.flush()
        return tuple(map(int, process.stdout.readline().split()))

    def set_limit(self, folder, size):
        name = "memory.max" if self.group.version == 2 else "memory.limit_in_bytes"
        (folder / name).write_text(str(size))

    def test_found_without_being_told(self):
        self.assertEqual(self.limits(self.start()), (448 * MIB, 0))

    def test_shares_are_of_the_container(self):
        process = self.start(CORBEL_HEAP_LIMIT="50%", CORBEL_HEAP_HARD_LIMIT="75%")
        soft, hard = self.limits(process)
        self.assertAlmostEqual(soft, 256 * MIB, delta=10000)
        self.assertAlmostEqual(hard, 384 * MIB, delta=10000)

    def test_none_is_none(self):
        self.assertEqual(self.limits(self.start(CORBEL_HEAP_LIMIT="none")), (0, 0))

    def test_a_change_is_noticed(self):
        process = self.start()
        self.assertEqual(self.limits(process), (448 * MIB, 0))
        # A lower limit also works with version 1: the combined limit of memory and swap is above
        # it.
        self.set_limit(self.group.path, 256 * MIB)
        deadline = time.monotonic() + 60
        while self.limits(process) != (224 * MIB, 0):
            self.assertLess(time.monotonic(), deadline, "the new limit was never noticed")
            self.assertIsNone(process.poll())
            time.sleep(0.6)

    def test_the_smallest_among_the_ancestors_counts(self):
        inner = self.group.path / "inner"
        if self.group.version == 2:
            (self.group.path / "cgroup.subtree_control").write_text("+memory")
        inner.mkdir()
        self.addCleanup(self.remove, inner)
        self.set_limit(inner, 400 * MIB)
        self.assertEqual(self.limits(self.start(inside=inner)), (350 * MIB, 0))
        self.set_limit(self.group.path, 256 * MIB)
        self.assertEqual(self.limits(self.start(inside=inner)), (224 * MIB, 0))

    def test_corbel_check_says_so(self):
        done = subprocess.run(self.group.command([CORBEL, "check", "--json", "--", "cat"]),
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        settings = {each["id"]: each for each in json.loads(done.stdout)["settings"]}
        self.assertEqual(settings["container_limit"]["bytes"], 512 * MIB)
        self.assertIn(self.group.path.name, settings["container_limit"]["source"])
        self.assertEqual(settings["heap_limit"]["bytes"], 448 * MIB)

    def test_corbel_check_of_a_process_in_a_cgroup(self):
        process = subprocess.Popen(
            self.group.command([CORBEL, "run", "--", "cat"]), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdin.write(b"x")
        process.stdin.flush()
        self.assertEqual(process.stdout.read(1), b"x")
        done = subprocess.run([CORBEL, "check", "--json", "--pid", str(process.pid)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        settings = {each["id"]: each for each in json.loads(done.stdout)["settings"]}
        self.assertEqual(settings["container_limit"]["bytes"], 512 * MIB)

    def remove(self, folder):
        deadline = time.monotonic() + 20
        while True:
            try:
                return folder.rmdir()
            except OSError:
                # A process that ended may not have left yet.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


if __name__ == "__main__":
    LIMIT_SEEN, CORBEL = sys.argv[1:3]
    del sys.argv[1:3]
    try:
        Cgroup("probe", limit=64 * MIB).remove()
    except Unavailable as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
