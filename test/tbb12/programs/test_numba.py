# SPDX-License-Identifier: Apache-2.0
"""numba from PyPI on its TBB layer: with the library of the wheel tbb, also from PyPI, and with Corbel's.
numba opens libtbb.so.12 by its name when its first parallel loop begins."""

import os
import shutil
import subprocess
import sys

import both
from both import common

FOLDER = os.path.join(both.onetbb.ROOT, "build", "numba")
PACKAGES = ["numba==0.68.1", "tbb==2023.2.0"]
SCRIPT = os.path.join(both.HERE, "numba_loops.py")


def environment():
    """The Python of an environment with numba and the wheel; made once, in build/."""
    python = os.path.join(FOLDER, "bin", "python")
    if not os.path.exists(os.path.join(FOLDER, "complete")):
        shutil.rmtree(FOLDER, ignore_errors=True)
        done = subprocess.run([sys.executable, "-m", "venv", FOLDER], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            common.skip("no environment for numba (Debian package python3-venv): " + done.stdout[-300:])
        try:
            both.onetbb.pip("numba", "install", *PACKAGES, python=python)
        except both.onetbb.Unavailable as reason:
            common.skip(str(reason))
        with open(os.path.join(FOLDER, "complete"), "w"):
            pass
    return python


def test(scratch):
    python = environment()
    env = {"NUMBA_THREADING_LAYER": "tbb", "NUMBA_NUM_THREADS": "2",
           "NUMBA_CACHE_DIR": os.path.join(scratch, "cache")}
    count = "1000000" if common.FULL else "300000"
    both.compare("numba with the wheel", [python, SCRIPT, count], scratch, both.result_lines, env=env,
                 uses=["execute_and_wait", "execute", "finalize"],
                 original=os.path.join(FOLDER, "lib"))


common.main(test)
