# SPDX-License-Identifier: Apache-2.0
"""The Python environment of the tools that draw: build/.venv with rich and matplotlib.

A script calls enter() before it imports either. It returns at once if they are installed, or if they
cannot be installed: the output is then plain text. Otherwise it restarts the script in the
environment, which it creates on first use.
"""
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "build" / ".venv"
REQUIREMENTS = HERE / "requirements.txt"
ENTERED = "CORBEL_REPORT_VENV"  # set in the restarted process, which must not restart again


def enter(arguments=None):
    """Restarts `arguments`, by default this script and its options, in the environment."""
    if os.environ.pop(ENTERED, None) or _have():
        return
    try:
        _make()
    except (OSError, subprocess.SubprocessError):
        print("rich and matplotlib could not be installed: the output is plain text.",
              file=sys.stderr)
        return
    python = str(FOLDER / "bin" / "python")
    os.environ[ENTERED] = "1"
    os.execv(python, [python, *(arguments or sys.argv)])


def _have():
    try:
        import matplotlib  # noqa: F401
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


def _make():
    wanted = REQUIREMENTS.read_text()
    stamp = FOLDER / "report-requirements.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("Preparing tables and plots (rich and matplotlib in build/.venv) …", file=sys.stderr,
          flush=True)
    _run([sys.executable, "-m", "venv", str(FOLDER)], 120)
    _run([str(FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet", "--timeout", "15",
          "--retries", "1", "--disable-pip-version-check", "--only-binary", ":all:",
          "-r", str(REQUIREMENTS)], 300)
    stamp.write_text(wanted)


def _run(command, timeout):
    subprocess.run(command, check=True, timeout=timeout, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
