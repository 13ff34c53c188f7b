# SPDX-License-Identifier: Apache-2.0
"""The result page: one self-contained file that opens offline.

write(folder) reads the results of a complete or partial run and writes index.html next to them.
model.py holds the data, contest.py forms the pairs to compare, summary.py and overview.py make the
top, chapters.py the experiments with their figures (bench/figures), facts.py the rest.
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCH = HERE.parents[1]
for _folder in (BENCH, BENCH.parent / "tools"):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

from report import page as frame  # noqa: E402

from . import chapters, facts, overview, summary  # noqa: E402
from .contest import Contest  # noqa: E402
from .model import Run  # noqa: E402

PAGE = "index.html"


def _asset(name):
    """A style sheet or script without its leading comment."""
    text = (HERE / name).read_text(encoding="utf-8")
    return text[text.index("*/") + 2:].strip() if text.startswith("/*") else text


def _contests(run):
    for kind, name in (("allocator", "a"), ("scheduler", "s"), ("container", "c"),
                       ("flow graph", "f")):
        yield Contest(run, kind), kind, name


def _words(contests):
    words = "".join(summary.paragraph(contest, kind) for contest, kind, _ in contests)
    return words or "<p>There are no results yet.</p>"


def _summary(contests, run):
    out = []
    for contest, kind, name in contests:
        if contest.views:
            out.append(f'<section id="{kind.replace(" ", "-")}s"><h2>{kind.capitalize()}s</h2>'
                       + f'<div class="pair">{summary.means(contest)}'
                       + f"{overview.draw(contest, name)}</div>"
                       + f"<h3>Row by row</h3>{summary.rows(contest, run, name)}</section>")
    return "".join(out)


def document(run):
    contests = list(_contests(run))
    started = str(run.meta.get("started") or "")[:16].replace("T", " ")
    facts_of = run.meta.get("machine") or {}
    where = ", ".join(filter(None, (facts_of.get("processor"), facts_of.get("distribution"))))
    body = "".join((
        f'<header><h1>Corbel beside its peers</h1><p class="soft">{started} · '
        f'{run.meta.get("scale") or ""} sizes · {where} · commit {run.meta.get("commit") or "?"} · '
        '<a href="#machine">machine</a> · <a href="#reading">how to read this</a></p></header>',
        f"<main>{facts.warning(run)}{_words(contests)}",
        f'<section id="trust"><h2>Can this run be trusted?</h2>{facts.trust(run)}</section>', _summary(contests, run), chapters.contents(run), chapters.all_chapters(run),
        f'<h2 id="machine">Machine</h2>{facts.machine(run)}',
        f"<h2>Contestants</h2>{facts.versions(run)}",
        f'<h2 id="reading">How to read this page</h2>{facts.reading()}',
        f"<h2>To repeat it</h2>{facts.reproduce(run)}", "</main>"))
    return frame.frame(f"Corbel beside its peers, {started}", body, _asset("style.css"),
                       _asset("script.js"))


def write(folder):
    """Writes the page of a run; returns its path."""
    folder = Path(folder)
    path = folder / PAGE
    path.write_text(document(Run(folder)), encoding="utf-8")
    return path
