# SPDX-License-Identifier: Apache-2.0
"""Pointers of other allocators go back to their owner. Any other pointer ends the process with one
line that says what it is."""

import unittest

from harness import PROXY, PROXY_ARCHIVE, ProxyTest, build, run

OWNED = ("libc-small", "libc-medium", "libc-large", "libc-aligned", "libc-large-aligned",
         "libc-thread", "libc-thread-medium")

UNKNOWN = "it lies in memory that no known allocator handed out"
# What the line says of each kind of pointer that is no allocator's block.
REFUSED = {
    "second-libc": UNKNOWN,
    "interior": UNKNOWN,
    "misaligned": "no allocator aligns a block so",
    "stack": "it lies in the stack",
    "thread-stack": "it lies in the stack",
    "zeroed": r"it lies in \S*/foreign\w* \(data\)",
    "initialised": r"it lies in \S*/foreign\w* \(data\)",
    "constant": r"it lies in \S*/foreign\w* \(read-only\)",
    "code": r"it lies in \S*/foreign\w* \(read-only\)",
    "library": r"it lies in \S*/libc.so.6 \(data\)",
    "unmapped": "it is not mapped",
    "wild": "it is not mapped",
    "anonymous": UNKNOWN,
    "anonymous-start": UNKNOWN,
    "read-only": UNKNOWN,
    "no-access": "it lies in memory that cannot be read",
    "shared": "it lies in shared memory",
}


class Foreign(ProxyTest):
    def program(self):
        return build("foreign", "foreign.c")

    def test_owned_go_back(self):
        for what in OWNED:
            for how in ("free", "realloc", "delete"):
                with self.subTest(what=what, how=how):
                    self.succeeds([self.program(), what, how], preload=PROXY)

    def test_owned_size(self):
        for what, least, most in (("libc-small", 100, 200), ("libc-medium", 20000, 21000),
                                  ("libc-large", 3000000, 3100000), ("libc-thread", 100, 200)):
            with self.subTest(what=what):
                result = self.succeeds([self.program(), what, "size"], preload=PROXY)
                size = int(result.stdout.split("size ")[1])
                self.assertTrue(least <= size <= most, size)

    def test_refused(self):
        for what, why in REFUSED.items():
            for how, function in (("free", "free"), ("realloc", "realloc"), ("delete", "free")):
                with self.subTest(what=what, how=how):
                    if run([self.program(), what, "size"]).returncode == 77:
                        self.skipTest("no second C library here")
                    result = self.dies(
                        [self.program(), what, how],
                        rf"corbel: {function}: not a heap block: {why} \(block 0x[0-9a-f]+\)",
                        preload=PROXY)
                    address = result.stdout.split()[0]
                    self.assertIn(f"(block {address})", result.stderr)

    def test_size_of_nothing(self):
        for what in REFUSED:
            with self.subTest(what=what):
                result = self.succeeds([self.program(), what, "size"], preload=PROXY)
                self.assertIn("size 0\n", result.stdout)

    def test_archive(self):
        program = build("foreign_archive", "foreign.c", PROXY_ARCHIVE)
        self.succeeds([program, "libc-small", "free"])
        self.succeeds([program, "libc-large", "realloc"])
        self.dies([program, "zeroed", "free"], r"corbel: free: not a heap block: it lies in .*")

    def test_drop_in(self):
        """The two proxies share one heap here. Neither may pass a pointer on to the other
        forever."""
        import os
        from harness import LIB
        other = os.path.join(LIB, "libtbbmalloc_proxy.so.2")
        for preload in (other, f"{PROXY}:{other}", f"{other}:{PROXY}"):
            with self.subTest(preload=preload):
                self.succeeds([self.program(), "libc-small", "free"], preload=preload)
                self.succeeds([self.program(), "libc-thread", "realloc"], preload=preload)
                self.dies([self.program(), "stack", "free"],
                          r"corbel: free: not a heap block: it lies in the stack .*",
                          preload=preload)


if __name__ == "__main__":
    unittest.main(verbosity=2)
