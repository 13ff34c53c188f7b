# SPDX-License-Identifier: Apache-2.0
"""Time against memory: one point for each contestant, geometric means over the rows they share."""
from report import svg

from . import looks


def _base(contest):
    """The base of all ratios."""
    return next((name for name in ("glibc", "onetbb", *contest.columns)
                 if name in contest.columns), None)


def draw(contest, name):
    """A figure, or nothing when there are fewer than two contestants to show."""
    base = _base(contest)
    points = contest.relative(base) if base else {}
    if len(points) < 2 or not svg.PLOTS:
        return ""
    from figures import drawing
    figure, axes = drawing.subplots(3.2, layout="constrained")
    axes = axes[0]
    for column, (time, memory, _) in points.items():
        own = drawing.is_corbel(column)
        axes.plot([time], [memory], marker=drawing.marker(column), color=drawing.colour(column),
                  markersize=11 if own else 7, linestyle="none", zorder=5 if own else 3)
    axes.axvline(1, color=drawing.GRID, linewidth=1, zorder=0)
    axes.axhline(1, color=drawing.GRID, linewidth=1, zorder=0)
    axes.margins(0.24, 0.16)
    _labels(figure, axes, points)
    count = next(iter(points.values()))[2]
    axes.set_xlabel(f"time ÷ {looks.name(base)}’s (less is better)")
    axes.set_ylabel(f"peak memory ÷ {looks.name(base)}’s")
    axes.set_title("↙ towards this corner is better", loc="left", fontsize=drawing.SMALL,
                   color=drawing.SOFT)
    figure_text = svg.embed(figure, "Time against peak memory, geometric means", f"o-{name}")
    return figure_text.replace("</figure>", f"<figcaption>Geometric means over the {count} rows "
                               "in which all of these have a result.</figcaption></figure>")


def _labels(figure, axes, points):
    """Puts each name next to its point, where it overlaps neither a point nor another name."""
    from figures import drawing
    figure.canvas.draw()
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in
             (axes.transData.transform((time, memory)) for time, memory, _ in points.values())]
    for column, (time, memory, _) in sorted(points.items(), key=lambda each: each[1][:2]):
        x, y = axes.transData.transform((time, memory))
        wide, high = 5.2 * len(looks.name(column)) + 2, 10
        choices = [(8, 0, "left"), (-8, 0, "right"), (0, 12, "center"), (0, -12, "center"),
                   (8, 10, "left"), (8, -10, "left"), (-8, 10, "right"), (-8, -10, "right"),
                   (0, 22, "center"), (0, -22, "center")]
        for dx, dy, side in choices:
            left = x + dx - {"left": 0, "right": wide, "center": wide / 2}[side]
            box = (left, y + dy - high / 2, left + wide, y + dy + high / 2)
            if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3]
                       for b in taken if abs(b[0] + 6 - x) > 0.1 or abs(b[1] + 6 - y) > 0.1):
                break
        taken.append(box)
        scale = 72 / figure.dpi
        axes.annotate(looks.name(column), (time, memory), (dx * scale, dy * scale),
                      textcoords="offset points", ha=side, va="center", fontsize=drawing.SMALL,
                      color=drawing.INK,
                      fontweight="bold" if drawing.is_corbel(column) else "normal")
