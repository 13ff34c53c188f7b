# SPDX-License-Identifier: Apache-2.0
"""Curves inside a run: the time of the n-th conversion, memory over time. A series whose name
starts with a word for time is the x axis of the others. Rows that were sampled for the share of time
in the allocator show that share, because the sampler slows their curves down.
"""
from lab.page import looks, show

from . import bars, drawing

PLOTS = ("series",)
TIMES = ("t", "time", "second", "seconds", "ms", "at", "x")
UNITS = {"s", "ms", "us", "µs", "ns", "KiB", "MiB", "GiB", "%", "seconds"}
MAX_POINTS = 240
HEIGHT = 2.4
SHARE = "allocator_share"


def _axis(curves):
    """(name of the x series or None, names of the y series)."""
    for name in curves:
        first = name.replace("_", " ").replace(",", " ").split()
        if first and first[0].lower() in TIMES and len(curves) > 1:
            return name, [other for other in curves if other != name]
    return None, list(curves)


def _scaled(kernel, name, top):
    """(divisor, axis text): without a unit in the name, the kernel's unit."""
    text = show.words(name)
    if set(text.replace(",", " ").split()) & UNITS or not kernel.is_time:
        return 1, text
    divisor, unit = show.scale(top, kernel.unit)
    return divisor, f"{text}, {unit}"


def _thinned(points):
    step = -(-len(points) // MAX_POINTS)
    return points[::step] if step > 1 else points


def _panel(axes, row, name):
    curves = {cell.identity: cell.series() for cell in row.measured(controls=True)}
    curves = {identity: found for identity, found in curves.items() if name in found}
    divisor, text = _scaled(row.kernel, name, max(max(found[name]) for found in curves.values()))
    ends, label = [], None
    for identity, found in curves.items():
        label = _axis(found)[0]
        places = found[label] if label else range(1, len(found[name]) + 1)
        points = _thinned([(x, y / divisor) for x, y in zip(places, found[name])])
        axes.plot(*zip(*points), **drawing.line_style(identity))
        ends.append((identity, *points[-1]))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    axes.grid(axis="y", linewidth=0.6)
    axes.set_ylabel(drawing.wrapped(text, 34))
    axes.set_xlabel(show.words(label or f"n-th {name} of one process"))
    drawing.end_labels(axes, ends, HEIGHT)


def _share_panel(axes, row, _):
    cells = [cell for cell in row.measured(controls=True) if cell.extra(SHARE) is not None]
    for place, cell in enumerate(cells):
        percent = 100 * cell.extra(SHARE)
        axes.barh(place, percent, 0.72, color=drawing.colour(cell.identity))
        axes.text(percent + 1, place, f"{percent:.0f} %", va="center", fontsize=drawing.TINY,
                  fontweight="bold" if drawing.is_corbel(cell.identity) else "normal")
    axes.set_yticks(range(len(cells)), [looks.name(cell.identity) for cell in cells])
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the processor time spent in the allocator, % (less is better)")
    axes.tick_params(axis="y", length=0)


def _panels(row):
    """[(row, what, how it is drawn)]"""
    cells = row.measured() if row else []
    if any(cell.extra(SHARE) is not None for cell in cells):
        return [(row, SHARE, _share_panel)]
    names = dict.fromkeys(name for cell in cells for name in _axis(cell.series())[1])
    return [(row, name, _panel) for name in names]


def draw(kernel, run):
    panels = []
    for case in kernel.case_labels:
        for threads in kernel.thread_counts:
            panels += _panels(kernel.row(case, threads))
    if not panels:
        return bars.draw(kernel, run)
    figure, axes = drawing.subplots((HEIGHT + 0.7) * len(panels), len(panels))
    figure.subplots_adjust(hspace=0.42, right=0.8)
    for each, (row, name, draw_panel) in zip(axes, panels):
        draw_panel(each, row, name)
        if len(kernel.rows) > 1:
            each.set_title(show.case_text(row), loc="left", fontsize=drawing.SMALL,
                           fontweight="bold")
    return drawing.embed(figure, kernel, "curves over the run")
