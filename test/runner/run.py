# SPDX-License-Identifier: Apache-2.0
"""Runs one test: a GoogleTest program, all of its tests in one process, or any other command.

    run.py [--gtest [--each] [--without PATTERNS]] [--seconds N] [--wine]
           [--reports FOLDER --name NAME] -- COMMAND...

--gtest    The first line printed is "tests: N passed, N failed, N skipped", which ./dev test adds up;
           then each skipped test with its reason, each failed one with its output. A test that
           crashes, or takes longer than --seconds, is named as failed, and the tests after it run
           in a new process. --without leaves tests out, in the words of --gtest_filter. With --each
           every test has a process of its own.
--reports  Sanitizers write their reports to files of this folder, so that no test can lose one by
           redirecting its stderr. The text is printed at the end, and a report fails the test even
           if the process that made it, a child perhaps, ended well.
--wine     The command is Wine with a program for Windows. What the test has started and left
           running is ended with it: to Linux, a program that another starts in Wine is an orphan.
           --seconds holds for any other command, too.

The exit code is the command's; 1 if a test or a report fails it, 77 if all tests were skipped.
"""
import argparse
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SKIP = 77
MAX_LINES = 400  # of the output of one test
SANITIZERS = ("ASAN", "TSAN", "UBSAN")
# A file may also hold what is no finding, as that an allocation was refused.
FINDING = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|ThreadSanitizer: reported|"
                     r"runtime error:|SUMMARY: |CHECK failed")
RUN = re.compile(rb"\[ RUN      \] (\S+)")
END = re.compile(rb"\[ +(?:OK|FAILED|SKIPPED) +\] \S+ \(\d+ ms\)|\[  FAILED  \] \S+, where")


class Reports:
    """The files that sanitizers write while the test runs."""

    def __init__(self, folder, name):
        self.folder, self.name = Path(folder), re.sub(r"[^A-Za-z0-9._-]", "_", name)
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self._files():
            old.unlink()

    def _files(self):
        prefixes = tuple(f"{self.name}.{kind.lower()}." for kind in SANITIZERS)
        return sorted(path for path in self.folder.iterdir() if path.name.startswith(prefixes))

    def environment(self):
        # One file for each runtime: gcc links several, and each begins its file anew.
        made = {}
        for kind in SANITIZERS:
            given = os.environ.get(f"{kind}_OPTIONS", "")
            path = self.folder / f"{self.name}.{kind.lower()}"
            made[f"{kind}_OPTIONS"] = f"{given}:log_path='{path}'".lstrip(":")
        return made

    def show(self):
        """Prints those with a finding and returns whether there are any. They stay until the test
        runs again; the others are removed."""
        found = False
        for path in self._files():
            report = path.read_text(errors="replace").rstrip()
            if FINDING.search(report):
                found = True
                print(f"---- {path}\n{report}")
            else:
                path.unlink()
        return found


class Family:
    """The descendants of this process, which are programs in Wine. Orphans among them become its own children."""

    PR_SET_CHILD_SUBREAPER = 36

    def __init__(self):
        if ctypes.CDLL(None, use_errno=True).prctl(self.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")

    @staticmethod
    def _members():
        children = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = path.read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue  # it has ended
            if state != "Z":
                children.setdefault(int(parent), []).append(int(path.parent.name))
        found = [os.getpid()]
        for pid in found:
            found += children.get(pid, [])
        return found[1:]

    def end(self):
        """Ends them all. Each may start others meanwhile."""
        while members := self._members():
            for pid in members:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)

    def bury(self):
        """Ends them all, when the test's own process has been waited for."""
        self.end()
        try:
            while os.waitpid(-1, 0):
                pass
        except ChildProcessError:
            pass


