# SPDX-License-Identifier: Apache-2.0
"""The demo on the terminal: progress and table, with rich if it is installed, plain otherwise."""
import sys
import time

from measure import METRICS

try:
    from rich import box
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Table
    RICH = True
except ImportError:
    RICH = False


def seconds(value):
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def size(value):
    return f"{value / 2**20:.1f} MiB"


def show(metric, value):
    return size(value) if metric == "peak_rss_bytes" else seconds(value)


def left(value):
    value = int(value + 0.5)
    return f"{value} s left" if value < 90 else f"{value // 60} min {value % 60:02} s left"


class RichProgress:
    """A bar with the time left."""

    def __init__(self):
        self.progress = Progress(TextColumn("{task.description}"), BarColumn(bar_width=None),
                                 TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(),
                                 TextColumn("{task.fields[left]}"), console=Console(stderr=True),
                                 transient=True, expand=True)
        self.task = self.progress.add_task("", total=1.0, left="")

    def __enter__(self):
        self.progress.start()
        return self

    def __exit__(self, *_):
        self.progress.stop()

    def update(self, text, share, remaining):
        self.progress.update(self.task, description=f"{text:<28}", completed=share,
                             left=left(remaining) if remaining is not None else "")


class PlainProgress:
    """The same bar without rich. Without a terminal it prints a line every ten seconds."""

    def __init__(self):
        self.terminal = sys.stderr.isatty()
        self.last = 0.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.terminal:
            sys.stderr.write("\r\033[K")

    def update(self, text, share, remaining):
        tail = left(remaining) if remaining is not None else ""
        if self.terminal:
            full = int(share * 30)
            sys.stderr.write(f"\r\033[K{text:<28} [{'#' * full}{'-' * (30 - full)}] "
                             f"{share * 100:3.0f} % {tail}")
            sys.stderr.flush()
        elif time.monotonic() - self.last > 10:
            self.last = time.monotonic()
            print(f"{share * 100:3.0f} %  {text} {tail}", file=sys.stderr, flush=True)


def progress():
    return RichProgress() if RICH and sys.stderr.isatty() else PlainProgress()


WORDS = {"lower": "", "higher": " worse", "same": " ≈", "too few runs": " (few runs)"}
STYLES = {"lower": "bold green", "higher": "bold red", "same": "dim", "too few runs": "dim"}


def ratio_text(measured, metric):
    ratio = measured.ratio(metric)
    return "-" if ratio is None else f"{ratio:.2f}×{WORDS[measured.verdict(metric)]}"


def table(all_measured):
    """Prints the table of medians and ratios."""
    if RICH:
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        grid.add_column("program", no_wrap=True)
        for _, title in METRICS:
            grid.add_column(f"{title}\nsystem", justify="right", no_wrap=True)
            grid.add_column("\nCorbel", justify="right", no_wrap=True)
            grid.add_column("\nratio", justify="right", no_wrap=True)
        for measured in all_measured:
            row = [measured.workload.name + (" [bold red]differs[/]" if measured.problems else "")]
            for metric, _ in METRICS:
                style = STYLES[measured.verdict(metric)]
                row += [show(metric, measured.median("system", metric)),
                        show(metric, measured.median("corbel", metric)),
                        f"[{style}]{ratio_text(measured, metric)}[/]"]
            grid.add_row(*row)
        console = Console(width=None if sys.stdout.isatty() else 120)
        console.print(grid)
        return
    print((f"{'':<15}" + "".join(f"{title:>11}{'':>23}" for _, title in METRICS)).rstrip())
    print(f"{'':<15}" + "".join(f"{'system':>11}{'Corbel':>11}{'ratio':>12}" for _ in METRICS))
    for measured in all_measured:
        line = f"{measured.workload.name:<15}"
        for metric, _ in METRICS:
            line += (f"{show(metric, measured.median('system', metric)):>11}"
                     f"{show(metric, measured.median('corbel', metric)):>11}"
                     f"{ratio_text(measured, metric):>12}")
        print(line)


def verdicts(all_measured):
    """Sentences that say where Corbel wins and where it loses."""
    lines = []
    words = {"wall_seconds": ("Corbel is faster", "slower"),
             "cpu_seconds": ("Corbel takes less", "more"),
             "peak_rss_bytes": ("Corbel takes less", "more")}
    for metric, title in METRICS:
        groups = {"lower": [], "higher": [], "same": [], "too few runs": []}
        for measured in all_measured:
            groups[measured.verdict(metric)].append(measured)
        better, worse = words[metric]
        if not groups["lower"]:
            worse = better.rsplit(" ", 1)[0] + " " + worse
        parts = []
        for key, word in (("lower", better), ("higher", worse)):
            if groups[key]:
                parts.append(f"{word} in " + ", ".join(
                    f"{m.workload.name} ({m.ratio(metric):.2f}×)" for m in groups[key]))
        for key, word in (("same", "no difference beyond the spread in "),
                          ("too few runs", "too few runs to tell in ")):
            if groups[key]:
                parts.append(word + ", ".join(m.workload.name for m in groups[key]))
        lines.append(f"{title[0].upper()}{title[1:]}: {'; '.join(parts)}.")
    return lines
