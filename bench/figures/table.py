# SPDX-License-Identifier: Apache-2.0
"""A table in the form of the soft-limit article's: contestants down, cases across, in each the
peak memory and the elapsed time. Bars above the table show both.
"""
from lab.page import looks, show
from report import svg

from . import bars

PLOTS = ("table",)


def cells(cell, unit="s", metric="value"):
    """Peak address space, peak resident memory and the value of one cell of the table."""
    if cell is None or not cell.good:
        text = "failed" if cell is not None and cell.failure else "–"
        return f'<td class="none">{text}</td>' + '<td class="none">–</td>' * 2
    summary = cell.summary(metric)
    spread = f' title="{show.spread(summary, unit)}"' if summary else ""
    return (f"<td>{show.kib(cell.median('peak_vm_kib'))}</td>"
            f"<td>{show.kib(cell.median('peak_rss_kib'))}</td>"
            f"<td{spread}>{show.value(cell.median(metric), unit)}</td>")


def head(titles, first, value="elapsed"):
    top = "".join(f'<th scope="colgroup" colspan="3">{show.escape(title)}</th>'
                  for title in titles)
    below = (f'<th scope="col">VmPeak</th><th scope="col">peak RSS</th>'
             f'<th scope="col">{show.escape(value)}</th>') * len(titles)
    return (f'<thead><tr><th rowspan="2" scope="col">{show.escape(first)}</th>{top}</tr>'
            f"<tr>{below}</tr></thead>")


def draw(kernel, run, with_bars=True):
    rows = [row for case in kernel.case_labels for threads in kernel.thread_counts
            if (row := kernel.row(case, threads)) and row.cells]
    lines = []
    for identity in kernel.contestants:
        found = "".join(cells(row.cells.get(identity), kernel.unit) for row in rows)
        own = ' class="own"' if looks.parts(identity)[0] == "corbel" else ""
        lines.append(f'<tr{own}><th scope="row">{show.escape(looks.name(identity))}</th>'
                     f"{found}</tr>")
    plots = (f'<div class="two">{bars.draw(kernel, run)}{bars.memory(kernel)}</div>'
             if svg.PLOTS and with_bars else "")
    if len(rows) == 1 and plots:
        return plots  # the numbers below them are the same table
    return (f'{plots}<div class="wide grid" tabindex="0" role="region" '
            f'aria-label="{show.escape(kernel.title)}"><table>'
            f"{head([show.case_text(row) for row in rows], 'contestant', kernel.metric)}"
            f"<tbody>{''.join(lines)}</tbody></table></div>")
