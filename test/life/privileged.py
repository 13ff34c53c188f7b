#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program with the privileges of another user ignores Corbel's environment variables: the user
who starts it must not make it write a file, or change what it prints.

Usage: privileged.py PROGRAM VARIABLE=VALUE, a setting with which it reports on stderr
"""
import os
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534


def run(program, setting):
    result = subprocess.run([program], env=dict([setting.split("=")]), capture_output=True, text=True,
                            check=True)
    return result.stdout.strip(), "corbel" in result.stderr.lower()


def main():
    program, setting = sys.argv[1:]
    assert run(program, setting) == ("ordinary", True), f"{setting} prints a report"
    if os.getuid() != 0:
        print("skipped: only root can make a program for another user")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(program, folder)
        try:
            os.chown(copy, NOBODY, -1)
            os.chmod(copy, 0o4755)
            kind, reports = run(copy, setting)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"skipped: {error}")
            return 77
    if kind != "privileged":
        print("skipped: the folder for temporary files allows no set-user-ID programs")
        return 77
    assert not reports, f"a privileged program obeys {setting}"
    return 0


sys.exit(main())
