# SPDX-License-Identifier: Apache-2.0
"""Bad input for all commands: one line on stderr that says what to do, a sensible exit code, and no
file left behind."""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import CORBEL, LIBRARY, CliTest, clean_environment, corbel

PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
  for (int i = 0; i < 50; ++i) memset(malloc(10000), 1, 10000);
  char c;
  while (count > 1 && read(0, &c, 1) == 1) write(1, &c, 1);
  return 0;
}
"""


class BadInput(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="corbel-cli-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.shared.chmod(0o755)

    def setUp(self):
        super().setUp()
        self.work = self.folder / "work"
        self.temporary = self.folder / "temporary"
        for folder in (self.work, self.temporary):
            folder.mkdir()
            folder.chmod(0o777)
        self.folder.chmod(0o755)

    def program(self):
        path = self.shared / "program"
        if not path.exists():
            shutil.copy(self.compile("program", PROGRAM, "-g"), path)
        return path

    def refused(self, words, code, part, prefix=(), **environment):
        """The command says in one line what is wrong, and leaves nothing."""
        with self.subTest(" ".join(map(str, words))):
            done = subprocess.run(
                [*prefix, str(CORBEL), *map(str, words)], cwd=self.work, text=True, check=False,
                capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                env=clean_environment(TMPDIR=self.temporary, **environment))
            lines = [line for line in done.stderr.splitlines() if line.startswith("corbel: ")]
            self.assertEqual((done.returncode, len(lines)), (code, 1), done.stderr)
            self.assertIn(part, lines[0])
            self.assertEqual(list(self.work.iterdir()) + list(self.temporary.iterdir()), [])

    COMMANDS = ("run", "compare -n 1", "profile heap", "leaks", "top --once")

    def test_programs(self):
        program = self.program().read_bytes()
        files = {"truncated": program[:100], "narrow": program[:4] + b"\1" + program[5:18] +
                 b"\3\0" + program[20:], "closed": program, "script": b"#!/none/interpreter\n"}
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
            (self.folder / name).chmod(0o644 if name == "closed" else 0o755)
        everywhere = [(self.folder / "nothing", 127, "no such file"),
                      (self.folder, 126, "is a directory"),
                      (self.folder / "closed", 126, "not executable"),
                      (self.folder / "script", 126, "/none/interpreter: no such file (the "
                                                    "interpreter of")]
        for path, code, part in everywhere:
            for command in (*self.COMMANDS, "trace"):
                self.refused([*command.split(), "--", path], code, part)
            self.refused(["check", "--", path], 2, part)
        for path, part, what in [(self.folder / "truncated", "truncated", "build or install it"),
                                 (self.folder / "narrow", "wrong architecture", "build Corbel for"),
                                 (self.static(), "static binary", "libcorbelmalloc_proxy.a")]:
            for command in self.COMMANDS:
                self.refused([*command.split(), "--", path], 126, part)
            for command in ("profile heap", "leaks", "top --once"):
                self.refused([*command.split(), "--", path], 126, what)  # there is no --force

    def static(self):
        path = self.shared / "static"
        if not path.exists():
            shutil.copy(self.compile_static(), path)
        return path

    def test_output(self):
        program = self.program()
        full, none = "No space left on device", "No such file or directory"
        for words, part in [(["profile", "heap", "--no-html", "-o", "/dev/full"], full),
                            (["profile", "heap", "-o", "/none/x"], none),
                            (["leaks", "--json", "/none/x"], none)]:
            self.refused([*words, "--", program], 125, part)
        done = corbel("leaks", "--json", "/dev/full", "--", program)  # after what it prints
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr.splitlines()[-1], f"cannot write /dev/full: {full}")
        with open("/dev/full", "w", encoding="ascii") as device:
            for words in (["check", "--", program], ["top", "--once"], ["top"], ["--help"]):
                with self.subTest(words):
                    done = subprocess.run([str(CORBEL), *map(str, words)], stdout=device, text=True,
                                          stderr=subprocess.PIPE, env=clean_environment(),
                                          check=False, timeout=60)
                    self.assertEqual(done.returncode, 125)
                    self.assertEqual(len(done.stderr.splitlines()), 1)
                    self.assertIn("cannot write to ", done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs root, to mount a small disk and to be another user")
    def test_full_disk(self):
        program = self.program()
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", disk],
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to mount")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        (disk / "fill").write_bytes(bytes(8192))
        self.refused(["profile", "heap", "--no-html", "-o", disk / "p", "--", program], 125,
                     "No space left on device")
        self.assertEqual([each.name for each in disk.iterdir()], ["fill"])

    def test_files(self):
        good = self.shared / "good.pb.gz"
        if not good.exists():
            corbel("profile", "heap", "--every", "1K", "--no-html", "-o", good, "--",
                   self.program())
        files = {"nothing": (None, "cannot read"),
                 "cut": (good.read_bytes()[:300], "is truncated"),
                 "damaged": (b"\x1f\x8bxx", "is damaged"),
                 "foreign": (PROGRAM.encode(), "is not a profile"),
                 "program": (self.program().read_bytes(), "is not a profile"),
                 "empty": (b"", "is empty")}
        for name, (content, part) in files.items():
            path = self.folder / name
            if content is not None:
                path.write_bytes(content)
            self.refused(["profile", "show", path], 1, part)
            self.refused(["profile", "diff", good, path], 1, part)
            self.refused(["leaks", "--read", path], 125,
                         "cannot read" if content is None else "is not a leak report")
        self.refused(["profile", "show", "--html", "/dev/full", good], 1, "No space left on device")
        self.refused(["profile", "show", "-o", "/none/x", good], 1, "No such file or directory")

    def start(self, preload=True, **changes):
        if preload:
            changes["LD_PRELOAD"] = LIBRARY
        process = subprocess.Popen([self.program(), "wait"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=clean_environment(**changes))
        self.addCleanup(self.stop, process)
        process.stdin.write(b"x")
        process.stdin.flush()
        process.stdout.read(1)
        return process

    ASKING = (("top --once", 1), ("profile heap --duration 0.1", 125), ("leaks", 125))

    def test_processes(self):
        ended = self.start()
        ended.kill()
        ended.wait()
        stopped = self.start()
        os.kill(stopped.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
        closed = self.start(CORBEL_CONTROL=0)
        foreign = self.start(preload=False)
        for process, part in ((ended, "there is no process"), (stopped, "kill -CONT"),
                              (closed, "CORBEL_CONTROL=0"), (foreign, "corbel run -- CMD")):
            for command, code in self.ASKING:
                self.refused([*command.split(), "--pid", process.pid], code, part)
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            return
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*other, CORBEL, "--version"], capture_output=True,
                          check=False).returncode != 0:
            return  # the other user may not run the build
        for command, code in self.ASKING:
            self.refused([*command.split(), "--pid", self.start().pid], code, "belongs to root",
                         prefix=other)

    def test_a_process_that_ends_or_stops_meanwhile(self):
        for signal_number, part in ((signal.SIGKILL, "ended before its profile was taken"),
                                    (signal.SIGSTOP, "kill -CONT")):
            process = self.start()
            with self.subTest(part), subprocess.Popen(
                    [CORBEL, "profile", "heap", "--pid", str(process.pid)], stderr=subprocess.PIPE,
                    text=True, cwd=self.work, env=clean_environment()) as asking:
                self.assertIn("press Ctrl-C", asking.stderr.readline())
                os.kill(process.pid, signal_number)
                if signal_number == signal.SIGKILL:
                    process.wait()
                else:
                    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
                    asking.send_signal(signal.SIGINT)
                errors = asking.communicate()[1]
                self.assertEqual((asking.returncode, errors.count("\n")), (125, 1), errors)
                self.assertIn(part, errors)
                self.assertEqual(list(self.work.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
