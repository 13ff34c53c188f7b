# SPDX-License-Identifier: Apache-2.0
"""The difference to the run with one thread in per cent, as in Figure 10."""
from lab.page import looks

from . import bars, drawing

PLOTS = ("difference",)
MIN_AXIS = 50  # per cent: below that, differences are mostly noise


def _differences(kernel, case, identity, counts):
    """[(threads, per cent, low, high)] relative to the smallest number of threads."""
    base = kernel.cell(case, counts[0], identity)
    if not base or not base.median():
        return []
    found = []
    for count in counts[1:]:
        cell = kernel.cell(case, count, identity)
        if cell and cell.median():
            summary = cell.summary()
            found.append((count, *((value / base.median() - 1) * 100 for value in
                                   (summary.median, summary.low, summary.high))))
    return found


def _percent(value):
    text = f"{value:+.0f}".replace("-", "−")
    return ("0" if text[1:] == "0" else text) + " %"


def _panel(axes, kernel, case, counts):
    identities = [identity for identity in kernel.contestants
                  if _differences(kernel, case, identity, counts)]
    everything = {identity: _differences(kernel, case, identity, counts)
                  for identity in identities}
    sizes = [abs(each[1]) for found in everything.values() for each in found]
    limit = max(drawing.clip(sizes), MIN_AXIS)
    bar = 0.8 / max(1, len(counts) - 1)
    lowest = min([-1] + [low for found in everything.values() for _, _, low, _ in found])
    for place, identity in enumerate(identities):
        for index, (count, percent, low, high) in enumerate(everything[identity]):
            at = place - 0.4 + bar * (index + 0.5)
            shown = min(percent, limit)
            axes.barh(at, shown, bar * 0.86, color=drawing.colour(identity),
                      alpha=drawing.thread_shade(index, len(counts) - 1))
            if percent <= limit:
                axes.hlines(at, max(low, lowest), min(high, limit * 1.05), color=drawing.INK,
                            linewidth=0.9, alpha=0.75)
            axes.text(max(0, shown, min(high, limit * 1.05)) + limit * 0.015, at,
                      f"{'» ' if percent > limit else ''}{_percent(percent)}"
                      f"{' on ' if index == 0 else ', '}{count}"
                      + (" threads" if index == 0 else ""),
                      va="center", fontsize=drawing.TINY)
    axes.axvline(0, color=drawing.INK, linewidth=0.8)
    axes.set_xlim(lowest * 1.1, limit * 1.25)
    axes.set_ylim(len(identities) - 0.4, -0.6)
    axes.set_yticks(range(len(identities)), [looks.name(each) for each in identities])
    for label, identity in zip(axes.get_yticklabels(), identities):
        label.set_fontweight("bold" if drawing.is_corbel(identity) else "normal")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", linewidth=0.6)
    axes.set_xlabel(f"{kernel.metric}: difference to {counts[0]} thread, % (less is better)")
    if case:
        axes.set_title(case, loc="left", fontsize=drawing.SMALL, fontweight="bold")


def draw(kernel, run):
    counts = kernel.thread_counts
    if len(counts) < 2:
        return bars.draw(kernel, run)
    cases = kernel.case_labels
    rows = max(1, len(kernel.contestants))
    figure, axes = drawing.subplots((0.15 * rows * (len(counts) - 1) + 0.08 * rows + 0.7)
                                    * len(cases), len(cases), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.1)
    for each, case in zip(axes, cases):
        _panel(each, kernel, case, counts)
    return drawing.embed(figure, kernel, "difference to the run with one thread")
