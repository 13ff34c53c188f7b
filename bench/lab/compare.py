# SPDX-License-Identifier: Apache-2.0
"""Compares two runs: the changes beyond the spread, in time and in memory."""
import argparse
import html
import sys
from dataclasses import dataclass

from lab import paths, results, statistics
from lab.catalogue import CONTROL
from lab.summary import has_ours

try:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    RICH = True
except ImportError:
    RICH = False

METRICS = (("value", "figure"), ("peak_rss_kib", "peak memory"))
WORDS = {"lower": "less", "higher": "more", "same": "equal", "few": "few runs", "gone": "gone",
         "new": "new", "failed": "FAILS", "works": "works again"}
SAME_MACHINE = ("processor", "usable_cores", "memory_bytes", "kernel", "distribution", "c_library",
                "compiler", "transparent_huge_pages")


@dataclass
class Change:
    row: str
    contestant: str
    metric: str
    unit: str
    old: float
    new: float
    ratio: float
    verdict: str
    good: bool = None  # better, worse, or neither
    higher: bool = False  # whether more is better

    @property
    def changed(self):
        return self.verdict not in ("same", "few")


def changes(old, new):
    """The changes of all pairs of a row and a contestant that either run has."""
    found = []
    pairs = {}
    for run in (old, new):
        for row in run.meta["rows"]:
            if row["kernel"] != CONTROL:
                for contestant in row["contestants"]:
                    pairs.setdefault((row["id"], contestant), row)
    for (row_id, contestant), row in pairs.items():
        if not same_work(old, new, row):
            continue
        kernel = (new if row["kernel"] in new.meta["kernels"] else old).kernel(row)
        for metric, _ in METRICS:
            change = _one(old, new, row_id, contestant, metric, kernel)
            if change:
                found.append(change)
    return found


def same_work(old, new, row):
    """Whether a row has the same size in both runs, or is in one only."""
    sizes = [(run.meta["scale"], run.meta["kernels"][row["kernel"]]["cases"])
             for run in (old, new) if row["kernel"] in run.meta["kernels"]]
    return len(sizes) < 2 or sizes[0] == sizes[1]


def _one(old, new, row, contestant, metric, kernel):
    before, after = (run.kept(row, contestant, metric) for run in (old, new))
    failed = [bool(run.failure(row, contestant)) for run in (old, new)]
    unit = kernel["unit"] if metric == "value" else "KiB"
    medians = [statistics.median(values) if values else None for values in (before, after)]
    if before and after:
        resolution = max(results.RESOLUTION.get(metric, 0.0),
                    drift(old, new, row, contestant, metric) * medians[0])
        one = statistics.compare(before, after, resolution)
        higher = metric == "value" and kernel["higher_is_better"]
        good = {"lower": not higher, "higher": higher}.get(one.verdict)
        return Change(row, contestant, metric, unit, *medians, one.ratio, one.verdict, good, higher)
    if metric != "value" or (not before and not after and failed[0] == failed[1]):
        return None
    if failed[0] != failed[1]:
        return Change(row, contestant, metric, unit, *medians, None,
                      "failed" if failed[1] else "works", failed[0])
    return Change(row, contestant, metric, unit, *medians, None, "new" if after else "gone")


def drift(old, new, row, contestant, metric):
    """The share by which the unchanged other contestants of a row changed between the runs. Two
    runs are hours apart, so a change must exceed the drift of the machine."""
    shares = []
    for name in old.meta["contestants"]:
        facts = [run.meta["contestants"].get(name, {}).get("version") for run in (old, new)]
        medians = [run.median(row, name, metric) for run in (old, new)]
        if name != contestant and not has_ours(name) and facts[0] == facts[1] and all(medians):
            shares.append(abs(medians[1] / medians[0] - 1))
    return statistics.median(shares) if shares else 0.0


def differences(old, new):
    """Lines about differences that make the two runs less comparable."""
    lines = []
    if old.meta["scale"] != new.meta["scale"]:
        lines.append(f"The sizes differ: {old.meta['scale']} against {new.meta['scale']}. "
                     "Figures of different sizes say nothing about each other: none is compared.")
    for fact in SAME_MACHINE:
        before, after = (run.meta["machine"].get(fact) for run in (old, new))
        if before != after:
            lines.append(f"The machines differ: {fact.replace('_', ' ')} {before or 'unknown'} "
                         f"against {after or 'unknown'}.")
    for name, fact in old.meta["contestants"].items():
        other = new.meta["contestants"].get(name)
        if other and fact.get("version") != other.get("version") and name in new.meta["contestants"]:
            lines.append(f"{name}: version {fact.get('version') or '?'} against "
                         f"{other.get('version') or '?'}.")
    sizes = [name for name in set(old.meta["kernels"]) & set(new.meta["kernels"])
             if old.meta["kernels"][name]["cases"] != new.meta["kernels"][name]["cases"]]
    if sizes:
        lines.append(f"The cases differ in, and are not compared: {', '.join(sorted(sizes))}.")
    return lines


