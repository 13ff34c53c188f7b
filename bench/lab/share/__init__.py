# SPDX-License-Identifier: Apache-2.0
"""The share of CPU time that a program spends inside its allocator.

A case of a kernel whose arguments contain share=1 runs with this folder's library preloaded before
the contestant. The kernel accepts the argument and ignores it. The run's extra figures get
"allocator_share", from 0 to 1. The sampler costs time, so such a run is a case of its own.

share.cpp explains the method.
"""

import contextlib
import pathlib
import tempfile

from lab import fetch, paths

HERE = pathlib.Path(__file__).resolve().parent
WORD = "share=1"
FLAGS = ["-x", "c++", "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
         "-fno-exceptions", "-fno-builtin", "-pthread"]


def library(built=paths.BUILT):
    """The path of the compiled library; Unavailable without a compiler."""
    # The C driver: a C program must not get the C++ library with it.
    return fetch.compiled("share", sorted(HERE.glob("*.?pp")), lambda output: [
        fetch.cc(), *FLAGS, HERE / "share.cpp", "-o", output, "-ldl"], "compiling the sampler",
        built, ".so")


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
