# SPDX-License-Identifier: Apache-2.0
"""A process that already uses thread-local variables of libstdc++ still opens the libraries, as numba
does. A library that refers to such a variable by a fixed place could not be opened any more."""

import sys

import onetbb
from onetbb import common

# The call gives the thread its copy of libstdc++'s variables, wherever there is room.
OPEN = """
import ctypes, sys
assert "libstdc++" not in open("/proc/self/maps").read(), "this Python needs libstdc++ itself"
ctypes.CDLL("libstdc++.so.6").__cxa_get_globals()
print(ctypes.CDLL(sys.argv[1])._name)
"""


def test(_scratch):
    for library in (common.library(common.SCHEDULER), common.library(onetbb.LIBRARY)):
        done = common.run([sys.executable, "-c", OPEN, library])
        common.same("what is open", library, done.out.decode().strip())


common.main(test)
