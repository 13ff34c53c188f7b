#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests cgroup.py on simulated machines: both versions, the view in a container, and no usable
cgroup."""
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import cgroup

HYBRID = """\
30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 30 0:30 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
"""
CONTAINER = "55 40 0:26 /docker/abc /sys/fs/cg\\040roup ro - cgroup2 cgroup rw,nsdelegate\n"


class Reading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, text):
        path = self.folder / "file"
        path.write_text(text)
        return path

    def test_mounts(self):
        self.assertEqual(cgroup.mounts(self.file(HYBRID)),
                         [(1, "/", Path("/sys/fs/cgroup/memory")),
                          (2, "/", Path("/sys/fs/cgroup/unified"))])
        self.assertEqual(cgroup.mounts(self.file(CONTAINER)),
                         [(2, "/docker/abc", Path("/sys/fs/cg roup"))])

    def test_own_path(self):
        file = self.file("9:name=systemd:/\n4:cpu,memory:/a/b\n0::/c/d\n")
        self.assertEqual(cgroup.own_path(1, file), "/a/b")
        self.assertEqual(cgroup.own_path(2, file), "/c/d")
        self.assertEqual(cgroup.own_path(1, self.file("0::/c\n")), "/")


class Making(unittest.TestCase):
    """A folder stands for the hierarchy. The test makes the files that the kernel would have
    made."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)

    def machine(self, version, own="/", root="/"):
        for name, value in (("mounts", [(version, root, self.top)]), ("own_path", own)):
            patch = mock.patch.object(cgroup, name, return_value=value)
            patch.start()
            self.addCleanup(patch.stop)

    def controls(self, path, text):
        folder = self.top / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.subtree_control").write_text(text)

    def test_version_1(self):
        self.machine(1, own="/mine")
        group = cgroup.Cgroup("x", 1 << 20)
        self.assertEqual(group.path.parent, self.top)
        self.assertEqual((group.path / "memory.limit_in_bytes").read_text(), str(1 << 20))
        for name, text in (("memory.max_usage_in_bytes", "77\n"), ("memory.failcnt", "3\n"),
                           ("memory.memsw.failcnt", "4\n"),
                           ("memory.oom_control", "under_oom 0\noom_kill 1\n")):
            (group.path / name).write_text(text)
        self.assertEqual(group.figures(), (77, 7, 1))

    def test_version_2(self):
        self.machine(2, own="/user/mine")
        self.controls(".", "cpu\n")
        self.controls("user", "cpu memory\n")
        self.controls("user/mine", "memory\n")
        group = cgroup.Cgroup("x", 1 << 20)
        self.assertEqual(group.path.parent, self.top / "user")
        self.assertEqual((group.path / "memory.max").read_text(), str(1 << 20))
        (group.path / "memory.events").write_text("low 0\nmax 5\noom 1\noom_kill 2\n")
        self.assertEqual(group.figures(), (None, 5, 2))
        (group.path / "memory.peak").write_text("99\n")
        self.assertEqual(group.figures().peak, 99)
        self.assertIn(str(group.path / "cgroup.procs"), group.command(["true"]))

    def test_a_container_sees_only_its_own(self):
        self.machine(2, own="/docker/abc", root="/docker/abc")
        self.controls(".", "memory\n")
        self.assertEqual(cgroup.Cgroup("x", 1).path.parent, self.top)
        self.machine(2, own="/../other", root="/")
        self.assertEqual(cgroup.Cgroup("y", 1).path.parent, self.top)

    def test_nowhere(self):
        self.machine(2, own="/mine")
        self.controls(".", "cpu\n")
        with self.assertRaisesRegex(cgroup.Unavailable, "no cgroup below"):
            cgroup.Cgroup("x", 1)
        with mock.patch.object(cgroup, "mounts", return_value=[]):
            with self.assertRaisesRegex(cgroup.Unavailable, "no memory cgroup is mounted"):
                cgroup.Cgroup("x", 1)


if __name__ == "__main__":
    unittest.main()
