# SPDX-License-Identifier: Apache-2.0
"""The table of misuse: how a run is judged, how runs are counted and shown, and that the program of
each kind really commits its misuse: AddressSanitizer must report it."""
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]

from lab import fetch  # noqa: E402
from lab.misuse import command, contestants, figure, judge, kinds, record, runner, table  # noqa: E402

# What AddressSanitizer calls each kind. uninitialised_read is missing: it does not look for that.
REPORTS = {
    "double_free": "attempting double-free", "double_free_in_turns": "attempting double-free",
    "double_free_later": "attempting double-free", "double_free_by_threads": "attempting double-free",
    "realloc_freed": "attempting double-free|heap-use-after-free",
    "free_interior": "attempting free on address which was not malloc",
    "free_misaligned": "attempting free on address which was not malloc",
    "free_stack": "attempting free on address which was not malloc",
    "free_static": "attempting free on address which was not malloc",
    "free_foreign": "attempting free on address which was not malloc",
    "overflow_1": "heap-buffer-overflow", "overflow_8": "heap-buffer-overflow",
    "overflow_4096": "heap-buffer-overflow", "underflow_1": "heap-buffer-overflow",
    "underflow_8": "heap-buffer-overflow", "write_after_free": "heap-use-after-free",
    "write_after_free_later": "heap-use-after-free", "read_after_free": "heap-use-after-free",
    "read_after_free_later": "heap-use-after-free", "planted_address": "heap-use-after-free",
    "wrong_size": "new-delete-type-mismatch", "malloc_delete": "malloc vs operator delete",
    "new_free": "operator new vs free", "array_delete": r"operator new \[\] vs operator delete",
    "aligned_new_delete": "new-delete-type-mismatch", "memalign_delete": "vs operator delete",
    "leak": "detected memory leaks",
}


def compiled(asan):
    try:
        return kinds.program(asan)
    except fetch.Unavailable as why:
        raise unittest.SkipTest(str(why)) from None


class Judged(unittest.TestCase):
    """What an allocator may write and how the program may end, for each outcome."""

    def check(self, expected, fault, code, output="", errors="", late=False):
        self.assertEqual(judge.outcome(fault, code, output, errors, late)[0], expected)

    def test_a_message_that_names_the_fault(self):
        for fault, line in (
                ("double free", "free(): double free detected in tcache 2"),
                ("double free", "corbel: free: the block was freed twice (block 0x7f00)"),
                ("double free", "Scudo ERROR: invalid chunk state when deallocating address 0x1"),
                ("invalid free", "corbel: free: not a heap block: it lies in the stack"),
                ("invalid free", "munmap_chunk(): invalid pointer"),
                ("overflow", "mimalloc: error: buffer overflow in heap block 0x1 of size 100"),
                ("underflow", "double free or corruption (out)"),
                ("use after free", "Use After Free at 0x7f00 (0 bytes into a 100-byte allocation)"),
                ("use after free", "Use After Free (warning: buffer overflow detected) at 0x7f00"),
                ("wrong size", "Scudo ERROR: invalid sized delete when deallocating address 0x1"),
                ("mismatch", "==7==ERROR: AddressSanitizer: alloc-dealloc-mismatch (malloc vs x)"),
                ("mismatch", "corbel: delete of a block of 24 bytes from malloc (block 0x1)"),
                ("underflow", "corbel: write before the beginning of a block of 24 bytes"),
                ("wrong size", "corbel: delete with a size of 96 for a block of 24 bytes"),
                ("invalid free", "corbel: free of a pointer 16 bytes into a block of 24 bytes"),
                ("leak", "==7==ERROR: LeakSanitizer: detected memory leaks"),
                ("uninitialised", "Conditional jump depends on uninitialised value(s)")):
            self.check("named", fault, -6, errors=line + "\n")
        # The allocator may go on, and then the program knows nothing of it.
        self.check("named", "double free", 0, "MISSED: nothing happened\n",
                   "mimalloc: error: double free detected of block 0x1 with size 112\n")

    def test_a_message_that_does_not(self):
        for fault, line in (("mismatch", "free(): invalid pointer"),
                            ("double free", 'include/a.h:7: Failed assertion: "x != NULL"'),
                            ("invalid free", "Scudo ERROR: corrupted chunk header at address 0x1")):
            self.check("said", fault, -6, errors=line)

    def test_the_line_that_names_the_fault_is_chosen(self):
        errors = ("=====\nmimalloc: warning: no huge pages\n*** GWP-ASan detected a memory error ***\n"
                  "Double Free at 0x7f2b (a 100-byte allocation) by thread 26216 here:\n  #0 x.so\n")
        self.assertEqual(judge.message(errors, "double free"),
                         ("Double Free at 0x… (a 100-byte allocation) by thread N here:", True))

    def test_messages_do_not_differ_between_machines(self):
        self.assertEqual(
            judge.plain("==12==ERROR: it lies in /a/b-c/misuse-0123456789abcdef (data) at 0xAb1"),
            "ERROR: it lies in misuse (data) at 0x…")
        self.assertEqual(judge.plain("include/x/cache.h:70: Failed"), "cache.h:70: Failed")

    def test_ends_without_a_message(self):
        for code in (-6, -4, -5):
            self.check("stopped", "overflow", code)
        for code in (-11, -7):
            self.check("crashed", "overflow", code, errors="mimalloc: warning: a note\n")

    def test_what_the_program_says(self):
        self.check("missed", "overflow", 0, "MISSED: nothing happened\n")
        self.check("defused", "overflow", 0, "DEFUSED: the old content is gone\n")
        self.check("harmed", "overflow", 0, "HARMED: a block changed\n")
        outcome, line = judge.outcome("double free", 0, "HARMED: a block changed\n",
                                      "mimalloc: error: double free detected")
        self.assertEqual(outcome, "harmed")
        self.assertIn("it had said: mimalloc", line)

    def test_runs_that_show_nothing(self):
        self.check("hung", "overflow", 0, late=True)
        self.check("broken", "overflow", 0)
        self.check("broken", "overflow", 3, "MISSED: nothing happened\n")
        self.check("broken", "overflow", 0, "IMPOSSIBLE: mmap failed\n")

    def test_the_control_has_no_words(self):
        self.check("said", "none", 0, "MISSED: nothing happened\n", "a double free overflow\n")


