# SPDX-License-Identifier: Apache-2.0
"""Bodies that sleep on many threads: cases down, contestants across, in each a column for each number
of threads. A ratio to the greedy bound is marked when it is within 5 % of the bound, or when it is more
than 5 % above Graham's bound, which no schedule exceeds that leaves no thread idle while a body
waits.
"""
from lab.page import looks, show

PLOTS = ("wide",)
GRAHAM = "÷ Graham's bound"  # the further figure of the kernels
WITHIN = 1.05
CAPTION = ("Green: within 5 % of the greedy bound. Red: more than 5 % above Graham’s bound, so "
           "threads were idle while bodies waited.")


def mark(cell, unit):
    """The class of a ratio: "lower" is good, "higher" bad."""
    if unit != "x":
        return ""
    if cell.median() <= WITHIN:
        return "lower"
    graham = cell.extra(GRAHAM)
    return "higher" if graham is not None and graham > WITHIN else ""


def _cell(cell, unit):
    if cell is None or not cell.good:
        text = "failed" if cell is not None and cell.failure else "–"
        return f'<td class="none">{text}</td>'
    found = mark(cell, unit)
    text = show.digits(cell.median()) if unit == "x" else show.value(cell.median(), unit)
    title = f' title="{show.spread(cell.summary(), unit)}"'
    return f"<td{f' class={chr(34)}{found}{chr(34)}' if found else ''}{title}>{text}</td>"


def draw(kernel, run):
    counts = kernel.thread_counts
    identities = [identity for identity in kernel.contestants
                  if looks.parts(identity)[0] != "serial"]
    top = "".join(f'<th scope="colgroup" colspan="{len(counts)}">{show.escape(looks.name(i))}</th>'
                  for i in identities)
    below = "".join(f'<th scope="col">{count}</th>' for count in counts) * len(identities)
    lines = []
    for case in kernel.case_labels:
        rows = {count: kernel.row(case, count) for count in counts}
        found = "".join(_cell(rows[count].cells.get(identity) if rows[count] else None, kernel.unit)
                        for identity in identities for count in counts)
        lines.append(f'<tr><th scope="row">{show.escape(case)}</th>{found}</tr>')
    caption = f"{kernel.metric}, by threads. " + (CAPTION if kernel.unit == "x" else "")
    return (f'<div class="wide grid" tabindex="0" role="region" '
            f'aria-label="{show.escape(kernel.title)}"><table>'
            f"<caption>{show.escape(caption.strip())}</caption>"
            f'<thead><tr><th rowspan="2" scope="col">bodies in</th>{top}</tr><tr>{below}</tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table></div>")
