# SPDX-License-Identifier: Apache-2.0
"""A cross build: the library exports what oneTBB's does, and what the cross compiler makes from
oneTBB's headers prints under the emulator what it prints here on oneTBB's library."""

import os
import shlex

import clients
import onetbb
from onetbb import common


def test(scratch):
    common.require("nm", package="binutils")
    headers, library = onetbb.folders()
    own = os.path.join(onetbb.ours(), onetbb.LIBRARY)
    missing = onetbb.names(os.path.join(library, onetbb.LIBRARY)) - onetbb.names(own)
    common.check(not missing, "not exported: " + " ".join(sorted(missing)))
    folders = ":".join([onetbb.ours(), common.lib_dir()])
    emulator = [*shlex.split(os.environ["CORBEL_EMULATOR"]), "-E", "LD_LIBRARY_PATH=" + folders]
    names = ["algorithms", "groups"]
    crossed = os.path.join(scratch, "cross")
    os.mkdir(crossed)
    here = clients.compiled(headers, library, scratch, names)
    there = clients.compiled(headers, onetbb.ours(), crossed, names, os.environ["CORBEL_CXX"])
    for name in names:
        common.same("what %s prints" % name, common.run([here[name]], {"LD_LIBRARY_PATH": library}).out,
                    common.run([*emulator, there[name]], timeout=300).out)


if __name__ == "__main__":
    common.main(test)
