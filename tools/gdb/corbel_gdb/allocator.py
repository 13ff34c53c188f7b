# SPDX-License-Identifier: Apache-2.0
"""The allocator's structures as they lie in memory: units, slabs, heaps (src/alloc)."""

from . import layout as layouts
from . import memory

PAGE = 4096
CHAIN_BITS = (1 << 48) - 8  # the address in the link of a batch that was sent
MAX_HEAPS = 1 << 20
MAX_CHAIN = 1 << 22


class Unit:
    """One descriptor."""

    def __init__(self, process, unit, data, offset=0):
        field = process.span_field
        self.process = process
        self.number = unit
        self.address = unit << process.unit_bits
        self.tag = field(data, offset, "Span.tag", 8)
        self.freed = field(data, offset, "Span.freed", 8)
        self.used = field(data, offset, "Span.used", 4)
        self.carved = field(data, offset, "Span.carved", 4)
        self.units = field(data, offset, "Span.units", 4)
        self.head_distance = field(data, offset, "Span.head_distance", 4)  # or committed, or tail
        self.decommitted_pages = field(data, offset, "Span.decommitted_pages", 2)
        self.decommitted_blocks = field(data, offset, "Span.decommitted_blocks", 2)
        self.size_class = field(data, offset, "Span.size_class", 1)

    @property
    def bytes(self):
        return self.units << self.process.unit_bits

    @property
    def is_slab(self):
        p = self.process
        special = (p.tag_large < self.tag < p.tag_first_heap and
                   self.tag not in (p.tag_free, p.tag_guarded))
        return (self.tag >= p.tag_first_heap or special) and self.size_class < p.classes

    @property
    def is_large(self):
        return self.tag == self.process.tag_large

    @property
    def is_free(self):
        return self.tag == self.process.tag_free

    @property
    def is_guarded(self):
        """Whether the unit belongs to the pool of guarded blocks, which no span covers."""
        return self.tag == self.process.tag_guarded

    @property
    def owner(self):
        """The address of the heap that owns the slab; 0 if none does."""
        p = self.process
        return self.tag & ~p.layout["tag.full"] if self.tag >= p.tag_first_heap else 0

    @property
    def block_size(self):
        return self.process.block_size[self.size_class]

    @property
    def capacity(self):
        return self.process.capacity[self.size_class]


class Heap:
    """A thread's heap."""

    def __init__(self, process, address):
        layout = process.layout
        self.process = process
        self.address = address
        self.data = memory.read(address, layout["Heap"])
        self.next = memory.number(self.data, layout["Heap.next"], 8)
        inbox = layout["Heap.inbox"]
        self.thread = memory.number(self.data, layout["Heap.thread"], 4)
        self.is_attached = memory.number(self.data, layout["Heap.owner_slot"], 8) != 0
        self.inbox_state = memory.number(self.data, inbox + layout["Inbox.state"], 4)
        self.inbox_first = memory.number(self.data, inbox + layout["Inbox.chains"], 8)

    @property
    def is_live(self):
        return self.inbox_state == self.process.layout["Inbox.kLive"]

    @property
    def is_orphans(self):
        return self.address == self.process.layout["orphan_heap"]

    @property
    def is_empty_spare(self):
        return not self.is_live and not self.is_orphans and not self.inbox_first

    def name(self):
        if self.is_orphans:
            return "orphans (their threads have ended)"
        if self.inbox_state == self.process.layout["Inbox.kLost"]:
            return "a thread that a fork left behind"
        if not self.is_live:
            return "no thread (spare)"
        if not self.thread:
            return "no thread (resting, or its thread is ending)"
        known = self.process.thread_names.get(self.thread)
        return f"LWP {self.thread}" + (f" ({known})" if known else "")

    def bins(self):
        """Each bin: (class, list, current, list_is_borrowed, own)."""
        layout = self.process.layout
        for c in range(self.process.classes):
            at = layout["Heap.bins"] + c * layout["Bin"]

            def field(name, size, at=at):
                return memory.number(self.data, at + layout[name], size)

            yield (c, field("Bin.list", 8), field("Bin.current", 8),
                   field("Bin.list_is_borrowed", 1) != 0, field("Bin.own", 8))

    def outbox(self):
        """The batches that are not sent yet: (address of the slab's descriptor, first, count)."""
        layout = self.process.layout
        base = layout["Heap.outbox"]
        count = memory.number(self.data, base + layout["Outbox.batch_count"], 4)
        for i in range(min(count, layout["Outbox.kBatches"])):
            at = base + layout["Outbox.batches"] + i * layout["Batch"]
            yield (memory.number(self.data, at + layout["Batch.slab"], 8),
                   memory.number(self.data, at + layout["Batch.first"], 8),
                   memory.number(self.data, at + layout["Batch.count"], 4))


