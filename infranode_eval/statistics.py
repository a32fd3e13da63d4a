"""The statistics of the reports: intervals, paired tests, corrections, detectable differences, repeats.

Pure standard library; scipy and statsmodels are oracles in the tests only. Proportions and differences are 0–1.
Which method is used where: specification, scoring, "Aggregates".
"""

from __future__ import annotations

import math
import random
import sys
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import truediv
from statistics import NormalDist

DRAWS = 2000   # bootstrap draws; the specification fixes them
SEED = 20261201


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its lower and upper limit, on the scale of the estimate."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two runs over the same tasks: how many tasks both, only the first, only the second, neither solved."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @classmethod
    def of(cls, first: Sequence[bool], second: Sequence[bool]) -> Pairs:
        """Count two equally long sequences, position by position. Raise ValueError if their lengths differ."""
        cells = [0, 0, 0, 0]
        for a, b in zip(first, second, strict=True):
            cells[(not a) * 2 + (not b)] += 1
        return cls(*cells)

    @property
    def n(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def difference(self) -> float:
        """First minus second, as proportions of all tasks; 0 without tasks."""
        return (self.first_only - self.second_only) / self.n if self.n else 0.0


def quantile(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(probability)


def wilson(successes: float, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a proportion, without continuity correction. Raise ValueError for n < 1.

    Source: Wilson 1927; Newcombe, Statistics in Medicine 17 (1998) 857–872, method 3.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"expected 0 <= successes <= n and n >= 1, found {successes} of {n}")
    z = quantile((1 + level) / 2)
    p = successes / n
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if successes == 0 else (centre - spread) / scale     # exact at the ends, where rounding shows -1e-18
    high = 1.0 if successes == n else (centre + spread) / scale
    return Interval(p, low, high)


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A test statistic (chi-square with one degree of freedom) with its two-sided p value."""

    statistic: float
    p: float


def mcnemar(first_only: int, second_only: int) -> PairedTest:
    """McNemar's test with continuity correction, clipped at 0; p = 1 without discordant pairs.

    Libraries divide by zero there, or report p = 0; both would call two equal runs different.
    """
    discordant = first_only + second_only
    if not discordant:
        return PairedTest(0.0, 1.0)
    statistic = max(0, abs(first_only - second_only) - 1) ** 2 / discordant
    return PairedTest(statistic, math.erfc(math.sqrt(statistic / 2)))


def mcnemar_exact(first_only: int, second_only: int) -> float:
    """Two-sided p value of the exact (binomial) McNemar test; 1 without discordant pairs."""
    discordant = first_only + second_only
    tail = sum(math.comb(discordant, k) for k in range(min(first_only, second_only) + 1))
    return min(1.0, 2 * tail / 2 ** discordant)


def exact_is_shown(first_only: int, second_only: int) -> bool:
    """Does the exact test stand beside the corrected one? Below 25 discordant pairs."""
    return first_only + second_only < 25


def paired_difference(pairs: Pairs, level: float = 0.95) -> Interval:
    """Difference of two paired proportions (first minus second) with its interval. Raise ValueError without tasks.

    Source: Newcombe, Statistics in Medicine 17 (1998) 2635–2650, method 10: Wilson limits of both proportions, joined
    with their correlation, whose numerator is corrected for continuity where it is positive.
    """
    n = pairs.n
    first = wilson(pairs.both + pairs.first_only, n, level)
    second = wilson(pairs.both + pairs.second_only, n, level)
    phi = _correlation(pairs)
    below_first, above_first = first.estimate - first.low, first.high - first.estimate
    below_second, above_second = second.estimate - second.low, second.high - second.estimate
    down = below_first ** 2 - 2 * phi * below_first * above_second + above_second ** 2
    up = above_first ** 2 - 2 * phi * above_first * below_second + below_second ** 2
    estimate = pairs.difference
    return Interval(estimate, max(-1.0, estimate - math.sqrt(max(0.0, down))),
                    min(1.0, estimate + math.sqrt(max(0.0, up))))


def _correlation(pairs: Pairs) -> float:
    margins = ((pairs.both + pairs.first_only) * (pairs.second_only + pairs.neither)
               * (pairs.both + pairs.second_only) * (pairs.first_only + pairs.neither))
    if not margins:
        return 0.0
    numerator = pairs.both * pairs.neither - pairs.first_only * pairs.second_only
    if numerator > 0:
        numerator = max(0.0, numerator - pairs.n / 2)
    return numerator / math.sqrt(margins)


def independent_difference(first: Interval, second: Interval) -> Interval:
    """First minus second of two estimates that share no row, with the interval that their limits give.

    Squared distances from estimate to limit add up. Source: Zou and Donner, Statistics in Medicine 27 (2008) 1693–1702.
    """
    estimate = first.estimate - second.estimate
    down = math.hypot(first.estimate - first.low, second.high - second.estimate)
    up = math.hypot(first.high - first.estimate, second.estimate - second.low)
    return Interval(estimate, max(-1.0, estimate - down), min(1.0, estimate + up))


def newcombe(first: float, first_n: int, second: float, second_n: int, level: float = 0.95) -> Interval:
    """Difference of two independent proportions (first minus second). Raise ValueError as `wilson` does.

    Source: Newcombe, Statistics in Medicine 17 (1998) 873–890, method 10: Wilson limits of both, joined.
    """
    return independent_difference(wilson(first, first_n, level), wilson(second, second_n, level))


@dataclass(frozen=True, slots=True)
class UnpairedTest:
    """z of two proportions that share no row, with its two-sided p value."""

    z: float
    p: float


def two_proportions(first: Mapping[Hashable, bool], second: Mapping[Hashable, bool]) -> UnpairedTest:
    """Pooled z test of two runs over different tasks, first minus second; weaker than any paired test.

    first, second: task id → solved. p = 1 where all or none of both are solved. Raise ValueError for an empty side or a
    task that both hold: what shares tasks is paired, and this test would throw that away.
    """
    if not first or not second:
        raise ValueError("two proportions need at least one task on each side")
    if common := sorted(map(str, first.keys() & second.keys())):
        raise ValueError(f"{len(common)} tasks are on both sides ({common[0]} …): use a paired test")
    a, m, b, n = sum(first.values()), len(first), sum(second.values()), len(second)
    pooled = (a + b) / (m + n)
    variance = pooled * (1 - pooled) * (1 / m + 1 / n)
    z = (a / m - b / n) / math.sqrt(variance) if a + b not in (0, m + n) else 0.0
    return UnpairedTest(z, _two_sided(z))


def _two_sided(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2))


@dataclass(frozen=True, slots=True)
class Stratum:
    """Two groups within one stratum: of `first_n` rows `first` are solved, of `second_n` rows `second`."""

    name: str
    first: int
    first_n: int
    second: int
    second_n: int

    @property
    def comparable(self) -> bool:
        """Are there rows of both groups?"""
        return self.first_n > 0 and self.second_n > 0

    @property
    def has_zero(self) -> bool:
        """Is one of its four cells empty: nothing solved, or all?"""
        return 0 in (self.first, self.first_n - self.first, self.second, self.second_n - self.second)

    @property
    def log_ratio(self) -> tuple[float, float]:
        """Logarithm of the ratio of both shares with its variance; half a row more in each cell if one is empty."""
        more, rows = (0.5, 1) if self.has_zero else (0.0, 0)
        a, m, b, n = self.first + more, self.first_n + rows, self.second + more, self.second_n + rows
        return math.log(a / m) - math.log(b / n), 1 / a - 1 / m + 1 / b - 1 / n


@dataclass(frozen=True, slots=True)
class PooledRatio:
    """Share of the first group over that of the second, within strata. ratio, z, p: None where no stratum is left.

    used, dropped (they lack one group), corrected (an empty cell): names of strata, in their order.
    """

    ratio: Interval | None
    z: float | None
    p: float | None
    used: tuple[str, ...]
    dropped: tuple[str, ...]
    corrected: tuple[str, ...]


def risk_ratio(strata: Iterable[Stratum], level: float = 0.95) -> PooledRatio:
    """The ratio of two shares within strata, pooled on the log by inverse variance.

    Half a row is added to all four cells of a stratum with an empty one: where all are solved, the variance would be 0.
    Source: specification, db_routing, 39; Rothman, Greenland, Lash, Modern Epidemiology, chapter 15 (fixed effect).
    """
    strata = tuple(strata)
    used = [s for s in strata if s.comparable]
    dropped = tuple(s.name for s in strata if not s.comparable)
    if not used:
        return PooledRatio(None, None, None, (), dropped, ())
    logs = [s.log_ratio for s in used]
    weight = math.fsum(1 / variance for _, variance in logs)
    centre = math.fsum(log / variance for log, variance in logs) / weight
    error = 1 / math.sqrt(weight)
    spread = quantile((1 + level) / 2) * error
    return PooledRatio(Interval(math.exp(centre), math.exp(centre - spread), math.exp(centre + spread)),
                       centre / error, _two_sided(centre / error), tuple(s.name for s in used), dropped,
                       tuple(s.name for s in used if s.has_zero))


def cluster_bootstrap(values: Iterable[tuple[Hashable, float]], *, draws: int = DRAWS, seed: int = SEED,
                      level: float = 0.95) -> Interval:
    """Mean with a percentile interval from resampling whole clusters. Raise ValueError without values.

    values: (cluster, value) of each row; rows of one cluster (a template, a task's repeats) stand or fall together.
    For a paired difference pass the differences. Equal input and seed give equal limits.
    """
    return bootstrap_of_sums(((cluster, (value,)) for cluster, value in values), truediv,
                             draws=draws, seed=seed, level=level)


def bootstrap_of_sums(rows: Iterable[tuple[Hashable, Sequence[float]]], figure: Callable[..., float], *,
                      draws: int = DRAWS, seed: int = SEED, level: float = 0.95) -> Interval:
    """A figure of sums over rows, with a percentile interval from resampling whole clusters.

    rows: (cluster, the numbers of a row), equally many in each. figure: takes the sum of each number and, last, how
    many rows there are, all over the same drawn clusters: so a product of means is drawn as one. Raise ValueError
    without rows.
    """
    sums: dict[Hashable, list[float]] = {}
    for cluster, numbers in rows:
        entry = sums.setdefault(cluster, [0] * (len(numbers) + 1))
        for place, number in enumerate((*numbers, 1)):
            entry[place] += number
    if not sums:
        raise ValueError("a figure of no rows has no interval")
    *totals, sizes = (tuple(column) for column in zip(*sums.values(), strict=True))
    estimate = figure(*map(sum, totals), sum(sizes))
    if len(sizes) == 1:
        return Interval(estimate, estimate, estimate)
    drawn = sorted(map(figure, *(_drawn_sums(column, draws, seed) for column in totals),
                       _drawn_sizes(sizes, draws, seed)))
    return Interval(estimate, _percentile(drawn, (1 - level) / 2), _percentile(drawn, (1 + level) / 2))


def clustered_proportion(clusters: Sequence[Hashable], verdicts: Sequence[bool]) -> Interval:
    """A proportion of rows that stand or fall by cluster. Raise ValueError without rows.

    The bootstrap, but for rows that are all alike: whatever is drawn from them is alike, too, and the interval would
    claim certainty. There Wilson's limits hold, with clusters as the rows.
    """
    solved, count = sum(verdicts), len(set(clusters))
    if solved in (0, len(verdicts)) and count:
        return wilson(count if solved else 0, count)
    return cluster_bootstrap(zip(clusters, map(float, verdicts), strict=True))


_DIGIT = "H"                                # how one draw's sum is packed: two bytes
_LARGEST = 2 ** (8 * array(_DIGIT).itemsize)


def _drawn_sums(totals: Sequence[float], draws: int, seed: int) -> Sequence[float]:
    """The sum over the drawn clusters, for each draw.

    Small whole sums (the usual case: solved rows) of all draws are added at once, as the digits of one long number:
    far faster than draw by draw, and exact.
    """
    lowest = min(0, *totals)
    if all(float(t).is_integer() for t in totals) and (max(totals) - lowest) * len(totals) < _LARGEST:
        packed = 0
        for total, number in zip(totals, _packed(len(totals), draws, seed), strict=True):
            if total != lowest:
                packed += number if total - lowest == 1 else int(total - lowest) * number
        sums = array(_DIGIT, packed.to_bytes(draws * array(_DIGIT).itemsize, sys.byteorder))
        shift = int(lowest) * len(totals)       # every draw holds as many clusters as there are
        return [s + shift for s in sums] if shift else sums
    return [math.fsum(total * count for total, count in zip(totals, column, strict=True) if count)
            for column in zip(*_times_drawn(len(totals), draws, seed), strict=True)]


@lru_cache(maxsize=32)
def _drawn_sizes(sizes: tuple[int, ...], draws: int, seed: int) -> Sequence[float]:
    """Rows in each draw; kept, since runs over one set draw alike."""
    return _drawn_sums(sizes, draws, seed)


@lru_cache(maxsize=32)
def _times_drawn(clusters: int, draws: int, seed: int) -> tuple[array[int], ...]:
    """For each cluster, how often each draw holds it."""
    indices, generator = range(clusters), random.Random(seed)
    times = tuple(array(_DIGIT, [0]) * draws for _ in indices)
    for draw in range(draws):
        for cluster in generator.choices(indices, k=clusters):
            times[cluster][draw] += 1
    return times


@lru_cache(maxsize=32)
def _packed(clusters: int, draws: int, seed: int) -> tuple[int, ...]:
    """The same as one number for each cluster, in which a draw is a digit."""
    return tuple(int.from_bytes(column.tobytes(), sys.byteorder) for column in _times_drawn(clusters, draws, seed))


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics (numpy's default)."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the order of the input. Source: Holm 1979."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def smallest_detectable_difference(n: int, discordant: float, *, alpha: float = 0.05,
                                   power: float = 0.8) -> float | None:
    """Smallest paired difference that McNemar's test over `n` tasks finds with `power`; None if none is found.

    discordant: share of the tasks that exactly one of the two runs solves; the difference cannot exceed it.
    Source: Connor, Biometrics 43 (1987) 207–211, solved for the difference.
    """
    def enough(difference: float) -> bool:
        needed = (quantile(1 - alpha / 2) * math.sqrt(discordant)
                  + quantile(power) * math.sqrt(max(0.0, discordant - difference ** 2)))
        return math.sqrt(n) * difference >= needed

    if n < 1 or not 0 < discordant <= 1 or not enough(discordant):
        return None
    low, high = 0.0, discordant
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def pass_hat_k(solved: int, repeats: int, k: int) -> float:
    """pass^k: the chance that k of a task's `repeats` drawn without replacement are all solved: C(c,k) / C(n,k).

    Raise ValueError unless 0 <= solved <= repeats and 1 <= k <= repeats. Source: tau-bench (Yao et al. 2024).
    """
    if not 0 <= solved <= repeats or not 1 <= k <= repeats:
        raise ValueError(f"expected 0 <= solved <= repeats and 1 <= k <= repeats, found {solved}, {repeats}, {k}")
    return math.comb(solved, k) / math.comb(repeats, k)
