# SPDX-License-Identifier: Apache-2.0
"""The commands that begin with `corbel`."""

import gdb

from . import allocator, blocks, memory, scheduler


class Prefix(gdb.Command):
    """Look into Corbel's allocator and scheduler. The program's code is never called, so the
commands work on a core file, too."""

    def __init__(self):
        super().__init__("corbel", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument, _):
        if argument:
            raise gdb.GdbError(f'Undefined corbel command: "{argument}". Try "help corbel".')
        gdb.execute("help corbel")


class Command(gdb.Command):
    """One of the commands; NAME is its second word."""

    NAME = ""

    def __init__(self):
        super().__init__("corbel " + self.NAME, gdb.COMMAND_DATA)

    def invoke(self, argument, _):
        try:
            self.run(argument.strip())
        except gdb.MemoryError as error:
            raise gdb.GdbError(f"corbel {self.NAME}: {error}; the core file may lack that memory, "
                               "or a structure is corrupt.") from None

    def run(self, argument):
        raise NotImplementedError


def no_argument(command, argument):
    if argument:
        raise gdb.GdbError(f"corbel {command.NAME} takes no argument.")


class Block(Command):
    """corbel block ADDRESS
Say which block of the allocator the address lies in: where the block begins, its size, whether the
program uses it or where it is free, and whose heap it belongs to. ADDRESS is any expression."""

    NAME = "block"

    def __init__(self):
        super().__init__()

    def run(self, argument):
        if not argument:
            raise gdb.GdbError("corbel block needs an address: corbel block ADDRESS")
        value = gdb.parse_and_eval(argument)
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_STRUCT):
            value = value.address
        address = int(value.cast(gdb.lookup_type("unsigned long"))) & memory.ADDRESS_BITS
        print("\n".join(blocks.describe(allocator.Process(), address)))


class Heaps(Command):
    """corbel heaps
List the heaps of all threads: the bytes that the program uses in them (live), the free bytes that
they keep, their slabs, and the blocks that other threads have freed and sent (inbox: batches/blocks),
that wait to be sent (outbox), or that were kept from other heaps (borrowed)."""

    NAME = "heaps"

    def run(self, argument):
        no_argument(self, argument)
        process = allocator.Process()
        census = blocks.Census(process)
        rows = [("THREAD", "LIVE", "BLOCKS", "FREE", "SLABS", "INBOX", "OUTBOX", "BORROWED",
                 "HEAP")]
        known = set()
        spare = 0
        for heap in process.heaps():
            known.add(heap.address)
            totals = census.heaps.get(heap.address)
            if totals is None:
                if heap.is_empty_spare or heap.is_orphans:
                    spare += not heap.is_orphans
                    continue
                totals = blocks.Totals()
            batches, inbox = census.held.inbox.get(heap.address, (0, 0))
            rows.append((heap.name(), memory.bytes_text(totals.live), str(totals.blocks),
                         memory.bytes_text(totals.free), str(totals.slabs), f"{batches}/{inbox}",
                         str(census.held.outbox.get(heap.address, 0)),
                         str(census.held.borrowed.get(heap.address, 0)), f"{heap.address:#x}"))
        for address, totals in census.heaps.items():
            if address not in known:
                name = "blocks that are watched" if address == 0 else "in no list"
                rows.append((name, memory.bytes_text(totals.live), str(totals.blocks),
                             memory.bytes_text(totals.free), str(totals.slabs), "", "", "",
                             f"{address:#x}"))
        print_table(rows, right=range(1, 8))
        if spare:
            print(f"{spare} more without a thread or memory")
        for text in census.held.corrupt:
            print(f"corrupt: {text}")