class Counted(unittest.TestCase):
    def test_a_cell_has_one_verdict(self):
        for counts, verdict in (({"named": 5}, "named"), ({"named": 4, "said": 1}, "found"),
                                ({"named": 1, "missed": 99}, "sometimes"),
                                ({"said": 1, "crashed": 4}, "sometimes"),
                                ({"crashed": 1, "missed": 4}, "ended"), ({"hung": 5}, "ended"),
                                ({"stopped": 5}, "ended"), ({"defused": 5}, "defused"),
                                ({"defused": 4, "missed": 1}, "missed"), ({"missed": 5}, "missed"),
                                ({"named": 99, "harmed": 1}, "harmed"), ({"broken": 5}, "missed")):
            self.assertEqual(record.Cell(counts, {}).verdict, verdict, counts)

    def test_percentages_are_never_rounded_to_all_or_nothing(self):
        self.assertEqual([table.percent(part, 1000) for part in (0, 1, 500, 999, 1000)],
                         ["0 %", "1 %", "50 %", "99 %", "100 %"])

    def test_more_runs_where_chance_decides_or_the_first_differ(self):
        def kind(**more):
            return kinds.Kind("k", "overflow", "", **{
                "by_chance": False, "any_size": True, "far": False, **more})

        def contestant(**more):
            return contestants.Contestant("c", "C", "default", "", "", ("true",), {}, **more)

        same, chance, far = kind(), kind(by_chance=True), kind(by_chance=True, far=True)
        self.assertEqual(runner.counts(same, contestant(), 100), (5, 100))
        self.assertEqual(runner.counts(chance, contestant(), 100), (100, 100))
        self.assertEqual(runner.counts(same, contestant(sampled=True), 100), (100, 100))
        self.assertEqual(runner.counts(far, contestant(), 100), (10, 100))
        self.assertEqual(runner.counts(far, contestant(slow=True), 100), (3, 3))
        self.assertEqual(runner.counts(chance, contestant(most=2), 100), (2, 2))

        said = iter([("missed", "")] * 4 + [("named", "x")] * 8)
        with mock.patch.object(runner, "once", lambda *_: next(said)):
            facts = []
            found = runner.cell(same, contestant(), 100, 12, facts.append)
        self.assertEqual((found.runs, found.verdict, len(facts)), (12, "sometimes", 12))
        with mock.patch.object(runner, "once", lambda *_: ("missed", "")):
            self.assertEqual(runner.cell(same, contestant(), 100, 12, facts.append).runs, 5)
        with mock.patch.object(runner, "once", lambda *_: ("hung", "")):
            self.assertEqual(runner.cell(chance, contestant(), 100, 12, facts.append).runs, 3)

    def test_a_run_that_does_not_end(self):
        one = contestants.Contestant("c", "C", "default", "", "", ("sh", "-c", "sleep 1000"), {})
        kind = kinds.Kind("k", "overflow", "", False, True, False)
        self.assertEqual(runner.once(kind, one, 24, 1, timeout=0.2)[0], "hung")

    def test_every_run_is_a_line_of_the_results(self):
        script = 'echo "MISSED: nothing ($1 $2 $3)"'
        one = contestants.Contestant("c", "C", "default", "", "", ("sh", "-c", script, "sh"), {})
        kind = kinds.Kind("k", "overflow", "", False, False, False)
        lines = io.StringIO()
        cells, stopped = runner.run([kind], [one], 3, lines)
        self.assertFalse(stopped)
        found = [json.loads(line) for line in lines.getvalue().splitlines()]
        self.assertEqual(len(found), 3 * len(kinds.SIZES))
        self.assertEqual({cell.runs for cell in cells["c"]["k"].values()}, {3})
        self.assertIn("nothing (k size=24 seed=2)", [line["line"] for line in found])


    def test_an_interruption_leaves_whole_contestants(self):
        one, two = (contestants.Contestant(name, name, "default", "", "", ("true",), {})
                    for name in ("one", "two"))
        kind = kinds.Kind("k", "overflow", "", False, False, False)

        def once(_, contestant, *__):
            if contestant.name == "two":
                raise KeyboardInterrupt  # reaches the main thread through the future
            return "missed", ""

        with mock.patch.object(runner, "once", once), \
                mock.patch.object(runner.os, "sched_getaffinity", lambda _: {0}):
            cells, stopped = runner.run([kind], [one, two], 1, io.StringIO())
        self.assertTrue(stopped)
        self.assertEqual({name: len(found["k"]) for name, found in cells.items()},
                         {"one": len(kinds.SIZES)})


