"""Rows: confirmed candidates with proof and marks; broken pairs, caps and the schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from infranode_eval.generator import rows
from infranode_eval.generator.build import Candidate, candidates
from infranode_eval.generator.reviews import Review, question_sha
from infranode_eval.generator.splits import split_of
from infranode_eval.generator.verify import Source
from infranode_eval.infranode.client import Answer
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.errors import DataError
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
CORE = tuple(c for c in candidates(1) if c.task.set == "core")


def asking(change: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda request, body: body) -> Source:
    """The snapshot, its answers changed by `change(request, body)`."""
    snapshot = Snapshot()

    def ask(request: str) -> Answer:
        found = snapshot.respond("GET", "/api/v1" + request)
        return Answer(request, found.status, change(request, found.json()), "2026-07-06")

    return Source(ask, "snapshot")


def confirmed(source: Source, found: tuple[Candidate, ...] = CORE) -> rows.Rows:
    return rows.confirmed(found, source, lambda done, total: None)


def gone(end: str) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """A source that has lost the data behind every request that ends so."""
    def change(request: str, body: dict[str, Any]) -> dict[str, Any]:
        return {"data": None, "meta": {"source_status": "no_data"}} if request.endswith(end) else body

    return change


def test_the_snapshot_confirms_the_whole_core() -> None:
    found = confirmed(asking())
    assert len(found.tasks) == len(CORE)
    assert found.dropped == ()
    assert [t.task_id for t in found.tasks] == sorted(t.task_id for t in found.tasks)


def test_a_task_whose_source_lost_its_data_is_dropped_with_the_reason() -> None:
    found = confirmed(asking(gone("/wuppertal/unemployment")))
    assert found.dropped == (("resource_key-wuppertal-unemployment", "source_status no_data"),)
    assert "resource_key-wuppertal-unemployment" not in {t.task_id for t in found.tasks}


def test_a_not_covered_task_goes_with_its_twin() -> None:
    found = confirmed(asking(gone("/muenchen/parking")))
    assert dict(found.dropped) == {"resource_key-muenchen-parking": "source_status no_data",
                                   "not_covered-goettingen-parking": "its twin was dropped"}


def test_a_covered_task_stays_without_its_twin_and_loses_the_link() -> None:
    found = confirmed(asking(gone("/goettingen/parking")))
    assert dict(found.dropped) == {
        "not_covered-goettingen-parking": "source_status no_data instead of not_covered"}
    twin = next(t for t in found.tasks if t.task_id == "resource_key-muenchen-parking")
    assert "pair" not in twin.extra


def test_an_accept_without_data_is_given_up_and_a_switched_off_one_is_marked() -> None:
    hospital = next(c for c in candidates(1) if c.phrasing.id == "poi-hospital-7")
    slug = hospital.slugs[0]
    off = confirmed(asking(), (hospital,)).tasks[0]
    assert [call.arguments.get("resource") for (call,) in off.accept] == ["health", "hospitals-atlas"]
    assert off.extra["accept_unverified"] == [1]
    found = confirmed(asking(gone(f"/{slug}/health")), (hospital,))
    assert [call.arguments.get("resource") for (call,) in found.tasks[0].accept] == ["hospitals-atlas"]
    assert found.tasks[0].extra["accept_unverified"] == [0]
    assert found.lost_accepts == ((hospital.task.task_id, "accept: source_status no_data"),)


def test_every_row_of_the_core_fits_the_schema() -> None:
    rows.check_rows([task.to_json() for task in confirmed(asking()).tasks])


@pytest.mark.parametrize(("change", "place"), [
    ({"verified": {"level": "trusted"}}, "verified"),                 # a level that does not exist
    ({"category": "weather"}, "category"),
    ({"category": "abroad"}, "category"),                             # belongs to the abstention set
    ({"expected": []}, "expected"),                                   # only the abstention set has no gold
    ({"set": "abstain"}, "why"),                                      # says why no call is right
    ({"set": "robust"}, "variant"),                                   # says what was changed
    ({"variant": "nfd"}, "does not allow"),                           # belongs to the robustness set
    ({"verified": None}, "verified"),
    ({"question": "kein Satz"}, "question"),                          # too short, no end mark
    ({"note": 1}, "note"),                                            # a key nobody knows
    ({"task_id": "Köln"}, "task_id"),
])
def test_a_row_outside_the_schema_is_named(change: dict[str, Any], place: str) -> None:
    row = confirmed(asking(), CORE[:1]).tasks[0].to_json() | change
    with pytest.raises(DataError, match=place):
        rows.check_rows([row])


@pytest.mark.parametrize("most", [1, 3])
def test_a_cap_holds_per_set_and_category_and_keeps_pairs_together(most: int) -> None:
    kept = rows.capped(candidates(1), most)
    counts = Counter((c.task.set, c.task.category) for c in kept)
    assert max(counts.values()) == most
    names = {c.task.task_id for c in kept}
    assert all(c.task.extra["pair"] in names for c in kept if c.task.category == "not_covered")


def test_balanced_gives_every_category_as_many_as_the_smallest_has() -> None:
    kept = rows.balanced(candidates(1))
    for name in ("core", "extended"):
        counts = Counter(c.task.category for c in kept if c.task.set == name)
        least = min(Counter(c.task.category for c in candidates(1) if c.task.set == name).values())
        assert set(counts.values()) == {least}
    keys = Counter(c.phrasing.answer for c in kept if (c.task.set, c.task.category) == ("extended", "resource_key"))
    assert max(keys.values()) == 1, "keys in turn"
    names = {c.task.task_id for c in kept}
    assert all(c.task.extra.get("pair", c.task.task_id) in names for c in kept), "no link leads out of the file"


def test_the_canary_stands_in_every_row_outside_train() -> None:
    found = confirmed(asking(), tuple(c for c in candidates(1) if c.task.category == "poi_type")).tasks
    for task in found:
        assert ("canary" in task.extra) == (task.set == "core" or split_of(task) != "train")
    assert len({split_of(task) for task in found}) >= 3


def test_notes_hold_split_difficulty_and_reviews() -> None:
    task = confirmed(asking(), CORE[:1]).tasks[0]
    review = Review(task.task_id, question_sha(task.question), "A", (task.expected,))
    note = rows.notes_of([task], TOOLS, [review])[task.task_id]
    assert note["split"] == "test"
    assert set(note["difficulty"]) == {"margin", "neighbours", "bucket"}
    assert note["review"] == [review.to_json()]


def test_without_a_cap_everything_stays() -> None:
    assert rows.capped(CORE, None) == CORE
