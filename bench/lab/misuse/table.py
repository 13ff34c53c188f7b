# SPDX-License-Identifier: Apache-2.0
"""The tables in Markdown: what the words mean, the shares, the kinds by strength, the messages."""
from lab.misuse import contestants, judge, kinds, record

BEGIN, END = "<!-- measured: written by ./dev bench misuse -->", "<!-- end of what was measured -->"
SIGNS = {"named": "●", "found": "◉", "sometimes": "◐", "ended": "▽", "defused": "◌",
         "missed": "·", "harmed": "✗"}
MEANINGS = {
    "named": "**found and named**: in every run a message names the fault, and where it is "
             "possible the program ends",
    "found": "**found**: in every run there is a message, but not always one that names the fault "
             "(an assertion, another fault, \"corrupted chunk header\" for a foreign pointer)",
    "sometimes": "**sometimes**: a message in some of the runs, with their percentage",
    "ended": "**ended without a message**, in at least one run: by a trap, an abort or the kernel, "
             "or it never ended. A guard page does that, and so does luck",
    "defused": "**defused**: not found, but the harm is gone: the program reads a fill pattern in "
               "place of old data, realloc refuses the block",
    "missed": "**missed**: nothing happened that the program could see",
    "harmed": "**harmed**: in at least one run two live blocks overlapped, a block changed that "
              "the program had not touched, calloc's memory was not zero, malloc returned the "
              "planted address, or a new block showed an earlier one's data. With the percentage of "
              "runs with a message, if there are any",
}


def percent(part, whole):
    """Never rounded to 0 or 100 unless it is."""
    share = 100 * part / whole
    return f"{min(max(round(share), 1 if part else 0), 99 if part < whole else 100)} %"


def sign(cell):
    text = SIGNS[cell.verdict]
    if cell.verdict == "sometimes" or cell.verdict == "harmed" and cell.found:
        text += f" {percent(cell.found, cell.runs)}"
    return text


def cell_text(found):
    """The signs of all sizes; one if they are equal."""
    signs = [sign(cell) for _, cell in found]
    return signs[0] if len(set(signs)) == 1 else " / ".join(signs) if signs else ""


def row(words):
    return f"| {' | '.join(words)} |"


def meanings():
    return "\n".join(f"- {SIGNS[verdict]} {MEANINGS[verdict]}" for verdict in record.VERDICTS)


def shares(results):
    """A line for each contestant: what share of the kinds came to what."""
    lines = [row(["contestant", *(f"{SIGNS[one]} {one}" for one in record.VERDICTS), "false alarms"]),
             row(["---", *["---:"] * (len(record.VERDICTS) + 1)])]
    for strength, words in contestants.STRENGTHS.items():
        chosen = [one for one in results.contestants if one["strength"] == strength]
        if chosen:
            lines.append(row([f"*{words}*", *[""] * (len(record.VERDICTS) + 1)]))
        for one in chosen:
            found = results.shares(one["name"])
            if found:
                alarms = results.false_alarms(one["name"])
                lines.append(row([one["title"], *(
                    f"{100 * found[verdict]:.0f} %" if found[verdict] else "–"
                    for verdict in record.VERDICTS), str(len(alarms)) if alarms else "–"]))
    return "\n".join(lines)


