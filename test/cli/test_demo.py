# SPDX-License-Identifier: Apache-2.0
"""The demo: one short run with standard Python only, and its own program."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import CliTest, clean_environment

BIN = Path(os.environ["CORBEL_BIN_DIR"])
DEMO = Path(__file__).resolve().parents[2] / "tools" / "demo" / "run"


class Demo(CliTest):
    def run_demo(self, *words):
        return subprocess.run([sys.executable, "-B", str(DEMO), "--plain", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=clean_environment(), timeout=250, check=False)

    def test_table_and_page(self):
        done = self.run_demo("--build-dir", str(BIN.parent), "--seconds", "1", "--only", "conversion",
                             "--output", str(self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("CAD conversion", "peak memory", "ratio", "Medians of 3 interleaved runs",
                     "run -- ./your-program"):
            self.assertIn(text, done.stdout)
        page = self.folder / "index.html"
        self.assertIn(str(page), done.stdout)
        html = page.read_text()
        for text in ("<!doctype html>", "prefers-color-scheme:dark", "width=device-width",
                     "CAD conversion", "</html>"):
            self.assertIn(text, html)
        for text in ('src="http', 'href="http', "<script"):
            self.assertNotIn(text, html)

    def test_mistakes(self):
        done = self.run_demo("--build-dir", str(self.folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn("build it first", done.stderr)
        done = self.run_demo("--build-dir", str(BIN.parent), "--only", "no-such-program",
                             "--output", str(self.folder))
        self.assertEqual(done.returncode, 2)


class Conversion(CliTest):
    def digest(self, *words):
        done = subprocess.run([str(BIN / "corbel-demo-conversion"), "--entities", "3000", *words],
                              stdout=subprocess.PIPE, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0)
        return done.stdout.split()[-1]

    def test_the_digest_does_not_depend_on_the_threads(self):
        digests = {self.digest("--conversions", "2", "--threads", n) for n in ("1", "2", "5")}
        self.assertEqual(len(digests), 1)
        self.assertNotEqual(digests, {self.digest("--conversions", "3", "--threads", "2")})

    def test_one_time_for_each_conversion(self):
        file = self.folder / "times"
        self.digest("--conversions", "4", "--times", str(file))
        self.assertEqual(len(file.read_text().splitlines()), 4)


if __name__ == "__main__":
    unittest.main()
