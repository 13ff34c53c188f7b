# SPDX-License-Identifier: Apache-2.0
"""Profiles for the tests: the raw profile of a program that records stacks by itself, so that every
number in it is known."""
import gzip
import subprocess
import sys
from pathlib import Path

# One reader and writer of the format for all tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "profile"))
import pprof

TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
         ("inuse_space", "bytes"), ("peak_objects", "count"), ("peak_space", "bytes")]
TIME_TYPES = [("cpu", "nanoseconds"), ("wait", "nanoseconds"), ("faults", "count"), ("sharing", "count"),
              ("allocations", "count"), ("allocated", "bytes"), ("brief", "count"),
              ("handed_over", "count"), ("received", "count"), ("growths", "count"), ("copied", "bytes")]

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


def encode(samples, mappings=(), types=TYPES, default="inuse_space", **options):
    return pprof.encode(samples, mappings, types=types, default=default, **options)


class Decoded:
    """A profile file: `samples` are (frames, values, labels), frames "name file:line" with the file's
    last part, innermost first."""

    def __init__(self, path):
        profile = pprof.Profile(path)
        self.types, self.comments, self.default = profile.types, profile.comments, profile.default_type
        self.samples = [(each["frames"], each["values"], each["labels"]) for each in profile.samples]


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
