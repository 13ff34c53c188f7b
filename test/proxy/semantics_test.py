# SPDX-License-Identifier: Apache-2.0
"""Results, errno and edge cases of the malloc family, with the replacement preloaded, linked and in
a static program; and on the C library, which shows that the original does what the test expects."""

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
            self.check_sums(info)

    def check_sums(self, info):
        """The sizes of a heap add up to its totals, and these to what the system has provided for
        it."""
        heap = info.find("heap")
        sizes = heap.findall("sizes/size")
        self.assertGreater(len(sizes), 0)
        for size in sizes:
            self.assertEqual(int(size.get("total")), int(size.get("to")) * int(size.get("count")))
            self.assertLess(int(size.get("from")), int(size.get("to")))
        every = sizes + [heap.find("sizes/unsorted")]
        totals = [heap.find(f"total[@type='{kind}']") for kind in ("fast", "rest")]
        free = sum(int(size.get("total")) for size in every)
        self.assertEqual(free, sum(int(total.get("size")) for total in totals))
        self.assertEqual(sum(int(size.get("count")) for size in every),
                         sum(int(total.get("count")) for total in totals))

        def system(element, kind):
            return int(element.find(f"system[@type='{kind}']").get("size"))

        large = int(info.find("total[@type='mmap']").get("size"))
        corbel = info.find("corbel")
        self.assertEqual(system(heap, "current"), free + int(corbel.get("live")) - large)
        self.assertEqual(system(info, "current"),
                         free + int(corbel.get("live")) + int(corbel.get("metadata")))
        self.assertGreaterEqual(system(info, "max"), system(info, "current"))

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
