"""Difficulty: how far the words of a question lead to its tool, measured without asking any model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.generator.leakage import canonical_label, label_of
from infranode_eval.retrieval import Bm25, tool_documents
from lm_eval_task.records import Task
from lm_eval_task.tools import Toolset

BUCKETS = ("easy", "medium", "hard")
SEVERAL = 2      # neighbours from which on a question without helpful words is hard
ALIKE = 0.2       # share of a text's own BM25 score from which on another text counts as its neighbour


@dataclass(frozen=True, slots=True)
class Difficulty:
    """The signals of one task.

    margin: (score of the gold - score of the best wrong choice) / the larger of both, from -1 to 1; BM25 of the
    question over the German tool texts, the choices being 67 keys, six types, eight resources and the other tools.
    0: the question shares no word with either. neighbours: choices whose text is like the gold's.
    """

    margin: float
    neighbours: int

    @property
    def bucket(self) -> str:
        """easy: words lead to the gold. hard: they lead elsewhere, or nowhere where the gold has two neighbours."""
        if self.margin > 0:
            return "easy"
        return "hard" if self.margin < 0 or self.neighbours >= SEVERAL else "medium"

    def to_json(self) -> dict[str, Any]:
        return {"margin": self.margin, "neighbours": self.neighbours, "bucket": self.bucket}


class Meter:
    """Measures tasks over one set of tools."""

    def __init__(self, tools: Toolset) -> None:
        documents = tool_documents(tools)
        self._index = Bm25(documents)
        self._neighbours = {label: _neighbours(label, text, self._index) for label, text in documents.items()}

    def difficulty(self, task: Task) -> Difficulty | None:
        """None for a task that expects no call: there is no gold to find."""
        gold = {label_of(call) for alternative in task.alternatives for call in alternative}
        if not gold:
            return None
        best = {True: 0.0, False: 0.0}
        for label, score in self._index.ranked(task.question):
            right = canonical_label(label) in gold
            best[right] = max(best[right], score)
        top = max(best.values())
        margin = round((best[True] - best[False]) / top, 4) if top else 0.0
        alike: set[str] = set().union(*(self._neighbours.get(label, set()) for label in gold)) - gold
        return Difficulty(margin, len(alike))


def _neighbours(label: str, text: str, index: Bm25) -> set[str]:
    """Types of pois and resources of compare share their tool's text: among themselves it says nothing."""
    scores: Mapping[str, float] = dict(index.ranked(text))
    tool = label.partition("/")[0]
    own = scores[label]
    return {canonical_label(other) for other, score in scores.items()
            if score >= ALIKE * own > 0 and canonical_label(other) != canonical_label(label)
            and not (tool in ("pois", "compare") and other.startswith(f"{tool}/"))}
