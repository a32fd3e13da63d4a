"""Stored transcripts read again: what has changed is found, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from infranode_eval.db_routing.rescan import Changed, changed_in
from infranode_eval.db_routing.tasks import RoutingTask
from tests.db_routing.plays import by_policy, played, said, schema

CALL = '{"name": "db_02", "arguments": {"action": "get_schema"}}'


def stored(task: RoutingTask, script: list[Any], mode: str = "native") -> dict[str, Any]:
    course = played(task, script, mode).course
    return json.loads(json.dumps({"task_id": task.task_id, "repeat": 1, **course.to_json()}))


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_what_was_just_played_is_read_alike(tasks: Mapping[str, RoutingTask], mode: str) -> None:
    for task in tasks.values():
        for name in ("oracle", "narrator", "parallel_prober"):
            course = by_policy(task, name, mode).course
            assert list(changed_in({"task_id": task.task_id, "repeat": 1, **course.to_json()})) == []
    whole = stored(tasks["laden-001"], [CALL, "Fertig.", said("db_02")], mode)
    assert list(changed_in(whole)) == []


def test_a_reading_of_then_that_differs_is_listed(task: RoutingTask) -> None:
    told = stored(task, [CALL, "Fertig.", said("db_02")])
    told["db_routing"]["calls"][0]["tool_calls"] = []       # as if an older reader had found nothing
    assert list(changed_in(told)) == [Changed(task.task_id, 1, 1, (), ('db_02({"action":"get_schema"})',))]


def test_native_calls_and_answers_are_not_read_again(task: RoutingTask) -> None:
    told = stored(task, [schema("db_02"), "Fertig.", CALL])
    assert list(changed_in(told)) == []
    other = stored(task, ['{"name": "search", "arguments": {}}', said("db_02")])
    assert list(changed_in(other)) == [], "of names that were not offered nothing is read, then as now"
