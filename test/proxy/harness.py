# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the proxy: the paths of the libraries, compiling a small program in a
temporary folder, and running it with or without the replacement."""

import atexit
import os
import shutil
import subprocess
import tempfile
import unittest

LIB = os.path.abspath(os.environ.get("CORBEL_LIB_DIR", "build/release/lib"))
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
INCLUDE = os.path.join(HERE, "..", "..", "include")
PROXY = os.path.join(LIB, "libcorbelmalloc_proxy.so.1")
PROXY_ARCHIVE = os.path.join(LIB, "libcorbelmalloc_proxy.a")

CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")

_folder = tempfile.mkdtemp(prefix="corbel-proxy-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
_built = {}


def path(name):
    return os.path.join(_folder, name)


def run(command, preload=None, env=None, timeout=120):
    """Returns the finished process; its output is text."""
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    environment.update(env or {})
    if preload:
        environment["LD_PRELOAD"] = preload
    return subprocess.run(command, env=environment, timeout=timeout, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")


def build(name, source, *flags, compiler=None, before=()):
    """Compiles programs/<source> to <name> once. `before` precedes the source on the command
    line."""
    if name in _built:
        return _built[name]
    output = path(name)
    if compiler is None:
        compiler = CXX if source.endswith(".cpp") else CC
    standard = "-std=c++20" if source.endswith(".cpp") else "-std=gnu11"
    if compiler.split("/")[-1].startswith(("c++", "g++", "clang++")) and source.endswith(".c"):
        standard = "-std=c++20"
        source_arguments = ["-x", "c++", os.path.join(PROGRAMS, source), "-x", "none"]
    else:
        source_arguments = [os.path.join(PROGRAMS, source)]
    command = [compiler, standard, "-O1", "-g", "-w", "-fno-builtin", "-pthread", f"-I{INCLUDE}",
               *before, *source_arguments, *flags, "-o", output]
    result = run(command)
    if result.returncode != 0:
        raise AssertionError(" ".join(command) + "\n" + result.stderr)
    _built[name] = output
    return output


def have(program):
    return shutil.which(program) is not None


class ProxyTest(unittest.TestCase):
    maxDiff = None

    def succeeds(self, command, **arguments):
        result = run(command, **arguments)
        self.assertEqual(result.returncode, 0,
                         f"{command}\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
        return result

    def dies(self, command, line, **arguments):
        """Checks that the command aborts, and that its only line on stderr matches the regular
        expression. Under full checks, call stacks may follow, whose lines are indented."""
        result = run(command, **arguments)
        self.assertEqual(result.returncode, -6, f"{command}\n{result.stdout}\n{result.stderr}")
        lines = result.stderr.splitlines()
        if os.environ.get("CORBEL_CHECK", "").startswith("full"):
            lines = [line for line in lines if not line.startswith("  ")]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertRegex(lines[0], "^" + line + "$")
        return result
