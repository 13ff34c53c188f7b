#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs misuses and right programs under sampled guards, with every block guarded.

Usage: guards.py linked PROGRAM
       guards.py preloaded PROGRAM LIBRARY
"""
import os
import re
import resource
import signal
import subprocess
import sys

# case: what the report says; the distance of the named pointer from the announced one, if any.
# ACCESS is "read", "write" or, where the processor does not tell, "access".
MISUSES = {
    "overflow-1": "ACCESS 0 bytes after the end of a block of 48 bytes",
    "overread-1": "ACCESS 0 bytes after the end of a block of 48 bytes",
    "overflow-8": "ACCESS 7 bytes after the end of a block of 48 bytes",
    "overflow-1-canary": "write after the end of a block of 48 bytes, at byte 48",
    "overflow-8-realloc": "write after the end of a block of 48 bytes, at byte 55",
    "underflow": "ACCESS 1 bytes before a block of 48 bytes",
    "underflow-canary": "write before the beginning of a block of 48 bytes, 1 before it",
    "write-after-free": "ACCESS at byte 8 of a freed block of 48 bytes",
    "read-after-free": "ACCESS at byte 8 of a freed block of 48 bytes",
    "read-after-free-far": "ACCESS at byte 8 of a freed block of 48 bytes",
    "read-after-realloc": "ACCESS at byte 8 of a freed block of 48 bytes",
    "double-free": "double free of a block of 48 bytes",
    "double-free-threads": "double free of a block of 48 bytes",
    "free-inside": ("free of a pointer 16 bytes into a block of 100 bytes", 16),
    "realloc-freed": "realloc of a freed block of 48 bytes",
    "size-freed": "malloc_usable_size of a freed block of 48 bytes",
    "sized-delete": "delete with a size of 400 for a block of 48 bytes",
    "child": "ACCESS at byte 8 of a freed block of 48 bytes",
}

# case: the options after "guards".
RIGHT = {
    "blocks": ",every=1",
    "use-up": ",every=1,slots=4",
    "threads": ",every=1",
    "own-handler": ",every=1",
    "fork": ",every=1",
    "fork-among-threads": ",every=1",
}


def run(program, case, options, library, **more):
    environment = dict(os.environ, CORBEL_CHECK=options, **more)
    if library:
        environment["LD_PRELOAD"] = library
    return subprocess.run([program, case], env=environment, capture_output=True, text=True,
                          timeout=60, check=False)


def problem_of_misuse(case, program, library):
    """What is wrong with the report of a case; None if it is right."""
    what = MISUSES[case]
    what, distance = what if isinstance(what, tuple) else (what, 0)
    done = run(program, case, "guards,every=1", library)
    if done.returncode != -signal.SIGABRT:
        return f"exit code {done.returncode}, {done.stderr!r}"
    announced = int(done.stdout.split()[0], 16)
    first, _, rest = done.stderr.partition("\n")
    pattern = re.escape(f"corbel: {what} (block {announced + distance:#x})")
    pattern = pattern.replace("ACCESS", "(read|write|access)")
    if not re.fullmatch(pattern, first):
        return f"{first!r} instead of {pattern!r}"
    told = re.findall(r"^  (\w[\w ]*) by thread \d+:$", rest, re.MULTILINE)
    is_freed = "freed block" in what or "double free" in what
    if told[1:] != (["allocated", "freed"] if is_freed else ["allocated"]):
        return f"the stacks are {told}"
    frame = rf"^    #0  0x[0-9a-f]+ \(\S*{re.escape(os.path.basename(program))}\+0x[0-9a-f]+\)$"
    if len(re.findall(frame, rest, re.MULTILINE)) < len(told):
        return f"a stack does not begin in the program: {rest!r}"
    return None


def problems(program, library):
    for case in MISUSES:
        if problem := problem_of_misuse(case, program, library):
            yield f"{case}: {problem}"
    for case, options in RIGHT.items():
        done = run(program, case, "guards" + options, library)
        if (done.returncode, done.stdout, done.stderr) != (0, "right\n", ""):
            yield f"{case}: {done}"
    # The heap profile is on, too, with a smaller and with a larger distance.
    for every in ("1", "64K"):
        done = run(program, "threads", "guards,every=4K", library,
                   CORBEL_PROFILE=f"heap,every={every},file=/dev/null")
        if (done.returncode, done.stdout, done.stderr) != (0, "right\n", ""):
            yield f"threads with a profile of every={every}: {done}"
    done = run(program, "crash", "guards,every=1", library)
    if (done.returncode, done.stderr) != (-signal.SIGSEGV, ""):
        yield f"crash: {done}"
    for wrong in ("guard", "guards,every=0", "guards,slots=0", "guards,slots=2049",
                  "guards,every=2T", "guards,quarantine=1M", "guards,"):
        done = run(program, "fork", wrong, library)
        line = f"corbel: CORBEL_CHECK={re.escape(wrong)} is ignored: set it to .*\n"
        if not re.fullmatch(line, done.stderr) or done.returncode != 0:
            yield f"CORBEL_CHECK={wrong}: {done}"


def main():
    way, program = sys.argv[1:3]
    library = sys.argv[3] if way == "preloaded" else None
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    found = list(problems(program, library))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
