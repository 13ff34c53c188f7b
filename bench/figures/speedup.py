# SPDX-License-Identifier: Apache-2.0
"""Speed-up over the serial program as in Figures 6 to 9, 14 and 15: a group of bars for each way
to run the program, in it a bar for each number of threads.
"""
from lab.page import looks

from . import bars, drawing

PLOTS = ("speedup",)
FAR_BELOW = 0.3


def serial_cell(kernel, case):
    """The serial program's runs of a case; on glibc where there are several allocators."""
    found = []
    for row in kernel.rows:
        if row.case == case:
            found += [cell for cell in row.cells.values()
                      if looks.parts(cell.identity)[0] == "serial" and cell.good]
    usual = [cell for cell in found if looks.parts(cell.identity)[2] in ("", "glibc")]
    return (usual or found or [None])[0]


def speedup(kernel, serial, cell):
    """(median, low, high), or None."""
    if not serial or not cell or not cell.costs() or not serial.median():
        return None
    summary, base = cell.summary(), serial.median()
    each = [value / base if kernel.higher_is_better else base / value
            for value in (summary.median, summary.low, summary.high) if value]
    return (each[0], min(each), max(each))


def _short(number):
    return f"{number:.2g}" if number < 0.1 else f"{number:.2f}"[:4]


def _panel(axes, kernel, case, allocator, counts, cores):
    serial = serial_cell(kernel, case)
    identities = [identity for identity in kernel.contestants
                  if looks.parts(identity)[0] != "serial"
                  and looks.parts(identity)[2] == allocator
                  and any(kernel.cell(case, count, identity) for count in counts)]
    bar = 0.84 / len(counts)
    everything = [each for identity in identities for count in counts
                  if (each := speedup(kernel, serial, kernel.cell(case, count, identity)))]
    # When tasks are only overhead, the serial program is far outside the plot.
    low = max((each[2] for each in everything), default=1) < FAR_BELOW
    top = 0 if low else cores or 1
    top = max([top] + [each[2] for each in everything])
    crowded = len(identities) * len(counts) > 16
    for place, identity in enumerate(identities):
        for index, count in enumerate(counts):
            found = speedup(kernel, serial, kernel.cell(case, count, identity))
            if not found:
                continue
            at = place - 0.42 + bar * (index + 0.5)
            axes.bar(at, found[0], bar * 0.9, color=drawing.colour(identity),
                     alpha=drawing.thread_shade(index, len(counts)))
            axes.vlines(at, found[1], found[2], color=drawing.INK, linewidth=0.9, alpha=0.75)
            axes.text(at, found[2] + 0.02 * top, _short(found[0]), ha="center", va="bottom",
                      fontsize=6 if crowded else 7, rotation=90 if crowded else 0)
    for level, text in ((1, "serial"), (cores, f"{cores} cores")):
        if level and not low:
            axes.axhline(level, color=drawing.INK, linewidth=0.8, linestyle=(0, (4, 3)),
                         alpha=0.6, zorder=1)
            axes.text(1.01, level, text, transform=axes.get_yaxis_transform(), va="center",
                      fontsize=drawing.TINY, color=drawing.SOFT)
        if level == cores == 1:
            break
    axes.set_xticks(range(len(identities)),
                    [looks.name(identity.partition("@")[0], newline=True).replace(
                        "TBB 2020", "TBB\n2020") for identity in identities],
                    fontsize=drawing.TINY)
    for label, identity in zip(axes.get_xticklabels(), identities):
        label.set_fontweight("bold" if drawing.is_corbel(identity) else "normal")
    axes.set_xlim(-0.6, len(identities) - 0.4)
    axes.set_ylim(0, top * (1.24 if crowded else 1.12))
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("speed-up")
    title = ", ".join(filter(None, (case, f"on {looks.name(allocator)}" * bool(allocator),
                                    "all far below the serial program’s 1" * low)))
    axes.set_title(title, loc="left", fontsize=drawing.SMALL, fontweight="bold")


def draw(kernel, run):
    counts = kernel.thread_counts
    allocators = sorted({looks.parts(identity)[2] for identity in kernel.contestants},
                        key=looks.sort_key)
    panels = [(case, allocator) for case in kernel.case_labels for allocator in allocators
              if serial_cell(kernel, case)]
    if not panels:
        return bars.draw(kernel, run)
    cores = (run.meta.get("machine") or {}).get("usable_cores") or 0
    height = 1.9 if len(panels) > 4 else 2.2
    figure, axes = drawing.subplots(height * len(panels) + 0.3, len(panels), layout="constrained")
    for each, (case, allocator) in zip(axes, panels):
        _panel(each, kernel, case, allocator, counts, cores)
    figure.supxlabel("bars of a group from the left: " + ", ".join(map(str, counts))
                     + (" threads" if counts != [1] else " thread"), fontsize=drawing.SMALL)
    return drawing.embed(figure, kernel, "speed-up over the serial program")
