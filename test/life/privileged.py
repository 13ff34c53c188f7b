#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program with the privileges of another user ignores Corbel's environment variables: the user
who starts it must not make it write a file, or change what it prints.

Usage: privileged.py PROGRAM
"""
import os
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534


def run(program):
    result = subprocess.run([program], env={"CORBEL_STATS": "1"}, capture_output=True, text=True,
                            check=True)
    return result.stdout.strip(), "corbel" in result.stderr.lower()


def main():
    program = sys.argv[1]
    assert run(program) == ("ordinary", True), "CORBEL_STATS=1 prints a report"
    if os.getuid() != 0:
        print("skipped: only root can make a program for another user")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(program, folder)
        try:
            os.chown(copy, NOBODY, -1)
            os.chmod(copy, 0o4755)
            kind, reports = run(copy)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"skipped: {error}")
            return 77
    if kind != "privileged":
        print("skipped: the folder for temporary files allows no set-user-ID programs")
        return 77
    assert not reports, "a privileged program obeys CORBEL_STATS"
    return 0


sys.exit(main())