def invented():
    """Results with every verdict, and a false alarm."""
    cells = {name: record.Cell(counts, {next(iter(counts)): f"line of <{name}> | x"})
             for name, counts in figure.EXAMPLES.items()}
    own = {name: {size: cells[verdict] for size in kinds.SIZES}
           for name, verdict in zip(kinds.ORDER, [*cells] * 4)}
    own["leak"] = {24: cells["named"], 100: cells["missed"]}
    own[kinds.CONTROL] = {24: record.Cell({"said": 2}, {"said": "a false alarm"})}
    other = {"double_free": {100: cells["harmed"]}, kinds.CONTROL: {100: cells["missed"]}}
    facts = {"strength": "default", "setting": "", "commit": "abc", "date": "2026-01-01",
             "runs": 100}
    meta = {"runs": 2, "kinds": {name: f"what {name} is" for name in kinds.ORDER},
            "machine": dict.fromkeys(("distribution", "kernel", "architecture", "c_library",
                                      "compiler"), "m"),
            "contestants": [{"name": "corbel", "title": "Corbel 1", **facts},
                            {"name": "glibc", "title": "glibc 2", **facts}]}
    return record.Results(meta, {"corbel": own, "glibc": other})


class Shown(unittest.TestCase):
    def test_the_tables(self):
        text = table.markdown(invented(), "misuse.svg")
        self.assertIn("| double free | ● | ✗ |", text)
        self.assertIn("| leak | ● / · |  |", text)
        self.assertIn("| double free later | ◐ 50 % |  |", text)
        self.assertIn("Corbel 1, 24 bytes: said, `a false alarm`", text)
        self.assertIn("`line of <named> \\| x` | double free,", text)
        shares = next(line for line in text.splitlines() if line.startswith("| glibc 2"))
        self.assertEqual(shares, "| glibc 2 | – | – | – | – | – | – | 100 % | – |")

    def test_what_a_peer_finds_and_the_strength_for_tests_does_not(self):
        found = invented()
        own, other = found.meta["contestants"]
        own.update(name="corbel-full", strength="testing")
        always, missed = record.Cell({"said": 5}, {}), record.Cell({"missed": 5}, {})
        found.cells = {"corbel-full": {"overflow_1": {24: missed, 100: always, 3000: missed}},
                       "glibc": {"overflow_1": {24: always, 100: always, 3000: missed}}}
        self.assertEqual(table.gaps(found, "corbel-full"), [("overflow_1", 24, "glibc")])
        self.assertIn("Corbel 1: overflow 1, 24 bytes, which glibc finds", table.gaps_text(found))
        other["strength"] = "tool"
        self.assertEqual(table.gaps(found, "corbel-full"), [])
        self.assertIn("Corbel 1: nothing", table.gaps_text(found))
        self.assertEqual(table.gaps_text(invented()), "")

    def test_the_figure_and_the_page_are_well_formed(self):
        found = invented()
        for text in (figure.file(found), figure.draw(found)):
            ElementTree.fromstring(text)
        page = figure.whole_page(found)
        self.assertIn("line of &lt;named&gt; | x", page)
        self.assertNotIn("<named>", page)
        self.assertNotRegex(page, r'(src|href)="http')

    def test_a_page_keeps_its_own_words(self):
        once = table.insert(f"{table.BEGIN}\nold\n{table.END}\n", "# Title\n\nBefore.\n")
        again = table.insert(f"{table.BEGIN}\nnew\n{table.END}\n", once + "\nAfter.\n")
        self.assertIn("Before.", again)
        self.assertIn("After.", again)
        self.assertIn("new", again)
        self.assertNotIn("old", again)

    def test_results_can_be_read_and_merged(self):
        with tempfile.TemporaryDirectory() as folder:
            one, two = Path(folder) / "1.json", Path(folder) / "2.json"
            invented().save(one)
            newer = invented()
            newer.meta["contestants"] = [{**newer.meta["contestants"][0], "commit": "def"}]
            newer.cells = {"corbel": {"leak": {24: record.Cell({"named": 1}, {"named": "l"})}}}
            newer.save(two)
            found = record.load([one, two])
        self.assertEqual([one["commit"] for one in found.contestants], ["def", "abc"])
        self.assertEqual(found.of("corbel", "leak")[0][1].verdict, "named")
        self.assertEqual(found.of("glibc", "double_free")[0][1].verdict, "harmed")

    def test_wrong_options_say_what_to_do(self):
        for words, why in ((["--peers", "nosuch"], "no contestant 'nosuch'"),
                           (["--only", "^nosuch$"], "no kind's name matches"),
                           (["--table", "/nosuch.json"], "nosuch.json")):
            errors = io.StringIO()
            with redirect_stderr(errors), redirect_stdout(io.StringIO()):
                compiled(False)
                self.assertEqual(command.main(words), command.WRONG_USE)
            self.assertIn(why, errors.getvalue())


