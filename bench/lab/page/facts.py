# SPDX-License-Identifier: Apache-2.0
"""What a reader needs to judge the figures: control, disturbance, failures, machine, versions,
how to repeat the run and how to read it.
"""
from collections import defaultdict

from lab import control
from lab.statistics import CONFIDENCE, MIN_RUNS

from . import looks, show


def _list(items):
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>" if items else ""


def trust(run):
    """The control's verdict, disturbed runs, missing contestants and failures."""
    items = [_control_line(line) for line in control.judge(run.results)[1]]
    items.append(f"{show.plural(run.count, 'run')} in all. Other processes disturbed "
                 f"{run.repeated + run.marked}: {run.repeated} were repeated, {run.marked} "
                 f"count and are marked, because repeating did not help.")
    planned = run.meta.get("rows") or []
    empty = [plan for plan in planned if not any(
        run.results.of(plan["id"], each) for each in plan.get("contestants") or [])]
    if not run.meta.get("finished"):
        items.append("<strong>The run is not complete</strong>: it was stopped, or is still running. "
                     f"{show.plural(len(planned), 'row')} planned, {len(empty)} without a result.")
    items += [show.escape(note) for note in run.meta.get("notes") or []]
    items += _skipped(run) + _failed(run)
    return _list(items)


def _control_line(line):
    bad = any(word in line for word in ("NOT", "DIFFER", "failed"))
    unknown = not bad and any(word in line for word in ("left out", "too few"))
    kind, mark = ("higher", "✗") if bad else ("same", "?") if unknown else ("lower", "✓")
    return f'<span class="{kind}">{mark} {show.escape(line)}</span>'


def warning(run):
    """Warnings that belong before the result, if there are any."""
    if control.judge(run.results)[0] is False:
        return ('<p class="higher">This run cannot be trusted: its control experiment did not find '
                "the known results. <a href=\"#trust\">See below.</a></p>")
    return ""


def _skipped(run):
    items = []
    for name, facts in (run.meta.get("contestants") or {}).items():
        if facts.get("skipped"):
            items.append(f"{show.escape(facts.get('title') or name)} did not take part: "
                         f"{show.escape(facts['skipped'])}.")
    reasons = defaultdict(list)
    for plan in run.meta.get("rows") or []:
        if plan.get("skipped"):
            reasons[plan["kernel"], plan["skipped"]].append(plan["id"])
    for (kernel, why), rows in reasons.items():
        items.append(f"{show.escape(kernel)} is left out ({show.plural(len(rows), 'row')}): "
                     f"{show.escape(why)}.")
    return items


def _failed(run):
    reasons = defaultdict(list)
    for row, contestant, why in run.results.failures():
        reasons[contestant, why].append(row)
    return [f'<span class="higher">{show.escape(looks.name(contestant))} failed</span> in '
            f"{show.escape(', '.join(rows))}: {show.escape(why)}"
            for (contestant, why), rows in reasons.items()]


def _definitions(pairs):
    return "<dl>" + "".join(f"<dt>{show.escape(name)}</dt><dd>{show.escape(value)}</dd>"
                            for name, value in pairs if value not in (None, "", [])) + "</dl>"


def machine(run):
    facts = run.meta.get("machine") or {}
    memory = facts.get("memory_bytes")
    load = facts.get("load_average")
    cores = facts.get("usable_cores")
    finished = run.meta.get("finished") or "not yet"
    known = {"processor", "cores", "usable_cores", "memory_bytes", "kernel", "distribution",
             "c_library", "compiler", "transparent_huge_pages", "load_average", "virtual"}
    pairs = [
        ("processor", facts.get("processor")),
        ("cores", f"{cores} of {facts.get('cores')} usable" if cores else None),
        ("memory", f"{memory / 2**30:.1f} GiB" if memory else None),
        ("system", ", ".join(filter(None, (facts.get("distribution"), facts.get("kernel"))))),
        ("virtual machine", {True: "yes", False: "no"}.get(facts.get("virtual"))),
        ("C library", facts.get("c_library")), ("compiler", facts.get("compiler")),
        ("transparent huge pages", facts.get("transparent_huge_pages")),
        ("load before", f"{load[0]:.2f}" if load else None),
        *((name.replace("_", " "), facts[name]) for name in facts if name not in known),
        ("Corbel", f"commit {run.meta['commit']}" if run.meta.get("commit") else None),
        ("begun", run.meta.get("started")), ("ended", finished),
        ("sizes", run.meta.get("scale")), ("rounds", run.meta.get("rounds")),
        ("seed of the order", run.meta.get("seed"))]
    return _definitions(pairs)


