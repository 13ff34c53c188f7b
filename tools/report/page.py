# SPDX-License-Identifier: Apache-2.0
"""The frame of a self-contained page. It works offline, light and dark, wide and narrow."""
import html
from pathlib import Path

from . import colours

STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")


def frame(title, body, style="", script=""):
    """The whole document around `body`, which is HTML."""
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{html.escape(title)}</title><style>{colours.css()}{STYLE}{style}</style>"
            f"</head><body>{body}{f'<script>{script}</script>' if script else ''}"
            "</body></html>\n")