def number(value, unit):
    if value is None:
        return "-"
    if unit == "KiB":
        return f"{value / 1024:.1f} MiB"
    return f"{value:.4g} {unit}"


def cells(change):
    ratio = "-" if change.ratio is None else f"{change.ratio:.3f}×"
    return [change.row, change.contestant, dict(METRICS)[change.metric],
            number(change.old, change.unit), number(change.new, change.unit), ratio,
            WORDS[change.verdict]]


TITLES = ("row", "contestant", "what", "old", "new", "ratio", "")


def show(shown, count):
    if not shown:
        print(f"Nothing changed beyond the spread in {count} comparisons.")
        return
    if RICH:
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for index, title in enumerate(TITLES):
            grid.add_column(title, justify="right" if index in (3, 4, 5) else "left", no_wrap=True)
        for change in shown:
            style = {True: "green", False: "red"}.get(change.good, "dim")
            *plain, ratio, word = cells(change)
            grid.add_row(*plain, f"[{style}]{ratio}[/]", f"[{style}]{word}[/]")
        Console(width=None if sys.stdout.isatty() else 140, highlight=False).print(grid)
    else:
        for change in shown:
            print("  ".join(cells(change)))


def summary(found):
    """One line for each contestant and metric that changed."""
    lines = []
    for metric, title in METRICS:
        for name in dict.fromkeys(change.contestant for change in found):
            of = [c for c in found if c.contestant == name and c.metric == metric and c.ratio]
            # A ratio of a metric where more is better is inverted, so that below 1 is always better.
            mean = statistics.geometric_mean([1 / c.ratio if c.higher else c.ratio for c in of])
            if mean and any(c.changed for c in of):
                lines.append(f"{name}, {title}: {mean:.3f}× over {len(of)} rows, better in "
                             f"{sum(c.good is True for c in of)}, worse in "
                             f"{sum(c.good is False for c in of)}.")
    return lines


def page(old, new, notes, shown, lines):
    """One self-contained page."""
    def row(change):
        kind = {True: "good", False: "bad"}.get(change.good, "")
        return "<tr>" + "".join(f'<td class="{kind if i > 4 else ""}">{html.escape(text)}</td>'
                                for i, text in enumerate(cells(change))) + "</tr>"
    names = [html.escape(f"{run.folder.name} ({run.meta['commit']}, {run.meta['scale']})")
             for run in (old, new)]
    head = "".join(f"<th>{title}</th>" for title in TITLES)
    paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in [*notes, *lines])
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Two runs compared</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>
:root{{color-scheme:light dark;--good:#0a7d33;--bad:#b3261e;--line:#8884}}
@media(prefers-color-scheme:dark){{:root{{--good:#5bd48a;--bad:#ff8a80}}}}
body{{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}}
div{{overflow-x:auto}}table{{border-collapse:collapse;font-variant-numeric:tabular-nums}}
td,th{{padding:.25rem .75rem;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}}
.good{{color:var(--good)}}.bad{{color:var(--bad)}}</style></head><body>
<h1>Two runs compared</h1><p>Old: {names[0]}<br>New: {names[1]}</p>{paragraphs}
<div><table><thead><tr>{head}</tr></thead><tbody>{"".join(map(row, shown))}</tbody></table></div>
</body></html>
"""


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench compare", description="The differences "
                                     "between two runs beyond the spread.")
    parser.add_argument("old", metavar="A", help="the folder of the old run")
    parser.add_argument("new", metavar="B", help="the folder of the new run")
    parser.add_argument("--all", action="store_true", help="also show what did not change")
    parser.add_argument("--html", metavar="FILE", help="write a page as well")
    wanted = parser.parse_args(arguments)
    try:
        old, new = results.load(wanted.old), results.load(wanted.new)
    except results.Broken as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 2
    found = changes(old, new)
    shown = [change for change in found if wanted.all or change.changed]
    notes = differences(old, new)
    for line in notes:
        print(line)
    show(shown, len(found))
    lines = summary(found)
    for line in lines:
        print(line)
    print("ratio: new ÷ old of the medians; " + ("all" if wanted.all else
          f"{len(shown)} of {len(found)} comparisons, the others did not change beyond the spread "
          "(--all shows them)"))
    if wanted.html:
        try:
            with open(wanted.html, "w", encoding="utf8") as file:
                file.write(page(old, new, notes, shown, lines))
        except OSError as error:
            print(f"bench: {wanted.html}: {error.strerror}", file=sys.stderr)
            return 1
        print(f"The page: {paths.shown(wanted.html)}")
    return 0
