# SPDX-License-Identifier: Apache-2.0
"""corbel leaks: reports with names, suppressions, JSON and exit codes."""
import json
import shutil
import signal
import subprocess
import unittest

from support import CORBEL, LIBRARY, CliTest, clean_environment, corbel

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


# Waits for orders, one character each, and says "done" after each; ends with the input.
SERVER = LEAKY[:LEAKY.index("int main")] + r"""
#include <pthread.h>
#include <stdio.h>
static void *kept;
static void *wait_for_ever(void *p) { for (;;) pause(); return p; }
__attribute__((noinline)) void keep_through_old(void) {
  ((void **)kept)[500] = get(7001);
  __asm__ volatile("");
}
// Old values of the stack and of registers.
__attribute__((noinline)) void forget(void) {
  volatile char old[9000];
  memset((char *)old, 0, sizeof old);
  for (int i = 0; i < 10; ++i) free(get(100));
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, wait_for_ever, 0);
  kept = get(6000);
  memset(kept, 0, 6000);
  for (;;) {
    puts("done");
    fflush(stdout);
    char order = 0;
    if (read(0, &order, 1) != 1) return 7;
    if (order == '1') lose_one();
    if (order == '2') lose_two();
    if (order == 'k') keep_through_old();
    forget();
  }
}
"""


