# SPDX-License-Identifier: Apache-2.0
"""What an address is to the allocator, and which blocks of slabs the program really uses.

To its slab, a block is used while it is on the list of a bin, in an outbox, in an inbox or borrowed.
So these are looked through before a block counts as used.
"""

from . import allocator, memory
from .values import plural


class Held:
    """The blocks that are free but count as used in their slab, and where they are."""

    def __init__(self, process):
        self.process = process
        self.where = {}  # address of a block -> text
        self.inbox = {}  # address of a heap -> (batches, blocks)
        self.outbox = {}  # address of a heap -> blocks
        self.borrowed = {}  # address of a heap -> blocks
        self.listed = {}  # address of a heap -> blocks
        self.corrupt = []  # texts
        for heap in process.heaps():
            self._add(heap)

    def _add(self, heap):
        process = self.process
        name = heap.name()
        for c, first, _, is_borrowed, own in heap.bins():
            limit = process.capacity[c]
            if is_borrowed:
                count = self._add_list(first, process.layout["max_borrowed"],
                                       f"free: borrowed by {name}")
                self.borrowed[heap.address] = self.borrowed.get(heap.address, 0) + count
                first = own
            count = self._add_list(first, limit, f"free: on the list of the next mallocs of {name}")
            self.listed[heap.address] = self.listed.get(heap.address, 0) + count
        count = 0
        for _, first, blocks in heap.outbox():
            limit = min(blocks, process.layout["Outbox.kMaxBlocks"])
            count += self._add_list(first, limit, f"free: in the outbox of {name}")
        self.outbox[heap.address] = count
        batches = blocks = 0
        for first, link in process.inbox_batches(heap):
            batches += 1
            for block in process.batch_blocks(first, link):
                blocks += 1
                self.where.setdefault(block, f"free: in the inbox of {name}")
        self.inbox[heap.address] = (batches, blocks)

    def _add_list(self, first, limit, text):
        count = 0
        for block in self.process.list_of(first, limit):
            if block in self.where:
                self.corrupt.append(f"{block:#x} is on two lists ({self.where[block]}; {text})")
                break
            self.where[block] = text
            count += 1
        return count

    def by_slab(self):
        """Number of a slab's first unit -> how many of its blocks are held."""
        found = {}
        cache = {}
        for block in self.where:
            unit = block >> self.process.unit_bits
            if unit not in cache:
                head = self.process.head(unit)
                cache[unit] = head.number if head is not None else None
            if cache[unit] is not None:
                found[cache[unit]] = found.get(cache[unit], 0) + 1
        return found


def freed_blocks(slab):
    """The blocks on the slab's own list, and what is wrong with the list, if anything is."""
    found = set()
    size = slab.block_size
    block = slab.freed
    while block:
        offset = block - slab.address
        if offset < 0 or offset % size or offset // size >= slab.carved:
            return found, f"the list of free blocks leads to {block:#x}, which is no block of it"
        if block in found:
            return found, f"the list of free blocks leads back to {block:#x}"
        found.add(block)
        block = memory.read_pointer(block)
    expected = slab.carved - slab.used - slab.decommitted_blocks
    if len(found) != expected:
        return found, (f"the list of free blocks has {plural(len(found), 'block')} instead of "
                       f"{expected}; a thread may be changing it, or it is corrupt")
    return found, None


