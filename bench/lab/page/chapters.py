# SPDX-License-Identifier: Apache-2.0
"""A chapter for each experiment: its description, its figure, and the numbers."""
import figures
from report import svg

from . import contest, looks, show
from .model import MEMORY, ordered

OPEN_LINES = 12
FORMS_WITHOUT_PLOTS = ("table", "wide")


def _figure(kernel, run):
    if not svg.PLOTS and kernel.plot not in FORMS_WITHOUT_PLOTS:
        return '<p class="soft">The plot needs matplotlib, which is not here.</p>'
    try:
        return figures.draw(kernel, run)
    except Exception as error:  # a figure that fails must not prevent the page
        return f'<p class="higher">The figure could not be drawn: {show.escape(error)}</p>'


def _extras(kernel):
    """Names of the further figures, in the order in which the runs have them."""
    names = {}
    for row in kernel.rows:
        for cell in row.cells.values():
            for run in cell.good[:1]:
                names.update(dict.fromkeys(run.get("extra") or {}))
    return list(names)


def _line(kernel, view, cell, extras):
    name = show.escape(looks.name(cell.identity))
    own = ' class="own"' if looks.parts(cell.identity)[0] == "corbel" else ""
    start = f'<tr{own}><th scope="row">{name}</th>'
    if not cell.good:
        why = show.escape(cell.failure or "no run was kept")
        return f'{start}<td class="none" colspan="{9 + len(extras)}">failed: {why}</td></tr>'
    column = cell.identity.partition("@")[0]
    same = view is not None and column in view.identities and column != view.subject
    ratios = [show.verdict_cell(view.against(column, metric)) if same and view.subject
              else '<td class="none"></td>' for metric in ("value", MEMORY)]
    summary = cell.summary()
    marked = f' <small title="disturbed runs among these">({cell.marked} disturbed)</small>' \
        if cell.marked else ""
    values = [show.value(cell.median(), kernel.unit),
              show.spread(summary, kernel.unit) if summary else "–", ratios[0],
              show.kib(cell.median(MEMORY)), ratios[1], show.kib(cell.median("peak_vm_kib")),
              show.count(cell.median("minor_faults")), show.count(cell.median("major_faults"))]
    values += [show.digits(cell.extra(name)) if cell.extra(name) is not None else "–"
               for name in extras]
    values.append(f"{len(cell.good)}{marked}")
    return start + "".join(value if value.startswith("<td") else f"<td>{value}</td>"
                           for value in values) + "</tr>"


def numbers(kernel):
    """The table of medians and spreads; folded when it is long."""
    extras = _extras(kernel)
    bodies, count = [], 0
    for row in ordered(kernel):
        if not row.cells:
            continue
        of = {identity: view for view in contest.views(row)
              for identity in view.identities.values()}
        lines = [_line(kernel, of.get(identity), row.cells[identity], extras)
                 for identity in sorted(row.cells, key=looks.sort_key)]
        count += len(lines)
        bodies.append(f'<tbody><tr class="group"><th colspan="{10 + len(extras)}" scope="rowgroup">'
                      f"<span>{show.escape(show.case_text(row))}</span></th></tr>"
                      f"{''.join(lines)}</tbody>")
    heads = (["contestant", kernel.metric, "interval", "Corbel ÷", "peak RSS", "Corbel ÷",
              "VmPeak", "minor faults", "major"]
             + [show.words(name) for name in extras] + ["runs"])
    head = "".join(f'<th scope="col">{show.escape(text)}</th>' for text in heads)
    return (f'<details{" open" if count <= OPEN_LINES else ""}><summary>The numbers '
            f'({show.plural(count, "line")})</summary><div class="wide" tabindex="0" role="region" '
            f'aria-label="Numbers of {show.escape(kernel.title)}"><table><thead><tr>{head}</tr>'
            f'</thead>{"".join(bodies)}</table></div></details>')


def _arguments(kernel, scale):
    cases = [(case, kernel.arguments(case, scale)) for case in kernel.case_labels]
    shown = [f"<code>{show.escape(text)}</code>" + (f" ({show.escape(case)})" if case else "")
             for case, text in cases if text]
    counts = ", ".join(map(str, kernel.thread_counts))
    words = "; ".join(shown) or "none"
    return (f'<p class="soft">Kernel <code>{show.escape(kernel.name)}</code> on {counts} '
            f'thread{"s" if counts != "1" else ""}; arguments: {words}.</p>')


def chapter(kernel, run):
    figure = f' <span class="tag">{show.escape(kernel.figure)}</span>' if kernel.figure else ""
    anchor = show.anchor(kernel)
    return (f'<section class="chapter" id="{anchor}"><h3>{show.escape(kernel.title)}{figure} '
            f'<a class="link" href="#{anchor}" aria-label="link to this experiment">#</a></h3>'
            f"<p>{show.escape(kernel.what)}</p>{_figure(kernel, run)}{numbers(kernel)}"
            f"{_arguments(kernel, run.meta.get('scale') or 'normal')}</section>")


def all_chapters(run):
    """Every chapter, by group. A chapter that joins several experiments precedes them."""
    joined = figures.together(run)
    out = []
    for group, title, kernels in run.groups():
        out.append(f'<h2 id="g-{group.replace(" ", "-")}">{show.escape(title)}</h2>')
        for kernel in kernels:
            if kernel.name in joined:
                name, text = joined[kernel.name]
                out.append(f'<section class="chapter" id="j-{kernel.name}"><h3>'
                           f"{show.escape(name)}</h3>{text}</section>")
            out.append(chapter(kernel, run))
    return "".join(out)


def contents(run):
    """Links to all chapters."""
    groups = []
    for group, title, kernels in run.groups():
        links = "".join(f'<li><a href="#{show.anchor(kernel)}">{show.escape(kernel.title)}</a></li>'
                        for kernel in kernels)
        groups.append(f'<div><a href="#g-{group.replace(" ", "-")}"><strong>{show.escape(title)}'
                      f"</strong></a><ul>{links}</ul></div>")
    return (f'<nav aria-label="Experiments"><details open><summary>Experiments</summary>'
            f'<div class="contents">{"".join(groups)}</div></details></nav>')
