"""The abstention set: categories and golds fit, and what the source says decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from infranode_eval.generator.abstain import ASK, CONTROL, REFUSE, abstain_tasks, confirmed
from infranode_eval.generator.verify import Source
from infranode_eval.infranode.client import Answer
from infranode_eval.infranode.snapshot import Snapshot
from lm_eval_task.records import Call

OUTSIDE = next(t for t in abstain_tasks() if t.category == "city_outside")
CONTROLLED = next(t for t in abstain_tasks() if t.category == CONTROL)
PLAIN = next(t for t in abstain_tasks() if t.category == "action")


def source(change: Any = lambda request, body: body) -> Source:
    snapshot = Snapshot()

    def ask(request: str) -> Answer:
        found = snapshot.respond("GET", "/api/v1" + request)
        return Answer(request, found.status, change(request, found.json()), "2026-07-06")

    return Source(ask, "snapshot")


def test_every_category_has_the_gold_that_it_needs() -> None:
    for task in abstain_tasks():
        assert task.expect == ("refuse" if task.category in REFUSE else "ask" if task.category in ASK else None)
        assert bool(task.expected) == (task.category == CONTROL)


def test_the_snapshot_confirms_the_whole_set() -> None:
    kept, dropped = confirmed(abstain_tasks(), source())
    assert dropped == [] and len(kept) == len(abstain_tasks())


def test_an_absent_town_is_shown_by_the_registry() -> None:
    (task,), _ = confirmed([OUTSIDE], source())
    assert task.extra["verified"]["request"] == "/cities?limit=200"
    assert task.extra["verified"]["level"] == "snapshot"


def test_a_town_that_the_registry_has_meanwhile_is_dropped() -> None:
    kept, dropped = confirmed([replace(OUTSIDE, extra={**OUTSIDE.extra, "absent": "koeln"})], source())
    assert kept == [] and dropped == [(OUTSIDE.task_id, "koeln is a city of the registry")]


def test_a_control_without_data_is_dropped() -> None:
    def empty(request: str, body: dict[str, Any]) -> dict[str, Any]:
        return {"data": None, "meta": {"source_status": "no_data"}}

    kept, dropped = confirmed([CONTROLLED], source(empty))
    assert kept == [] and len(dropped) == 1


def test_a_question_that_nothing_can_check_claims_no_check() -> None:
    (task,), dropped = confirmed([PLAIN], source())
    assert "verified" not in task.extra and dropped == []


def test_a_control_keeps_its_proof() -> None:
    (task,), _ = confirmed([CONTROLLED], source())
    assert task.extra["verified"]["source_status"] in ("ok", None)


def test_nothing_but_a_look_into_the_registry_is_accepted_instead_of_silence() -> None:
    for task in abstain_tasks():
        if not task.expected:
            assert task.accept in ((), ((Call("list_cities"),),)), task.task_id
            assert task.extra["why"]
