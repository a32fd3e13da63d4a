"""Quarantine: what is marked, that nothing else changes, and how version, counts and hashes move."""

from __future__ import annotations

import json
from dataclasses import replace

from infranode_eval.generator.drift import Drift, Finding
from infranode_eval.generator.output import counts, hashes
from infranode_eval.generator.quarantine import carried_over, retired_meta, retired_text, retirements
from lm_eval_task.dataset import Retirement, in_use
from lm_eval_task.records import Call, Task, tasks_fingerprint

MARK = Retirement("2026-12-05", "source_status no_data")


def task(name: str, set_name: str = "core", **extra: object) -> Task:
    gold = (Call("weather", {"slug": name}),)
    return Task(name, f"Wie ist {name}?", gold, (), "routing_named", set_name, None, extra)


def drift(*moved: str, grade: str = "moved") -> Drift:
    findings = tuple(Finding(name, "core", grade, "weather", "/x", MARK.reason, "", "") for name in moved)
    return Drift(MARK.date, 3, 0, findings, ())


TASKS = (task("a", pair="b"), task("b", pair="a"), task("c"), task("d", "extended"))


def test_a_moved_row_takes_its_twin_along_and_says_so() -> None:
    twin = Retirement(MARK.date, "its twin a: source_status no_data")
    assert retirements(TASKS, drift("a")) == {"a": MARK, "b": twin}
    assert retirements(TASKS, drift("a", "b")) == {"a": MARK, "b": MARK}, "each for its own reason"
    assert retirements(TASKS, drift("c")) == {"c": MARK}


def test_a_row_that_only_changed_or_got_no_answer_or_is_retired_already_is_left_alone() -> None:
    for grade in ("changed", "unknown", "back"):
        assert retirements(TASKS, drift("a", grade=grade)) == {}
    old = replace(TASKS[1], extra={"pair": "a", "retired": {"date": "2026-08-01", "reason": "x"}})
    assert retirements([TASKS[0], old], drift("a")) == {"a": MARK}


def test_a_marked_line_gains_the_mark_and_every_other_line_keeps_its_bytes() -> None:
    text = '{"task_id":"a",  "question": "K\\u00f6ln?"}\n\n{"task_id": "b", "x": [1,2]}\n'
    marked = retired_text(text, {"b": MARK})
    assert marked.split("\n")[:2] == text.split("\n")[:2]
    assert json.loads(marked.split("\n")[2]) == {"task_id": "b", "x": [1, 2], "retired": MARK._asdict()}
    assert marked.endswith("\n") and retired_text(text, {}) == text


def test_version_counts_and_hashes_are_those_of_the_rows_in_use() -> None:
    marked = [replace(t, extra={**t.extra, "retired": MARK._asdict()}) if t.task_id in "ad" else t for t in TASKS]
    meta = retired_meta({"version": "core-2026-12", "seed": 1, "hashes": {"tools": "x", "core": "old"}}, marked)
    assert meta["version"] == "core-2026-12+r1-2026-12-05"
    assert meta["counts"] == {"core": {"all": 2, "routing_named": 2}}
    assert meta["hashes"]["core"] == tasks_fingerprint([TASKS[1], TASKS[2]])
    assert (meta["hashes"]["tools"], meta["seed"], meta["retired"]) == ("x", 1, {"core": 1, "extended": 1})
    assert hashes(marked)["all"] == hashes(in_use(marked))["all"] != hashes(TASKS)["all"]
    assert counts(marked) == counts(in_use(marked))


def test_building_anew_revives_nothing_that_asks_the_same() -> None:
    old = [replace(t, extra={**t.extra, "retired": MARK._asdict()}) for t in TASKS[:2]]
    other = replace(TASKS[1], expected=(Call("weather", {"slug": "ulm"}),))
    built = carried_over([TASKS[0], other, TASKS[2]], old)
    assert [t.extra.get("retired") for t in built] == [MARK._asdict(), None, None], "b asks for something else now"
