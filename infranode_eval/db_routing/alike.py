"""How alike two texts are: the cosine of their counted character trigrams."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import sqrt

Vector = dict[str, float]


def trigram_vector(text: str) -> Vector:
    """Counts of the character trigrams of the lower-cased text with a blank at both ends, of length 1."""
    padded = f" {text.lower()} "
    counts = Counter(padded[i:i + 3] for i in range(len(padded) - 2))
    length = sqrt(sum(count * count for count in counts.values()))
    return {gram: count / length for gram, count in counts.items()}


def likeness(first: str, second: str) -> float:
    """0 (no trigram in common) to 1."""
    return _product(trigram_vector(first), trigram_vector(second))


def _product(one: Vector, other: Vector) -> float:
    return sum(weight * other[gram] for gram, weight in one.items() if gram in other)


def alike_pairs(texts: Sequence[str], least: float) -> Iterator[tuple[int, int, float]]:
    """(i, j, cosine), i < j, of all pairs from `least` on, without comparing them all.

    What is left of a vector of length 1 without its rarest trigrams is shorter than `least`, so whoever shares none of
    these cannot be that alike (prefix filter: Bayardo, Ma, Srikant 2007).
    """
    vectors = [trigram_vector(text) for text in texts]
    frequency = Counter(gram for vector in vectors for gram in vector)
    at: dict[str, list[int]] = defaultdict(list)
    for place, vector in enumerate(vectors):
        met = {other for gram in _rarest(vector, frequency, least) for other in at[gram]}
        for other in sorted(met):
            cosine = _product(vector, vectors[other])
            if cosine >= least:
                yield other, place, cosine
        for gram in vector:
            at[gram].append(place)


def _rarest(vector: Vector, frequency: Counter[str], least: float) -> Iterator[str]:
    """The rarest trigrams, as many as it takes until the rest is shorter than `least`."""
    rest = 1.0
    for gram in sorted(vector, key=lambda gram: (frequency[gram], gram)):
        if rest < least * least:
            return
        yield gram
        rest -= vector[gram] ** 2
