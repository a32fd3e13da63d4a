"""Which questions are hard: whose nearest neighbours lie in other databases.

Source of the rules: specification, db_routing_panel, section 7. Only this module needs scikit-learn (extra [panel]);
what it finds is stored with the questions, so playing and scoring read numbers.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_task.errors import UsageError

NEIGHBOURS, THRESHOLD = 20, 5
FLOORS = tuple(number / 100 for number in range(5, 21))
MOST_ISOLATED = 0.05            # share of flagged texts that an isolated database may have
CLUSTER_BAND = (0.30, 0.70)
SIGNAL = "char_wb_3_5"
LEAST_OF_LEVEL = 10             # intents from which on a level has to be mixed
ROUTER = 5                      # neighbours of the router that tests whether the flag means something


@dataclass(frozen=True, slots=True)
class Text:
    """One phrasing of the pool. words: those that may carry a domain; text: as people read it."""

    intent: str
    phrasing: str
    database: str
    text: str
    words: tuple[str, ...]

    @property
    def tie(self) -> str:
        """Orders equals by the text: ids hold names of databases."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Neighbour:
    place: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """foreign: how many of the neighbours above the floor lie in other databases."""

    foreign: int
    neighbours: int

    @property
    def flagged(self) -> bool:
        return self.foreign >= THRESHOLD


# Texts → for each its cosines with all of them in their order, and name and version of what made the vectors.
Cosines = Callable[[Sequence[Text]], tuple[Iterable[Sequence[float]], str]]


def characters(texts: Sequence[Text]) -> tuple[Iterable[Sequence[float]], str]:
    """The signal of the embedded panel. Raise UsageError without scikit-learn."""
    vectors, library = _vectors([" ".join(text.words) for text in texts])
    return (vectors @ vectors.T).toarray(), library


class Pool:
    """The texts with their neighbours, nearest first. library: name and version of what made the vectors."""

    def __init__(self, texts: Sequence[Text], cosines: Cosines = characters) -> None:
        self.texts = tuple(texts)
        rows, self.library = cosines(self.texts)
        self._near = _nearest(self.texts, rows)

    def near(self, place: int, floor: float) -> list[Neighbour]:
        """The at most twenty most alike others above the floor."""
        return [n for n in self._near[place] if n.cosine > floor]

    def verdict(self, place: int, floor: float) -> Verdict:
        own, near = self.texts[place].database, self.near(place, floor)
        return Verdict(sum(self.texts[n.place].database != own for n in near), len(near))

    def verdicts(self, floor: float) -> list[Verdict]:
        return [self.verdict(place, floor) for place in range(len(self.texts))]

    def shares(self, floor: float, phrasings: str = "ab") -> dict[str, float]:
        """Database → share of its texts that are flagged."""
        flagged: dict[str, list[bool]] = defaultdict(list)
        for place, text in enumerate(self.texts):
            if text.phrasing in phrasings:
                flagged[text.database].append(self.verdict(place, floor).flagged)
        return {name: sum(found) / len(found) for name, found in flagged.items()}

    def floor(self, isolated: Iterable[str]) -> float | None:
        """The smallest floor at which every isolated database is flagged to 5 % at most; None if there is none."""
        isolated = [name for name in isolated if any(text.database == name for text in self.texts)]
        for floor in FLOORS:
            shares = self.shares(floor)
            if all(shares[name] <= MOST_ISOLATED for name in isolated):
                return floor
        return None

    def agreement(self, floor: float) -> float:
        """In how many intents both phrasings are flagged, or both are not."""
        found: dict[str, set[bool]] = defaultdict(set)
        for text, verdict in zip(self.texts, self.verdicts(floor), strict=True):
            found[text.intent].add(verdict.flagged)
        return sum(len(flags) == 1 for flags in found.values()) / len(found)

    def router(self, floor: float) -> dict[str, float]:
        """Accuracy of the majority of the five nearest texts of other intents, on questions flagged and not flagged."""
        right: dict[str, list[bool]] = defaultdict(list)
        for place, text in enumerate(self.texts):
            if text.phrasing == "a":
                flagged = self.verdict(place, floor).flagged
                right["flagged" if flagged else "unflagged"].append(self._routed(place) == text.database)
        return {name: sum(found) / len(found) for name, found in right.items()}

    def _routed(self, place: int) -> str | None:
        near = [n for n in self._near[place] if self.texts[n.place].intent != self.texts[place].intent][:ROUTER]
        votes: dict[str, float] = defaultdict(float)
        counts = Counter(self.texts[n.place].database for n in near)
        for neighbour in near:
            votes[self.texts[neighbour.place].database] += neighbour.cosine
        return max(votes, key=lambda name: (counts[name], votes[name])) if votes else None


