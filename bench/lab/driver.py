# SPDX-License-Identifier: Apache-2.0
"""./dev bench, from the options to the page: prepare, plan, run, show."""
import datetime
import hashlib
import os
import re
import signal
import sys
from pathlib import Path

from lab import (build, catalogue, contestants, control, machine, measure, options, paths,
                 peers, results, schedule, session, summary)
from lab.progress import progress

QUIET_SECONDS = float(os.environ.get("CORBEL_BENCH_QUIET_SECONDS", 5))  # the tests set 0
OK, FAILED, WRONG_USE, UNTRUSTED, INTERRUPTED = 0, 1, 2, 3, 130


class Refused(Exception):
    """The run cannot start; the text says why and what to do."""


def run(arguments):
    parser, wanted = options.parse(arguments)
    # SIGTERM (a service, a build) and SIGHUP stop a run as Ctrl-C does.
    for reason in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(reason, _end)
    try:
        old = _old_run(wanted.resume) if wanted.resume is not None else None
        plan = _plan_options(old.meta["options"]) if old else wanted
        options.check_peers(parser, plan.peers, _known_peers())
        with progress() as bar:
            meta, rows = _prepare(plan, old, bar)
        if wanted.list:
            return _list(rows)
        folder = old.folder if old else _new_folder(wanted.output)
        return _measure(folder, meta, rows)
    except (Refused, results.Broken, peers.Unavailable) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return WRONG_USE


def _end(*_):
    raise KeyboardInterrupt


def _known_peers():
    return [name for name in peers.load() if name not in contestants.ALWAYS]


def _old_run(name):
    if name:
        return results.load(name)
    for folder in sorted(paths.BUILT.glob("*/"), reverse=True):
        if re.match(r"\d{4}-\d\d-\d\d", folder.name) and (folder / results.PLAN).is_file():
            found = results.load(folder)
            if not found.meta["finished"] and not session.is_held(folder):
                return found
    raise Refused(f"there is no run below {paths.shown(paths.BUILT)} that was stopped")


def _plan_options(recorded):
    """The options of the run to resume."""
    _, made = options.parse([])
    for name, value in recorded.items():
        setattr(made, name, Path(value) if name == "kernels" and value else value)
    return made


def _prepare(plan, old, bar):
    """(the content of run.json, rows)"""
    notes = []

    def note(line):
        notes.append(line)
        bar.say(line)

    prepared, lines = contestants.prepare(plan.peers, lambda name, what: bar.preparing(
        f"{name}: {what}"))
    for line in lines:
        note(line)
    if "corbel" not in prepared.allocators:
        raise Refused(f"without Corbel there is nothing to compare: "
                      f"{prepared.facts['corbel']['skipped']}")
    folder = plan.kernels or paths.KERNELS
    builder = build.Builder(kernels=folder, report=bar.preparing, warn=note)
    kernels = catalogue.discover(folder)
    found, rows = _rows(kernels, prepared, builder, plan, note)
    if not rows or all(row.kernel == catalogue.CONTROL for row in rows):
        also = " --outside" if plan.outside else ""
        raise Refused(f"no row's name matches '{plan.only}' (./dev bench --list{also} shows the names)"
                      if plan.only else f"there are no kernels in {folder}")
    meta = _meta(plan, found, prepared, rows, notes)
    if old:
        _same_plan(old, meta)
        meta = {**old.meta, "finished": None}
        skipped = {row["id"]: row.get("skipped") for row in meta["rows"]}
        for row in rows:
            row.skipped = skipped.get(row.id)
    return meta, rows


def _rows(kernels, prepared, builder, plan, note):
    for line in catalogue.compile_described(kernels, prepared, builder):
        note(line)
    kernels, lines = catalogue.describe(kernels)
    for line in lines:
        note(line)
    only = re.compile(plan.only) if plan.only else None
    chosen = catalogue.matching(catalogue.of_chapters(kernels, plan.outside), plan.threads, only)
    for line in catalogue.compile_schedulers(chosen, prepared, builder):
        note(line)
    found = catalogue.rows(kernels, prepared, plan.scale, plan.threads, only, plan.outside)
    return kernels, schedule.spare(found, plan.scale, plan.rounds)


def _meta(plan, kernels, prepared, rows, notes):
    used = {row.kernel for row in rows}
    described = {k.name: k.descriptor for k in kernels if k.name in used}
    if catalogue.CONTROL in used:
        described[catalogue.CONTROL] = catalogue.control_descriptor(kernels)
    return {"format": results.FORMAT, "started": session.now(), "finished": None,
            "scale": plan.scale, "seed": plan.seed,
            "rounds": plan.rounds or schedule.ROUNDS[plan.scale],
            "options": {"scale": plan.scale, "only": plan.only, "peers": plan.peers,
                        "threads": plan.threads, "rounds": plan.rounds, "seed": plan.seed,
                        "outside": plan.outside,
                        "kernels": str(plan.kernels.resolve()) if plan.kernels else None},
            "commit": machine.commit(), "machine": machine.facts(), "notes": notes,
            "contestants": _facts(prepared, rows), "kernels": described,
            "digests": _digests(rows), "rows": [row.record() for row in rows]}


