# SPDX-License-Identifier: Apache-2.0
"""corbel run: the command's exit code, signals, input and environment are its own."""
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
import unittest

from support import CORBEL, LIBRARY, CliTest, clean_environment, corbel


class PassingThrough(CliTest):
    def test_exit_codes(self):
        for code in (0, 1, 7, 255):
            self.assertEqual(corbel("run", "--", "sh", "-c", f"exit {code}").returncode, code)

    def test_a_signal_that_the_command_sends_itself(self):
        for name, number in (("TERM", signal.SIGTERM), ("KILL", signal.SIGKILL)):
            done = corbel("run", "--", "sh", "-c", f"kill -{name} $$")
            self.assertEqual(done.returncode, -number)

    def test_a_signal_from_outside_reaches_the_command(self):
        process = subprocess.Popen(
            [str(CORBEL), "run", "--", "sh", "-c",
             "trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.05; done"],
            stdout=subprocess.PIPE, text=True, env=clean_environment())
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.communicate(timeout=20)[0], "caught\n")
        self.assertEqual(process.returncode, 9)

    def test_input_output_and_arguments(self):
        done = corbel("run", "--", "sh", "-c", 'cat; echo "$0|$1|$2" >&2', "a b", "", "--stats",
                      input="text\n")
        self.assertEqual((done.stdout, done.stderr), ("text\n", "a b||--stats\n"))

    def test_the_process_is_the_same(self):
        process = subprocess.Popen([str(CORBEL), "run", "--", "sh", "-c", "echo $$"],
                                   stdout=subprocess.PIPE, text=True, env=clean_environment())
        self.assertEqual(int(process.communicate(timeout=20)[0]), process.pid)

    def test_the_terminal_is_the_commands(self):
        master, slave = pty.openpty()
        done = subprocess.run([str(CORBEL), "run", "--", sys.executable, "-c",
                               "import os; print(os.isatty(0), os.isatty(1))"],
                              stdin=slave, stdout=slave, stderr=slave, env=clean_environment(),
                              timeout=20, check=False)
        os.close(slave)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"True True", os.read(master, 1000))
        os.close(master)

    def test_the_command_may_follow_without_dashes(self):
        self.assertEqual(corbel("run", "echo", "-n", "a", "--", "b").stdout, "a -- b")


