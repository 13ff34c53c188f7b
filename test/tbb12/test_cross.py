# SPDX-License-Identifier: Apache-2.0
"""A cross build: the library exports what oneTBB's does, and what the cross compiler makes from
oneTBB's headers prints under the emulator what it prints here on oneTBB's library."""

import os
import shlex

import onetbb
import test_interface
import test_names
from onetbb import common


def test(scratch):
    common.require("nm", package="binutils")
    headers, library = onetbb.folders()
    own = os.path.join(onetbb.ours(), onetbb.LIBRARY)
    missing = test_names.names(os.path.join(library, onetbb.LIBRARY)) - test_names.names(own)
    common.check(not missing, "not exported: " + " ".join(sorted(missing)))
    folders = ":".join([onetbb.ours(), common.lib_dir()])
    outputs = []
    for compiler, linked, start, mode in (
            (common.require("g++", package="g++"), os.path.join(library, onetbb.LIBRARY), [],
             {"LD_LIBRARY_PATH": library}),
            (os.environ["CORBEL_CXX"], own,
             [*shlex.split(os.environ["CORBEL_EMULATOR"]), "-E", "LD_LIBRARY_PATH=" + folders], "system")):
        program = os.path.join(scratch, "client%d" % len(outputs))
        common.run([compiler, "-std=c++17", "-O1", "-pthread", "-w", test_interface.SOURCE, "-o", program,
                    "-isystem", headers, linked, "-Wl,-rpath-link," + folders], timeout=300)
        outputs.append(common.run([*start, program], mode).out)
    common.same("the output", *outputs)


if __name__ == "__main__":
    common.main(test)
