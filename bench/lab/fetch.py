# SPDX-License-Identifier: Apache-2.0
"""Packages from registries through their ordinary clients, each checked against bench/peers.lock.

The lock is a sorted list with one entry a package: registry, package, version, and for what is
downloaded the SHA-256 of the file. It is the one place with versions.
"""

import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

LOCK = pathlib.Path(__file__).resolve().parents[1] / "peers.lock"


class Unavailable(Exception):
    """A peer that cannot be had on this machine; the text is one line for the user."""


def read_lock():
    return json.loads(LOCK.read_text()) if LOCK.is_file() else []


def entry(lock, registry, package, version=None):
    for one in lock:
        if (one["registry"], one["package"]) == (registry, package):
            if version is None or one["version"].startswith(version):
                return one
    raise Unavailable(f"{package} is not in bench/peers.lock: ./dev bench lock")


def tool(name, hint=None):
    """The full path of a program, or Unavailable with how to get it."""
    path = shutil.which(name)
    if not path:
        raise Unavailable(f"there is no {name} here" + (f" ({hint})" if hint else ""))
    return path


def tool_version(name):
    path = shutil.which(name)
    if not path:
        return f"no {name}"
    return subprocess.run([path, "--version"], capture_output=True, text=True).stdout


def run(command, what, log, cwd, env=None):
    """Runs a command, its output appended to the log; returns its standard output."""
    pathlib.Path(cwd).mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(list(map(str, command)), cwd=cwd, stdin=subprocess.DEVNULL,
                              env={**os.environ, **(env or {})}, capture_output=True, text=True,
                              errors="replace")
    except OSError as error:
        raise Unavailable(f"{what}: {error}") from None
    with open(log, "a") as out:
        out.write(f"$ {' '.join(map(str, command))}\n{done.stdout}{done.stderr}\n")
    if done.returncode != 0:
        raise Unavailable(f"{what} failed (see {log})")
    return done.stdout
