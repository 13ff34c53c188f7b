# SPDX-License-Identifier: Apache-2.0
"""What a few noisy runs allow to be said.

The figure of a contestant is the median of its runs: one disturbed run is then one odd value and
not a shift of everything. Whether two contestants differ is judged as `corbel compare` does it, by
the distance of the medians against both spreads together, widened for few runs. Only the spread is
another: with three to seven runs a side the median absolute deviation is too often close to nought
by chance, so here it is the range, without the highest of every five runs. Noise of a machine only
ever adds time, so the highest are the ones to distrust.

compare() calls a difference when the medians lie further apart than 4.5 / n times both ranges
together (1.4 / sqrt(n) from 11 runs on: a median gets no closer faster than that), and by at
least 1 % (2 % below five runs). Two copies of one contestant are then told
apart in less than 1 of 100 cases with three to nine runs a side, whether the noise is normal,
exponential, or mostly small with a heavy right tail; test/bench simulates it. What no rule can
see with three runs is a contestant that falls into one of two modes by chance for each process.

From five runs on, the ranks may say it as well: where next to all runs of one lie above next to all
of the other (Mann and Whitney's exact test, 0.8 %), the ranges do not matter.

In a row of many contestants more is known: what a round did to all of them (the contestants of a
row run one after another, so a slow minute falls on all), and how far the runs of one contestant
usually lie apart. Then verdict() is given values freed from their rounds, and that usual range; a
range smaller than it is taken to be small by chance and raised half the way, and 4 / n does.
"""
import functools
import math
from dataclasses import dataclass

FEWEST = 3
WIDENING = 4.5
WIDENING_OF_ROW = 4.0
WIDENING_OF_MANY = 1.4
RANK_LEVEL = 0.008  # what five runs that all lie apart from five others reach
FEWEST_OF_ROW = 3  # contestants other than the two that are compared
SMALLEST_SHARE = 0.01
SMALLEST_SHARE_OF_FEW = 0.02
CONFIDENCE = 0.95


@dataclass
class Summary:
    n: int
    median: float
    low: float  # bootstrap interval of the median
    high: float
    mad: float  # median absolute deviation from the median


@dataclass
class Comparison:
    ratio: float  # of the medians: other ÷ base
    low: float  # bootstrap interval of the ratio
    high: float
    verdict: str  # "lower", "higher": other against base; "same"; "few" below three runs a side


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def mad(values):
    middle = median(values)
    return median([abs(value - middle) for value in values])


def spread(values):
    """The range, without the highest of every five."""
    ordered = sorted(values)
    return ordered[len(ordered) - 1 - len(ordered) // 5] - ordered[0]


def median_weights(count):
    """How likely each of `count` sorted values is to be the median of a bootstrap sample, exactly:
    the sample's median is above the k-th value when at most half of its draws are among the first
    k. An even sample is one draw smaller, so that its median is one of the values."""
    draws = count if count % 2 else count - 1
    half = draws // 2

    def above(k):
        share = k / count
        return sum(math.comb(draws, i) * share**i * (1 - share)**(draws - i)
                   for i in range(half + 1))

    return [above(k) - above(k + 1) for k in range(count)]


def _interval(weighted):
    """The middle 95 % of (value, weight) pairs."""
    weighted.sort()
    outside = (1 - CONFIDENCE) / 2
    low = high = weighted[-1][0]
    total, found = 0.0, False
    for value, weight in weighted:
        total += weight
        if not found and total > outside:
            low, found = value, True
        if total >= 1 - outside:
            high = value
            break
    return low, high


def summary(values):
    """None without a value."""
    values = sorted(values)
    if not values:
        return None
    middle = median(values)
    low, high = _interval(list(zip(values, median_weights(len(values)))))
    return Summary(len(values), middle, min(low, middle), max(high, middle), mad(values))


def compare(base, other, least=0.0):
    """`other` against `base`; `least` is a difference too small to count in the values' own unit.
    None when either has no value."""
    if not base or not other:
        return None
    base, other = sorted(base), sorted(other)
    below, above = median(base), median(other)
    ratio = above / below if below else math.inf if above else 1.0
    weights = [[value for value in zip(side, median_weights(len(side)))] for side in (base, other)]
    if base[0] > 0:
        low, high = _interval([(b / a, p * q) for a, p in weights[0] for b, q in weights[1]])
        low, high = min(low, ratio), max(high, ratio)
    else:
        low = high = ratio
    return Comparison(ratio, low, high, verdict(base, other, least))


def verdict(base, other, least=0.0, usual=None):
    """`usual`: the range of a contestant's values in this row as a share of their median."""
    runs = min(len(base), len(other))
    if runs < FEWEST:
        return "few"
    below, above = median(base), median(other)
    share = SMALLEST_SHARE if runs >= 5 else SMALLEST_SHARE_OF_FEW
    ranges, widening = [spread(base), spread(other)], WIDENING
    if usual is not None:
        ranges = [max(own, (own + usual * middle) / 2)
                  for own, middle in zip(ranges, (below, above))]
        widening = WIDENING_OF_ROW
    noise = max(widening / runs, WIDENING_OF_MANY / math.sqrt(runs)) * sum(ranges)
    if abs(above - below) <= max(share * max(abs(below), abs(above)), least):
        return "same"
    if abs(above - below) <= noise and by_chance(base, other) > RANK_LEVEL:
        return "same"
    return "lower" if above < below else "higher"


def by_chance(base, other):
    """How likely the ranks of two samples of one distribution, whichever it is, lie at least as far
    apart as these: the two-sided test of Mann and Whitney (1947), exactly, ties as halves."""
    m, n = len(base), len(other)
    won = sum((a > b) + (a == b) / 2 for a in base for b in other)
    ways = _rank_ways(m, n)
    tail = sum(ways[:math.floor(min(won, m * n - won)) + 1])
    return min(1.0, 2 * tail / sum(ways))


@functools.lru_cache
def _rank_ways(m, n):
    """How many orders of m and n values have 0, 1, ... m * n pairs in which the first is larger:
    the coefficients of the Gaussian binomial (m + n over m)."""
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for k in range(m * n, n + i - 1, -1):
            ways[k] -= ways[k - n - i]
        for k in range(i, m * n + 1):
            ways[k] += ways[k - i]
    return ways


def geometric_mean(values):
    """None without a value; values at or below nought have none either and are left out."""
    logs = [math.log(value) for value in values if value > 0 and math.isfinite(value)]
    return math.exp(sum(logs) / len(logs)) if logs else None
