#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs misuses under full checks and compares the first line of the report, to the letter.

Usage: full.py linked PROGRAM
       full.py preloaded PROGRAM LIBRARY
"""
import os
import re
import resource
import signal
import subprocess
import sys

LARGE = 300000
NOT_HEAP = "free: not a heap block: it lies in "

# case: what the report says; the distance of the named pointer from the announced one, if any.
# ACCESS is "read", "write" or, where the processor does not tell, "access".
CASES = {
    "double-free": "double free of a block of 48 bytes",
    "double-free-far": "double free of a block of 48 bytes",
    "double-free-large": f"double free of a block of {LARGE} bytes",
    "double-free-threads": "double free of a block of 48 bytes",
    "free-inside": ("free of a pointer 16 bytes into a block of 100 bytes", 16),
    "free-inside-freed": ("free of a pointer 16 bytes into a freed block of 100 bytes", 16),
    "free-before": ("free of a pointer 8 bytes before a block of 100 bytes", -8),
    "free-inside-large": (f"free of a pointer 4096 bytes into a block of {LARGE} bytes", 4096),
    "free-nothing": "free of a pointer to no block: none has ever been allocated there",
    "free-stack": NOT_HEAP + "the stack",
    "free-static": NOT_HEAP + "PROGRAM (data)",
    "overflow-1": "write after the end of a block of 47 bytes, at byte 47",
    "overflow-8": "write after the end of a block of 48 bytes, at byte 48",
    "overflow-4096": "write after the end of a block of 48 bytes, at byte 48",
    "overflow-realloc": "write after the end of a block of 47 bytes, at byte 47",
    "overflow-exit": "write after the end of a block of 47 bytes, at byte 47",
    "overflow-later": "write after the end of a block of 47 bytes, at byte 47",
    "overflow-on-demand": "write after the end of a block of 47 bytes, at byte 47",
    "overflow-large": f"ACCESS 0 bytes after the end of a block of {LARGE} bytes",
    "overread-large": f"ACCESS 100 bytes after the end of a block of {LARGE} bytes",
    "underflow": "write before the beginning of a block of 48 bytes, 1 before it",
    "underflow-large": f"ACCESS 4096 bytes before a block of {LARGE} bytes",
    "write-after-free": "write after free, at byte 8 of a freed block of 48 bytes",
    "write-after-free-exit": "write after free, at byte 8 of a freed block of 48 bytes",
    "read-after-free-large": f"ACCESS at byte 8 of a freed block of {LARGE} bytes",
    "write-after-free-large": f"ACCESS at byte 8 of a freed block of {LARGE} bytes",
    "realloc-freed": "realloc of a freed block of 48 bytes",
    "realloc-inside": ("realloc of a pointer 16 bytes into a block of 48 bytes", 16),
    "size-freed": "malloc_usable_size of a freed block of 48 bytes",
    "malloc-delete": "delete of a block of 48 bytes from malloc",
    "new-free": "free of a block of 48 bytes from new",
    "new-array-delete": "delete of a block of 48 bytes from new[]",
    "new-delete-array": "delete[] of a block of 48 bytes from new",
    "new-realloc": "realloc of a block of 48 bytes from new",
    "sized-delete": "delete with a size of 40 for a block of 48 bytes",
    "aligned-new-delete": "delete of a block of 48 bytes from new with an alignment",
    "new-aligned-delete": "delete with an alignment of a block of 48 bytes from new",
    "aligned-new-aligned-delete": "delete with an alignment of a block of 48 bytes from new with "
                                  "an alignment: 32 instead of 64",
    "memalign-aligned-delete": "delete with an alignment of a block of 48 bytes from malloc",
    "overread-guarded": "ACCESS 0 bytes after the end of a block of 48 bytes",
    "overflow-guarded": "ACCESS 0 bytes after the end of a block of 48 bytes",
    "read-after-free-guarded": "ACCESS at byte 8 of a freed block of 48 bytes",
}


def wanted(case):
    what = CASES[case]
    return what if isinstance(what, tuple) else (what, 0)


def run(program, arguments, options, library):
    environment = dict(os.environ, CORBEL_CHECK=options)
    if library:
        environment["LD_PRELOAD"] = library
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True,
                          timeout=60)


def problem_of(case, program, library):
    """What is wrong with the report of a case; None if it is right."""
    what, distance = wanted(case)
    done = run(program, [case], "full,guard=all" if "guarded" in case else "full", library)
    announced = int(done.stdout.split()[0], 16)
    first, _, rest = done.stderr.partition("\n")
    first = re.sub(r"in \S*" + re.escape(os.path.basename(program)) + " ", "in PROGRAM ", first)
    pattern = re.escape(f"corbel: {what} (block {announced + distance:#x})")
    pattern = pattern.replace("ACCESS", "(read|write|access)")
    if done.returncode != -signal.SIGABRT:
        return f"exit code {done.returncode}, {done.stderr!r}"
    if not re.fullmatch(pattern, first):
        return f"{first!r} instead of {pattern!r}"
    # The stacks: what the thread does, and what is known of the block.
    told = re.findall(r"^  (\w[\w ]*) by thread \d+:$", rest, re.MULTILINE)
    is_known = "bytes" in what
    if not told or (is_known and "allocated" not in told):
        return f"the stacks are {told}"
    if ("freed block" in what or "double free" in what) and told[-1] != "freed":
        return f"the stack of the first free is missing: {told}"
    frame = rf"^    #0  0x[0-9a-f]+ \(\S*{re.escape(os.path.basename(program))}\+0x[0-9a-f]+\)$"
    if not re.search(frame, rest, re.MULTILINE):
        return f"no stack begins in the program: {rest!r}"
    return None


def main():
    way, program = sys.argv[1:3]
    library = sys.argv[3] if way == "preloaded" else None
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    failures = 0
    for case in CASES:
        problem = problem_of(case, program, library)
        if problem:
            failures += 1
            print(f"{case}: {problem}")
    for case, options in (("pattern", "full"), ("spans-and-slabs", "full,quarantine=0"),
                          ("spans-and-slabs", "full,quarantine=8M"), ("fork", "full"),
                          ("slabs-on-the-move", "full,quarantine=0,frames=0")):
        done = run(program, [case], options, library)
        if done.stdout != "intact\nright\n" or done.returncode != 0:
            failures += 1
            print(f"{case}: {done}")
    for wrong in ("ful", "full,redzone=x", "full,", "full,guard=some", "all"):
        done = run(program, ["pattern"], wrong, library)
        if not re.fullmatch(f"corbel: CORBEL_CHECK={wrong} is ignored: set it to .*\n",
                            done.stderr):
            failures += 1
            print(f"CORBEL_CHECK={wrong}: {done.stderr!r}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
