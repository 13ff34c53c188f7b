# SPDX-License-Identifier: Apache-2.0
"""The top of the page: the result in words, the means, and every row with its peers."""
from . import looks, show
from .contest import AHEAD, BEHIND, LEVEL, UNKNOWN
from .model import MEMORY

METRICS = (("value", "time", "t"), (MEMORY, "peak memory", "m"))


def _times(number, word="row"):
    return show.plural(number, word)


def _tally_words(contest, metric):
    tally = contest.tally(None, metric)
    text = (f"ahead of the row’s best peer in {tally[AHEAD]}, level in {tally[LEVEL]}, behind in "
            f"{tally[BEHIND]} of {_times(sum(tally.values()))}")
    if tally[UNKNOWN]:
        text += f" ({tally[UNKNOWN]} with too few runs to tell)"
    return text


def paragraph(contest, kind):
    """The result in words."""
    if not contest.views:
        return ""
    peers = ", ".join(looks.name(column) for column in contest.peers)
    kernels = len({view.row.kernel.name for view in contest.views})
    if not contest.with_corbel:
        return (f"<p>Corbel has no {kind} in this run: its {_times(len(contest.views))} of "
                f"{show.plural(kernels, 'experiment')} show the peers beside each other: "
                f"{show.escape(peers)}.</p>")
    if not contest.peers:
        return "<p>This run has no peers to compare Corbel with.</p>"
    out = [f"<p>Corbel’s {kind} beside {show.escape(peers)}, in {_times(len(contest.with_corbel))} "
           f"of {show.plural(kernels, 'experiment')}. In time it is "
           f"<strong>{_tally_words(contest, 'value')}</strong>; in peak memory it is "
           f"<strong>{_tally_words(contest, MEMORY)}</strong>."]
    for metric, title, _ in METRICS:
        mean, rows = contest.mean(None, metric)
        if mean:
            out.append(f" Against the best peer of each row, Corbel’s {title} is {mean:.2f} times "
                       f"as much (geometric mean of {_times(rows)}).")
    if len(contest.peers) > 1 and any(len(view.peers()) == 1 for view in contest.with_corbel):
        out.append(" Rows that only one peer can run count against that peer alone.")
    return "".join(out) + "</p>"


def _bar(tally):
    total = sum(tally.values())
    if not total:
        return "<td>–</td>"
    parts = "".join(f'<i class="b-{verdict}" style="width:{100 * tally[verdict] / total:.1f}%"></i>'
                    for verdict in (AHEAD, LEVEL, UNKNOWN, BEHIND) if tally[verdict])
    unknown = f", {tally[UNKNOWN]} unknown" if tally[UNKNOWN] else ""
    label = f"{tally[AHEAD]} ahead, {tally[LEVEL]} level, {tally[BEHIND]} behind{unknown}"
    figures = f"{tally[AHEAD]} / {tally[LEVEL] + tally[UNKNOWN]} / {tally[BEHIND]}"
    return (f'<td title="{label}"><span class="bar" role="img" aria-label="{label}">{parts}</span>'
            f" {figures}</td>")


def _mean_cell(mean, rows):
    if mean is None:
        return "<td>–</td>"
    return f'<td title="{_times(rows)}">{mean:.2f} <span class="soft">({rows})</span></td>'


def means(contest):
    """The table of geometric means, Corbel ÷ peer."""
    if not contest.with_corbel:
        return _peers_alone(contest)
    if not contest.peers:
        return ""
    lines = []
    for column in (None, *contest.peers):
        name = "the best peer of each row" if column is None else looks.name(column)
        cells = "".join(_mean_cell(*contest.mean(column, metric))
                        + _bar(contest.tally(column, metric)) for metric, _, _ in METRICS)
        lines.append(f'<tr{" class=own" if column is None else ""}>'
                     f'<th scope="row">{show.escape(name)}</th>{cells}</tr>')
    head = "".join(f'<th scope="col">{title}: mean (rows)</th>'
                   f'<th scope="col">ahead / level / behind</th>' for _, title, _ in METRICS)
    return ('<div class="wide" tabindex="0" role="region" aria-label="Geometric means"><table '
            'class="means"><caption>Corbel ÷ peer, geometric means; below 1 Corbel takes less'
            f'</caption><thead><tr><th scope="col">peer</th>{head}</tr></thead><tbody>'
            f'{"".join(lines)}</tbody></table></div>')


