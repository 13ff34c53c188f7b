# SPDX-License-Identifier: Apache-2.0
"""Tests of the peers: the lock, recipes that fail, half-built folders, and the allocator's share.
No network: the recipes here are made up, and Corbel and the C library are installed."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lab import fetch, measure, peers, share  # noqa: E402

BUSY = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char** words) {
  uint64_t seed = 1, sum = 0;
  static void* blocks[4096];
  int wanted = count > 1 && strcmp(words[1], "allocate") == 0;
  for (long i = 0; i < (wanted ? 20000000 : 1000000000); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    sum ^= seed >> 32;
    if (!wanted) continue;
    size_t at = (seed >> 33) % 4096;
    free(blocks[at]);
    blocks[at] = malloc((seed >> 50) % 2000);
  }
  puts("{\\"value\\": 1, \\"checksum\\": \\"0\\"}");
  return sum == 42;
}
"""

OPERATORS = """
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <malloc.h>
#include <new>
struct alignas(256) Wide { char bytes[700]; };
struct Plain { char bytes[40]; ~Plain() {} };
static bool aligned(const void* block, std::size_t to) {
  return block && reinterpret_cast<std::uintptr_t>(block) % to == 0;
}
int main() {
  bool good = true;
  auto* a = new Wide;
  auto* b = new Wide[3];
  auto* c = new (std::nothrow) Wide;
  auto* d = new (std::nothrow) Wide[2];
  good = good && aligned(a, 256) && aligned(b, 256) && aligned(c, 256) && aligned(d, 256);
  delete a; delete[] b; delete c; delete[] d;
  delete new Plain; delete[] new Plain[5]; delete new (std::nothrow) Plain;
  operator delete(operator new(50), std::size_t{50});
  operator delete(operator new(50), std::nothrow);
  operator delete[](operator new[](50, std::align_val_t{64}), std::size_t{50}, std::align_val_t{64});
  bool thrown = false;
  volatile std::size_t too_much = std::size_t{1} << 62;
  try { operator delete(operator new(too_much)); } catch (const std::bad_alloc&) { thrown = true; }
  good = good && thrown && !operator new(too_much, std::nothrow);
  void* e = nullptr;
  good = good && posix_memalign(&e, 4096, 100) == 0 && aligned(e, 4096);
  void* f = aligned_alloc(128, 256);
  void* g = memalign(512, 100);
  void* h = valloc(10);
  good = good && aligned(f, 128) && aligned(g, 512) && aligned(h, 4096);
  int* i = static_cast<int*>(calloc(1000, 4));
  good = good && i[999] == 0;
  i = static_cast<int*>(realloc(i, 100000));
  i = static_cast<int*>(reallocarray(i, 50000, 4));
  good = good && i && i[999] == 0 && !reallocarray(nullptr, too_much, 16);
  for (void* block : {e, f, g, h, static_cast<void*>(i)}) free(block);
  return good ? 0 : 1;
}
"""


def recipe(**more):
    """A recipe in the form of load(); its file stands for the files that the stamp reads."""
    made = types.SimpleNamespace(
        NAME="fake", TITLE="Fake", KINDS={"scheduler"}, SOURCES=[{"registry": "system"}],
        __file__=str(ROOT / "bench" / "peers" / "glibc.py"), build=lambda context: None,
        version=lambda context: "1",
        schedulers=lambda context: [peers.Scheduler("fake", "Fake", "tbb", "c++")])
    made.__dict__.update(more)
    return made


def every_recipe():
    """Those of the lab's rows and those of builds with checks. Their builds share a folder."""
    rows, checked = peers.load(), peers.load(peers.CHECKED)
    assert not rows.keys() & checked.keys()
    return {**rows, **checked}


class Lock(unittest.TestCase):
    def test_has_every_package_of_every_recipe(self):
        lock = fetch.read_lock()
        for name, one in every_recipe().items():
            for source in one.SOURCES:
                if "package" in source:
                    entry = fetch.entry(lock, source["registry"], source["package"],
                                        source.get("series"))
                    self.assertTrue(entry["version"], name)

    def test_pins_what_is_downloaded(self):
        for entry in fetch.read_lock():
            digests = entry.get("sha256", {})
            digests = digests.values() if isinstance(digests, dict) else [digests]
            self.assertTrue(digests)
            for digest in digests:
                self.assertRegex(digest, r"^[0-9a-f]{64}$")

    def test_is_sorted_and_without_addresses(self):
        lock = fetch.read_lock()
        keys = [(e["registry"], e["package"], e["version"], e.get("of", "")) for e in lock]
        self.assertEqual(keys, sorted(set(keys)))
        self.assertNotIn("://", fetch.LOCK.read_text())

    def test_unknown_package_says_what_to_do(self):
        with self.assertRaisesRegex(fetch.Unavailable, "dev bench lock"):
            fetch.entry([], "pypi", "tbb")


