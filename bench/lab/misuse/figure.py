# SPDX-License-Identifier: Apache-2.0
"""The table as a figure: a line for each kind, a column for each contestant, and in it a mark for
each size of the blocks. Marks differ in shape as well as in colour. And the page around it."""
import html

from lab.misuse import contestants, kinds, record, table
from report import colours, page

LEFT, TOP, ROW, MARK, GAP = 178, 128, 17, 8, 8
COLUMN = len(kinds.SIZES) * MARK + GAP
HEAD = 20  # of a chapter
NARROWEST = 480  # for the words below the marks


def _rect(x, y, width, height, fill, more=""):
    return (f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'fill="var(--{fill})"{more}/>')


def mark(cell, x, y, width):
    """One cell: the full square is found, and what it lacks is missing from it."""
    height, inner = ROW - 4, width - 1
    verdict = cell.verdict
    if verdict in ("named", "found"):
        return _rect(x, y, inner, height, "good", "" if verdict == "named" else ' opacity=".55"')
    if verdict == "sometimes":
        part = max(height * cell.found / cell.runs, 1)
        return (_rect(x, y, inner, height, "grid") + _rect(x, y + height - part, inner, part, "good"))
    if verdict == "ended":
        return (f'<path d="M{x:g} {y + 2:g}h{inner:g}l{-inner / 2:g} {height - 4:g}z" '
                'fill="var(--blue)"/>')
    if verdict == "defused":
        return (f'<rect x="{x + .5:g}" y="{y + 2.5:g}" width="{inner - 1:g}" '
                f'height="{height - 5:g}" fill="none" stroke="var(--soft)"/>')
    if verdict == "harmed":
        return (f'<path d="M{x:g} {y + 2:g}l{inner:g} {height - 4:g}m0 {4 - height:g}'
                f'l{-inner:g} {height - 4:g}" stroke="var(--bad)" stroke-width="2"/>')
    return f'<circle cx="{x + inner / 2:g}" cy="{y + height / 2:g}" r="1.2" fill="var(--soft)"/>'


def _text(x, y, words, more=""):
    return f'<text x="{x:g}" y="{y:g}"{more}>{html.escape(words)}</text>'


def _told(one, name, found):
    """What a cell says when a pointer is held over it."""
    lines = [f"{one['title']}, {name.replace('_', ' ')}"]
    for size, cell in found:
        counts = ", ".join(f"{runs} {outcome}" for outcome, runs in sorted(cell.counts.items()))
        line = next(iter(cell.lines.values()))
        lines.append(f"{size:,} bytes: {counts}. {line}")
    return f"<title>{html.escape(chr(10).join(lines))}</title>"


