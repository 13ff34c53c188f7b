# SPDX-License-Identifier: Apache-2.0
"""The options of ./dev bench: mistakes name the allowed values; and a whole run of the command."""
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import fake
from lab import catalogue, compare, paths, peers, results, summary

RUN = fake.ROOT / "bench" / "run"
# A kernel as a user would add it: a program.py. It takes no time, and its figures are made up.
KERNEL = '''
import json, os, sys, time
if sys.argv[1:] == ["--describe"]:
    print(json.dumps({"name": "NAME", "title": "Made up", "what": "One. Two.", "group": "program",
                      "figure": "", "metric": "time", "unit": "s", "higher_is_better": False,
                      "plot": "bars", "threads": [1], "variants": [], "allocators": [],
                      "cases": [{"label": case, "quick": "n=1", "normal": "n=2", "full": "n=3"}
                                for case in ("", "second")]}))
else:
    time.sleep(SLEEP)
    slow = bool(os.environ.get("BENCH_PRELOAD"))
    print(json.dumps({"value": 1.3 if slow else 1.0, "seconds": 1.0, "checksum": "ab",
                      "peak_rss_kib": 5000, "peak_vm_kib": 9000, "minor_faults": 1,
                      "major_faults": 0, "extra": {"n": 1}, "series": {"curve": [1, 2]}}))
'''


