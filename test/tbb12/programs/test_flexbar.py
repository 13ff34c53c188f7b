# SPDX-License-Identifier: Apache-2.0
"""flexbar trims the adapters of reads. Its reading, trimming and writing are a parallel_pipeline."""

import os
import random

import both
from both import common

ADAPTER = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA"
READS = 40000 if common.FULL else 15000


def write_reads(path):
    dice = random.Random(1)
    with open(path, "w") as out:
        for number in range(READS):
            bases = "".join(dice.choices("ACGT", k=dice.randint(60, 120)))
            bases += ADAPTER[:dice.randint(0, len(ADAPTER))]
            marks = "".join(chr(33 + min(40, max(2, int(dice.gauss(30, 8))))) for _ in bases)
            out.write(f"@read{number}\n{bases}\n+\n{marks}\n")


def trimmed(_done, folder):
    with open(os.path.join(folder, "out.fastq"), "rb") as out:
        return out.read()


def test(scratch):
    flexbar = common.require("flexbar", package="flexbar")
    reads, adapters = (os.path.join(scratch, name) for name in ("reads.fastq", "adapters.fasta"))
    write_reads(reads)
    with open(adapters, "w") as out:
        out.write(f">adapter\n{ADAPTER}\n")
    command = [flexbar, "-r", reads, "-t", "out", "-n", "4", "-a", adapters, "-q", "TAIL", "-qf", "i1.8"]
    both.compare("flexbar", command, scratch, trimmed, uses=["parallel_pipeline"])


common.main(test)
