# SPDX-License-Identifier: Apache-2.0
"""The programs of the demo; those that are installed run."""
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "programs"))
import inputs as shared  # noqa: E402


@dataclass
class Workload:
    name: str
    what: str  # one line for the page
    command: list
    checks_output: bool = True


def _conversion(build, _inputs):
    program = build / "bin" / "corbel-demo-conversion"
    if not program.exists():
        return None
    return Workload("CAD conversion", "a C++ converter: reads, translates and writes one model "
                    "repeatedly in parallel threads",
                    [str(program), "--conversions", "16"])


def _redis(_build, _inputs):
    if not (shutil.which("redis-server") and shutil.which("redis-benchmark")):
        return None
    return Workload("redis", "redis-server under redis-benchmark: set, get, lpush, lpop, hset "
                    "(time and CPU include the benchmark)",
                    [str(HERE / "programs" / "redis.sh")])


def _sqlite(_build, inputs):
    if not shutil.which("sqlite3"):
        return None
    script = shared.sqlite_script(inputs / "sqlite.sql", 150_000)
    return Workload("sqlite3", "150,000 inserts from a script, an index, three queries, in memory",
                    [shutil.which("sqlite3"), "-batch", ":memory:", f".read {script}"])


def _python(_build, _inputs):
    return Workload("Python 3", "four threads with json, re, zlib and sqlite3, every object from "
                    "malloc (PYTHONMALLOC=malloc)",
                    ["env", "PYTHONMALLOC=malloc", shared.python(), str(shared.THREADS)])


def _compiler(_build, _inputs):
    compiler = shutil.which("g++")
    if not compiler:
        return None
    return Workload("g++", "compiles one file full of templates",
                    [compiler, "-std=c++17", "-O0", "-c", str(shared.TEMPLATES),
                     "-o", "/dev/null"])


def _z3(_build, inputs):
    if not shutil.which("z3"):
        return None
    holes = 9
    problem = shared.pigeons(inputs / "pigeons.smt2", holes)
    return Workload("z3", f"proves that {holes + 1} pigeons do not fit into {holes} holes",
                    [shutil.which("z3"), str(problem)])


def find(build, inputs):
    """The workloads that this machine can run. Writes their input files into `inputs`."""
    inputs.mkdir(parents=True, exist_ok=True)
    makers = (_conversion, _redis, _sqlite, _python, _compiler, _z3)
    return [workload for workload in (make(build, inputs) for make in makers) if workload]
