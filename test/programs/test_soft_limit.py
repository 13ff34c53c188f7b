# SPDX-License-Identifier: Apache-2.0
"""An existing kind of client: OpenMP threads calling scalable_malloc, compiled against <tbb/...> and
linked with -ltbbmalloc as it would be against the original; three patterns with and without a soft
limit, and the file swapped under the binary."""

import os

import common

SOURCE = os.path.join(common.HERE, "soft_limit_client.cpp")
THREADS = 2
# What the program holds at most, MiB for both threads: a bound that the resident peak is checked by.
LIVE = {"1": 196, "2": 210, "3": 640}


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

    for pattern in ("1", "2", "3"):
        for limit, allocator in (("0", "system"), ("0", "corbel"), ("300", "corbel")):
            done = common.run([client, pattern, limit, allocator], mode, timeout=150,
                              env={"OMP_NUM_THREADS": str(THREADS)})
            common.same("standard error", b"", done.err)
            fields = done.out.decode().split()
            values = dict(zip(fields[::2], fields[1::2]))
            common.check(values["threads"] == str(THREADS), done.out.decode())
            common.check(int(values["rss"]) // 1024 < LIVE[pattern] * 1.25 + 64,
                         "pattern %s: much more resident memory than is live: %s" % (pattern, done.out.decode()))
            print("pattern %s, %s, limit %s MiB: virtual peak %d MiB, resident peak %d MiB, %s s" % (
                pattern, allocator, limit, int(values["vmpeak"]) // 1024, int(values["rss"]) // 1024,
                values["seconds"]))


common.main(test)