def _nearest(texts: Sequence[Text], rows: Iterable[Sequence[float]]) -> list[list[Neighbour]]:
    """For each text the twenty nearest others with a cosine above 0, nearest first; never itself."""
    ties = [text.tie for text in texts]
    found = []
    for place, row in enumerate(rows):
        near = [Neighbour(other, round(float(cosine), 9)) for other, cosine in enumerate(row)
                if other != place and cosine > 0]
        found.append(sorted(near, key=lambda n: (-n.cosine, ties[n.place]))[:NEIGHBOURS])
    return found


def _vectors(texts: Sequence[str]) -> tuple[Any, str]:
    """TF-IDF of character 3- to 5-grams inside words, sublinear, of length 1."""
    try:
        import sklearn  # late: only whoever builds a panel needs it
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError:
        raise UsageError("hardness needs scikit-learn: pip install 'infranode-tool-eval[panel]'") from None
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, lowercase=False)
    return vectorizer.fit_transform(texts), f"scikit-learn {'.'.join(sklearn.__version__.split('.')[:2])}"


def band_problems(pool: Pool, floor: float, clusters: Mapping[str, str | None],
                  levels: Mapping[str, str]) -> Iterator[str]:
    """What section 7 does not accept.

    clusters: database → its cluster, None for an isolated one. levels: intent → its level.
    """
    shares = pool.shares(floor)
    for name, share in shares.items():
        low, high = CLUSTER_BAND if clusters[name] else (0.0, MOST_ISOLATED)
        if not low <= share <= high:
            yield f"{name}: {share:.0%} flagged, expected {low:.0%} to {high:.0%}"
    yield from _steadiness(pool, floor, clusters)
    yield from _levels(pool, floor, clusters, levels)
    yield from _questions(pool, floor)
    router = pool.router(floor)
    if router.get("unflagged", 0.0) - router.get("flagged", 0.0) < 0.20:
        yield f"a router by neighbours is right on {router}, expected 0.20 apart"


def _steadiness(pool: Pool, floor: float, clusters: Mapping[str, str | None]) -> Iterator[str]:
    around = [pool.shares(round(floor + step, 2)) for step in (-0.01, 0.0, 0.01)]
    for name in around[1]:
        moved = max(abs(shares[name] - around[1][name]) for shares in around)
        if clusters[name] and moved > 0.10:
            yield f"{name}: moves by {100 * moved:.0f} points when the floor moves by 0.01"


def _levels(pool: Pool, floor: float, clusters: Mapping[str, str | None],
            levels: Mapping[str, str]) -> Iterator[str]:
    """No level of a cluster database is wholly hard or wholly free, where it has ten intents or more."""
    flags: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for place, text in enumerate(pool.texts):
        flags[text.database, levels[text.intent]].append(pool.verdict(place, floor).flagged)
    for (name, level), found in sorted(flags.items()):
        if clusters[name] and len(found) >= 2 * LEAST_OF_LEVEL and len(set(found)) == 1:
            yield f"{name}: all {level} texts are {'flagged' if found[0] else 'free'}"


def _questions(pool: Pool, floor: float) -> Iterator[str]:
    flagged = Counter(text.database for place, text in enumerate(pool.texts)
                      if text.phrasing == "a" and pool.verdict(place, floor).flagged)
    total = sum(flagged.values())
    if total < 120 or len(flagged) < 6:
        yield f"{total} flagged questions of {len(flagged)} databases, expected at least 120 of 6"
    yield from (f"{name}: {count} of {total} flagged questions, expected at most 30 %"
                for name, count in flagged.items() if count > 0.30 * total)
