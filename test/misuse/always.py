#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs misuses without full checks and compares the line that ends the program, to the letter.

Usage: always.py PROGRAM LIBRARY
"""
import os
import resource
import signal
import subprocess
import sys

OVERWRITTEN = "free: the block was freed twice, or written to after it was freed"
SIZE = "operator delete: the size is not that of the block"
CASES = {
    "planted-link": OVERWRITTEN,
    "planted-inside": OVERWRITTEN,
    "double-free-at-once": OVERWRITTEN,
    "sized-delete-by-other": SIZE,
    "sized-delete-large": SIZE,
    "sized-delete-small-for-large": SIZE,
    "right-sizes": None,
}


def main():
    program, library = sys.argv[1:3]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    failures = 0
    for case, what in CASES.items():
        done = subprocess.run([program, case], env=dict(os.environ, LD_PRELOAD=library),
                              capture_output=True, text=True, timeout=60)
        pointer = done.stdout.strip()
        wanted = (f"corbel: {what} (block {pointer})\n", -signal.SIGABRT) if what else ("", 0)
        if (done.stderr, done.returncode) != wanted or (what is None and pointer != "right"):
            failures += 1
            print(f"{case}: {done.stderr!r}, exit code {done.returncode} instead of {wanted}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
