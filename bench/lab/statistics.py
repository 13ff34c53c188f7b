# SPDX-License-Identifier: Apache-2.0
"""The statistics of a few noisy runs.

The figure of a contestant is the median of its runs: a disturbed run is then one outlier and does not
shift the result. Like `corbel compare`, the lab calls two contestants different when the distance of
their medians exceeds the sum of both spreads, widened for few runs. The spread is another one. With
three to seven runs a side the median absolute deviation is too often close to zero by chance, so the
lab uses the range without the highest of every five runs. A machine's noise only ever adds time, so
the highest runs are the least reliable.

compare() reports a difference when the distance of the medians exceeds the sum of both ranges times
4.5 / n (1.4 / sqrt(n) from 11 runs on, because a median does not converge faster), and 1 % (2 % below
five runs). It then distinguishes two copies of one contestant in less than 1 of 100 cases with three
to nine runs a side, whether the noise is normal, exponential, or mostly small with a heavy right tail;
test/bench simulates it. With three runs no rule detects a contestant whose processes fall into one of
two modes by chance.

From five runs on, the ranks alone can show a difference: when nearly all runs of one contestant are
above nearly all of the other (Mann and Whitney's exact test, 0.8 %), the ranges do not matter.

A row of many contestants provides more information. Its contestants run one after another, so a slow
minute affects all of them, and the effect of a round can be removed. The usual range of a contestant
is known as well. verdict() then gets the corrected values and the usual range. It assumes that a
smaller range is small by chance and raises it half way to the usual one; 4 / n is then enough.
"""
import functools
import math
from dataclasses import dataclass
from statistics import median

MIN_RUNS = 3
WIDENING = 4.5
WIDENING_OF_ROW = 4.0
WIDENING_OF_MANY = 1.4
RANK_LEVEL = 0.008  # five runs that are all above five others reach it
MIN_OF_ROW = 3  # contestants in addition to the two that are compared
MIN_SHARE = 0.01
MIN_SHARE_OF_FEW = 0.02
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


def mad(values):
    middle = median(values)
    return median([abs(value - middle) for value in values])


def spread(values):
    """The range, without the highest of every five."""
    ordered = sorted(values)
    return ordered[len(ordered) - 1 - len(ordered) // 5] - ordered[0]


def median_weights(count):
    """The exact probability of each of `count` sorted values to be the median of a bootstrap sample.
    The sample's median is above the k-th value when at most half of its draws are among the first
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


def compare(base, other, resolution=0.0):
    """`other` against `base`. A difference up to `resolution`, in the values' own unit, does not count.
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
    return Comparison(ratio, low, high, verdict(base, other, resolution))


def verdict(base, other, resolution=0.0, usual=None):
    """`usual`: the range of a contestant's values in this row as a share of their median."""
    runs = min(len(base), len(other))
    if runs < MIN_RUNS:
        return "few"
    below, above = median(base), median(other)
    share = MIN_SHARE if runs >= 5 else MIN_SHARE_OF_FEW
    ranges, widening = [spread(base), spread(other)], WIDENING
    if usual is not None:
        ranges = [max(own, (own + usual * middle) / 2)
                  for own, middle in zip(ranges, (below, above))]
        widening = WIDENING_OF_ROW
    noise = max(widening / runs, WIDENING_OF_MANY / math.sqrt(runs)) * sum(ranges)
    if abs(above - below) <= max(share * max(abs(below), abs(above)), resolution):
        return "same"
    if abs(above - below) <= noise and by_chance(base, other) > RANK_LEVEL:
        return "same"
    return "lower" if above < below else "higher"


def by_chance(base, other):
    """The probability that the ranks of two samples of the same distribution are at least this far
    apart: the exact two-sided test of Mann and Whitney (1947), with ties as halves."""
    m, n = len(base), len(other)
    won = sum((a > b) + (a == b) / 2 for a in base for b in other)
    ways = _rank_ways(m, n)
    tail = sum(ways[:math.floor(min(won, m * n - won)) + 1])
    return min(1.0, 2 * tail / sum(ways))


@functools.lru_cache
def _rank_ways(m, n):
    """The numbers of orders of m and n values with 0, 1, ... m * n pairs in which the first is
    larger: the coefficients of the Gaussian binomial (m + n over m)."""
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for k in range(m * n, n + i - 1, -1):
            ways[k] -= ways[k - n - i]
        for k in range(i, m * n + 1):
            ways[k] += ways[k - i]
    return ways


def geometric_mean(values):
    """None without a value. Ignores values that are not positive, which have no logarithm."""
    logs = [math.log(value) for value in values if value > 0 and math.isfinite(value)]
    return math.exp(sum(logs) / len(logs)) if logs else None
