# SPDX-License-Identifier: Apache-2.0
"""Usage: run_test.py SUBJECT SANITIZER"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUNNER = Path(__file__).with_name("run.py")
SUBJECT, SANITIZER = sys.argv[1:3]


class Runner(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="corbel-runner-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def run_it(self, *words, command=(SUBJECT,)):
        done = subprocess.run([sys.executable, "-B", str(RUNNER), *words, "--", *command],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
        return done.returncode, done.stdout

    def test_each_is_counted_and_named(self):
        code, output = self.run_it("--gtest", "--seconds", "4", "--without", "Fault.*")
        self.assertEqual(code, 1)
        self.assertTrue(output.startswith("tests: 2 passed, 3 failed, 1 skipped\n"), output)
        self.assertIn("skipped: Subject.D_IsSkipped: nothing to do\n", output)
        self.assertIn("failed: Subject.B_Fails\n", output)
        self.assertIn("as it should", output)
        self.assertIn("failed: Subject.C_Crashes\nended by SIGABRT\nbefore the crash", output)
        self.assertIn("failed: Subject.E_Hangs\ntook longer than 4.0 s", output)

    def test_each_in_a_process_of_its_own(self):
        code, output = self.run_it("--gtest", "--each", "--seconds", "4", "--without", "Fault.*")
        self.assertEqual(code, 1)
        self.assertTrue(output.startswith("tests: 2 passed, 3 failed, 1 skipped\n"), output)
        for name in ("B_Fails", "C_Crashes", "E_Hangs"):
            self.assertIn(f"failed: Subject.{name}\n", output)

    def test_exit_codes(self):
        gtest = ("--gtest", "--without")
        self.assertEqual(self.run_it(*gtest, "Fault.*:*.B_*:*.C_*:*.E_*")[0], 0)
        self.assertEqual(self.run_it(*gtest, "Fault.*:*es:*Fails:*Hangs:*AfterAll")[0], 77)
        self.assertEqual(self.run_it(command=("sh", "-c", "exit 3")),
                         (3, "the process ended with 3\n"))
        self.assertEqual(self.run_it(command=("sh", "-c", "exit 77"))[0], 77)

    def test_what_a_program_in_wine_has_started_ends_with_it(self):
        start = "setsid sleep 600 & echo orphan $!;"
        for rest, wanted in (("exit 3", 3), ("sleep 600", 1)):
            code, output = self.run_it("--wine", "--seconds", "1",
                                       command=("sh", "-c", f"{start} {rest}"))
            self.assertEqual(code, wanted, output)
            self.assertEqual("took longer than 1.0 s" in output, wanted == 1, output)
            orphan = int(output.split("orphan ")[1].split()[0])
            self.assertFalse(Path(f"/proc/{orphan}").exists())

    @unittest.skipUnless(SANITIZER, "no sanitizer")
    def test_a_report_survives_a_redirected_stderr(self):
        code, output = self.run_it("--gtest", "--without", "Subject.*", "--name", "fault",
                                   "--reports", self.folder)
        self.assertEqual(code, 1)
        self.assertIn("ERROR: AddressSanitizer: heap-use-after-free" if "address" in SANITIZER
                      else "WARNING: ThreadSanitizer: data race", output)
        self.assertIn("subject.cpp", output)

    @unittest.skipUnless(SANITIZER, "no sanitizer")
    def test_a_report_of_a_child_fails_the_test(self):
        child = f"{SUBJECT} --gtest_filter=Fault.* >/dev/null 2>&1; exit 0"
        code, output = self.run_it("--name", "child", "--reports", self.folder,
                                   command=("sh", "-c", child))
        self.assertEqual(code, 1)
        self.assertIn("child: a sanitizer has reported the above", output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
