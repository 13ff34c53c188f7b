# SPDX-License-Identifier: Apache-2.0
"""The ways to use the replacement: preloaded, linked in any order, shared and static, from C and
C++, and by including one header. Each program prints which malloc it runs on."""

import itertools
import os
import unittest

from harness import (CC, CXX, LIB, PROGRAMS, PROXY, PROXY_ARCHIVE, ProxyTest, build, path, run)

DIRS = (f"-L{LIB}", f"-Wl,-rpath,{LIB}")


class Linking(ProxyTest):
    def is_corbel(self, command, **arguments):
        self.assertEqual(self.succeeds(command, **arguments).stdout, "corbel\n")

    def link(self, compiler, arguments):
        """Compiles malloc_in_use.c, once for each compiler, and links it with the arguments;
        "OBJECT" stands for the object file among them."""
        language = "c++" if compiler == CXX else "c"
        object_file = path(f"malloc_in_use_{language}.o")
        if not os.path.exists(object_file):
            self.succeeds([compiler, "-O1", "-fno-builtin", "-x", language, "-c",
                           os.path.join(PROGRAMS, "malloc_in_use.c"), "-o", object_file])
        program = path("malloc_in_use_linked")
        arguments = [object_file if a == "OBJECT" else a for a in arguments]
        self.succeeds([compiler, "-pthread", *arguments, "-o", program])
        return program

    def test_without(self):
        program = build("malloc_in_use", "malloc_in_use.c")
        self.assertEqual(self.succeeds([program]).stdout, "other\n")

    def test_preloaded(self):
        self.is_corbel([build("malloc_in_use", "malloc_in_use.c")], preload=PROXY)
        self.is_corbel([build("malloc_in_use_cxx", "malloc_in_use.c", compiler=CXX)], preload=PROXY)

    def test_shared_in_any_order(self):
        items = ["OBJECT", "-lcorbelmalloc_proxy", "-lcorbelmalloc", "-lm"]
        for compiler in (CC, CXX):
            for order in itertools.permutations(items):
                with self.subTest(compiler=compiler, order=order):
                    self.is_corbel([self.link(compiler, ["-Wl,--no-as-needed", *DIRS, *order])])

    def test_shared_as_needed(self):
        """The default of some systems: a library is kept only if an earlier object needs it."""
        for compiler in (CC, CXX):
            with self.subTest(compiler=compiler):
                self.is_corbel([self.link(compiler, ["-Wl,--as-needed", "OBJECT", *DIRS,
                                                     "-lcorbelmalloc_proxy"])])

    def test_shared_after_the_cxx_library(self):
        self.is_corbel([self.link(CXX, ["OBJECT", "-lstdc++", *DIRS, "-lcorbelmalloc_proxy"])])

    def test_archive_in_any_order(self):
        for compiler in (CC, CXX):
            for static in ([], ["-static"], ["-static-pie"]):
                # Before the object no member of an archive is needed yet, unless it is named.
                for order in (["OBJECT", "-l:libcorbelmalloc_proxy.a"],
                              ["OBJECT", "-l:libcorbelmalloc_proxy.a", "-l:libcorbelmalloc.a"],
                              ["OBJECT", "-l:libcorbelmalloc.a", "-l:libcorbelmalloc_proxy.a"],
                              ["OBJECT", "-lm", "-l:libcorbelmalloc_proxy.a"],
                              ["-Wl,-u,malloc", "-l:libcorbelmalloc_proxy.a", "OBJECT"],
                              ["-Wl,-u,malloc", "-l:libcorbelmalloc.a",
                               "-l:libcorbelmalloc_proxy.a", "OBJECT"],
                              ["-Wl,--whole-archive", "-l:libcorbelmalloc_proxy.a",
                               "-Wl,--no-whole-archive", "OBJECT"]):
                    if compiler == CC and "-Wl,--whole-archive" in order:
                        order = order + ["-lstdc++"] + (["-lm"] if static else [])
                    with self.subTest(compiler=compiler, static=static, order=order):
                        self.is_corbel([self.link(compiler, [*static, f"-L{LIB}", *order])])

    def test_static_cxx_library(self):
        self.is_corbel([self.link(CXX, ["-static-libstdc++", "-static-libgcc", "OBJECT",
                                        PROXY_ARCHIVE])])
        self.is_corbel([self.link(CXX, ["-static-libstdc++", "-static-libgcc", "OBJECT", *DIRS,
                                        "-lcorbelmalloc_proxy"])])
        self.is_corbel([self.link(CXX, ["-static-libstdc++", "-static-libgcc", "OBJECT"])],
                       preload=PROXY)

    def test_archive_with_shared_preloaded(self):
        """Two copies in one process: the program's own comes first and serves all."""
        self.is_corbel([self.link(CXX, ["OBJECT", PROXY_ARCHIVE])], preload=PROXY)
        self.is_corbel([self.link(CXX, ["-rdynamic", "OBJECT", PROXY_ARCHIVE])], preload=PROXY)


class Header(ProxyTest):
    HEADERS = ("corbel/malloc_proxy.h", "tbb/tbbmalloc_proxy.h", "oneapi/tbb/tbbmalloc_proxy.h")

    def check(self, name, *flags, compiler, header):
        program = build(name, "header.c", f'-DHEADER=<{header}>', *flags, compiler=compiler)
        result = self.succeeds([program])
        self.assertEqual(result.stdout.splitlines()[0], "0", result.stdout)

    def test_shared(self):
        for i, header in enumerate(self.HEADERS):
            for compiler in (CC, CXX) if i == 0 else (CXX,):
                with self.subTest(header=header, compiler=compiler):
                    # --as-needed and --gc-sections must not remove the library again.
                    self.check(f"header_{i}_{compiler.replace('/', '_')}", "-Wl,--as-needed",
                               "-Wl,--gc-sections", "-ffunction-sections", "-fdata-sections", *DIRS,
                               "-lcorbelmalloc_proxy", compiler=compiler, header=header)

    def test_archive(self):
        for compiler in (CC, CXX):
            with self.subTest(compiler=compiler):
                self.check(f"header_archive_{compiler.replace('/', '_')}", PROXY_ARCHIVE,
                           compiler=compiler, header=self.HEADERS[0])

    def test_drop_in(self):
        self.check("header_drop_in", *DIRS, "-ltbbmalloc_proxy", compiler=CXX,
                   header=self.HEADERS[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
