# SPDX-License-Identifier: Apache-2.0
"""The debug layout of a library (src/base/debug_layout.hpp).

It makes the commands independent of debug information: the library says itself where its structures
are.
"""

import gdb

from . import memory

MAGIC = b"corbel1\0"
ENTRY = 40
NAME = 32


class Layout:
    """The numbers and addresses of one library: `layout["Span.tag"]`."""

    def __init__(self, address):
        head = memory.read(address, 16)
        if head[:8] != MAGIC:
            raise gdb.GdbError("The debug layout of this libcorbel is of another version than these "
                               "commands; use those that were installed with it.")
        count = memory.number(head, 8, 4) + memory.number(head, 12, 4)
        data = memory.read(address + 16, min(count, 4096) * ENTRY)
        self._values = {}
        for at in range(0, len(data), ENTRY):
            name = data[at:at + NAME].split(b"\0")[0].decode("ascii", "replace")
            self._values[name] = memory.number(data, at + NAME, 8)

    def __getitem__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise gdb.GdbError(f"The debug layout of this libcorbel has no '{name}'; use the "
                               "commands that were installed with it.") from None

    def get(self, name, default=None):
        return self._values.get(name, default)


def _find(symbol, library, what):
    if not gdb.selected_inferior().pid:
        raise gdb.GdbError("No program is running, and no core file is open.")
    try:
        address = int(gdb.parse_and_eval(f"(unsigned long)&'{symbol}'"))
    except gdb.error:
        raise gdb.GdbError(
            f"This program has no {symbol}: it does not use {what}, or {library} is linked "
            "statically and stripped. 'info sharedlibrary' shows what GDB has found.") from None
    return Layout(address)


def of_allocator():
    return _find("corbel::alloc::debug_layout", "libcorbelmalloc", "Corbel's allocator")


def of_scheduler():
    return _find("corbel::sched::debug_layout", "libcorbel", "Corbel's scheduler")
