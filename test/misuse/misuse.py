#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one misuse and compares the line that ends the program, to the letter.

Usage: misuse.py linked PROGRAM CASE
       misuse.py preloaded PROGRAM CASE LIBRARY
"""
import os
import re
import resource
import signal
import subprocess
import sys

NOT_START = "the pointer is not the start of a block"
NO_BLOCK = "no block is allocated there"
NOT_OURS = "the pointer was not allocated here"
NOT_HEAP = "not a heap block: it lies in "

# case: (function, message on Corbel's own interface, message with Corbel preloaded)
CASES = {
    "free-inside-other-thread": ("free", NOT_START, NOT_START),
    "free-inside-full-slab": ("free", NOT_START, NOT_START),
    "free-inside-far": ("free", NOT_START, NOT_START),
    "free-large-start": ("free", NOT_START, NOT_START),
    "free-large-middle": ("free", NO_BLOCK, NO_BLOCK),
    "free-large-twice": ("free", NO_BLOCK, NO_BLOCK),
    "free-huge-twice": ("free", NOT_OURS, "not a heap block: it is not mapped"),
    "free-never-allocated": ("free", "the block was never allocated",
                             "the block was never allocated"),
    "realloc-inside": ("realloc", NOT_START, NOT_START),
    "realloc-large-inside": ("realloc", NOT_START, NOT_START),
    "realloc-freed": ("realloc", NO_BLOCK, NO_BLOCK),
    "size-inside": ("malloc_usable_size", NOT_START, NOT_START),
    "free-global": ("free", NOT_OURS, NOT_HEAP + "PROGRAM (data)"),
    "free-local": ("free", NOT_OURS, NOT_HEAP + "the stack"),
    "free-literal": ("free", NOT_OURS, NOT_HEAP + "PROGRAM (read-only)"),
    "free-mapping": ("free", NOT_OURS, NOT_HEAP + "memory that no known allocator handed out"),
    "free-unmapped": ("free", NOT_OURS, "not a heap block: it is not mapped"),
    "free-number": ("free", NOT_OURS, "not a heap block: it is not mapped"),
    "realloc-global": ("realloc", NOT_OURS, NOT_HEAP + "PROGRAM (data)"),
    "free-null": None,
}


def main():
    way, program, case = sys.argv[1:4]
    environment = dict(os.environ)
    if way == "preloaded":
        environment["LD_PRELOAD"] = sys.argv[4]
    # A sanitizer's handler of SIGABRT would print more.
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":handle_abort=0"
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    run = subprocess.run([program, case], env=environment, capture_output=True, text=True,
                         timeout=60)
    pointer = run.stdout.strip()
    if CASES[case] is None:
        expected, expected_code = "", 0
    else:
        function, linked, preloaded = CASES[case]
        what = linked if way == "linked" else preloaded
        expected = f"corbel: {function}: {what} (block {pointer})\n"
        expected_code = -signal.SIGABRT
    # The message names the program as the system knows it.
    said = re.sub(r"in \S*" + re.escape(os.path.basename(program)) + " ", "in PROGRAM ",
                  run.stderr)
    if said == expected and run.returncode == expected_code:
        return 0
    print(f"expected: exit code {expected_code}, {expected!r}")
    print(f"got:      exit code {run.returncode}, {said!r}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
