# SPDX-License-Identifier: Apache-2.0
"""Profiles for the tests: writes and reads pprof's format, and makes the raw profile of a program
that records stacks by itself, so that every number in it is known."""
import gzip
import subprocess
from pathlib import Path

TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
         ("inuse_space", "bytes"), ("peak_objects", "count"), ("peak_space", "bytes")]

# Included by programs: begin() prints the mappings, record(bytes) the stack of its caller.
RECORDER = r"""
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t recorder_lock = PTHREAD_MUTEX_INITIALIZER;
static void begin(void) {
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) printf("map %s", line);
  fclose(maps);
}
__attribute__((noinline)) static void record(long bytes) {
  void *frames[100];
  int count = backtrace(frames, 100);
  pthread_mutex_lock(&recorder_lock);
  printf("stack %ld", bytes);
  for (int i = 1; i < count; ++i) printf(" %lx", (unsigned long)frames[i] - 1);
  printf("\n");
  fflush(stdout);
  pthread_mutex_unlock(&recorder_lock);
}
"""


def varint(value):
    value &= (1 << 64) - 1
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7f | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def content(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def encode(samples, mappings=(), types=TYPES, comments=(), locations=None, functions=()):
    """A profile. A sample is (addresses, values, labels), a mapping (start, limit, offset, file,
    build id). `locations` gives an address its lines, [(function, line)], with 1 for the first of
    `functions`, (name, file)."""
    texts = {"": 0}

    def text(value):
        return texts.setdefault(value, len(texts))

    parts = []
    for kind, unit in types:
        parts.append(content(1, number(1, text(kind)) + number(2, text(unit))))
    places = {}
    for addresses, values, labels in samples:
        ids = [places.setdefault(address, len(places) + 1) for address in addresses]
        sample = content(1, b"".join(map(varint, ids))) + content(2, b"".join(map(varint, values)))
        for key, value in labels.items():
            sample += content(3, number(1, text(key)) + number(2, text(value)))
        parts.append(content(2, sample))
    for i, (start, limit, offset, file, build_id) in enumerate(mappings, 1):
        parts.append(content(3, number(1, i) + number(2, start) + number(3, limit) + number(4, offset)
                        + number(5, text(file)) + number(6, text(build_id))))
    for address, place in places.items():
        mapping = next((i for i, m in enumerate(mappings, 1) if m[0] <= address < m[1]), 0)
        lines = b"".join(content(4, number(1, function) + number(2, line))
                         for function, line in (locations or {}).get(address, ()))
        parts.append(content(4, number(1, place) + number(2, mapping) + number(3, address) + lines))
    for i, (name, file) in enumerate(functions, 1):
        parts.append(content(5, number(1, i) + number(2, text(name)) + number(3, text(name))
                        + number(4, text(file))))
    if comments:
        parts.append(content(13, b"".join(varint(text(each)) for each in comments)))
    parts.append(number(14, text("inuse_space")))
    return b"".join(content(6, each.encode()) for each in texts) + b"".join(parts)


def fields(message):
    """Yields (field, number or bytes)."""
    at = 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = read()
        if key & 7 == 0:
            yield key >> 3, read()
        else:
            size = read()
            at += size
            yield key >> 3, message[at - size:at]


def numbers(value):
    if isinstance(value, int):
        return [value]
    return [each for _, each in fields(b"".join(
        b"\x08" + part for part in split_numbers(value)))]


def split_numbers(packed):
    begin = 0
    for end, byte in enumerate(packed, 1):
        if byte < 0x80:
            yield packed[begin:end]
            begin = end


class Decoded:
    """A profile file: `samples` are (frames, values, labels), frames "name file:line" with the file's
    last part, innermost first."""

    def __init__(self, path):
        raw = Path(path).read_bytes()
        message = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        parts = {}
        for field, value in fields(message):
            parts.setdefault(field, []).append(value)
        texts = [each.decode() for each in parts[6]]
        self.types = [tuple(texts[dict(fields(each)).get(i, 0)] for i in (1, 2))
                      for each in parts[1]]
        self.comments = [texts[i] for each in parts.get(13, []) for i in numbers(each)]
        self.default = texts[parts.get(14, [0])[0]]
        functions = {}
        for each in parts.get(5, []):
            function = dict(fields(each))
            functions[function[1]] = (texts[function.get(2, 0)],
                                      texts[function.get(4, 0)].rpartition("/")[2])
        locations = {}
        for each in parts.get(4, []):
            place, lines = 0, []
            for field, value in fields(each):
                if field == 1:
                    place = value
                if field == 4:
                    line = dict(fields(value))
                    name, file = functions[line[1]]
                    lines.append(f"{name} {file}:{line.get(2, 0)}" if file else name)
            locations[place] = lines
        self.samples = []
        for each in parts.get(2, []):
            frames, values, labels = [], [], {}
            for field, value in fields(each):
                if field == 1:
                    frames += [line for i in numbers(value) for line in locations[i]]
                if field == 2:
                    values += numbers(value)
                if field == 3:
                    label = dict(fields(value))
                    labels[texts[label[1]]] = texts[label.get(2, 0)]
            self.samples.append((frames, values, labels))


def build_id(path):
    """The build id of a file; empty if it has none."""
    done = subprocess.run(["readelf", "-n", str(path)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return next((line.split()[-1] for line in done.stdout.splitlines() if "Build ID" in line), "")


def raw_profile(output, comments=()):
    """The raw profile of what a program with RECORDER has printed. Every block is in use."""
    mappings, stacks, ids = [], [], {}
    for line in output.splitlines():
        words = line.split()
        if line.startswith("map ") and "x" in words[2] and len(words) > 6:
            start, limit = (int(each, 16) for each in words[1].split("-"))
            path = words[6]
            if path.startswith("/"):
                ids[path] = ids.get(path) or build_id(path)
            mappings.append((start, limit, int(words[3], 16), path, ids.get(path, "")))
        if line.startswith("stack "):
            stacks.append((int(words[1]), [int(each, 16) for each in words[2:]]))
    return gzip.compress(encode(
        [(frames, [1, size, 1, size, 1, size], {"thread": "main (1)"}) for size, frames in stacks],
        mappings, comments=comments))
