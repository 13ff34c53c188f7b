# SPDX-License-Identifier: Apache-2.0
"""Tests of what Corbel adds to GDB: the printers, and the commands on a process and a core file.

Usage: test_gdb.py FOLDER_OF_TOOLS FOLDER_OF_PROGRAMS. One run of GDB for each group: what it prints
is kept between marks.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = PROGRAMS = LIBRARIES = None
GDB = shutil.which("gdb")


def environment():
    found = {name: value for name, value in os.environ.items()
             if not name.startswith("CORBEL_") and name != "LD_PRELOAD"}
    found["DEBUGINFOD_URLS"] = ""
    return found


def run_gdb(*commands, program=None, core=None, load=True):
    """Runs GDB with the commands and returns what it printed; errors do not end it."""
    words = [GDB, "-nx", "-q", "-batch"]
    if load:
        words += ["-ex", f"source {TOOLS / 'corbel.py'}"]
    words += ["-ex", "set pagination off", "-ex", "set width 0", "-ex", "set print elements 10"]
    for command in commands:
        words += ["-ex", command]
    words += [str(path) for path in (program, core) if path is not None]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=100, env=environment(), check=False)
    return done.stdout


def marked(commands):
    """The commands, and a mark before each."""
    for i, command in enumerate(commands):
        yield f"echo \\n<{i}>\\n"
        yield command


def answers(output, commands):
    """Command -> what it printed."""
    parts = re.split(r"^<(\d+)>$", output, flags=re.MULTILINE)
    return {commands[int(parts[i])]: parts[i + 1].strip() for i in range(1, len(parts), 2)}


def ask(program, commands, core=None, before=()):
    if core is not None:
        output = run_gdb(*marked(commands), program=program, core=core)
    else:
        output = run_gdb("break stop_here", "run", *before, *marked(commands), program=program)
    found = answers(output, commands)
    if not all(command in found for command in commands):
        raise AssertionError(f"no answers from GDB:\n{output}")
    return found


class Values(unittest.TestCase):
    """Every printer."""

    EXPECTED = {
        "empty_vector": "concurrent_vector with 0 elements, capacity 0",
        "vector": "concurrent_vector with 3 elements, capacity 16 = {1, 2, 3}",
        "reference": "concurrent_vector with 3 elements, capacity 16 = {1, 2, 3}",
        "long_vector": 'concurrent_vector with 1000 elements, capacity 1024 = {"text 0", "text 1",',
        "hash_map": "concurrent_hash_map with 300 elements = {[",
        "unordered_map": 'concurrent_unordered_map with 2 elements = {["',
        "unordered_set": "concurrent_unordered_set with 3000 elements = {",
        "unordered_multimap":
            "concurrent_unordered_multimap with 2 elements = {[7] = 1, [7] = 2}",
        "unordered_multiset": "concurrent_unordered_multiset with 2 elements = {8, 8}",
        "map": 'concurrent_map with 2 elements = {[1] = "one", [2] = "two"}',
        "multimap": "concurrent_multimap with 2 elements = {[3] = 1, [3] = 2}",
        "set": "concurrent_set with 1000 elements = {0, 1, 2, 3, 4,",
        "multiset": 'concurrent_multiset with 3 elements = {"a", "a", "b"}',
        "queue": "concurrent_queue with 2000 elements = {1000, 1001, 1002,",
        "broken_queue": "concurrent_queue with 2 elements = {{number = 1}, {number = 3}}",
        "bounded_queue": "concurrent_bounded_queue with 1 element, capacity 10 = {5}",
        "priority_queue": "concurrent_priority_queue with 3 elements = {9, 3, 4}",
        "throwing_queue": "concurrent_priority_queue with 1 element = {{number = 6}}",
        "thread_specific": "enumerable_thread_specific of 2 threads = {11, 12}",
        "combinable": "combinable of 1 thread = {13}",
        "range": "[3, 17)",
        "coarse_range": "[0, 100) in grains of 10",
        "range2d": "blocked_range2d = {rows = [0, 4), cols = [0, 5)}",
        "range3d": "blocked_range3d = {pages = [0, 4), rows = [0, 5), cols = [0, 6)}",
        "nd_range":
            "blocked_nd_range = {dim 0 = [0, 1), dim 1 = [0, 2), dim 2 = [0, 3), dim 3 = [0, 4)}",
        "mutex": "mutex, held",
        "spin_mutex": "spin_mutex, free",
        "speculative_mutex": "speculative_spin_mutex, free",
        "rw_mutex": "rw_mutex, held by 1 reader",
        "spin_rw_mutex": "spin_rw_mutex, held by a writer",
        "queuing_mutex": "queuing_mutex, held; the last in the queue is 0x",
        "queuing_rw_mutex": "queuing_rw_mutex, held by 1 reader",
        "null_mutex": "null_mutex, locks nothing",
        "scoped_lock": "scoped_lock of the mutex 0x",
        "queuing_lock": "scoped_lock of the mutex 0x",
        "queuing_rw_lock": "as a reader",
        "context": "task_group_context, cancelled",
        "task_group": "task_group, 1 task not ended",
        "task_handle": "task_handle of corbel::detail::function_task<main",
        "no_handle": "task_handle, empty",
        "arena": "task_arena, at most 3 threads, not initialized",
        "once_flag": "collaborative_once_flag, not called",
        "graph": "graph of 5 nodes, idle",
        "function_node": ", at most 2 at a time, 0 busy, 0 waiting",
        "queue_node": ", 2 messages = {21, 22}",
        "overwrite_node": "= {message = 23}",
        "limiter_node": ", 0 of 4",
        "broadcast_node": "broadcast_node, in the graph 0x",
    }

    def test_every_type(self):
        commands = [f"print {name}" for name in self.EXPECTED]
        found = ask(PROGRAMS / "gdb_values", commands, before=["up"])
        for name, text in self.EXPECTED.items():
            with self.subTest(name):
                self.assertIn(text, found[f"print {name}"])

    def test_all_elements_are_there(self):
        names = ("hash_map", "clashing_map", "full_bucket", "unordered_set", "queue", "int_vector",
                 "wide_vector", "char_vector")
        commands = [f"print {name}" for name in names]
        found = ask(PROGRAMS / "gdb_values", commands, before=["up", "set print elements 0"])
        pairs = dict(re.findall(r'\[(\d+)\] = "number (\d+)"', found["print hash_map"]))
        self.assertEqual({str(i): str(i) for i in range(300)}, pairs)
        for name, size in (("clashing_map", 30), ("full_bucket", 7)):
            pairs = re.findall(r"\[(\d+)\] = (\d+)", found[f"print {name}"])
            self.assertEqual({(str(i), str(i)) for i in range(size)}, set(pairs))
        for command, expected in (("print unordered_set", range(3000)),
                                  ("print queue", range(1000, 3000)),
                                  ("print int_vector", range(100))):
            numbers = re.findall(r"\d+", found[command].split("{")[1])
            self.assertEqual(list(expected), sorted(map(int, numbers)))
        wide = re.findall(r"number = (\d+)", found["print wide_vector"])
        self.assertEqual(list(range(100)), list(map(int, wide)))
        self.assertIn("99 'c'}", found["print char_vector"])

    def test_corrupt_containers_end(self):
        first_link = "*(long*)unordered_set.list_.segments_[0]"
        tower = "((long*)(&set.list_.size_))[-1]"
        commands = ["print unordered_set", "print set", "print queue"]
        found = ask(PROGRAMS / "gdb_values", commands, before=[
            "up", "set print elements 100000",
            f"set var *(long*)({first_link}) = {first_link}",  # the first element leads to itself
            f"set var *(long*)({tower} - 8) = {tower}",
            "set var queue.elements_.last_->next = queue.elements_.last_",
        ])
        for command in commands:
            self.assertLess(len(found[command]), 1 << 20)
            self.assertIn("element", found[command])
        self.assertIn("leads back", found["print unordered_set"])
        self.assertIn("lead back", found["print set"])


class Commands(unittest.TestCase):
    """The commands on a process, and the same on its core file."""

    BLOCKS = {
        "used": "the beginning of a block\n  state  used",
        "(char*)used + 10": "10 bytes into the block at",
        "freed": "state  free: on the list of its slab",
        "listed": "state  free: on the list of the next mallocs of LWP",
        "untouched": "state  free: never allocated",
        "large": "the beginning of a large block\n  state  used\n  size   1003520 bytes",
        "(char*)large + 100000": "100000 bytes into the large block at",
        "(char*)large + 1003520": "after the end of the large block",
        "sent": "state  free: in the inbox of LWP",
        "sent_small": "state  free: in the inbox of LWP",
        "borrowed": "state  free: borrowed by LWP",
        "purged": "state  free: its page was given back to the system",
        "not_sent": "state  free: in the outbox of LWP",
        "&on_no_heap": "not Corbel's memory",
        "on_no_heap": "not Corbel's memory",  # an object: its address
        "0xffffffffffffffff": "not Corbel's memory",
    }

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="corbel-gdb-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.core = cls.folder / "core"
        cls.program = PROGRAMS / "gdb_blocks"
        cls.commands = [f"corbel block {what}" for what in cls.BLOCKS]
        cls.commands += ["corbel heaps", "corbel stats", "corbel stats /c", "corbel tasks"]
        cls.live = ask(cls.program, cls.commands + [f"gcore {cls.core}"])
        cls.dead = ask(cls.program, cls.commands, core=cls.core)

    def check(self, found):
        for what, text in self.BLOCKS.items():
            with self.subTest(what):
                self.assertIn(text, found[f"corbel block {what}"])
        self.assertRegex(found["corbel block used"], r"size   704 bytes \(size class \d+\), from 0x")
        self.assertRegex(found["corbel block used"], r"owner  LWP \d+ \(thread 1\)")
        heaps = found["corbel heaps"]
        self.assertRegex(heaps, r"LWP \d+ \(thread 1\)  .* \d+/1\d\d\d ")
        rows = [line.split() for line in heaps.splitlines() if line.startswith("LWP")]
        self.assertEqual(2, len(rows), heaps)
        self.assertRegex(found["corbel stats"], r"large +980.0 KiB")
        self.assertRegex(found["corbel stats"], r"(?m)^ +704 +704 B +1 ")
        self.assertNotIn("704", found["corbel stats /c"])
        tasks = found["corbel tasks"]
        self.assertRegex(tasks, r"slot 0 +LWP \d+ \(thread 1\), program +[\w ]*[1-5] tasks  oldest: "
                                r"corbel::detail::function_task<main::")

    def test_live(self):
        self.check(self.live)

    def test_core(self):
        self.check(self.dead)

    def test_guarded(self):
        commands = ["corbel block used", "corbel stats"]
        output = run_gdb("set environment CORBEL_CHECK guards,every=1,slots=1000",
                         "break stop_here", "run", *marked(commands), program=self.program)
        found = answers(output, commands)
        self.assertRegex(found["corbel block used"], r"^0x[0-9a-f]+: in the pool of guarded blocks")
        self.assertRegex(found["corbel stats"], r"large +980.0 KiB")

    def test_corrupt_lists_end(self):
        loop = ["set var *(void**)freed = freed"]
        found = ask(self.program, ["corbel block used", "corbel block freed", "corbel heaps",
                                   "corbel stats"], before=loop)
        self.assertIn("state  used\n         but the list of free blocks leads back to 0x",
                      found["corbel block used"])
        self.assertIn("state  free: on the list of its slab", found["corbel block freed"])
        self.assertIn("LIVE", found["corbel heaps"])
        wild = ["set var *(long*)freed = 0x12345678"]
        found = ask(self.program, ["corbel block used"], before=wild)
        self.assertIn("leads to 0x12345678, which is no block of it", found["corbel block used"])
        # In the inbox, and in a bin's list.
        links = ["set var *(long*)sent = (long)sent", "set var *(void**)listed = listed"]
        found = ask(self.program, ["corbel heaps", "corbel block listed"], before=links)
        self.assertIn("LIVE", found["corbel heaps"])
        self.assertIn("on the list of the next mallocs", found["corbel block listed"])


class Errors(unittest.TestCase):
    def test_messages(self):
        output = run_gdb("corbel block 1", "corbel nonsense", "corbel heaps now")
        self.assertIn("No program is running, and no core file is open.", output)
        self.assertIn('Undefined corbel command: "nonsense"', output)
        self.assertIn("corbel heaps takes no argument", output)

    def test_program_without_corbel(self):
        output = run_gdb("starti", "corbel heaps", "corbel tasks", "corbel block",
                         "corbel stats", program=shutil.which("true"))
        self.assertIn("it does not use Corbel's allocator", output)
        self.assertIn("it does not use Corbel's scheduler", output)
        self.assertIn("corbel block needs an address", output)

    def test_loaded_with_the_library(self):
        """Beside the library, as in the build tree, if GDB trusts the folder."""
        output = run_gdb(f"add-auto-load-safe-path {LIBRARIES}", "break stop_here", "run",
                         "corbel heaps", program=PROGRAMS / "gdb_blocks", load=False)
        self.assertIn("(thread 1)", output)


def can_debug():
    """Why the tests cannot run; nothing if they can."""
    if GDB is None:
        return "there is no gdb"
    if "Python" not in run_gdb("python print('Py' + 'thon')", load=False):
        return "this gdb has no Python"
    output = run_gdb("starti", program=shutil.which("true"), load=False)
    if "Program stopped" not in output:
        return "gdb may not start a program here: " + output.strip().splitlines()[-1]
    return None


if __name__ == "__main__":
    TOOLS, PROGRAMS = map(Path, sys.argv[1:3])
    LIBRARIES = Path(os.environ["CORBEL_LIB_DIR"])
    REASON = can_debug()
    if REASON:
        print("skipped:", REASON)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
