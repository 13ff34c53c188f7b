# SPDX-License-Identifier: Apache-2.0
"""Programs that are compiled with the newest headers of oneTBB print the same on oneTBB's library
and on Corbel's, ten times, also on one processor. TBB_VERSION=1 tells whose library runs."""

import clients
import onetbb
from onetbb import common


def test(scratch):
    headers, library = onetbb.folders()
    programs = clients.compiled(headers, library, scratch)
    clients.compare(programs, library, runs=10)
    said = common.run([programs["locks"]], {"LD_LIBRARY_PATH": onetbb.ours(), "TBB_VERSION": "1"}).err
    common.check(b"oneTBB: VERSION" in said and b"Corbel" in said, "TBB_VERSION=1: %r" % said)


if __name__ == "__main__":
    common.main(test)