def bench(*words, timeout=200):
    return subprocess.run([sys.executable, "-B", str(RUN), *map(str, words)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=fake.environment(),
                          timeout=timeout, check=False)


class FolderTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="corbel-bench-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def kernel(self, name="made_up", sleep=0.0):
        (self.folder / "kernels" / name).mkdir(parents=True)
        (self.folder / "kernels" / name / "program.py").write_text(
            KERNEL.replace("NAME", name).replace("SLEEP", str(sleep)))
        return self.folder / "kernels"


class Mistakes(FolderTest):
    def refused(self, *words):
        done = bench(*words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_each_names_what_is_allowed(self):
        self.assertIn("'mimaloc3'; 'mimalloc3'? Known are: ",
                      self.refused("--peers", "glibc,mimaloc3").replace("peer ", ""))
        self.assertIn("is not a regular expression", self.refused("--only", "a("))
        self.assertIn("whole numbers from 1 to 4096", self.refused("--threads", "1,x"))
        self.assertIn("whole numbers from 1 to 4096", self.refused("--threads", "0"))
        self.assertIn("different whole numbers", self.refused("--threads", "2,2"))
        self.assertIn("whole number from 1 to 1000", self.refused("--rounds", "0"))
        self.assertIn("not allowed with", self.refused("--quick", "--full"))
        self.assertIn("names are missing", self.refused("--peers", ","))
        self.assertIn("unrecognized arguments", self.refused("--fast"))

    def test_folders(self):
        self.assertIn("holds no run", self.refused("--resume", self.folder))
        self.assertIn("takes no other option", self.refused("--resume", self.folder, "--quick"))
        self.assertIn("takes no other option", self.refused("--resume", self.folder, "--outside"))
        self.assertIn("holds no run", self.refused("page", self.folder))
        self.assertIn("holds no run", self.refused("compare", self.folder, self.folder))
        self.refused("compare", self.folder)
        self.assertIn("Known are: ", self.refused("peers", "nobody"))

    def test_nothing_matches(self):
        self.assertIn("no row's name matches", self.refused(
            "--kernels", self.kernel(), "--peers", "glibc", "--only", "nothing-like-this"))
        self.assertIn("--list --outside", self.refused(
            "--kernels", self.folder / "kernels", "--peers", "glibc", "--only", "made_up",
            "--outside"))


@unittest.skipUnless(peers.CORBEL.joinpath("libcorbelmalloc_proxy.so.1").is_file(),
                     "no release build of Corbel is there")
class Command(FolderTest):
    def test_a_run_through_the_command(self):
        folder = self.folder / "run"
        done = bench("--quick", "--kernels", self.kernel(), "--peers", "glibc", "--output", folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("program", done.stdout)
        self.assertIn("better", done.stdout)
        self.assertIn(str(folder), done.stdout)
        run = results.load(folder)
        self.assertTrue(run.meta["finished"])
        self.assertEqual([row["id"] for row in run.meta["rows"]],
                         ["made_up/-/t1", "made_up/second/t1"])
        self.assertEqual(run.meta["rows"][0]["contestants"], ["corbel", "glibc"])
        self.assertEqual(run.kept("made_up/-/t1", "corbel"), [1.3] * 3)
        self.assertEqual(run.kept("made_up/-/t1", "glibc"), [1.0] * 3)
        self.assertEqual(summary.against_best(run, run.meta["rows"][0])[1].verdict, "higher")
        for fact in ("processor", "cores", "usable_cores", "memory_bytes", "kernel",
                     "distribution", "c_library", "compiler", "transparent_huge_pages",
                     "load_average"):
            self.assertIn(fact, run.meta["machine"])
        self.assertTrue((folder / results.TABLE).is_file())
        again = bench("--quick", "--kernels", self.folder / "kernels", "--peers", "glibc",
                      "--output", folder)
        self.assertEqual(again.returncode, 2)
        self.assertIn("--resume", again.stderr)

    def test_a_real_kernel_and_the_control(self):
        """The figures depend on this machine; the files must all be there."""
        # A folder with only the control's kernel: kernels_test.py compiles them all.
        folder, kernels = self.folder / "run", self.folder / "kernels"
        shutil.copytree(paths.KERNELS / catalogue.CONTROL_KERNEL,
                        kernels / catalogue.CONTROL_KERNEL)
        done = bench("--quick", "--kernels", kernels, "--rounds", "1", "--only", "^fast16/-/t1$",
                     "--peers", "glibc", "--output", folder, timeout=1500)
        # On a busy machine such a short run rightly says that it cannot be trusted.
        self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)
        self.assertIn("Control: ", done.stdout)
        run = results.load(folder)
        self.assertEqual([row["id"] for row in run.meta["rows"]], ["control/-/t1", "fast16/-/t1"])
        self.assertEqual({one: len(run.kept("control/-/t1", one))
                          for one in run.meta["rows"][0]["contestants"]},
                         {"corbel": 3, "corbel-copy": 3, "corbel-slowed": 3})
        for one in ("corbel", "glibc"):
            value, = run.kept("fast16/-/t1", one)
            self.assertGreater(value, 0)
            self.assertGreater(run.kept("fast16/-/t1", one, "peak_rss_kib")[0], 500)
        self.assertEqual(run.failures(), [])

    def test_stopped_and_resumed(self):
        folder = self.folder / "run"
        kernels = self.kernel(sleep=0.2)
        process = subprocess.Popen(
            [sys.executable, "-B", str(RUN), "--quick", "--kernels", str(kernels), "--peers",
             "glibc", "--output", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=fake.environment())
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (
                (folder / results.RUNS).exists() and (folder / results.RUNS).stat().st_size):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("--resume", out)
        self.assertTrue((folder / results.TABLE).is_file())
        before = results.load(folder).runs
        done = bench("--resume", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = results.load(folder)
        self.assertTrue(found.meta["finished"])
        self.assertEqual(found.runs[:len(before)], before)
        self.assertEqual(sum(run["kept"] for run in found.runs), 12)
        (kernels / "made_up" / "program.py").write_text(
            (kernels / "made_up" / "program.py").read_text() + "# another program now\n")
        changed = bench("--resume", folder)
        self.assertEqual(changed.returncode, 2)
        self.assertIn("changed since: ", changed.stderr)
        self.assertIn("program.py", changed.stderr)

    def test_list_measures_nothing(self):
        done = bench("--list", "--kernels", self.kernel(), "--peers", "glibc")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("made_up/second/t1", done.stdout)
        self.assertIn("2 rows, 4 pairs", done.stdout)

    def test_a_kernel_that_fails_on_corbel_is_no_success(self):
        kernels = self.kernel()
        file = kernels / "made_up" / "program.py"
        file.write_text(file.read_text().replace('"checksum": "ab"',
                                                 '"checksum": "bad" if slow else "ab"'))
        done = bench("--quick", "--kernels", kernels, "--peers", "glibc", "--output",
                     self.folder / "run")
        self.assertEqual(done.returncode, 1)
        self.assertIn("its checksum is bad, glibc's is ab", done.stdout)


class Compare(FolderTest):
    def run_with(self, name, speeds, **more):
        rows = [fake.row(f"r{i}", ["corbel", "glibc"]) for i in range(4)]
        found, _ = fake.run(self.folder / name, rows, fake.Machine(speeds, seed=name), rounds=5,
                            **more)
        return found

    def test_a_change_is_found_and_the_rest_is_not(self):
        old, new = self.run_with("a", {}), self.run_with("b", {"corbel": 0.8})
        found = compare.changes(old, new)
        changed = {(c.row, c.contestant, c.metric) for c in found if c.changed}
        self.assertEqual(changed, {(f"r{i}", "corbel", "value") for i in range(4)})
        self.assertTrue(all(c.good for c in found if c.changed))
        self.assertEqual(len(found), 16)

    def test_what_the_machine_did_is_no_change(self):
        old, new = self.run_with("a", {}), self.run_with("b", {"corbel": 1.25, "glibc": 1.3})
        self.assertFalse([c for c in compare.changes(old, new)
                          if c.changed and c.contestant == "corbel"])

    def test_memory_and_rows_that_came_and_went(self):
        old, new = self.run_with("a", {}), self.run_with("b", {})
        for run in new.runs:
            if run["contestant"] == "corbel":
                run["peak_rss_kib"] = 9000
            if run["row"] == "r3":
                run["failed"] = "ended by SIGSEGV"
        new.meta["rows"][2]["id"] = "r9"
        for run in new.runs:
            run["row"] = run["row"].replace("r2", "r9")
        new.reindex()
        words = {(c.row, c.contestant, c.metric): c.verdict for c in compare.changes(old, new)}
        self.assertEqual(words["r0", "corbel", "peak_rss_kib"], "higher")
        self.assertEqual(words["r2", "glibc", "value"], "gone")
        self.assertEqual(words["r9", "glibc", "value"], "new")
        self.assertEqual(words["r3", "corbel", "value"], "failed")

    def test_the_command(self):
        self.run_with("a", {})
        new = self.run_with("b", {"corbel": 1.4})
        meta = new.meta
        meta["machine"]["processor"] = "Another"
        results.save_plan(new.folder, meta)
        page = self.folder / "compared.html"
        done = bench("compare", self.folder / "a", self.folder / "b", "--html", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("The machines differ: processor", "r0", "more", "4 of 16"):
            self.assertIn(text, done.stdout)
        self.assertIn("prefers-color-scheme:dark", page.read_text())

    def test_other_sizes_are_said(self):
        self.run_with("a", {})
        self.run_with("b", {}, scale="normal")
        done = bench("compare", self.folder / "a", self.folder / "b")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The sizes differ: quick against normal", done.stdout)


if __name__ == "__main__":
    unittest.main()
