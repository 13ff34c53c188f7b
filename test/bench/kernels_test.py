# SPDX-License-Identifier: Apache-2.0
"""Every kernel runs on its quick size for every contestant that is available here without a network,
checks its own result, and computes the same checksum on each.

    kernels_test.py allocators|schedulers [unittest words]
"""
import os
import sys
import unittest
from pathlib import Path

import fake
from lab import build, catalogue, contestants, measure, paths, peers, results

LIBRARY = Path(os.environ.get("CORBEL_LIB_DIR", fake.ROOT / "build/release/lib")) / \
    "libcorbelmalloc_proxy.so.1"
WITHOUT_NETWORK = ("serial", "libgomp", "libomp")
THREADS = 2
TIMEOUT = 100


def people():
    """Both allocators, and the schedulers that need no build or are already built."""
    found = contestants.Contestants(allocators={"glibc": peers.Allocator(),
                                                "corbel": peers.Allocator([str(LIBRARY)])})
    recipes = peers.load()
    for name, recipe in recipes.items():
        if "scheduler" in recipe.KINDS and (
                name in WITHOUT_NETWORK or peers._built_with(peers.BUILT / name) ==
                peers._stamp(recipe)):
            prepared = peers.prepare([name])[name]
            if isinstance(prepared, peers.Unavailable):
                print(f"without {name}: {prepared}")
            else:
                found.schedulers += prepared.schedulers
    return found


class Kernels(unittest.TestCase):
    kinds = ()

    @classmethod
    def setUpClass(cls):
        everybody = people() if "scheduler" in cls.kinds else contestants.Contestants(
            allocators={"glibc": peers.Allocator(), "corbel": peers.Allocator([str(LIBRARY)])})
        cls.warnings, builder = [], build.Builder()
        builder.warn = cls.warnings.append
        kernels = [k for k in catalogue.discover() if k.kind in cls.kinds]
        cls.lines = catalogue.compile_described(kernels, everybody, builder)
        described, lines = catalogue.describe(kernels)
        cls.lines += lines + catalogue.compile_schedulers(described, everybody, builder)
        cls.all, cls.kernels = kernels, described
        cls.rows = [row for outside in (False, True)
                    for row in catalogue.rows(described, everybody, "quick", outside=outside)
                    if row.kernel != catalogue.CONTROL]

    def runs(self, row):
        """{contestant: [its run]}; empty when the row's program is not installed."""
        found = {}
        for one in row.contestants:
            try:
                found[one.id] = [measure.run(one.command, one.environment(), TIMEOUT,
                                             cwd=paths.BUILT)]
            except measure.NotInstalled as missing:
                print(f"{row.id} is left out: {missing}")
                return {}
        return found

    def least(self, row):
        """The least value that a row can have: no schedule is faster than the bounds of sleeping
        bodies."""
        told = next(k.descriptor for k in self.kernels if k.name == row.kernel)
        return 1 if (told["plot"], told["unit"]) == ("wide", "x") else 0

    def check_rows(self, rows):
        count = 0
        for row in rows:
            with self.subTest(row=row.id):
                found = self.runs(row)
                for contestant, (run,) in found.items():
                    self.assertIsNone(run["failed"], contestant)
                    self.assertGreaterEqual(run["value"], self.least(row), contestant)
                    self.assertGreater(run["peak_rss_kib"], 0, contestant)
                self.assertEqual(results.judge_checksums(found), {})
                count += len(found)
        print(f"{count} runs in {len(rows)} rows")

    def check_build(self):
        self.assertEqual(self.lines, [])
        self.assertEqual(self.warnings, [])
        self.assertEqual(len(self.all), len(self.kernels))
        for kernel in self.kernels:
            with self.subTest(kernel=kernel.name):
                told = kernel.descriptor
                self.assertIn(told["group"], catalogue.GROUPS)
                self.assertEqual(len([s for s in told["what"].replace("…", "").split(". ")]), 2,
                                 "it says in two sentences what it measures")
                self.assertTrue(told["title"] and told["metric"] and told["unit"])
                for case in told["cases"]:
                    self.assertTrue(case["quick"] and case["normal"] and case["full"])


def fewest(rows, most):
    """One row for each case: with the most threads up to `most`, else the fewest."""
    chosen = {}
    for row in rows:
        old = chosen.get((row.kernel, row.case))
        fits = row.threads <= most
        if old is None or (fits and (old.threads > most or row.threads > old.threads)) or (
                not fits and row.threads < old.threads):
            chosen[row.kernel, row.case] = row
    return list(chosen.values())


@unittest.skipUnless(LIBRARY.is_file(), "no Corbel is built")
class Allocators(Kernels):
    kinds = ("allocator", "program")

    def test_all_build_and_describe_themselves(self):
        self.check_build()

    def test_all_are_right_and_agree(self):
        self.check_rows(fewest(self.rows, THREADS))


class Schedulers(Kernels):
    kinds = ("scheduler",)

    def test_all_build_and_describe_themselves(self):
        self.check_build()

    def test_all_are_right_and_agree(self):
        """The serial program's checksum must be that of all others, with two threads."""
        serial = {(row.kernel, row.case): [c for c in row.contestants
                                           if c.scheduler == catalogue.SERIAL]
                  for row in self.rows if any(c.scheduler == catalogue.SERIAL
                                              for c in row.contestants)}
        rows = fewest(self.rows, THREADS)
        for row in rows:
            if row.contestants[0].scheduler != catalogue.SERIAL:
                row.contestants = serial[row.kernel, row.case] + row.contestants
        self.check_rows(rows)


if __name__ == "__main__":
    wanted = sys.argv.pop(1).capitalize()
    unittest.main(defaultTest=[wanted])