class Stats(Command):
    """corbel stats
Add up the allocator's memory: what the program uses, what is free, and by size class.
/c after it leaves the size classes out."""

    NAME = "stats"

    def run(self, argument):
        if argument not in ("", "/c"):
            raise gdb.GdbError("corbel stats takes nothing but /c, which leaves out the classes.")
        process = allocator.Process()
        census = blocks.Census(process)
        totals = census.all
        footprint = process.layout["footprint"]
        committed = memory.read_number(footprint + process.layout["Footprint.bytes"], 8)
        ceiling = memory.read_number(footprint + process.layout["Footprint.ceiling"], 8)
        rows = [
            ("live", memory.bytes_text(totals.live + census.large_bytes),
             f"{totals.blocks} blocks in slabs, {census.large} large blocks"),
            ("  in slabs", memory.bytes_text(totals.live), f"{totals.slabs} slabs of together "
             f"{memory.bytes_text(totals.slab_bytes)}"),
            ("  large", memory.bytes_text(census.large_bytes), ""),
            ("free in slabs", memory.bytes_text(totals.free),
             f"{len(census.held.where)} blocks in threads' caches and on the way"),
            ("free spans", memory.bytes_text(census.free_bytes),
             f"{census.free_spans} spans; what was purged is counted, too"),
            ("footprint", memory.bytes_text(committed),
             f"limit {memory.bytes_text(ceiling)}" if ceiling < 1 << 60 else "no limit"),
        ]
        print_table(rows, right=[1])
        if argument == "":
            rows = [("SIZE", "LIVE", "BLOCKS", "FREE", "SLABS")]
            for c, t in sorted(census.classes.items()):
                rows.append((str(process.block_size[c]), memory.bytes_text(t.live), str(t.blocks),
                             memory.bytes_text(t.free), str(t.slabs)))
            print()
            print_table(rows, right=range(5))


class Tasks(Command):
    """corbel tasks
List the arenas of the scheduler, the threads in their slots and the tasks that wait: in the deque
of each slot (with the function of the oldest), in its mailbox, in isolation scopes, and in the queue
of each arena; then the threads that sleep."""

    NAME = "tasks"

    def run(self, argument):
        no_argument(self, argument)
        s = scheduler.Scheduler()
        parked = s.parked()
        print(f"{s.number(s.pool, 'ThreadPool.threads')} workers, "
              f"{s.number(s.pool, 'ThreadPool.active')} of them in arenas "
              f"(at most {s.number(s.pool, 'ThreadPool.max_active')}); "
              f"{s.number(s.pool, 'ThreadPool.requests')} requests for more")
        in_arenas = set()
        for arena in s.arenas():
            priority = memory.read_number(arena + s.layout["Arena.priority"], 4)
            print(f"arena {arena:#x}: {s.number(arena, 'Arena.width')} threads at most, "
                  f"{s.number(arena, 'Arena.workers')} workers, "
                  f"{s.number(arena, 'Arena.queued')} tasks in its queue" +
                  (f", priority {priority - (priority >> 31 << 32)}" if priority else ""))
            rows = []
            for index, slot in s.slots(arena):
                occupant = s.number(slot, "Slot.occupant", 8)
                deque = scheduler.Deque(s, slot + s.layout["Slot.tasks"])
                mailed = s.number(slot, "Slot.mailed")
                isolated = sum(d.length for d in s.isolation_deques(slot))
                if not occupant and not deque.length and not mailed and not isolated:
                    continue
                in_arenas.add(occupant)
                state = ""
                if occupant in parked:
                    state = "sleeps"
                elif occupant and s.number(occupant, "Thread.waits"):
                    state = "in a wait"
                oldest = deque.oldest()
                rows.append((f"  slot {index}", s.thread_name(occupant) if occupant else "empty",
                             state, f"{deque.length} tasks" +
                             (f", {mailed} mailed" if mailed else "") +
                             (f", {isolated} isolated" if isolated else ""),
                             f"oldest: {oldest}" if oldest else ""))
            print_table(rows)
        idle = [t for t in parked if t not in in_arenas]
        for thread in idle:
            print(f"asleep: {s.thread_name(thread)}" +
                  (f", waits for {parked[thread]:#x}" if parked[thread] else ""))


def print_table(rows, right=()):
    if not rows:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(widths[i]) if i in right else cell.ljust(widths[i])
                 for i, cell in enumerate(row)]
        print("  ".join(cells).rstrip())


def register():
    Prefix()
    for command in (Block, Heaps, Stats, Tasks):
        command()
