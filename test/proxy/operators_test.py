# SPDX-License-Identifier: Apache-2.0
"""All forms of operator new and delete, the new-handler, exhaustion, programs with operators of
their own, and processes in which the C++ run-time library is missing or is loaded late."""

import unittest

from harness import LIB, PROXY, PROXY_ARCHIVE, ProxyTest, build, have

SHARED = (f"-L{LIB}", f"-Wl,-rpath,{LIB}", "-lcorbelmalloc_proxy", "-lcorbelmalloc")
LIBCXX = ("-stdlib=libc++",)
CLANG = next((c for c in ("clang++", "clang++-19", "clang++-18", "clang++-17", "clang++-16")
              if have(c)), None)


def libcxx_works():
    if CLANG is None:
        return False
    try:
        build("libcxx_probe", "late_library.cpp", "-shared", "-fPIC", *LIBCXX, compiler=CLANG)
        return True
    except AssertionError:
        return False


class Operators(ProxyTest):
    def test_c_library(self):
        self.succeeds([build("operators", "operators.cpp"), "peer"])

    def test_preloaded(self):
        self.succeeds([build("operators", "operators.cpp")], preload=PROXY)

    def test_linked(self):
        self.succeeds([build("operators_linked", "operators.cpp", *SHARED)])

    def test_linked_not_position_independent(self):
        self.succeeds([build("operators_no_pie", "operators.cpp", "-no-pie", "-fno-pie", *SHARED)])

    def test_archive(self):
        self.succeeds([build("operators_archive", "operators.cpp", "-DLINKED_STATIC",
                             PROXY_ARCHIVE)])

    def test_static(self):
        self.succeeds([build("operators_static", "operators.cpp", "-DLINKED_STATIC", "-static",
                             PROXY_ARCHIVE)])

    def test_static_runtime_preloaded(self):
        """The program's own operators call malloc, and those of its libraries are not visible."""
        program = build("operators_static_runtime", "operators.cpp", "-static-libstdc++",
                        "-static-libgcc")
        self.succeeds([program], preload=PROXY)

    def test_static_runtime_linked(self):
        self.succeeds([build("operators_static_runtime_linked", "operators.cpp",
                             "-static-libstdc++", "-static-libgcc", *SHARED)])

    def test_static_runtime_archive(self):
        self.succeeds([build("operators_static_runtime_archive", "operators.cpp",
                             "-DLINKED_STATIC", "-static-libstdc++", "-static-libgcc",
                             PROXY_ARCHIVE)])


@unittest.skipUnless(libcxx_works(), "no clang with libc++ here")
class Libcxx(ProxyTest):
    def test_preloaded(self):
        program = build("operators_libcxx", "operators.cpp", *LIBCXX, compiler=CLANG)
        self.succeeds([program, "peer"])
        self.succeeds([program], preload=PROXY)

    def test_linked(self):
        self.succeeds([build("operators_libcxx_linked", "operators.cpp", *LIBCXX, *SHARED,
                             compiler=CLANG)])

    def test_archive(self):
        self.succeeds([build("operators_libcxx_archive", "operators.cpp", *LIBCXX,
                             "-DLINKED_STATIC", PROXY_ARCHIVE, compiler=CLANG)])


class SizedDelete(ProxyTest):
    """A delete that is told the size does what plain delete does, so it costs the same."""

    def test_preloaded(self):
        self.succeeds([build("sized_delete", "sized_delete.cpp")], preload=PROXY)

    def test_archive(self):
        self.succeeds([build("sized_delete_archive", "sized_delete.cpp", PROXY_ARCHIVE)])


class OwnOperators(ProxyTest):
    """The forms that a program does not replace call those that it replaces."""

    def test_c_library(self):
        self.succeeds([build("own", "own_operators.cpp")])

    def test_preloaded(self):
        self.succeeds([build("own", "own_operators.cpp")], preload=PROXY)

    def test_linked(self):
        self.succeeds([build("own_linked", "own_operators.cpp", *SHARED)])

    def test_archive(self):
        self.succeeds([build("own_archive", "own_operators.cpp", PROXY_ARCHIVE)])

    def test_static(self):
        self.succeeds([build("own_static", "own_operators.cpp", "-static", PROXY_ARCHIVE)])


class Runtime(ProxyTest):
    def test_late_runtime(self):
        program = build("late", "late.c")
        library = build("late_library.so", "late_library.cpp", "-shared", "-fPIC")
        self.succeeds([program, library])
        self.succeeds([program, library], preload=PROXY)

    @unittest.skipUnless(libcxx_works(), "no clang with libc++ here")
    def test_late_libcxx(self):
        program = build("late", "late.c")
        library = build("late_libcxx.so", "late_library.cpp", "-shared", "-fPIC", *LIBCXX,
                        compiler=CLANG)
        self.succeeds([program, library])
        self.succeeds([program, library], preload=PROXY)

    def test_no_runtime(self):
        result = self.dies([build("no_runtime", "no_runtime.c")],
                           "corbel: operator new: out of memory, and no C\\+\\+ run-time library "
                           "to throw bad_alloc.*", preload=PROXY)
        self.assertEqual(result.stdout, "before\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
