# SPDX-License-Identifier: Apache-2.0
"""Printers of the concurrent containers and of what each thread has of its own."""

import gdb

from . import memory
from .values import (MAX_NODES, align, argument, base_with, member_type, number, object_at, plural,
                     scalar, unsigned)


class Container:
    """A container whose children are its elements; pairs are shown as a map's."""

    KIND = "array"

    def __init__(self, value, name):
        self.value = value
        self.name = name

    def display_hint(self):
        return self.KIND

    def size(self):
        raise NotImplementedError

    def elements(self):
        raise NotImplementedError

    def to_string(self):
        return f"{self.name} with {plural(self.size(), 'element')}"

    def children(self):
        for i, element in enumerate(self.elements()):
            if i == MAX_NODES:
                return
            if self.KIND == "map":
                yield f"[{2 * i}]", element["first"]
                yield f"[{2 * i + 1}]", element["second"]
            else:
                yield f"[{i}]", element


class Vector(Container):
    """concurrent_vector."""

    def __init__(self, value, name):
        super().__init__(value, name)
        self.storage = value["storage_"]
        self.type = argument(value, 0)

    def size(self):
        return min(unsigned(self.storage["claims_"]), unsigned(self.storage["capacity_"]))

    def to_string(self):
        size, capacity = self.size(), unsigned(self.storage["capacity_"])
        return f"{self.name} with {plural(size, 'element')}, capacity {capacity}"

    def elements(self):
        table = scalar(self.storage["table_"])
        # As segment_of() in vector_storage.hpp.
        first_log = self._first_log()
        for i in range(self.size()):
            segment = (i | (1 << first_log) - 1).bit_length() - first_log
            yield object_at(int(table[segment]) + i * self.type.sizeof & memory.ADDRESS_BITS,
                            self.type)

    def _first_log(self):
        """first_log() in vector_storage.hpp."""
        limits = ((32, 1), (16, 2), (8, 3), (4, 4), (0, 5))
        return next(log for size, log in limits if self.type.sizeof >= size)


class HashMap(Container):
    """concurrent_hash_map: buckets of seven nodes, which overflow into blocks."""

    KIND = "map"
    NODES = 7
    LOCKED, OVERFLOWS = 1, 2
    NOT_SPLIT = OVERFLOWS | 1 << 56
    BUCKET = 64

    def __init__(self, value, name):
        super().__init__(value, name)
        self.core = value["core_"]
        self.type = argument(self.core, 0)

    def size(self):
        stripes = self.core["stripes_"]
        first, last = stripes.type.range()
        total = sum(unsigned(stripes[i]["count_"]) for i in range(first, last + 1))
        total &= memory.ADDRESS_BITS
        return 0 if total >> 63 else total

    def elements(self):
        buckets = self.core["buckets_"]
        count = unsigned(buckets["size_"]) >> 32
        bases = buckets["segments_"]["bases_"]
        offset = align(8, self.type.alignof)  # of the value, after the hash and the lock
        for i in range(count):
            base = unsigned(bases[(i | 1).bit_length() - 1])  # segment 0 has two buckets
            yield from self._in_bucket(base + i * self.BUCKET & memory.ADDRESS_BITS, offset)

    def _in_bucket(self, address, offset):
        seen = set()
        while address not in seen and len(seen) < MAX_NODES:
            seen.add(address)
            data = memory.read(address, self.BUCKET)
            state = memory.number(data, 0, 8)
            if state & ~self.LOCKED == self.NOT_SPLIT:
                return
            overflows = state & self.OVERFLOWS
            for slot in range(self.NODES - (1 if overflows else 0)):
                node = memory.number(data, 8 + 8 * slot, 8)
                if state >> (8 * slot + 8) & 0xff and node:
                    yield object_at(node + offset, self.type)
            if not overflows:
                return
            address = memory.number(data, 8 * self.NODES, 8) & ~1


def _range(array):
    first, last = array.type.strip_typedefs().range()
    return range(first, last + 1)


class Unordered(Container):
    """concurrent_unordered_map, _multimap, _set, _multiset: a split-ordered list."""

    SLOT, UNREADY = 1, 2
    STRIPES, STRIPE = 16, 64

    def __init__(self, value, name):
        super().__init__(value, name)
        self.KIND = "map" if "map" in name else "array"  # pylint: disable=invalid-name
        self.table = base_with(value, "corbel::detail::unordered_table<")
        self.list = self.table["list_"]
        self.node = argument(self.list, 0)

    def size(self):
        count = self.table["count_"]
        total = unsigned(count["shared_"])
        stripes = int(scalar(count["stripes_"]))
        if stripes:
            data = memory.read(stripes, self.STRIPES * self.STRIPE)
            total += sum(memory.number(data, i * self.STRIPE, 8) for i in range(self.STRIPES))
        return total & memory.ADDRESS_BITS

    def elements(self):
        at = unsigned(self.list["segments_"][0])
        seen = 0
        fast = at
        while at and seen < MAX_NODES:
            at = memory.read_pointer(at)
            is_slot = at & self.SLOT
            at &= ~(self.SLOT | self.UNREADY)
            seen += 1
            if at and not is_slot:
                yield object_at(at, self.node)["value_"]
            # Two steps for one: meets the slow one where the list leads back.
            for _ in range(2):
                if fast:
                    fast = memory.read_pointer(fast) & ~(self.SLOT | self.UNREADY)
            if fast and fast == at:
                raise gdb.error("the list leads back to an earlier element")


