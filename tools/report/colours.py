# SPDX-License-Identifier: Apache-2.0
"""Colours by name, each for a light and a dark page.

A plot is drawn with placeholders. The page replaces them with CSS variables, so that the plot follows
the reader's setting. All but the surfaces have a contrast of at least 4.5 to 1 on the page and on a
card, because labels have the colour of their line; test/bench/page_test.py checks it. The
contestants' colours differ in lightness as well as in hue, for readers who see fewer hues.
"""
import re

TEXT = {
    "ink": ("#1c1f24", "#e8eaed"),
    "soft": ("#59616d", "#a2acb8"),
    "good": ("#0a7348", "#5bd69a"),
    "bad": ("#b3261e", "#ff8a80"),
}
SURFACES = {
    "paper": ("#ffffff", "#14171b"),
    "card": ("#f6f7f9", "#1c2026"),
    "grid": ("#dde1e6", "#343a42"),
}
MARKS = {
    "corbel": ("#0a7d6c", "#3ecfb4"),
    "system": ("#656e7b", "#97a1ae"),
    "blue": ("#0a4f9c", "#5fa8f2"),
    "sky": ("#17729f", "#8ad4f7"),
    "orange": ("#b05a00", "#ffab57"),
    "olive": ("#6b7400", "#cfc84a"),
    "purple": ("#7a3fb8", "#bb8ff5"),
    "magenta": ("#a3155c", "#ff7eb9"),
    "coal": ("#33383f", "#dde2e8"),
    "brown": ("#8a4b22", "#d9a37d"),
    "other": ("#5d6b7f", "#a9b6c8"),
}
ALL = {**TEXT, **SURFACES, **MARKS}
_NUMBERS = {name: f"#0101{number:02x}" for number, name in enumerate(ALL)}
_NAMES = {number: name for name, number in _NUMBERS.items()}


def placeholder(name):
    """The colour to draw with in a plot."""
    return _NUMBERS[name]


def resolve(text):
    """Replaces every placeholder in an SVG by its CSS variable."""
    return re.sub(r"#0101[0-9a-f]{2}",
                  lambda match: f"var(--{_NAMES[match.group()]})", text)


def css():
    """The CSS variables of both themes."""
    def block(index):
        return ":root{" + ";".join(f"--{name}:{pair[index]}" for name, pair in ALL.items()) + "}"

    return f"{block(0)}\n@media (prefers-color-scheme:dark){{{block(1)}}}\n"


def contrast(one, other):
    """The contrast ratio of two colours as WCAG 2 defines it."""
    def luminance(colour):
        parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