def _peers_alone(contest):
    """Without Corbel: each peer ÷ the best of the row."""
    lines = []
    for column in contest.peers:
        cells = ""
        for metric, _, _ in METRICS:
            mean, rows, first = contest.distance(column, metric)
            cells += _mean_cell(mean, rows) + f"<td>{first}</td>"
        lines.append(f'<tr><th scope="row">{show.escape(looks.name(column))}</th>{cells}</tr>')
    head = "".join(f'<th scope="col">{title}: mean (rows)</th><th scope="col">best in</th>'
                   for _, title, _ in METRICS)
    return ('<div class="wide" tabindex="0" role="region" aria-label="Geometric means"><table>'
            "<caption>Each peer ÷ the best of the row, geometric means</caption>"
            f'<thead><tr><th scope="col">peer</th>{head}</tr></thead><tbody>{"".join(lines)}'
            "</tbody></table></div>")


def _span(view, column, metric, mark):
    """The ratio of one peer in one metric; without Corbel, the peer's distance to the best."""
    if view.subject:
        found = view.against(column, metric)
    else:
        found = view.compare(view.best(metric), column, metric)
    if found is None:
        identity = view.identities.get(column)
        cell = view.row.cells.get(identity)
        text = "failed" if cell and cell.failure else "–"
        return f'<span class="{mark} none">{text}</span>'
    if not view.subject:
        kind, glyph = ("best", "") if column == view.best(metric) else ("plain", "")
        return f'<span class="{mark} {kind}">{found.ratio:.2f}{glyph}</span>'
    title = f"{show.WORDS[found.verdict]}: {found.low:.2f} to {found.high:.2f}"
    return (f'<span class="{mark} {found.verdict}" title="{title}">{found.ratio:.2f}'
            f"{show.GLYPHS[found.verdict]}</span>")


def _best(view, metric, mark):
    best = view.best(metric)
    if best is None:
        return f'<span class="{mark} none">–</span>'
    name = f'<small>{show.escape(looks.name(best))}</small>'
    if not view.subject:
        return f'<span class="{mark}">{name}</span>'
    return _span(view, best, metric, mark).replace("</span>", f" {name}</span>")


def _row(view, columns):
    row = view.row
    cells = "".join("<td>" + "".join(_span(view, column, metric, mark)
                                     for metric, _, mark in METRICS) + "</td>"
                    for column in columns)
    best = "".join(_best(view, metric, mark) for metric, _, mark in METRICS)
    case = f' <small>{show.escape(view.label)}</small>' if view.label else ""
    return (f'<tr><th scope="row"><a href="#{show.anchor(row.kernel)}">'
            f"{show.escape(row.kernel.title)}</a>{case}</th><td>{row.threads}</td>"
            f'<td class="first">{best}</td>{cells}</tr>')


def _mean_row(contest, columns, among, title):
    cells = []
    for column in (None, *columns):
        spans = []
        for metric, _, mark in METRICS:
            mean, rows = contest.mean(column, metric, among)
            text = f"{mean:.2f} <small>({rows})</small>" if mean else "–"
            spans.append(f'<span class="{mark}">{text}</span>')
        first = ' class="first"' if column is None else ""
        cells.append(f"<td{first}>{''.join(spans)}</td>")
    return (f'<tr class="mean"><th scope="row">{show.escape(title)}</th><td></td>'
            f"{''.join(cells)}</tr>")


def rows(contest, run, name):
    """The table of every row; radio buttons choose time or memory without a script."""
    if not contest.views:
        return ""
    columns = contest.peers
    head = "".join(f'<th scope="col">{show.escape(looks.name(column))}</th>' for column in columns)
    bodies = []
    if contest.with_corbel:
        bodies.append(f"<tbody>{_mean_row(contest, columns, None, 'Geometric mean')}</tbody>")
    for _, title, kernels in run.groups():
        among = [view for view in contest.views if view.row.kernel in kernels]
        if not among:
            continue
        lines = [f'<tr class="group"><th colspan="{len(columns) + 3}" scope="rowgroup">'
                 f"<span>{show.escape(title)}</span></th></tr>"]
        lines += [_row(view, columns) for view in among]
        with_corbel = [view for view in among if view.subject]
        if with_corbel:
            lines.append(_mean_row(contest, columns, with_corbel, "Geometric mean of these"))
        bodies.append(f"<tbody>{''.join(lines)}</tbody>")
    what = "Corbel ÷ peer; below 1 Corbel takes less" if contest.with_corbel else \
        "each ÷ the best of its row"
    radios = "".join(
        f'<label><input type="radio" name="{name}" id="{name}-{mark}"'
        f'{" checked" if mark == "t" else ""}> {text}</label>'
        for mark, text in (("t", "time"), ("m", "peak memory"), ("b", "both")))
    return (f'<div class="switch" id="{name}"><fieldset class="tools"><legend>Show</legend>{radios}'
            f'</fieldset><div class="wide tall" tabindex="0" role="region" aria-label="Every row">'
            f'<table class="rows"><caption>{what}</caption><thead><tr>'
            f'<th scope="col">experiment</th><th scope="col">threads</th>'
            f'<th scope="col" class="first">best peer</th>{head}</tr></thead>'
            f'{"".join(bodies)}</table></div></div>')
