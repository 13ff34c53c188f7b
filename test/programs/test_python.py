# SPDX-License-Identifier: Apache-2.0
"""A Python program with threads, children, json, re, zlib and sqlite3, both with Python's own
small-block allocator and without it (PYTHONMALLOC=malloc), compared with the system's malloc."""

import os
import shutil
import subprocess
import sys

import common

NEEDS = "import ctypes, decimal, json, re, sqlite3, zlib"


def interpreter():
    for path in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if path and subprocess.run([path, "-c", NEEDS], stderr=subprocess.DEVNULL).returncode == 0:
            return path
    common.skip("no python3 with sqlite3, zlib and ctypes (Debian package python3)")


def test(scratch):
    python = interpreter()
    script = os.path.join(common.HERE, "python_workload.py")
    # Python 3.12 and later warn about fork in a process with threads, which is intended here.
    command = [python, "-B", "-W", "ignore", script]
    expected = None
    for allocator in ("default", "malloc"):
        for mode in ("system", "proxy", "dropin_proxy"):
            if mode == "dropin_proxy" and allocator == "default":
                continue
            extra = {"PYTHONMALLOC": "malloc"} if allocator == "malloc" else {}
            extra["ROUNDS"] = "10" if common.FULL else "4"
            done = common.run(command, mode, timeout=150, env=extra)
            expected = expected or done.out
            common.same("output (%s, PYTHONMALLOC=%s)" % (mode, allocator), expected, done.out)
            lines = done.err.decode().splitlines()
            common.check(len(lines) == 1, "standard error: " + done.err.decode())
            if mode != "system":
                wanted = os.path.realpath(common.library(
                    common.PROXY if mode == "proxy" else common.DROPIN_PROXY))
                for word in lines[0].split():
                    name, path = word.split("=", 1)
                    common.check(os.path.realpath(path) == wanted, "%s comes from %s" % (name, path))
            print("python, %s, PYTHONMALLOC=%s: %.1f s" % (mode, allocator, done.seconds))
    print("%d bytes of output" % len(expected))


common.main(test)
