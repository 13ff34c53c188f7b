# SPDX-License-Identifier: Apache-2.0
"""Executing a plan: order, resuming after a kill, disturbed runs, failures, the control."""
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import fake
from lab import catalogue, control, measure, results, schedule, session, summary

HERE = Path(__file__).resolve().parent
# A run of 60 steps of 30 ms, for a test that kills it.
SLOW = """
import sys, time
sys.path.insert(0, sys.argv[1])
import fake
from pathlib import Path
calls = 0
def machine(command, env, timeout, cwd):
    global calls
    calls += 1
    time.sleep(0.03 if calls < 20 else 60)
    return fake.figures(1.0)
fake.run(Path(sys.argv[2]), [fake.row(f"r{i}", ["corbel", "glibc"]) for i in range(10)], machine)
"""


class FolderTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="corbel-bench-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name) / "run"


class Order(unittest.TestCase):
    rows = [fake.row("a", "xyz"), fake.row("b", "xyz"), fake.row("c", "xyz", repeats=3)]

    def names(self, rows, seed=1):
        return [(s.round, s.row.id, s.contestant.id) for s in schedule.steps(rows, 3, seed)]

    def test_the_same_seed_gives_the_same_order(self):
        self.assertEqual(self.names(self.rows), self.names(self.rows))
        self.assertNotEqual(self.names(self.rows), self.names(self.rows, 2))

    def test_every_pair_once_a_round(self):
        names = self.names(self.rows)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(names), 3 * 3 * 2 + 9 * 3)

    def test_rounds_go_through_the_rows_in_order(self):
        names = self.names(self.rows[:2])
        self.assertEqual([name[:2] for name in names],
                         [(r, row) for r in range(3) for row in "ab" for _ in "xyz"])

    def test_the_order_in_a_row_changes_and_does_not_depend_on_other_rows(self):
        of_a = [name for name in self.names(self.rows) if name[1] == "a"]
        self.assertEqual(of_a, self.names(self.rows[:1]))
        many = schedule.steps(self.rows[:1], 50, 1)
        firsts = {many[i].contestant.id for i in range(0, len(many), 3)}
        self.assertEqual(firsts, set("xyz"))

    def test_long_rows_have_three_rounds(self):
        step = schedule.Step(3, self.rows[0], None)
        self.assertTrue(schedule.is_enough(step, 4.0))
        self.assertFalse(schedule.is_enough(step, 2.0))
        self.assertFalse(schedule.is_enough(schedule.Step(2, self.rows[0], None), 4.0))

    def test_rows_that_watch_have_one_round_in_a_quick_run_unless_more_are_asked_for(self):
        for scale, asked, expected in (("quick", None, 1), ("quick", 3, 3), ("normal", None, 3)):
            rows = schedule.spare([fake.row("a", "xyz"), fake.row("b", "xyz", watches=True)],
                                  scale, asked)
            with self.subTest(scale=scale, asked=asked):
                names = [name[1] for name in self.names(rows)]
                self.assertEqual((names.count("a"), names.count("b")), (9, 3 * expected))

    def test_the_first_guess_is_longer_for_rows_that_watch(self):
        guess = session.Estimate("quick").of
        short, long = (fake.row("a", "x", watches=watches) for watches in (False, True))
        self.assertGreater(guess(schedule.Step(0, long, long.contestants[0])),
                           guess(schedule.Step(0, short, short.contestants[0])))


