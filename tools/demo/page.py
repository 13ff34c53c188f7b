# SPDX-License-Identifier: Apache-2.0
"""The demo's result as one self-contained HTML page, light and dark, for wide and narrow screens.

The plots are SVG from matplotlib. Their colours are placeholders that the page replaces with its own,
so that a plot follows the reader's light or dark setting.
"""
import html
import sys
import time
from pathlib import Path

import show
from measure import METRICS

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import page, svg  # noqa: E402
from report.colours import placeholder  # noqa: E402

INK, GRID, SYSTEM, CORBEL, BAD = map(placeholder, ("ink", "grid", "system", "corbel", "bad"))


def _ratio_plot(all_measured):
    figure, axes = svg.subplots(4.8, 0.8 * len(all_measured) + 1.1)
    height = 0.26
    limit = max(1.25, max(m.ratio(key) or 0 for m in all_measured for key, _ in METRICS) * 1.15)
    for row, measured in enumerate(all_measured):
        for index, (key, title) in enumerate(METRICS):
            ratio = measured.ratio(key)
            if ratio is None:
                continue
            at = row + (index - 1) * (height + 0.03)
            verdict = measured.verdict(key)
            axes.barh(at, ratio, height, color=BAD if verdict == "higher" else CORBEL,
                      alpha=1.0 if verdict in ("lower", "higher") else 0.45)
            axes.text(ratio + limit * 0.01, at, f"{ratio:.2f}  {title}", va="center", fontsize=8)
    axes.axvline(1, color=INK, linewidth=1, alpha=0.4, zorder=0)
    axes.text(1, -0.62, "system's malloc = 1", ha="center", va="bottom", fontsize=8)
    axes.set_yticks(range(len(all_measured)), [m.workload.name for m in all_measured])
    axes.set_ylim(len(all_measured) - 0.45, -0.62)
    axes.set_xlim(0, limit * 1.1)
    axes.set_xlabel("Corbel ÷ system's malloc; below 1 is better")
    axes.tick_params(axis="y", length=0)
    return svg.embed(figure, "Ratios of time, CPU and memory", "ratios")


