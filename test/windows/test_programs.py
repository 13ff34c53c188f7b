# SPDX-License-Identifier: Apache-2.0
"""Real programs, unchanged, with malloc replaced, in Wine: on Wine's C library and on Microsoft's."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import fetch_programs

BIN = pathlib.Path(os.environ["CORBEL_BIN_DIR"])
TOOL = BIN / "corbel.exe"
SOURCE = fetch_programs.SOURCE
WINE = os.environ.get("CORBEL_WINE", "wine")
OVERRIDES = os.environ.get("WINEDLLOVERRIDES", "winedbg.exe=d")
# Wine takes these from beside the program, not its own.
MICROSOFTS = "ucrtbase,vcruntime140,vcruntime140_1,msvcp140=n,b"
PROGRAMS = None  # the folder

# Factors of a number, and a bit vector.
Z3_INPUT = """
(declare-fun a () Int)(declare-fun b () Int)
(assert (and (> a 1) (> b 1) (= (* a b) 391) (< a b)))
(check-sat)(get-model)
(push)
(declare-fun x () (_ BitVec 12))(declare-fun y () (_ BitVec 12))
(assert (= (bvmul x y) #x0b5))(assert (bvugt x #x001))(assert (bvult x y))
(check-sat)(get-model)
(pop)
(get-info :all-statistics)
"""


def run(command, folder, **more):
    overrides = OVERRIDES + (";" + MICROSOFTS if folder.name == "microsoft" else "")
    environment = {**os.environ, "WINEDEBUG": "-all", "WINEDLLOVERRIDES": overrides}
    return subprocess.run([WINE, *command], capture_output=True, timeout=60, env=environment,
                          check=False, **more)


def without_figures(output):
    """z3's output without time and memory, which differ."""
    return re.sub(rb":(time|total-time|memory|max-memory|num-allocs)\s+[0-9.]+", b"", output)


class Programs(unittest.TestCase):
    def compare(self, folder, program, *words, **more):
        alone = run([PROGRAMS / folder / program, *words], PROGRAMS / folder, **more)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        replaced = run([TOOL, "run", "--stats", "--", PROGRAMS / folder / program, *words],
                       PROGRAMS / folder, **more)
        self.assertEqual(replaced.returncode, 0, replaced.stderr)
        self.assertGreater(len(alone.stdout), 50)
        self.assertEqual(without_figures(replaced.stdout), without_figures(alone.stdout))
        # What the program has allocated and freed was Corbel's.
        footprint = re.search(rb"footprint .*most ([0-9.]+) MiB", replaced.stderr)
        self.assertIsNotNone(footprint, replaced.stderr)
        self.assertGreater(float(footprint[1]), 1)

    def test_z3(self):
        for folder in "wine", "microsoft":
            with self.subTest(folder):
                self.compare(folder, "z3.exe", "-in", input=Z3_INPUT.encode())

    def test_clang_format(self):
        for folder in "wine", "microsoft":
            with self.subTest(folder):
                self.compare(folder, "clang-format.exe", "--style=Chromium",
                             SOURCE / "src/proxy/windows/replace.cpp")


class Library(unittest.TestCase):
    def test_each_function_of_microsofts_library(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary) / "microsoft"
            shutil.copytree(PROGRAMS / "microsoft", folder,
                            ignore=shutil.ignore_patterns("*.exe"))
            for file in ("windows_replacement.exe", "corbelmalloc.dll", "corbelmalloc_proxy.dll"):
                shutil.copy(BIN / file, folder)
            done = run([folder / "windows_replacement.exe", "corbelmalloc_proxy.dll",
                        "ucrtbase.dll", "E9"], folder)  # a jump, which Wine's malloc is not
            self.assertEqual((done.stdout.split(), done.returncode), ([b"right"], 0), done.stderr)


if __name__ == "__main__":
    PROGRAMS = fetch_programs.fetch()
    if PROGRAMS is None:
        sys.exit(77)  # skipped; it has said why
    unittest.main(verbosity=2)
