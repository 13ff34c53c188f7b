# SPDX-License-Identifier: Apache-2.0
"""Medians, intervals, and the lab's error rates, simulated with noise like a real machine's."""
import random
import unittest

import fake
from lab import results, statistics

SIMULATIONS = 2500
NOISES = {
    "normal": lambda r: 1 + 0.02 * r.gauss(0, 1),
    "right tail": lambda r: 1 + 0.01 * abs(r.gauss(0, 1)) + (r.random() < 0.15) * r.expovariate(10),
    "exponential": lambda r: 1 + r.expovariate(50),
    "heavy tail": lambda r: 1 + 0.01 * (r.paretovariate(1.5) - 1),
    "the fake machine's": fake.noise,
}


def share(verdict, runs, factor, noise, simulations=SIMULATIONS):
    source = random.Random(7)
    hits = 0
    for _ in range(simulations):
        base = [noise(source) for _ in range(runs)]
        other = [factor * noise(source) for _ in range(runs)]
        hits += statistics.verdict(sorted(base), sorted(other)) == verdict
    return hits / simulations


class Verdicts(unittest.TestCase):
    def test_identical_contestants_are_rarely_told_apart(self):
        for name, noise in NOISES.items():
            for runs in (3, 4, 5, 7, 9, 15, 50):
                with self.subTest(noise=name, runs=runs):
                    self.assertLessEqual(1 - share("same", runs, 1.0, noise), 0.015)

    def test_a_slower_contestant_is_found(self):
        for runs, factor, least in ((3, 1.15, 0.6), (5, 1.10, 0.8), (7, 1.08, 0.85),
                                    (9, 1.06, 0.9)):
            with self.subTest(runs=runs):
                self.assertGreater(share("higher", runs, factor, fake.noise, 500), least)
                self.assertEqual(share("lower", runs, factor, fake.noise, 500), 0)

    def test_less_than_a_per_cent_is_no_difference(self):
        self.assertEqual(statistics.compare([1.0] * 5, [1.009] * 5).verdict, "same")
        self.assertEqual(statistics.compare([1.0] * 5, [1.02] * 5).verdict, "higher")
        self.assertEqual(statistics.compare([1.0] * 3, [1.015] * 3).verdict, "same")
        self.assertEqual(statistics.compare([1.0] * 5, [0.9] * 5).verdict, "lower")

    def test_ranks(self):
        low, high = list(range(5)), list(range(5, 10))
        self.assertAlmostEqual(statistics.by_chance(low, high), 2 / 252)
        self.assertAlmostEqual(statistics.by_chance([1, 2, 3], [4, 5, 6]), 2 / 20)
        self.assertEqual(statistics.by_chance([1] * 9, [1] * 9), 1.0)
        # Of the 20 orders of six values two have at most one pair the other way round.
        self.assertAlmostEqual(statistics.by_chance([1, 2, 4], [3, 5, 6]), 2 * 2 / 20)

    def test_five_that_all_lie_apart_are_apart_however_wide(self):
        wide = [1.0, 1.1, 1.2, 1.3, 1.4]
        apart = [value + 0.41 for value in wide]
        self.assertEqual(statistics.compare(wide, apart).verdict, "higher")
        self.assertEqual(statistics.compare(wide, [1.39, *apart[1:]]).verdict, "same")

    def test_the_resolution_counts(self):
        self.assertEqual(statistics.compare([1000] * 5, [1100] * 5, resolution=128).verdict, "same")
        self.assertEqual(statistics.compare([1000] * 5, [1200] * 5, resolution=128).verdict, "higher")

    def test_too_few(self):
        self.assertEqual(statistics.compare([1, 1], [9, 9, 9]).verdict, "few")
        self.assertIsNone(statistics.compare([], [1]))

    def test_one_odd_run_of_five_hides_nothing(self):
        self.assertEqual(
            statistics.compare([1, 1.01, 1.0, 1.02, 9], [1.3, 1.31, 1.29, 1.3, 8]).verdict,
            "higher")

    def test_a_base_of_zero(self):
        self.assertEqual(statistics.compare([0] * 3, [0] * 3).ratio, 1.0)
        self.assertEqual(statistics.compare([0] * 3, [5] * 3).verdict, "higher")


class Rows(unittest.TestCase):
    """A row of many contestants in rounds that drift: the effect of a round is not noise."""

    def shares(self, runs, factor, levels, simulations=600):
        """How often "b" differs from "a" in the whole row, and by their values alone."""
        source = random.Random(11)
        names = list(levels)
        whole = alone = 0
        for _ in range(simulations):
            lines = []
            for number in range(runs):
                drift = 1 + 0.2 * source.random()
                for name in names:
                    value = drift * (factor if name == "b" else 1.0) * (
                        1 + levels[name] * (fake.noise(source) - 1))
                    lines.append({**fake.figures(value), "row": "r", "contestant": name,
                                  "round": number, "kept": True})
            found = results.Run(None, {"rows": [{"id": "r", "contestants": names}]}, lines)
            whole += found.compare("r", "a", "b").verdict != "same"
            alone += statistics.compare(found.kept("r", "a"), found.kept("r", "b")).verdict != "same"
        return whole / simulations, alone / simulations

    def test_copies_are_rarely_told_apart(self):
        for runs in (3, 5, 7):
            for noisy in (1, 3):  # the compared ones as noisy as the others, and noisier
                with self.subTest(runs=runs, noisy=noisy):
                    levels = dict.fromkeys("cdefg", 1) | dict.fromkeys("ab", noisy)
                    self.assertLessEqual(self.shares(runs, 1.0, levels)[0], 0.02)

    def test_more_is_found_than_by_the_values_alone(self):
        whole, alone = self.shares(3, 1.15, dict.fromkeys("abcdefg", 1))
        self.assertGreater(whole, 0.6)
        self.assertLess(alone, 0.3)

    def test_two_contestants_are_compared_as_they_are(self):
        whole, alone = self.shares(3, 1.3, dict.fromkeys("ab", 1), 100)
        self.assertEqual(whole, alone)


class Summaries(unittest.TestCase):
    def test_median_and_mad(self):
        found = statistics.summary([3, 1, 2, 10, 2])
        self.assertEqual((found.n, found.median, found.mad), (5, 2, 1))
        self.assertEqual(statistics.median([1, 2, 3, 10]), 2.5)
        self.assertIsNone(statistics.summary([]))

    def test_the_weights_are_those_of_the_bootstrap(self):
        for count in (1, 2, 3, 4, 5, 9):
            self.assertAlmostEqual(sum(statistics.median_weights(count)), 1.0)
        source = random.Random(3)
        drawn = [statistics.median([source.randrange(5) for _ in range(5)]) for _ in range(20000)]
        for k, weight in enumerate(statistics.median_weights(5)):
            self.assertAlmostEqual(drawn.count(k) / len(drawn), weight, delta=0.015)

    def test_the_interval_holds_the_median(self):
        source = random.Random(5)
        for count in (1, 2, 3, 4, 7, 20):
            values = [source.random() for _ in range(count)]
            found = statistics.summary(values)
            self.assertTrue(min(values) <= found.low <= found.median <= found.high <= max(values))
        compared = statistics.compare([1, 1.1, 1.2], [2, 2.1, 2.2])
        self.assertTrue(compared.low <= compared.ratio <= compared.high)

    def test_geometric_mean(self):
        self.assertAlmostEqual(statistics.geometric_mean([0.5, 2.0]), 1.0)
        self.assertIsNone(statistics.geometric_mean([]))


if __name__ == "__main__":
    unittest.main()
