# SPDX-License-Identifier: Apache-2.0
"""The control experiment: whether this run can tell equal contestants from different ones."""
from lab.catalogue import CONTROL

SAME, SLOWER = "corbel-copy", "corbel-slowed"


def judge(run):
    """(trusted, lines). `trusted` is True, False, or None when the control has no result."""
    row = next((row for row in run.meta["rows"] if row["kernel"] == CONTROL), None)
    if row is None:
        return None, ["Control: left out, its contestants are not there. Nothing checks this run."]
    lines, trusted = [], True
    for other, wanted in ((SAME, "same"), (SLOWER, "higher")):
        why = run.failure(row["id"], other) or run.failure(row["id"], "corbel")
        found = run.compare(row["id"], "corbel", other)
        if why:
            trusted = False
            lines.append(f"Control: {other} failed: {why}")
        elif found is None or found.verdict == "few":
            trusted = None if trusted else trusted
            lines.append(f"Control: {other}: too few runs to tell.")
        else:
            good = found.verdict == wanted
            trusted = trusted and good
            lines.append(_line(other, found, good))
    if trusted is False:
        lines.append("THIS RUN CANNOT BE TRUSTED: it does not find what is known. Something "
                     "disturbed it; run it again on a quiet machine.")
    return trusted, lines


def _line(other, found, good):
    percent = f"{(found.ratio - 1) * 100:+.1f} %"
    if other == SAME:
        return f"Control: identical copies: {'equal' if good else 'DIFFER'} ({percent})."
    return f"Control: slowed copy: {'found' if good else 'NOT FOUND'} ({percent})."
