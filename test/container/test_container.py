#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On Corbel, without any setting, a server survives whose live memory is 70 % of its container's.

    test_container.py judge|survive SERVER PROXY

`judge` tests the test, on the system's malloc: a server that fits survives, and one that cannot fit
is reported as killed. CORBEL_CONTAINER_SECONDS is the duration (12).
"""
import os
import sys

import served
from cgroup import Cgroup, Unavailable

LIMIT_MIB = 256
SKIP = 77


def check(good, what):
    if not good:
        print(f"FAIL: {what}")
        sys.exit(1)


def told(name, one):
    print(f"{name}: {one.ended} after {one.seconds:.1f} s, {one.requests} requests, at most "
          f"{one.live:.0f} MiB alive, peak {one.peak or 0:.1f} MiB, limit met {one.failures} times")
    return one


def judge(server, _):
    fits = told("fits", served.serve(server, "fits", 128, 2, {}, live_mib=20))
    check(fits.survived and fits.kills == 0, "a server that fits did not survive")
    check(fits.requests > 1000 and 15 < fits.live < 30, "the server did not follow its arguments")
    check(fits.peak is None or 20 < fits.peak < 127, "the peak is implausible")
    over = told("over", served.serve(server, "over", 160, 20, {}, live_mib=220))
    check(over.ended == "killed" and over.kills > 0, "one that cannot fit was not killed")
    check(0 < over.live < 160 and over.requests > 0, "the server did nothing before it was killed")


def survive(server, proxy):
    seconds = float(os.environ.get("CORBEL_CONTAINER_SECONDS", 12))
    one = told("Corbel", served.serve(server, "survive", LIMIT_MIB, seconds, {"LD_PRELOAD": proxy}))
    check(one.survived, f"the server did not survive: {one.ended}")
    check(one.kills == 0, "a process in the container was killed")
    target = int(LIMIT_MIB * served.LIVE_SHARE)
    check(one.live > target * 0.98, f"{one.live} MiB were live, not {target}")


def main():
    what, server, proxy = sys.argv[1:]
    try:
        Cgroup("probe", 16 << 20).remove()
    except Unavailable as why:
        print(f"SKIP: no memory cgroup can be made here: {why}")
        sys.exit(SKIP)
    {"judge": judge, "survive": survive}[what](server, proxy)


if __name__ == "__main__":
    main()
