# SPDX-License-Identifier: Apache-2.0
"""The flow graph programs among oneTBB's examples, compiled unchanged with Corbel's headers and linked
to its scheduler: a simulation of logic circuits (composite, indexer, multifunction, write-once,
overwrite and input nodes, in cycles), a compressor (async and sequencer nodes) and a bin packer
(rejecting nodes and a buffer). What comes out must be what comes out with oneTBB, or be right. ./dev
test --full also runs the dining philosophers (reserving joins), which take a minute, and a
self-organising map (many graphs, which are cancelled and reset).

The examples are in the Debian package libtbb-doc, which ./dev unpacks (scripts/dev/packages.sh)."""

import bz2
import collections
import glob
import hashlib
import os
import re

import common

EXAMPLES = os.path.join(common.HERE, "..", "..", "build", "unpacked", "libtbb-doc", "usr", "share",
                        "doc", "libtbb-dev", "examples")
# Of what the simulation prints after its first line, without times, also with oneTBB 2023.2.
CIRCUITS = "6b60ebfe1a55fb8ccb0123c0e3af5fadcf8e815d119c6026fb62adf729c08290"


def build(compiler, scratch, *sources):
    """The program made of these files."""
    libs = common.scheduler_dir()
    target = os.path.join(scratch, os.path.basename(os.path.dirname(sources[0])))
    found = [path for source in sources
             for path in sorted(glob.glob(os.path.join(EXAMPLES, "graph", source)))]
    common.run([compiler, "-std=c++17", "-O1", "-pthread", "-w", *found, "-o", target,
                *("-I" + path for path in common.include_dirs()), "-I" + EXAMPLES, "-L" + libs,
                "-l:" + common.SCHEDULER, "-Wl,-rpath," + libs], timeout=300)
    return target


def simulate_circuits(program):
    lines = common.run([program, "2"]).out.splitlines()
    common.same("the first line", b"graph test running on 2 threads.", lines[0])
    kept = [line for line in lines[1:] if not line.startswith(b"elapsed")]
    common.same("what %d lines print" % len(kept), CIRCUITS,
                hashlib.sha256(b"\n".join(kept)).hexdigest())


def compress(program, scratch):
    data = b"".join(hashlib.sha256(b"%d" % (i % 5000)).hexdigest().encode() * (i % 7)
                    for i in range(20000))
    source = os.path.join(scratch, "data")
    with open(source, "wb") as file:
        file.write(data)
    packed = []
    for options in ([], ["-async"]):
        common.run([program, *options, source])
        with open(source + ".bz2", "rb") as file:
            packed.append(file.read())
        common.check(bz2.decompress(packed[-1]) == data, "%s lost something" % options)
    common.check(packed[0] == packed[1], "the two ways differ")


def pack_bins(program):
    for threads in "124":
        out = common.run([program, threads, "elements_num=3000", "verbose"]).out.decode()
        bins = [[int(item) for item in found.split()]
                for found in re.findall(r"^\[ ([0-9 ]+)\]=", out, re.MULTILINE)]
        common.same("the number of items with %s threads" % threads, 3000, sum(map(len, bins)))
        common.check(max(map(sum, bins)) <= 42, "a bin has too much")
        common.check("items:3000/3000/3000" in out, "the last line is missing")


def dine(program):
    lines = common.run([program, "2", "n-of-philosophers=5", "verbose"]).out.decode().splitlines()
    ends = collections.Counter(line.split(" ", 1)[1] for line in lines
                               if re.match(r"[A-Z][a-z]+ (done|has|eating|thinking)", line))
    common.same("what the philosophers did",
                {"thinking": 50, "done thinking": 50, "eating": 50, "done eating": 50,
                 "has left the building": 5}, dict(ends))


def test(scratch):
    compiler = common.require("g++", package="g++")
    if not os.path.isdir(EXAMPLES):
        common.skip("no libtbb-doc (./dev test unpacks it on Debian 12)")
    compress(build(compiler, scratch, "fgbzip2/*.cpp"), scratch)
    pack_bins(build(compiler, scratch, "binpack/*.cpp"))
    simulate_circuits(build(compiler, scratch, "logic_sim/*.cpp"))
    if common.FULL:
        dine(build(compiler, scratch, "dining_philosophers/*.cpp"))
        map_program = build(compiler, scratch, "som/*.cpp")
        common.check(common.run([map_program, "2"]).out.strip().endswith(b"done"), "no map was made")


common.main(test)