class Program:
    """A GoogleTest program, run as often as it takes to run each of its tests once."""

    def __init__(self, command, seconds, without, environment, each=False, family=None):
        self.command, self.seconds, self.environment = command, seconds, environment
        self.each, self.family = each, family
        self.without = without.split(":") if without else []
        self.passed, self.failed, self.skipped, self.slow = [], {}, {}, []

    def run(self):
        for chosen in self._names() if self.each else ["*"]:
            self._run(chosen)

    def _names(self):
        listed = subprocess.run([*self.command, "--gtest_list_tests"], env=self.environment,
                                stdout=subprocess.PIPE, text=True, check=True).stdout
        suite = ""
        for line in listed.splitlines():
            name = line.split("#")[0].rstrip()
            if name.startswith("  "):
                yield suite + name.strip()
            elif name.endswith("."):
                suite = name

    def _run(self, chosen):
        done = list(self.without)
        while True:
            with tempfile.TemporaryDirectory(prefix="corbel-gtest-") as folder:
                results = Path(folder) / "results.json"
                code, late, sections, rest = self._once(results, chosen, done)
                complete = results.exists() and self._read(results, sections)
            if complete:
                if code and not self.failed:
                    self.failed["(the end of the process)"] = f"{ending(code)}\n{text(rest)}"
                return
            # It crashed, or hung, in the last test that began.
            if not sections:
                self.failed["(the start of the process)"] = f"{ending(code)}\n{text(rest)}"
                return
            for name, output, ended in sections[:-1]:
                self._judge(name, output, ended)
            name, output, ended = sections[-1]
            why = f"took longer than {self.seconds} s" if late else ending(code)
            if ended:  # between two tests, in a destructor perhaps
                self._judge(name, output, ended)
                self.failed[f"(after {name})"] = f"{why}\n{text(rest)}"
            else:
                self.failed[name] = f"{why}\n{text(output)}"
            if name in done:
                return
            done += [section[0] for section in sections]

    def _once(self, results, chosen, without):
        """(exit code, whether a test took too long, [[test, its output, its last line]], output of
        no test)"""
        drive = "Z:" if self.family else ""  # Wine's name of the root
        command = [*self.command, f"--gtest_output=json:{drive}{results}", "--gtest_color=no"]
        command.append(f"--gtest_filter={chosen}-{':'.join(without)}")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, env=self.environment)
        late = threading.Event()

        def end():
            late.set()
            if self.family:
                self.family.end()
                return
            process.send_signal(signal.SIGABRT)  # a core, or a sanitizer's stacks
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

        sections, rest, current, watch = [], [], None, None
        for line in process.stdout:
            if begun := RUN.search(line):
                current = [begun[1].decode(), [], b""]
                sections.append(current)
                if watch:
                    watch.cancel()
                watch = threading.Timer(self.seconds, end)
                watch.daemon = True
                watch.start()
            elif current and END.search(line):
                current[2], current = line, None
            else:
                (rest if current is None else current[1]).append(line)
        code = process.wait()
        if watch:
            watch.cancel()
        if self.family:
            self.family.bury()
        return code, late.is_set(), sections, rest

    def _read(self, results, sections):
        """Takes gtest's own results; returns whether they are whole."""
        outputs = {name: output for name, output, _ in sections}
        try:
            suites = json.loads(results.read_text()).get("testsuites", [])
        except ValueError:
            return False
        for suite in suites:
            for test in suite["testsuite"]:
                if test["status"] != "RUN":
                    continue
                name = f"{suite['name']}.{test['name']}"
                seconds = float(test["time"].rstrip("s"))
                if seconds >= 1:
                    self.slow.append((seconds, name))
                if "failures" in test:
                    self.failed[name] = text(outputs.get(name, []))
                elif test["result"] == "SKIPPED":
                    self.skipped[name] = text(outputs.get(name, []))
                else:
                    self.passed.append(name)
        return True

    def _judge(self, name, output, last):
        """By what was printed: a process that crashed left no results."""
        if b"FAILED" in last:
            self.failed[name] = text(output)
        elif b"SKIPPED" in last:
            self.skipped[name] = text(output)
        else:
            self.passed.append(name)

    def show(self):
        print(f"tests: {len(self.passed)} passed, {len(self.failed)} failed, "
              f"{len(self.skipped)} skipped")
        for name, why in self.skipped.items():
            print(f"skipped: {name}: {reason(why)}")
        for name, output in self.failed.items():
            print(f"failed: {name}\n{output}")
        for seconds, name in sorted(self.slow, reverse=True):
            print(f"{seconds:8.1f} s  {name}")


def text(lines):
    left_out = len(lines) - MAX_LINES
    if left_out > 0:
        half = MAX_LINES // 2
        lines = [*lines[:half], b"... %d lines ...\n" % left_out, *lines[-half:]]
    return b"".join(lines).decode("utf8", "replace").replace("\r\n", "\n").rstrip()


def reason(output):
    """Of a skip: what the test said, without the place in the source."""
    lines = [line for line in output.splitlines()
             if line.strip() and not re.match(r"\S+:\d+: Skipped$", line)]
    return " ".join(lines)


def ending(code):
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"the process ended with {code}"


def run_other(words, environment):
    """Of a command that is no GoogleTest program: its exit code."""
    family, seconds = None, None
    if words.wine:
        family, seconds = Family(), words.seconds
    try:
        code = subprocess.run(words.command, env=environment, timeout=seconds,
                              check=False).returncode
        if code not in (0, SKIP):
            print(ending(code))
        if code < 0:
            code = 1
    except subprocess.TimeoutExpired:
        print(f"took longer than {seconds} s")
        code = 1
    if family:
        family.bury()
    return code


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gtest", action="store_true")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--wine", action="store_true")
    parser.add_argument("--without", default="")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--reports")
    parser.add_argument("--name", default="test")
    parser.add_argument("command", nargs="+")
    words = parser.parse_args()
    environment, reports = dict(os.environ), None
    if words.reports:
        reports = Reports(words.reports, words.name)
        environment.update(reports.environment())
    if words.gtest:
        program = Program(words.command, words.seconds, words.without, environment,
                          words.each, Family() if words.wine else None)
        program.run()
        program.show()
        code = 1 if program.failed else 0 if program.passed else SKIP
    else:
        code = run_other(words, environment)
    sys.stdout.flush()
    if reports and reports.show():
        print(f"{words.name}: a sanitizer has reported the above")
        code = code if code not in (0, SKIP) else 1
    return code


if __name__ == "__main__":
    sys.exit(main())
