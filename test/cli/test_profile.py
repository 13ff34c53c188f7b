# SPDX-License-Identifier: Apache-2.0
"""corbel profile show and diff: names for addresses, tasks, pages; files that are no profiles."""
import gzip
import json
import re
import shutil
import subprocess
import unittest

import profiles
from profiles import RECORDER, Decoded, encode, raw_profile
from support import CORBEL, LIBRARY, CXX, CliTest, corbel
from pathlib import Path

HEADERS = Path(__file__).resolve().parents[2] / "include"
ONE = [1, 100, 1, 100, 1, 100]  # the values of one block of 100 bytes

INLINED = RECORDER + r"""
struct Shape { long size; };
static inline __attribute__((always_inline)) void innermost(long n) { record(n); }
namespace geometry {
inline __attribute__((always_inline)) void fill(Shape& shape) {
  innermost(shape.size);
}
}
__attribute__((noinline)) void outer(Shape& shape) {
  geometry::fill(shape);
  __asm__ volatile("" ::: "memory");
}
int main() {
  begin();
  Shape shape{4096};
  outer(shape);
}
"""


class ProfileTest(CliTest):
    def profile(self, name, *samples, **options):
        """A file with the samples (functions, values, labels)."""
        names = sorted({each for stack, _, _ in samples for each in stack})
        locations = {16 * (i + 1): [(i + 1, 7)] for i, _ in enumerate(names)}
        path = self.folder / name
        path.write_bytes(encode(
            [([16 * (names.index(each) + 1) for each in stack], values, labels)
             for stack, values, labels in samples], locations=locations,
            functions=[(each, f"/src/{each}.cpp") for each in names], **options))
        return path

    def recorded(self, program, name="raw.pb.gz", comments=()):
        """The raw profile of a program that has the recorder in it."""
        done = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True, check=True,
                              timeout=60)
        path = self.folder / name
        path.write_bytes(raw_profile(done.stdout, comments))
        return path

    def named(self, *files):
        """The profile that `show -o` makes of files, and what it says."""
        result = self.folder / "named.pb.gz"
        done = corbel("profile", "show", "-o", result, *files)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Decoded(result), done

    def refused(self, *words, code=1):
        """The one line that the command says."""
        done = corbel("profile", *words)
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1), done.stderr)
        return done.stderr


class Files(ProfileTest):
    def test_what_is_read_is_written(self):
        samples = [(["leaf", "main"], [3, 1 << 40, 1, 5, 2, 300], {"thread": "main (7)"}),
                   (["other", "main"], [1, 1, 0, 0, 1, 1], {}),
                   (["main"], ONE, {"thread": "main (7)", "task": "t"})]
        file = self.profile("a.pb", *samples, comments=["command: ./app", "pid: 7"])
        before, after = Decoded(file), self.named(file)[0]
        self.assertEqual(after.samples, before.samples)
        self.assertEqual((after.types, after.default, after.comments),
                         (profiles.TYPES, "inuse_space", ["command: ./app", "pid: 7"]))

    def test_equal_stacks_are_added_up(self):
        first = self.profile("a.pb", (["f", "main"], ONE, {}), comments=["command: ./a x", "pid: 5"])
        second = self.profile("b.pb", (["f", "main"], ONE, {}), (["f", "main"], ONE, {}))
        self.assertEqual([s[1] for s in self.named(second)[0].samples], [[2 * v for v in ONE]])
        both = self.named(first, second)[0]
        self.assertEqual([(s[1], s[2]) for s in both.samples],
                         [(ONE, {"process": "a (5)"}),
                          ([2 * v for v in ONE], {"process": "process (2)"})])

    def test_files_that_are_no_profiles(self):
        whole = gzip.compress(encode([([16], ONE, {})]))
        for content, word in ((b"", "empty"), (b"text\n", "not a profile"), (b"\x1f\x8b", "truncated"),
                              (whole[:-9], "truncated"), (whole[:20] + b"????" + whole[24:], ""),
                              (gzip.compress(b"\x7fELF\x02\x01"), "not a profile"),
                              (encode([])[:-3], "not a profile"),
                              (encode([([16], ONE[:-1], {})]), "not a profile")):
            file = self.folder / "bad.pb.gz"
            file.write_bytes(content)
            self.assertIn(word, self.refused("show", file), content)
            self.assertIn(str(file), self.refused("diff", file, file))

    def test_every_prefix_and_every_wrong_byte_is_survived(self):
        whole = encode([([16, 32], ONE, {"thread": "a"})], locations={16: [(1, 2)]},
                       functions=[("f", "f.cpp")], mappings=[(16, 64, 0, "/none", "")])
        file = self.folder / "bad.pb"
        for at in range(0, len(whole), 7):
            for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x85]) + whole[at + 1:]):
                file.write_bytes(content)
                self.assertIn(corbel("profile", "show", file).returncode, (0, 1), content)

    def test_a_bomb(self):
        # Texts without end, packed a thousandfold: it must not take much longer than reading it.
        file = self.folder / "bomb.pb.gz"
        file.write_bytes(gzip.compress(b"\0" * (1 << 24)))
        self.assertIn("not a profile", self.refused("show", file))

    def test_missing_files_and_folders(self):
        self.assertIn("No such file", self.refused("show", self.folder / "none"))
        self.assertIn("directory", self.refused("show", self.folder))
        good = self.profile("a.pb", (["f"], ONE, {}))
        self.assertIn("choose another place", self.refused("show", good, "-o", self.folder / "no" / "x.pb.gz"))
        self.assertIn("cannot write", self.refused("show", good, "--html", self.folder))

    @unittest.skipUnless(Path("/dev/full").exists(), "no /dev/full here")
    def test_a_full_disk(self):
        good = self.profile("a.pb", (["f"], ONE, {}))
        self.assertIn("No space left", self.refused("show", good, "-o", "/dev/full"))

    def test_an_empty_profile(self):
        self.assertIn("--every", self.refused("show", self.profile("a.pb")))

    def test_profiles_of_different_things(self):
        heap = self.profile("a.pb", (["f"], ONE, {}))
        time = self.profile("b.pb", (["f"], [5], {}), types=[("cpu", "nanoseconds")])
        self.assertIn("cpu/nanoseconds", self.refused("diff", heap, time))
        self.assertIn("cpu/nanoseconds", self.refused("show", heap, time))
        self.assertIn("0.00 s", corbel("profile", "show", time).stdout)


