# SPDX-License-Identifier: Apache-2.0
"""libtbb.so.12 exports every name that oneTBB's library from PyPI exports, and Debian's if it is
installed, without symbol versions, as oneTBB's."""

import os
import platform
import subprocess

import onetbb
from onetbb import common


def names(library):
    """The defined names, each with its version if it has one."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    return {line.split()[2] for line in text.splitlines() if line.split()[1] in "TDVBRWi"}


def test(_scratch):
    common.require("nm", package="binutils")
    own = names(os.path.join(onetbb.ours(), onetbb.LIBRARY))
    libraries = [os.path.join(onetbb.folders()[1], onetbb.LIBRARY)]
    debian = "/usr/lib/%s-linux-gnu/libtbb.so.12" % platform.machine()
    libraries += [debian] if os.path.exists(debian) else []
    for library in libraries:
        wanted = names(library)
        common.check(len(wanted) > 90, "%s exports %d names only" % (library, len(wanted)))
        missing = sorted(wanted - own)
        common.check(not missing, "not exported, but by %s: %s" % (library, " ".join(missing)))
        print("all %d names of %s" % (len(wanted), library))


if __name__ == "__main__":
    common.main(test)
