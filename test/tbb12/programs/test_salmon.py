# SPDX-License-Identifier: Apache-2.0
"""salmon indexes transcripts (TwoPaCo in it waits in bounded queues) and counts the reads of each."""

import os
import random

import both
from both import common

READS = 100000 if common.FULL else 10000
OTHER = str.maketrans("ACGT", "TGCA")


def write_sequences(folder):
    """The paths of the transcripts and of both ends of the reads."""
    dice = random.Random(2)
    transcripts = ["".join(dice.choices("ACGT", k=dice.randint(400, 1500))) for _ in range(60)]
    paths = [os.path.join(folder, name) for name in ("transcripts.fa", "left.fq", "right.fq")]
    with open(paths[0], "w") as out:
        out.write("".join(f">t{number}\n{bases}\n" for number, bases in enumerate(transcripts)))
    with open(paths[1], "w") as left, open(paths[2], "w") as right:
        for number in range(READS):
            transcript = transcripts[min(59, int(dice.expovariate(0.1)))]
            begin = dice.randint(0, len(transcript) - 250)
            ends = transcript[begin:begin + 75], transcript[begin + 175:begin + 250].translate(OTHER)[::-1]
            for out, bases in zip((left, right), ends):
                out.write(f"@read{number}\n{bases}\n+\n{'I' * 75}\n")
    return paths


def counts(_done, folder):
    """The counts: the estimates are sums of numbers in the order in which threads bring them."""
    with open(os.path.join(folder, "counted", "quant.sf")) as table:
        rows = [line.split() for line in table][1:]
    return "\n".join(f"{name} {length} {round(float(reads))}" for name, length, _, _, reads in rows)


def test(scratch):
    salmon = common.require("salmon", package="salmon")
    transcripts, left, right = write_sequences(scratch)
    script = ('"$0" index -t "$1" -i index -k 21 -p 2 && '
              '"$0" quant -i index -l A -1 "$2" -2 "$3" -p 2 -o counted')
    both.compare("salmon", ["/bin/sh", "-c", script, salmon, transcripts, left, right], scratch, counts,
                 uses=["wait_bounded_queue_monitor", "spawn"])


common.main(test)
