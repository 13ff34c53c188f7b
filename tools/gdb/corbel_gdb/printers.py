# SPDX-License-Identifier: Apache-2.0
"""Finds the printer of a value by the name of its type."""

import re

import gdb
import gdb.printing

from . import containers, others

# The names tbb and oneapi::tbb are using-declarations; a program may have classes of its own there.
_NAME = re.compile(r"^(?:corbel|(?:oneapi::)?tbb(?:::v1)?)::((?:flow::|detail::)?\w+"
                   r"(?:::scoped_lock)?)(<|$)")
_PRINTERS = {**containers.PRINTERS, **others.PRINTERS}


class Lookup:
    """What GDB asks for a printer."""

    name = "corbel"
    enabled = True

    def __init__(self):
        self.subprinters = None

    def __call__(self, value):
        kind = value.type
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            kind = kind.target()
            value = value.referenced_value()
        kind = kind.unqualified().strip_typedefs()
        if kind.code != gdb.TYPE_CODE_STRUCT:
            return None
        name = kind.tag or ""
        found = _NAME.match(name)
        if found is None or (found.group(2) == "<" and not name.endswith(">")):
            return None
        printer = _PRINTERS.get(found.group(1))
        if printer is None:
            return None
        try:
            return printer(value.cast(kind), found.group(1).split("::", 1)[-1]
                           if found.group(1).startswith(("flow::", "detail::"))
                           else found.group(1))
        except gdb.error:
            return None  # not initialized, or of another version: GDB shows the members


def register():
    gdb.printing.register_pretty_printer(None, Lookup(), replace=True)
