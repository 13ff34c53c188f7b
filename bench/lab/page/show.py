# SPDX-License-Identifier: Apache-2.0
"""Figures as text, and the HTML that several parts of the page use."""
import html

STEPS = {"s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
         "ms": ((1e3, "s"), (1, "ms"), (1e-3, "µs")),
         "us": ((1e6, "s"), (1e3, "ms"), (1, "µs"), (1e-3, "ns")),
         "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
         "1/s": ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1, "/s")),
         "KiB": ((2**20, "GiB"), (1024, "MiB"), (1, "KiB")),
         "MiB": ((1024, "GiB"), (1, "MiB"), (1 / 1024, "KiB"))}
GLYPHS = {"lower": " ▾", "higher": " ▴", "same": " ≈", "few": " ?"}
WORDS = {"lower": "better beyond the spread", "higher": "worse beyond the spread",
         "same": "no difference beyond the spread", "few": "too few runs to tell"}


def escape(text):
    return html.escape(str(text))


def words(name):
    """A readable form of a name such as rss_mib."""
    spelt = {"mib": "MiB", "kib": "KiB", "rss": "RSS", "us": "µs"}
    return " ".join(spelt.get(word, word) for word in name.replace("_", " ").split())


def scale(number, unit):
    """(divisor, unit) that make `number` short."""
    steps = STEPS.get(unit, ((1, "×" if unit == "x" else unit),))
    for divisor, name in steps:
        if abs(number) >= divisor:
            return divisor, name
    return steps[-1]


def digits(number):
    """Three significant digits, without an exponent."""
    size = abs(number)
    if size >= 99.95:
        return f"{number:,.0f}".replace(",", "\u202f")
    return f"{number:.1f}" if size >= 9.995 else f"{number:.2f}"


def value(number, unit):
    if number is None:
        return "–"
    divisor, name = scale(number, unit)
    gap = "" if name == "×" or name.startswith("/") else "\u00a0"
    return f"{digits(number / divisor)}{gap}{name}"


def kib(number):
    return "–" if number is None else value(number / 1024, "MiB")


def count(number):
    return "–" if number is None else f"{number:,.0f}".replace(",", "\u202f")


def spread(summary, unit):
    """The interval of the median, in the median's unit."""
    divisor, _ = scale(summary.median, unit)
    return f"{digits(summary.low / divisor)}–{digits(summary.high / divisor)}"


def verdict_cell(found, name="", tag="td", classes=""):
    """A ratio, coloured and marked only beyond the spread."""
    if found is None:
        return f'<{tag} class="none {classes}">–</{tag}>'
    title = f"{WORDS[found.verdict]}; {found.low:.2f} to {found.high:.2f}"
    return (f'<{tag} class="{found.verdict} {classes}" title="{escape(name)}{title}">'
            f"{found.ratio:.2f}{GLYPHS[found.verdict]}</{tag}>").replace(' "', '"')


def threads(number):
    return f"{number} thread" + ("" if number == 1 else "s")


def case_text(row):
    """The part of a row's name that differs within its kernel."""
    return f"{row.case}, {threads(row.threads)}" if row.case else threads(row.threads)


def anchor(kernel):
    return f"k-{kernel.name}"


def plural(number, word):
    return f"{number} {word}" + ("" if number == 1 else "s")
