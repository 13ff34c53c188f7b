# SPDX-License-Identifier: Apache-2.0
"""corbel profile heap --pid: the profile of a running process, which goes on as it was."""
import signal
import subprocess
import unittest

from profiles import Decoded
from support import CORBEL, LIBRARY, CliTest, clean_environment, corbel

# Holds another MiB for each byte that it reads, and answers with it.
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[1000];
__attribute__((noinline)) void hold(int i) { memset(kept[i] = malloc(1 << 20), 1, 1 << 20); }
int main(void) {
  char c;
  for (int i = 0; i < 1000 && read(0, &c, 1) == 1; ++i) {
    hold(i);
    write(1, &c, 1);
  }
  return kept[0] != 0 ? 7 : 1;
}
"""


class Pid(CliTest):
    def setUp(self):
        super().setUp()
        self.program = self.compile("holder", PROGRAM, "-g")
        self.output = self.folder / "out.pb.gz"

    def start(self, **changes):
        self.process = subprocess.Popen(
            [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=clean_environment(LD_PRELOAD=LIBRARY, **changes))
        self.addCleanup(self.end)
        self.hold(1)
        return self.process.pid

    def hold(self, count):
        for _ in range(count):
            self.process.stdin.write(b"x")
            self.process.stdin.flush()
            self.assertEqual(self.process.stdout.read(1), b"x")

    def end(self):
        self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        return code

    def held(self):
        """The MiB in use that hold() has requested."""
        return sum(values[3] for frames, values, _ in Decoded(self.output).samples
                   if any(frame.startswith("hold ") for frame in frames)) >> 20

    def sample(self, pid, count, *options):
        """Lets the process hold more while it is sampled, and ends that; returns what is printed."""
        with subprocess.Popen([CORBEL, "profile", "heap", "--every", "4K", *options, "-o",
                               self.output, "--pid", str(pid)], stderr=subprocess.PIPE, text=True,
                              env=clean_environment()) as profile:
            self.assertRegex(profile.stderr.readline(), r"^corbel: sampling process \d+: press Ctrl-C")
            self.hold(count)
            profile.send_signal(signal.SIGINT)
            errors = profile.communicate()[1]
        self.assertEqual(profile.returncode, 0, errors)
        return errors

    def test_until_a_signal(self):
        pid = self.start()
        errors = self.sample(pid, 5)
        self.assertRegex(errors, r"blocks that process \d+ allocated while it was sampled: [\d.]+ s\n")
        self.assertRegex(errors, r"hold holder.c:\d+\n")
        self.assertEqual(self.held(), 5)
        self.assertIn("holder (process", (self.folder / "out.html").read_text())
        # It samples no more, until it is told to.
        self.hold(3)
        errors = self.sample(pid, 2, "--no-html")
        self.assertIn(" s, and once before\n", errors)
        self.assertEqual(self.held(), 7)
        self.assertEqual(self.end(), 7)

    def test_a_hangup_that_is_ignored(self):
        pid = self.start()
        with subprocess.Popen(["nohup", CORBEL, "profile", "heap", "--every", "4K", "--no-html", "-o",
                               self.output, "--pid", str(pid)], stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              env=clean_environment()) as profile:
            self.assertIn("press Ctrl-C", profile.stderr.readline())
            profile.send_signal(signal.SIGHUP)
            self.hold(3)
            profile.send_signal(signal.SIGINT)
            profile.communicate()
        self.assertEqual((profile.returncode, self.held()), (0, 3))

    def test_for_a_time(self):
        pid = self.start()
        done = corbel("profile", "heap", "--duration", "0.1", "-o", self.output, "--pid", pid)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("no samples", done.stderr)

    def test_one_that_is_profiled_from_the_start(self):
        pid = self.start(CORBEL_PROFILE=f"heap,every=4K,file={self.folder}/own.pb.gz")
        self.hold(3)
        done = corbel("profile", "heap", "--every", "1K", "-o", self.output, "--pid", pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("is being profiled already: --every is ignored", done.stderr)
        self.assertEqual(self.held(), 4)
        self.hold(2)
        self.assertEqual(self.end(), 7)
        self.output = self.folder / "own.pb.gz"
        self.assertEqual(sum(values[3] for _, values, _ in Decoded(self.output).samples) >> 20, 6)

    def test_beside_guards(self):
        self.sample(self.start(CORBEL_CHECK="guards"), 4)
        self.assertEqual(self.held(), 4)

    def test_wrong_use(self):
        for words in (("--pid", "1", "--", "true"), ("--duration", "1", "--", "true"),
                      ("--pid", "1", "--duration", "0")):
            done = corbel("profile", "heap", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()