def _facts(prepared, rows):
    """The facts of all contestants, under their names in the rows, and of all that are left out."""
    facts = dict(prepared.facts)
    for row in rows:
        for one in row.contestants:
            if one.id in facts:
                continue
            base = facts.get(one.scheduler, {})
            title = base.get("title", one.id)
            if one.variant and one.id.split("@")[0] != one.scheduler:
                title += f" {one.variant}"
            if "@" in one.id:
                title += " on " + facts.get(one.allocator, {}).get("title", one.allocator)
            facts[one.id] = {**base, "title": title, "kind": "scheduler", "skipped": None}
    return facts


def _digests(rows):
    """Digests of every program and library that runs. A run must not be resumed with others."""
    return _digests_of({str(path) for row in rows for one in row.contestants
                        for path in [*one.files, *one.preload, *one.command[:3]]
                        if str(path).startswith("/")})


def _digests_of(files):
    """Digests by path, relative to the project's folder where possible: the folder may move."""
    return {_below_root(path): hashlib.sha256((paths.ROOT / path).read_bytes()).hexdigest()[:16]
            for path in sorted(files) if (paths.ROOT / path).is_file()}


def _below_root(path):
    path = paths.ROOT / path
    return str(path.relative_to(paths.ROOT) if path.is_relative_to(paths.ROOT) else path)


def _changed(before, now):
    return sorted({Path(path).name for path in set(before) | set(now)
                   if before.get(path) != now.get(path)})


def _same_plan(old, meta):
    """Refuses to mix the results of different programs, or of different plans."""
    fresh = [{k: v for k, v in row.items() if k != "skipped"} for row in meta["rows"]]
    before = [{k: v for k, v in row.items() if k != "skipped"} for row in old.meta["rows"]]
    if changed := _changed(old.meta["digests"], meta["digests"]):
        raise Refused(f"{paths.shown(old.folder)} cannot be resumed: changed since: "
                      f"{', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}; start a new run")
    if fresh != before or meta["machine"]["processor"] != old.meta["machine"]["processor"]:
        raise Refused(f"{paths.shown(old.folder)} cannot be resumed: its rows or the machine "
                      "have changed; start a new run")


def _new_folder(output):
    if output is None:
        output = paths.BUILT / datetime.datetime.now().strftime("%Y-%m-%d-%H%M%S")
    if (output / results.PLAN).exists():
        raise Refused(f"{output} already holds a run: --resume {output} continues it")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{output} cannot be made: {error.strerror}") from None
    return output.resolve()


def _list(rows):
    for row in rows:
        print(f"{row.id:<44} {' '.join(contestant.id for contestant in row.contestants)}")
    print(f"{len(rows)} rows, {sum(len(row.contestants) for row in rows)} pairs of a row and a "
          "contestant")
    return OK


def _measure(folder, meta, rows):
    interrupted, spoilt = False, None
    with progress() as bar:
        one = session.Session(folder, meta, rows, bar, changed=lambda: _changed(
            meta["digests"], _digests_of(meta["digests"])))
        bar.say(f"{len(rows)} rows into {paths.shown(folder)}, about {one.seconds_of(rows)} at the "
                "first guess")
        _read_files(meta["digests"])
        if not measure.wait_until_quiet(QUIET_SECONDS):
            line = "Other processes use the processor: runs will be disturbed."
            bar.say(line)
            if line not in meta["notes"]:
                meta["notes"].append(line)
        try:
            one.run()
        except KeyboardInterrupt:
            interrupted = True
        except session.InUse as used:
            raise Refused(str(used)) from None
        except session.Changed as change:
            spoilt = str(change)
            meta["notes"].append(f"This run is mixed: {spoilt}.")
            results.save_plan(folder, meta)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave half a page
    code = finish(folder)
    if spoilt:
        print(f"bench: stopped, because files {spoilt}; start a new run", file=sys.stderr)
        return UNTRUSTED
    if interrupted:
        print(f"Stopped. Continue with: ./dev bench --resume {paths.shown(folder)}")
        return INTERRUPTED
    return code


def _read_files(files):
    """Reads all files once, so that the first run of a program does not wait for the disk."""
    for path in files:
        (paths.ROOT / path).read_bytes()


def finish(folder):
    """Shows the results in a folder and writes its table and its page; returns the exit code."""
    run = results.load(folder)
    results.write_table(run)
    print()
    summary.show(run)
    trusted, lines = control.judge(run)
    for line in lines:
        print(line)
    counted = sum(bool(each["kept"]) for each in run.runs)
    if run.disturbed():
        print(f"{run.disturbed()} of {counted} runs were disturbed by other processes even when "
              "repeated; they are marked.")
    failures = run.failures()
    for row, contestant, why in failures:
        print(f"FAILED  {row}  {contestant}: {why}")
    page = write_page(folder)
    print(f"\nResults: {paths.shown(folder)}" + (f"\nThe page: {paths.shown(page)}" if page else ""))
    if any(summary.has_ours(contestant) for _, contestant, _ in failures):
        return FAILED
    return UNTRUSTED if trusted is False else OK


def write_page(folder):
    """The path of the page; None if it cannot be drawn, which does not invalidate the results."""
    try:
        from lab import page
        page.write(Path(folder))
        return Path(folder) / "index.html"
    except Exception as error:  # no error may lose the measurements
        print(f"bench: no page: {type(error).__name__}: {error}", file=sys.stderr)
        return None
