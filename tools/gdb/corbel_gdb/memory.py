# SPDX-License-Identifier: Apache-2.0
"""Reading the memory of the process or the core file."""

import gdb

ADDRESS_BITS = (1 << 64) - 1


def read(address, size):
    """Returns `size` bytes. Raises gdb.MemoryError if they are not there."""
    return bytes(gdb.selected_inferior().read_memory(address & ADDRESS_BITS, size))


def read_sparse(address, size, step=1 << 16):
    """Returns `size` bytes; zeros for what a core file leaves out."""
    try:
        return read(address, size)
    except gdb.MemoryError:
        pass
    found = bytearray(size)
    for offset in range(0, size, step):
        part = min(step, size - offset)
        try:
            found[offset:offset + part] = read(address + offset, part)
        except gdb.MemoryError:
            if step > 4096:
                found[offset:offset + part] = read_sparse(address + offset, part, 4096)
    return bytes(found)


def number(data, offset, size):
    return int.from_bytes(data[offset:offset + size], "little")


def read_number(address, size):
    return number(read(address, size), 0, size)


def read_pointer(address):
    return read_number(address, 8)


def thread_names():
    """What GDB calls the threads, by the system's number."""
    return {thread.ptid[1] or thread.ptid[2]: f"thread {thread.num}"
            for thread in gdb.selected_inferior().threads()}


def symbol_at(address):
    """The name of the function at the address; the address itself if there is none."""
    text = gdb.execute(f"info symbol {address:#x}", to_string=True).strip()
    if text.startswith("No symbol"):
        return f"{address:#x}"
    return text.split(" in section ")[0]


def bytes_text(count):
    """'512 B', '1.5 KiB', '3.0 MiB'."""
    if count < 1024:
        return f"{count} B"
    size = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if size < 1024 or unit == "TiB":
            break
    return f"{size:.1f} {unit}"
