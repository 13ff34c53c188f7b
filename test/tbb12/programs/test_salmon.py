# SPDX-License-Identifier: Apache-2.0
"""salmon indexes transcripts (TwoPaCo in it fills bounded queues) and counts the reads of each. The
order of the index and the last digits of the estimates differ from run to run, on oneTBB too."""

import glob
import os
import random

import both
from both import common

READS = 20000 if common.FULL else 10000
TRANSCRIPTS = 300
OTHER = str.maketrans("ACGT", "TGCA")


def write_sequences(folder):
    """The paths of the transcripts and of both ends of the reads."""
    dice = random.Random(2)
    exons = ["".join(dice.choices("ACGT", k=dice.randint(150, 400))) for _ in range(50)]
    transcripts = ["".join(dice.sample(exons, 4)) for _ in range(TRANSCRIPTS)]
    paths = [os.path.join(folder, name) for name in ("transcripts.fa", "left.fq", "right.fq")]
    with open(paths[0], "w") as out:
        out.write("".join(f">t{number}\n{bases}\n" for number, bases in enumerate(transcripts)))
    with open(paths[1], "w") as left, open(paths[2], "w") as right:
        for number in range(READS):
            transcript = transcripts[int(dice.random() ** 3 * TRANSCRIPTS)]
            begin = dice.randint(0, len(transcript) - 250)
            ends = transcript[begin:begin + 75], transcript[begin + 175:begin + 250].translate(OTHER)[::-1]
            for out, bases in zip((left, right), ends):
                out.write(f"@read{number}\n{bases}\n+\n{'I' * 75}\n")
    return paths


def outcome(_done, folder):
    """The sizes of the index's files, without logs, and {transcript: reads}."""
    files = {os.path.basename(path): os.path.getsize(path)
             for path in sorted(glob.glob(os.path.join(folder, "index", "*.bin")))}
    with open(os.path.join(folder, "counted", "quant.sf")) as table:
        rows = [line.split() for line in table][1:]
    return files, {row[0]: float(row[4]) for row in rows}


def nearly(label, expected, found):
    common.check(len(expected[0]) > 5, "the index has too few files")
    common.same(f"{label}: index", expected[0], found[0])
    common.same(f"{label}: transcripts", list(expected[1]), list(found[1]))
    for name, reads in expected[1].items():
        common.check(abs(reads - found[1][name]) <= 10 + 0.03 * reads,
                     f"{label}: {name} has {found[1][name]} reads, not {reads}")


def test(scratch):
    salmon = common.require("salmon", package="salmon")
    transcripts, left, right = write_sequences(scratch)
    script = ('"$0" index -t "$1" -i index -k 21 -p 2 && '
              '"$0" quant -i index -l A -1 "$2" -2 "$3" -p 2 -o counted')
    both.compare("salmon", ["/bin/sh", "-c", script, salmon, transcripts, left, right], scratch, outcome,
                 nearly, uses=["wait_bounded_queue_monitor", "spawn"])


common.main(test)
