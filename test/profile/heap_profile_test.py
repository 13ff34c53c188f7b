#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The heap profile of a program that allocates known amounts at known places.

Usage: heap_profile_test.py PROGRAM, which is profiled.cpp linked with the replacement
"""

import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import pprof

PROGRAM = os.path.abspath(sys.argv.pop(1))
EVERY = 16384

# Where -> (blocks, bytes of a block, bytes in use at the end and at the peak of them per byte)
PLACES = {
    "small_freed": (300000, 112, 0, 0),
    "small_kept": (200000, 48, 1, 1),
    "medium_kept": (8000, 5120, 1, 1),
    "large_freed": (3000, 196608, 0, 0),
    "new_kept": (20000, 1024, 1, 1),
    "in_thread": (40000, 256, 1, 1),
    "peak_only": (50000, 2048, 0, 1),
}


class HeapProfile(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="corbel-profile-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def run_program(self, setting, *arguments, folder=None):
        environment = {**os.environ, "CORBEL_PROFILE": setting}
        if setting is None:
            del environment["CORBEL_PROFILE"]
        return subprocess.run([PROGRAM, *arguments], env=environment, cwd=folder or self.folder,
                              capture_output=True, text=True, timeout=120)

    def profile_of(self, setting, *arguments):
        path = self.folder / "heap.pb.gz"
        result = self.run_program(f"{setting},file={path}", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return pprof.Profile(path), result.stdout

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_estimates_by_place(self):
        profile, output = self.profile_of(f"heap,every={EVERY},seed=3", "all")
        starts = dict(line.split() for line in output.splitlines())
        for place, (blocks, size, in_use, at_peak) in PLACES.items():
            start = int(starts[place], 16)
            totals = profile.totals(lambda sample: any(
                start <= address < start + 64 for address in sample["addresses"][:1]))
            chance = -math.expm1(-size / EVERY)
            deviation = math.sqrt(blocks * (1 - chance) / chance)
            for name, value, expected in zip(
                    profile.types, totals,
                    [blocks, blocks * size] + [in_use * blocks, in_use * blocks * size]
                    + [at_peak * blocks, at_peak * blocks * size]):
                with self.subTest(place=place, type=name):
                    scale = size if name[1] == "bytes" else 1
                    tolerance = 4 * deviation * scale if expected else 0
                    self.assertAlmostEqual(value, expected, delta=tolerance + 1e-4 * expected)

    def test_head(self):
        profile, _ = self.profile_of(f"heap,every={EVERY}", "all")
        self.assertEqual(profile.types, [
            ("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
            ("inuse_space", "bytes"), ("peak_objects", "count"), ("peak_space", "bytes")])
        self.assertEqual((profile.period_type, profile.period), (("space", "bytes"), EVERY))
        self.assertEqual(profile.default_type, "inuse_space")
        comments = dict(text.split(": ", 1) for text in profile.comments)
        self.assertEqual(comments["command"], f"{PROGRAM} all")
        self.assertGreater(int(comments["footprint"].split()[0]), 40 << 20)
        self.assertGreater(int(comments["samples"]), 1000)
        self.assertGreater(profile.time, profile.duration)

    def test_mapped_files(self):
        profile, output = self.profile_of(f"heap,every={EVERY}", "all")
        files = {mapping["file"]: mapping for mapping in profile.mappings.values()}
        program = files[PROGRAM]
        self.assertEqual(program, profile.mappings[1], "viewers take the first one for the program")
        notes = subprocess.run(["readelf", "-n", PROGRAM], capture_output=True, text=True, check=True)
        self.assertIn(f"Build ID: {program['build_id']}\n", notes.stdout)
        self.assertTrue(any("libc.so" in file for file in files))
        for line in output.splitlines():
            address = int(line.split()[1], 16)
            self.assertTrue(program["start"] <= address < program["limit"])
        used = {place["mapping"] for place in profile.locations.values()}
        self.assertIn(program["id"], used)
        self.assertFalse(any("libcorbelmalloc" in profile.mappings[id]["file"]
                             for id in used if id), "the allocator is in the stacks")

    def test_threads(self):
        profile, _ = self.profile_of(f"heap,every={EVERY}", "all")
        in_thread = profile.totals(lambda s: s["labels"]["thread"].startswith("planted ("))
        main = profile.totals(lambda s: s["labels"]["thread"].startswith("profile_profile ("))
        self.assertEqual([a + b for a, b in zip(in_thread, main)], profile.totals())
        self.assertAlmostEqual(in_thread[1] / (40000 * 256), 1, delta=0.2)

    def test_with_a_distance_of_one_every_block_is_counted(self):
        profile, output = self.profile_of("heap,every=1", "all")
        starts = dict(line.split() for line in output.splitlines())
        for place, (blocks, size, in_use, at_peak) in PLACES.items():
            start = int(starts[place], 16)
            totals = profile.totals(lambda sample: start <= sample["addresses"][0] < start + 64)
            self.assertEqual(totals, [n * (1, size)[i % 2] for i, n in enumerate(
                [blocks] * 2 + [in_use * blocks] * 2 + [at_peak * blocks] * 2)], place)

    def test_default_name_has_the_process_in_it(self):
        result = self.run_program("heap", "exit", "3")
        self.assertEqual((result.returncode, result.stderr), (3, ""))
        names = self.files()
        self.assertEqual(len(names), 1)
        self.assertRegex(names[0], r"^corbel\.heap\.\d+\.pb\.gz$")
        pprof.Profile(self.folder / names[0])

    def test_a_process_that_has_changed_its_folder(self):
        self.run_program("heap,file=here.%p", "daemon")
        self.assertRegex(" ".join(self.files()), r"^here\.\d+$")

    def test_a_forked_child_writes_its_own_file(self):
        for name in "fixed", "with.%p":
            result = self.run_program(f"heap,every=1,file={name}", "fork")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            child = result.stdout.strip()
            own = self.folder / (f"fixed.{child}" if name == "fixed" else f"with.{child}")
            parent, = {path for path in self.folder.iterdir() if path != own}
            self.assertGreater(pprof.Profile(parent).totals()[2], 1000)
            in_child = pprof.Profile(own).totals()
            self.assertGreater(in_child[0], 1000)
            self.assertLess(in_child[2], 1000)
            own.unlink()
            parent.unlink()

    def test_an_executed_program_writes_its_own_profile(self):
        result = self.run_program("heap,every=1,file=name", "exec")
        self.assertEqual((result.returncode, result.stderr), (4, ""))
        self.assertIn("exit 4", pprof.Profile(self.folder / "name").comments[0])

    def test_a_file_that_cannot_be_written(self):
        (self.folder / "folder").mkdir()
        for name, reason in {"missing/file": "create the folder", "/dev/full": "the disk is full",
                             "folder": "is a folder", "x" * 300: "too long"}.items():
            with self.subTest(name):
                result = self.run_program(f"heap,file={name}", "exit", "3")
                self.assertEqual(result.returncode, 3)
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertTrue(result.stderr.startswith("corbel: cannot write the heap profile to "))
                self.assertIn(reason, result.stderr)
                self.assertEqual(self.files(), ["folder"])

    def test_an_older_file_is_replaced(self):
        (self.folder / "file").write_text("older")
        self.run_program("heap,file=file", "exit", "0")
        pprof.Profile(self.folder / "file")
        self.assertEqual(self.files(), ["file"])

    def test_wrong_settings(self):
        for setting in ("", "heaps", "cpu", "heap,", "heap,every", "heap,every=0", "heap,every=x",
                        "heap,every=10%", "heap,every=auto", "heap,every=2T", "heap,seed=", "heap,seed=1x",
                        "heap,file=", "heap,evry=1", "heap,every=1,,seed=1"):
            with self.subTest(setting):
                result = self.run_program(setting, "exit", "3")
                self.assertEqual(result.returncode, 3)
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertTrue(result.stderr.startswith(
                    f"corbel: CORBEL_PROFILE={setting} is ignored: set it to heap"), result.stderr)
                self.assertEqual(self.files(), [])

    def test_without_the_setting_nothing_is_written(self):
        result = self.run_program(None, "exit", "3")
        self.assertEqual((result.returncode, result.stderr, self.files()), (3, "", []))

    def test_written_in_signal_handlers(self):
        path = self.folder / "signals"
        result = self.run_program(None, "signals", str(path))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        written, _, failed = map(int, result.stdout.split())
        self.assertGreaterEqual(written, 200)
        self.assertEqual(failed, 0)
        self.assertGreater(pprof.Profile(path).totals()[0], 1000)


if __name__ == "__main__":
    unittest.main()
