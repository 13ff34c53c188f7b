# SPDX-License-Identifier: Apache-2.0
"""./dev bench misuse: runs the programs that misuse the heap and writes the table."""
import argparse
import datetime
import re
import signal
import sys
import time
from pathlib import Path

from lab import machine, options, paths
from lab.fetch import Unavailable
from lab.misuse import contestants, figure, kinds, record, runner, table
from lab.progress import progress

OK, FALSE_ALARM, WRONG_USE = 0, 1, 2


def parser():
    made = argparse.ArgumentParser(
        prog="./dev bench misuse",
        description="Which faults of a program does an allocator find? Runs every kind of misuse "
                    "with every contestant and writes a table.")
    made.add_argument("--peers", metavar="LIST", type=options.words,
                      help="only these contestants, comma-separated (--list shows them)")
    made.add_argument("--only", metavar="REGEX", type=options.expression,
                      help="only the kinds whose name matches")
    made.add_argument("--runs", metavar="N", type=options.whole(1, 10000), default=100,
                      help="the most runs of a cell (100)")
    made.add_argument("--list", action="store_true", help="list the kinds and the contestants")
    made.add_argument("--out", metavar="FILE.md", type=Path,
                      help="also write the table into this page, with its figure and data beside it")
    made.add_argument("--table", metavar="JSON", nargs="+", type=Path,
                      help="measure nothing; merge earlier results, of which the last counts")
    return made


def main(words):
    given = parser().parse_args(words)
    # As in the lab's driver: a service or a closed terminal stops a run as Ctrl-C does.
    for reason in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(reason, _end)
    try:
        if given.list:
            return show_list()
        results, folder = (merged(given.table), None) if given.table else measured(given)
    except (Unavailable, OSError, ValueError) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return WRONG_USE
    if folder:
        write(results, folder / "misuse.md")
        (folder / "index.html").write_text(figure.whole_page(results))
    if given.out:
        write(results, given.out)
    show(results)
    if folder:
        print(f"\nThe page: {paths.shown(folder / 'index.html')}")
    wrong = [one["name"] for one in results.contestants
             if one["name"].startswith("corbel") and results.false_alarms(one["name"])]
    for name in wrong:
        print(f"FAILED  {name}: a program without misuse did not end well")
    return FALSE_ALARM if wrong else OK


def _end(*_):
    raise KeyboardInterrupt


def show_list():
    print("kinds:")
    for name, kind in kinds.listed(kinds.program()).items():
        print(f"  {name:<24} {kind.what}")
    print("contestants:")
    for entry in contestants.ENTRIES:
        print(f"  {entry.name:<24} {contestants.STRENGTHS[entry.strength]}")
    return OK


def measured(given):
    """(Results, their folder)"""
    chosen = contestants.choose(given.peers)
    listed = kinds.listed(kinds.program())
    picked = [kind for name, kind in listed.items()
              if name == kinds.CONTROL or not given.only or re.search(given.only, name)]
    if len(picked) < 2:
        raise Unavailable(f"no kind's name matches '{given.only}' (--list shows the names)")
    with progress() as bar:
        found, left = contestants.prepare(chosen, lambda name, what: bar.preparing(
            f"{name}: {what}"))
        for line in left:
            bar.say(line)
        if not found:
            raise Unavailable("no contestant is left")
        folder = paths.BUILT / datetime.datetime.now().strftime("misuse-%Y-%m-%d-%H%M%S")
        folder.mkdir(parents=True)
        with open(folder / "runs.jsonl", "w", encoding="utf8", buffering=1) as lines:
            cells, stopped = runner.run(picked, found, given.runs, lines, Shown(bar))
        if stopped:
            bar.say("Stopped: the table has the contestants that were finished.")
    commit, date = machine.commit(), datetime.date.today().isoformat()
    meta = {"runs": given.runs, "machine": machine.facts(),
            "kinds": {kind.name: kind.what for kind in picked}, "left_out": left,
            "contestants": [{"name": one.name, "title": one.title, "strength": one.strength,
                             "setting": one.setting, "commit": commit, "date": date,
                             "runs": given.runs}
                            for one in found]}
    if not cells:
        raise Unavailable("stopped before a contestant was finished")
    return record.Results(meta, cells), folder


class Shown:
    """Says how far the runs are, at most every ten seconds."""

    def __init__(self, bar):
        self.bar, self.last = bar, time.monotonic()

    def __call__(self, done, total, contestant):
        if done < total and time.monotonic() < self.last + 10:
            return
        self.last = time.monotonic()
        self.bar.say(f"{done} of {total} cells, {contestant.name}")


def merged(files):
    return record.load(files)


def write(results, path):
    """The table in the page at `path`, the figure and the data beside it."""
    picture = path.with_suffix(".svg")
    picture.write_text(figure.file(results))
    results.save(path.with_suffix(".json"))
    before = path.read_text() if path.is_file() else ""
    path.write_text(table.insert(table.markdown(results, picture.name), before))


def show(results):
    """The table in the terminal: a line for each kind, a column for each contestant."""
    names = [one["name"] for one in results.contestants]
    for at, name in enumerate(names, 1):
        print(f"{at:>3} {name}")
    print(f"{'':<24}" + "".join(f"{at:>7}" for at in range(1, len(names) + 1)))
    for kind in (kinds.CONTROL, *kinds.ORDER):
        cells = ["".join(table.SIGNS[cell.verdict] for _, cell in results.of(name, kind))
                 for name in names]
        if any(cells):
            print(f"{kind.replace('_', ' '):<24}" + "".join(f"{cell:>7}" for cell in cells))
    print("  ".join(f"{table.SIGNS[verdict]} {words}" for verdict, words in record.VERDICTS.items()))
