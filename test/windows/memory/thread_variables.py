#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a thread-local variable of a library's is one of gcc's emulation, which calls malloc.

Usage: thread_variables.py NM LIBRARY...
"""
import re
import subprocess
import sys

# gcc calls the description of the variable x __emutls_v.x. What its own libraries have is theirs.
EMULATED = re.compile(r"__emutls_v\.(\S*(?:corbel|tbb)\S*)")


def main():
    nm, *libraries = sys.argv[1:]
    is_right = True
    for library in libraries:
        symbols = subprocess.run([nm, library], stdout=subprocess.PIPE, text=True, check=True).stdout
        if "corbel" not in symbols:
            sys.exit(f"{library}: no symbol of Corbel's")
        for name in sorted(set(EMULATED.findall(symbols))):
            print(f"{library}: {name} is emulated: use CORBEL_THREAD_VARIABLE")
            is_right = False
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
