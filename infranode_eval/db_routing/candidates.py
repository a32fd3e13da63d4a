"""Databases that are alike by their vectors, as a benchmark over a BIRD folder may choose them.

Cosine 0.65 is read as a similarity. The embedded panel is authored and needs none of this. Source: specification,
db_routing, 36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lm_eval_task.errors import UsageError

SIMILARITY, LINKAGE = 0.65, "average"


def clustered(vectors: Mapping[str, Sequence[float]], similarity: float = SIMILARITY) -> list[list[str]]:
    """Groups of names, each sorted, the largest first, then by name. vectors: of any length but 0.

    Raise UsageError without scikit-learn, and for fewer than two.
    """
    try:
        from sklearn.cluster import AgglomerativeClustering  # late: only whoever chooses databases needs it
    except ImportError:
        raise UsageError("clustering needs scikit-learn: pip install 'infranode-tool-eval[panel]'") from None
    if len(vectors) < 2:
        raise UsageError(f"{len(vectors)} database cannot be alike another")
    names = sorted(vectors)
    found = AgglomerativeClustering(n_clusters=None, metric="cosine", linkage=LINKAGE,
                                    distance_threshold=1 - similarity).fit([list(vectors[name]) for name in names])
    groups: dict[int, list[str]] = {}
    for name, label in zip(names, found.labels_.tolist(), strict=True):
        groups.setdefault(label, []).append(name)
    return sorted(groups.values(), key=lambda group: (-len(group), group))
