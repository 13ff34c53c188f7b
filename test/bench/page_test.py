# SPDX-License-Identifier: Apache-2.0
"""The result page, from invented runs: complete, partial, empty. The plots are tested if
matplotlib is installed; the rest of the page must not need it.
"""
import json
import re
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from lab import page  # noqa: E402
from report import colours, svg  # noqa: E402

VOID = {"meta", "br", "input", "img", "path", "use", "rect", "circle", "line"}


class Checker(HTMLParser):
    """Checks tags, unique identifiers and links, and that nothing is loaded from outside."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.problems, self.counts = [], set(), set(), [], {}

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag not in VOID:
            self.open.append(tag)
        self.attributes(tag, dict(attributes))

    def handle_startendtag(self, tag, attributes):
        self.attributes(tag, dict(attributes))

    def attributes(self, tag, found):
        if "id" in found:
            if found["id"] in self.ids:
                self.problems.append(f"two elements are called {found['id']}")
            self.ids.add(found["id"])
        for name in ("href", "xlink:href", "src"):
            value = found.get(name)
            if value and value.startswith("#"):
                self.links.add(value[1:])
            elif value:
                self.problems.append(f"<{tag}> asks for {value}")

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def finish(self, text):
        self.feed(text)
        self.problems += [f"#{name} is nowhere" for name in sorted(self.links - self.ids)]
        self.problems += [f"<{tag}> stays open" for tag in self.open]
        for address in re.findall(r'url\((?!#)[^)]*\)|@import[^;]*', text):
            self.problems.append(f"style asks for {address}")
        return self.problems


class PageTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def page(self):
        """Writes the page, checks what holds for any page, and returns its text."""
        page.write(self.folder)
        text = (self.folder / "index.html").read_text(encoding="utf-8")
        self.checker = Checker()
        self.assertEqual(self.checker.finish(text), [])
        self.assertNotIn("could not be drawn", text)
        self.assertNotRegex(text, r"#0101[0-9a-f]{2}")
        self.assertNotRegex(text, r"\bnan\b|\binf\b|None<")
        self.assertLess(len(text), 5_000_000)
        return text

    def change(self, edit):
        """Applies `edit` to the run's description."""
        path = self.folder / "run.json"
        meta = json.loads(path.read_text())
        edit(meta)
        path.write_text(json.dumps(meta))


class Complete(PageTest):
    def test_page(self):
        synthetic.write(self.folder)
        self.text = self.page()
        for part in (self.words, self.chapters, self.verdicts, self.bounds, self.plots):
            with self.subTest(part.__name__):
                part()

    def words(self):
        for expected in ("prefers-color-scheme:dark", "width=device-width", "Geometric mean",
                         "row’s best peer", "identical copies: equal", "slowed copy: found",
                         "it is in no registry", "jemalloc failed</span>", "Invented CPU",
                         "0123456789ab", "Figure 13", "Corbel has no scheduler in this run",
                         "./dev bench --quick --rounds 7", "1131 MB"):
            self.assertIn(expected, self.text)

    def chapters(self):
        for kernel in synthetic.kernels():
            self.assertIn(f'id="k-{kernel["name"]}"', self.text)
            self.assertIn(f'href="#k-{kernel["name"]}"', self.text)

    def verdicts(self):
        # tcmalloc is a tenth faster than Corbel, glibc much slower, in the invented figures.
        row = re.search(r"<tr><th scope=\"row\"><a href=\"#k-fast16\">.*?</tr>", self.text).group()
        cells = re.findall(r'<span class="t (\w+)"[^>]*>([\d.]+)', row)
        self.assertEqual(cells[0][0], "higher")
        self.assertEqual(cells[1][0], "lower")
        self.assertLess(float(cells[1][1]), 0.75)

    def bounds(self):
        """Ratios to the greedy bound: near it, above Graham's, and between the two."""
        chapter = re.search(r'<section class="chapter" id="k-wide_even">.*?</section>',
                            self.text, re.S).group()
        cells = dict((text, found) for found, text in
                     re.findall(r'<td(?: class="(\w+)")? title="[^"]*">([\d.]+)</td>', chapter))
        self.assertEqual(cells["1.02"], "lower")  # rayon
        self.assertEqual(cells["1.30"], "")  # TBB 2020
        self.assertEqual(cells["1.50"], "higher")  # libomp
        start = re.search(r'<section class="chapter" id="k-wide_start">.*?</section>',
                          self.text, re.S).group()
        self.assertIn("1.50\u00a0ns</td>", start)
        self.assertNotIn("Graham", start)

    def plots(self):
        if not svg.PLOTS:
            self.assertIn("needs matplotlib", self.text)
            return
        # None for the soft limits and the sleeping bodies, two for the other experiment whose form is a table and for the
        # one that has a figure a case, one for each of the rest, and two overviews.
        self.assertEqual(self.checker.counts["svg"], len(synthetic.kernels()) - 5 + 1 + 1 + 2)
        self.over_the_bound()
        self.assertEqual(self.text.count('<svg role="img" aria-label="'),
                         self.checker.counts["svg"])


    def over_the_bound(self):
        """A contestant that keeps more than the bound is marked, and no other."""
        figure = re.search(r"<figure><svg[^>]*ended threads.*?</figure>", self.text).group()
        shown = dict(re.findall(r'(--ink|--bad)\)[^>]*>(\d+ / 84)<', figure))
        self.assertEqual(len(re.findall(r">\d+ / 84<", figure)), len(synthetic.ALLOCATORS))
        self.assertIn("--bad", shown)
        self.assertIn("--ink", shown)


