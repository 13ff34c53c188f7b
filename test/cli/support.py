# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the corbel command: starts it, and compiles small programs."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

CORBEL = Path(os.environ["CORBEL_BIN_DIR"]) / "corbel"
LIBRARY = Path(os.environ["CORBEL_LIB_DIR"]) / "libcorbelmalloc_proxy.so.1"
CC = os.environ.get("CORBEL_TEST_CC", "cc")
CXX = os.environ.get("CORBEL_TEST_CXX", "c++")


def clean_environment(**changes):
    """This process's environment without variables that would change the tests."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "CORBEL_LIBRARY",
                                   "CORBEL_STATS", "CORBEL_HEAP_LIMIT", "CORBEL_HEAP_HARD_LIMIT", "CORBEL_HUGE_PAGES",
                                   "CORBEL_HELPER_THREAD", "CORBEL_LEAKS", "CORBEL_PROFILE",
                                   "CORBEL_CHECK", "CORBEL_CONTROL", "LSAN_OPTIONS",
                                   "TBB_MALLOC_USE_HUGE_PAGES")}
    environment["NO_COLOR"] = "1"
    environment.update({name: str(value) for name, value in changes.items()})
    return environment


def corbel(*words, input=None, env=None, timeout=120, program=CORBEL):
    """Runs the command; returns the finished process with its output as text."""
    return subprocess.run([str(program), *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, input=input, timeout=timeout,
                          env=clean_environment() if env is None else env, check=False)


class CliTest(unittest.TestCase):
    """A test with a temporary folder of its own."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="corbel-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def compile(self, name, source, *options, language="c"):
        """Compiles `source` into the folder; returns the path."""
        file = self.folder / f"{name}.{'c' if language == 'c' else 'cpp'}"
        file.write_text(source)
        result = self.folder / name
        done = subprocess.run([CC if language == "c" else CXX, "-O1", "-w", str(file), "-o",
                               str(result), *map(str, options)], stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            self.fail(f"cannot compile {name}: {done.stderr}")
        return result

    def compile_static(self):
        """A static program that ends with exit code 5."""
        source = "int main(void) { return 5; }"
        probe = subprocess.run([CC, "-static", "-x", "c", "-", "-o", "/dev/null"], input=source,
                               text=True, capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("no static C library here")
        return self.compile("static-program", source, "-static")

    @staticmethod
    def stop(process):
        """Ends a process with pipes for its input and output."""
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def script(self, name, text):
        """An executable script."""
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path


# Its own malloc, which never frees; exported because the C library calls it too.
OWN_MALLOC = r"""
#include <stddef.h>
#include <string.h>
static char heap[1 << 24];
static size_t used = 16;
void *malloc(size_t n) {
  size_t *p = (size_t *)(heap + used);
  used += (n + 31) & ~(size_t)15;
  if (used > sizeof heap) return 0;
  p[0] = n;
  return p + 2;
}
void free(void *p) {}
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) {
  void *q = malloc(n);
  if (p && q) memcpy(q, p, ((size_t *)p)[-2] < n ? ((size_t *)p)[-2] : n);
  return q;
}
"""
