"""Clustering at cosine 0.65: a fixture of six points on a circle, whose similarities are cosines of angles."""

from __future__ import annotations

import importlib.util
import math
import sys

import pytest

from infranode_eval.db_routing.candidates import SIMILARITY, clustered
from lm_eval_task.errors import UsageError

needs_sklearn = pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="needs the extra [panel]")
LIMIT = math.degrees(math.acos(SIMILARITY))     # 49.46 degrees are a similarity of 0.65


def at(**degrees: float) -> dict[str, list[float]]:
    return {name: [math.cos(math.radians(angle)), math.sin(math.radians(angle))] for name, angle in degrees.items()}


@needs_sklearn
@pytest.mark.parametrize(("points", "groups", "why"), [
    (at(a=0, b=20, c=40, d=120, e=150, f=240), [["a", "b", "c"], ["d", "e"], ["f"]], "six points, three groups"),
    (at(a=0, b=LIMIT - 0.1), [["a", "b"]], "just alike enough"),
    (at(a=0, b=LIMIT + 0.1), [["a"], ["b"]], "not alike enough by a tenth of a degree"),
    (at(a=0, b=30, c=70), [["a", "b"], ["c"]], "on average c is not alike a and b, though b alone would do"),
    ({"a": [1, 0], "b": [9, 0.1]}, [["a", "b"]], "length does not matter")])
def test_clusters(points: dict[str, list[float]], groups: list[list[str]], why: str) -> None:
    assert clustered(points) == groups, why
    assert clustered(dict(reversed(points.items()))) == groups, "whatever the order"


@needs_sklearn
def test_read_as_a_distance_it_would_join_more() -> None:
    points = at(a=0, b=60)
    assert clustered(points) == [["a"], ["b"]] and clustered(points, 1 - SIMILARITY) == [["a", "b"]]


def test_what_it_needs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(UsageError, match="scikit-learn"):
        clustered(at(a=0, b=1))
