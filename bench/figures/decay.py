# SPDX-License-Identifier: Apache-2.0
"""Memory after a load spike: a small panel for each contestant, because each has its own bound. The
bound depends on the pages that the surviving blocks are in. All panels of a case have the same axes,
so that the curves can be compared.
"""
import statistics

from lab.page import looks, show

from . import bars, drawing

PLOTS = ("decay",)
CURVE, TIME = "rss_mib", "seconds"
BOUND, PINNED, PEAK, STACKS = "bound MiB", "pinned pages MiB", "peak MiB", "stacks MiB"
COLUMNS, HEIGHT, TITLE = 3, 1.05, 0.55
TALLEST = 2.5  # times the median: a curve above it leaves its panel


def _panel(axes, cell):
    curves, bound = cell.series(), cell.extra(BOUND)
    times, resident = curves[TIME], curves[CURVE]
    style = {**drawing.line_style(cell.identity), "linewidth": 2}
    axes.fill_between(times, resident, color=style["color"], alpha=0.15, linewidth=0)
    axes.plot(times, resident, **style)
    pinned = cell.extra(PINNED)
    if pinned is not None:
        axes.axhline(pinned + (cell.extra(STACKS) or 0), color=drawing.SOFT, linewidth=0.9,
                     linestyle=":")
    text, colour = f"{resident[-1]:.0f} MiB", drawing.INK
    if bound is not None:
        axes.axhline(bound, color=drawing.INK, linewidth=1, linestyle="--", zorder=5)
        text, colour = f"{resident[-1]:.0f} / {bound:.0f}", (
            drawing.INK if resident[-1] <= bound else drawing.BAD)
    axes.set_title(looks.name(cell.identity), loc="left", fontsize=drawing.SMALL, pad=3,
                   color=style["color"],
                   fontweight="bold" if drawing.is_corbel(cell.identity) else "normal")
    axes.set_title(text, loc="right", fontsize=drawing.TINY, pad=3, color=colour)
    axes.grid(axis="y", linewidth=0.6)
    axes.tick_params(labelsize=drawing.TINY)


def _top(highest):
    """The upper end of the axes: a curve far above the others must not flatten them."""
    usual = TALLEST * statistics.median(highest)
    return max((one for one in highest if one <= usual), default=usual)


def _case(kernel, row, mark):
    cells = [cell for cell in row.measured(controls=True) if CURVE in cell.series()]
    rows = -(-len(cells) // COLUMNS)
    figure, axes = drawing.subplots((HEIGHT + 0.35) * rows + TITLE, rows, COLUMNS, sharex=True,
                                    sharey=True)
    figure.subplots_adjust(hspace=0.45, wspace=0.12)
    for cell, each in zip(cells, axes):
        _panel(each, cell)
    for each in axes[len(cells):]:
        each.set_axis_off()
    # Panels above the unused axes of the last row need their own labels.
    for each in axes[max(0, len(cells) - COLUMNS):len(cells)]:
        each.tick_params(labelbottom=True)
        each.set_xlabel("seconds after it", fontsize=drawing.TINY)
    axes[0].set_ylim(bottom=0, top=1.04 * _top([max(cell.series()[CURVE]) for cell in cells]))
    axes[0].margins(x=0.01)
    axes[0].locator_params(axis="x", integer=True, nbins=4)
    peaks = [cell.extra(PEAK) for cell in cells if cell.extra(PEAK) is not None]
    ends = dict.fromkeys(f"{end(peaks):.0f}" for end in (min, max)) if peaks else ()
    peak = f"; at the peak {' to '.join(ends)}" if peaks else ""
    title = show.case_text(row) if len(kernel.rows) > 1 else kernel.title
    figure.suptitle(f"{title}: resident MiB{peak}", x=0.02, ha="left", fontsize=drawing.SMALL,
                    fontweight="bold", y=1 - 0.1 / figure.get_figheight())
    return drawing.embed(figure, kernel, title, mark)


def draw(kernel, run):
    rows = [row for case in kernel.case_labels for threads in kernel.thread_counts
            if (row := kernel.row(case, threads)) and any(
                CURVE in cell.series() for cell in row.measured(controls=True))]
    if not rows:
        return bars.draw(kernel, run)
    figures = "".join(_case(kernel, row, f"-{number}") for number, row in enumerate(rows))
    return (figures + '<p class="soft">Dashed: the bound. Dotted: the pages that cannot be given '
            "back (the survivors’, and the stacks of threads that wait), which differ because the "
            "allocators lay the same blocks out differently. At the right: the last value and the "
            "bound. A curve that is not to be seen is above the axis.</p>")
