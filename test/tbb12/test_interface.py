# SPDX-License-Identifier: Apache-2.0
"""Programs that are compiled with the newest headers of oneTBB print the same on oneTBB's library
and on Corbel's, several times, also on one processor."""

import clients
import onetbb
from onetbb import common


def test(scratch):
    headers, library = onetbb.folders()
    programs = clients.compiled(headers, library, scratch)
    clients.compare(programs, library, runs=10 if common.FULL else 4)


if __name__ == "__main__":
    common.main(test)
