#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs with planted leaks, and compares what the report says of each block. A block is
found by its size, which no other block of the program has.

Usage: leaks_test.py c PROGRAM LIBRARY LIBRARY_TO_CLOSE
       leaks_test.py cpp PROGRAM
       leaks_test.py python SOURCE COMPILER
       leaks_test.py options PROGRAM
       leaks_test.py checks PROGRAM
"""
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile

PRELOAD = str(pathlib.Path(os.environ["CORBEL_LIB_DIR"]) / "libcorbelmalloc_proxy.so.1")
SKIPPED = 77


def run(command, leaks, **environment):
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False,
        env=dict(os.environ, LD_PRELOAD=PRELOAD, CORBEL_LEAKS=leaks, **environment))


def run_with_file(command, **environment):
    """The lines of the report, without a second report on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        result = run(command, f"1,file={folder}/%p.leaks", **environment)
        if result.returncode != 0 or result.stderr:
            sys.exit(f"{command}: exit code {result.returncode}, {result.stderr!r}")
        files = list(pathlib.Path(folder).iterdir())
        if len(files) != 1 or not re.fullmatch(r"\d+\.leaks", files[0].name):
            sys.exit(f"one file expected, not {files}")
        lines = files[0].read_text().splitlines()
        if lines[0] != "corbel-leaks 1" or lines[-1] != "end":
            sys.exit(f"not a whole report: {lines[:1]} ... {lines[-1:]}")
        return lines


def places_of(lines):
    """Bytes -> (kind, blocks, indirect blocks, indirect bytes), of places with a single block."""
    places = {}
    for line in lines:
        words = line.split()
        if words[0] == "place":
            kind, (blocks, size, *indirect) = words[1], map(int, words[2:6])
            if blocks == 1:
                places[size] = (kind, *indirect)
    return places


def compare(places, expected):
    wrong = 0
    for size, (what, *expectation) in expected.items():
        found = places.get(size)
        if found is None or list(found[:len(expectation)]) != expectation:
            wrong += 1
            print(f"{what} ({size} bytes): {expectation} expected, not {found}")
    print(f"{len(expected) - wrong} of {len(expected)} blocks as expected")
    return 1 if wrong else 0


def unexpected(places, expected, low, high):
    """Of the program's own blocks, none is reported that is not expected."""
    wrong = [(size, found) for size, found in places.items()
             if low <= size < high and found[0] != "reachable" and size not in expected]
    for size, found in wrong:
        print(f"not planted: {size} bytes, {found}")
    return 1 if wrong else 0


C = {
    1001: ("nothing points to it", "definite", 0, 0),
    1011: ("the first of a chain", "definite", 2, 1012 + 1013),
    1061: ("its pointer is overwritten", "definite", 0, 0),
    1071: ("the result of realloc", "definite", 0, 0),
    1131: ("known to a library that is closed", "definite", 0, 0),
    1031: ("only a pointer into it", "possible"),
    1181: ("only a pointer past its end", "possible"),
    1041: ("known to a global", "reachable"),
    1051: ("known to a thread-local variable", "reachable"),
    1062: ("known to the global in the end", "reachable"),
    1072: ("known to a block that was resized", "reachable"),
    1121: ("known to a library that is open", "reachable"),
    1141: ("on the stack of a fiber", "reachable"),
    1151: ("in mapped memory", "reachable"),
    1152: ("in shared memory", "reachable"),
    1153: ("in memory that is read-only now", "reachable"),
    1161: ("a pointer with a tag", "reachable"),
}

CPP = {
    2111: ("on the stack of a thread that ended", "definite", 0, 0),
    2112: ("thread-local in a thread that ended", "definite", 0, 0),
    2113: ("the argument of a thread that ended", "definite", 0, 0),
    24: ("a vector", "definite", 1, 2201),
    2081: ("on the stack of a waiting thread", "reachable"),
    2091: ("a specific value of a waiting thread", "reachable"),
    2093: ("thread-local in a waiting thread", "reachable"),
    2101: ("in a register of a running thread", "reachable"),
    2179: ("an array behind its count", "reachable"),
    2168: ("an object by its second base", "reachable"),
}


def test_c(program, library, to_close):
    places = places_of(run_with_file([program, library, to_close]))
    result = compare(places, C)
    # Which block of a cycle counts as the direct leak is not said.
    cycles = [places.get(1021), places.get(1022)]
    if cycles not in ([("definite", 1, 1022), None], [None, ("definite", 1, 1021)]):
        print(f"one direct leak of a cycle expected, not {cycles}")
        result = 1
    return result | unexpected(places, {*C, 1021, 1022}, 1000, 2000)


def test_cpp(program):
    lines = run_with_file([program])
    # The vector's and the list's heads have one size, and are two places.
    heads = [tuple(map(int, line.split()[2:6])) for line in lines
             if line.startswith("place definite 1 24 ")]
    vector = [head for head in heads if head[2:] == (1, 2201)]
    places = places_of(line for line in lines if not line.startswith("place definite 1 24 "))
    if vector:
        places[24] = ("definite", 1, 2201)
    result = compare(places, CPP)
    others = sorted(head[2] for head in heads if head not in vector)
    if others != [6]:
        print(f"a list with six indirect leaks expected, not {heads}")
        result = 1
    text = [line for line in lines if line.startswith("place definite 1 32 1 2222 ")]
    if len(text) != 1:
        print("a string with its text expected")
        result = 1
    return result | unexpected(places, CPP, 2000, 3000)


