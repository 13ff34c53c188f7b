# SPDX-License-Identifier: Apache-2.0
"""corbel trace: the timeline as a page and as JSON, and what goes wrong."""
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from support import CXX, CliTest, clean_environment, corbel

INCLUDE = Path(os.environ["CORBEL_SOURCE_DIR"]) / "include"
LIBRARIES = Path(os.environ["CORBEL_LIB_DIR"])
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

PROGRAM = r"""
#include <corbel/global_control.hpp>
#include <corbel/parallel_for.hpp>
#include <corbel/task_group.hpp>
#include <atomic>
#include <csignal>
#include <cstring>
#include <new>
#include <thread>

std::atomic<int> inside{0};

void meet() {  // ends when two threads are in it
  ++inside;
  while (inside.load() < 2) std::this_thread::yield();
}

void convert() {
  corbel::task_group group;
  for (int i = 0; i < 2; ++i) group.run([] { meet(); });
  group.wait();
  for (int i = 0; i < 100; ++i) group.run([] {});
  group.wait();
}

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "quiet") == 0) return 0;
  corbel::task_scheduler_handle handle{corbel::attach{}};
  convert();
  // A wait ends before the worker has written down the end of the last task.
  corbel::finalize(handle, std::nothrow);
  if (count > 1 && std::strcmp(words[1], "killed") == 0) raise(SIGKILL);
  return 3;
}
"""


# Events as from a mouse, and whether each did what it should.
MOUSE = r"""{
canvas.setPointerCapture = () => {};
const done = [], send = (Type, name, x, y, more) => canvas.dispatchEvent(
    new Type(name, {clientX: x + canvas.getBoundingClientRect().left,
                    clientY: y + canvas.getBoundingClientRect().top, bubbles: true, cancelable: true,
                    pointerId: 1, button: 0, ...more}));
const drag = (x, y, to, more) => {
  send(PointerEvent, 'pointerdown', x, y, more);
  send(PointerEvent, 'pointermove', to, y, more);
  send(PointerEvent, 'pointerup', to, y, more);
};
const width = () => view.to - view.from;
let was = width(), at = view.time(400);
send(WheelEvent, 'wheel', 400, 60, {deltaY: -200});
if (width() < was && Math.abs(view.time(400) - at) < width() / 1000) done.push('zoomed');
was = view.from;
drag(500, 60, 400);
if (view.from > was) done.push('moved');
drag(300, 60, 500, {shiftKey: true});
was = view.measured[1] - view.measured[0];
document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
if (Math.abs(width() - was) < 2) done.push('measured');
view.fit();
view.draw();
const lane = trace.lanes[0], y = view.rowTop(lane, 0) + 4;
drag(view.x((lane.begin[0] + lane.end[0]) / 2), y, view.x((lane.begin[0] + lane.end[0]) / 2));
if (view.selected && view.selected.index === 0) done.push('selected');
drag(20, y, 20);
if (lane.folded) done.push('folded');
drag(20, y, 20);
if (!lane.folded) done.push('unfolded');
view.scrollTo(1e9);
if (view.scroll === Math.max(0, view.contentHeight() + AXIS - view.height)) done.push('scrolled');
send(WheelEvent, 'wheel', 400, 60, {deltaY: -2000});
byId('fit').click();
if (view.from < trace.begin && view.to > trace.end) done.push('fit');
document.body.dataset.text = done.join(' ');
}"""


def data_of(page):
    """What the page has embedded: (about, events of each thread, steals)."""
    about = json.loads(re.search(r'id="about">(.*?)</script>', page, re.S).group(1))
    text = re.search(r'id="data">(.*?)</script>', page, re.S).group(1)
    stream = iter(base64.b64decode(text))

    def number():
        value = shift = 0
        while True:
            byte = next(stream)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    threads = []
    for _ in about["threads"]:
        begin, events = 0, []
        for _ in range(number()):
            begin += number()
            events.append((begin, number(), number()))
        threads.append(events)
    taken, steals = 0, []
    for _ in range(number()):
        taken += number()
        steals.append((taken, taken - number(), number(), number()))
    return about, threads, steals


