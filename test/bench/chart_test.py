# SPDX-License-Identifier: Apache-2.0
"""Tests of the README's chart: the means it shows, and that it can be drawn."""
import sys
import unittest
import xml.etree.ElementTree as tree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]

from lab import chart  # noqa: E402
from report import svg  # noqa: E402


def line(row, contestant, value, memory, unit="s", kernel="k"):
    return {"row": row, "kernel": kernel, "contestant": contestant, "unit": unit, "value": value,
            "peak_rss_kib": memory}


class Means(unittest.TestCase):
    def test_ratios_are_relative_to_corbel_and_rates_are_inverted(self):
        means, rows = chart.ratios_of([
            line("a", "corbel", "2", "100"), line("a", "glibc", "4", "50"),
            line("b", "corbel", "30", "100", "1/s"), line("b", "glibc", "15", "200", "1/s")])
        self.assertEqual(rows, 2)
        self.assertAlmostEqual(means["value"]["glibc"], 2)
        self.assertAlmostEqual(means["peak_rss_kib"]["glibc"], 1)
        self.assertEqual(means["value"]["corbel"], 1)

    def test_a_row_without_a_figure_does_not_count(self):
        means, rows = chart.ratios_of([
            line("a", "corbel", "2", "100"), line("a", "glibc", "4", "50"),
            line("b", "corbel", "2", "100"), line("b", "glibc", "", ""),
            line("c", "corbel", "", ""), line("c", "glibc", "9", "9"),
            line("d", "corbel", "1", "1", kernel="control"),
            line("d", "glibc", "9", "9", kernel="control")])
        self.assertEqual(rows, 1)
        self.assertAlmostEqual(means["value"]["glibc"], 2)
        self.assertNotIn("rpmalloc", means["value"])


class Drawing(unittest.TestCase):
    @unittest.skipUnless(svg.PLOTS, "matplotlib is missing")
    def test_the_file_is_complete_and_follows_light_and_dark(self):
        text = chart.draw({metric: {"corbel": 1.0, "glibc": 2.0} for metric, _ in chart.PANELS}, 7)
        tree.fromstring(text)
        self.assertIn("prefers-color-scheme:dark", text)
        self.assertIn("glibc 2.00", text)
        self.assertIn("var(--corbel)", text)

    def test_the_stored_chart_is_of_the_stored_run(self):
        import csv
        with open(ROOT / "docs/bench/allocator/results.csv", newline="", encoding="utf-8") as file:
            means, rows = chart.ratios_of(csv.DictReader(file))
        text = (ROOT / "docs/images/allocators.svg").read_text(encoding="utf-8")
        self.assertIn(f"over {rows} rows", text)
        for metric, _ in chart.PANELS:
            for name, value in means[metric].items():
                self.assertIn(f"{chart.NAMES.get(name, name)} {value:.2f}", text)


if __name__ == "__main__":
    unittest.main()
