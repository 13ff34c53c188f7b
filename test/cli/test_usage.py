# SPDX-License-Identifier: Apache-2.0
"""Options: help is complete, mistakes end with exit code 2 and a hint."""
import re
import unittest

from support import CliTest, corbel


class Usage(CliTest):
    def test_version(self):
        done = corbel("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^corbel \d+\.\d+\.\d+\n$")

    def test_help_names_everything(self):
        texts = {"": ["run", "compare", "check", "--version", "Examples:", "CORBEL_LIBRARY"],
                 "run": ["--stats", "--heap-limit SIZE",
                         "--hard-limit SIZE", "--huge-pages never|auto|always", "--tbb[=preload]", "--verbose", "--force", "127", "126"],
                 "compare": ["--runs N", "--warmup N", "--json FILE", "--append",
                             "--with NAME=LIB.so",
                             "--seed N", "--tbb[=preload]", "--show-output", "--check-output", "--quiet", "--force",
                             "MAD", "VmHWM"],
                 "leaks": ["--suppressions FILE", "--exit-code", "--json", "--read FILE"],
                 "profile heap": ["--every SIZE", "--output FILE", "--html FILE"],
                 "profile time": ["--malloc system", "--every TIME", "--output FILE", "--html FILE",
                                  "--json FILE"],
                 "top": ["--pid", "--json", "--prometheus"],
                 "trace": ["--output FILE", "--tbb[=preload]", "show", "perfetto", "127"],
                 "check": ["--pid PID", "--as-is", "--tbb[=preload]", "--json", "--verbose", "Exit code"]}
        for command, words in texts.items():
            done = corbel(*command.split(), "--help")
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stderr, "")
            for word in words:
                self.assertIn(word, done.stdout)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

    def test_mistakes(self):
        for words in ([], ["fly"], ["run"], ["run", "--"], ["run", "--fast", "--", "true"],
                      ["run", "--huge-pages", "--", "true"],
                      ["run", "--huge-pages", "2", "--", "true"],
                      ["run", "--heap-limit", "lots", "--", "true"],
                      ["run", "--heap-limit", "", "--", "true"],
                      ["run", "--heap-limit", "-5M", "--", "true"],
                      ["run", "--hard-limit", "101%", "--", "true"], ["compare"],
                      ["compare", "-n", "0", "--", "true"], ["compare", "-n", "x", "--", "true"],
                      ["compare", "--warmup", "-1", "--", "true"],
                      ["compare", "--with", "libx.so", "--", "true"],
                      ["compare", "--with", "x=/no/such.so", "--", "true"],
                      ["compare", "--with", "corbel=/bin/sh", "--", "true"],
                      ["compare", "--append", "--", "true"],
                      ["compare", "--append", "--json", "-", "--", "true"],
                      ["compare", "--show-output", "--check-output", "--", "true"],
                      ["trace"], ["trace", "--fast", "--", "true"], ["trace", "show"],
                      ["trace", "show", "a", "b"],
                      ["check"], ["check", "--pid"], ["check", "--pid", "abc"],
                      ["check", "--pid", "0"], ["check", "--pid", "1", "--", "true"],
                      ["check", "--pid", "1", "--as-is"]):
            done = corbel(*words)
            self.assertEqual(done.returncode, 2, (words, done.stdout, done.stderr))
            text = done.stderr or done.stdout
            self.assertTrue(re.search("--help|Usage:|--with", text), (words, text))

    def test_a_mistake_is_one_clear_line_and_a_hint(self):
        done = corbel("compare", "-n", "many", "--", "true")
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 2, done.stderr)
        self.assertIn("many", lines[0])
        self.assertIn("corbel compare --help", lines[1])

    def test_a_wrong_limit_is_named_with_the_forms(self):
        done = corbel("run", "--hard-limit", "4X", "--", "true")
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 2, done.stderr)
        for word in ("--hard-limit", "'4X'", "400M", "80%", "auto", "none"):
            self.assertIn(word, lines[0])

    def test_nothing_to_check_that_exists(self):
        done = corbel("check", "--", "no-such-command-here")
        self.assertEqual(done.returncode, 2)
        self.assertIn("not found", done.stderr)


if __name__ == "__main__":
    unittest.main()