class Trace(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = CliTest()
        cls.shared.setUp()
        cls.addClassCleanup(cls.shared.doCleanups)
        cls.program = cls.shared.compile(
            "traced", PROGRAM, "-std=c++17", f"-I{INCLUDE}", f"-L{LIBRARIES}", "-lcorbel",
            f"-Wl,-rpath,{LIBRARIES}", "-pthread", language="c++")

    def trace(self, *words, output=None):
        output = output or self.folder / "page.html"
        return corbel("trace", "-o", output, "--", self.program, *words), output

    def fails(self, done, code, *texts):
        """The command has ended with the code and one line that has the texts."""
        self.assertEqual(done.returncode, code, done.stderr)
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("corbel: "))
        for text in texts:
            self.assertIn(text, lines[0])

    def test_page(self):
        done, output = self.trace("input")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stderr, f"corbel: the timeline is in {output}\n")
        page = output.read_text()
        self.assertNotRegex(page, r"https?://|\{\{|<link|src=|@import|url\(")
        about, threads, steals = data_of(page)
        self.assertEqual(about["title"], f"{self.program} input")
        names = [f["name"] for f in about["functions"]]
        self.assertIn("convert, lambda 1 (task_group)", names)
        self.assertIn("convert, lambda 2 (task_group)", names)
        self.assertEqual(about["threads"][:2], ["thread 1", "worker 2"])
        tasks = sum(code >= 3 for events in threads for _, _, code in events)
        self.assertEqual(tasks, about["figures"]["tasks"])
        self.assertGreaterEqual(tasks, 102)
        self.assertGreaterEqual(len(steals), 1)
        self.assertEqual(len(steals), about["figures"]["stolen"])
        for taken, pushed, from_thread, to in steals:
            self.assertLessEqual(pushed, taken)
            self.assertNotEqual(from_thread, to)
        kinds = {code for events in threads for _, _, code in events}
        self.assertLessEqual({0, 1}, kinds)
        for events in threads:
            self.assertEqual(events, sorted(events, key=lambda e: (e[0], -e[1])))

    def test_default_name_and_json(self):
        done = subprocess.run([os.environ["CORBEL_BIN_DIR"] + "/corbel", "trace", "--", self.program],
                              cwd=self.folder, env=clean_environment(), stderr=subprocess.PIPE,
                              text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertTrue((self.folder / "traced.trace.html").exists())

        done, output = self.trace(output=self.folder / "trace.json")
        self.assertEqual(done.returncode, 3)
        named = json.loads(output.read_text())
        tasks = [e for e in named["traceEvents"] if e.get("cat") == "task"]
        self.assertIn("convert, lambda 1 (task_group)", {e["name"] for e in tasks})
        arrows = [e["ph"] for e in named["traceEvents"] if e["ph"] in "sf"]
        self.assertEqual(arrows.count("s"), arrows.count("f"))
        self.assertGreaterEqual(arrows.count("s"), 1)

        # The page of that file, and of what it was made from, say the same.
        shown = corbel("trace", "show", output)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        about, threads, steals = data_of((self.folder / "trace.html").read_text())
        self.assertEqual(sum(code >= 3 for t in threads for _, _, code in t), len(tasks))
        self.assertEqual(len(steals), arrows.count("s"))
        self.assertIn("convert, lambda 1 (task_group)", [f["name"] for f in about["functions"]])

    def test_show_what_the_library_wrote(self):
        raw = self.folder / "raw.json"
        subprocess.run([self.program], env=clean_environment(CORBEL_TRACE=raw), check=False)
        done = corbel("trace", "show", raw, "-o", self.folder / "x.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        about, threads, _ = data_of((self.folder / "x.html").read_text())
        events = json.loads(raw.read_text())["traceEvents"]
        self.assertEqual(
            sorted((round(1000 * e["ts"]), round(1000 * e["dur"])) for e in events if e["ph"] == "X"),
            sorted((begin, length) for each in threads for begin, length, _ in each))
        self.assertIn("convert, lambda 2 (task_group)", [f["name"] for f in about["functions"]])

        # Cut off anywhere, it is said to be; where nothing is left, it is no trace.
        whole = raw.read_text()
        cut = self.folder / "cut.json"
        for size in (len(whole) - 2, len(whole) // 2, 300):
            cut.write_text(whole[:size])
            self.fails(corbel("trace", "show", cut), 1, f"{cut} is cut off", "trace it again")
        self.assertFalse((self.folder / "cut.html").exists())

        done = corbel("trace", "show", raw, "-o", "/dev/full")
        self.fails(done, 1, "/dev/full is incomplete (No space left on device)", "-o")
        done = corbel("trace", "show", raw, "-o", self.folder / "no" / "x.html")
        self.fails(done, 1, "cannot write", "No such file", "-o")

    def test_no_trace(self):
        for name, text in (("text", "hello\n"), ("json", '{"a": [1, 2]}'), ("list", "[1, 2]"),
                           ("binary", "\x7fELF\0\1"), ("deep", "[" * 5000)):
            file = self.folder / name
            file.write_text(text)
            self.fails(corbel("trace", "show", file), 1, f"{file} is not a trace",
                       "corbel trace -- ./app")
        empty = self.folder / "empty"
        empty.write_text("")
        self.fails(corbel("trace", "show", empty), 1, f"{empty} is empty")
        self.fails(corbel("trace", "show", self.folder), 1, "is not a file")
        self.fails(corbel("trace", "show", self.folder / "none"), 1, "No such file")

    def test_full_disk_in_the_program(self):
        done = subprocess.run([self.program], env=clean_environment(CORBEL_TRACE="/dev/full"),
                              stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^corbel: CORBEL_TRACE: the timeline is incomplete: .+\n$")

    def test_commands_that_cannot_be_traced(self):
        self.fails(corbel("trace", "--", "/no/such/program"), 127, "/no/such/program")
        self.fails(corbel("trace", "-o", "/no/folder/x.html", "--", self.program), 125,
                   "cannot write /no/folder/x.html", "-o")
        done, output = self.trace("quiet")
        self.fails(done, 125, "has written no timeline", "--tbb")
        self.assertFalse(output.exists())
        done = corbel("trace", "-o", self.folder / "x.html", "--", "/bin/true")
        self.fails(done, 125, "/bin/true has written no timeline")
        done, output = self.trace("killed")
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)
        self.assertIn("was ended by signal 9", done.stderr)
        self.assertFalse(output.exists())

    def test_names(self):
        end = "(corbel::detail::task_base*, corbel::detail::thread_data&, bool)"
        loop = "corbel::detail::loop_task<corbel::detail::chunk_loop<int, corbel::detail::even_chunks>, "
        expected = {
            f"{loop}Scale const, corbel::detail::copy_body>::share{end}": "Scale (parallel_for)",
            f"{loop}model::Sum, corbel::detail::split_body>::share{end}":
                "model::Sum (parallel_reduce)",
            f"{loop}corbel::detail::for_each_call<int, int, void (int&)>::run>::share{end}":
                "parallel_for_each",
            f"{loop}corbel::detail::numbers_body<int, (anonymous namespace)::f(std::vector<int> "
            f"const&)::{{lambda()#7}}::operator()() const::{{lambda(int)#1}}, true>>::share{end}":
                "f, lambda 7, lambda 1 (parallel_for)",
            f"corbel::detail::fork_task<fib(int)::{{lambda()#2}}>::execute{end}":
                "fib, lambda 2 (parallel_invoke)",
            f"corbel::detail::pipeline_call::run_token{end}": "parallel_pipeline",
            f"corbel::detail::body_task<int>::run{end}": "function_node",
            f"corbel::tbb12::(anonymous namespace)::run{end}": "oneTBB task",
            "Mesh::smooth<double>(int)": "Mesh::smooth",
            "corbel::detail::loop_task<": "parallel_for",  # cut off
            "": "",
        }
        program = self.compile(
            "names", """
                #include "timeline/function_names.cpp"
                #include <iostream>
                int main() {
                  for (std::string line; std::getline(std::cin, line);) {
                    std::cout << corbel::cli::timeline::short_name(line) << std::endl;
                  }
                }""", "-std=c++20", "-O0", "-DFMT_HEADER_ONLY", f"-I{INCLUDE.parent}/tools/corbel",
            language="c++")
        done = subprocess.run([program], input="\n".join(expected) + "\n", stdout=subprocess.PIPE,
                              text=True, check=True)
        self.assertEqual(done.stdout.splitlines(), list(expected.values()))

    @unittest.skipIf(CHROMIUM is None, "there is no chromium")
    def test_a_browser_draws_it(self):
        _, output = self.trace()
        page = output.read_text()
        for script, texts in (
                ("", ["<b>102</b>", "thread 1", "worker 2", "convert, lambda 2"]),
                (MOUSE, ['data-text="zoomed moved measured selected folded unfolded scrolled fit"']),
                # What the keys do.
                ("find('lambda 2'); step(1); step(1); toggleArrows(); otherTheme(); view.draw();"
                 "document.body.dataset.text = byId('details').textContent + byId('found').textContent",
                 ['data-text="convert, lambda 2 (task_group)', "100 tasks"])):
            output.write_text(page.replace("</body>", f"<script>{script}</script></body>"))
            done = subprocess.run(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                 f"--user-data-dir={self.folder}/profile", f"file://{output}"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=100,
                check=False)
            self.assertIn('data-ready="yes"', done.stdout)
            for text in texts:
                self.assertIn(text, done.stdout)


if __name__ == "__main__":
    unittest.main()
