#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the built shared libraries ask of a system and show to it: the libraries they load,
where they look for them, the version of glibc, their exported names.

Usage: check_needed.py LIB_DIR (for instance build/release/lib).
"""

import pathlib
import re
import subprocess
import sys

LIBC = {"libc.so.6"}
LOADER = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
CXX_RUNTIME = {"libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"}
NEWEST_GLIBC = (2, 35)  # Ubuntu 22.04's
NEWEST_GLIBCXX = (3, 4, 30)  # gcc 12's

# Library -> what it must load, what else it may, and what its exported names must look like.
ALLOCATOR_NAMES = re.compile(
    r"^(scalable_|corbel_|__TBB_|TBB_|_ZN?K?3rml|_ZNK?3rml|_ZNK?6corbel|_ZT[HW]?N6corbel|_ZN3tbb"
    r"|(?:safer_)?scalable_|MallocInitialize|CORBEL_PRIVATE_|LIBCORBEL|CORBEL_)")
SCHEDULER_NAMES = re.compile(r"^(_ZNK?6corbel|_ZT[HISVW]N6corbel|_ZNK?3tbb|corbel_|TBB_)")
TBB12_NAMES = re.compile(r"^(_ZNK?3tbb6detail2r1|_ZT[ISV]N3tbb6detail2r1|TBB_runtime_(interface_)?version$"
                         r"|corbel_libtbb12_version$|_ZZN6corbel6detail17assertion_handler)")
LIBRARIES = {
    "libcorbelmalloc.so.1": (LIBC, set(), ALLOCATOR_NAMES),
    "libcorbelmalloc_proxy.so.1": ({"libcorbelmalloc.so.1"}, set(), None),
    "libtbbmalloc.so.2": (LIBC, set(), ALLOCATOR_NAMES),
    "libtbbmalloc_proxy.so.2": ({"libtbbmalloc.so.2"}, set(), None),
    "libcorbel.so.1": ({"libstdc++.so.6"} | LIBC, CXX_RUNTIME, SCHEDULER_NAMES),
    "corbel/libtbb.so.12": ({"libcorbel.so.1", "libstdc++.so.6"} | LIBC, CXX_RUNTIME, TBB12_NAMES),
}
# A template of the standard library that got out would take the place of the program's own.
FOREIGN_NAMES = re.compile(r"^(_ZNK?St|_ZNK?9__gnu_cxx|_ZSt|_ZTIS|_ZTSS|__cxa_|__gxx_|_Unwind_)")
# malloc must not be a point of cancellation: system calls that are go by number. (Where the process
# ends, pthread_join is fine.)
CANCELLATION_POINTS = re.compile(
    r"^(open(at)?(64)?|creat(64)?|close|p?(read|write)v?(64)?|fsync|fcntl(64)?|p?poll|p?select"
    r"|epoll_p?wait|(nano|u)?sleep|clock_nanosleep|pause|sig(timed)?wait(info)?|sigsuspend|wait(pid|id)?"
    r"|sem_(timed)?wait|pthread_cond_(timed|clock)?wait|pthread_testcancel)$")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *map(str, arguments)], capture_output=True, text=True,
                          check=True).stdout


def check_dynamic(text, must, may, runpath):
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
    if not must <= needed:
        yield f"does not load {', '.join(sorted(must - needed))}"
    for extra in sorted(needed - must - may - LIBC - LOADER):
        yield f"loads {extra}"
    for kind, path in re.findall(r"\((RPATH|RUNPATH)\).*\[(.*)\]", text):
        if kind == "RPATH" or path != runpath:
            yield f"has {kind} {path}"
    if "TEXTREL" in text:
        yield "has relocations in its code"


def newer(name, library, newest):
    version = re.search(rf"@{library}_([\d.]+)", name)
    return version and tuple(map(int, version.group(1).split("."))) > newest


def check_symbols(text, cxx, names):
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        kind, bind, section, name = fields[3], fields[4], fields[6], fields[7]
        plain = name.split("@")[0]
        if section == "UND":
            if newer(name, "GLIBC", NEWEST_GLIBC):
                yield f"needs {name}, newer than glibc {'.'.join(map(str, NEWEST_GLIBC))}"
            elif newer(name, "GLIBCXX", NEWEST_GLIBCXX):
                yield f"needs {name}, newer than libstdc++ {'.'.join(map(str, NEWEST_GLIBCXX))}"
            elif kind == "TLS" and FOREIGN_NAMES.match(plain):
                # The loader refuses the library in a process that has used the variable already.
                yield f"uses {plain}, thread-local in the C++ run-time library"
            elif cxx:
                continue
            elif CANCELLATION_POINTS.match(plain):
                yield f"calls {plain}, a point of cancellation"
            elif FOREIGN_NAMES.match(plain) and bind != "WEAK":
                yield f"needs {plain} of the C++ run-time library"
        elif section == "ABS" or bind == "LOCAL":
            continue
        elif FOREIGN_NAMES.match(plain) or (names and not names.match(plain)):
            yield f"exports {plain} ({kind})"


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    folder, problems, count = pathlib.Path(sys.argv[1]), 0, 0
    for name, (must, may, names) in LIBRARIES.items():
        if not (folder / name).exists():
            print(f"{name}: not built")
            problems += 1
            continue
        count += 1
        # A library in a folder of its own finds the others in the one above.
        runpath = "$ORIGIN" + "/.." * name.count("/")
        found = [*check_dynamic(readelf("-d", folder / name), must, may, runpath),
                 *check_symbols(readelf("--dyn-syms", folder / name), bool(may), names)]
        if re.search(r"GNU_STACK.*E", re.sub(r"0x\w+", "", readelf("-l", folder / name))):
            found.append("asks for an executable stack")
        for what in found:
            print(f"{name}: {what}")
        problems += len(found)
    print(f"check_needed: {count} libraries, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
