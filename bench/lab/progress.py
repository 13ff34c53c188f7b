# SPDX-License-Identifier: Apache-2.0
"""Progress: a bar with the time left on a terminal, lines elsewhere.

The bar is drawn only between runs. A thread that draws it would use the processor and disturb the
run.
"""
import sys
import time

try:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    RICH = True
except ImportError:
    RICH = False

SECONDS_BETWEEN_LINES = 10


def span(seconds):
    seconds = int(seconds + 0.5)
    if seconds < 90:
        return f"{seconds} s"
    if seconds < 5400:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"


class Bar:
    def __init__(self):
        self.progress = Progress(TextColumn("{task.description}", table_column=None),
                                 BarColumn(bar_width=None), TextColumn("{task.fields[count]}"),
                                 TextColumn("{task.fields[left]}"), console=Console(stderr=True),
                                 auto_refresh=False, transient=True, expand=True)
        self.task = self.progress.add_task("", total=1.0, count="", left="")

    def __enter__(self):
        self.progress.start()
        return self

    def __exit__(self, *_):
        self.progress.stop()

    def preparing(self, text):
        self.progress.update(self.task, description=text[:60], completed=0.0)
        self.progress.refresh()

    def update(self, text, done, total, share, left):
        self.progress.update(self.task, description=f"{text:<44}"[:60], completed=share,
                             count=f"{done}/{total}", left=f"{span(left)} left")
        self.progress.refresh()

    def say(self, text):
        self.progress.console.print(text, highlight=False, markup=False)


class Lines:
    def __init__(self, file=None):
        self.file = file or sys.stderr
        self.last = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def preparing(self, text):
        self.say(text)

    def update(self, text, done, total, share, left):
        if time.monotonic() - self.last >= SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            self.say(f"{share * 100:3.0f} %  {done}/{total}  {text}  {span(left)} left")

    def say(self, text):
        self.file.write(text + "\n")  # one write: two compilers may report at the same time
        self.file.flush()


class Silent(Lines):
    """For tests: keeps the lines."""

    def __init__(self):
        super().__init__()
        self.said = []

    def update(self, *_):
        pass

    def say(self, text):
        self.said.append(text)


def progress():
    return Bar() if RICH and sys.stderr.isatty() else Lines()
