#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a trivial program on Corbel with the same program on the system's malloc: the peak of
its virtual size may be 48 MiB larger, the peak of its resident size 1 MiB.

Usage: footprint.py TRIVIAL_PROGRAM PROXY_LIBRARY
"""
import os
import statistics
import subprocess
import sys

RUNS = 9
LIMITS_KIB = {"VmPeak": 48 * 1024, "VmHWM": 1024}


def measure(program, preload):
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    if preload:
        environment["LD_PRELOAD"] = preload
    figures = {key: [] for key in LIMITS_KIB}
    for _ in range(RUNS):
        output = subprocess.run(
            [program], env=environment, check=True, capture_output=True, text=True
        ).stdout
        for line in output.splitlines():
            key, value = line.split(":")
            figures[key].append(int(value.split()[0]))
    return {key: statistics.median(values) for key, values in figures.items()}


def main():
    program, library = sys.argv[1:]
    system, corbel = measure(program, None), measure(program, library)
    failed = False
    for key, limit in LIMITS_KIB.items():
        more = corbel[key] - system[key]
        print(f"{key}: system {system[key]:.0f} KiB, Corbel {corbel[key]:.0f} KiB, "
              f"{more:+.0f} KiB (limit {limit:+d})")
        failed = failed or more > limit
    if corbel == system:
        print("the figures are the same with and without the library: was it loaded?")
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
