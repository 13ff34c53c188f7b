#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""zstd compresses a text, on one thread and on two; what it wrote is decompressed to the same text."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program_runner as runner  # noqa: E402


def run(arguments, _folder):
    level, workers = arguments.number("level", 3), arguments.number("workers", 0)
    program = runner.find("zstd")
    text = runner.text(arguments.number("kib", 8192))
    how = [f"-T{workers}"] if workers else ["--single-thread"]
    done = runner.measure([program, f"-{level}", *how, "-q", "-c", text])
    again = subprocess.run([program, "-d", "-q", "-c"], input=done.output, timeout=300,
                           env=runner.quiet_environment(), stdout=subprocess.PIPE, check=True)
    runner.check(again.stdout == text.read_bytes(), "the text has changed")
    return runner.result(done, extra={"output KiB": len(done.output) / 1024})


def case(label, level, workers, *sizes):
    return (label, *(f"level={level} workers={workers} kib={size}" for size in sizes))


runner.main(runner.describe(
    name="zstd", title="zstd",
    what="zstd compresses a text at several levels, on one thread or on two of its own (T2). It "
         "allocates few blocks, but large ones: the figures are those of fresh pages more than of "
         "allocation.",
    cases=[case("1", 1, 0, 8192, 65536, 524288), case("3", 3, 0, 8192, 65536, 524288),
           case("3 T2", 3, 2, 16384, 65536, 524288), case("9", 9, 0, 4096, 16384, 131072),
           case("9 T2", 9, 2, 16384, 32768, 131072)]), run)
