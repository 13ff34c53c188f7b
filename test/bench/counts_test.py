# SPDX-License-Identifier: Apache-2.0
"""The counter of locked instructions and system calls, on a program whose counts are known."""
import platform
import subprocess
import tempfile
import unittest
from pathlib import Path

import fake  # noqa: F401  (the import path)
from lab import counts, fetch, measure

NOT_PERMITTED = 77
SOURCE = r"""
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
static long word;
static void work(long count) {
  for (long i = 0; i < count; ++i) {
#ifdef __x86_64__
    long one = 1;
    asm volatile("lock; addq %1, %0" : "+m"(word) : "r"(one));
    asm volatile("xchgq %1, %0" : "+m"(word), "+r"(one));
    asm volatile("xchgq %%rax, %%rbx; xchgq %%rax, %%rbx" ::: "rax", "rbx");
    asm volatile("mfence" ::: "memory");
    asm volatile("lfence; sfence; addq %1, %0" : "+m"(word) : "r"(one));
#endif
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, ~0u, nullptr, nullptr, 0);  // returns at once
    syscall(SYS_membarrier, 0, 0, 0);
  }
}
int main(int, char** words) {
  work(3);  // not between the marks
  for (long round = 1; round <= 2; ++round) {
    raise(SIGUSR2);
    if (*words[1] == 't') {
      std::thread(work, 10 * round).join();
    } else {
      work(10 * round);
    }
    raise(SIGUSR2);
    char line[100];
    FILE* file = fopen(getenv("BENCH_COUNTS"), "r");
    puts(fgets(line, sizeof line, file));
    fclose(file);
  }
  return 5;
}
"""


class Counter(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        source = cls.folder / "known.cpp"
        source.write_text(SOURCE)
        cls.known = cls.folder / "known"
        subprocess.run([fetch.cxx(), "-O1", "-pthread", source, "-o", cls.known], check=True)

    def counts(self, mode, how="here"):
        """The lines that the program reads: [instructions, locked, barriers, wake-ups, sleeps]."""
        done = subprocess.run([counts.program(), mode, self.folder / "counts", self.known, how],
                              capture_output=True, text=True, timeout=300, check=False)
        if done.returncode == NOT_PERMITTED:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 5, done.stderr)
        return [list(map(int, line.split())) for line in done.stdout.split("\n") if line]

    @unittest.skipUnless(platform.machine() == "x86_64", "it decodes x86-64")
    def test_locked_instructions(self):
        first, second = self.counts("locked")
        self.assertEqual(second[1] - first[1], 3 * 10)
        self.assertLess(first[1] - 3 * 10, 10)  # what the marks cost
        self.assertGreater(second[0], first[0])

    def test_calls(self):
        self.assertEqual([line[2:] for line in self.counts("calls")], [[10, 20, 10], [20, 40, 20]])

    def test_calls_of_other_threads(self):
        first, second = self.counts("calls", "thread")
        self.assertGreaterEqual(second[3] - first[3], 20)
        self.assertEqual((first[2], second[2]), (10, 20))

    def test_a_command_asks_for_it(self):
        self.assertEqual(counts.mode(["program", "threads=1", "counted=locked"]), "locked")
        self.assertIsNone(counts.mode(["program", "threads=1"]))
        with counts.counted(["program", "counted=calls"]) as command:
            self.assertEqual(command[1], "calls")
            self.assertEqual(command[-2:], ["program", "counted=calls"])

    def test_a_program_that_is_not_there(self):
        with self.assertRaises(measure.NotInstalled):
            measure.run([str(self.folder / "none"), "counted=calls"], measure.environment(), 60)


if __name__ == "__main__":
    unittest.main()