def test_python(source, compiler):
    include = sysconfig.get_paths()["include"]
    if not (pathlib.Path(include) / "Python.h").exists():
        print(f"skipped: there is no Python.h in {include}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        extension = pathlib.Path(folder) / "leaky.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-I", include, "-o", extension, source],
                       check=True)
        script = ("import leaky\n"
                  "leaky.lose_memory()\n"
                  "leaky.lose_reference(bytes(3100 - bytes().__sizeof__()))\n"
                  "kept = bytes(3200 - bytes().__sizeof__())\n")
        places = places_of(run_with_file([sys.executable, "-c", script], PYTHONPATH=folder,
                                         PYTHONMALLOC="malloc"))
    expected = {
        3001: ("lost by the extension", "definite", 0, 0),
        3100: ("an object with a reference too many", "definite", 0, 0),
    }
    return compare(places, expected) | unexpected(places, expected, 3000, 3300)


def expect(what, text, pattern):
    if re.search(pattern, text, re.MULTILINE):
        return 0
    print(f"{what}: {pattern!r} expected in {text!r}")
    return 1


def test_options(program):
    result = 0
    summary = (r"^corbel: \d+ blocks, [\d.]+ KiB definitely leaked at \d+ places; "
               r"\d+ blocks, [\d.]+ KiB possibly leaked; \d+ blocks, [\d.]+ KiB still reachable$")
    text = run([program], "1").stderr
    result |= expect("summary", text, summary)
    result |= expect("a place", text, r"^corbel: 1001 bytes in 1 block definitely leaked, "
                                      r"allocated at\n    \S*planted_c\+0x[0-9a-f]+$")
    result |= expect("a place with indirect leaks", text,
                     r"^corbel: 1011 bytes in 1 block definitely leaked, and with them 2.0 KiB in "
                     r"2 blocks, allocated at$")
    for kind, phrase in (("possible", "possibly leaked"), ("reachable", "still reachable")):
        pattern = f"^corbel: 1.0 KiB in 1 block {phrase}, allocated at$"
        result |= expect(kind, run([program], "1," + kind).stderr, pattern)
        if re.search(pattern, text, re.MULTILINE):
            print(f"{kind} without the option")
            result = 1
    if run([program], "0").stderr:
        print("CORBEL_LEAKS=0 reports")
        result = 1
    result |= expect("guards", run([program], "1", CORBEL_CHECK="guards").stderr,
                     r"^corbel: CORBEL_CHECK=guards is ignored: CORBEL_LEAKS records every block")
    result |= expect("sampled", run([program], "sampled,every=1").stderr,
                     r"^corbel: about \d+ blocks, [\d.]+ KiB definitely leaked at \d+ places, by \d+ "
                     r"sampled blocks$")
    for wrong in ("yes", "1,", "1,file=", "1,everything", "sampled,every=0"):
        text = run([program], wrong).stderr
        if text != (f"corbel: CORBEL_LEAKS={wrong} is ignored: set it to 1, with ,possible "
                    ",reachable ,file=PATH as needed; or to sampled, with ,every=SIZE "
                    ",file=PATH\n"):
            print(f"CORBEL_LEAKS={wrong}: {text!r}")
            result = 1
    result |= expect("a file that cannot be written", run([program], "1,file=/none/x").stderr,
                     r"^corbel: cannot write the leak report to /none/x: error \d+ \(")
    return result


def test_checks(program):
    result = 0
    # On demand, without and with another thread.
    for way in ("demand", "demand-threads"):
        done = run([program, way], "1")
        if done.stdout != "0 none 1\n":
            print(f"{way}: {done.stdout!r}")
            result = 1
        result |= expect(way, done.stderr,
                         r"(?s)^corbel: no definite leaks.*\ncorbel: 1 block, 3.9 KiB definitely "
                         r"leaked.*\ncorbel: 1 block, 3.9 KiB definitely leaked")
    done = run([program, "demand"], "0")
    if (done.stdout, done.stderr) != ("-1 EOPNOTSUPP -1\n", ""):
        print(f"demand without recording: {done.stdout!r}, {done.stderr!r}")
        result = 1
    # Without the right to trace, one thread is scanned, and of several there is one line.
    done = run([program, "forbidden-alone"], "1")
    if done.returncode != SKIPPED:
        result |= expect("one thread", done.stderr, r"^corbel: 1 block, 3.9 KiB definitely leaked")
        done = run([program, "forbidden"], "1")
        result |= expect("two threads", done.stderr,
                         r"^corbel: no leak report: the system does not let it stop the threads "
                         r"\(ptrace: error 1; allow ptrace, .*\)$")
        if done.stderr.count("\n") != 1 or done.returncode != 0:
            print(f"one line and exit code 0 expected: {done.stderr!r}, {done.returncode}")
            result = 1
    # A child that ends by exit reports for itself. In it, the other thread is no more, but what it
    # had counts as reachable.
    with tempfile.TemporaryDirectory() as folder:
        done = run([program, "fork"], f"1,file={folder}/%p.leaks")
        for line in done.stdout.splitlines():
            who, process = line.split()
            places = places_of((pathlib.Path(folder) / f"{process}.leaks").read_text().splitlines())
            own = 4022 if who == "child" else 4023
            lost = {size for size, found in places.items() if found[0] == "definite"}
            if lost != {4021, own}:
                print(f"fork, {who}: {lost}")
                result = 1
        if len(done.stdout.splitlines()) != 2:
            print(f"fork: {done}")
            result = 1
    return result


def main():
    test = {"checks": test_checks, "c": test_c, "cpp": test_cpp, "python": test_python, "options": test_options}
    return test[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
