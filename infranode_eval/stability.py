"""What may move the order of runs without any of them being better: repeats, failures, and the band around a leader.

Pure. Counts are compared as whole numbers, so that rounding decides nothing.
Source: specification, db_routing, 27, 41 and 42.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

# --- failures ---------------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Standing:
    """One run in a table: `right` of `answered` rows, out of `asked` questions; the rest were failures."""

    name: str
    right: int
    answered: int
    asked: int

    @property
    def of_answered(self) -> Fraction | None:
        """The share among answered rows; None without one."""
        return Fraction(self.right, self.answered) if self.answered else None

    @property
    def worst_case(self) -> Fraction | None:
        """The share if every failure were wrong; None without a question."""
        return Fraction(self.right, self.asked) if self.asked else None

    @property
    def loss(self) -> float | None:
        """Worst case minus answered, 0–1 and never above 0."""
        if self.of_answered is None or self.worst_case is None:
            return None
        return float(self.worst_case - self.of_answered)


def swaps(standings: Iterable[Standing]) -> list[tuple[str, str]]:
    """Neighbours in the order by answered rows whose order the worst case turns round, as (ahead, then behind).

    The first is strictly ahead by one number and strictly behind by the other; equal shares swap with nobody. Of equal
    shares the one with the better worst case comes first. Runs without an answered row stand in no order.
    """
    placed = sorted((s for s in standings if s.of_answered is not None),
                    key=lambda s: (-s.of_answered, -s.worst_case, s.name))
    return [(a.name, b.name) for a, b in zip(placed, placed[1:], strict=False)
            if a.of_answered > b.of_answered and a.worst_case < b.worst_case]


# --- repeats ----------------------------------------------------------------------------------------------------------

class Given(NamedTuple):
    """What a run gave to a question: its answer, None for none, and whether that was right."""

    answer: Hashable
    right: bool


@dataclass(frozen=True, slots=True)
class Drift:
    """Two repeats over the same n questions.

    first, second: how many each had right. lost: right, then wrong; gained: the reverse; moved: wrong twice, in another
    way. Two repeats say how far they lie apart and nothing of a spread: there is no standard deviation here.
    """

    n: int
    first: int
    second: int
    lost: int
    gained: int
    moved: int

    @property
    def net(self) -> int:
        """Questions that the second has more than the first."""
        return self.second - self.first

    @property
    def difference(self) -> float | None:
        """Absolute difference of both shares, 0–1; None without a question."""
        return abs(self.net) / self.n if self.n else None

    @property
    def differing(self) -> int:
        """Questions to which the two gave different answers, right or wrong."""
        return self.lost + self.gained + self.moved


def drift_between(first: Mapping[Hashable, Given], second: Mapping[Hashable, Given]) -> Drift:
    """Compare two repeats over the questions that both answered."""
    pairs = [(first[key], second[key]) for key in first if key in second]
    return Drift(len(pairs), sum(a.right for a, _ in pairs), sum(b.right for _, b in pairs),
                 sum(a.right and not b.right for a, b in pairs), sum(b.right and not a.right for a, b in pairs),
                 sum(not a.right and not b.right and a.answer != b.answer for a, b in pairs))


def drift_by_bucket(buckets: Mapping[Hashable, str], first: Mapping[Hashable, Given],
                    second: Mapping[Hashable, Given]) -> dict[str, Drift]:
    """`drift_between` for the questions of each bucket. buckets: question → its bucket."""
    names = dict.fromkeys(buckets[key] for key in first if key in second)
    return {name: drift_between({key: given for key, given in first.items() if buckets[key] == name}, second)
            for name in names}


def largest_drift(drifts: Iterable[Drift]) -> Fraction | None:
    """The largest difference that repeats have shown, 0–1; None where nothing was repeated."""
    return max((Fraction(abs(drift.net), drift.n) for drift in drifts if drift.n), default=None)


# --- the band around the leader ---------------------------------------------------------------------------------------

def drift_band(shares: Sequence[Fraction | float], drift: Fraction | float | None) -> tuple[bool, ...] | None:
    """Which rows lie within `drift` of the best one, both ends included; None where the drift is unmeasured.

    Pass Fractions where a row may lie exactly on the edge.
    """
    if drift is None or not shares:
        return None
    leader = max(shares)
    return tuple(leader - share <= drift for share in shares)
