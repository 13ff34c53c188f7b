# SPDX-License-Identifier: Apache-2.0
"""corbel profile time: what the time in a stack is spent on, from made profiles; the advice; the page.
Programs are in test_profile_time_run.py."""
import json
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from profiles import TIME_TYPES, Decoded, encode
from support import CliTest, corbel

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SYSTEM = {"libc.so.6": "/lib/libc.so.6", "libstdc++.so.6": "/lib/libstdc++.so.6",
          "ld-linux-x86-64.so.2": "/lib/ld-linux-x86-64.so.2",
          "libcorbelmalloc_proxy.so.1": "/opt/libcorbelmalloc_proxy.so.1", "app": "/bin/app"}
MS = 1000000


class TimeTest(CliTest):
    def made(self, *samples, name="raw.pb.gz", malloc="corbel", fault_cost=1000, period=MS, time=0,
             duration=1000 * MS, timer="perf", comments=()):
        """A profile with samples (stack, values by type, labels). A frame of a stack is "function",
        of the program's file f.cpp at the line 7, or "function@library", or a tuple of such: what was
        inlined, innermost first."""
        modules = list(SYSTEM)
        addresses, locations, functions = {}, {}, []

        def function(frame):
            name, _, module = frame.partition("@")
            entry = (name, "" if module else "/src/f.cpp")
            if entry not in functions:
                functions.append(entry)
            return functions.index(entry) + 1, 0 if module else 7

        def address(place):
            frames = place if isinstance(place, tuple) else (place,)
            module = frames[-1].partition("@")[2] or "app"
            at = addresses.setdefault(place, 4096 * (modules.index(module) + 1) + len(addresses))
            locations[at] = [function(frame) for frame in frames]
            return at

        encoded = []
        for stack, values, labels in samples:
            encoded.append(([address(frame) for frame in stack],
                            [values.get(kind, 0) for kind, _ in TIME_TYPES],
                            {"thread": "app (1)", **labels}))
        path = self.folder / name
        path.write_bytes(encode(
            encoded, [(4096 * (i + 1), 4096 * (i + 2), 0, SYSTEM[each], "") for i, each in enumerate(modules)],
            types=TIME_TYPES, default="cpu", locations=locations, functions=functions, period=period,
            time=time, duration=duration,
            comments=[f"corbel.malloc={malloc}", f"corbel.fault_cost={fault_cost}", f"corbel.timer={timer}",
                      *comments]))
        return path

    def evaluated(self, *paths):
        """What the page shows."""
        file = self.folder / "evaluated.json"
        done = corbel("profile", "show", *paths, "--json", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(file.read_text())

    def spots(self, *samples, **options):
        return self.evaluated(self.made(*samples, **options))["spots"]


def cpu(*stack, ms=100, **labels):
    return list(stack), {"cpu": ms * MS}, labels


class Kinds(TimeTest):
    STACKS = {
        ("_int_malloc@libc.so.6", "malloc@libc.so.6", "operator new(unsigned long)@libstdc++.so.6", "f()"):
            "allocation",
        ("libc.so.6+0x92f10@libc.so.6", "malloc@libc.so.6", "f()"): "allocation",
        ("__GI___libc_malloc@libc.so.6", "strdup@libc.so.6", "f()"): "allocation",
        ("corbel::alloc::refill()@libcorbelmalloc_proxy.so.1", "malloc@libcorbelmalloc_proxy.so.1", "f()"):
            "allocation",
        ("corbel::alloc::Span::layout() const@libcorbelmalloc_proxy.so.1",
         "corbel::alloc::deallocate_slow(void*, corbel::alloc::Span*)@libcorbelmalloc_proxy.so.1", "f()"): "free",
        ("corbel::alloc::slab_emptied(corbel::alloc::Heap*)@libcorbelmalloc_proxy.so.1", "f()"): "free",
        ("corbel::alloc::reallocate_slow(void*)@libcorbelmalloc_proxy.so.1", "f()"): "realloc",
        ("corbel::alloc::take_freed(corbel::alloc::Bin*)@libcorbelmalloc_proxy.so.1",
         "corbel::alloc::allocate_slow(unsigned long)@libcorbelmalloc_proxy.so.1", "f()"): "allocation",
        # A program may have its own.
        ("Pool::get(unsigned long)", "operator new(unsigned long)", "f()"): "allocation",
        ("je_arena_malloc_hard", "je_calloc", "f()"): "allocation",
        ("mi_malloc", "f()"): "allocation",
        ("_int_free@libc.so.6", "__GI___libc_free@libc.so.6", "f()"): "free",
        ("free@libc.so.6", "operator delete(void*, unsigned long)@libstdc++.so.6", "f()"): "free",
        ("tc_free", "f()"): "free",
        ("scalable_free", "f()"): "free",
        ("_int_realloc@libc.so.6", "realloc@libc.so.6", "f()"): "realloc",
        ("malloc@libc.so.6", "realloc@libc.so.6", "getdelim@libc.so.6", "f()"): "realloc",
        ("__memmove_avx_unaligned_erms@libc.so.6", "realloc@libc.so.6", "f()"): "realloc copy",
        ("mremap@libc.so.6", "realloc@libc.so.6", "f()"): "realloc copy",
        ("__memmove_avx_unaligned_erms@libc.so.6",
         "void std::vector<int>::_M_realloc_insert<int>(int&&)", "std::vector<int>::push_back(int)", "f()"):
            "growth",
        ("malloc@libc.so.6", "operator new(unsigned long)@libstdc++.so.6",
         ("std::__new_allocator<int>::allocate(unsigned long)",
          "void std::vector<int>::_M_realloc_append<int>(int&&)"), "f()"): "growth",
        # The growth of a container has met fragments.
        ("malloc_consolidate@libc.so.6", "malloc@libc.so.6",
         "void std::vector<int>::_M_realloc_append<int>(int&&)", "f()"): "allocation",
        ("free@libc.so.6", "std::_Hashtable<int>::_M_rehash(unsigned long)", "f()"): "growth",
        ("__lll_lock_wait_private@libc.so.6", "_int_free@libc.so.6", "free@libc.so.6", "f()"):
            "allocator lock",
        # What is not memory management.
        ("f()",): "program",
        ("__memmove_avx_unaligned_erms@libc.so.6", "f()"): "program",
        ("Pool::free(void*)", "f()"): "program",
        ("std::vector<int>::_M_insert_aux(int)", "f()"): "program",
        # It has made room in place.
        ("__memmove_avx_unaligned_erms@libc.so.6", "std::vector<int>::_M_fill_insert(int)", "f()"): "program",
        ("std::deque<int>::_M_fill_insert(int)", "f()"): "program",
        ("compare(void const*, void const*)", "qsort@libc.so.6", "f()"): "program",
        ("do_lookup_x@ld-linux-x86-64.so.2", "_dl_relocate_object@ld-linux-x86-64.so.2"): "start",
    }
    WAITS = {
        ("__lll_lock_wait_private@libc.so.6", "malloc@libc.so.6", "f()"): "allocator lock",
        ("libc.so.6+0x92f10@libc.so.6", "calloc@libc.so.6", "f()"): "allocator lock",
        ("__lll_lock_wait@libc.so.6", "pthread_mutex_lock@libc.so.6", "malloc", "f()"): "allocator lock",
        ("__lll_lock_wait@libc.so.6", "pthread_mutex_lock@libc.so.6", "f()"): "lock",
        ("libc.so.6+0x92f10@libc.so.6", "pthread_rwlock_wrlock@libc.so.6", "std::shared_mutex::lock()", "f()"):
            "lock",
        ("syscall@libc.so.6", "tbb::detail::d1::rw_mutex::lock()", "f()"): "lock",
        ("__futex_abstimed_wait_common@libc.so.6", "pthread_cond_wait@libc.so.6", "f()"): "wait",
        ("__futex_abstimed_wait_common@libc.so.6", "pthread_join@libc.so.6", "std::thread::join()@libstdc++.so.6",
         "f()"): "wait",
        ("syscall@libc.so.6", "f()", "with_mutex_locked()"): "wait",
    }

    def test_of_time(self):
        raw = self.made(*[(list(stack), {"cpu": MS}, {}) for stack in self.STACKS],
                        *[(list(stack), {"wait": MS}, {}) for stack in self.WAITS])
        named = self.folder / "named.pb.gz"
        done = corbel("profile", "show", "-o", named, raw)
        self.assertEqual(done.returncode, 0, done.stderr)
        frames = lambda stack: tuple(
            each.partition("@")[0] + ("" if "@" in each else " f.cpp:7")
            for place in stack for each in (place if isinstance(place, tuple) else (place,)))
        found = {(tuple(frames), bool(values[1])): labels["kind"]
                 for frames, values, labels in Decoded(named).samples}
        self.assertEqual(found, {(frames(stack), waits): kind
                                 for waits, stacks in ((False, self.STACKS), (True, self.WAITS))
                                 for stack, kind in stacks.items()})

    def test_the_place_is_the_programs_line(self):
        for stack in self.STACKS:
            if "f()" in stack and self.STACKS[stack] not in ("program", "start"):
                self.assertEqual([spot["text"] for spot in self.spots(cpu(*stack))], ["f() f.cpp:7"])

    def test_what_names_do_not_say(self):
        """An allocator's function without a name does what others at the place do."""
        unnamed = "libcorbelmalloc_proxy.so.1+0x3020@libcorbelmalloc_proxy.so.1"
        named = "free@libcorbelmalloc_proxy.so.1"
        self.assertEqual([(spot["kind"], spot["cost"]) for spot in self.spots(
            cpu(unnamed, "f()", ms=1), cpu(named, "f()", ms=2), cpu(unnamed, "g()", ms=1))],
            [("free", 3 * MS), ("allocation", MS)])

    def test_a_sample_with_values_of_several_kinds_is_split(self):
        raw = self.made((["malloc@libc.so.6", "f()"],
                         {"cpu": 5 * MS, "faults": 7, "allocations": 3, "received": 2}, {}))
        named = self.folder / "named.pb.gz"
        corbel("profile", "show", "-o", named, raw)
        found = {labels["kind"]: values for _, values, labels in Decoded(named).samples}
        self.assertEqual(found, {"allocation": [5 * MS, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0],
                                 "page fault": [0, 0, 7] + 8 * [0],
                                 "free": 8 * [0] + [2, 0, 0]})

    def test_page_faults_are_not_counted_twice(self):
        data = self.evaluated(self.made(
            (["memset@libc.so.6", "f()"], {"cpu": 10 * MS, "faults": 4000}, {}),
            (["sysmalloc@libc.so.6", "malloc@libc.so.6", "f()"], {"cpu": 10 * MS, "faults": 3000}, {}),
            # More than the time allows is not taken from others.
            (["free@libc.so.6", "f()"], {"cpu": 1 * MS, "faults": 5000}, {})))
        self.assertEqual(data["all"]["kinds"], {"page fault": 12 * MS, "program": 6 * MS, "allocation": 7 * MS})
        self.assertEqual([(spot["kind"], spot["cost"]) for spot in data["spots"]],
                         [("page fault", 12 * MS), ("allocation", 7 * MS)])

    def test_faults_of_the_loader_are_not_the_programs(self):
        data = self.evaluated(self.made(
            (["do_lookup_x@ld-linux-x86-64.so.2"], {"cpu": 100 * MS, "faults": 10}, {})))
        self.assertEqual((data["spots"], data["all"]["memory"]), ([], 0))

    def test_shares_by_thread(self):
        data = self.evaluated(self.made(
            cpu("malloc@libc.so.6", "f()", ms=30, thread="a (1)"), cpu("g()", ms=70, thread="a (1)"),
            cpu("free@libc.so.6", "f()", ms=1, thread="b (2)"), cpu("g()", ms=4, thread="b (2)"),
            (["__lll_lock_wait@libc.so.6", "malloc@libc.so.6", "f()"], {"wait": 5 * MS}, {"thread": "b (2)"}),
            (["pthread_cond_wait@libc.so.6", "f()"], {"wait": 999 * MS}, {"thread": "idle (3)"})))
        self.assertEqual([(t["name"], t["memory"], t["total"]) for t in data["threads"]],
                         [("a (1)", 30 * MS, 100 * MS), ("b (2)", 6 * MS, 10 * MS), ("idle (3)", 0, 0)])
        self.assertEqual((data["all"]["memory"], data["all"]["total"]), (36 * MS, 110 * MS))
        self.assertEqual([(spot["kind"], spot["threads"]) for spot in data["spots"]],
                         [("allocation", {"a (1)": 30 * MS}), ("allocator lock", {"b (2)": 5 * MS}),
                          ("free", {"b (2)": MS})])


class Advice(TimeTest):
    def only(self, *samples, **options):
        spot, = self.spots(*samples, **options)
        return spot["advice"]

    def test_brief_lives(self):
        stack = ["malloc@libcorbelmalloc_proxy.so.1", "f()"]
        both = (stack, {"cpu": 50 * MS, "allocations": 2000000, "allocated": 96000000, "brief": 1900000}, {})
        self.assertIn("2.0 million blocks of 48 B on average, 95.0 % of them freed within 1 µs", self.only(both))
        few = (stack, {"cpu": 50 * MS, "allocations": 2000000, "allocated": 96000000, "brief": 19}, {})
        self.assertIn("(2.0 million a second)", self.only(few))

    def test_hand_overs(self):
        made = (["malloc@libcorbelmalloc_proxy.so.1", "produce()"],
                {"cpu": 50 * MS, "allocations": 1000, "allocated": 64000, "handed_over": 900}, {})
        freed = (["free@libcorbelmalloc_proxy.so.1", "consume()"], {"cpu": 20 * MS, "received": 900},
                 {"thread": "consumer (2)"})
        first, second = self.spots(made, freed)
        self.assertIn("90.0 % of them freed by thread consumer (2)", first["advice"])
        self.assertIn("900 blocks that other threads allocated are freed here", second["advice"])
        few = (freed[0][:1] + ["drop()"], {"received": 9}, {"thread": "other (3)"})
        self.assertIn("freed by thread consumer (2)", self.spots(made, freed, few)[0]["advice"])
        other = (freed[0][:1] + ["drop()"], {"received": 90}, {"thread": "other (3)"})
        self.assertIn("freed by 2 other threads", self.spots(made, freed, other)[0]["advice"])

    def test_growth(self):
        vector = ["malloc@libcorbelmalloc_proxy.so.1", "void std::vector<int>::_M_realloc_insert<int>(int&&)", "f()"]
        self.assertRegex(
            self.only((vector, {"cpu": 9 * MS, "allocations": 21, "allocated": 1 << 21}, {})),
            r"this vector grows 21 times in all, into 2\.0 MiB of new blocks: call reserve\(\)")
        self.assertIn("moves its elements each time", self.only(cpu(*vector), malloc="system"))
        # What else the function allocates is not the vector's.
        both = self.spots((vector, {"cpu": 9 * MS, "allocations": 21, "allocated": 1 << 21}, {}),
                          (vector[:1] + ["f()"], {"cpu": 1 * MS, "allocations": 5, "allocated": 5}, {}))
        self.assertEqual([spot["counts"]["allocations"] for spot in both], [21, 5])

    def test_fragments_and_the_system(self):
        inside = lambda name, ms: cpu(name + "@libc.so.6", "malloc@libc.so.6", "f()", ms=ms)
        self.assertIn("in 75.0 % of this time the allocator merges fragments", self.only(
            inside("malloc_consolidate", 75), inside("_int_malloc", 25), malloc="system"))
        self.assertIn("in 60.0 % of this time the allocator gets memory from the system", self.only(
            inside("__mmap", 60), inside("_int_malloc", 40), malloc="system"))
        # The time of page faults is not in it.
        self.assertIn("in 100.0 %", self.spots(inside("malloc_consolidate", 75), (
            ["malloc_consolidate@libc.so.6", "malloc@libc.so.6", "f()"], {"faults": 9000}, {}))[0]["advice"])
        self.assertIn("allocate less often", self.only(
            inside("malloc_consolidate", 25), inside("_int_malloc", 75), malloc="system"))

    def test_the_whole(self):
        data = self.evaluated(self.made(
            cpu("malloc@libc.so.6", "f()", ms=25), cpu("malloc_consolidate@libc.so.6", "free@libc.so.6", "g()", ms=10),
            (["__lll_lock_wait@libc.so.6", "malloc@libc.so.6", "f()"], {"wait": 5 * MS}, {}), cpu("f()", ms=60)))
        self.assertEqual(data["verdict"], "memory management takes 40.0 % of the time (5.0 % waiting for a lock of "
                         "the allocator, 10.0 % merging fragments of freed blocks)")

    def test_reallocs(self):
        self.assertIn("made blocks larger 500 times and copied 1.0 MiB", self.only(
            (["realloc@libcorbelmalloc_proxy.so.1", "f()"], {"cpu": MS, "growths": 500, "copied": 1 << 20}, {})))

    def test_page_faults(self):
        self.assertIn("12,345 page faults", self.only((["f()"], {"faults": 12345}, {})))

    def test_locks(self):
        waits = (["__lll_lock_wait@libc.so.6", "malloc@libc.so.6", "f()"], {"wait": 5 * MS}, {})
        self.assertIn("thread app (1) waits here for a lock of the allocator: replace it (corbel run)",
                      self.only(waits, malloc="system"))
        self.assertNotIn("corbel run", self.only(waits))
        self.assertIn("lock of the program", self.only(
            (["__lll_lock_wait@libc.so.6", "pthread_mutex_lock@libc.so.6", "f()"], {"wait": 5 * MS}, {})))

    @staticmethod
    def access(function, thread, word, writes, samples=10, line=4096, block=0, size=8):
        return [function], {"sharing": samples}, {"thread": thread, "line": line, "word": word, "size": size,
                                                  "writes": writes, "block": block}

    def test_false_sharing(self):
        advice = self.only(self.access("count()", "a (1)", 0, 10), self.access("look()", "b (2)", 8, 0))
        self.assertIn("thread a (1) writes bytes 0 to 7 and thread b (2) reads bytes 8 to 15 of one cache line",
                      advice)
        self.assertIn("alignas", advice)
        self.assertIn("in blocks of 16 B: give each thread its own block", self.only(
            self.access("count()", "a (1)", 0, 10, block=16), self.access("count()", "b (2)", 16, 10, block=16)))

    def test_lines_that_the_same_places_use_are_one_spot(self):
        lines = [self.access(place, thread, word, 5, line=4096 + 64 * i)
                 for i in range(3) for place, thread, word in (("f()", "a (1)", 0), ("g()", "b (2)", 8))]
        spots = self.spots(*lines, self.access("h()", "a (1)", 0, 1), self.access("i()", "b (2)", 8, 0))
        self.assertEqual([(spot["lines"], spot["count"], len(spot["accesses"])) for spot in spots][:1],
                         [(2, 40, 2)])
        self.assertEqual(spots[0]["cost"], 40 * MS)

    def test_nothing_is_invented_with_the_systems_malloc(self):
        data = self.evaluated(self.made(cpu("malloc@libc.so.6", "f()"), cpu("free@libc.so.6", "f()"),
                                        cpu("realloc@libc.so.6", "f()"), malloc="system"))
        for spot in data["spots"]:
            self.assertNotRegex(spot["advice"], r"[0-9]", spot)
            self.assertNotIn("counts", spot)
        self.assertIn("--malloc=system", data["note"])


class Output(TimeTest):
    def test_the_terminal(self):
        raw = self.made(cpu("malloc@libc.so.6", "f()", ms=250), cpu("free@libc.so.6", "g()", ms=250),
                        cpu("main", ms=500), malloc="system")
        lines = corbel("profile", "show", raw).stdout.splitlines()
        self.assertEqual(lines[0], "memory management takes 50.0 % of the time: see what corbel run saves, which "
                                   "replaces the allocator without a rebuild")
        lines = lines[2:]
        self.assertEqual(lines[1].split(), "1.00 s 50.0 % 25.0 % 25.0 % app (1)".split())
        self.assertIn("250 ms   25.0 %  allocation      f() f.cpp:7", lines[4])
        self.assertIn("→ ", lines[5])
        self.assertIn("--malloc=system", lines[-1])
        self.assertIn("and 1 more places", corbel("profile", "show", "-n", 1, raw).stdout)

    def test_one_process_after_the_other(self):
        """Rates are those of the whole time."""
        second = 1000 * MS
        calls = {"allocations": 3_000_000, "allocated": 48_000_000, "cpu": 100 * MS}
        parts = [self.made((["malloc@libcorbelmalloc_proxy.so.1", "f()"], calls if i != 2 else {}, {}),
                           name=f"{i}.pb.gz", time=(5 + i) * second, duration=second) for i in (0, 2)]
        # Its shell has no samples; it begins first and ends last.
        parts.append(self.made(name="shell.pb.gz", time=5 * second, duration=3 * second))
        data = self.evaluated(*parts)
        self.assertEqual(data["duration"], 3 * second)
        self.assertIn("(1.0 million a second)", data["spots"][0]["advice"])

    def test_few_samples(self):
        for samples, timer, code, text in (
                ([], "perf", 1, "no samples"), ([cpu("f()", ms=3)], "perf", 0, "only 3.0 ms of processor time"),
                ([cpu("f()", ms=10)], "perf", 0, ""),
                # Of a timer, 21 ms may be 5 samples.
                ([cpu("f()", ms=21)], "cpu", 0, "only 21.0 ms of processor time"),
                ([cpu("f()", ms=100)], "cpu", 0, "")):
            done = corbel("profile", "show", self.made(*samples, timer=timer))
            self.assertEqual(done.returncode, code)
            self.assertIn(text, done.stderr)
            if code == 0 and text:
                self.assertIn("--timer=perf" if timer == "cpu" else "--every 100us", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1 if text else 0)

    def test_gaps(self):
        raw = self.made(cpu("f()"), comments=["corbel.lost_samples=12", "corbel.threads_that_block_the_signal=3",
                                              "corbel.ended_early=signal", "corbel.threads_without_timer=0",
                                              "corbel.waits=refused"])
        notes = [line for line in corbel("profile", "show", raw).stdout.splitlines() if line.startswith("note: ")]
        self.assertEqual([re.search("block|lost|missing: there|took over|which threads wait", note).group() for note in notes],
                         ["block", "missing: there", "which threads wait", "took over"])
        self.assertEqual(len(self.evaluated(raw)["gaps"]), 4)
        left = self.evaluated(self.made(cpu("f()"), comments=["corbel.ended_early=main"]))["gaps"]
        self.assertEqual([re.search("pthread_exit|took over", gap).group() for gap in left], ["pthread_exit"])

    def test_processes(self):
        files = [self.made(cpu("malloc@libc.so.6", "f()"), name=f"{i}.pb.gz",
                           comments=[f"command: ./app{i}", f"pid: {i}"]) for i in (1, 2)]
        out = self.folder / "out.json"
        self.assertEqual(corbel("profile", "show", *files, "--json", out).returncode, 0)
        data = json.loads(out.read_text())
        self.assertEqual([t["name"] for t in data["threads"]], ["app1 (1): app (1)", "app2 (2): app (1)"])
        self.assertEqual([spot["cost"] for spot in data["spots"]], [200 * MS])

    def test_two_profiles_of_time_are_compared(self):
        before, after = (self.made(cpu("malloc@libc.so.6", "f()", ms=ms), name=f"{ms}.pb") for ms in (100, 900))
        self.assertRegex(corbel("profile", "diff", before, after).stdout, r"\+0\.80 s  allocation: f\(\) f\.cpp:7")

    def test_names_cannot_control_the_terminal(self):
        raw = self.made(cpu("malloc@libc.so.6", "\x1b[2Jf()", thread="\x1bevil"))
        self.assertNotIn("\x1b", corbel("profile", "show", raw).stdout)

    def test_json_is_for_profiles_of_time(self):
        heap = self.folder / "heap.pb"
        heap.write_bytes(encode([([1], [1, 1, 1, 1, 1, 1], {})]))
        done = corbel("profile", "show", heap, "--json", self.folder / "x.json")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        self.assertFalse((self.folder / "x.json").exists())

    def page(self):
        raw = self.made(
            cpu("malloc@libc.so.6", "</script><b>f()", ms=250, thread="worker (2)"),
            cpu("free@libc.so.6", "g()", ms=50), cpu("main", ms=500),
            (["malloc@libc.so.6", "f()"], {"allocations": 4242, "allocated": 10, "brief": 4000}, {}),
            Advice.access("count()", "app (1)", 0, 10), Advice.access("look()", "worker (2)", 8, 0))
        page = self.folder / "page.html"
        self.assertEqual(corbel("profile", "show", raw, "--html", page).returncode, 0)
        return page

    def test_the_page_needs_no_other_file(self):
        text = self.page().read_text()
        self.assertIsNone(re.search(r"(?:src|href)\s*=|url\(|@import|https?://", text))
        self.assertEqual(text.count("</script>"), 2)
        json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))

    @unittest.skipIf(CHROMIUM is None, "there is no chromium")
    def test_a_browser_draws_it(self):
        page = self.page()
        text = page.read_text()
        for script, expected in (
                ("", ["&lt;/script&gt;&lt;b&gt;f()", "37.5 %", "false sharing", "4,242"]),
                # The stacks come when they are asked for.
                ("document.querySelector('details').open = true; setTimeout(() => { document.body.dataset.text ="
                 "document.querySelector('details').innerText.includes('malloc (libc.so.6)'); }, 0);",
                 ['data-text="true"']),
                ("byId('thread').value = 'worker (2)'; byId('thread').dispatchEvent(new Event('change'));"
                 "document.body.dataset.text = document.querySelectorAll('details').length;",
                 ['data-text="2"']),
                ("byId('search').value = 'G()'; byId('search').dispatchEvent(new Event('input'));"
                 "document.body.dataset.text = document.querySelectorAll('details').length;",
                 ['data-text="1"']),
                ("[...byId('tabs').children][1].click();", ["4,000"])):
            page.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
            done = subprocess.run(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=2000",
                 f"--user-data-dir={self.folder}/profile", f"file://{page}"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=100, check=False)
            self.assertTrue('data-ready="yes"' in done.stdout)
            for each in expected:
                self.assertTrue(each in done.stdout, each)


if __name__ == "__main__":
    unittest.main()
