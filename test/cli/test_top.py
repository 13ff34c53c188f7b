# SPDX-License-Identifier: Apache-2.0
"""corbel top, and what it says where a process cannot be asked."""
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from support import CORBEL, LIBRARY, CliTest, clean_environment, corbel

GAUGES = ("allocated", "active", "resident", "retained", "mapped", "metadata")

# Holds a block, says so, and waits until its input ends. The first word chooses a peculiarity.
HOLDER = r"""
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static void own(int s) { (void)s; }
static struct sigaction corbels;
// Answers the first request before the asker, which it stops meanwhile, has sent its line.
static void busy(int s, siginfo_t *info, void *context) {
  (void)context;
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  int size = sprintf(to.sun_path + 1, "corbel-control-%012llx",
                     (unsigned long long)(uintptr_t)info->si_value.sival_ptr & 0xffffffffffff);
  kill(info->si_pid, SIGSTOP);
  int file = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(file, (struct sockaddr *)&to, offsetof(struct sockaddr_un, sun_path) + 1 + size) == 0)
    write(file, "busy\n", 5);
  close(file);
  sigaction(s, &corbels, 0);
  kill(info->si_pid, SIGCONT);
}
int main(int count, char **words) {
  const char *how = count > 1 ? words[1] : "";
  size_t size = (size_t)50 << 20;
  char *p = malloc(size);
  memset(p, 1, size);
  if (strcmp(how, "own") == 0) signal(SIGURG, own);
  if (strcmp(how, "busy") == 0) {
    struct sigaction first = {.sa_sigaction = busy, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGURG, &first, &corbels);
  }
  if (strcmp(how, "files") == 0) while (dup(0) >= 0) {}
  if (strcmp(how, "blocked") == 0) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigprocmask(SIG_BLOCK, &set, 0);
  }
  if (strcmp(how, "user") == 0 && setuid(65534) != 0) return 3;
  puts("ready");
  fflush(stdout);
  char c;
  while (read(0, &c, 1) == 1) {}
  return p[size / 2] == 1 ? 7 : 1;
}
"""


