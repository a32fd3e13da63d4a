"""Gold tool × called tool: what is counted, in which order, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.confusions import confusion_lines, confusion_of, confusion_section
from infranode_eval.reports.tasksets import TaskSet
from infranode_eval.tables import render
from lm_eval_task.errors import DataError
from lm_eval_task.records import Reply, Score, tasks_fingerprint


@pytest.fixture
def sets(demo_tasks):
    return [TaskSet("core", tasks_fingerprint(demo_tasks), {t.task_id: t for t in demo_tasks})]


@pytest.fixture
def run(make_result, answer):
    """4 weather tasks: overview, an unknown tool, silence, two calls; one of 36 others fails."""
    def call(name):
        return json.dumps({"name": name, "arguments": {"slug": "koeln"}})

    replies = {"routing_named-koeln": Reply.from_text(call("get_city_overview")),
               "routing_named-muenchen": Reply.from_text(call("get_wetter")),
               "routing_named-nuernberg": Reply.from_text("Das weiß ich nicht."),
               "routing_named-duesseldorf": Reply.from_text(f"[{call('weather')}, {call('pois')}]"),
               "not_covered-bonn": Score.failure("infra_error", "reset")}
    return run_from_json(make_result(lambda t: replies.get(t.task_id) or Reply.from_text(answer(t))), "r.json")


def test_the_matrix(run, sets, toolset, golden):
    matrix = confusion_of(run, sets, toolset)
    assert matrix == {"get_city_resource": {"get_city_resource": 35},
                      "weather": {"get_city_overview": 1, "weather": 1, "none": 1, "unknown": 1}}
    assert list(matrix) == [n for n in toolset.by_name if n in matrix], "in the order of the tools"
    golden("confusion.txt", render([confusion_section(run, matrix, toolset)], "text"))


def test_lines_for_programs_add_up_to_the_answered_rows(run, sets, toolset):
    lines = confusion_lines(run, confusion_of(run, sets, toolset))
    assert sum(line["rows"] for line in lines) == run.n - run.failed == 39
    assert lines[0] == {"model": "demo", "path": "r.json", "gold": "get_city_resource", "called": "get_city_resource",
                        "rows": 35}


def test_where_no_call_is_right_the_gold_is_none(make_result, demo_tasks, toolset):
    tasks = (replace(demo_tasks[0], expected=()),)
    value = make_result(lambda t: Reply.from_text("Das geht nicht."), tasks=tasks)
    sets = [TaskSet("own tasks", tasks_fingerprint(tasks), {t.task_id: t for t in tasks})]
    assert confusion_of(run_from_json(value, "r.json"), sets, toolset) == {"none": {"none": 1}}


def test_what_cannot_be_told_is_refused(run, sets, toolset):
    with pytest.raises(DataError, match="its tasks are not known; give them with --tasks"):
        confusion_of(run, [], toolset)
    with pytest.raises(DataError, match="does not tell which tools were called"):
        confusion_of(replace(run, rows=()), sets, toolset)