# Has a stack for its signal handlers in a frame of main, and keeps a block in a deeper one.
NESTED = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int keep(void) {
  void *volatile kept = malloc(9000);
  puts("done");
  fflush(stdout);
  getchar();
  free(kept);
  return 7;
}
int main(void) {
  char stack[65536];
  stack_t handlers = {.ss_sp = stack, .ss_size = sizeof stack};
  return sigaltstack(&handlers, 0) == 0 ? keep() : 1;
}
"""


class Server:
    """The program on Corbel, which does what it is told."""

    def __init__(self, test, program, **environment):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env=clean_environment(LD_PRELOAD=LIBRARY, **environment))
        self.pid = self.process.pid
        test.addCleanup(self.end)
        self.wait()

    def wait(self):
        assert self.process.stdout.readline() == "done\n"

    def tell(self, orders):
        for order in orders:
            self.process.stdin.write(order)
            self.process.stdin.flush()
            self.wait()

    def end(self):
        self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        return code


# Of the line that says that ptrace is refused, as in many containers.
REFUSED = "the system does not let it stop the threads"


class RunningProcess(CliTest):
    def setUp(self):
        super().setUp()
        self.program = self.compile("leaky", SERVER, "-g", "-pthread")

    def leaks(self, pid, *options):
        done = corbel("leaks", "--json", "-", *options, "--pid", pid)
        if REFUSED in done.stderr:
            self.skipTest("the system refuses ptrace")
        self.assertEqual(done.returncode, 0, done.stderr)
        process = json.loads(done.stdout)["processes"][0]
        return process, {leak["stack"][1]["function"]: leak for leak in process["leaks"]
                         if leak["kind"] == "definite"}

    def test_every_block(self):
        server = Server(self, self.program, CORBEL_LEAKS="1,file=/dev/null")
        self.assertEqual(self.leaks(server.pid)[1], {})
        server.tell("12")
        process, found = self.leaks(server.pid)
        self.assertEqual(process["definite"], {"places": 2, "blocks": 3, "bytes": 15006})
        self.assertEqual(sorted(found), ["lose_one", "lose_two"])
        server.tell("1")
        self.assertEqual(self.leaks(server.pid)[1]["lose_one"]["blocks"], 2)
        done = corbel("leaks", "--exit-code=9", "--pid", server.pid)
        self.assertEqual(done.returncode, 9)
        self.assertRegex(done.stderr, r"corbel: leaky \(\d+\): 4 blocks, 19.5 KiB definitely")
        self.assertEqual(server.end(), 7)

    def test_a_signal_stack_within_the_stack(self):
        server = Server(self, self.compile("nested", NESTED), CORBEL_LEAKS="1,file=/dev/null")
        self.assertEqual(self.leaks(server.pid)[0]["definite"]["blocks"], 0)
        self.assertEqual(server.end(), 7)

    def test_sampled(self):
        server = Server(self, self.program, CORBEL_LEAKS="sampled,every=1,file=/dev/null")
        server.tell("112")
        process, found = self.leaks(server.pid)
        self.assertEqual(process["sampled_every"], 1)
        self.assertEqual(sorted(found), ["lose_one", "lose_two"])
        self.assertEqual((found["lose_one"]["samples"], found["lose_one"]["blocks"]), (2, 2))
        self.assertEqual(process["definite"]["places"], 3)  # those of lose_two are not told apart
        self.assertEqual(process["definite"]["blocks"], 4)
        self.assertGreaterEqual(process["reachable_samples"], 1)
        done = corbel("leaks", "--pid", server.pid)
        self.assertRegex(done.stderr, r"about 1\d.\d KiB in 2 blocks \(2 samples\) definitely leaked")
        self.assertRegex(done.stderr, r"about 4 blocks, .* definitely leaked at 3 places, by \d+ live "
                                      r"samples, one in 1 byte of allocations")

    def test_sampled_for_a_while(self):
        server = Server(self, self.program)
        done = corbel("leaks", "--sampled", "--pid", server.pid)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"^corbel: process \d+: no block has been sampled: .*\n$")
        sampler = subprocess.Popen(
            [CORBEL, "profile", "heap", "--every", "1", "--no-html", "-o", self.folder / "p",
             "--pid", str(server.pid)], stderr=subprocess.PIPE, text=True, env=clean_environment())
        self.assertIn("press Ctrl-C", sampler.stderr.readline())
        # What a block leads to that has no record is not lost.
        server.tell("1k")
        sampler.send_signal(signal.SIGINT)
        text = sampler.communicate()[1]
        self.assertEqual(sampler.returncode, 0, text)
        server.tell("11")  # not sampled
        found = self.leaks(server.pid)[1]
        self.assertEqual({name: leak["samples"] for name, leak in found.items()}, {"lose_one": 1}, text)

    def test_not_recorded(self):
        server = Server(self, self.program)
        for options in ((), ("--exit-code",)):
            done = corbel("leaks", *options, "--pid", server.pid)
            self.assertEqual(done.returncode, 125)
            self.assertRegex(done.stderr, r"^corbel: process \d+: its blocks are not recorded: start "
                                          r"it with CORBEL_LEAKS=1 .*\n$")

    def test_traced(self):
        server = Server(self, self.program, CORBEL_LEAKS="1,file=/dev/null")
        tracer = shutil.which("strace")
        if tracer is None:
            self.skipTest("there is no strace")
        with subprocess.Popen([tracer, "-f", "-p", str(server.pid)], stderr=subprocess.PIPE,
                              text=True) as strace:
            first = strace.stderr.readline()
            if "Operation not permitted" in first:
                strace.wait()
                self.skipTest("the system refuses ptrace")
            self.assertIn("attached", first)
            done = corbel("leaks", "--pid", server.pid)
            strace.terminate()
            strace.communicate()
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"^corbel: (leaky .*: no leak report: process \d+ traces this|"
                                      r"process \d+ is held by a debugger).*\n$")


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
        self.assertRegex(done.stderr, r"leaky: no leak report: it did not run on Corbel, ended "
                                      r"by _exit or exec \(see: corbel check -- \S*leaky\), or could not write it "
                                      r"to \S+ \(set TMPDIR to a folder with room\)\n")
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

    def test_sampled(self):
        done = corbel("leaks", "--sampled=1", "--", self.program)
        self.assertEqual(done.returncode, 5)
        self.assertRegex(done.stderr, r"5.0 KiB in 1 block \(1 sample\) definitely leaked, allocated "
                                      r"at\n    get  \S*leaky.c:7\n    lose_one  \S*leaky.c:11\n")
        self.assertRegex(done.stderr, r"about 3 blocks, .* definitely leaked at 3 places, by \d+ ")
        # With the usual distance, a program this small has no sample of its leaks, most likely.
        done = corbel("leaks", "--sampled", "--", self.program)
        self.assertRegex(done.stderr, r"one in 512.0 KiB of allocations\n$")

    def test_a_static_program(self):
        static = LIBRARY.parent / "libcorbelmalloc_proxy.a"
        if not static.exists():
            self.skipTest("no static library here")
        self.compile_static()
        program = self.compile("static-leaky", LEAKY, "-g", "-static", "-Wl,--undefined=malloc",
                               static, "-Wl,--eh-frame-hdr")
        done = corbel("leaks", "--", program)
        self.assertEqual(done.returncode, 5)
        self.assertRegex(done.stderr, r": 3 blocks, 14.7 KiB definitely leaked at 2 places")
        self.assertRegex(done.stderr, r"    get  \S*leaky.c:7\n    lose_one  \S*leaky.c:11\n")
        # The allocator is asked before the C library is ready to look up unwind tables.
        done = corbel("profile", "heap", "--every", "1", "-o", self.folder / "profile", "--", program)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertRegex(done.stderr, r"lose_two static-leaky.c:|get static-leaky.c:")

    def test_the_estimate_of_samples(self):
        source = LEAKY.replace("  return 5;", "  for (int i = 0; i < 4000; ++i) get(9000);\n  return 5;")
        program = self.compile("loser", source, "-g")
        done = corbel("leaks", "--sampled=64K", "--json", "-", "--", program)
        process = json.loads(done.stdout)["processes"][0]
        leak = next(leak for leak in process["leaks"] if leak["stack"][1]["function"] == "main")
        # About 600 samples of 39 MiB: seven standard deviations of their number are less than a third.
        self.assertAlmostEqual(leak["blocks"], 4000, delta=4000 / 3)
        self.assertAlmostEqual(leak["bytes"] / leak["blocks"], 9216, delta=20)  # its size class
        self.assertLess(leak["samples"], 1200)

    def test_names_cannot_control_the_terminal(self):
        report = self.folder / "report"
        report.write_text("corbel-leaks 1\nprocess 5\ncommand /bin/\x1b[31mred x\n"
                          "map 0x1000 0x2000 0x0 /none/\x1b[2J\n"
                          "place definite 1 2 0 0 0x1500\nend\n")
        done = corbel("leaks", "--read", report)
        self.assertNotIn("\x1b", done.stderr)
        self.assertIn("corbel: ?[31mred (5): 1 block, 2 bytes definitely leaked", done.stderr)
        report.write_text("corbel-leaks 1\nprocess 5\ncommand \x1b[31mred\nfailed \x1b[0m\nend\n")
        self.assertNotIn("\x1b", corbel("leaks", "--read", report).stderr)

    def test_wrong_use(self):
        for words in ((), ("--pid", "1", "--", "true"), ("--pid", "0"), ("--sandboxed", "--", "true"),
                      ("--sampled=x", "--", "true"),
                      ("--exit-code=0", "--", "true"), ("--exit-code=x", "--", "true"),
                      ("--read", "x", "--", "true"), ("--places", "0", "--", "true")):
            with self.subTest(words=words):
                done = corbel("leaks", *words)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, r"(?s)^corbel: .*\nTry 'corbel leaks --help'.\n$")


if __name__ == "__main__":
    unittest.main()
