# SPDX-License-Identifier: Apache-2.0
"""The summary on the terminal: Corbel against the best peer, group by group."""
import sys

from lab import statistics
from lab.catalogue import CONTROL, GROUPS

try:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    RICH = True
except ImportError:
    RICH = False

OURS = "corbel"
NOT_PEERS = ("serial",)


def is_ours(contestant):
    """Corbel's allocator, its scheduler, or its scheduler's best variant."""
    return contestant.split("@")[0].split("+")[0].split(".")[0] == OURS


def has_ours(contestant):
    """Whether the contestant contains any part of Corbel."""
    return is_ours(contestant) or "@" + OURS in contestant or contestant.startswith(OURS + "-")


def is_peer(run, contestant):
    base = contestant.split("@")[0].split("+")[0]
    fact = run.meta["contestants"].get(contestant) or run.meta["contestants"].get(base) or {}
    return not is_ours(contestant) and base not in NOT_PEERS and fact.get("kind") != "control" \
        and "@corbel" not in contestant


def best(run, row, contestants, metric="value"):
    """The contestant with the best median, or None. Only `value` can be better when higher."""
    higher = metric == "value" and run.kernel(row)["higher_is_better"]
    found = [(run.median(row["id"], c, metric), c) for c in contestants]
    found = [(value, c) for value, c in found if value is not None]
    return (max if higher else min)(found)[1] if found else None


def against_best(run, row, metric="value"):
    """(best peer, Comparison of Corbel against it) with a ratio below 1 where Corbel is better;
    None when there is nothing to compare."""
    ours = best(run, row, filter(is_ours, row["contestants"]), metric)
    peers = [c for c in row["contestants"] if is_peer(run, c)]
    peer = best(run, row, peers, metric)
    # A peer that is the only one to support a row (a heap limit, for example) is not the best.
    alone = len(peers) == 1 < max(sum(is_peer(run, c) for c in other["contestants"])
                                  for other in run.meta["rows"])
    if ours is None or peer is None or alone:
        return None
    sides = [peer, ours]
    if metric == "value" and run.kernel(row)["higher_is_better"]:
        sides.reverse()
    return peer, run.compare(row["id"], *sides, metric)


def lines(run):
    """[(group, rows, {metric: (geometric mean, better, same, worse, too few runs)})]"""
    found = []
    for group in [*GROUPS, *sorted({k["group"] for k in run.meta["kernels"].values()}
                                   - {*GROUPS, CONTROL})]:
        rows = [row for row in run.meta["rows"] if run.kernel(row)["group"] == group]
        sums = {}
        for metric in ("value", "peak_rss_kib"):
            compared = [c[1] for row in rows if (c := against_best(run, row, metric))]
            if compared:
                words = [c.verdict for c in compared]
                sums[metric] = (statistics.geometric_mean([c.ratio for c in compared]),
                                words.count("lower"), words.count("same"), words.count("higher"),
                                words.count("few"))
        if rows and sums:
            found.append((group, len(rows), sums))
    return found


def show(run, out=print):
    found = lines(run)
    if not found:
        out("There is no row with both Corbel and a peer.")
    elif RICH:
        _rich(found)
    else:
        for group, rows, sums in found:
            out(f"{group:<18}{rows:>4} rows   " + "   ".join(
                f"{title} {_cells(sums.get(metric))[0]} ({_cells(sums.get(metric))[1]})"
                for metric, title in (("value", "time"), ("peak_rss_kib", "peak memory"))))
    if found:
        out("Geometric means of Corbel ÷ the best peer of each row, below 1 is better; in how many "
            "rows it is better, equal within the spread, worse.")
    few = sum(sums["value"][-1] for _, _, sums in found if "value" in sums)
    if few:
        out(f"{few} rows have too few runs to tell.")


def _rich(found):
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title, side in (("group", "left"), ("rows", "right"), ("time", "right"),
                        ("better equal worse", "right"), ("peak memory", "right"),
                        ("better equal worse", "right")):
        grid.add_column(title, justify=side, no_wrap=True)
    for group, rows, sums in found:
        cells = [*_cells(sums.get("value"), True), *_cells(sums.get("peak_rss_kib"), True)]
        grid.add_row(group, str(rows), *cells)
    Console(highlight=False, width=None if sys.stdout.isatty() else 120).print(grid)


def _cells(one, colours=False):
    if not one:
        return "-", "-"
    mean, better, same, worse, _ = one
    text = "-" if mean is None else f"{mean:.2f}×"
    if colours and mean is not None and better != worse:
        text = f"[{'green' if mean < 1 else 'red'}]{text}[/]"
    return text, f"{better} {same} {worse}"
