# SPDX-License-Identifier: Apache-2.0
"""matplotlib's figures as SVG that can stand inside a page: themed, small, with identifiers of
their own. Where matplotlib is missing, PLOTS is false and the pages do without plots.
"""
import html
import io
import logging
import re

from . import colours

try:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    PLOTS = True
except ImportError:
    plt = None
    PLOTS = False


def subplots(width, height, rows=1, columns=1, font=10, **options):
    """A figure of the given size in inches and its axes, in the pages' style."""
    ink, grid = colours.placeholder("ink"), colours.placeholder("grid")
    # The reader's fonts decide, so a font that is missing on this machine is no mistake.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    plt.rcParams.update({
        "svg.fonttype": "none", "font.family": "sans-serif", "font.size": font,
        "font.sans-serif": ["system-ui", "DejaVu Sans"], "text.color": ink, "axes.edgecolor": grid,
        "axes.labelcolor": ink, "axes.titlesize": font, "xtick.color": ink, "ytick.color": ink,
        "grid.color": grid, "axes.spines.top": False, "axes.spines.right": False,
        "axes.axisbelow": True, "svg.hashsalt": "corbel"})
    return plt.subplots(rows, columns, figsize=(width, height), **options)


def _rounded(match):
    text = f"{float(match.group()):.1f}"
    return text[:-2] if text.endswith(".0") else text


def _smaller(text):
    """The SVG without comments and line breaks, its numbers rounded to a tenth of a point."""
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'(?<= d=")[^"]*|(?<= transform=")[^"]*|(?<= [xy]=")[^"]*',
                  lambda match: re.sub(r"-?\d+\.\d+", _rounded, match.group()).replace("\n", ""),
                  text)
    return re.sub(r">\s+<", "><", text).replace("\n", " ")


def embed(figure, label, mark, tight=True):
    """The figure as an element of a page; closes the figure. `mark` must be unique in the page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None},
                   **({"bbox_inches": "tight", "pad_inches": 0.1} if tight else {}))
    plt.close(figure)
    text = buffer.getvalue()
    text = colours.resolve(_smaller(text[text.index("<svg"):]))
    text = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>',
                  lambda match: f'<svg role="img" aria-label="{html.escape(label)}" '
                  f'{match.group(1)} xmlns="http://www.w3.org/2000/svg" '
                  'xmlns:xlink="http://www.w3.org/1999/xlink">', text, count=1)
    # Identifiers must differ between the figures of one page.
    text = re.sub(r' id="', f' id="{mark}-', text)
    text = text.replace("url(#", f"url(#{mark}-").replace('href="#', f'href="#{mark}-')
    return f"<figure>{text}</figure>"