class Partial(PageTest):
    def test_stopped_in_the_middle(self):
        synthetic.write(self.folder, rounds=2)
        path = self.folder / "results.jsonl"
        data = path.read_text()
        path.write_text(data[:len(data) // 2])
        self.change(lambda meta: meta.update(finished=None))
        text = self.page()
        self.assertIn("The run is not complete", text)
        self.assertIn("too few runs", text)

    def test_no_results_at_all(self):
        synthetic.write(self.folder, only=["fast16"])
        (self.folder / "results.jsonl").unlink()
        self.assertIn("There are no results yet", self.page())

    def test_one_row_without_corbel(self):
        synthetic.write(self.folder, only=["fast16"], rounds=3)
        path = self.folder / "results.jsonl"
        lines = [line for line in path.read_text().splitlines(True)
                 if json.loads(line)["contestant"] in ("glibc", "mimalloc3")]
        path.write_text("".join(lines))
        self.assertIn("Corbel has no allocator in this run", self.page())

    def test_corbel_as_libtbb12_is_no_peer(self):
        synthetic.write(self.folder, only=["nqueens"], rounds=3)
        for name in ("run.json", "results.jsonl"):
            path = self.folder / name
            text = path.read_text().replace('"rayon"', '"corbel-tbb12"')  # the fastest
            path.write_text(text.replace('"tbb2020+CBR"', '"corbel"'))
        text = self.page()
        summary = re.search(r'<section id="schedulers">.*?</section>', text, re.S).group()
        self.assertIn("<small>oneTBB</small>", summary)  # the best peer
        rows = re.search(r'<h3>Row by row</h3>.*', summary, re.S).group()
        self.assertNotIn("libtbb.so.12", rows)
        chapter = re.search(r'<section class="chapter" id="k-nqueens">.*?</section>', text, re.S)
        self.assertIn("Corbel as libtbb.so.12", chapter.group())

    def test_one_number_of_threads(self):
        synthetic.write(self.folder, rounds=3)

        def two_threads(meta):
            meta["rows"] = [row for row in meta["rows"] if row["threads"] == 2]

        self.change(two_threads)
        self.page()

    def test_a_kernel_and_a_plot_that_are_unknown(self):
        synthetic.write(self.folder, only=["mixed"], rounds=3)

        def strange(meta):
            meta["kernels"]["mixed"] = {"plot": "spiral", "group": "strange", "unit": "furlongs"}
            meta["machine"] = {}
            del meta["contestants"]["jemalloc"]

        self.change(strange)
        self.assertIn("furlongs", self.page())

    def test_a_wrong_checksum_is_a_failure(self):
        synthetic.write(self.folder, only=["fast16"], rounds=3)
        path = self.folder / "results.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if line["contestant"] == "rpmalloc":
                line["checksum"] = "0"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.assertIn("rpmalloc failed", self.page())

    def test_names_are_escaped(self):
        synthetic.write(self.folder, only=["fast16"], rounds=3)

        def odd(meta):
            meta["kernels"]["fast16"].update(title="<b>&", what='"quoted" <i>. Two.')
            meta["contestants"]["hoard"]["skipped"] = "<script>"

        self.change(odd)
        text = self.page()
        self.assertNotIn("<b>&", text)
        self.assertEqual(self.checker.counts.get("script"), 1)


class Colours(unittest.TestCase):
    def test_contrast(self):
        for theme in (0, 1):
            for name, pair in {**colours.TEXT, **colours.MARKS}.items():
                for surface in ("paper", "card"):
                    found = colours.contrast(pair[theme], colours.SURFACES[surface][theme])
                    self.assertGreaterEqual(found, 4.5, f"{name} on {surface}, theme {theme}")


if __name__ == "__main__":
    unittest.main()