class Resume(FolderTest):
    rows = [fake.row(f"r{i}", ["corbel", "glibc"]) for i in range(10)]

    def test_a_killed_run_can_be_resumed(self):
        process = subprocess.Popen([sys.executable, "-B", "-c", SLOW, str(HERE), str(self.folder)])
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            file = self.folder / results.RUNS
            if file.exists() and file.read_bytes().count(b"\n") >= 12:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = results.load(self.folder)
        self.assertIsNone(before.meta["finished"])
        self.assertGreaterEqual(len(before.runs), 12)
        with open(self.folder / results.RUNS, "ab") as file:
            file.write(b'{"row": "r9", "contes')  # as if killed while writing
        machine = fake.Machine({})
        after, _ = fake.run(self.folder, self.rows, machine)
        self.assertEqual(after.runs[:len(before.runs)], before.runs)
        self.assertEqual(len(machine.calls), 60 - len(before.runs))
        keys = {(run["round"], run["row"], run["contestant"]) for run in after.runs}
        self.assertEqual((len(keys), len(after.runs)), (60, 60))
        self.assertEqual([run["order"] for run in after.runs], list(range(60)))
        self.assertTrue(after.meta["finished"])

    def test_the_order_is_that_of_an_unbroken_run(self):
        whole, _ = fake.run(self.folder, self.rows, fake.Machine({}))
        other = self.folder.with_name("broken")

        class Stops(fake.Machine):
            def __call__(self, *words):
                if len(self.calls) == 25:
                    raise KeyboardInterrupt
                return super().__call__(*words)

        with self.assertRaises(KeyboardInterrupt):
            fake.run(other, self.rows, Stops({}))
        self.assertEqual(len(results.load(other).runs), 25)
        broken, _ = fake.run(other, self.rows, fake.Machine({}))
        self.assertEqual([(r["row"], r["contestant"]) for r in whole.runs],
                         [(r["row"], r["contestant"]) for r in broken.runs])

    def test_a_finished_run_has_nothing_left(self):
        fake.run(self.folder, self.rows, fake.Machine({}))
        machine = fake.Machine({})
        fake.run(self.folder, self.rows, machine)
        self.assertEqual(machine.calls, [])


class Disturbed(FolderTest):
    def test_the_limits(self):
        self.assertFalse(measure.is_disturbed(0.02, 0.1, 2))
        self.assertTrue(measure.is_disturbed(0.04, 0.1, 2))
        self.assertFalse(measure.is_disturbed(0.5, 10, 2))
        self.assertTrue(measure.is_disturbed(0.7, 10, 2))

    def test_a_disturbed_run_is_repeated(self):
        machine = fake.Machine({}, special={"corbel": lambda call: {
            "disturbed": call < 3, "others_cpu_seconds": 1.0 if call < 3 else 0.0}})
        found, _ = fake.run(self.folder, [fake.row("r", ["corbel"])], machine, rounds=1)
        self.assertEqual([run["kept"] for run in found.runs], [False, False, True])
        self.assertEqual([run["attempt"] for run in found.runs], [0, 1, 2])
        self.assertEqual(found.disturbed(), 0)

    def test_the_least_disturbed_is_kept_and_marked(self):
        others = {1: 0.5, 2: 0.2, 3: 0.9}
        machine = fake.Machine({}, special={"corbel": lambda call: {
            "disturbed": True, "others_cpu_seconds": others[call]}})
        found, _ = fake.run(self.folder, [fake.row("r", ["corbel"])], machine, rounds=1)
        self.assertEqual([run["kept"] for run in found.runs], [False, True, False])
        self.assertEqual(found.disturbed(), 1)

    def test_a_row_that_watches_is_not_repeated(self):
        machine = fake.Machine({}, special={"corbel": {"disturbed": True,
                                                       "others_cpu_seconds": 1.0}})
        found, _ = fake.run(self.folder, [fake.row("r", ["corbel"], watches=True)], machine,
                            rounds=1)
        self.assertEqual([run["kept"] for run in found.runs], [True])

    def test_repeating_has_an_end(self):
        one = session.Session(self.folder, fake.meta([]), [], None)
        attempt = {"disturbed": True, "failed": None}
        self.assertTrue(one._again([attempt]))
        one.spent, one.repeating = 100.0, 100.0
        self.assertFalse(one._again([attempt]))

    def test_other_processes_are_noticed(self):
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            found = measure.run([sys.executable, "-c", "import time; time.sleep(0.6); print('{}')"],
                                measure.environment(), 30)
        finally:
            busy.kill()
            busy.wait()
        self.assertGreater(found["others_cpu_seconds"], 0.1)
        self.assertTrue(found["disturbed"])
        self.assertLess(found["cpu_seconds"], 0.4)


