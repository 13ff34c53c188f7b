# SPDX-License-Identifier: Apache-2.0
"""The share of CPU time that a program spends inside its allocator.

The convention: a case of a kernel whose arguments contain the word share=1 is run with the library
of this folder in front of the contestant; the kernel itself takes the word and does nothing with
it. The run's extra figures get "allocator_share", from 0 to 1. Such a run is for the share, not for
the time, so it is a case of its own.

share.cpp says how it is measured.
"""

import contextlib
import hashlib
import os
import pathlib
import tempfile

from lab import fetch, paths

HERE = pathlib.Path(__file__).resolve().parent
WORD = "share=1"
FLAGS = ["-x", "c++", "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
         "-fno-exceptions", "-fno-builtin", "-pthread"]


def library(built=paths.BUILT):
    """The path of the library, compiled if it is not yet; Unavailable if it cannot be."""
    folder = pathlib.Path(built) / "share"
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(HERE.glob("*.?pp"))))
    made = folder / f"libshare-{digest.hexdigest()[:16]}.so"
    if made.is_file():
        return made
    draft = folder / f".{made.name}.{os.getpid()}"
    # The C driver: a C program must not get the C++ library with it.
    fetch.run([fetch.cc(), *FLAGS, HERE / "share.cpp", "-o", draft, "-ldl"],
              "compiling the sampler", folder / "log", folder)
    draft.replace(made)
    return made


class Count:
    """One run: its environment, and the file that each process of the run appends a line to."""

    def __init__(self, path, program, made):
        self.path, self.library = path, made
        self.preload, self.name = (("BENCH_PRELOAD", "BENCH_ENV_BENCH_SHARE_FILE") if program
                                   else ("LD_PRELOAD", "BENCH_SHARE_FILE"))

    def environment(self, env):
        before = [str(self.library), *filter(None, [env.get(self.preload)])]
        return {**env, self.preload: ":".join(before), self.name: str(self.path)}

    def extra(self):
        """{} without a sample."""
        lines = [line.split() for line in self.path.read_text().splitlines()]
        samples = sum(int(line[0]) for line in lines)
        if not samples:
            return {}
        return {"allocator_share": round(sum(int(line[1]) for line in lines) / samples, 4),
                "samples": samples}


@contextlib.contextmanager
def counted(program=False):
    """`program`: the process started is not the one to measure, but starts it (program.py).
    Unavailable without the library: a share that is not measured is no row."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "share"
        path.touch()
        yield Count(path, program, library())
