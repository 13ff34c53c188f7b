#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time profile of a program that spends its time at known places.

Usage: time_profile_test.py PROGRAM LIBRARY PROXY ALLOCATOR STATIC: timed.cpp, timed_library.c, what
to preload for a program on Corbel and for one on its own malloc, and timed.cpp linked statically
with the replacement
"""

import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

import pprof

PROGRAM, LIBRARY, PROXY, ALLOCATOR, STATIC = map(os.path.abspath, sys.argv[1:6])
del sys.argv[1:6]

CPU, WAIT, FAULTS, SHARING = range(4)
TYPES = [("cpu", "nanoseconds"), ("wait", "nanoseconds"), ("faults", "count"), ("sharing", "count"),
         ("allocations", "count"), ("allocated", "bytes"), ("brief", "count"),
         ("handed_over", "count"), ("received", "count"), ("growths", "count"), ("copied", "bytes")]


def has_perf():
    """Whether this process may use the kernel's counters: what timer=perf says."""
    result = subprocess.run([PROGRAM, "exit", "0"], capture_output=True, text=True,
                            env={**os.environ, "LD_PRELOAD": ALLOCATOR,
                                 "CORBEL_PROFILE": "time,timer=perf,file=/dev/null"})
    return "performance counters" not in result.stderr


TIMERS = ["perf", "cpu"] if has_perf() else ["cpu"]


