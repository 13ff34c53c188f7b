# SPDX-License-Identifier: Apache-2.0
"""oneTBB's headers and library, which PyPI has, for the tests of this folder."""

import fcntl
import importlib.util
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "test", "programs"), os.path.join(ROOT, "bench")]

import common  # noqa: E402
from lab import fetch, peers  # noqa: E402

LIBRARY = "libtbb.so.12"
OURS = os.path.join("corbel", LIBRARY)  # in the folder of Corbel's libraries
KEPT = os.path.join(ROOT, "build", "tbb12")  # what the tests have downloaded
FLAGS = ["-std=c++17", "-O1", "-pthread", "-w"]  # of what the tests compile with its headers
PAUSE = 600  # seconds after a failed download, before the next of the same


class Unavailable(Exception):
    """PyPI does not give what a test needs."""


def alone(name):
    """Lets one process at a time go on, until the file that it returns is closed."""
    os.makedirs(KEPT, exist_ok=True)
    lock = open(os.path.join(KEPT, name + ".lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def record_of(what):
    """The file with the reason why the last download of `what` failed."""
    return os.path.join(KEPT, "failed-" + what.replace(" ", "-").replace("/", "-"))


def check_answers(what):
    """Tests do not all wait for a network that has just failed."""
    try:
        if time.time() - os.path.getmtime(record_of(what)) < PAUSE:
            with open(record_of(what)) as file:
                raise Unavailable(file.read())
    except FileNotFoundError:
        pass


def note_failure(what, reason):
    os.makedirs(KEPT, exist_ok=True)
    with open(record_of(what), "w") as file:
        file.write(reason)
    raise Unavailable(reason)


def pip(what, *words, python=sys.executable):
    """Runs pip, which gets `what`."""
    if python == sys.executable and not importlib.util.find_spec("pip"):
        raise Unavailable("python3 has no pip (Debian package python3-pip)")
    check_answers(what)
    try:
        done = subprocess.run(
            [python, "-m", "pip", *words, "--quiet", "--disable-pip-version-check", "--only-binary",
             ":all:", "--retries", "1", "--timeout", "20"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=fetch.SECONDS)
        reason = "" if done.returncode == 0 else done.stdout[-200:]
    except subprocess.TimeoutExpired:
        reason = "no end in %d s" % fetch.SECONDS
    if reason:
        note_failure(what, "PyPI does not give %s: %s" % (what, reason))


def folders():
    """The folders of the headers and of the library. Skips the test where PyPI does not answer."""
    try:
        if not os.path.isdir(os.path.join(ROOT, "build", "bench", "peers", "onetbb")):
            check_answers("onetbb")
        found = peers.prepare(["onetbb"])["onetbb"]
        if isinstance(found, Exception):
            note_failure("onetbb", str(found))
    except Unavailable as reason:
        common.skip(str(reason))
    base = os.path.join(ROOT, "build", "bench", "peers", "onetbb")
    return os.path.join(base, "tbb-devel", "include"), os.path.join(base, "tbb", "lib")


def ours():
    """The folder of Corbel's library."""
    return os.path.dirname(common.library(OURS))


def names(library):
    """The defined names, each with its version if it has one."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    return {line.split()[2] for line in text.splitlines() if line.split()[1] in "TDVBRWi"}


def theirs(command, library, env=None, **more):
    """Runs the command on the library in the folder `library`, which proves that it is oneTBB's."""
    env = {"LD_LIBRARY_PATH": library, **(env or {}), "TBB_VERSION": "1"}
    done = common.run(command, env, **more)
    common.check(b"oneTBB: VERSION" in done.err and b"Corbel" not in done.err,
                 "%s does not run on oneTBB's library: %r" % (command, done.err))
    return done


def corbels(command, env=None, **more):
    """Runs the command on Corbel's library, which proves to be that."""
    env = {"LD_LIBRARY_PATH": ours(), **(env or {}), "TBB_VERSION": "1"}
    done = common.run(command, env, **more)
    common.check(b"Corbel" in done.err, "%s does not run on Corbel: %r" % (command, done.err))
    return done