class Ordered(Container):
    """concurrent_map, _multimap, _set, _multiset: a skip list."""

    def __init__(self, value, name):
        super().__init__(value, name)
        self.KIND = "map" if "map" in name else "array"  # pylint: disable=invalid-name
        self.list = base_with(value, "corbel::detail::ordered_core<")["list_"]
        if self.KIND == "array":
            self.type = argument(value, 0)
        else:
            self.type = member_type(value, "value_type", argument(value, 3).template_argument(0))

    def size(self):
        return unsigned(self.list["size_"])

    def elements(self):
        words = self.list["words_"]
        at = unsigned(words[_range(words)[-1]])  # level 0 is the last word of the head
        left = min(self.size() + 1, MAX_NODES)
        while at and left:
            yield object_at(at, self.type)
            at = memory.read_pointer(at - 8)
            left -= 1
        if at:
            raise gdb.error("more elements than the container counts; the list may lead back")


class Queue(Container):
    """concurrent_queue and concurrent_bounded_queue: linked segments of slots."""

    FULL = 1
    INDEX_BITS, CLAIM_BITS = 16, 48

    def __init__(self, value, name):
        super().__init__(value, name)
        self.queue = value["elements_"]
        self.type = argument(value, 0)
        self.segment = scalar(self.queue["head_segment_"])
        states = self.segment.type.strip_typedefs().target().strip_typedefs()
        self.slots = next(len(range(f.type.range()[1] + 1)) for f in states.fields()
                          if f.name == "states")

    def _head(self):
        head = unsigned(self.queue["head_"]) & ~(1 << 63)
        return (head >> self.INDEX_BITS) * self.slots + (head & (1 << self.INDEX_BITS) - 1)

    def size(self):
        claims = min(unsigned(self.queue["tail_"]) >> self.CLAIM_BITS, self.slots)
        tail = unsigned(self.queue["tail_number_"]) * self.slots + claims
        return max(0, tail - self._head() - unsigned(self.queue["broken_"]))

    def to_string(self):
        text = super().to_string()
        if "bounded" in self.name:
            capacity = number(self.value["core_"]["capacity_"])
            text += f", capacity {capacity}" if capacity < 1 << 59 else ", capacity unlimited"
        return text

    def elements(self):
        segment, seen = self.segment, set()
        first = None
        while int(segment) and int(segment) not in seen and len(seen) < MAX_NODES:
            seen.add(int(segment))
            if first is None:
                first = max(0, self._head() - int(segment["number"]) * self.slots)
            data = int(segment["bytes"].address)
            for i in range(min(first, self.slots), self.slots):
                if unsigned(segment["states"][i]) == self.FULL:
                    yield object_at(data + i * self.type.sizeof, self.type)
            first = 0
            segment = segment["next"]


class PriorityQueue(Container):
    """concurrent_priority_queue, in the order of its heap: the first is the next, as a rule."""

    def __init__(self, value, name):
        super().__init__(value, name)
        self.heap = value["heap_"]
        self.type = argument(value, 0)

    def size(self):
        return int(self.heap["size_"])

    def elements(self):
        memory_of_heap = int(scalar(self.heap["memory_"]))
        # Elements whose move constructor may throw are in blocks of their own (heap_entry.hpp).
        entry = member_type(self.heap, "layout::entry", self.type)
        for i in range(min(self.size(), MAX_NODES)):
            element = object_at(memory_of_heap + i * entry.sizeof, entry)
            yield element.dereference() if str(entry) != str(self.type) else element


class ThreadSpecific(Container):
    """enumerable_thread_specific and combinable: one element for each thread that has asked."""

    def __init__(self, value, name):
        super().__init__(value, name)
        self.type = argument(value, 0)
        self.table = value["elements_"]
        if name == "combinable":
            self.table = self.table["elements_"]

    def size(self):
        return unsigned(self.table["size_"])

    def to_string(self):
        return f"{self.name} of {plural(self.size(), 'thread')}"

    def elements(self):
        table = scalar(self.table["newest_"])
        if not int(table):
            return
        capacity = 1 << min(int(table["log"]), 32)
        entries = int(table) + table.type.strip_typedefs().target().sizeof
        at = entries + 2 * capacity * 16
        for i in range(min(self.size(), capacity)):
            yield object_at(memory.read_pointer(at + 8 * i), self.type)


PRINTERS = {
    "concurrent_vector": Vector,
    "concurrent_hash_map": HashMap,
    "concurrent_unordered_map": Unordered,
    "concurrent_unordered_multimap": Unordered,
    "concurrent_unordered_set": Unordered,
    "concurrent_unordered_multiset": Unordered,
    "concurrent_map": Ordered,
    "concurrent_multimap": Ordered,
    "concurrent_set": Ordered,
    "concurrent_multiset": Ordered,
    "concurrent_queue": Queue,
    "concurrent_bounded_queue": Queue,
    "concurrent_priority_queue": PriorityQueue,
    "enumerable_thread_specific": ThreadSpecific,
    "combinable": ThreadSpecific,
}