class Process:
    """The allocator of the process, read when a command begins."""

    def __init__(self):
        self.layout = layout = layouts.of_allocator()
        self.unit_bits = layout["unit_bits"]
        self.leaf_bits = layout["leaf_bits"]
        self.leaf_entries = 1 << (self.leaf_bits - self.unit_bits)
        self.classes = layout["classes"]
        for tag in ("foreign", "interior", "follower", "large", "free", "guarded", "first_heap"):
            setattr(self, "tag_" + tag, layout["tag." + tag])
        table = memory.read(layout["size_classes"], self.classes * layout["SizeClass"])
        self.block_size, self.capacity = (
            [memory.number(table, c * layout["SizeClass"] + layout["SizeClass." + name], 4)
             for c in range(self.classes)] for name in ("block_size", "capacity"))
        self._leaves = {}
        self._distances = None
        self.thread_names = memory.thread_names()

    def span_field(self, data, offset, name, size):
        return memory.number(data, offset + self.layout[name], size)

    # ---- the page map

    def _distance(self, leaf):
        if self._distances is None:
            self._distances = memory.read_sparse(
                self.layout["page_map"] + self.layout["PageMap.distance"],
                8 * self.layout["root_entries"])
        return memory.number(self._distances, 8 * leaf, 8)

    def leaf(self, index):
        """The address of the leaf; 0 if there is none."""
        distance = self._distance(index % self.layout["root_entries"])
        if not distance:
            return 0
        base = self.layout["page_map"] + self.layout["PageMap.absent"]
        return (base + distance) & memory.ADDRESS_BITS

    def _leaf_data(self, index):
        if index not in self._leaves:
            address = self.leaf(index)
            size = self.leaf_entries * self.layout["Span"]
            self._leaves[index] = memory.read_sparse(address, size) if address else None
        return self._leaves[index]

    def unit(self, number):
        """The descriptor of the unit; None where there is none."""
        number %= self.layout["root_entries"] * self.leaf_entries
        data = self._leaf_data(number // self.leaf_entries)
        if data is None:
            return None
        return Unit(self, number, data, number % self.leaf_entries * self.layout["Span"])

    def unit_of(self, address):
        return self.unit(address >> self.unit_bits)

    def unit_at_descriptor(self, descriptor):
        """The unit whose descriptor lies at this address; None if none does."""
        size = self.layout["Span"]
        for index in self._all_leaves():
            offset = descriptor - self.leaf(index)
            if 0 <= offset < self.leaf_entries * size and offset % size == 0:
                return self.unit(index * self.leaf_entries + offset // size)
        return None

    def _all_leaves(self):
        self._distance(0)
        found, at = [], 0
        table = self._distances
        while at < len(table):
            # Nearly all entries are 0.
            if not any(table[at:at + 4096]):
                at += 4096
                continue
            found += [i // 8 for i in range(at, min(at + 4096, len(table)), 8)
                      if any(table[i:i + 8])]
            at += 4096
        return found

    def head(self, number):
        """The first unit of the span that the unit lies in; None if it is in none."""
        unit = self.unit(number)
        if unit is None or unit.tag == self.tag_foreign:
            return None
        if unit.tag == self.tag_follower:
            unit = self.unit(number - unit.head_distance)
            return unit if unit is not None and unit.is_slab else None
        first = number
        while unit is not None and unit.tag == self.tag_interior and first > 0:
            first -= 1
            unit = self.unit(first)
        if unit is None or not (unit.is_slab or unit.is_large or unit.is_free):
            return None
        if first + unit.units <= number:
            return None
        if unit.is_free and unit.units > 1 and self._ends_free_span(number, unit):
            unit = self.unit(number - unit.units + 1)
        return unit

    def _ends_free_span(self, number, unit):
        before = self.unit(number - unit.units + 1)
        return (before is not None and before.is_free and before.units == unit.units and
                number == unit.number and before.number != number)

    def spans(self):
        """The first units of all slabs, large blocks and free spans, in the order of addresses."""
        tag_at, units_at = self.layout["Span.tag"], self.layout["Span.units"]
        size = self.layout["Span"]
        for index in self._all_leaves():
            data = self._leaf_data(index)
            entry = 0
            while entry < self.leaf_entries:
                at = entry * size
                tag = memory.number(data, at + tag_at, 8)
                if tag in (self.tag_foreign, self.tag_interior, self.tag_follower,
                           self.tag_guarded):
                    entry += 1
                    continue
                unit = Unit(self, index * self.leaf_entries + entry, data, at)
                yield unit
                entry += max(1, memory.number(data, at + units_at, 4))

    # ---- heaps

    def heaps(self):
        """All heaps ever made, and that of the orphans."""
        found, seen = [], set()
        address = memory.read_pointer(self.layout["all_heaps"])
        while address and address not in seen and len(found) < MAX_HEAPS:
            seen.add(address)
            found.append(Heap(self, address))
            address = found[-1].next
        found.append(Heap(self, self.layout["orphan_heap"]))
        return found

    # ---- lists of free blocks; they end early where a structure is corrupt

    def list_of(self, block, limit):
        """The blocks of a list."""
        seen = set()
        while block and len(seen) < limit and block not in seen:
            seen.add(block)
            yield block
            try:
                block = memory.read_pointer(block)
            except Exception:  # pylint: disable=broad-except
                return

    def _slab_of(self, block):
        unit = self.head(block >> self.unit_bits)
        return unit if unit is not None and unit.is_slab else None

    def batch_blocks(self, first, link):
        """The blocks of a batch that was sent; `link` is the first word of its first block."""
        yield first
        rest = link >> 48
        slab = self._slab_of(first)
        if rest == 0 or slab is None:
            return
        if slab.block_size < 16:  # the second block has the rest of the header
            second = slab.address + (rest - 1) * slab.block_size
            yield second
            third, count = memory.read_number(second, 2), memory.read_number(second + 4, 4)
            if third != 0:
                yield from self.list_of(slab.address + (third - 1) * slab.block_size, count - 2)
        else:
            second, count = memory.read_number(first + 8, 4), rest
            yield from self.list_of(slab.address + second * slab.block_size, count)

    def inbox_batches(self, heap):
        """(first block, link) of each batch that waits in the inbox."""
        at, seen = heap.inbox_first & CHAIN_BITS, set()
        while at and at not in seen and len(seen) < MAX_CHAIN:
            seen.add(at)
            try:
                link = memory.read_pointer(at)
            except Exception:  # pylint: disable=broad-except
                return
            yield at, link
            at = link & CHAIN_BITS