class Programs(unittest.TestCase):
    def test_the_program_lists_the_kinds_of_the_table(self):
        path = compiled(False)
        told = subprocess.run([path, "--list"], capture_output=True, text=True).stdout
        names = [json.loads(line)["name"] for line in told.splitlines()]
        self.assertEqual(sorted(names), sorted([kinds.CONTROL, *kinds.ORDER]))
        listed = kinds.listed(path)
        self.assertEqual(set(REPORTS), set(listed) - {kinds.CONTROL, "uninitialised_read"})
        for kind in listed.values():
            self.assertIn(kind.fault, judge.WORDS)

    def test_each_commits_its_misuse(self):
        path = compiled(True)
        env = {**os.environ, "ASAN_OPTIONS": "symbolize=0"}
        for name, report in REPORTS.items():
            with self.subTest(name):
                done = subprocess.run([path, name, "far=1000"], env=env, capture_output=True,
                                      text=True, timeout=300)
                self.assertRegex(done.stderr, report)
                self.assertNotEqual(done.returncode, 0)

    def test_a_program_without_misuse(self):
        for path in (compiled(True), compiled(False)):
            for size in kinds.SIZES:
                done = subprocess.run([path, kinds.CONTROL, f"size={size}"], capture_output=True,
                                      text=True, timeout=300)
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (0, "MISSED: nothing happened\n", ""), size)

    def test_an_uninitialised_read_shows_what_the_allocator_left_there(self):
        path = compiled(False)
        env = {name: os.environ[name] for name in ("PATH",)}
        # A block from a thread cache is not filled.
        filled = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
        for more, expected in (({}, "HARMED"), (filled, "DEFUSED")):
            done = subprocess.run([path, "uninitialised_read", "size=3000"], env={**env, **more},
                                  capture_output=True, text=True, timeout=300)
            self.assertIn(expected, done.stdout)

    def test_wrong_arguments_say_what_to_do(self):
        path = compiled(False)
        for words, why in ((["nosuch"], "--list shows them"), (["none", "size=x"], "'size=x' must"),
                           (["none", "size=8"], "at least 24"), ([], "--list shows them")):
            done = subprocess.run([path, *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