class Fetch(unittest.TestCase):
    def test_builds_see_nothing_of_the_users_flags(self):
        given = {"PATH": "p", "CC": "c", "CXX": "x", "CFLAGS": "-O0", "CXXFLAGS": "", "LDFLAGS": "",
                 "CPPFLAGS": "", "RUSTFLAGS": "", "CARGO_BUILD_TARGET": "", "CARGO_HOME": "h",
                 "CARGO_ENCODED_RUSTFLAGS": "", "MAKEFLAGS": "-k", "LD_PRELOAD": "a.so"}
        self.assertEqual(fetch.own_environment({"A": "b"}, given),
                         {"PATH": "p", "CC": "c", "CXX": "x", "CARGO_HOME": "h", "A": "b"})

    def test_another_version_of_a_debian_package_is_told(self):
        lock = [{"registry": "debian", "package": "a", "version": "1"}]
        self.assertEqual(fetch.unlike_lock("a", "1", lock), "")
        self.assertEqual(fetch.unlike_lock("a", "2", lock), "a is 2; bench/peers.lock has 1")

    def test_a_debian_package_that_was_changed_is_refused(self):
        lock = [{"registry": "debian", "package": "a", "version": "1", "sha256": {"amd64": "0"}}]

        def run(command, what, log, cwd):
            if command[1] == "download":
                (cwd / "a.deb").write_text("x")
            return {"Version": "1", "Architecture": "amd64"}.get(command[-1], "")

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(fetch, "run", run), \
                mock.patch.object(fetch, "installed", lambda package: None), \
                mock.patch.object(fetch, "tool", lambda name: name):
            with self.assertRaisesRegex(fetch.Unavailable, "not what bench/peers.lock says"):
                fetch.debian("a", lock, folder, None)


class Recipes(unittest.TestCase):
    def test_have_what_the_lab_needs(self):
        for name, one in every_recipe().items():
            self.assertTrue(one.TITLE and one.SOURCES and one.__doc__, name)
            self.assertTrue(one.KINDS <= {"allocator", "scheduler"}, name)
            self.assertTrue(callable(one.build), name)
            self.assertEqual("allocator" in one.KINDS, hasattr(one, "allocator"), name)
            self.assertEqual("scheduler" in one.KINDS, hasattr(one, "schedulers"), name)
            self.assertEqual(pathlib.Path(one.__file__).stem, name.replace("-", "_"))

    def test_are_short(self):
        for path in (*peers.RECIPES.glob("*.py"), *peers.CHECKED.glob("*.py")):
            self.assertLessEqual(len(path.read_text().splitlines()), 55, path.name)


