#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the README's chart from a run of the lab: time and memory of the allocators, all rows in one
geometric mean, Corbel as 1.

Usage: bench/lab/chart.py FOLDER_OF_A_RUN FILE.svg
The chart of the README: bench/lab/chart.py docs/bench/allocator docs/images/allocators.svg
"""
import csv
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# In place of this folder, whose statistics.py would hide the standard one.
sys.path[:1] = [str(HERE.parent), str(HERE.parents[1] / "tools")]

from lab.statistics import geometric_mean  # noqa: E402
from report import colours, environment  # noqa: E402

CORBEL = "corbel"
PEERS = ["glibc", "tbbmalloc", "tcmalloc", "jemalloc", "mimalloc3", "rpmalloc", "snmalloc",
         "mimalloc2"]
NAMES = {"corbel": "Corbel", "mimalloc2": "mimalloc 2", "mimalloc3": "mimalloc 3"}
PANELS = (("value", "time"), ("peak_rss_kib", "peak resident memory"))


def ratios_of(table):
    """{metric: {contestant: geometric mean of contestant ÷ Corbel}} and the number of rows. A row
    counts for a peer if both have a figure in it; rates are inverted."""
    rows = {}
    for line in table:
        if line["kernel"] != "control":
            rows.setdefault(line["row"], {})[line["contestant"]] = line
    rows = {name: row for name, row in rows.items() if row.get(CORBEL, {}).get("value")}
    means = {}
    for metric, _ in PANELS:
        means[metric] = {CORBEL: 1.0}
        for peer in PEERS:
            found = []
            for row in rows.values():
                if not row.get(peer, {}).get(metric):
                    continue
                ratio = float(row[peer][metric]) / float(row[CORBEL][metric])
                is_rate = metric == "value" and row[peer]["unit"].endswith("/s")
                found.append(1 / ratio if is_rate else ratio)
            if found:
                means[metric][peer] = geometric_mean(found)
    return means, sum(any(row.get(peer, {}).get("value") for peer in PEERS)
                      for row in rows.values())


def draw(means, rows):
    """The chart as the text of an SVG file that follows the reader's light or dark setting."""
    from report import svg
    order = sorted(means["value"], key=means["value"].get)
    figure, axes = svg.subplots(7.6, 2.7, 1, 2, sharey=True, layout="constrained")
    for panel, (metric, title) in zip(axes, PANELS):
        values = [means[metric][name] for name in order]
        paint = [colours.placeholder("corbel" if name == CORBEL else "system") for name in order]
        panel.barh(range(len(order)), values, 0.7, color=paint)
        panel.axvline(1, color=colours.placeholder("ink"), linewidth=0.6, linestyle=(0, (2, 3)))
        for place, value in enumerate(values):
            panel.text(max(value, 1) + max(values) * 0.02, place, f"{value:.2f}×", va="center", fontsize=9,
                       fontweight="bold" if order[place] == CORBEL else "normal")
        panel.set_title(f"{title}, less is better", loc="left", fontweight="bold")
        panel.set_xlim(0, max(values) * 1.15)
        panel.set_xticks([])
        panel.set_yticks(range(len(order)), [NAMES.get(name, name) for name in order])
        panel.set_ylim(len(order) - 0.5, -0.5)
        panel.tick_params(axis="both", length=0)
        panel.spines["bottom"].set_visible(False)
    axes[0].get_yticklabels()[order.index(CORBEL)].set_fontweight("bold")
    label = (f"Allocators, geometric means over {rows} rows, Corbel = 1. " + " ".join(
        f"{title}: " + ", ".join(f"{NAMES.get(n, n)} {means[metric][n]:.2f}" for n in order) + "."
        for metric, title in PANELS))
    text = svg.embed(figure, label, "allocators")
    text = text.removeprefix("<figure>").removesuffix("</figure>")
    # A file of its own has no page around it: it brings the colours, a surface and the font.
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups()
    frame = (f"<style>{colours.css()}text{{font-family:system-ui,sans-serif}}</style>"
             f'<rect width="{width}" height="{height}" rx="6" fill="var(--card)"/>')
    text = text.replace("<svg ", f'<svg width="{width}pt" height="{height}pt" ', 1)
    return re.sub(r"(<svg [^>]*>)", lambda match: match.group() + frame, text, count=1) + "\n"


def main(words):
    if len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    environment.enter()
    from report import svg
    if not svg.PLOTS:
        print("chart: matplotlib is missing", file=sys.stderr)
        return 1
    with open(Path(words[0]) / "results.csv", newline="", encoding="utf-8") as file:
        means, rows = ratios_of(csv.DictReader(file))
    Path(words[1]).write_text(draw(means, rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
