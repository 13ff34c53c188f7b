# SPDX-License-Identifier: Apache-2.0
"""Adds up one ctest run from its JUnit file.

    results.py FILE [REPORTS LOG]

Prints "PASSED FAILED SKIPPED", then a line for each test that was skipped inside a GoogleTest program
(ctest itself names those that are skipped as a whole). With REPORTS, the folder of a sanitizer's
reports, then each report that LOG does not show yet: that of a test that ctest ended, for one.
"""
import re
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

# What test/runner/run.py prints first.
TESTS = re.compile(r"tests: (\d+) passed, (\d+) failed, (\d+) skipped$", re.M)


def count(case):
    """(passed, failed, skipped, lines) of one ctest, which may be many tests."""
    status, skipped = case.get("status"), case.find("skipped")
    output = case.findtext("system-out") or ""
    # A test whose program is missing is "notrun" too, and that is no skip.
    is_skip = status == "disabled" or (status == "notrun" and skipped is not None
                                       and "SKIP" in skipped.get("message", "").upper())
    lines = [f"{case.get('name')}: {line}" for line in re.findall(r"^skipped: (.*)$", output, re.M)]
    if found := TESTS.match(output.lstrip()):
        passed, failed, left_out = map(int, found.groups())
        if status != "run" and not is_skip:
            failed = max(failed, 1)
        return passed, failed, left_out, lines
    if is_skip:
        return 0, 0, 1, []
    return (1, 0, 0, []) if status == "run" else (0, 1, 0, [])


def main(file, reports=None, log=None):
    counts = [count(case) for case in tree.parse(file).getroot().iter("testcase")]
    print(*(sum(column) for column in list(zip(*(c[:3] for c in counts))) or [(), (), ()]))
    for each in counts:
        for line in each[3]:
            print(f"  skipped  {line}")
    if reports and Path(reports).is_dir():
        shown = Path(log).read_text(errors="replace")
        for path in sorted(Path(reports).iterdir()):
            if str(path) not in shown:
                print(f"  report  {path}")
                print("\n".join(f"  | {line}" for line in
                                path.read_text(errors="replace").splitlines()))


if __name__ == "__main__":
    main(*sys.argv[1:])
