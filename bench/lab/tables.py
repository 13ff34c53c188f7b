#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the rows of some kernels as Markdown tables, a line for each case and number of threads, a
column for each contestant. Figures of Corbel that are worse than the best
peer's beyond what chance explains are bold.

Usage: bench/lab/tables.py FOLDER_OF_A_RUN GROUP...
The tables of docs/bench/containers.md: bench/lab/tables.py FOLDER container
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# In place of this folder, whose statistics.py would hide the standard one.
sys.path[:1] = [str(HERE.parent), str(HERE.parents[1] / "tools")]

from lab.page import looks, show  # noqa: E402
from lab.page.contest import BEHIND, View  # noqa: E402
from lab.page.model import Run, ordered  # noqa: E402


def line(row, columns):
    """A row as a line of its table."""
    view = View(row)
    best = view.best("value")
    verdict = view.against(best, "value") if view.subject and best else None
    name = ", ".join(filter(None, (row.case, f"t{row.threads}")))
    cells = []
    for column in columns:
        cell = row.cells.get(column)
        text = show.value(cell.median(), row.kernel.unit) if cell and cell.good else "–"
        if column == view.subject and verdict and verdict.verdict == BEHIND:
            text = f"**{text}**"
        cells.append(text)
    return f"| {name} | {' | '.join(cells)} |"


def table(kernel):
    columns = sorted({name for row in kernel.rows for name in row.cells}, key=looks.sort_key)
    heads = " | ".join(looks.name(column) for column in columns)
    lines = [f"## {kernel.title}: {kernel.metric}", "", kernel.what, "",
             f"| | {heads} |", f"| --- |{' ---: |' * len(columns)}"]
    return "\n".join(lines + [line(row, columns) for row in ordered(kernel) if row.cells])


def main(words):
    if len(words) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    run = Run(Path(words[0]))
    kernels = [kernel for group, _, found in run.groups() if group in words[1:]
               for kernel in found]
    print("\n\n".join(table(kernel) for kernel in kernels))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