def is_decommitted(slab, offset):
    """Whether a block of the slab overlaps a page whose memory was given back."""
    process = slab.process
    for page in range(offset // allocator.PAGE,
                      (offset + slab.block_size - 1) // allocator.PAGE + 1):
        per_unit = (1 << process.unit_bits) // allocator.PAGE
        unit = process.unit(slab.number + page // per_unit)
        if unit is not None and unit.decommitted_pages >> (page % per_unit) & 1:
            return True
    return False


def describe_owner(process, unit):
    if not unit.owner:
        return "no thread's heap (blocks that are watched)"
    for heap in process.heaps():
        if heap.address == unit.owner:
            return heap.name()
    return f"heap {unit.owner:#x}, which is in no list"


def describe_slab(process, slab, address):
    offset = address - slab.address
    size = slab.block_size
    index = offset // size
    where = f"slab {slab.address:#x}, {memory.bytes_text(slab.bytes)}"
    lines = []
    if index >= slab.capacity:
        lines.append(f"{address:#x}: in the rest at the end of a slab, which holds no block")
    else:
        block = slab.address + index * size
        inside = address - block
        lines.append(f"{address:#x}: " + ("the beginning of a block" if inside == 0 else
                                          f"{inside} bytes into the block at {block:#x}"))
        problem = None
        if index >= slab.carved:
            state = "free: never allocated"
        elif is_decommitted(slab, index * size):
            state = "free: its page was given back to the system"
        else:
            held = Held(process)
            freed, problem = freed_blocks(slab)
            if block in freed:
                state = "free: on the list of its slab"
            else:
                state = held.where.get(block, "used")
        lines.append(f"  state  {state}")
        if problem:
            lines.append(f"         but {problem}")
        lines.append(f"  size   {size} bytes (size class {slab.size_class}), "
                     f"from {block:#x} to {block + size:#x}")
    lines.append(f"  owner  {describe_owner(process, slab)}")
    lines.append(f"  in     {where}: {slab.used} of {slab.capacity} blocks used or in a cache, "
                 f"{slab.carved} carved")
    return lines


def describe(process, address):
    """Lines that say what the address is."""
    unit = process.unit_of(address) if address >> 48 == 0 else None
    if unit is None or unit.tag == process.tag_foreign:
        return [f"{address:#x}: not Corbel's memory (a stack, a static variable, a mapping, or "
                "another allocator's block)"]
    if unit.is_guarded:
        return [f"{address:#x}: in the pool of guarded blocks (CORBEL_CHECK=guards); a page that "
                "can be read is a live block's"]
    head = process.head(unit.number)
    if head is None:
        return [f"{address:#x}: Corbel's memory, but in no span: a thread is just changing it, or "
                "the descriptors are corrupt"]
    if head.is_slab:
        return describe_slab(process, head, address)
    offset = address - head.address
    if head.is_free:
        return [f"{address:#x}: free memory, in a span of {memory.bytes_text(head.bytes)} "
                f"from {head.address:#x}; no block"]
    size = head.bytes - head.head_distance
    if offset >= size:
        return [f"{address:#x}: after the end of the large block at {head.address:#x} "
                f"({size} bytes), in the {head.head_distance} bytes that its span has left over"]
    return [f"{address:#x}: " + ("the beginning of a large block" if offset == 0 else
                                 f"{offset} bytes into the large block at {head.address:#x}"),
            "  state  used",
            f"  size   {size} bytes, from {head.address:#x} to {head.address + size:#x}"]


class Totals:
    """One heap's memory, in bytes, or that of all."""

    def __init__(self):
        self.slabs = self.slab_bytes = self.live = self.blocks = self.free = 0

    def add(self, slab, held):
        used = max(0, min(slab.used, slab.capacity) - held)
        self.slabs += 1
        self.slab_bytes += slab.bytes
        self.blocks += used
        self.live += used * slab.block_size
        self.free += (slab.carved - slab.decommitted_blocks - used) * slab.block_size


class Census:
    """All spans, added up."""

    def __init__(self, process):
        self.held = Held(process)
        held_in = self.held.by_slab()
        self.heaps = {}  # address -> Totals
        self.all = Totals()
        self.large = self.large_bytes = self.free_spans = self.free_bytes = 0
        self.classes = {}
        for unit in process.spans():
            if unit.is_slab:
                held = held_in.get(unit.number, 0)
                self.heaps.setdefault(unit.owner, Totals()).add(unit, held)
                self.classes.setdefault(unit.size_class, Totals()).add(unit, held)
                self.all.add(unit, held)
            elif unit.is_large:
                self.large += 1
                self.large_bytes += unit.bytes - unit.head_distance
            elif unit.is_free:
                self.free_spans += 1
                self.free_bytes += unit.bytes
