# SPDX-License-Identifier: Apache-2.0
"""What a program does between two marks: its locked instructions, or its process barriers, wake-ups
and sleeps.

A case of a kernel whose arguments contain counted=locked or counted=calls runs under this folder's
program, which watches it through ptrace. counts.cpp explains the method.
"""
import contextlib
import pathlib
import tempfile

from lab import fetch, paths

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "counts.cpp"
WORDS = {"counted=locked": "locked", "counted=calls": "calls"}
FLAGS = ["-std=c++20", "-O2", "-Wall", "-Wextra"]


def program(built=paths.BUILT):
    """The path of the compiled program; Unavailable without a compiler."""
    return fetch.compiled("counts", [SOURCE], lambda output: [
        fetch.cxx(), *FLAGS, SOURCE, "-o", output], "compiling the counter", built)


def mode(command):
    """What a command asks for, or None."""
    return next((WORDS[word] for word in command if word in WORDS), None)


@contextlib.contextmanager
def counted(command):
    """The command that runs `command` under the counter."""
    with tempfile.TemporaryDirectory() as folder:
        yield [str(program()), mode(command), str(pathlib.Path(folder) / "counts"), *command]
