# SPDX-License-Identifier: Apache-2.0
"""An existing kind of client: OpenMP threads that call scalable_malloc, compiled against <tbb/...>
and linked with -ltbbmalloc as against the original. It runs three patterns, without a soft limit
and with three limits; then the library is swapped under the binary.

A limit that is not below the program's live memory is kept. Under a lower limit, no more stays
resident than the live memory, 2 % of it and OVERHEAD_MIB. The address space is bounded, too.
"""

import ctypes
import os

import common

SOURCE = os.path.join(common.HERE, "soft_limit_client.cpp")
MIB = 1 << 20
# The article's limits of 500, 400 and 300 MB are for four threads.
LIMITS_MIB = (125, 100, 75) if common.FULL else (125, 75)  # for each thread
OVERHEAD_MIB = 4  # tables, and a thread's caches
RESIDENT_WITHOUT_LIMIT = 1.25  # times the live memory, and 64 MiB
# Times the live or allowed memory, and 64 MiB for the program, its libraries and stacks.
VIRTUAL, VIRTUAL_WITHOUT_LIMIT = 1.1, {"1": 1.25, "2": 1.25, "3": 1.1}
# For several threads in pattern 3: memory that one thread frees lies between blocks of the others
# and is too short for their next size. Under a limit it is unmapped, while other threads map.
VIRTUAL_BETWEEN_THREADS, VIRTUAL_BETWEEN_THREADS_WITHOUT_LIMIT = 1.25, 1.5


def held(libs):
    """{pattern: maximum MiB that a thread holds, rounded up like the allocator}."""
    library = ctypes.CDLL(os.path.join(libs, common.DROPIN))
    library.scalable_malloc.restype = ctypes.c_void_p
    library.scalable_malloc.argtypes = [ctypes.c_size_t]
    library.scalable_msize.restype = ctypes.c_size_t
    library.scalable_msize.argtypes = library.scalable_free.argtypes = [ctypes.c_void_p]

    def rounded(size):
        block = library.scalable_malloc(size)
        found = library.scalable_msize(block)
        library.scalable_free(block)
        return found

    return {"1": 1000 * rounded(100 << 10) / MIB, "2": 1000000 * rounded(100) / MIB,
            "3": 10 * rounded((32 << 20) - (8 << 10)) / MIB}


# What a thread also holds, from the system's malloc: the array of its blocks.
BESIDE_MIB = {"1": 1, "2": 8, "3": 1}


def run_client(client, mode, pattern, limit, threads, allocator="corbel"):
    # One arena: the C library's malloc takes up to 128 MiB of addresses for a second one.
    done = common.run([client, pattern, str(limit), allocator], mode, timeout=150,
                      env={"OMP_NUM_THREADS": str(threads), "MALLOC_ARENA_MAX": "1"})
    common.same("standard error", b"", done.err)
    fields = done.out.decode().split()
    values = dict(zip(fields[::2], fields[1::2]))
    common.check(values["threads"] == str(threads), done.out.decode())
    virtual, resident = int(values["vmpeak"]) / 1024, int(values["rss"]) / 1024
    print("pattern %s, %d threads, %s, limit %s MiB: virtual peak %.1f MiB, resident peak %.1f MiB, %s s" % (
        pattern, threads, allocator, limit, virtual, resident, values["seconds"]), flush=True)
    return virtual, resident


def judge(pattern, limit, threads, live, program, beside, virtual, resident):
    what = "pattern %s, limit %s MiB, %.0f MiB held" % (pattern, limit, live)
    own = resident - program - beside
    if limit == 0:
        most = live * RESIDENT_WITHOUT_LIMIT + 64
    else:
        most = max(limit, live * 1.02 + OVERHEAD_MIB)
    common.check(own <= most, "%s: %.1f MiB resident, %.1f MiB beyond" % (what, own, own - most))
    if threads == 1 or pattern != "3":
        times = VIRTUAL if limit else VIRTUAL_WITHOUT_LIMIT[pattern]
    else:
        times = VIRTUAL_BETWEEN_THREADS if limit else VIRTUAL_BETWEEN_THREADS_WITHOUT_LIMIT
    most = max(limit, live) * times + 64 + beside
    common.check(virtual <= most, "%s: an address space of %.1f MiB, %.1f MiB beyond" % (
        what, virtual, virtual - most))


def test(scratch):
    compiler = common.require("g++", package="g++")
    libs = common.lib_dir()
    client = os.path.join(scratch, "client")
    includes = ["-I" + path for path in common.include_dirs()]
    for standard in ("c++11", "c++14", "c++20", "c++17"):
        done = common.run([compiler, "-std=" + standard, "-O1", "-Wall", "-fopenmp", SOURCE, *includes, "-L" + libs,
                           "-ltbbmalloc", "-o", client], timeout=120)
        common.same("the compiler's messages (%s)" % standard, b"", done.out + done.err)

    mode = {"LD_LIBRARY_PATH": libs}
    logs = common.bindings([client, "3", "0"], mode, scratch, env={"OMP_NUM_THREADS": "1"})
    for symbol in ("scalable_malloc", "scalable_free"):
        targets = {target for log in logs for source, target, name in log if name == symbol and source == client}
        common.check(targets and all(t.startswith(libs) for t in targets), "%s comes from %s" % (symbol, targets))

    live = held(libs)
    # The program itself: the minimum of this pattern, measured on the system's malloc.
    program = run_client(client, mode, "3", 0, 1, "system")[1]
    for pattern in ("1", "2", "3"):
        for threads in (1, 2):
            for limit in (0, *LIMITS_MIB):
                virtual, resident = run_client(client, mode, pattern, limit * threads, threads)
                judge(pattern, limit * threads, threads, live[pattern] * threads, program,
                      BESIDE_MIB[pattern] * threads, virtual, resident)
    for pattern in ("1", "2"):
        run_client(client, mode, pattern, 0, 2, "system")


common.main(test)
