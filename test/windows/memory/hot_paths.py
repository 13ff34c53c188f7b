#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of malloc's and free's hot paths in a DLL, and compares with Linux.

Usage: hot_paths.py DLL OBJDUMP

The hot path of a function is the shortest way from its entry to a return on which nothing is
called: the slow paths begin with a call, or with a jump to another function. What Linux executes is
in test/golden/hot_paths.json.
"""
import json
import os
import re
import struct
import subprocess
import sys

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../golden/hot_paths.json")
FUNCTIONS = {"scalable_malloc": "malloc", "scalable_free": "free"}
MOST_MORE = 5  # instructions: a thread-local variable takes four of Windows, and one of Linux
LONGEST = 400  # bytes of code that are read of a function


def exports(path):
    """The addresses of the exported functions (Microsoft PE/COFF specification, 6.3)."""
    with open(path, "rb") as file:
        data = file.read()
    header = struct.unpack_from("<I", data, 60)[0]
    sections, = struct.unpack_from("<H", data, header + 6)
    optional_size, = struct.unpack_from("<H", data, header + 20)
    base, = struct.unpack_from("<Q", data, header + 24 + 24)
    table = header + 24 + optional_size
    places = [struct.unpack_from("<IIII", data, table + 40 * i + 8) for i in range(sections)]

    def at(address):
        for size, start, _, offset in places:
            if start <= address < start + size:
                return offset + address - start
        raise SystemExit(f"{path}: no section has the address {address:#x}")

    directory = at(struct.unpack_from("<I", data, header + 24 + 112)[0])
    count, functions, names, ordinals = struct.unpack_from("<IIII", data, directory + 24)
    result = {}
    for i in range(count):
        name = at(struct.unpack_from("<I", data, at(names) + 4 * i)[0])
        ordinal, = struct.unpack_from("<H", data, at(ordinals) + 2 * i)
        address, = struct.unpack_from("<I", data, at(functions) + 4 * ordinal)
        result[data[name:data.index(b"\0", name)].decode()] = base + address
    return result


def instructions(dll, objdump, start):
    """Address -> (address of the next one, mnemonic, address of a jump's target or None)."""
    text = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", f"--start-address={start}",
         f"--stop-address={start + LONGEST}", dll], check=True, capture_output=True, text=True).stdout
    lines = [m for m in (re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(?:([0-9a-f]+)\b)?", line)
                         for line in text.splitlines()) if m]
    found = {}
    for line, after in zip(lines, lines[1:]):
        address, name, target = line.groups()
        found[int(address, 16)] = (int(after[1], 16), name, int(target, 16) if target else None)
    return found


def hot_path(code, start):
    """The number of instructions of the shortest way to a return without a call."""
    seen = {start}
    ways = [(start, 1)]
    for address, count in ways:  # grows meanwhile, in the order of the count
        if address not in code:
            continue
        after, name, target = code[address]
        if name.startswith("ret"):
            return count
        if name.startswith("call"):
            continue
        following = [] if name.startswith("jmp") else [after]
        if name.startswith("j"):
            following.append(target)
        for n in following:
            if n not in seen:
                seen.add(n)
                ways.append((n, count + 1))
    raise SystemExit(f"{start:#x}: no way to a return was found")


def main():
    dll, objdump = sys.argv[1:]
    with open(GOLDEN, encoding="utf-8") as file:
        golden = json.load(file)["paths"]
    addresses = exports(dll)
    wrong = False
    for function, path in FUNCTIONS.items():
        start = addresses[function]
        here = hot_path(instructions(dll, objdump, start), start)
        linux = golden[path]["typical"]["instructions"]
        print(f"{function}: {here} instructions, {linux} on Linux")
        wrong = wrong or here > linux + MOST_MORE
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