def versions(run):
    lines = []
    known = run.meta.get("contestants") or {}
    for name, facts in known.items():
        if looks.parts(name)[0] != name and looks.parts(name)[0] in known:
            continue  # a variant of one that has its own line
        state = show.escape(facts["skipped"]) if facts.get("skipped") else "took part"
        lines.append(f'<tr><th scope="row">{show.escape(facts.get("title") or name)}</th>'
                     f"<td>{show.escape(facts.get('version') or '–')}</td>"
                     f"<td>{show.escape(facts.get('kind') or '')}</td>"
                     f'<td class="text">{show.escape(facts.get("origin") or "–")}</td>'
                     f'<td class="text">{state}</td></tr>')
    if not lines:
        return ""
    return ('<div class="wide" tabindex="0" role="region" aria-label="Contestants"><table><thead>'
            '<tr><th scope="col">contestant</th><th scope="col">version</th><th scope="col">kind'
            '</th><th scope="col" class="text">from</th><th scope="col" class="text">state</th>'
            f'</tr></thead><tbody>{"".join(lines)}</tbody></table></div>')


def command(meta):
    """The command that repeats the run."""
    words = ["./dev bench"]
    if meta.get("scale") in ("quick", "full"):
        words.append(f"--{meta['scale']}")
    for name in ("only", "peers", "threads", "rounds", "seed"):
        value = (meta.get("options") or {}).get(name)
        if name == "seed":
            value = meta.get("seed") if meta.get("seed") not in (None, 1) else None
        if value:
            value = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            quoted = value if value.replace(",", "").replace("-", "").isalnum() else f"'{value}'"
            words.append(f"--{name} {quoted}")
    return " ".join(words)


def reading():
    """How to read the page and what its statistics are."""
    return _list((
        "Every ratio is Corbel divided by a peer, so below 1 Corbel takes less time or memory; the "
        "ratio of a rate (more is better) is inverted. In a row without Corbel it is each peer "
        "divided by the row’s best.",
        '<span class="lower">▾ better</span> and <span class="higher">▴ worse</span> mark '
        'differences beyond the spread of the runs; <span class="same">≈</span> '
        f'means no such difference, <span class="few">?</span> that there are fewer than {MIN_RUNS} runs '
        "on a side. Hold a pointer over a ratio to see its interval.",
        "A figure is the median of the runs; the thin line on a bar or point, and the interval in "
        f"the tables, is the bootstrap interval of the median ({CONFIDENCE * 100:.0f} %). A "
        "difference counts when the medians are further apart than the sum of both spreads, widened "
        "for few runs, or when nearly all runs of one are above the other’s, and when it is at "
        "least 1 %.",
        "The contestants of a row take turns in random order. A run during which other processes "
        "used the processor is repeated; every run, kept or not, is in results.jsonl.",
        "All allocators run the same binary, chosen by preload, and must compute the same "
        "checksum. Peak RSS is the largest resident set (VmHWM), VmPeak the largest address space.",
        "A bar that ends in » is longer than the axis, so that the others can be read. The shaded "
        "part of a plot has more threads than cores.",
        "A geometric mean depends on the choice of experiments: look at the rows that are like your "
        "program."))


def reproduce(run):
    commit = run.meta.get("commit")
    first = f"git checkout {commit.rstrip('+')}\n" if commit else ""
    changed = ('<p class="soft">The tree held changes that are not in this commit.</p>'
               if commit and commit.endswith("+") else "")
    return f"<pre>{show.escape(first + command(run.meta))}</pre>{changed}"
