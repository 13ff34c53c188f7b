#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""g++ on a file of templates; it must write the same assembly each time."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "programs"))
import inputs  # noqa: E402
import program_runner as runner  # noqa: E402


def run(arguments, folder):
    options = [f"-O{arguments.number('optimize', 0)}", f"-DLEVELS={arguments.number('levels', 3)}",
               f"-DTABLES={arguments.number('tables', 6)}"]
    compiler = runner.find("g++")
    written = folder / "templates.s"
  
    done = runner.measure([compiler, "-std=c++17", *options, "-S", "-o", written,
                           inputs.TEMPLATES.name], cwd=inputs.TEMPLATES.parent)
    assembly = written.read_bytes()
    runner.check(assembly.rstrip().endswith(b"progbits") and b".globl\t_Z3useR" in assembly,
                 "the assembly is not complete")
    return runner.result(done, text=assembly, extra={"assembly KiB": len(assembly) / 1024})


runner.main(runner.describe(
    name="compiler", title="g++",
    what="g++ compiles one file full of templates to assembly, which must not differ by a byte. "
         "Compilers allocate much and free little; the figures are those of the driver and the "
         "compiler proper together.",
    cases=[("", "levels=1 tables=1", "levels=2 tables=4", "levels=3 tables=6 optimize=2")]), run)
