# SPDX-License-Identifier: Apache-2.0
"""What the printers need of GDB's values."""

import gdb

from . import memory

# A corrupt list leads anywhere: a printer goes no further than this.
MAX_NODES = 1 << 24


def scalar(value):
    """The number or pointer in a std::atomic, or in a class around one."""
    for _ in range(16):
        kind = value.type.strip_typedefs()
        if kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return value
        fields = [f for f in kind.fields() if hasattr(f, "bitpos") and f.type.sizeof]
        if not fields:
            break
        value = value[fields[0]]
    raise gdb.error("no number in it")


def number(value):
    return int(scalar(value))


def unsigned(value):
    found = scalar(value)
    return int(found) & ((1 << 8 * found.type.sizeof) - 1)


def object_at(address, kind):
    """The object of the type at the address."""
    return gdb.Value(address).cast(kind.pointer()).dereference()


def align(offset, alignment):
    return (offset + alignment - 1) // alignment * alignment


def argument(value, i):
    return value.type.strip_typedefs().unqualified().template_argument(i)


def member_type(value, name, *others):
    """The type `name` of the value's class; else the first of the others that GDB knows."""
    kind = value.type.strip_typedefs().unqualified()
    for candidate in (f"{kind}::{name}", *others):
        if isinstance(candidate, gdb.Type):
            return candidate
        try:
            return gdb.lookup_type(candidate).strip_typedefs()
        except gdb.error:
            continue
    raise gdb.error(f"no type {name}")


def base_with(value, name):
    """The value's class, or the first of its bases, whose name begins so."""
    todo = [value]
    while todo:
        found = todo.pop(0)
        kind = found.type.strip_typedefs()
        if str(kind.unqualified()).startswith(name):
            return found
        todo += [found[f] for f in kind.fields() if f.is_base_class]
    raise gdb.error(f"no base {name}")


def plural(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")


def function_name(address):
    return memory.symbol_at(int(address))