class Environment(CliTest):
    def preload_of(self, *options, **environment):
        done = corbel("run", *options, "--", "sh", "-c", 'echo "$LD_PRELOAD"',
                      env=clean_environment(**environment))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_the_library_is_preloaded(self):
        self.assertEqual(os.path.realpath(self.preload_of()), os.path.realpath(LIBRARY))

    def test_it_comes_before_an_existing_preload(self):
        other = self.compile("other.so", "int other;", "-shared", "-fPIC")
        first, second = self.preload_of(LD_PRELOAD=other).split(":")
        self.assertEqual(os.path.realpath(first), os.path.realpath(LIBRARY))
        self.assertEqual(second, str(other))

    def test_it_is_not_preloaded_twice(self):
        once = self.preload_of()
        self.assertEqual(self.preload_of(LD_PRELOAD=once), once)

    def test_it_is_really_mapped(self):
        done = corbel("run", "--", "cat", "/proc/self/maps")
        self.assertIn("libcorbelmalloc_proxy.so.1", done.stdout)

    def test_corbel_library_names_another_one(self):
        copy = self.folder / "libcorbelmalloc_proxy.so.1"
        for name in LIBRARY.parent.glob("libcorbelmalloc*.so.1"):
            shutil.copy(name, self.folder)
        self.assertEqual(self.preload_of(CORBEL_LIBRARY=copy), str(copy))

    def test_options_set_variables(self):
        show = ("echo ${CORBEL_STATS-unset} ${CORBEL_HEAP_LIMIT-unset} "
                "${CORBEL_HEAP_HARD_LIMIT-unset} ${CORBEL_HUGE_PAGES-unset}")
        for options, expected in (([], "unset unset unset unset"),
                                  (["--stats"], "1 unset unset unset"),
                                  (["--stats=json"], "json unset unset unset"),
                                  (["--heap-limit", "400M"], "unset 400M unset unset"),
                                  (["--heap-limit", "auto", "--hard-limit", "80%"],
                                   "unset auto 80% unset"),
                                  (["--huge-pages", "never"], "unset unset unset never"),
                                  (["--huge-pages", "on"], "unset unset unset always"),
                                  (["--huge-pages", "off"], "unset unset unset never")):
            done = corbel("run", *options, "--", "sh", "-c", show)
            self.assertEqual(done.stdout.strip(), expected)

    def test_check_is_passed_on(self):
        for value in ("full", "full,guard=all,quarantine=4M", "guards", "guards,every=1"):
            done = corbel("run", f"--check={value}", "--", "sh", "-c", "echo $CORBEL_CHECK")
            self.assertEqual(done.stdout.strip(), value)
        for wrong in ("some", "guardsx", "full;guard=all"):
            done = corbel("run", f"--check={wrong}", "--", "true")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--check: 'guards' or 'full' expected, and ',…' after it", done.stderr)

    def test_an_option_wins_over_the_environment(self):
        done = corbel("run", "--heap-limit", "400M", "--", "sh", "-c", "echo $CORBEL_HEAP_LIMIT",
                      env=clean_environment(CORBEL_HEAP_LIMIT="1G"))
        self.assertEqual(done.stdout.strip(), "400M")

    def test_stats_are_reported(self):
        done = corbel("run", "--stats", "--", sys.executable, "-c", "pass")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^corbel: footprint \d+\.\d MiB ")

    def test_stats_as_json_are_one_line(self):
        done = corbel("run", "--stats=json", "--", sys.executable, "-c", "pass")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        figures = json.loads(lines[0])
        self.assertEqual(figures["mapped"], sum(figures[name] for name in (
            "live", "thread_cached", "slab_free", "orphan_free", "slab_purged", "uncarved",
            "free_resident", "free_purged")))
        self.assertEqual(figures["live"] - figures["large_live"], sum(
            c["used_blocks"] * c["block_size"] for c in figures["classes"]))

    def test_a_wrong_word_for_stats(self):
        done = corbel("run", "--stats=xml", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--stats=json", done.stderr)
        done = corbel("run", "--", sys.executable, "-c", "pass",
                      env=clean_environment(CORBEL_STATS="2"))
        self.assertEqual((done.returncode, done.stderr),
                         (0, "corbel: CORBEL_STATS=2 is ignored: set it to 0, 1 or json\n"))

    def test_verbose_says_what_is_done(self):
        done = corbel("run", "--verbose", "--", "true")
        self.assertIn("LD_PRELOAD=", done.stderr)


class Failing(CliTest):
    def one_line(self, done, code, text):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(text, done.stderr)

    def test_a_missing_command(self):
        self.one_line(corbel("run", "--", "no-such-command-here"), 127, "not found")
        self.one_line(corbel("run", "--", self.folder / "nothing"), 127, "no such file")

    def test_a_file_that_is_not_executable(self):
        file = self.folder / "text"
        file.write_text("text")
        self.one_line(corbel("run", "--", file), 126, "not executable")
        self.one_line(corbel("run", "--", self.folder), 126, "directory")

    def test_a_missing_interpreter(self):
        script = self.script("script", "#!/no/such/interpreter\n")
        self.one_line(corbel("run", "--", script), 126, "/no/such/interpreter")

    def test_a_script_without_an_interpreter_line(self):
        script = self.script("script", "exit 4\n")
        self.assertEqual(corbel("run", "--", script).returncode, 4)

    def test_a_static_program_is_refused_unless_forced(self):
        program = self.compile_static()
        self.one_line(corbel("run", "--", program), 126, "static")
        done = corbel("run", "--force", "--", program)
        self.assertEqual(done.returncode, 5)
        self.assertIn("static", done.stderr)

    def test_a_script_of_a_static_interpreter_is_refused(self):
        program = self.compile_static()
        script = self.script("script", f"#!{program}\n")
        self.one_line(corbel("run", "--", script), 126, "static")

    def test_another_architecture_is_refused(self):
        # The header of a 64-bit ELF file for another machine.
        machine = 183 if os.uname().machine == "x86_64" else 62
        header = (b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little")
                  + machine.to_bytes(2, "little") + (1).to_bytes(4, "little") + bytes(40))
        program = self.folder / "foreign"
        program.write_bytes(header)
        program.chmod(0o755)
        self.one_line(corbel("run", "--", program), 126, "architecture")

    def test_a_musl_program_is_refused(self):
        program = self.compile("musl-program", "int main(void) { return 0; }",
                               "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
        self.one_line(corbel("run", "--", program), 126, "musl")

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a program setuid to another user")
    def test_a_setuid_program_is_refused(self):
        program = self.compile("setuid-program", "int main(void) { return 0; }")
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest("the temporary folder ignores setuid")
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        self.one_line(corbel("run", "--", program), 126, "setuid")

    def test_a_missing_library(self):
        done = corbel("run", "--", "true",
                      env=clean_environment(CORBEL_LIBRARY=self.folder / "nothing.so"))
        self.one_line(done, 125, "nothing.so")
        lonely = self.folder / "corbel"
        shutil.copy(CORBEL, lonely)
        self.one_line(corbel("run", "--", "true", program=lonely), 125,
                      "libcorbelmalloc_proxy.so.1")

    def test_a_path_that_ld_preload_cannot_express(self):
        folder = self.folder / "a b"
        folder.mkdir()
        shutil.copy(LIBRARY, folder)
        done = corbel("run", "--", "true",
                      env=clean_environment(CORBEL_LIBRARY=folder / LIBRARY.name))
        self.one_line(done, 125, "LD_PRELOAD")


if __name__ == "__main__":
    unittest.main()
