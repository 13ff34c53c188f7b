# SPDX-License-Identifier: Apache-2.0
"""corbel leaks: reports with names, suppressions, JSON and exit codes."""
import json
import unittest

from support import CliTest, clean_environment, corbel

LEAKY = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void *get(size_t n) {
  void *p = malloc(n);
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}
__attribute__((noinline)) void lose_one(void) { get(5001); __asm__ volatile(""); }
__attribute__((noinline)) void lose_two(void) {
  void **p = get(5002);
  memset(p, 0, 5002);
  p[0] = get(5003);
  __asm__ volatile("" : : "r"(p) : "memory");
}
int main(int count, char **words) {
  lose_one();
  lose_two();
  volatile char old[9000];
  memset((char *)old, 0, sizeof old);
  if (count > 1) {
    if (fork() == 0) return 0;
    wait(0);
    if (words[1][0] == 'a') abort();
    if (words[1][0] == '_') _exit(6);
  }
  return 5;
}
"""


class Leaks(CliTest):
    def setUp(self):
        super().setUp()
        self.program = self.compile("leaky", LEAKY, "-g")

    def places(self, *options, env=None):
        done = corbel("leaks", "--json", "-", *options, "--", self.program, env=env)
        return json.loads(done.stdout)["processes"][0]

    def test_names_and_summary(self):
        done = corbel("leaks", "--", self.program)
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertRegex(done.stderr, r"4.9 KiB in 1 block definitely leaked, and with it 4.9 KiB "
                                      r"in 1 block, allocated at\n    get  \S*leaky.c:7\n"
                                      r"    lose_two  \S*leaky.c:13\n    main  \S*leaky.c:20\n")
        self.assertRegex(done.stderr, r"4.9 KiB in 1 block definitely leaked, allocated at\n"
                                      r"    get  \S*leaky.c:7\n    lose_one  \S*leaky.c:11\n")
        self.assertRegex(done.stderr, r"corbel: leaky \(\d+\): 3 blocks, 14.7 KiB definitely "
                                      r"leaked at 2 places\n")

    def test_exit_codes(self):
        for options, expected in ((["--exit-code"], 1), (["--exit-code=9"], 9), ([], 5)):
            self.assertEqual(corbel("leaks", *options, "--", self.program).returncode, expected)
        self.assertEqual(corbel("leaks", "--exit-code", "--", "true").returncode, 0)
        self.assertEqual(corbel("leaks", "--", "no-such-program").returncode, 127)

    def test_json(self):
        process = self.places()
        self.assertEqual(process["definite"], {"places": 2, "blocks": 3, "bytes": 15006})
        leaks = [leak for leak in process["leaks"] if leak["kind"] == "definite"]
        self.assertEqual([(leak["blocks"], leak["bytes"], leak["indirect_blocks"],
                           leak["indirect_bytes"]) for leak in leaks],
                         [(1, 5002, 1, 5003), (1, 5001, 0, 0)])
        self.assertEqual([frame["function"] for frame in leaks[1]["stack"][:3]],
                         ["get", "lose_one", "main"])

    def test_suppressions(self):
        file = self.folder / "known"
        for pattern, left in (("lose_one", [5002]), ("^lose_two$", [5001]), ("^ose", [5002, 5001]),
                              ("lose_*o$", [5001]), ("leaky.c", []), ("/leaky$", []),
                              ("lose_on$", [5002, 5001]), ("^l*_*e$", [5002])):
            file.write_text(f"# a comment\n\nleak:{pattern}\n")
            with self.subTest(pattern=pattern):
                process = self.places("--suppressions", file)
                self.assertEqual([leak["bytes"] for leak in process["leaks"]
                                  if leak["kind"] == "definite"], left)
                self.assertEqual(process["suppressed"]["places"], 2 - len(left))
        by_lsan = clean_environment(LSAN_OPTIONS=f"verbosity=0:suppressions={file}")
        self.assertEqual(self.places(env=by_lsan)["suppressed"]["places"], 1)
        done = corbel("leaks", "--exit-code", "--suppressions", file, "--", self.program)
        self.assertEqual(done.returncode, 1)
        file.write_text("leak:leaky\n")
        done = corbel("leaks", "--exit-code", "--suppressions", file, "--", self.program)
        self.assertEqual(done.returncode, 5)
        self.assertIn("3 blocks, 14.7 KiB suppressed", done.stderr)

    def test_bad_suppressions(self):
        file = self.folder / "known"
        file.write_text("leak:a\nrace:b\n")
        done = corbel("leaks", "--suppressions", file, "--", self.program)
        self.assertEqual((done.returncode, done.stderr),
                         (125, f"corbel: {file}:2: 'leak:PATTERN' expected, not 'race:b'\n"))
        done = corbel("leaks", "--suppressions", "/none", "--", self.program)
        self.assertEqual((done.returncode, done.stderr),
                         (125, "corbel: cannot read the suppressions in /none\n"))

    def test_processes_without_a_report(self):
        done = corbel("leaks", "--", self.program, "a")
        self.assertEqual(done.returncode, -6)
        self.assertRegex(done.stderr, r"leaky: no leak report: signal 6 \(Aborted\) ended it\n")
        done = corbel("leaks", "--", self.program, "_")
        self.assertEqual(done.returncode, 6)
        self.assertRegex(done.stderr, r"leaky: no leak report: it did not run on Corbel, or ended "
                                      r"by _exit or exec \(see: corbel check -- \S*leaky\)\n")
        # A child reports for itself.
        done = corbel("leaks", "--", self.program, "x")
        self.assertEqual(done.stderr.count("3 blocks, 14.7 KiB definitely leaked"), 2)

    def test_reading_a_file(self):
        report = self.folder / "report"
        corbel("run", "--", self.program, env=clean_environment(CORBEL_LEAKS=f"1,file={report}"))
        done = corbel("leaks", "--exit-code", "--read", report)
        self.assertEqual(done.returncode, 1)
        self.assertIn("3 blocks, 14.7 KiB definitely leaked at 2 places", done.stderr)
        text = report.read_text()
        report.write_text(text[:text.rindex("end")])
        done = corbel("leaks", "--read", report)
        self.assertEqual((done.returncode, done.stderr),
                         (125, f"corbel: {report} is not complete\n"))
        report.write_text("something else\n")
        self.assertIn("is not a leak report", corbel("leaks", "--read", report).stderr)

    def test_wrong_use(self):
        for words in ((), ("--exit-code=0", "--", "true"), ("--exit-code=x", "--", "true"),
                      ("--read", "x", "--", "true"), ("--places", "0", "--", "true")):
            with self.subTest(words=words):
                done = corbel("leaks", *words)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, r"(?s)^corbel: .*\nTry 'corbel leaks --help'.\n$")


if __name__ == "__main__":
    unittest.main()