class Names(ProfileTest):
    def frames(self, profile):
        return profile.samples[0][0]

    def test_inlined_functions(self):
        program = self.compile("inlined", INLINED, "-g", "-O2", language="c++")
        frames = self.frames(self.named(self.recorded(program))[0])
        lines = INLINED.splitlines()
        line = {word: next(i for i, text in enumerate(lines, 1) if word in text)
                for word in ("record(n)", "innermost(shape", "geometry::fill(shape)", "outer(shape);")}
        self.assertEqual(frames[:4], [f"innermost inlined.cpp:{line['record(n)']}",
                                      f"geometry::fill(Shape&) inlined.cpp:{line['innermost(shape']}",
                                      f"outer(Shape&) inlined.cpp:{line['geometry::fill(shape)']}",
                                      f"main inlined.cpp:{line['outer(shape);']}"])

    def test_symbols_without_lines(self):
        program = self.compile("plain", INLINED, "-g0", language="c++")
        self.assertEqual(self.frames(self.named(self.recorded(program))[0])[:2],
                         ["outer(Shape&)", "main"])

    def test_a_stripped_program(self):
        program = self.compile("bare", INLINED, "-s", language="c++")
        profile, done = self.named(self.recorded(program))
        # Of each function, where it begins: it is the same for all calls in it.
        whole = self.compile("whole", INLINED, language="c++")
        start = next(int(line.split()[0], 16) for line in subprocess.run(
            ["nm", str(whole)], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
            if line.endswith(" _Z5outerR5Shape"))
        self.assertEqual(self.frames(profile)[0], f"bare+{start:#x}")
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertRegex(done.stderr, r"\d+ of \d+ frames have no name, .*bare: it is stripped")

    def test_another_build_is_not_asked(self):
        program = self.compile("app", INLINED, "-g", language="c++")
        raw = self.recorded(program)
        self.assertIn("outer(Shape&)", self.frames(self.named(raw)[0])[2])
        self.compile("app", INLINED.replace("outer", "renamed"), "-g", language="c++")
        profile, done = self.named(raw)
        self.assertRegex(self.frames(profile)[0], r"^app\+0x")
        self.assertIn("built again", done.stderr)
        program.unlink()
        self.assertIn("is gone", self.named(raw)[1].stderr)

    def test_debug_information_in_a_file_beside_the_program(self):
        if not shutil.which("objcopy"):
            self.skipTest("no objcopy here")
        program = self.compile("apart", INLINED, "-g", language="c++")
        for words in (["--only-keep-debug", program, f"{program}.debug"], ["-S", program],
                      [f"--add-gnu-debuglink={program}.debug", program]):
            subprocess.run(["objcopy", *map(str, words)], check=True, cwd=self.folder)
        self.assertIn("outer(Shape&)", self.frames(self.named(self.recorded(program))[0])[2])

    def test_code_that_is_in_no_file(self):
        file = self.folder / "a.pb"
        file.write_bytes(encode([([0x5010], ONE, {}), ([0x7010], ONE, {})],
                                mappings=[(0x7000, 0x8000, 0, "[vdso]", "")]))
        self.assertEqual([s[0] for s in self.named(file)[0].samples],
                         [["[code without a file]"], ["[vdso]"]])

    def test_the_allocator_is_no_frame(self):
        file = self.profile("a.pb", (["malloc", "operator new(unsigned long)", "f", "main"], ONE, {}),
                            (["malloc"], ONE, {}))
        self.assertEqual([[frame.split()[0] for frame in s[0]] for s in self.named(file)[0].samples],
                         [["f", "main"], ["malloc"]])


class Tasks(ProfileTest):
    SOURCE = RECORDER + r"""
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>
#include <atomic>
// Both threads are in the same call: each waits in a body for the other.
struct Meeting {
  std::atomic<int> here{0};
  void wait() {
    ++here;
    while (here < 2) {}
  }
};
struct Model { int parts; };
void convert(Model& model) {
  Meeting meeting;
  tbb::parallel_for(0, 2, [&](int) { meeting.wait(); record(model.parts); });
}
struct Body {
  Meeting& meeting;
  void operator()(const tbb::blocked_range<int>& range) const { meeting.wait(); record(20); }
};
void sum() {
  Meeting meeting;
  tbb::parallel_reduce(tbb::blocked_range<int>(0, 2), 0,
      [&](const tbb::blocked_range<int>& r, int v) { meeting.wait(); record(30); return v; },
      [](int a, int b) { return a + b; }, tbb::simple_partitioner());
}
void group() {
  Meeting meeting;
  tbb::task_group tasks;
  for (int i = 0; i < 2; ++i) tasks.run([&] { meeting.wait(); record(40); });
  tasks.wait();
}
int main() {
  begin();
  Model model{10};
  convert(model);
  Meeting meeting;
  tbb::parallel_for(tbb::blocked_range<int>(0, 2), Body{meeting}, tbb::simple_partitioner());
  sum();
  group();
  record(50);
}
"""
    EXPECTED = {10: "parallel_for in convert(Model&)", 20: "parallel_for in Body",
                30: "parallel_reduce in sum()", 40: "task_group in group()", 50: ""}

    @unittest.skipUnless((LIBRARY.parent / "libcorbel.so.1").exists(), "no scheduler in this build")
    def test_a_parallel_call_names_its_task(self):
        program = self.compile("tasks", self.SOURCE, "-std=c++20", "-g", "-I", HEADERS,
                               LIBRARY.parent / "libcorbel.so.1",
                               f"-Wl,-rpath,{LIBRARY.parent}", "-pthread", language="c++")
        found = {}
        threads = {}
        for frames, values, labels in self.named(self.recorded(program))[0].samples:
            size = values[1] // values[0]
            found.setdefault(size, set()).add(labels.get("task", ""))
            threads.setdefault(size, set()).add(frames[-1])
        self.assertEqual(found, {size: {task} for size, task in self.EXPECTED.items()})
        # The stack of the worker does not reach back to the call.
        self.assertEqual({size: len(each) for size, each in threads.items()},
                         {10: 2, 20: 2, 30: 2, 40: 2, 50: 1})

    def test_other_runtimes(self):
        names = {
            "tbb::detail::d1::start_for<tbb::detail::d1::blocked_range<int>, mesh(int)::{lambda(int)#1}"
            ", tbb::detail::d1::auto_partitioner const>::execute(tbb::detail::d1::execution_data&)":
                ("mesh(int)::{lambda(int)#1}::operator()(int) const", "parallel_for in mesh(int)"),
            "tbb::detail::d1::start_reduce<R, B, P>::execute(tbb::detail::d1::execution_data&)":
                ("Sum::operator()(R const&)", "parallel_reduce in Sum"),
            "tbb::detail::d1::function_task<work()::{lambda()#1}>::execute()":
                ("std::vector<int>::push_back(int)", "task_group in work()"),
            # What -g1 leaves: no parameters and no scopes of inlined functions.
            "run<corbel::detail::loop_runner<mesh(int)::<lambda(int)>, corbel::detail::copy_body> >":
                ("operator()", "parallel_for in mesh(int)"),
            # Without debug information the body is inside of what calls it.
            "void corbel::detail::chunk_loop<int>::run<corbel::detail::loop_runner<"
            "mesh(Model&)::{lambda(int)#1}, corbel::detail::copy_body> >(int) const":
                ("std::vector<int>::push_back(int)", "parallel_for in mesh(Model&)"),
            "GOMP_parallel": ("render(int) [clone ._omp_fn.0]", "omp parallel in render(int)"),
            "parallel_for_all(int)": ("f(int)", ""),
        }
        file = self.folder / "a.pb"
        functions = [(name, "/usr/include/corbel/x.hpp" if name[:4] == "run<" else "")
                     for outer, (body, _) in names.items() for name in (body, outer)]
        file.write_bytes(encode(
            [([32 * i + 16, 32 * i + 32], ONE, {}) for i in range(len(names))],
            locations={16 * i + 16: [(i + 1, 1)] for i in range(len(functions))},
            functions=functions))
        self.assertEqual([s[2].get("task", "") for s in self.named(file)[0].samples],
                         [task for _, task in names.values()])


class Output(ProfileTest):
    def page_data(self, path):
        text = path.read_text()
        # No reference leads out of the page.
        self.assertIsNone(re.search(r"(?:src|href)\s*=|url\(|@import|https?://", text))
        return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))

    def test_the_table_is_sorted_and_sums_up(self):
        file = self.profile("a.pb", (["small"], ONE, {}), (["big"], [50 * v for v in ONE], {}),
                            (["middle"], [3 * v for v in ONE], {}))
        lines = corbel("profile", "show", "-n", 2, file).stdout.splitlines()
        self.assertEqual([line.split()[-2] for line in lines[1:3]], ["big", "middle"])
        self.assertRegex(lines[3], r"5\.3 KiB .* all 3 places$")
        self.assertEqual(len(lines), 4)

    def test_names_cannot_control_the_terminal(self):
        file = self.profile("a.pb", (["\x1b[2Jf\tü\x7f"], ONE, {}))
        self.assertIn(" ?[2Jf?ü? ", corbel("profile", "show", file).stdout)

    def test_what_is_left_at_the_end_may_be_nothing(self):
        file = self.profile("a.pb", (["a"], [1, 100, 0, 0, 1, 100], {}),
                            (["b"], [9, 900, 0, 0, 0, 0], {}))
        lines = corbel("profile", "show", file).stdout.splitlines()
        self.assertTrue(lines[0].endswith("place (most at peak first)"), lines)
        self.assertIn(" a a.cpp:7", lines[1])

    def test_the_page_has_all_samples(self):
        file = self.profile("a.pb", (["leaf", "main"], ONE, {"thread": "</script><b>"}),
                            (["leaf", "main"], ONE, {"thread": "b", "task": "t"}),
                            (["main"], [4 * v for v in ONE], {}))
        page = self.folder / "a.html"
        self.assertEqual(corbel("profile", "show", file, "--html", page).returncode, 0)
        data = self.page_data(page)
        self.assertEqual(data["threads"], ["</script><b>", "b", ""])
        self.assertEqual(data["tasks"], ["", "t"])
        self.assertEqual(data["now"][3], [100, 100, 400])
        self.assertEqual((data["nodeParent"], data["sampleNode"]), ([-1, 0], [1, 1, 0]))
        self.assertEqual([data["strings"][i] for i in data["fnName"]], ["leaf", "main"])
        self.assertNotIn("old", data)

    def test_a_difference(self):
        old = self.profile("a.pb", (["gone", "main"], ONE, {}), (["same", "main"], ONE, {}))
        new = self.profile("b.pb", (["same", "main"], ONE, {}),
                           (["added", "main"], [5 * v for v in ONE], {}))
        page = self.folder / "d.html"
        done = corbel("profile", "diff", old, new, "--html", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()[1:]]
        self.assertEqual([(row[4:6], row[6]) for row in rows[:2]],
                         [(["+500", "B"], "added"), (["-100", "B"], "gone")])
        self.assertEqual(rows[2][:6], ["200", "B", "600", "B", "+400", "B"])
        data = self.page_data(page)
        leaf = [data["strings"][data["fnName"][data["frameFn"][data["nodeFrame"][i]]]]
                for i in data["sampleNode"]]
        self.assertEqual(dict(zip(leaf, zip(data["old"][3], data["now"][3]))),
                         {"gone": (100, 0), "same": (100, 100), "added": (0, 500)})

    def test_mistakes(self):
        for words in ([], ["heap"], ["heap", "--"], ["heap", "--every", "lots", "--", "true"],
                      ["heap", "--every", "0", "--", "true"],
                      ["heap", "--html", "a", "--no-html", "--", "true"], ["show"], ["diff"],
                      ["diff", "one"], ["diff", "a", "b", "c"], ["fly"]):
            done = corbel("profile", *words)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn("--help", done.stderr)


if __name__ == "__main__":
    unittest.main()
