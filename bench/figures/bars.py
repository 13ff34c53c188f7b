# SPDX-License-Identifier: Apache-2.0
"""Bars: a panel for each case and number of threads, a bar for each contestant."""
from lab.page import looks, show
from lab.page.model import MEMORY

from . import drawing

PLOTS = ("bars",)
COLUMNS = 3


def _panel(axes, row, metric, unit, identities, named):
    cells = [row.cells.get(identity) for identity in identities]
    medians = [cell.median(metric) if cell and cell.good else None for cell in cells]
    limit = drawing.clip(medians)
    for place, (identity, cell, median) in enumerate(zip(identities, cells, medians)):
        if median is None:
            text = "failed" if cell and cell.failure else "–"
            axes.text(limit * 0.02, place, text, va="center", fontsize=drawing.TINY,
                      color=drawing.SOFT)
            continue
        cut = median > limit
        axes.barh(place, min(median, limit), 0.72, color=drawing.colour(identity),
                  alpha=1 if drawing.is_corbel(identity) else 0.8)
        summary = cell.summary(metric)
        if not cut:
            drawing.whiskers(axes, place, summary, 1, limit=limit * 1.05)
        end = min(max(median, summary.high), limit * 1.05)
        axes.text(end + limit * 0.03, place,
                  ("» " if cut else "") + drawing.short(median, unit), va="center",
                  fontsize=drawing.TINY,
                  fontweight="bold" if drawing.is_corbel(identity) else "normal")
    axes.set_xlim(0, limit * 1.62)
    axes.set_ylim(len(identities) - 0.4, -0.6)
    axes.set_yticks(range(len(identities)),
                    [looks.name(i) for i in identities] if named else [""] * len(identities))
    for label, identity in zip(axes.get_yticklabels(), identities):
        label.set_fontweight("bold" if drawing.is_corbel(identity) else "normal")
    axes.tick_params(axis="both", length=0)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


def _title(kernel, row):
    """The part of a panel's name that differs from the others."""
    several = len(kernel.thread_counts) > 1
    return show.case_text(row) if several or not row.case else row.case


def draw(kernel, run):
    return figure(kernel, "value", kernel.unit, drawing.axis_text(kernel))


def memory(kernel):
    """Bars of the peak of resident memory."""
    return figure(kernel, MEMORY, "KiB", "peak RSS (less is better)", "-memory")


def figure(kernel, metric, unit, label, mark=""):
    rows = [row for case in kernel.case_labels for threads in kernel.thread_counts
            if (row := kernel.row(case, threads)) and row.measured(controls=True)]
    if not rows:
        return ""
    identities = [identity for identity in kernel.contestants
                  if any(identity in row.cells for row in rows)]
    several = len(kernel.thread_counts)
    columns = min(several, 4) if several > 1 else min(COLUMNS, len(rows))
    lines = -(-len(rows) // columns)
    titles = [drawing.wrapped(_title(kernel, row), 66 // columns) for row in rows]
    above = max(title.count("\n") for title in titles) * 0.13
    panel = 0.17 * len(identities) + 0.34 + above
    drawn, axes = drawing.subplots(panel * lines + 0.25, lines, columns,
                                    layout="constrained")
    for index, (row, title) in enumerate(zip(rows, titles)):
        _panel(axes[index], row, metric, unit, identities, index % columns == 0)
        axes[index].set_title(title, loc="left", fontsize=drawing.SMALL)
    for unused in axes[len(rows):]:
        unused.axis("off")
    drawn.supxlabel(label, fontsize=drawing.SMALL)
    return drawing.embed(drawn, kernel, f"bars, {label}", mark)
