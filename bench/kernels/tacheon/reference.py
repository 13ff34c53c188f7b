#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the reference of the kernel again after a deliberate change of the scene: scene.png, the
whole picture, and reference.inc, which the kernel compares with. Look at the picture before you
commit it.

Usage: reference.py PROGRAM, where PROGRAM is the kernel's serial program.
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

FOLDER = pathlib.Path(__file__).resolve().parent


def read_ppm(path):
    """Width, height and the rows of a binary PPM as the kernel writes it."""
    data = path.read_bytes()
    head, _, pixels = data.partition(b"\n")
    width, height = (int(field) for field in head.split()[1:3])
    return width, height, [pixels[i:i + 3 * width] for i in range(0, len(pixels), 3 * width)]


def filtered(row, above):
    """The row after the PNG filter that compresses best (of none, left, up, Paeth)."""
    def paeth(a, b, c):
        p = a + b - c
        return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]

    left = bytes(3) + row[:-3]
    corner = bytes(3) + above[:-3]
    ways = {
        0: row,
        1: bytes((x - a) & 255 for x, a in zip(row, left)),
        2: bytes((x - b) & 255 for x, b in zip(row, above)),
        4: bytes((x - paeth(a, b, c)) & 255 for x, a, b, c in zip(row, left, above, corner)),
    }
    best = min(ways, key=lambda way: sum(min(x, 256 - x) for x in ways[way]))
    return bytes([best]) + ways[best]


def png(width, height, rows):
    def chunk(name, data):
        return (struct.pack(">I", len(data)) + name + data
                + struct.pack(">I", zlib.crc32(name + data)))

    above = [bytes(3 * width)] + rows[:-1]
    body = b"".join(filtered(row, before) for row, before in zip(rows, above))
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b""))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        image, sums = pathlib.Path(folder, "image.ppm"), pathlib.Path(folder, "sums")
        subprocess.run([sys.argv[1], f"image={image}", f"reference={sums}"], check=True)
        (FOLDER / "scene.png").write_bytes(png(*read_ppm(image)))
        text = sums.read_text()
    lines = [text[i:i + 96] for i in range(0, len(text), 96)]
    # One literal for C++ and Rust: both drop a line end after a backslash.
    (FOLDER / "reference.inc").write_text('"' + "\\\n".join(lines) + '"\n')


if __name__ == "__main__":
    main()