def draw(results, told=True):
    """The SVG. `told`: with what each cell says; without it the file is a third as large."""
    chosen = [one for strength in contestants.STRENGTHS for one in results.contestants
              if one["strength"] == strength]
    places, x, before = {}, LEFT, None
    for one in chosen:
        x += 10 if before not in (None, one["strength"]) else 0
        places[one["name"]], before = x, one["strength"]
        x += COLUMN
    parts = []
    for one in chosen:
        middle = places[one["name"]] + (COLUMN - GAP) / 2 + 3
        ours = ' font-weight="700"' if one["name"].startswith("corbel") else ""
        parts.append(_text(0, 0, one["name"], f'{ours} transform="translate({middle:g} {TOP - 8}) '
                                              'rotate(-60)"'))
    y = TOP
    for chapter, names in kinds.CHAPTERS.items():
        names = [name for name in names if any(results.of(one["name"], name) for one in chosen)]
        if not names:
            continue
        parts.append(_text(0, y + 14, chapter, ' font-weight="700"'))
        y += HEAD
        for name in names:
            parts.append(f'<path d="M{LEFT - 4} {y + ROW - 1.5:g}H{x - GAP}" stroke="var(--grid)"/>')
            parts.append(_text(LEFT - 10, y + 11, name.replace("_", " "), ' text-anchor="end"'))
            for one in chosen:
                found = results.of(one["name"], name)
                width = (COLUMN - GAP) / len(found) if found else 0
                marks = "".join(mark(cell, places[one["name"]] + at * width, y, width)
                                for at, (_, cell) in enumerate(found))
                parts.append(f"<g>{_told(one, name, found) if told and found else ''}{marks}</g>")
            y += ROW
    y += 26
    at = 0
    for verdict, words in record.VERDICTS.items():
        cell = record.Cell(EXAMPLES[verdict], {})
        parts.append(mark(cell, at, y - 11, MARK) + _text(at + MARK + 5, y, words))
        at += MARK + 24 + 6 * len(words)
        if at > max(x, NARROWEST) - 240:
            at, y = 0, y + 20
    sizes = ", ".join(f"{size:,}" for size in kinds.SIZES)
    parts.append(_text(0, y + 22, f"The marks of a cell, from left to right: blocks of {sizes} bytes."))
    x = max(x, NARROWEST)
    return (f'<svg role="img" aria-label="Which misuse is found by which allocator" '
            f'style="min-width:{.8 * x:g}px;max-width:{1.3 * x:g}px" '
            f'viewBox="0 0 {x:g} {y + 32:g}" xmlns="http://www.w3.org/2000/svg">'
            f'<g fill="var(--ink)" font-size="11.5" font-family="system-ui,sans-serif">'
            f'{"".join(parts)}</g></svg>')


EXAMPLES = {"named": {"named": 2}, "found": {"said": 2}, "sometimes": {"named": 1, "missed": 1},
            "ended": {"crashed": 2}, "defused": {"defused": 2}, "missed": {"missed": 2},
            "harmed": {"harmed": 2}}


def file(results):
    """The figure as a file of its own, which brings its colours and its surface."""
    text = draw(results, told=False)
    width, height = text.partition('viewBox="0 0 ')[2].partition('"')[0].split()
    frame = (f"<style>{colours.css()}</style>"
             f'<rect x="-10" y="0" width="{float(width) + 20:g}" height="{height}" '
             'rx="6" fill="var(--card)"/>')
    text = text.replace(f'viewBox="0 0 {width} {height}"',
                        f'viewBox="-10 0 {float(width) + 20:g} {height}"')
    return text.replace("><g ", f">{frame}<g ", 1) + "\n"


def _rows(markdown):
    """A table of Markdown as HTML."""
    lines = [line.strip("| ").split(" | ") for line in markdown.splitlines()]
    clean = [[html.escape(word.strip("*` ").replace("\\|", "|")) for word in line] for line in lines]
    head = "".join(f'<th scope="col">{word}</th>' for word in clean[0])
    body = "".join("<tr>" + "".join(f"<td class=\"text\">{word}</td>" for word in line) + "</tr>"
                   for line in clean[2:])
    return (f'<div class="wide" tabindex="0" role="region"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def _listed(markdown):
    return "<ul>" + "".join(f"<li>{html.escape(line.lstrip('- ').replace('**', ''))}</li>"
                            for line in markdown.splitlines()) + "</ul>"


def whole_page(results):
    body = ("<main><h1>Which misuse of the heap is found?</h1>"
            f'<figure><div class="wide">{draw(results)}</div></figure>'
            f"<h2>What the signs mean</h2>{_listed(table.meanings())}"
            f"<h2>Shares</h2>{_rows(table.shares(results))}"
            f"<h2>Messages</h2>{_rows(table.messages(results))}"
            f"<h2>The kinds</h2>{_listed(table.what(results))}"
            f"<h2>Settings</h2>{_rows(table.settings(results))}</main>")
    return page.frame("Which misuse of the heap is found?", body,
                      "figure svg{width:100%}main{max-width:1400px;margin:auto}")
