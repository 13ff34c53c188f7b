# SPDX-License-Identifier: Apache-2.0
"""TBB_malloc_replacement_log reports the truth for each function."""

import unittest

from harness import CXX, LIB, PROXY, PROXY_ARCHIVE, ProxyTest, build

ALL = ("malloc", "free", "calloc", "realloc", "posix_memalign", "operator new(size_t)",
       "operator delete(void*, size_t)")


class Log(ProxyTest):
    def ask(self, command, **arguments):
        """(answer, {function: (success, where)})"""
        lines = self.succeeds(command, **arguments).stdout.splitlines()
        functions = {}
        for line in lines[1:]:
            result, rest = line.split(": ", 1)
            self.assertIn(result, ("Success", "Fail"))
            name, where = rest.rsplit(" (", 1)
            functions[name] = (result == "Success", where.rstrip(")"))
        return int(lines[0]), functions

    def test_active(self):
        linked = build("log_linked", "log.c", f"-L{LIB}", f"-Wl,-rpath,{LIB}",
                       "-Wl,--no-as-needed", "-lcorbelmalloc_proxy")
        not_pie = build("log_no_pie", "log.c", f"-L{LIB}", f"-Wl,-rpath,{LIB}", "-no-pie",
                        "-fno-pie", "-Wl,--no-as-needed", "-lcorbelmalloc_proxy")
        for command, preload in (([build("log", "log.c")], PROXY), ([linked], None),
                                 ([not_pie], None)):
            with self.subTest(command=command):
                answer, functions = self.ask(command, preload=preload)
                self.assertEqual(answer, 0)
                for name in ALL:
                    self.assertEqual(functions[name], (True, "libcorbelmalloc_proxy.so.1"), name)
                self.assertEqual([n for n, (ok, _) in functions.items() if not ok], [])

    def test_loaded_too_late(self):
        answer, functions = self.ask([build("log", "log.c"), PROXY])
        self.assertEqual(answer, -1)
        self.assertEqual(functions["malloc"], (False, "libc.so.6"))
        self.assertEqual(functions["free"], (False, "libc.so.6"))
        self.assertFalse(functions["operator new(size_t)"][0])

    def test_after_another_library(self):
        """Another library that defines malloc precedes the proxy."""
        other = build("other.so", "other_malloc.c", "-shared", "-fPIC")
        answer, functions = self.ask([build("log", "log.c")], preload=f"{other}:{PROXY}")
        self.assertEqual(answer, -1)
        self.assertEqual(functions["valloc"], (False, "other.so"))
        self.assertEqual(functions["malloc"], (True, "libcorbelmalloc_proxy.so.1"))

    def test_own_operator_new(self):
        program = build("log_own", "log.c", "-DOWN_OPERATORS", "-rdynamic", compiler=CXX)
        answer, functions = self.ask([program], preload=PROXY)
        self.assertEqual(answer, -1)
        self.assertEqual(functions["operator new(size_t)"], (False, "log_own"))
        self.assertTrue(functions["malloc"][0])

    def test_archive(self):
        answer, functions = self.ask([build("log_archive", "log.c", "-rdynamic",
                                            "-Wl,-u,TBB_malloc_replacement_log", PROXY_ARCHIVE)])
        self.assertEqual(answer, 0, functions)
        self.assertEqual(functions["malloc"][1], "log_archive")


if __name__ == "__main__":
    unittest.main(verbosity=2)
