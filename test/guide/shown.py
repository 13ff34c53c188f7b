#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the C++ code of the guide is that of the programs here, which are tested. A block
after a comment <!-- FILE: REGION --> must be the part of FILE between // [REGION] and // [end].

Usage: shown.py FOLDER_OF_THE_GUIDE [PAGE...], or shown.py --self-test.
"""
import pathlib
import re
import sys
import textwrap

REGION = re.compile(r"^ *// \[([\w-]+)\]\n(.*?)^ *// \[end\]\n", re.M | re.S)
BLOCK = re.compile(r"(?:<!-- ([\w.]+): ([\w-]+) -->\n)?```(?:cpp|c\+\+)\n(.*?)^```$", re.M | re.S)


def problems_of(pages, programs):
    """Yields the differences. `pages` and `programs` are the texts by name."""
    regions = {(name, region): textwrap.dedent(code) for name, text in programs.items()
               for region, code in REGION.findall(text)}
    shown = set()
    for page, text in pages.items():
        for name, region, code in BLOCK.findall(text):
            first = code.split("\n", 1)[0]
            if not name:
                yield f"{page}: the code that begins with '{first}' is in no program"
            elif (name, region) not in regions:
                yield f"{page}: there is no region {region} in {name}"
            elif code != regions[name, region]:
                yield f"{page}: {name}, {region}: differs from the program"
            shown.add((name, region))
    for name, region in sorted(set(regions) - shown):
        yield f"{name}: the region {region} is on no page"


def self_test():
    program = "int x;\n  // [a]\n  if (x)\n    f();\n  // [end]\n"
    code = "if (x)\n  f();\n"
    cases = [
        (f"<!-- p.cpp: a -->\n```cpp\n{code}```\n", 0),
        (f"<!-- p.cpp: a -->\n```cpp\n{code}g();\n```\n", 1),
        (f"<!-- p.cpp: b -->\n```cpp\n{code}```\n", 2),
        (f"```cpp\n{code}```\n", 2),
        ("no code\n", 1),
    ]
    wrong = [page for page, count in cases
             if len(list(problems_of({"page": page}, {"p.cpp": program}))) != count]
    print("\n".join(wrong) or "ok")
    return 1 if wrong else 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    files = [*sorted(pathlib.Path(sys.argv[1]).glob("*.md")), *map(pathlib.Path, sys.argv[2:])]
    pages = {str(p): p.read_text() for p in files}
    here = pathlib.Path(__file__).parent
    programs = {p.name: p.read_text() for p in sorted(here.glob("*.cpp"))}
    problems = list(problems_of(pages, programs))
    print("\n".join(problems) or f"{len(programs)} programs, as shown")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
