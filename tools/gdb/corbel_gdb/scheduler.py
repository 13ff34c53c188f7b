# SPDX-License-Identifier: Apache-2.0
"""The scheduler's structures as they lie in memory: arenas, slots, deques, parked threads."""

from . import layout as layouts
from . import memory

LIMIT = 1 << 16  # of arenas, of slots, of threads: a corrupt list ends here


class Deque:
    """The tasks that a thread has pushed and not taken back."""

    def __init__(self, scheduler, address):
        layout = scheduler.layout
        self._scheduler = scheduler
        self.top = memory.read_number(address + layout["Deque.top"], 8)
        self.bottom = memory.read_number(address + layout["Deque.bottom"], 8)
        self.ring = memory.read_pointer(address + layout["Deque.ring"])

    @property
    def length(self):
        length = (self.bottom - self.top) & memory.ADDRESS_BITS
        return 0 if length >> 63 else length

    def oldest(self):
        """The function of the task that a thief would take; None if there is none."""
        if not self.length or not self.ring:
            return None
        layout = self._scheduler.layout
        mask = memory.read_number(self.ring + layout["Ring.mask"], 8)
        entry = self.ring + layout["Ring.entries"] + 8 * (self.top & mask)
        task = memory.read_pointer(entry)
        if not task:
            return None
        return memory.symbol_at(memory.read_pointer(task + layout["Task.run"]))


class Scheduler:
    """The scheduler of the process, read when a command begins."""

    def __init__(self):
        self.layout = layouts.of_scheduler()
        self.thread_names = memory.thread_names()
        self.pool = self.layout["thread_pool"]

    def number(self, base, name, size=4):
        return memory.read_number(base + self.layout[name], size)

    def arenas(self):
        seen = set()
        at = self.number(self.pool, "ThreadPool.arenas", 8)
        while at and at not in seen and len(seen) < LIMIT:
            seen.add(at)
            yield at
            at = self.number(at, "Arena.next", 8)

    def slots(self, arena):
        first = self.number(arena, "Arena.slots", 8)
        count = min(self.number(arena, "Arena.slot_count"), LIMIT)
        for i in range(count):
            yield i, first + i * self.layout["Slot"]

    def isolation_deques(self, slot):
        seen = set()
        at = self.number(slot, "Slot.isolation_deques", 8)
        while at and at not in seen and len(seen) < LIMIT:
            seen.add(at)
            yield Deque(self, at + self.layout["IsolationDeque.tasks"])
            at = self.number(at, "IsolationDeque.next", 8)

    def parked(self):
        """Addresses of the threads that sleep -> what they wait for; 0: for any work."""
        found = {}
        at = memory.read_pointer(self.layout["parked_threads"] +
                                 self.layout["ParkedThreads.first"])
        while at and at not in found and len(found) < LIMIT:
            found[at] = self.number(at, "Thread.parked_key", 8)
            at = self.number(at, "Thread.next_parked", 8)
        return found

    def thread_name(self, thread):
        number = self.number(thread, "Thread.system_id")
        kind = "worker" if self.number(thread, "Thread.is_worker", 1) else "program"
        known = self.thread_names.get(number)
        return f"LWP {number}" + (f" ({known})" if known else "") + f", {kind}"
