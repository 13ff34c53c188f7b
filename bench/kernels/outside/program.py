#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that no allocator of this project is tuned to; see "Programs from outside" in
bench/README.md."""
import json
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program_runner as runner  # noqa: E402

HERE = Path(__file__).resolve().parent


def records(count):
    source = random.Random(1)
    return [{"id": i, "name": f"name-{source.randrange(10**5)}", "score": source.randrange(1000),
             "tags": [f"tag{source.randrange(300)}" for _ in range(source.randrange(8))],
             "place": {"x": source.randrange(10**4), "y": source.randrange(10**4)}}
            for i in range(count)]


def json_file(count):
    return runner.prepared(f"json-{count}", lambda path: path.write_text(
        json.dumps(records(count)), encoding="ascii"))


def xml_file(count):
    def make(path):
        with open(path, "w", encoding="ascii") as out:
            out.write("<?xml version='1.0'?>\n<records>\n")
            for one in records(count):
                tags = "".join(f"<tag>{tag}</tag>" for tag in one["tags"])
                out.write(f"<record id='{one['id']}'><name>{one['name']}</name>{tags}"
                          f"<place x='{one['place']['x']}' y='{one['place']['y']}'/></record>\n")
            out.write("</records>\n")
    return runner.prepared(f"xml-{count}", make)


def graph_file(count):
    def make(path):
        source = random.Random(1)
        edges = "".join(f"n{source.randrange(i)} -> n{i};\n" for i in range(1, count))
        more = "".join(f"n{source.randrange(count)} -> n{source.randrange(count)};\n"
                       for _ in range(count // 3))
        path.write_text(f"digraph g {{\n{edges}{more}}}\n", encoding="ascii")
    return runner.prepared(f"graph-{count}", make)


# Each takes the size of its case, and returns what was measured after it has checked the output.

def gawk(size):
    program = runner.find("gawk")
    done = runner.measure([program, "-f", HERE / "work.awk", runner.text(size)],
                          env={"LC_ALL": "C"})
    lines = int(done.output.split()[-4])
    runner.check(lines > size and done.output.split()[-1] == str(lines).encode(), "lines are lost")
    return done


def graphviz(size):
    done = runner.measure([runner.find("dot", package="graphviz"), "-Tplain", graph_file(size)])
    runner.check(done.output.count(b"\nnode ") == size and done.output.endswith(b"stop\n"),
                 "nodes are missing")
    return done


def jq(size):
    done = runner.measure([runner.find("jq"), "-c", "group_by(.score) | map({score: .[0].score, "
                           "names: (map(.name) | unique | join(\",\")), count: length, "
                           "x: (map(.place.x) | add), tags: ([.[].tags[]] | unique)}) | .[]",
                           json_file(size)])
    runner.check(sum(json.loads(line)["count"] for line in done.output.splitlines()) == size,
                 "records are missing")
    return done


def lua(size):
    done = runner.measure([runner.find("lua5.4"), HERE / "work.lua", size])
    runner.check(int(done.output.split()[0]) > size // 1000, "names are missing")
    return done


def ruby(size):
    done = runner.measure([runner.find("ruby"), "--disable-gems", HERE / "work.rb", size])
    runner.check(0 < int(done.output.split()[0]) <= 3000, "groups are missing")
    return done


def xmllint(size):
    done = runner.measure([runner.find("xmllint", package="libxml2-utils"), "--format",
                           xml_file(size)])
    runner.check(done.output.count(b"<record ") == size, "records are missing")
    return done


def xz(size):
    program = runner.find("xz", package="xz-utils")
    text = runner.text(size)
    done = runner.measure([program, "-c", "-4", "-T1", text])
    again = subprocess.run([program, "-d", "-c"], input=done.output, stdout=subprocess.PIPE,
                           env=runner.quiet_environment(), timeout=300, check=True)
    runner.check(again.stdout == text.read_bytes(), "the text has changed")
    return done


PROGRAMS = {"gawk": (gawk, 1024, 8192, 65536), "graphviz": (graphviz, 150, 800, 2000),
            "jq": (jq, 4000, 24_000, 300_000), "lua": (lua, 30_000, 300_000, 3_000_000),
            "ruby": (ruby, 10_000, 60_000, 600_000), "xmllint": (xmllint, 10_000, 60_000, 600_000),
            "xz": (xz, 256, 2048, 16384)}


def run(arguments, _folder):
    measure = PROGRAMS[arguments.text("program", "lua")][0]
    return runner.result(measure(arguments.number("size", 1000)))


runner.main(runner.describe(
    name="outside", title="Programs from outside", group="outside",
    what="Debian's programs that nothing in Corbel is tuned to, each on an input that is made here. "
         "Measured once for each release, when --outside asks for them, and published whatever the "
         "figures are.",
    cases=[(name, *(f"program={name} size={size}" for size in sizes))
           for name, (_, *sizes) in PROGRAMS.items()]), run)