class TimeProfile(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="corbel-profile-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def run_program(self, setting, *arguments, preload=PROXY, program=PROGRAM, ignored=(), **more):
        environment = {**os.environ, "CORBEL_PROFILE": setting}
        if preload:
            environment["LD_PRELOAD"] = preload
        more.setdefault("preexec_fn", lambda: [signal.signal(number, signal.SIG_IGN)
                                               for number in ignored])
        return subprocess.run([program, *arguments], env=environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=120, **more)

    def profile_of(self, setting, *arguments, **more):
        path = self.folder / "time.pb.gz"
        result = self.run_program(f"{setting},file={path}", *arguments, **more)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        profile = pprof.Profile(path)
        self.places = {words[0]: words[1] for words in map(str.split, result.stdout.splitlines())}
        profile.facts = dict(text[7:].split("=", 1) for text in profile.comments
                             if text.startswith("corbel."))
        return profile

    def at(self, place):
        start = int(self.places[place], 16)
        return lambda sample: any(start <= address < start + 128 for address in sample["addresses"])

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_time_goes_to_its_place(self):
        for timer in TIMERS:
            for preload, malloc in (PROXY, "corbel"), (ALLOCATOR, "system"):
                with self.subTest(timer=timer, malloc=malloc):
                    profile = self.profile_of(f"time,timer={timer}", "places", preload=preload)
                    hot, cool = (profile.totals(self.at(place))[CPU] for place in ("hot", "cool"))
                    self.assertAlmostEqual(hot / (hot + cool), 0.75, delta=0.2)
                    self.assertAlmostEqual((hot + cool) / profile.totals()[CPU], 1, delta=0.2)
                    self.assertAlmostEqual(profile.totals()[CPU] / int(profile.facts["process_cpu"]), 1,
                                           delta=0.4)
                    self.assertEqual(profile.facts["malloc"], malloc)
                    self.assertEqual(profile.facts["timer"], timer)
                    self.assertNotIn("lost_samples", profile.facts)

    @unittest.skipIf("perf" not in TIMERS, "the system refuses performance counters")
    def test_a_program_in_time_with_the_samples(self):
        profile = self.profile_of("time,timer=perf", "rounds")
        deviations = []
        for thread in {s["labels"]["thread"] for s in profile.samples}:
            hot, cool = (profile.totals(lambda s: self.at(place)(s) and s["labels"]["thread"] == thread)[CPU]
                         for place in ("hot", "cool"))
            if hot + cool > 50e6:
                deviations.append(abs(hot / (hot + cool) - 0.75))
        self.assertGreater(len(deviations), 2)
        self.assertLess(sum(deviations) / len(deviations), 0.16, deviations)

    def test_linked_statically(self):
        profile = self.profile_of("time", "places", preload=None, program=STATIC)
        self.assertGreater(profile.totals(self.at("hot"))[CPU] / profile.totals()[CPU], 0.5)

    def test_threads_that_the_system_has_no_timer_for(self):
        profile = self.profile_of("time,timer=cpu", "exit", "0", preexec_fn=lambda: (
            resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0))))
        self.assertEqual(profile.facts["threads_without_timer"], "1")

    @unittest.skipIf("perf" not in TIMERS, "the system refuses performance counters")
    def test_counters_leave_files_for_the_profiler(self):
        # Eight are left: of 9 files there is no counter, of 12 files one or two threads have some.
        for limit, timer in (9, "cpu"), (12, "perf"):
            with self.subTest(limit):
                profile = self.profile_of("time,timer=perf", "places", preexec_fn=lambda: (
                    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))))
                self.assertEqual(profile.facts["timer"], timer)
                self.assertGreater(profile.totals(self.at("hot"))[CPU], 0)

    def test_head(self):
        profile = self.profile_of("time,every=2ms", "places")
        self.assertEqual(profile.types, TYPES)
        self.assertEqual((profile.period_type, profile.period), (("cpu", "nanoseconds"), 2000000))
        self.assertEqual(profile.default_type, "cpu")
        self.assertGreater(int(profile.facts["fault_cost"]), 0)
        self.assertIn(f"command: {PROGRAM} places", profile.comments)
        self.assertEqual({list(sample["labels"])[0] for sample in profile.samples}, {"thread"})
        self.assertTrue(all(s["labels"]["thread"].startswith("profile_timed (")
                            for s in profile.samples))

    def test_faults(self):
        for timer in TIMERS:
            with self.subTest(timer=timer):
                profile = self.profile_of(f"time,timer={timer}", "faults", preload=ALLOCATOR)
                self.assertAlmostEqual(profile.totals(self.at("touch"))[FAULTS] / int(self.places["pages"]),
                                       1, delta=0.2)

    def test_faults_before_the_first_sample(self):
        profile = self.profile_of("time,timer=cpu,every=200ms", "faults-at-first", preload=ALLOCATOR)
        self.assertGreaterEqual(profile.totals()[FAULTS], int(self.places["pages"]))

    def test_a_wait_for_a_lock(self):
        for timer in TIMERS:
            with self.subTest(timer=timer):
                profile = self.profile_of(f"time,timer={timer}", "lock")
                waited = profile.totals(self.at("locked"))[WAIT]
                self.assertGreater(waited / int(self.places["held"]), 0.5)
                self.assertEqual({s["labels"]["thread"].split()[0] for s in profile.samples
                                  if s["values"][WAIT] and self.at("locked")(s)}, {"waiter"})

    def test_waits_that_the_system_does_not_show(self):
        self.folder.chmod(0o777)  # for another user
        self.assertEqual(self.profile_of("time", "hidden").facts["waits"], "refused")

    def test_a_wait_with_a_limit_is_left_alone(self):
        self.profile_of("time", "limited")

    def test_threads_that_come_and_go(self):
        for timer in TIMERS:
            with self.subTest(timer=timer):
                profile = self.profile_of(f"time,timer={timer}", "threads")
                self.assertLess(profile.totals()[CPU], int(profile.facts["process_cpu"]))
                self.assertGreater(int(profile.facts["threads"]), 1)

    def test_a_line_that_threads_share_in_vain(self):
        for timer in TIMERS:
            with self.subTest(timer=timer):
                # Uses that lie a tenth of a second apart do not count, so a pause is a reason to try again.
                for _ in range(10):
                    profile = self.profile_of(f"time,timer={timer}", "sharing", "8")
                    found = [s for s in profile.samples
                             if s["values"][SHARING] and s["labels"]["line"] == int(self.places["line"], 16)]
                    words = {s["labels"]["word"] for s in found}
                    if words == {0, 8} or int(self.places["pause"]) < 50e6:
                        break
                self.assertEqual(words, {0, 8})
                self.assertEqual(len({s["labels"]["thread"] for s in found}), 2)
                for sample in found:
                    self.assertEqual(sample["labels"]["size"], 8)
                    self.assertEqual(sample["labels"]["block"], 512)
                    self.assertEqual(sample["labels"]["writes"], sample["values"][SHARING])
                    self.assertTrue(self.at("count")(sample))
                    self.assertEqual(sample["values"][CPU], 0)

    def test_lines_of_their_own_and_the_same_word_are_not_shared_in_vain(self):
        for distance in "64", "0":
            with self.subTest(distance=distance):
                profile = self.profile_of("time", "sharing", distance)
                line = int(self.places["line"], 16)
                self.assertEqual([s for s in profile.samples if s["values"][SHARING]
                                  and s["labels"]["line"] in (line, line + 64)], [])

    def test_the_child_of_a_fork_is_not_profiled(self):
        for timer in TIMERS:
            with self.subTest(timer=timer):
                profile = self.profile_of(f"time,timer={timer}", "fork")
                self.assertEqual(self.files(), ["time.pb.gz"])
                self.assertGreater(profile.totals(self.at("hot"))[CPU], 0)

    def test_executed_programs_survive(self):
        for timer in TIMERS:
            with self.subTest(timer=timer):
                result = self.run_program(f"time,every=100us,timer={timer},file=name", "exec", "60")
                self.assertEqual((result.returncode, result.stderr), (5, ""))
                self.assertEqual(self.files(), ["name"])

    def test_a_handler_of_the_program(self):
        for timer in TIMERS:
            for number, ignored in (signal.SIGURG, []), (signal.SIGPROF, [signal.SIGURG]):
                if timer == "perf" and ignored:
                    continue
                with self.subTest(timer=timer, number=number):
                    result = self.run_program(f"time,timer={timer},file=name", "handler",
                                              str(int(number)), ignored=ignored)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(result.stderr.count("\n"), 1)
                    self.assertTrue(result.stderr.startswith(
                        f"corbel: the program has replaced the handler of {number.name}, "))
                    self.assertIn("corbel.ended_early=signal",
                                  pprof.Profile(self.folder / "name").comments)

    def test_a_program_that_resets_all_signals(self):
        for timer in TIMERS:
            with self.subTest(timer=timer):
                result = self.run_program(f"time,timer={timer},file=name", "reset")
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_signal_that_is_not_at_its_default(self):
        for timer, ignored, text in (
                ("perf", [signal.SIGURG], "SIGURG is not at its default"),
                ("cpu", [signal.SIGURG, signal.SIGPROF],
                 "neither SIGURG nor SIGPROF is at its default")):
            if timer not in TIMERS:
                continue
            with self.subTest(timer=timer):
                result = self.run_program(f"time,timer={timer},file=name", "exit", "3",
                                          ignored=ignored)
                self.assertEqual(result.returncode, 3)
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertIn(text, result.stderr)
                self.assertEqual(self.files(), [])

    def test_a_library_that_is_loaded_meanwhile(self):
        profile = self.profile_of("time", "library", LIBRARY)
        self.assertGreater(profile.totals(self.at("work"))[CPU], 0)
        used = {profile.mappings[profile.locations[id]["mapping"]]["file"]
                for id, place in profile.locations.items() if place["mapping"]}
        self.assertIn(LIBRARY, used)

    def test_a_thread_that_blocks_the_signal(self):
        for timer in TIMERS:
            with self.subTest(timer=timer):
                profile = self.profile_of(f"time,timer={timer}", "blocked")
                self.assertEqual(profile.facts["threads_that_block_the_signal"], "1")
                self.assertEqual([s["values"] for s in profile.samples if s["values"][CPU]
                                  and not s["labels"]["thread"].startswith("main (")], [])

    def test_a_program_with_one_thread_keeps_one(self):
        for timer in TIMERS:
            with self.subTest(timer=timer):
                result = self.run_program(f"time,timer={timer}", "single")
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_process_that_ends_with_its_last_thread(self):
        profile = self.profile_of("time", "leave")
        self.assertGreater(profile.totals(self.at("hot"))[CPU], 0)
        self.assertEqual(profile.facts["ended_early"], "main")
        self.assertEqual(self.places["end"], "0", "the last thread has the program's files")

    def test_default_name_has_the_process_in_it(self):
        result = self.run_program("time", "exit", "3")
        self.assertEqual((result.returncode, result.stderr), (3, ""))
        self.assertEqual(len(self.files()), 1)
        self.assertRegex(self.files()[0], r"^corbel\.time\.\d+\.pb\.gz$")

    def test_a_file_that_cannot_be_written(self):
        result = self.run_program("time,file=missing/file", "exit", "3")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertTrue(result.stderr.startswith("corbel: cannot write the time profile to "))

    def test_wrong_settings(self):
        for setting in ("time,", "time,every", "time,every=0", "time,every=1", "time,every=99us",
                        "time,every=2s", "time,every=1m", "time,every=99999999999999999999s",
                        "time,timer=", "time,timer=tick", "time,file=", "time,seed=1",
                        "time,every=1ms,,timer=cpu"):
            with self.subTest(setting):
                result = self.run_program(setting, "exit", "3")
                self.assertEqual(result.returncode, 3)
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertTrue(result.stderr.startswith(
                    f"corbel: CORBEL_PROFILE={setting} is ignored: set it to time"), result.stderr)
                self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
