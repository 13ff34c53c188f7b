#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a time profile says of the program's blocks, which profiled.cpp allocates at known places.

Usage: lifetimes_test.py PROGRAM
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import pprof

PROGRAM = os.path.abspath(sys.argv.pop(1))

ALLOCATIONS, ALLOCATED, BRIEF, HANDED_OVER, RECEIVED, GROWTHS, COPIED = range(4, 11)


class Lifetimes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "profile"
        result = subprocess.run([PROGRAM, "live"], capture_output=True, text=True, timeout=120,
                                env={**os.environ, "CORBEL_PROFILE": f"time,file={path}"})
        assert result.returncode == 0 and result.stderr == "", result.stderr
        cls.starts = {name: int(start, 16) for name, start in map(str.split, result.stdout.splitlines())}
        cls.profile = pprof.Profile(path)

    def totals(self, place):
        start = self.starts[place]
        return self.profile.totals(lambda sample: sample["addresses"]
                                   and start <= sample["addresses"][0] < start + 64)

    def test_types(self):
        self.assertEqual(self.profile.types[4:], [
            ("allocations", "count"), ("allocated", "bytes"), ("brief", "count"),
            ("handed_over", "count"), ("received", "count"), ("growths", "count"),
            ("copied", "bytes")])

    # There are about a hundred samples of each place, so the bounds are five standard deviations. All
    # of them are those that may come as fast as they like (SamplePace).
    def test_allocations(self):
        for place, blocks, size in (("new_kept", 1500, 1024), ("small_freed", 15000, 112),
                                    ("handed_over", 1500, 1024), ("grow", 300, 6144)):
            with self.subTest(place):
                totals = self.totals(place)
                self.assertAlmostEqual(totals[ALLOCATIONS] / blocks, 1, delta=0.5)
                self.assertAlmostEqual(totals[ALLOCATED] / totals[ALLOCATIONS] / size, 1, delta=0.01)

    def test_what_becomes_of_blocks(self):
        kept = self.totals("new_kept")
        self.assertEqual(kept[BRIEF:], [0] * 5)
        freed = self.totals("small_freed")
        self.assertLessEqual(freed[BRIEF], freed[ALLOCATIONS])
        # A life below a microsecond is possible where a block that is not sampled takes a tenth of that.
        if self.starts["ten_lives"] < 1000:
            self.assertGreater(freed[BRIEF], 0)
        self.assertEqual(freed[HANDED_OVER:], [0] * 4)
        sent = self.totals("handed_over")
        self.assertEqual(sent[HANDED_OVER], sent[ALLOCATIONS])
        self.assertEqual([sent[BRIEF], *sent[RECEIVED:]], [0] * 4)
        received = self.totals("receive")
        # The two sums are rounded.
        self.assertAlmostEqual(received[RECEIVED], sent[HANDED_OVER], delta=1)
        self.assertEqual(received[ALLOCATIONS:RECEIVED] + received[GROWTHS:], [0] * 6)

    def test_growths(self):
        grown = self.totals("grow")
        self.assertEqual(grown[GROWTHS], grown[ALLOCATIONS])
        self.assertAlmostEqual(grown[COPIED] / grown[GROWTHS] / 2048, 1, delta=0.01)
        shrunk = self.totals("shrink")
        self.assertGreater(shrunk[ALLOCATIONS], 0)
        self.assertEqual(shrunk[GROWTHS:], [0, 0])

    def test_threads(self):
        self.assertEqual({sample["labels"]["thread"].split(" ")[0] for sample in self.profile.samples
                          if sample["values"][RECEIVED] > 500}, {"receiver"})
        self.assertEqual({sample["labels"]["thread"].split(" ")[0] for sample in self.profile.samples
                          if sample["values"][HANDED_OVER] > 500}, {"profile_profile"})


if __name__ == "__main__":
    unittest.main()
