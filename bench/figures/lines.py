# SPDX-License-Identifier: Apache-2.0
"""Lines against threads (Figures 12 and 13), or with a logarithmic scale (Figure 11)."""
from lab.page import show
from report import svg

from . import bars, drawing

PLOTS = ("lines", "log lines")
HEIGHT = 2.5
DODGE = 0.035


def beyond_cores(axes, counts, cores, text=True):
    """Marks where there are more threads than cores."""
    inside = [place for place, count in enumerate(counts) if count <= cores]
    if cores and inside and len(inside) < len(counts):
        axes.axvspan(inside[-1] + 0.5, len(counts) - 0.6, color=drawing.GRID, alpha=0.35,
                     linewidth=0, zorder=0)
        if text:
            axes.text(len(counts) - 0.65, 1.01, f"more threads than the {cores} cores",
                      ha="right", va="bottom", fontsize=drawing.TINY, color=drawing.SOFT,
                      transform=axes.get_xaxis_transform())


def _panel(axes, kernel, case, counts, logarithmic):
    found = []
    for identity in kernel.contestants:
        points = [(place, cell) for place, count in enumerate(counts)
                  if (cell := kernel.cell(case, count, identity)) and cell.median() is not None]
        if points:
            found.append((identity, points))
    if not found:
        axes.axis("off")
        return
    divisor, unit = show.scale(max(cell.median() for _, points in found for _, cell in points),
                               kernel.unit)
    ends = []
    for index, (identity, points) in enumerate(found):
        # Side by side, so that the spreads do not cover each other.
        points = [(place + (index - (len(found) - 1) / 2) * DODGE, cell) for place, cell in points]
        places = [place for place, _ in points]
        medians = [cell.median() / divisor for _, cell in points]
        axes.plot(places, medians, marker=drawing.marker(identity),
                  markersize=6 if drawing.is_corbel(identity) else 4.5,
                  **drawing.line_style(identity))
        for place, cell in points:
            drawing.whiskers(axes, place, cell.summary(), divisor, horizontal=False,
                             colour_name=drawing.colour(identity))
        ends.append((identity, places[-1], medians[-1]))
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(svg.plt.matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_locator(svg.plt.matplotlib.ticker.NullLocator())
    else:
        axes.set_ylim(bottom=0)
    axes.grid(axis="y", linewidth=0.6)
    axes.set_xlim(-0.4, len(counts) - 0.6)
    axes.set_xticks(range(len(counts)), [str(count) for count in counts])
    axes.set_ylabel(f"{kernel.metric}, {unit}" + (" (log)" if logarithmic else ""))
    drawing.end_labels(axes, ends, HEIGHT)


def draw(kernel, run):
    counts = kernel.thread_counts
    if len(counts) < 2:
        return bars.draw(kernel, run)
    cases = kernel.case_labels
    figure, axes = drawing.subplots((HEIGHT + 0.5) * len(cases) + 0.1, len(cases))
    figure.subplots_adjust(hspace=0.34, right=0.8)
    cores = (run.meta.get("machine") or {}).get("usable_cores") or 0
    for each, case in zip(axes, cases):
        _panel(each, kernel, case, counts, kernel.plot == "log lines")
        beyond_cores(each, counts, cores)
        if case:
            each.set_title(case, loc="left", fontsize=drawing.SMALL, fontweight="bold")
    better = "higher" if kernel.higher_is_better else "lower"
    axes[len(cases) - 1].set_xlabel(f"threads ({better} is better)")
    return drawing.embed(figure, kernel, f"{kernel.metric} against threads")