def by_strength(results):
    """A table of the kinds for each strength, the contestants as its columns."""
    parts = []
    for strength, words in contestants.STRENGTHS.items():
        chosen = [one for one in results.contestants if one["strength"] == strength]
        if not chosen:
            continue
        lines = [f"### {words[0].upper()}{words[1:]}", "",
                 row(["", *(one["title"] for one in chosen)]), row(["---", *["---"] * len(chosen)])]
        for chapter, names in kinds.CHAPTERS.items():
            lines.append(row([f"*{chapter}*", *[""] * len(chosen)]))
            lines += [row([name.replace("_", " "), *(cell_text(results.of(one["name"], name))
                                                     for one in chosen)])
                      for name in names if any(results.of(one["name"], name) for one in chosen)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def messages(results):
    """The messages of each contestant, with the kinds for which it says them."""
    lines = [row(["contestant", "the message", "for"]), row(["---"] * 3)]
    for one in results.contestants:
        said = {}
        for name in kinds.ORDER:
            for _, cell in results.of(one["name"], name):
                for outcome in judge.FOUND:
                    if outcome in cell.lines:
                        names = said.setdefault(cell.lines[outcome], [])
                        word = name.replace("_", " ")
                        if word not in names:
                            names.append(word)
        title = one["title"]
        for line, names in said.items():
            text = line.replace("|", "\\|").replace("`", "'")
            lines.append(row([title, f"`{text}`", ", ".join(names)]))
            title = ""
        if not said:
            lines.append(row([title, "none", ""]))
    return "\n".join(lines)


def alarms(results):
    lines = []
    for one in results.contestants:
        for size, cell in results.false_alarms(one["name"]):
            outcome, line = next((o, text) for o, text in cell.lines.items() if o != "missed")
            lines.append(f"- {one['title']}, {size} bytes: {outcome}, `{line}`")
    return "\n".join(lines) or "None: the correct program ended well with every contestant."


def gaps(results, subject):
    """[(kind, size, peer)]: what a peer finds in every run, and `subject` does not. The tools that
    are there for comparison do not count."""
    peers = [one["name"] for one in results.contestants
             if one["strength"] != "tool" and not one["name"].startswith("corbel")]
    found = []
    for name in kinds.ORDER:
        for size, cell in results.of(subject, name):
            if cell.found < cell.runs:
                found += [(name, size, peer) for peer in peers
                          if dict(results.of(peer, name)).get(size, cell).verdict
                          in ("named", "found")]
    return found


def gaps_text(results):
    """The gaps of Corbel's strengths for tests, if they were measured."""
    lines = []
    for one in results.contestants:
        if one["name"].startswith("corbel") and one["strength"] == "testing":
            lines += [f"- {one['title']}: {name.replace('_', ' ')}, {size:,} bytes, which {peer} finds"
                      for name, size, peer in gaps(results, one["name"])] or [
                          f"- {one['title']}: nothing"]
    return ("## What a peer finds and Corbel's strengths for tests do not\n\n" + "\n".join(lines)
            + "\n\n") if lines else ""


def settings(results):
    lines = [row(["contestant", "setting", "runs of a cell", "commit of Corbel", "measured"]),
             row(["---"] * 5)]
    lines += [row([one["title"], f"`{one['setting']}`" if one["setting"] else "as it comes",
                   f"up to {one['runs']}",
                   one["commit"] if one["name"].startswith("corbel") else "", one["date"]])
              for one in results.contestants]
    return "\n".join(lines)


def what(results):
    """A sentence for each kind."""
    listed = results.meta["kinds"]
    return "\n".join(f"- **{name.replace('_', ' ')}**: {listed[name]}" for name in kinds.ORDER
                     if name in listed)


def markdown(results, image=None):
    machine = results.meta["machine"]
    sizes = ", ".join(f"{size:,}" for size in kinds.SIZES)
    picture = f"![The table as a figure]({image})\n\n" if image else ""
    return f"""{BEGIN}

## What share of the kinds is found

Every kind counts the same, and so does every size of a kind.

{shares(results)}

## Which kinds are found

{picture}{meanings()}

A cell has one sign if it is the same for blocks of {sizes} bytes, otherwise four, in this order.

{by_strength(results)}

{gaps_text(results)}## What the messages say

Addresses are left out. A contestant that has the same message for many kinds tells less.

{messages(results)}

## False alarms

The same program without misuse: {alarms(results)}

## The kinds

{what(results)}

## What was measured

{machine["distribution"]}, {machine["kernel"]}, \
{machine["architecture"]}, {machine["c_library"]}, {machine["compiler"]}.

{settings(results)}

{END}
"""


def insert(text, page):
    """The page with `text` in place of what was measured before, or at its end."""
    if BEGIN in page and END in page:
        head, _, rest = page.partition(BEGIN)
        return head + text.rstrip("\n") + rest.partition(END)[2]
    return (page.rstrip("\n") + "\n\n" if page else "") + text
