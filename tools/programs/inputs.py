# SPDX-License-Identifier: Apache-2.0
"""The inputs of the real programs, the same for the demo and the lab."""
import os
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEMPLATES = HERE / "templates.cpp"
THREADS = HERE / "threads.py"


def sqlite_script(path, rows):
    """A script with inserts, an index and three queries over a table of `rows` rows."""
    source = random.Random(1)
    with open(path, "w", encoding="ascii") as out:
        out.write("create table t (id integer primary key, name text, value real);\nbegin;\n")
        for i in range(rows):
            out.write(f"insert into t values ({i}, 'name-{source.randrange(10**7)}', "
                      f"{source.random():.6f});\n")
        out.write("commit;\ncreate index by_name on t (name);\n"
                  "select count(*), round(sum(value), 3) from t;\n"
                  "select substr(name, 1, 7), count(*), group_concat(id) from t "
                  "group by 1 order by 2 desc, 1 limit 3;\n"
                  "select count(*) from t a join t b on a.name = b.name and a.id < b.id;\n")
    return path


def pigeons(path, holes):
    """The pigeonhole problem in SMT-LIB 2, one pigeon more than there are holes: unsatisfiable."""
    with open(path, "w", encoding="ascii") as out:
        for p in range(holes + 1):
            for h in range(holes):
                out.write(f"(declare-const p{p}h{h} Bool)\n")
            out.write("(assert (or " + " ".join(f"p{p}h{h}" for h in range(holes)) + "))\n")
        for h in range(holes):
            for p in range(holes + 1):
                for q in range(p):
                    out.write(f"(assert (not (and p{p}h{h} p{q}h{h})))\n")
        out.write("(check-sat)\n")
    return path


def python():
    """The system's Python, not the wrapper of a version manager or the copy in an environment."""
    system = "/usr/bin/python3"
    return system if os.path.exists(system) else getattr(sys, "_base_executable", sys.executable)
