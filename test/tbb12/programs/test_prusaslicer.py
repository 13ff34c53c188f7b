# SPDX-License-Identifier: Apache-2.0
"""PrusaSlicer makes the paths of a printer's head: loops, observers, a pipeline that writes G-code.
Where the paths begin differs from run to run, on oneTBB too. What is compared: the height of each
layer, the kinds of its parts, and, nearly, the plastic that it takes."""

import collections
import math
import os
import re

import both
from both import common

CORNERS = 14
ROWS = 30 if common.FULL else 20
PART = re.compile(r";TYPE:(.*)")
HEIGHT = re.compile(r";Z:(.*)")
EXTRUSION = re.compile(r"G1 .*E(-?[\d.]+)")
TOLERANCE = 0.01


def corner(row, number):
    """A point of a star that gets smaller with its height."""
    radius = (15 + number % CORNERS * 0.3 if number % 2 else 8) * (1 - 0.3 * row / ROWS)
    angle = 2 * math.pi * number / CORNERS
    return radius * math.cos(angle), radius * math.sin(angle), 8 * row / ROWS


def write_model(path):
    triangles = []
    for number in range(CORNERS):
        triangles.append(((0, 0, 0), corner(0, number + 1), corner(0, number)))
        triangles.append(((0, 0, 8), corner(ROWS, number), corner(ROWS, number + 1)))
        for row in range(ROWS):
            a, b = corner(row, number), corner(row, number + 1)
            c, d = corner(row + 1, number + 1), corner(row + 1, number)
            triangles += [(a, b, c), (a, c, d)]
    with open(path, "w") as out:
        out.write("solid star\n")
        for triangle in triangles:
            out.write("facet normal 0 0 0\nouter loop\n")
            out.write("".join("vertex %.5f %.5f %.5f\n" % point for point in triangle))
            out.write("endloop\nendfacet\n")
        out.write("endsolid star\n")


def layers(_done, folder):
    """[(height, {kind of part: plastic})]"""
    found, part, last = [], "none", 0.0
    with open(os.path.join(folder, "star.gcode")) as lines:
        for line in lines:
            if height := HEIGHT.match(line):
                found.append((height.group(1), collections.Counter()))
            elif kind := PART.match(line):
                part = kind.group(1)
            elif line.startswith("G92 E0"):
                last = 0.0
            elif (move := EXTRUSION.match(line)) and found:
                found[-1][1][part] += float(move.group(1)) - last
                last = float(move.group(1))
    return found


def nearly(label, expected, found):
    common.check(len(expected) > 20, "the model has too few layers")
    common.same(f"{label}: heights", [layer[0] for layer in expected], [layer[0] for layer in found])
    for (height, wanted), (_, parts) in zip(expected, found):
        common.same(f"{label}: parts at {height}", sorted(wanted), sorted(parts))
        for name, plastic in wanted.items():
            common.check(abs(plastic - parts[name]) <= TOLERANCE * sum(wanted.values()),
                         f"{label}: {name} at {height} takes {parts[name]}, not {plastic}")


def test(scratch):
    slicer = common.require("prusa-slicer", package="prusa-slicer")
    model = os.path.join(scratch, "star.stl")
    write_model(model)
    both.compare("PrusaSlicer", [slicer, "--export-gcode", "--support-material", "-o", "star.gcode", model],
                 scratch, layers, nearly, uses=["parallel_pipeline", "observe", "execute_and_wait"])


common.main(test)
