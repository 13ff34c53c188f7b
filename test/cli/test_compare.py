# SPDX-License-Identifier: Apache-2.0
"""corbel compare: runs, agreement, figures, and the JSON file."""
import json
import os
import shutil
import sys
import unittest

from support import LIBRARY, CliTest, clean_environment, corbel

METRICS = {"wall_seconds", "cpu_seconds", "user_seconds", "system_seconds", "peak_rss_bytes",
           "minor_faults", "major_faults"}

# Prints the program's own VmHWM, in KiB.
OWN_PEAK = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  size_t size = (size_t)atoi(argv[1]) << 20;
  char text[8192], *line;
  if (size) {
    char *block = malloc(size);
    memset(block, 1, size);
    __asm__ volatile("" : : "r"(block) : "memory");
    free(block);
  }
  int file = open("/proc/self/status", O_RDONLY);
  text[read(file, text, sizeof text - 1)] = 0;
  line = strstr(text, "VmHWM:");
  write(2, line, strchr(line, '\n') - line + 1);
  return 0;
}
"""


class Compare(CliTest):
    def compare(self, *words, **keywords):
        """The JSON of a comparison, and the finished process."""
        file = self.folder / "result.json"
        done = corbel("compare", "-q", "--json", file, *words, **keywords)
        return (json.loads(file.read_text()) if file.exists() else None), done

    def test_every_run_is_in_the_file(self):
        result, done = self.compare("-n", "4", "--warmup", "2", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(result["format"], "corbel-compare-1")
        self.assertEqual(result["command"], ["true"])
        self.assertEqual([run["sequence"] for run in result["runs"]], list(range(8)))
        for side in ("system", "corbel"):
            self.assertEqual(sum(run["side"] == side for run in result["runs"]), 4)
        for run in result["runs"]:
            self.assertTrue(METRICS <= run.keys())
            self.assertGreater(run["wall_seconds"], 0)
            self.assertGreater(run["peak_rss_bytes"], 100 << 10)
        self.assertEqual([side["name"] for side in result["sides"]], ["system", "corbel"])
        for side in result["sides"]:
            self.assertEqual(side["summary"].keys(), METRICS)
        self.assertIn("ratio", result["sides"][1]["summary"]["wall_seconds"])
        self.assertGreater(result["machine"]["memory_bytes"], 0)

    def test_each_round_has_every_side_and_the_seed_fixes_the_order(self):
        orders = []
        for seed in (1, 1, 2):
            result, _ = self.compare("-n", "12", "--warmup", "0", "--seed", str(seed), "--", "true")
            order = [run["side"] for run in result["runs"]]
            for i in range(0, len(order), 2):
                self.assertEqual({*order[i:i + 2]}, {"system", "corbel"})
            orders.append(order)
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])
        self.assertIn("corbel", orders[0][::2])
        self.assertIn("system", orders[0][::2])

    def test_the_sides_run_on_different_mallocs(self):
        log = self.folder / "log"
        _, done = self.compare("-n", "2", "--warmup", "0", "--", "sh", "-c",
                               f'echo "preload=$LD_PRELOAD" >> {log}')
        self.assertEqual(done.returncode, 0)
        lines = log.read_text().splitlines()
        self.assertEqual(lines.count("preload="), 2)
        self.assertEqual(sum(line.endswith(LIBRARY.name) for line in lines), 2)

    def test_an_inherited_corbel_does_not_reach_the_systems_side(self):
        log = self.folder / "log"
        self.compare("-n", "1", "--warmup", "0", "--", "sh", "-c",
                     f'echo "preload=$LD_PRELOAD" >> {log}',
                     env=clean_environment(LD_PRELOAD=LIBRARY))
        self.assertIn("preload=", log.read_text().splitlines())

    def test_another_library_with_a_name(self):
        library = self.compile("other.so", "int other;", "-shared", "-fPIC")
        result, done = self.compare("-n", "3", "--with", f"other={library}", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([side["name"] for side in result["sides"]], ["system", "corbel", "other"])
        self.assertEqual(len(result["runs"]), 9)
        self.assertIn("other", done.stdout)

    def test_exit_codes_that_differ_are_reported(self):
        _, done = self.compare("-n", "2", "--", "sh", "-c", 'test -z "$LD_PRELOAD" || exit 3')
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit codes differ", done.stderr)

    def test_the_same_failure_on_both_sides_is_a_note(self):
        result, done = self.compare("-n", "2", "--", "sh", "-c", "echo because >&2; exit 3")
        self.assertEqual(done.returncode, 0)
        self.assertEqual({run["exit_code"] for run in result["runs"]}, {3})
        self.assertIn("exit code 3 (because)", done.stdout)

    def test_a_signal_counts_as_an_exit_code(self):
        result, done = self.compare("-n", "1", "--", "sh", "-c", "kill -SEGV $$")
        self.assertEqual({run["exit_code"] for run in result["runs"]}, {128 + 11})
        self.assertEqual(done.returncode, 0)

    def test_output_is_compared_when_asked(self):
        command = ["--", "sh", "-c", 'echo "[$LD_PRELOAD]"']
        self.assertEqual(self.compare("-n", "1", *command)[1].returncode, 0)
        _, done = self.compare("-n", "1", "--check-output", *command)
        self.assertEqual(done.returncode, 1)
        self.assertIn("output differs", done.stderr)
        _, done = self.compare("-n", "2", "--check-output", "--", "echo", "same")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_output_is_hidden_unless_shown(self):
        self.assertNotIn("visible-text", self.compare("-n", "1", "--", "printf", "visible-text\\n")[1]
                         .stdout.splitlines())
        _, done = self.compare("-n", "1", "--show-output", "--", "printf", "visible-text\\n")
        self.assertEqual(done.stdout.splitlines().count("visible-text"), 4)

    def test_json_on_standard_output_stands_alone(self):
        done = corbel("compare", "-q", "-n", "1", "--json", "-", "--", "true")
        self.assertEqual(len(json.loads(done.stdout)["runs"]), 2)

    def test_runs_are_appended_to_a_comparison(self):
        for n in (2, 1):
            result, done = self.compare("--append", "-n", str(n), "--", "true")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(result["runs_per_side"], 3)
        self.assertEqual([run["sequence"] for run in result["runs"]], list(range(6)))
        self.assertIn("3 runs a side", done.stdout)
        walls = sorted(run["wall_seconds"] for run in result["runs"] if run["side"] == "corbel")
        figures = result["sides"][1]["summary"]["wall_seconds"]
        self.assertEqual((figures["min"], figures["median"], figures["max"]), tuple(walls))
        self.assertNotEqual(figures["verdict"], "too few runs")
        before = (self.folder / "result.json").read_text()
        _, done = self.compare("--append", "-n", "1", "--", "false")
        self.assertEqual(done.returncode, 2)
        self.assertIn("not a comparison of this command", done.stderr)
        self.assertEqual((self.folder / "result.json").read_text(), before)

    def test_a_tiny_program_shows_its_true_peak(self):
        program = self.compile("peak", OWN_PEAK)
        for mebibytes in (0, 40):
            result, done = self.compare("-n", "3", "--warmup", "0", "--show-output", "--", program,
                                        str(mebibytes))
            shown = sorted(int(line.split()[1]) for line in done.stderr.splitlines()
                           if line.startswith("VmHWM:"))
            peaks = sorted(run["peak_rss_bytes"] // 1024 for run in result["runs"])
            self.assertEqual(len(shown), 6, done.stderr)
            for own, measured in zip(shown, peaks):
                # Exit itself touches more memory, and the kernel sums its counters per processor in
                # batches. The measuring command has ten times as much memory.
                self.assertLessEqual(abs(measured - own), 512, (shown, peaks))
            self.assertGreater(peaks[0], mebibytes * 1024)

    def test_a_child_of_the_command_counts(self):
        program = self.compile("peak", OWN_PEAK)
        result, _ = self.compare("-n", "1", "--", "sh", "-c", f"{program} 60; true")
        for run in result["runs"]:
            self.assertGreater(run["peak_rss_bytes"], 60 << 20)
            self.assertLess(run["peak_rss_bytes"], 75 << 20)

    def test_a_real_difference_is_declared_and_none_is_not(self):
        # The memory of the command depends on the preloaded library.
        program = self.compile("peak", OWN_PEAK)
        result, done = self.compare("-n", "4", "--", "sh", "-c",
                                    f'if test "$LD_PRELOAD"; then {program} 10; else '
                                    f"{program} 60; fi")
        figures = result["sides"][1]["summary"]["peak_rss_bytes"]
        self.assertEqual(figures["verdict"], "lower")
        self.assertLess(figures["ratio"], 0.5)
        self.assertIn("lower", done.stdout)
        result, _ = self.compare("-n", "2", "--", "true")
        self.assertEqual(result["sides"][1]["summary"]["wall_seconds"]["verdict"], "too few runs")

    def test_other_work_is_noticed(self):
        busy = "import os, time\n" \
               "if os.fork() == 0:\n" \
               "    os.setsid()\n" \
               "    if os.fork(): os._exit(0)\n" \
               "    end = time.time() + 0.7\n" \
               "    while time.time() < end: pass\n" \
               "    os._exit(0)\n" \
               "os.wait()\n" \
               "time.sleep(0.6)\n"
        result, done = self.compare("-n", "1", "--warmup", "0", "--", sys.executable, "-c", busy)
        self.assertTrue(all(run["disturbed"] for run in result["runs"]), result["runs"])
        self.assertIn("disturbed", done.stdout)
        self.assertEqual(result["disturbed_runs"], 2)

    def test_a_program_on_which_nothing_can_be_measured(self):
        self.assertEqual(corbel("compare", "--", "no-such-command-here").returncode, 127)
        done = corbel("compare", "--", self.compile_static())
        self.assertEqual(done.returncode, 126)
        self.assertIn("static", done.stderr)

    def test_a_file_that_cannot_be_written(self):
        ran = self.folder / "ran"
        done = corbel("compare", "-n", "1", "--json", self.folder / "no" / "file", "--", "touch", ran)
        self.assertEqual(done.returncode, 125)
        self.assertIn("No such file or directory", done.stderr)
        # The command has not run for nothing.
        self.assertFalse(ran.exists())

    def test_signals_and_stops_of_a_command_still_work(self):
        program = "import os, signal, sys, threading, time\n" \
                  "caught = []\n" \
                  "signal.signal(signal.SIGALRM, lambda *_: caught.append(1))\n" \
                  "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\n" \
                  "me = os.getpid()\n" \
                  "child = os.fork()\n" \
                  "if child == 0:\n" \
                  "    signal.setitimer(signal.ITIMER_REAL, 0)\n" \
                  "    while True: time.sleep(0.1); os.kill(me, signal.SIGCONT)\n" \
                  "os.kill(me, signal.SIGSTOP)\n" \
                  "end = time.time() + 30\n" \
                  "while len(caught) <= 5 and time.time() < end: pass\n" \
                  "signal.setitimer(signal.ITIMER_REAL, 0)\n" \
                  "os.kill(child, signal.SIGKILL); os.wait()\n" \
                  "sys.exit(6 if len(caught) > 5 else 1)\n"
        result, _ = self.compare("-n", "1", "--", sys.executable, "-c", program)
        self.assertEqual({run["exit_code"] for run in result["runs"]}, {6})


if __name__ == "__main__":
    unittest.main()
