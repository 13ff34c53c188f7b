# SPDX-License-Identifier: Apache-2.0
"""corbel run, check and compare, for Windows, in Wine."""

import gzip
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["CORBEL_BIN_DIR"])
TOOL = BIN / "corbel.exe"
VICTIM = BIN / "windows_tool_victim.exe"
BARE = BIN / "windows_tool_bare.exe"
ENDLESS = BIN / "windows_tool_endless_user.exe"
WINE = os.environ.get("CORBEL_WINE", "wine")
# Quotation marks, backslashes before them and elsewhere, spaces, and an empty word.
WORDS = ["plain", "two words", 'a "quoted" one', "back\\slash", "ends in\\", 'both \\" of them',
         "\\\\server\\share\\", "", "tab\there", "%PATH%", "*"]


def environment(**more):
    variables = {name: value for name, value in os.environ.items()
                 if not name.startswith("CORBEL_")}
    return {**variables, "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "winedbg.exe=d", **more}


def corbel(*words, stdin="", **variables):
    return subprocess.run([WINE, TOOL, *words], input=stdin, capture_output=True, text=True,
                          timeout=60, env=environment(**variables), check=False)


def start(*words, **variables):
    return subprocess.Popen([WINE, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, env=environment(**variables))


def other_proxy(folder):
    """Writes a replacement of malloc with TBB's name that is not Corbel's."""
    path = pathlib.Path(folder) / "tbbmalloc_proxy.dll"
    content = (BIN / "tbbmalloc_proxy.dll").read_bytes()
    path.write_bytes(content.replace(b"corbel_malloc_proxy", b"corbel_xxxxxx_proxy"))
    shutil.copy(BIN / "tbbmalloc.dll", folder)
    return path


def fields(message):
    """Yields (number, value) of a message of protocol buffers."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            shift += 7
            at += 1
            if message[at - 1] < 128:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        else:
            size = number()
            yield key >> 3, message[at:at + size]
            at += size


def numbers(packed):
    """The numbers of a packed field."""
    result, value, shift = [], 0, 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            result.append(value)
            value = shift = 0
    return result


def stacks(profile):
    """The locations of each sample of a pprof profile."""
    return [numbers(value) for key, sample in fields(profile) if key == 2
            for number, value in fields(sample) if number == 1]


def most_frames(profile):
    return max((len(each) for each in stacks(profile)), default=0)


def innermost_files(profile):
    """The names of the files that the innermost frames are in."""
    texts = [value.decode() for key, value in fields(profile) if key == 6]
    mappings = [dict(fields(value)) for key, value in fields(profile) if key == 3]
    files = {each[1]: texts[each[5]].split("\\")[-1] for each in mappings}
    locations = [dict(fields(value)) for key, value in fields(profile) if key == 4]
    places = {each[1]: each.get(2, 0) for each in locations}
    return {files.get(places[stack[0]], "") for stack in stacks(profile) if stack}


def setUpModule():  # pylint: disable=invalid-name
    # Wine's server starts with the first program and holds its output open: not that of a test,
    # which is read to its end.
    subprocess.run([WINE, "cmd", "/c", "exit", "0"], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=100,
                   env=environment(), check=True)


def managed_program(wide):
    """A program that has nothing but code for .NET, as far as its headers tell."""
    directories = 112 if wide else 96
    headers = bytearray(0x400)
    headers[:2] = b"MZ"
    headers[0x3c] = 0x40
    optional = 0x40 + 24
    struct.pack_into("<4sHH12xHH", headers, 0x40, b"PE", 0x8664 if wide else 0x14c, 1,
                     directories + 128, 2)
    struct.pack_into("<H", headers, optional, 0x20b if wide else 0x10b)
    struct.pack_into("<I", headers, optional + directories - 4, 16)
    struct.pack_into("<II", headers, optional + directories + 8 * 14, 0x2000, 72)
    struct.pack_into("<8sIIII", headers, optional + directories + 128, b".text", 72, 0x2000, 0x200,
                     0x200)
    struct.pack_into("<IHH8xI", headers, 0x200, 72, 2, 5, 1)  # code for .NET alone
    return bytes(headers)


class Run(unittest.TestCase):
    def run_victim(self, *words, options=(), **more):
        return corbel("run", *options, "--", str(VICTIM), *words, **more)

    def test_malloc_is_replaced(self):
        done = self.run_victim("malloc")
        self.assertEqual((done.stdout, done.returncode), ("replaced\n", 0), done.stderr)

    def test_words_arrive_as_they_were_given(self):
        # msvcrt itself expands "*", so that one is quoted by its neighbours only.
        words = WORDS[:-1]
        done = self.run_victim("words", *words)
        self.assertEqual(done.stdout.splitlines(), [f"[{word}]" for word in words], done.stderr)

    def test_the_exit_code_is_the_commands(self):
        for code in 0, 3, 255:
            self.assertEqual(self.run_victim("exit", str(code)).returncode, code)

    def test_the_exit_code_of_a_crash(self):
        # The low byte of an access violation, which is all that this system keeps of it.
        self.assertEqual(self.run_victim("fault").returncode, 0xc0000005 & 255)

    def test_standard_input_is_the_commands(self):
        self.assertEqual(self.run_victim("copy", stdin="a\nb\n").stdout, "a\nb\n")

    def test_the_console_is_as_it_was(self):
        def code_page(*words):
            controller, terminal = pty.openpty()
            try:
                return subprocess.run([WINE, *map(str, words)], stdin=terminal, timeout=60,
                                      stdout=subprocess.PIPE, env=environment(), check=True).stdout
            finally:
                os.close(terminal)
                os.close(controller)

        program = VICTIM, "code-page"
        alone = code_page(*program)
        # Another than none and than that of the command's own output.
        self.assertNotIn(alone.strip(), (b"", b"0", b"65001"))
        self.assertEqual(code_page(TOOL, "run", "--", *program), alone)

    def test_options_become_variables(self):
        for option, name, value in (("--heap-limit", "CORBEL_HEAP_LIMIT", "400M"),
                                    ("--hard-limit", "CORBEL_HEAP_HARD_LIMIT", "1G"),
                                    ("--check", "CORBEL_CHECK", "guards")):
            done = self.run_victim("variable", name, options=[option, value])
            self.assertEqual(done.stdout, value + "\n", done.stderr)

    def test_a_report_at_exit(self):
        done = self.run_victim("malloc", options=["--stats"])
        self.assertRegex(done.stderr, r"peak resident [\d.]+ MiB, peak commit [\d.]+ MiB and \d+ page")

    def test_a_heap_profile_has_call_stacks(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_victim("hold", CORBEL_PROFILE=f"heap,every=64K,file={folder}/p.pb.gz")
            (profile,) = pathlib.Path(folder).iterdir()
            content = gzip.decompress(profile.read_bytes())
            self.assertIn(b"windows_tool_victim.exe", content, done.stderr)
            # The blocks are reached through main() and what calls that.
            self.assertGreater(most_frames(content), 2)
            # Each stack begins in the program or its C runtime, not in what replaces malloc.
            self.assertNotIn("corbelmalloc_proxy.dll", innermost_files(content))

    def test_the_profile_is_where_its_name_says(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder) / "Ελλάς-Ж"
            place.mkdir()
            windows_path = f"Z:{place}".replace("/", "\\")
            for name, where in (("a.pb.gz", place), (f"{windows_path}\\b.pb.gz", folder)):
                done = subprocess.run(
                    [WINE, TOOL, "run", "--", VICTIM, "hold", "Ж"], cwd=where, timeout=60,
                    capture_output=True, check=False,
                    env=environment(CORBEL_PROFILE=f"heap,every=64K,file={name}"))
                self.assertEqual((done.returncode, done.stderr), (0, b""))
            for name in "a.pb.gz", "b.pb.gz":
                content = gzip.decompress((place / name).read_bytes())
                self.assertIn(" hold Ж".encode(), content)

    def test_a_header_with_few_tables(self):
        # The sections follow the tables up to that of thread variables.
        image = bytearray(VICTIM.read_bytes())
        header = int.from_bytes(image[0x3c:0x40], "little")
        optional, tables = header + 24, 10
        sections = optional + int.from_bytes(image[header + 20:header + 22], "little")
        size = 40 * int.from_bytes(image[header + 6:header + 8], "little")
        struct.pack_into("<H", image, header + 20, 112 + 8 * tables)
        struct.pack_into("<I", image, optional + 108, tables)
        place = optional + 112 + 8 * tables
        image[place:place + size] = image[sections:sections + size]
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "few.exe"
            program.write_bytes(image)
            alone = subprocess.run([WINE, program, "sections"], capture_output=True, text=True,
                                   timeout=60, env=environment(), check=True)
            done = corbel("run", "--", str(program), "sections")
            self.assertEqual((done.stdout, done.returncode), (alone.stdout, 0), done.stderr)
            self.assertEqual(corbel("run", "--", str(program), "malloc").stdout, "replaced\n")

    def test_what_cannot_be_started(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / "other.exe"
            image = bytearray(VICTIM.read_bytes())
            header = int.from_bytes(image[0x3c:0x40], "little")
            image[header + 4:header + 6] = (0x14c).to_bytes(2, "little")
            other.write_bytes(image)
            managed = pathlib.Path(folder) / "managed.exe"
            managed.write_bytes(managed_program(wide=True))
            any_processor = pathlib.Path(folder) / "any.exe"
            any_processor.write_bytes(managed_program(wide=False))
            cut = pathlib.Path(folder) / "cut.exe"
            cut.write_bytes(VICTIM.read_bytes()[:5000])
            other_proxy(folder)
            linked = pathlib.Path(shutil.copy(BIN / "windows_linked_dropin.exe", folder))
            text = pathlib.Path(folder) / "text.exe"
            text.write_text("not a program", encoding="ascii")
            batch = pathlib.Path(folder) / "a.bat"
            batch.write_text("rem", encoding="ascii")
            for command, code, said in (
                    (folder + "/none.exe", 127, "no such file"),
                    ("no-such-command", 127, "command not found"),
                    (folder, 126, "is a directory"),
                    (other, 126, "wrong architecture: the program is 32-bit x86"),
                    (text, 126, "is not a program for Windows"),
                    (batch, 126, "is a batch file"),
                    (managed, 126, "is a program for .NET"),
                    (any_processor, 126, "is a program for .NET"),
                    (cut, 126, "the file is truncated"),
                    (linked, 126, "tbbmalloc_proxy.dll is TBB's own replacement of malloc"),
                    (BARE, 126, "there is nothing to replace")):
                done = corbel("run", "--", str(command))
                self.assertIn(said, done.stderr)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (code, 1),
                                 done.stderr)

    def test_force_starts_it_all_the_same(self):
        done = corbel("run", "--force", "--", str(BARE))
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("; it is started as it is", done.stderr)

    def test_the_library_that_is_named(self):
        done = self.run_victim("malloc", CORBEL_LIBRARY="C:\\none.dll")
        self.assertEqual(done.returncode, 125)
        self.assertIn("which is not a file", done.stderr)

    def test_what_there_is_not(self):
        for words in (["top"], ["leaks"], ["trace"], ["profile"],
                      ["run", "--tbb", "--", str(VICTIM)]):
            done = corbel(*words)
            self.assertIn("not there on Windows", done.stderr)
            self.assertEqual(done.returncode, 2)


class Check(unittest.TestCase):
    def check(self, *words):
        done = corbel("check", "--json", *words)
        return done, json.loads(done.stdout) if done.stdout else None

    def wait_for(self, holds, what):
        deadline = time.monotonic() + 50
        while not holds():
            if time.monotonic() > deadline:
                self.fail(f"not in time: {what}")
            time.sleep(0.01)

    def test_function_by_function(self):
        done, report = self.check("--", str(VICTIM))
        self.assertTrue(report["active"], report["reasons"])
        self.assertEqual(done.returncode, 0)
        called = {each["symbol"].split("!")[1]: each for each in report["symbols"]
                  if any(one["from"].endswith("windows_tool_victim.exe")
                         for one in each["bindings"])}
        for name in "malloc", "free":
            self.assertTrue(called[name]["corbel"], called[name])
            self.assertTrue(all("corbelmalloc_proxy" in one["to"]
                                for one in called[name]["bindings"]), called[name])

    def test_without_corbel(self):
        done, report = self.check("--as-is", "--", str(VICTIM))
        self.assertEqual((done.returncode, report["active"]), (1, False))
        self.assertEqual(report["reasons"][0]["id"], "not-loaded")

    def test_a_static_runtime(self):
        done, report = self.check("--", str(BARE))
        self.assertEqual((done.returncode, report["reasons"][0]["id"]), (1, "static"))

    def test_the_table(self):
        done = corbel("check", "--", str(VICTIM))
        self.assertIn("active:", done.stdout)
        self.assertRegex(done.stdout, r"malloc \(\w+\.dll\) +\d+ +corbelmalloc_proxy\.dll")

    def test_the_program_does_not_run(self):
        self.assertEqual(corbel("check", "--", str(VICTIM), "wait").returncode, 0)

    def test_every_function_that_is_replaced(self):
        done = corbel("check", "--json", "--", str(VICTIM))
        symbols = {each["symbol"] for each in json.loads(done.stdout)["symbols"]}
        log = corbel("run", "--", str(VICTIM), "log").stdout
        self.assertIn("Success: free (", log)
        for function, runtime in re.findall(r"Success: (\S+) \((\S+)\)", log):
            self.assertIn(f"{runtime.lower()}!{function}", symbols)

    def test_a_program_that_contains_the_replacement(self):
        with start(BIN / "windows_linked_static.exe", "wait") as process:
            done, report = self.check("--pid", process.stdout.readline().strip())
            process.stdin.close()
        self.assertEqual(done.returncode, 0, report["reasons"])
        called = [each for each in report["symbols"] if each["symbol"].endswith("!malloc")]
        self.assertIn("windows_linked_static.exe", called[0]["provider"])
        # Nothing of the program's own code runs for a check.
        done, report = self.check("--", str(BIN / "windows_linked_static.exe"))
        self.assertEqual((done.returncode, report), (2, None))
        self.assertIn("contains Corbel's replacement", done.stderr)
        self.assertIn("use --pid", done.stderr)
        done = corbel("run", "--verbose", "--", str(BIN / "windows_linked_static.exe"))
        self.assertEqual((done.returncode, "loading" in done.stderr), (0, False), done.stderr)

    def test_aligned_functions_on_the_replaced_malloc(self):
        with start(TOOL, "run", "--", VICTIM, "wait", "odd_user_aligned_malloc.dll") as process:
            done, report = self.check("--pid", process.stdout.readline().strip())
            process.stdin.close()
        self.assertEqual(done.returncode, 0, report["reasons"])
        library = "msvcr0_odd_aligned_malloc.dll"
        called = [each for each in report["symbols"]
                  if each["symbol"] == f"{library}!_aligned_malloc"]
        self.assertEqual(len(called[0]["bindings"]), 1)
        self.assertTrue(any(f"not replaced in {library}: " in note and "_aligned_malloc" in note
                            for note in report["notes"]), report["notes"])

    def test_a_process_that_has_ended(self):
        with start(VICTIM, "ended") as process:
            done, _ = self.check("--pid", process.stdout.readline().strip())
            process.stdin.close()
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("it has ended", done.stderr)

    def test_a_replacement_that_is_not_corbels(self):
        with tempfile.TemporaryDirectory() as folder:
            with start(VICTIM, "wait", other_proxy(folder)) as process:
                done, report = self.check("--pid", process.stdout.readline().strip())
                process.stdin.close()
        self.assertEqual((done.returncode, report["reasons"][0]["id"]), (1, "other-malloc"))
        self.assertIn("tbbmalloc_proxy.dll", report["reasons"][0]["text"])

    def test_what_is_loaded_for_a_check_ends_with_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "number"
            with start(TOOL, "check", "--", ENDLESS, ENDLESS_START=f"Z:{file}") as process:
                self.wait_for(lambda: file.exists() and file.read_text().endswith("."),
                              "the DLL starts")
                process.kill()
            number = file.read_text()[:-1]
            self.wait_for(lambda: "there is no process" in corbel("check", "--pid", number).stderr,
                          "what is checked ends")

    def test_no_such_process(self):
        done, _ = self.check("--pid", "99999999")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("there is no process", done.stderr)


class Compare(unittest.TestCase):
    def test_two_sides(self):
        with tempfile.TemporaryDirectory() as folder:
            result = pathlib.Path(folder) / "result.json"
            done = corbel("compare", "-n", "1", "--warmup", "0", "--quiet", "--check-output",
                          "--json", str(result), "--", str(VICTIM), "hold")
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in "wall time", "CPU time", "peak memory", "peak commit", "page faults":
                self.assertIn(name, done.stdout)
            sides = {side["name"]: side for side in json.loads(result.read_text())["sides"]}
            self.assertEqual(set(sides), {"system", "corbel"})
            for side in sides.values():
                self.assertGreater(side["summary"]["peak_working_set_bytes"]["median"], 64 << 20)

    def test_outputs_that_differ(self):
        done = corbel("compare", "-n", "1", "--warmup", "0", "--quiet", "--check-output", "--",
                      str(VICTIM), "malloc")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the output differs", done.stderr)


if __name__ == "__main__":
    unittest.main()
