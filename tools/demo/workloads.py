# SPDX-License-Identifier: Apache-2.0
"""The programs of the demo: what is installed decides which of them run."""
import os
import random
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"


@dataclass
class Workload:
    name: str
    what: str  # one line for people
    command: list
    checks_output: bool = True


def _conversion(build, _inputs):
    program = build / "bin" / "corbel-demo-conversion"
    if not program.exists():
        return None
    return Workload("CAD conversion", "a C++ converter: reads, translates and writes one model "
                    "again and again in parallel threads",
                    [str(program), "--conversions", "16"])


def _redis(_build, _inputs):
    if not (shutil.which("redis-server") and shutil.which("redis-benchmark")):
        return None
    return Workload("redis", "redis-server under redis-benchmark: set, get, lpush, lpop, hset "
                    "(time and CPU include the benchmark)",
                    [str(PROGRAMS / "redis.sh")])


def _sqlite(_build, inputs):
    if not shutil.which("sqlite3"):
        return None
    script = inputs / "sqlite.sql"
    source = random.Random(1)
    with open(script, "w", encoding="ascii") as out:
        out.write("create table t (id integer primary key, name text, value real);\nbegin;\n")
        for i in range(150_000):
            out.write(f"insert into t values ({i}, 'name-{source.randrange(10**7)}', "
                      f"{source.random():.6f});\n")
        out.write("commit;\ncreate index by_name on t (name);\n"
                  "select count(*), round(sum(value), 3) from t;\n"
                  "select substr(name, 1, 7), count(*), group_concat(id) from t "
                  "group by 1 order by 2 desc, 1 limit 3;\n"
                  "select count(*) from t a join t b on a.name = b.name and a.id < b.id;\n")
    return Workload("sqlite3", "150,000 inserts from a script, an index, three queries, in memory",
                    [shutil.which("sqlite3"), "-batch", ":memory:", f".read {script}"])


def _python(_build, _inputs):
    # Not a version manager's wrapper script, and not the venv the demo itself may run in.
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else \
        getattr(sys, "_base_executable", sys.executable)
    return Workload("Python 3", "four threads with json, re, zlib and sqlite3, every object from "
                    "malloc (PYTHONMALLOC=malloc)",
                    ["env", "PYTHONMALLOC=malloc", python, str(PROGRAMS / "threads.py")])


def _compiler(_build, _inputs):
    compiler = shutil.which("g++")
    if not compiler:
        return None
    return Workload("g++", "compiles one file full of templates",
                    [compiler, "-std=c++17", "-O0", "-c", str(PROGRAMS / "templates.cpp"),
                     "-o", "/dev/null"])


def _z3(_build, inputs):
    if not shutil.which("z3"):
        return None
    problem = inputs / "pigeons.smt2"
    holes = 9
    with open(problem, "w", encoding="ascii") as out:
        for p in range(holes + 1):
            for h in range(holes):
                out.write(f"(declare-const p{p}h{h} Bool)\n")
            out.write("(assert (or " + " ".join(f"p{p}h{h}" for h in range(holes)) + "))\n")
        for h in range(holes):
            for p in range(holes + 1):
                for q in range(p):
                    out.write(f"(assert (not (and p{p}h{h} p{q}h{h})))\n")
        out.write("(check-sat)\n")
    return Workload("z3", f"proves that {holes + 1} pigeons do not fit into {holes} holes",
                    [shutil.which("z3"), str(problem)])


def find(build, inputs):
    """The workloads that this machine can run; writes their input files into `inputs`."""
    inputs.mkdir(parents=True, exist_ok=True)
    makers = (_conversion, _redis, _sqlite, _python, _compiler, _z3)
    return [workload for workload in (make(build, inputs) for make in makers) if workload]
