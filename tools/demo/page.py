# SPDX-License-Identifier: Apache-2.0
"""The demo's result as one self-contained HTML page, light and dark, for wide and narrow screens.

The plots come from matplotlib as SVG inside the page. Their colours are placeholders that the page
replaces by its own, so that a plot follows the reader's light or dark setting.
"""
import html
import io
import re
import time

import show
from measure import METRICS

try:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    PLOTS = True
except ImportError:
    PLOTS = False

INK, GRID, SYSTEM, CORBEL, BAD = "#010101", "#020202", "#030303", "#040404", "#050505"
VARIABLES = {INK: "var(--ink)", GRID: "var(--grid)", SYSTEM: "var(--system)",
             CORBEL: "var(--corbel)", BAD: "var(--bad)"}

STYLE = """
:root{--paper:#fff;--ink:#1c1f24;--soft:#5b6470;--grid:#dde1e6;--system:#8a94a3;--corbel:#0a7d6c;
--good:#0a7d4f;--bad:#b3261e;--card:#f6f7f9}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e8eaed;--soft:#9aa4b1;
--grid:#343a42;--system:#7d8896;--corbel:#3ecfb4;--good:#5bd69a;--bad:#ff8a80;--card:#1c2026}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:66rem;padding:1.5rem 1rem 4rem;background:var(--paper);
color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2.5rem 0 .5rem}
p,li{max-width:44rem}.soft{color:var(--soft);font-size:.9rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:.35rem .6rem;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
th:first-child,td:first-child{text-align:left}th{font-weight:600}
.lower{color:var(--good);font-weight:600}.higher{color:var(--bad);font-weight:600}
.same,.few{color:var(--soft)}
figure{margin:0;padding:.5rem;background:var(--card);border-radius:.5rem;max-width:44rem}
figure svg{display:block;width:100%;height:auto}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:var(--card);padding:.8rem;border-radius:.5rem;overflow-x:auto}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:var(--soft)}
dd{margin:0}
"""


def _svg(figure, label):
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, bbox_inches="tight",
                   metadata={"Date": None})
    plt.close(figure)
    text = buffer.getvalue()
    text = text[text.index("<svg"):]
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>',
                  rf'<svg role="img" aria-label="{html.escape(label)}" \1 '
                  'xmlns="http://www.w3.org/2000/svg" '
                  'xmlns:xlink="http://www.w3.org/1999/xlink">', text, count=1)
    # Identifiers must differ between the figures of one page.
    mark = re.sub(r"\W+", "", label)[:12].lower()
    text = re.sub(r'id="', f'id="{mark}-', text)
    text = re.sub(r'url\(#', f'url(#{mark}-', text)
    text = re.sub(r'href="#', f'href="#{mark}-', text)
    return f"<figure>{text}</figure>"


def _axes(width, height):
    plt.rcParams.update({
        "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10, "text.color": INK,
        "font.sans-serif": ["system-ui", "DejaVu Sans"], "axes.edgecolor": GRID,
        "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK, "grid.color": GRID,
        "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "corbel"})
    import logging
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    return plt.subplots(figsize=(width, height))


def _ratio_plot(all_measured):
    figure, axes = _axes(4.8, 0.8 * len(all_measured) + 1.1)
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
    return _svg(figure, "Ratios of time, CPU and memory")


def _runs_plot(all_measured):
    figure, axes = _axes(4.8, 0.5 * len(all_measured) + 1.0)
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
    return _svg(figure, "Wall time of every run")


def _conversion_plot(times):
    figure, axes = _axes(4.8, 2.6)
    for side, colour in (("system", SYSTEM), ("corbel", CORBEL)):
        values = [value * 1000 for value in times[side]]
        axes.plot(range(1, len(values) + 1), values, color=colour, linewidth=1.6,
                  label=side.replace("corbel", "Corbel"))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("conversion in one process")
    axes.set_ylabel("ms")
    axes.grid(axis="y", linewidth=0.6)
    axes.legend(frameon=False, loc="lower right", ncols=2, fontsize=9)
    return _svg(figure, "Time of the n-th conversion")


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
    total = sum(len(side) for m in all_measured for side in m.runs.values())
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
    """Writes the page; returns False when it had to do without plots."""
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
    parts.append('<p class="soft">A difference is coloured only when the medians lie further apart '
                 "than both spreads together (1.48 median absolute deviations each, more for few "
                 "runs); ≈ means it "
                 "does not. Peak memory is the largest resident set of any one process. Hold a "
                 "pointer over a figure to see its spread.</p>")
    if PLOTS:
        parts.append("<h2>Ratios</h2>" + _ratio_plot(all_measured))
        parts.append('<p class="soft">Red bars: Corbel is worse. Pale bars: no difference beyond '
                     'the spread.</p>')
        parts.append("<h2>Every run</h2>" + _runs_plot(all_measured))
        if times:
            parts.append("<h2>The n-th conversion</h2>" + _conversion_plot(times))
            parts.append('<p class="soft">One process converts the same model again and again in '
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
    path.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Corbel and the system's malloc</title><style>{STYLE}</style></head><body>"
        + "\n".join(parts) + "</body></html>\n", encoding="utf-8")
    return PLOTS