class Failures(FolderTest):
    def setUp(self):
        super().setUp()
        self.rows = [fake.row("r", ["corbel", "glibc", "mimalloc3"])]

    def test_a_wrong_checksum(self):
        machine = fake.Machine({}, special={"mimalloc3": {"checksum": "bad"}})
        found, said = fake.run(self.folder, self.rows, machine)
        self.assertIn("its checksum is bad, glibc's is 00ff", found.failure("r", "mimalloc3"))
        self.assertEqual(found.kept("r", "mimalloc3"), [])
        self.assertEqual(len(found.kept("r", "corbel")), 3)
        self.assertTrue(any("FAILED" in line for line in said))
        self.assertEqual([name for _, name, _ in found.failures()], ["mimalloc3"])

    def test_without_a_reference_most_are_right(self):
        runs = {name: [{"checksum": value, "failed": None}]
                for name, value in (("corbel", "1"), ("a", "2"), ("b", "1"))}
        self.assertEqual(list(results.judge_checksums(runs)), ["a"])
        runs["serial"] = [{"checksum": "2", "failed": None}]
        self.assertEqual(sorted(results.judge_checksums(runs)), ["b", "corbel"])

    def test_a_crash_is_recorded_and_not_tried_again(self):
        machine = fake.Machine({}, special={"corbel": {"failed": "ended by SIGSEGV", "value": None,
                                                       "checksum": None}})
        found, _ = fake.run(self.folder, self.rows, machine)
        self.assertEqual(machine.calls.count("corbel"), 1)
        self.assertEqual(machine.calls.count("glibc"), 3)
        self.assertEqual(found.failure("r", "corbel"), "ended by SIGSEGV")
        self.assertTrue(any(summary.is_ours(name) for _, name, _ in found.failures()))

    def test_a_program_that_is_not_installed_leaves_its_row_out(self):
        def machine(command, env, timeout, cwd):
            raise measure.NotInstalled("z3 is not installed")
        found, said = fake.run(self.folder, self.rows, machine)
        self.assertEqual(found.meta["rows"][0]["skipped"], "z3 is not installed")
        self.assertEqual(len(said), 1)
        self.assertEqual(found.runs, [])

    def outcome(self, code, timeout=20):
        return measure.run([sys.executable, "-c", code], measure.environment(), timeout)["failed"]

    def test_what_a_process_can_do_wrong(self):
        self.assertIn("SIGABRT", self.outcome("import os; os.abort()"))
        self.assertIn("exit code 3: why", self.outcome("import sys; print('why', file=sys.stderr);"
                                                       "sys.exit(3)"))
        self.assertIn("not a result", self.outcome("print('hello')"))
        self.assertIn("stopped after", self.outcome("import time; time.sleep(60)", 0.3))
        self.assertIsNone(self.outcome("print('{\"value\": 1, \"checksum\": \"a\"}')"))
        with self.assertRaises(measure.NotInstalled):
            self.outcome("import sys; sys.exit(77)")

    def test_a_preload_that_is_not_there_is_a_failure(self):
        found = measure.run(["/bin/true"], measure.environment(["/nowhere/lib.so"]), 20)
        self.assertIn("cannot be preloaded", found["failed"])


class Environment(unittest.TestCase):
    def test_nothing_is_inherited_that_changes_a_run(self):
        import os
        os.environ["MALLOC_ARENA_MAX"] = "1"
        try:
            made = measure.environment(["/a.so", "/b.so"], {"X": "1"})
        finally:
            del os.environ["MALLOC_ARENA_MAX"]
        self.assertEqual({"LC_ALL", "LD_PRELOAD", "X"}, set(made) - {"PATH", "HOME"})
        self.assertEqual(made["LD_PRELOAD"], "/a.so:/b.so")
        self.assertEqual(measure.environment(["/a.so"], {"X": "1"}, program=True)["BENCH_ENV_X"], "1")


class Control(FolderTest):
    """From runs to verdicts, on a machine with known noise and speeds."""

    def verdict(self, speeds, seed=1, **more):
        rows = [fake.row("control/-/t1", ["corbel", "corbel-copy", "corbel-slowed"], "control", 3)]
        folder = self.folder / f"{seed}"
        folder.parent.mkdir(exist_ok=True)
        found, _ = fake.run(folder, rows, fake.Machine(speeds, seed, **more))
        return control.judge(found)

    def test_a_copy_is_equal_and_a_slowed_one_is_found(self):
        right = sum(self.verdict({"corbel-slowed": 1.15}, seed)[0] for seed in range(20))
        self.assertGreaterEqual(right, 19)
        _, lines = self.verdict({"corbel-slowed": 1.15}, 100)
        self.assertIn("identical copies: equal", lines[0])
        self.assertIn("slowed copy: found (+1", lines[1])

    def test_a_blind_lab_cannot_be_trusted(self):
        for number, speeds in enumerate(({}, {"corbel-slowed": 1.15, "corbel-copy": 1.2})):
            trusted, lines = self.verdict(speeds, 200 + number)
            self.assertIs(trusted, False)
            self.assertIn("CANNOT BE TRUSTED", lines[-1])

    def test_no_control(self):
        found, _ = fake.run(self.folder, [fake.row("r", ["corbel"])], fake.Machine({}))
        self.assertIsNone(control.judge(found)[0])


