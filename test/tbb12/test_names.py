# SPDX-License-Identifier: Apache-2.0
"""libtbb.so.12 exports every name that oneTBB's library from PyPI exports, and Debian's if it is
installed, without symbol versions, as oneTBB's."""

import os
import platform

import onetbb
from onetbb import common


def test(_scratch):
    common.require("nm", package="binutils")
    own = onetbb.names(os.path.join(onetbb.ours(), onetbb.LIBRARY))
    libraries = [os.path.join(onetbb.folders()[1], onetbb.LIBRARY)]
    debian = "/usr/lib/%s-linux-gnu/libtbb.so.12" % platform.machine()
    libraries += [debian] if os.path.exists(debian) else []
    for library in libraries:
        wanted = onetbb.names(library)
        common.check(len(wanted) > 90, "%s exports %d names only" % (library, len(wanted)))
        missing = sorted(wanted - own)
        common.check(not missing, "not exported, but by %s: %s" % (library, " ".join(missing)))
        print("all %d names of %s" % (len(wanted), library))


common.main(test)
