# SPDX-License-Identifier: Apache-2.0
"""corbel profile heap: the command's own exit code, its files, and what it says when it cannot."""
import os
import signal
import subprocess
import unittest

from profiles import TYPES, Decoded
from support import CORBEL, CliTest, clean_environment, corbel

# Holds 32 MiB, and has freed 64 MiB.
HOLDER = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
#include <sys/wait.h>
static void *kept[32];
__attribute__((noinline)) static void *get(int i) {
  char *block = malloc(1 << 20);
  memset(block, i, 1 << 20);
  return block;
}
__attribute__((noinline)) void hold(void) {
  for (int i = 0; i < 32; ++i) kept[i] = get(i);
}
__attribute__((noinline)) void pass(void) {
  for (int i = 0; i < 64; ++i) free(get(i));
}
int main(int count, char **words) {
  if (count > 2 && fork() == 0) { hold(); return 0; }
  if (count > 2) wait(0);
  hold();
  pass();
  if (count > 1 && words[1][0] == 'k') raise(SIGKILL);
  if (count > 1 && words[1][0] == 'w') { write(1, "ready\n", 6); pause(); }
  return count > 1 ? atoi(words[1]) : 0;
}
"""


class Heap(CliTest):
    def setUp(self):
        super().setUp()
        self.program = self.compile("holder", HOLDER, "-g")
        self.output = self.folder / "out.pb.gz"

    def heap(self, *words, options=(), **environment):
        return subprocess.run(
            [str(CORBEL), "profile", "heap", "--every", "4K", *map(str, options), "--",
             *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=60, env=clean_environment(**environment), cwd=self.folder, check=False)

    def sums(self, path, function):
        """The values of all samples that have the function in their stack."""
        total = [0] * len(TYPES)
        for frames, values, _ in Decoded(path).samples:
            if any(frame.startswith(function + " ") for frame in frames):
                total = [a + b for a, b in zip(total, values)]
        return dict(zip((name for name, _ in TYPES), total))

    def test_what_is_held_and_what_was_freed(self):
        done = self.heap(self.program, options=["-o", self.output])
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        # Each of the blocks is 256 times the interval, so all are sampled: the figures are exact.
        megabyte = 1 << 20
        held, passed = self.sums(self.output, "hold"), self.sums(self.output, "pass")
        self.assertEqual([held[name] // megabyte for name in
                          ("inuse_space", "peak_space", "alloc_space")], [32, 32, 32])
        self.assertEqual((held["inuse_objects"], passed["inuse_objects"]), (32, 0))
        self.assertEqual((passed["alloc_space"] // megabyte, passed["inuse_space"]), (64, 0))
        self.assertTrue((self.folder / "out.html").read_text().startswith("<!doctype html>"))
        lines = done.stderr.splitlines()
        self.assertRegex(lines[1], r"^ +32\.0 MiB +.* get holder\.c:\d+$")
        for name in ("out.html", "out.pb.gz"):
            self.assertIn(name, "".join(lines[-2:]))

    def test_names_of_files(self):
        self.heap(self.program, options=["--no-html"])
        self.heap(self.program, options=["--html", "page.html"])
        self.assertEqual(sorted(p.name for p in self.folder.iterdir() if "holder." not in p.name or
                                p.name.endswith("gz")),
                         ["holder", "holder.heap.2.pb.gz", "holder.heap.pb.gz", "page.html"])

    def test_the_exit_code_is_the_commands(self):
        self.assertEqual(self.heap(self.program, 7).returncode, 7)
        self.assertTrue((self.folder / "holder.heap.pb.gz").exists())
        for words, code in ((["no-such-command"], 127), ([self.folder], 126)):
            done = self.heap(*words)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (code, 1))

    def test_a_command_that_a_signal_ends(self):
        done = self.heap(self.program, "k")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertRegex(done.stderr, "wrote no profile: signal 9")
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_signals_reach_the_command(self):
        process = subprocess.Popen(
            [str(CORBEL), "profile", "heap", "--", str(self.program), "w"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(),
            cwd=self.folder)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.terminate()
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_input_and_output_are_the_commands(self):
        done = subprocess.run([str(CORBEL), "profile", "heap", "--no-html", "--", "cat"],
                              input="text\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=60, env=clean_environment(), cwd=self.folder,
                              check=False)
        self.assertEqual((done.stdout, done.returncode), ("text\n", 0), done.stderr)

    def test_children_are_in_the_profile(self):
        done = self.heap(self.program, 0, "child", options=["-o", self.output])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.sums(self.output, "hold")["inuse_objects"], 64)
        self.assertEqual(len({labels["process"] for _, _, labels in Decoded(self.output).samples}),
                         2)

    def test_programs_that_cannot_be_profiled(self):
        done = self.heap(self.compile_static())
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (126, 1))
        self.assertIn("static binary", done.stderr)
        self.assertIn("libcorbelmalloc_proxy.a", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a file of another user")
    def test_a_setuid_program(self):
        os.chown(self.program, 65534, 65534)
        self.program.chmod(0o4755)
        done = self.heap(self.program)
        if done.returncode == 0:
            self.skipTest("setuid has no effect here")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (126, 1))
        self.assertIn("setuid", done.stderr)

    def test_a_program_with_little_memory(self):
        done = subprocess.run([str(CORBEL), "profile", "heap", "--every", "1G", "-o",
                               str(self.output), "--", "cat", "/dev/null"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60,
                              env=clean_environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--every 4K", done.stderr)
        self.assertEqual(Decoded(self.output).samples, [])

    def test_places_that_cannot_be_written(self):
        ran = self.folder / "ran"
        for options in (["-o", self.folder / "no" / "x.pb.gz"], ["-o", self.folder],
                        ["-o", self.output, "--html", self.folder]):
            done = self.heap("touch", ran, options=options)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (125, 1), options)
        comma = self.folder / "a,b"
        comma.mkdir()
        done = self.heap("touch", ran, TMPDIR=comma)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (125, 1))
        self.assertIn("TMPDIR", done.stderr)
        # The command has not run for nothing.
        self.assertFalse(ran.exists())

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_a_full_disk(self):
        done = self.heap(self.program, options=["-o", "/dev/full", "--no-html"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("No space left", done.stderr)
        self.assertEqual(self.heap(self.program, 3, options=["-o", "/dev/full"]).returncode, 3)

    def test_a_profile_that_cannot_be_written(self):
        script = self.script("gone", f"""#!/bin/sh
            file=${{CORBEL_PROFILE##*file=}}
            rm -r "${{file%/*}}"
            exec {self.program} $1""")
        done = self.heap(script, 0)
        self.assertEqual(done.returncode, 125)
        self.assertIn("set TMPDIR", done.stderr.splitlines()[-1])
        self.assertEqual(self.heap(script, 3).returncode, 3)

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a small disk")
    def test_a_full_temporary_folder(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("cannot mount here")
        try:
            with self.assertRaises(OSError), open(disk / "filler", "wb", buffering=0) as filler:
                while True:
                    filler.write(bytes(4096))
            for words in (["profile", "heap", "--no-html"], ["leaks", "--exit-code"]):
                done = subprocess.run([CORBEL, *words, "--", self.program, "0"], text=True, timeout=60,
                                      stderr=subprocess.PIPE, env=clean_environment(TMPDIR=disk),
                                      cwd=self.folder, check=False)
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn("is full (set TMPDIR", done.stderr.splitlines()[-1])
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_a_reader_that_goes_away(self):
        place = self.folder / "tmp"
        place.mkdir()
        for words in (["profile", "heap"], ["profile", "time"], ["leaks"]):
            process = subprocess.Popen([CORBEL, *words, "--", self.program, "0"], stderr=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, env=clean_environment(TMPDIR=place),
                                       cwd=self.folder)
            process.stderr.close()
            self.assertEqual(process.wait(60), 0)
            self.assertEqual(list(place.iterdir()), [])

    def test_a_link_stays_a_link(self):
        self.output.symlink_to(self.folder / "file")
        done = self.heap(self.program, options=["-o", self.output, "--no-html"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.output.is_symlink())
        self.assertNotEqual(Decoded(self.folder / "file").samples, [])

    def test_without_the_temporary_folder(self):
        self.assertEqual(self.heap(self.program, TMPDIR="/none/at/all").returncode, 0)

    def test_nothing_is_left_behind(self):
        place = self.folder / "tmp"
        place.mkdir()
        for word in ("0", "k"):
            self.heap(self.program, word, TMPDIR=place)
            self.assertEqual(list(place.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