class Prepare(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        patch = mock.patch.object(peers, "BUILT", self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def prepare(self, one):
        with mock.patch.object(peers, "load", lambda: {"fake": one}):
            return peers.prepare(["fake"])["fake"]

    def test_builds_once(self):
        built = []
        one = recipe(build=lambda context: built.append(context.folder.name))
        self.assertEqual(self.prepare(one).title, "Fake 1")
        self.assertEqual(self.prepare(one).schedulers[0].title, "Fake 1")
        self.assertEqual(built, [".fake.draft"])

    def test_an_interrupted_build_is_made_again(self):
        def half(context):
            (context.folder / "part").write_text("x")
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.prepare(recipe(build=half))
        self.assertFalse((self.folder / "fake").exists())
        found = []
        self.prepare(recipe(build=lambda context: found.extend(context.folder.iterdir())))
        self.assertEqual(found, [])
        self.assertTrue((self.folder / "fake" / "stamp").exists())

    def test_every_failure_is_one_line(self):
        def fails(context):
            context.run(["false"], "compiling it")

        def broken(context):
            raise ZeroDivisionError("oh")

        for build, text in ((fails, "compiling it failed .*fake.log"),
                            (broken, "recipe failed: ZeroDivisionError: oh"),
                            (lambda context: context.run(["no-such-program"], "x"), "x: .*no-such")):
            found = self.prepare(recipe(build=build))
            self.assertIsInstance(found, peers.Unavailable)
            self.assertRegex(str(found), text)
            self.assertNotIn("\n", str(found))

    def test_names_all_that_a_run_loads(self):
        def build(context):
            for name in ("liba.so.1", "libb.so.1", "other"):
                (context.folder / name).touch()

        found = self.prepare(recipe(build=build, schedulers=lambda context: [peers.Scheduler(
            "fake", "Fake", "tbb", "c++", libs=[str(context.folder / "liba.so.1"), "-lm"],
            files=["/usr/lib/elsewhere.so"])])).schedulers[0]
        self.assertEqual({pathlib.Path(path).name for path in found.files},
                         {"liba.so.1", "libb.so.1", "elsewhere.so"})
        self.assertRegex(found.stamp, "^[0-9a-f]{64}$")

    def test_a_path_that_no_preload_can_have(self):
        found = self.prepare(recipe(KINDS={"allocator"}, allocator=lambda context: peers.Allocator(
            ["/with a space/lib.so"])))
        self.assertRegex(str(found), "move the repository")

    def test_corbel_that_is_not_built(self):
        with mock.patch.object(peers, "CORBEL", self.folder / "nothing"):
            for name in ("corbel", "corbel-copy", "corbel-slowed"):
                found = peers.prepare([name])[name]
                self.assertEqual(str(found), "Corbel is not built: ./dev build release")

    def test_libgomp_is_not_for_clang(self):
        with mock.patch.object(peers.Context, "run", lambda *_: "#define __clang__ 1\n"):
            self.assertRegex(str(peers.prepare(["libgomp"])["libgomp"]), "comes with GCC")

    def test_an_unknown_name(self):
        found = peers.prepare(["no-such-peer"])["no-such-peer"]
        self.assertRegex(str(found), "no recipe .*bench/peers/no_such_peer.py")

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_preload_that_does_not_take_is_found(self):
        def build(context):
            (context.folder / "empty.c").write_text("int nothing;")
            context.shared_library("empty.so", [context.folder / "empty.c"], [])

        for file, text in (("empty.so", "malloc is served by .*libc"), ("missing.so", "missing.so")):
            one = recipe(KINDS={"allocator"}, build=build, allocator=lambda context, file=file:
                         peers.Allocator([str(context.folder / file)]))
            found = self.prepare(one)
            self.assertIsInstance(found, peers.Unavailable)
            self.assertRegex(str(found), text)
            self.assertFalse((self.folder / "fake" / "stamp").exists())

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_the_c_library(self):
        with mock.patch.object(peers, "BUILT", self.folder):
            found = peers.prepare(["glibc"])["glibc"]
        self.assertTrue(re.fullmatch(r"glibc 2\.\d+", found.title))
        self.assertEqual(found.allocator.preload, [])


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Share(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        source = cls.folder / "busy.c"
        source.write_text(BUSY)
        cls.program = cls.folder / "busy"
        subprocess.run(["cc", "-O2", "-fno-builtin", "-o", cls.program, source], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def measured(self, *words):
        run = measure.run([str(self.program), *words], measure.environment(), 60)
        self.assertIsNone(run["failed"])
        return run["extra"]

    def test_of_a_program_that_only_allocates(self):
        self.assertGreater(self.measured("allocate", share.WORD)["allocator_share"], 0.7)

    def test_of_a_program_that_only_computes(self):
        self.assertLess(self.measured("compute", share.WORD)["allocator_share"], 0.02)

    def test_without_the_sampler_the_row_is_skipped(self):
        with mock.patch.object(share, "FLAGS", ["--no-such-flag"]), \
                mock.patch.object(share, "library", lambda made=share.library: made(self.folder)):
            with self.assertRaisesRegex(measure.NotInstalled, "compiling the sampler failed"):
                self.measured("compute", share.WORD)

    def test_only_where_it_is_asked_for(self):
        self.assertEqual(self.measured("compute"), {})


@unittest.skipUnless(shutil.which("c++"), "no C++ compiler")
class Family(unittest.TestCase):
    """The preload libraries before an allocator forward every call."""

    def test_every_function_arrives(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "operators.cpp"
            source.write_text(OPERATORS)
            program, slowed = source.with_suffix(""), source.with_suffix(".so")
            subprocess.run(["c++", "-std=c++20", "-w", "-fno-builtin", "-o", program, source],
                           check=True)
            slow = peers.load()["corbel-slowed"]
            subprocess.run(["cc", *slow.FLAGS, f"-DSLOWED_ROUNDS={slow.ROUNDS}", slow.INPUTS[0],
                            "-o", slowed, "-ldl"], check=True)
            for before in ([], [share.library()], [slowed], [share.library(), slowed]):
                done = subprocess.run([program], env=measure.environment(before), check=False,
                                      capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), before)


if __name__ == "__main__":
    unittest.main()
