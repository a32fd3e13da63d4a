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
    one, other = trigram_vector(first), trigram_vector(second)
    return sum(weight * other[gram] for gram, weight in one.items() if gram in other)


def alike_pairs(texts: Sequence[str], least: float) -> Iterator[tuple[int, int, float]]:
    """(i, j, cosine), i < j, of all pairs from `least` on."""
    at: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, text in enumerate(texts):
        vector = trigram_vector(text)
        sums: dict[int, float] = defaultdict(float)
        for gram, weight in vector.items():
            for other, its in at[gram]:
                sums[other] += weight * its
            at[gram].append((place, weight))
        yield from ((other, place, cosine) for other, cosine in sorted(sums.items()) if cosine >= least)