class TopTest(CliTest):
    def start(self, program, *words, preload=True, **changes):
        """Starts the program, on Corbel; returns it when it is ready."""
        environment = clean_environment(**changes)
        if preload:
            environment["LD_PRELOAD"] = str(LIBRARY)
        process = subprocess.Popen([str(program), *words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=environment)
        self.addCleanup(self.stop, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def holder(self, *options):
        return self.compile("holder", HOLDER, "-pthread", *options)

    def refused(self, pid, *parts):
        """The one line that says why the process cannot be asked, and what to do."""
        done = corbel("top", "--once", "--pid", pid)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)


class Looks(TopTest):
    def test_json(self):
        process = self.start(self.holder())
        done = corbel("top", "--json", "--once", "--pid", process.pid)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        look = json.loads(done.stdout)
        self.assertEqual((look["pid"], look["command"]), (process.pid, "holder"))
        gauges = look["gauges"]
        self.assertEqual(sorted(gauges), sorted(GAUGES))
        self.assertGreaterEqual(gauges["allocated"], 50 << 20)
        self.assertLessEqual(gauges["allocated"], gauges["active"])
        self.assertLessEqual(gauges["active"], gauges["resident"])
        self.assertLessEqual(gauges["resident"], gauges["mapped"])
        self.assertEqual(gauges["metadata"], look["stats"]["metadata"])
        self.assertEqual(gauges["mapped"] + gauges["retained"],
                         look["stats"]["mapped"] + look["stats"]["metadata_mapped"])
        self.assertNotIn("tasks", look)

    def test_lines_until_the_process_ends(self):
        process = self.start(self.holder())
        top = subprocess.Popen([str(CORBEL), "top", "--interval", "0.1", "--json", "--pid",
                                str(process.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=clean_environment())
        looks = [json.loads(top.stdout.readline()) for _ in range(3)]
        self.assertNotIn("per_second", looks[0])
        self.assertIn("purge_calls", looks[2]["per_second"])
        process.stdin.close()
        self.assertEqual(process.wait(), 7)
        errors = top.communicate()[1]
        self.assertEqual(top.returncode, 1)
        self.assertIn("has ended", errors)

    def test_the_list(self):
        process = self.start(self.holder())
        # A look at all processes waits half a second for each. One that gets no processor meanwhile
        # is left out.
        for _ in range(20):
            done = corbel("top", "--once")
            self.assertEqual(done.returncode, 0)
            looks = corbel("top", "--once", "--json").stdout.splitlines()
            line = re.search(rf"(?m)^ *{process.pid} holder +5\d\.\d MiB ", done.stdout)
            if line and process.pid in [json.loads(look)["pid"] for look in looks]:
                return
        self.fail(f"{process.pid} is not in:\n{done.stdout}\n{looks}")

    def test_a_static_program(self):
        static = LIBRARY.parent / "libcorbelmalloc_proxy.a"
        if not static.exists():
            self.skipTest("no static library here")
        self.compile_static()
        program = self.holder("-static", "-Wl,--undefined=malloc", static, "-pthread")
        process = self.start(program, preload=False)
        done = corbel("top", "--once", "--pid", process.pid)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_command(self):
        top = subprocess.Popen([str(CORBEL), "top", "--once", "--", str(self.holder())],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=clean_environment())
        # The command ends with its input, so that is open until top has looked.
        shown = ""
        while "footprint" not in shown:
            line = top.stdout.readline()
            self.assertNotEqual(line, "", shown)
            shown += line
        errors = top.communicate()[1]
        self.assertEqual(top.returncode, 7)
        self.assertIn("ready", errors)
        done = corbel("top", "--once", "--", "/no/such/program")
        self.assertEqual(done.returncode, 127)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_the_screen(self):
        process = self.start(self.holder())
        controller, terminal = pty.openpty()
        top = subprocess.Popen([str(CORBEL), "top", "--interval", "0.1", "--pid", str(process.pid)],
                               stdin=terminal, stdout=terminal, stderr=subprocess.PIPE,
                               env=clean_environment(TERM="xterm"))
        os.close(terminal)
        output = b""
        asked_to_end = False
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if select.select([controller], [], [], 1)[0]:
                try:
                    part = os.read(controller, 65536)
                except OSError:
                    break
                if not part:
                    break
                output += part
            if not asked_to_end and output.count(b"footprint") >= 2:
                os.write(controller, b"q")
                asked_to_end = True
        self.assertEqual(top.wait(), 0)
        self.assertEqual(top.stderr.read(), b"")
        top.stderr.close()
        os.close(controller)
        self.assertTrue(output.startswith(b"\x1b[?1049h"), output[:40])
        self.assertTrue(output.endswith(b"\x1b[?1049l"), output[-40:])
        self.assertIn(b"allocated", output)


class Prometheus(TopTest):
    def check(self, text, pid):
        for gauge in GAUGES:
            name = f"corbel_heap_{gauge}_bytes"
            self.assertIn(f"# TYPE {name} gauge\n", text)
            self.assertIn(f"# HELP {name} ", text)
            self.assertRegex(text, rf'(?m)^{name}{{pid="{pid}",command="holder"}} \d+$')
        self.assertTrue(text.endswith("\n"))

    def test_once(self):
        process = self.start(self.holder())
        done = corbel("top", "--prometheus", "--pid", process.pid)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.check(done.stdout, process.pid)

    def test_over_http(self):
        process = self.start(self.holder())
        top = subprocess.Popen([str(CORBEL), "top", "--prometheus", "--listen", "127.0.0.1:0",
                                "--pid", str(process.pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=clean_environment())
        self.addCleanup(top.kill)
        url = top.stdout.readline().split()[-1]
        with urllib.request.urlopen(url, timeout=30) as answer:
            self.assertIn("text/plain; version=0.0.4", answer.headers["Content-Type"])
            self.check(answer.read().decode(), process.pid)
        with self.assertRaises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(url.replace("/metrics", "/else"), timeout=30)
        self.assertEqual(error.exception.code, 404)
        with self.assertRaises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(url, data=b"x", timeout=30)
        self.assertEqual(error.exception.code, 405)
        port = int(url.split(":")[2].split("/")[0])
        # Clients that send nothing, garbage, or too much, hold up no other one for long.
        with socket.create_connection(("127.0.0.1", port)) as silent:
            with socket.create_connection(("127.0.0.1", port)) as garbage:
                garbage.sendall(b"\0" * 20000)
                with urllib.request.urlopen(url, timeout=30) as answer:
                    self.assertEqual(answer.status, 200)
            silent.close()
        process.kill()
        process.wait()
        with self.assertRaises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(url, timeout=30)
        self.assertEqual(error.exception.code, 503)
        self.assertIn("corbel: ", top.communicate()[1])
        self.assertEqual(top.returncode, 1)

    def test_an_address_in_use(self):
        process = self.start(self.holder())
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = corbel("top", "--prometheus", "--pid", process.pid, "--listen",
                          f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^corbel: cannot listen on .*in use\n$")


class Refusals(TopTest):
    def test_no_such_process(self):
        process = self.start(self.holder())
        process.kill()
        process.wait()
        self.refused(process.pid, "there is no process")

    def test_a_zombie(self):
        process = self.start(self.holder())
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.refused(process.pid, "has ended")

    def test_not_on_corbel(self):
        process = self.start(self.holder(), preload=False)
        self.refused(process.pid, "is not on Corbel", "corbel run")

    def test_not_on_corbel_with_a_handler_for_the_signal(self):
        process = self.start(self.holder(), "own", preload=False)
        self.refused(process.pid, "is not on Corbel", "corbel run")

    def test_turned_off(self):
        process = self.start(self.holder(), CORBEL_CONTROL=0)
        self.refused(process.pid, "CORBEL_CONTROL=0")
        done = corbel("top", "--once")
        self.assertNotIn(f" {process.pid} ", done.stdout)

    def test_a_wrong_setting(self):
        done = subprocess.run([self.holder()], input=b"", capture_output=True, check=False,
                              env=clean_environment(LD_PRELOAD=LIBRARY, CORBEL_CONTROL="maybe"))
        self.assertEqual((done.returncode, done.stderr),
                         (7, b"corbel: CORBEL_CONTROL=maybe is ignored: set it to 0 or 1\n"))

    def test_a_handler_of_its_own(self):
        process = self.start(self.holder(), "own")
        self.refused(process.pid, "did not answer within 2.0 s", "SIGURG")

    def test_busy_at_once(self):
        process = self.start(self.holder(), "busy")
        done = corbel("top", "--json", "--once", "--pid", process.pid)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_blocked(self):
        process = self.start(self.holder(), "blocked")
        self.refused(process.pid, "blocks SIGURG")

    def test_ignored(self):
        handler = signal.signal(signal.SIGURG, signal.SIG_IGN)
        try:
            process = self.start(self.holder())
        finally:
            signal.signal(signal.SIGURG, handler)
        self.refused(process.pid, "ignores SIGURG")

    def test_no_file_left(self):
        process = self.start(self.holder(), "files")
        self.refused(process.pid, "did not answer within 2.0 s")

    def test_stopped(self):
        process = self.start(self.holder())
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        self.refused(process.pid, "is stopped", f"kill -CONT {process.pid}")

    @unittest.skipIf(os.geteuid() != 0, "needs root, to become another user")
    def test_another_users_process(self):
        process = self.start(self.holder())
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                               str(CORBEL), "top", "--once", "--pid", str(process.pid)],
                              capture_output=True, text=True, env=clean_environment(), check=False)
        if "cannot execute" in done.stderr or "failed to execute" in done.stderr:
            self.skipTest("the other user may not run the build")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^corbel: process \d+ belongs to root: ask as that user, or "
                                      r"as root\n$")

    @unittest.skipIf(os.geteuid() != 0, "needs root, to become another user")
    def test_a_process_that_has_become_another_user(self):
        process = self.start(self.holder(), "user")
        done = corbel("top", "--once", "--pid", process.pid)
        # Root may look into it, if it has the right to trace processes.
        if done.returncode != 0:
            self.assertRegex(done.stderr, r"^corbel: no right to look into process")

    def test_another_network_namespace(self):
        inside = ["unshare", "--user", "--map-root-user", "--net", str(self.holder())]
        environment = clean_environment()
        probe = subprocess.run([*inside[:-1], "true"], capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("no namespaces here")
        environment["LD_PRELOAD"] = str(LIBRARY)
        process = subprocess.Popen(inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=environment)
        self.addCleanup(self.stop, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        done = corbel("top", "--once", "--pid", process.pid)
        # With the right to enter the namespace, the command asks there.
        if done.returncode != 0:
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn("namespace: run corbel inside its container", done.stderr)


class Usage(TopTest):
    def test_wrong_options(self):
        for words in (["--pid", "0"], ["--pid", "x"], ["--interval", "0"], ["--interval", "soon"],
                      ["--json", "--prometheus"], ["--listen", "127.0.0.1:1"],
                      ["--prometheus", "--listen", "nowhere"],
                      ["--prometheus", "--listen", "1.2.3.4:99999"],
                      ["--prometheus", "--", "true"], ["--pid", "1", "--", "true"]):
            with self.subTest(words):
                done = corbel("top", *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr.startswith("corbel: "), done.stderr)


if __name__ == "__main__":
    unittest.main()