class Catalogue(unittest.TestCase):
    def kernel(self, **more):
        made = catalogue.Kernel(Path("/k/fib"), "scheduler")
        made.descriptor = {**fake.DESCRIPTOR, "name": "fib", "threads": [1, 2],
                           "variants": [{"api": "classic", "name": "plain"},
                                        {"api": "classic", "name": "CB"}], **more}
        from lab.peers import Scheduler
        made.schedulers = [(Scheduler(name, name, api, "g++"), Path(f"/{name}"))
                           for name, api in (("serial", "serial"), ("tbb2020", "classic"),
                                             ("onetbb", "tbb"))]
        return made

    def people(self):
        from lab.contestants import Contestants
        from lab.peers import Allocator
        return Contestants(allocators={"glibc": Allocator(), "corbel": Allocator(["/c.so"])})

    def ids(self, kernel, **more):
        return {row.id: [c.id for c in row.contestants]
                for row in catalogue.rows([kernel], self.people(), "quick", **more)}

    def test_variants_and_one_serial_run(self):
        self.assertEqual(self.ids(self.kernel()), {
            "fib/-/t1": ["serial", "tbb2020", "tbb2020+CB", "onetbb"],
            "fib/-/t2": ["tbb2020", "tbb2020+CB", "onetbb"]})

    def test_allocators_under_schedulers(self):
        found = self.ids(self.kernel(allocators=["glibc", "corbel"]), threads=[2])
        self.assertEqual(list(found), ["fib/-/t2"])
        self.assertIn("onetbb@corbel", found["fib/-/t2"])
        self.assertIn("serial@glibc", found["fib/-/t2"])

    def test_a_fixed_number_of_threads_stays(self):
        self.assertEqual(list(self.ids(self.kernel(threads=[2]), threads=[1, 4])), ["fib/-/t2"])

    def test_a_quick_run_of_everything_has_fewer_threads(self):
        kernel = self.kernel(brief_threads=[2])
        everything = re.compile("")
        self.assertEqual(list(self.ids(kernel)), ["fib/-/t2"])
        self.assertEqual(list(self.ids(kernel, only=everything)), ["fib/-/t1", "fib/-/t2"])
        self.assertEqual(list(self.ids(kernel, threads=[1])), ["fib/-/t1"])

    def test_programs_from_outside_are_measured_only_when_asked_for(self):
        kernel = self.kernel(group=catalogue.OUTSIDE)
        self.assertEqual(self.ids(kernel), {})
        self.assertEqual(self.ids(kernel, only=re.compile("fib")), {})
        self.assertEqual(list(self.ids(kernel, outside=True)), ["fib/-/t1", "fib/-/t2"])
        self.assertEqual(self.ids(self.kernel(), outside=True), {})

    def test_a_case_that_not_all_interfaces_can_express(self):
        case = {**fake.DESCRIPTOR["cases"][0], "apis": ["tbb"]}
        found = self.ids(self.kernel(cases=[case]))
        self.assertEqual(found, {"fib/-/t1": ["serial", "onetbb"], "fib/-/t2": ["onetbb"]})


class Records(FolderTest):
    def test_every_run_is_a_line_with_all_figures(self):
        found, _ = fake.run(self.folder, [fake.row("r", ["corbel", "glibc"])], fake.Machine({}))
        lines = [json.loads(line) for line in (self.folder / results.RUNS).read_text().splitlines()]
        self.assertEqual(len(lines), 6)
        for name in ("row", "kernel", "case", "threads", "contestant", "scheduler", "variant",
                     "allocator", "round", "attempt", "order", "started", "value", "seconds",
                     "wall_seconds", "cpu_seconds", "others_cpu_seconds", "steal_seconds",
                     "disturbed", "kept", "checksum", "peak_rss_kib", "peak_vm_kib",
                     "minor_faults", "major_faults", "extra", "series", "failed"):
            self.assertIn(name, lines[0])
        results.write_table(found)
        table = (self.folder / results.TABLE).read_text().splitlines()
        self.assertEqual(len(table), 3)
        self.assertTrue(table[0].startswith("row,kernel,case,threads,contestant"))

    def test_folders_that_hold_no_run(self):
        with self.assertRaises(results.Broken):
            results.load(self.folder)
        self.folder.mkdir()
        (self.folder / results.PLAN).write_text("{")
        with self.assertRaises(results.Broken):
            results.load(self.folder)


if __name__ == "__main__":
    unittest.main()
