# SPDX-License-Identifier: Apache-2.0
"""Results, errno and edge cases of the malloc family, with the replacement preloaded, linked and in
a static program; and on the C library, so that what we expect is what the original does."""

import unittest
import xml.etree.ElementTree

from harness import LIB, PROXY, PROXY_ARCHIVE, ProxyTest, build

LINK = (f"-L{LIB}", f"-Wl,-rpath,{LIB}", "-Wl,--no-as-needed", "-lcorbelmalloc_proxy")


class Semantics(ProxyTest):
    def check_reports(self, result, ours):
        info = xml.etree.ElementTree.fromstring(result.stdout)
        self.assertEqual(info.tag, "malloc")
        self.assertEqual(info.get("version"), "1")
        self.assertEqual(info.find("corbel") is not None, ours)
        self.assertEqual("Corbel" in result.stderr, ours)
        if ours:
            self.assertGreater(int(info.find("system[@type='current']").get("size")), 0)

    def test_c_library(self):
        self.check_reports(self.succeeds([build("semantics", "semantics.c"), "peer"]), False)

    def test_preloaded(self):
        program = build("semantics", "semantics.c")
        self.check_reports(self.succeeds([program], preload=PROXY), True)

    def test_linked(self):
        program = build("semantics_linked", "semantics.c", "-DLINKED", *LINK)
        self.check_reports(self.succeeds([program]), True)

    def test_linked_not_position_independent(self):
        program = build("semantics_no_pie", "semantics.c", "-DLINKED", "-no-pie", "-fno-pie", *LINK)
        self.check_reports(self.succeeds([program]), True)

    def test_archive(self):
        program = build("semantics_archive", "semantics.c", "-DLINKED", PROXY_ARCHIVE)
        self.check_reports(self.succeeds([program]), True)

    def test_static(self):
        program = build("semantics_static", "semantics.c", "-DLINKED", "-static", PROXY_ARCHIVE)
        self.check_reports(self.succeeds([program]), True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
