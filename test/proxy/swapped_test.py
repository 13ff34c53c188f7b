# SPDX-License-Identifier: Apache-2.0
"""A program linked to the original libtbbmalloc.so.2 and libtbbmalloc_proxy.so.2 runs on ours when
the files are swapped. Stand-ins replace the originals: libraries that have their names and nothing
else. Set CORBEL_TBB_ORIGINAL to a folder with the originals to test on them, too: with our proxy
preloaded above them, both allocators are in one process."""

import os
import unittest

from harness import CC, LIB, PROXY, ProxyTest, build, path, run
from symbols_test import TBBMALLOC, TBBMALLOC_PROXY

ORIGINAL = os.environ.get("CORBEL_TBB_ORIGINAL")


def stand_ins():
    """Makes a folder with libraries of the originals' names, which abort on every call."""
    folder = path("stand_ins")
    if os.path.isdir(folder):
        return folder
    os.mkdir(folder)
    for library, names in (("tbbmalloc", TBBMALLOC), ("tbbmalloc_proxy", TBBMALLOC_PROXY)):
        source = os.path.join(folder, library + ".c")
        with open(source, "w", encoding="utf-8") as f:
            for name in names:
                f.write(f"void {name}(void) {{ __builtin_trap(); }}\n")
        result = run([CC, "-w", "-fno-builtin", "-shared", "-fPIC", "-nostdlib", source,
                      f"-Wl,-soname,lib{library}.so.2", "-o",
                      os.path.join(folder, f"lib{library}.so")])
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        os.symlink(f"lib{library}.so", os.path.join(folder, f"lib{library}.so.2"))
    return folder


class Swapped(ProxyTest):
    def program(self, *libraries):
        folder = stand_ins()
        return build("swapped" + "".join(libraries), "swapped.cpp", f"-L{folder}",
                     "-Wl,--no-as-needed", *libraries, *([] if len(libraries) > 1 else ["-DAPART"]))

    def check(self, program, **more):
        result = self.succeeds([program], **more)
        self.assertEqual(result.stdout, "all right\n")

    def test_the_stand_ins_do_not_work(self):
        result = run([self.program("-ltbbmalloc")], env={"LD_LIBRARY_PATH": stand_ins()})
        self.assertNotEqual(result.returncode, 0)

    def test_allocator(self):
        self.check(self.program("-ltbbmalloc"), env={"LD_LIBRARY_PATH": LIB})

    def test_allocator_and_proxy(self):
        for order in (("-ltbbmalloc", "-ltbbmalloc_proxy"), ("-ltbbmalloc_proxy", "-ltbbmalloc")):
            with self.subTest(order=order):
                self.check(self.program(*order), env={"LD_LIBRARY_PATH": LIB})

    def test_with_our_proxy_above(self):
        for libraries in (("-ltbbmalloc",), ("-ltbbmalloc", "-ltbbmalloc_proxy"),
                          ("-ltbbmalloc_proxy", "-ltbbmalloc")):
            with self.subTest(libraries=libraries):
                self.check(self.program(*libraries), preload=PROXY,
                           env={"LD_LIBRARY_PATH": LIB})

    def test_one_heap_with_our_proxy_above(self):
        """Our free accepts blocks of the program's scalable_malloc."""
        program = self.program("-ltbbmalloc", "-ltbbmalloc_proxy")
        self.check(program, preload=PROXY, env={"LD_LIBRARY_PATH": LIB})

    def test_no_complaint_about_versions(self):
        program = self.program("-ltbbmalloc", "-ltbbmalloc_proxy")
        result = self.succeeds([program], env={"LD_LIBRARY_PATH": LIB, "LD_BIND_NOW": "1"})
        self.assertEqual(result.stderr, "")


@unittest.skipUnless(ORIGINAL, "CORBEL_TBB_ORIGINAL does not name a folder with the originals")
class Original(ProxyTest):
    def program(self, *libraries):
        return build("original" + "".join(libraries), "swapped.cpp", f"-L{ORIGINAL}",
                     "-Wl,--no-as-needed", *libraries, *([] if len(libraries) > 1 else ["-DAPART"]))

    def test_on_the_original(self):
        both = self.program("-ltbbmalloc", "-ltbbmalloc_proxy")
        self.succeeds([both], env={"LD_LIBRARY_PATH": ORIGINAL})

    def test_swapped(self):
        both = self.program("-ltbbmalloc", "-ltbbmalloc_proxy")
        self.succeeds([both], env={"LD_LIBRARY_PATH": LIB})

    def test_our_proxy_above_the_originals(self):
        """Two heaps. Their blocks come back to the original by free, not ours by scalable_free,
        which in the original trusts what it is given."""
        environment = {"LD_LIBRARY_PATH": ORIGINAL}
        self.succeeds([self.program("-ltbbmalloc")], preload=PROXY, env=environment)
        both = build("original_to_free", "swapped.cpp", f"-L{ORIGINAL}", "-Wl,--no-as-needed",
                     "-ltbbmalloc", "-ltbbmalloc_proxy", "-DONLY_TO_FREE")
        self.succeeds([both], preload=PROXY, env=environment)

    def test_our_proxy_and_allocator_above_the_originals(self):
        """One heap again: the public names lead to ours as well."""
        both = self.program("-ltbbmalloc", "-ltbbmalloc_proxy")
        self.succeeds([both], preload=PROXY + ":" + os.path.join(LIB, "libcorbelmalloc.so.1"),
                      env={"LD_LIBRARY_PATH": ORIGINAL})


if __name__ == "__main__":
    unittest.main(verbosity=2)
