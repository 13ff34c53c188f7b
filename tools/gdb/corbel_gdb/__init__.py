# SPDX-License-Identifier: Apache-2.0
"""Corbel in GDB 12 and later: pretty-printers, and the commands that begin with `corbel`.

Everything reads memory and calls no function of the program, so it works on a core file, too.
"""

_is_set_up = False


def set_up():
    """Adds the commands and the printers, once in a session."""
    global _is_set_up  # pylint: disable=global-statement
    if _is_set_up:
        return
    _is_set_up = True
    from . import commands, printers  # pylint: disable=import-outside-toplevel

    commands.register()
    printers.register()
