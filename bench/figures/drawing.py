# SPDX-License-Identifier: Apache-2.0
"""Helpers that the plots share."""
import statistics
import textwrap

from lab.page import looks, show
from report import svg
from report.colours import placeholder

WIDTH = 5.2  # inches: about 375 of the units that a phone shows as pixels
SMALL, TINY = 9, 8
INK, GRID, SOFT, BAD = map(placeholder, ("ink", "grid", "soft", "bad"))
CLIP_AT, CLIP_TO = 5, 3.5  # times the median of the bars


def colour(identity):
    return placeholder(looks.look(identity)[0])


def marker(identity):
    return looks.look(identity)[1]


def is_corbel(identity):
    return looks.parts(identity)[0] == "corbel"


def subplots(height, rows=1, columns=1, **options):
    """A figure of the page's width and a flat list of its axes."""
    figure, axes = svg.subplots(WIDTH, height, rows, columns, font=SMALL, squeeze=False,
                                **options)
    return figure, list(axes.flat)


def embed(figure, kernel, label, mark=""):
    return svg.embed(figure, f"{kernel.title}: {label}", f"f-{kernel.name}{mark}")


def wrapped(text, width):
    return "\n".join(textwrap.wrap(text, width)) if text else ""


def axis_text(kernel, unit=None):
    """The text of an axis: the metric, and the good end."""
    better = "more" if kernel.higher_is_better else "less"
    return f"{kernel.metric}{', ' + unit if unit else ''} ({better} is better)"


def clip(values):
    """The end of an axis, chosen so that one long bar does not flatten all others."""
    values = [value for value in values if value is not None]
    if not values:
        return 1
    middle = statistics.median(values)
    return middle * CLIP_TO if max(values) > middle * CLIP_AT > 0 else max(values) or 1


def spread_out(places, gap, low, high):
    """Moves places (rising) as little as needed to be `gap` apart, within low..high."""
    if not places:
        return []
    gap = min(gap, (high - low) / max(1, len(places) - 1))
    groups = []  # [places' mean without offsets, members]
    for place in places:
        groups.append([place, 1])
        while len(groups) > 1:
            (one, n), (two, m) = groups[-2:]
            if two - one >= gap * (n + m) / 2:
                break
            groups[-2:] = [[(one * n + two * m) / (n + m), n + m]]
    moved = []
    for middle, members in groups:
        half = gap * (members - 1) / 2
        middle = min(max(middle, low + half), high - half)
        moved += [middle - half + gap * index for index in range(members)]
    for index in range(1, len(moved)):
        moved[index] = max(moved[index], moved[index - 1] + gap)
    over = moved[-1] - high
    return [place - over for place in moved] if over > 0 else moved


def end_labels(axes, ends, height):
    """Names at the right ends of lines. `ends` is [(identity, x, y)], `height` the axes' inches."""
    place, back = axes.transData.transform, axes.transAxes.inverted().transform
    ends = sorted(ends, key=lambda end: place((end[1], end[2]))[1])
    points = [back(place((x, y))) for _, x, y in ends]
    moved = spread_out([y for _, y in points], (SMALL + 2) / 72 / height, -0.02, 1.02)
    for (identity, _, _), (x, y), label in zip(ends, points, moved):
        axes.annotate(looks.name(identity), (x, y), (1.05, label),
                      xycoords="axes fraction", textcoords="axes fraction", va="center",
                      fontsize=SMALL, annotation_clip=False, color=colour(identity),
                      fontweight="bold" if is_corbel(identity) else "normal",
                      arrowprops={"arrowstyle": "-", "color": colour(identity), "linewidth": 0.6,
                                  "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 3, "alpha": 0.6})


def line_style(identity):
    """How the line of a contestant is drawn: Corbel's is thicker and above the others."""
    own = is_corbel(identity)
    variant = looks.parts(identity)[1]
    dashes = {"": "-", "C": ":", "CB": "-.", "CBR": "--"}.get(variant, "--")
    return {"color": colour(identity), "linewidth": 2.4 if own else 1.2, "linestyle": dashes,
            "zorder": 4 if own else 2}


def whiskers(axes, position, summary, divisor, horizontal=True, limit=None, colour_name=INK):
    """The spread of a bar's median as a thin line."""
    low, high = summary.low / divisor, summary.high / divisor
    if limit is not None:
        low, high = min(low, limit), min(high, limit)
    draw = axes.hlines if horizontal else axes.vlines
    draw(position, low, high, color=colour_name, linewidth=1.1, alpha=0.75, zorder=5)


def thread_shade(index, count):
    """Opacity of the bar of the index-th number of threads."""
    return 1.0 if count < 2 else 0.45 + 0.55 * index / (count - 1)


def short(number, unit):
    """A value with its unit, for the end of a bar."""
    return show.value(number, unit).replace("\u00a0", " ")