def _runs_plot(all_measured):
    figure, axes = svg.subplots(4.8, 0.5 * len(all_measured) + 1.0)
    for row, measured in enumerate(all_measured):
        base = measured.median("system", "wall_seconds")
        for side, colour, shift in (("system", SYSTEM, -0.14), ("corbel", CORBEL, 0.14)):
            values = [value / base for value in measured.values(side, "wall_seconds")]
            axes.plot(values, [row + shift] * len(values), "o", color=colour, markersize=5,
                      alpha=0.6, label=side.replace("corbel", "Corbel") if row == 0 else None)
    axes.axvline(1, color=GRID, linewidth=1, zorder=0)
    axes.set_yticks(range(len(all_measured)), [m.workload.name for m in all_measured])
    axes.set_ylim(len(all_measured) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("wall time of every run ÷ median on the system's malloc")
    axes.tick_params(axis="y", length=0)
    axes.legend(frameon=False, loc="upper left", ncols=2, bbox_to_anchor=(0, 1.12), fontsize=9)
    return svg.embed(figure, "Wall time of every run", "runs")


def _conversion_plot(times):
    figure, axes = svg.subplots(4.8, 2.6)
    for side, colour in (("system", SYSTEM), ("corbel", CORBEL)):
        values = [value * 1000 for value in times[side]]
        axes.plot(range(1, len(values) + 1), values, color=colour, linewidth=1.6,
                  label=side.replace("corbel", "Corbel"))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("conversion in one process")
    axes.set_ylabel("ms")
    axes.grid(axis="y", linewidth=0.6)
    axes.legend(frameon=False, loc="lower right", ncols=2, fontsize=9)
    return svg.embed(figure, "Time of the n-th conversion", "conversions")


def _table(all_measured):
    rows = []
    for measured in all_measured:
        cells = [f"<td>{html.escape(measured.workload.name)}</td>"]
        for key, _ in METRICS:
            for side in ("system", "corbel"):
                mad = show.show(key, measured.mad(side, key))
                cells.append(f'<td title="MAD {mad}">'
                             f"{show.show(key, measured.median(side, key))}</td>")
            cells.append(f'<td class="{measured.verdict(key)}">'
                         f"{html.escape(show.ratio_text(measured, key))}</td>")
        rows.append("<tr>" + "".join(cells) + "</tr>")
    head = "".join(f"<th>{title}<br>system</th><th><br>Corbel</th><th><br>ratio</th>"
                   for _, title in METRICS)
    return (f'<div class="wide"><table><thead><tr><th>program</th>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>")


def _facts(machine, all_measured, rounds):
    total = sum(m.runs() for m in all_measured)
    disturbed = sum(m.disturbed() for m in all_measured)
    facts = {
        "processor": f"{machine['processor']}, {machine['usable_cores']} of {machine['cores']} "
                     "cores",
        "memory": f"{machine['memory_bytes'] / 2**30:.1f} GiB",
        "system": f"{machine['distribution']}, {machine['kernel']}, {machine['c_library']}",
        "huge pages": machine["transparent_huge_pages"],
        "load before": f"{machine['load_average'][0]:.2f}",
        "runs": f"{rounds} a side and program, interleaved, after one warm-up round",
        "disturbed": f"{disturbed} of {total} runs, by other processes using the processor",
        "date": time.strftime("%Y-%m-%d %H:%M %Z"),
    }
    return "<dl>" + "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>"
                            for name, value in facts.items()) + "</dl>"


def write(path, all_measured, times, rounds, sentences, skipped, corbel):
    """Writes the page; returns whether it has plots."""
    parts = ["<h1>Corbel and the system's malloc</h1>",
             "<p>The same programs, unchanged, on both; every ratio is Corbel divided by the "
             "system's malloc, so below 1 is better.</p>", "<ul>"]
    parts += [f"<li>{html.escape(line)}</li>" for line in sentences]
    parts.append("</ul>")
    for measured in all_measured:
        for problem in measured.problems:
            parts.append(f'<p class="higher">{html.escape(measured.workload.name)}: '
                         f"{html.escape(problem)}</p>")
    parts.append("<h2>Medians</h2>" + _table(all_measured))
    parts.append('<p class="soft">A difference is coloured only when the medians are further apart '
                 "than both spreads together (1.48 median absolute deviations each, more for few "
                 "runs); ≈ means that they are not. Peak memory is the largest resident set of any one "
                 "process. Hold a pointer over a figure to see its spread.</p>")
    if svg.PLOTS:
        parts.append("<h2>Ratios</h2>" + _ratio_plot(all_measured))
        parts.append('<p class="soft">Red bars: Corbel is worse. Pale bars: no difference beyond '
                     'the spread.</p>')
        parts.append("<h2>Every run</h2>" + _runs_plot(all_measured))
        if times:
            parts.append("<h2>The n-th conversion</h2>" + _conversion_plot(times))
            parts.append('<p class="soft">One process repeatedly converts the same model in '
                         "parallel threads. On a fragmenting heap the line rises.</p>")
    else:
        parts.append('<p class="soft">The plots need matplotlib, which could not be installed '
                     "here.</p>")
    parts.append("<h2>Programs</h2><ul>")
    for measured in all_measured:
        parts.append(f"<li><strong>{html.escape(measured.workload.name)}</strong>: "
                     f"{html.escape(measured.workload.what)}<br><code class=\"soft\">"
                     f"{html.escape(' '.join(measured.workload.command))}</code></li>")
    parts += [f"<li>{html.escape(line)}</li>" for line in skipped]
    parts.append("</ul><h2>Machine</h2>" + _facts(all_measured[0].machine, all_measured, rounds))
    parts.append("<h2>Your own program</h2><pre>" + html.escape(
        f"{corbel} run -- ./your-program\n{corbel} compare -- ./your-program") + "</pre>")
    path.write_text(page.frame("Corbel and the system's malloc", "\n".join(parts)),
                    encoding="utf-8")
    return svg.PLOTS
