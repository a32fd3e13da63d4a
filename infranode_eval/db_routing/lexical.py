"""Routers that read words only: the paragraph that looks most like a question, by TF-IDF or BM25.

Pure, standard library. Source: specification, db_routing, requirement 44.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from infranode_eval.db_routing.naive import drawn
from infranode_eval.retrieval import Bm25, tokens

Features = Callable[[str], Iterator[str]]
Router = Callable[[Mapping[str, str]], Callable[[str], Mapping[str, float]]]     # paragraphs → question → scores
_SHORTEST, _LONGEST = 3, 5


def characters(text: str) -> Iterator[str]:
    """Three to five neighbouring characters inside words; a blank stands before and behind each word."""
    for word in text.casefold().split():
        padded = f" {word} "
        for length in range(_SHORTEST, _LONGEST + 1):
            if length >= len(padded):
                yield padded
                break
            yield from (padded[at:at + length] for at in range(len(padded) - length + 1))


def words(text: str) -> Iterator[str]:
    """Word stems without function words."""
    yield from tokens(text)


def tfidf(features: Features) -> Router:
    """Cosine of TF-IDF vectors: sublinear counts, idf = ln((1 + N) / (1 + n)) + 1 over the paragraphs."""
    def over(paragraphs: Mapping[str, str]) -> Callable[[str], Mapping[str, float]]:
        counts = {label: Counter(features(text)) for label, text in paragraphs.items()}
        found_in = Counter(feature for inside in counts.values() for feature in inside)
        idf = {feature: math.log((1 + len(counts)) / (1 + n)) + 1 for feature, n in found_in.items()}
        vectors = {label: _vector(inside, idf) for label, inside in counts.items()}

        def scores(question: str) -> Mapping[str, float]:
            asked = _vector(Counter(features(question)), idf)
            return {label: math.fsum(weight * vector.get(feature, 0.0) for feature, weight in asked.items())
                    for label, vector in vectors.items()}
        return scores
    return over


def _vector(counts: Mapping[str, int], idf: Mapping[str, float]) -> dict[str, float]:
    """Of length 1; features that no paragraph has are left out."""
    weights = {feature: (1 + math.log(count)) * idf[feature] for feature, count in counts.items() if feature in idf}
    length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
    return {feature: weight / length for feature, weight in weights.items()}


def bm25(paragraphs: Mapping[str, str]) -> Callable[[str], Mapping[str, float]]:
    """Okapi BM25 over the paragraphs."""
    index = Bm25(paragraphs)
    return lambda question: dict(index.ranked(question))


ROUTERS: Mapping[str, Router] = {"tfidf_char": tfidf(characters), "tfidf_word": tfidf(words), "bm25": bm25}


def best(scores: Mapping[str, float], seed: int, task_id: str) -> str:
    """The label with the highest score; among equals one is drawn."""
    highest = max(scores.values())
    return drawn([label for label, score in scores.items() if math.isclose(score, highest, rel_tol=1e-12)], seed,
                 task_id)
