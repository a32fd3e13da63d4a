"""report.py --task on a task of the suite chain: everything that decides, turn by turn, and nothing that acts."""

from __future__ import annotations

import json

import pytest

from infranode_eval.reports.drilldown import case_json, case_lines, cases_of
from tests.reports import chain_runs
from tests.reports.chain_runs import BY_ID, known, lively, result, right


@pytest.fixture
def cases(tmp_path, toolset):
    """cases(key, verdicts): what --task finds in a file with these."""

    def find(key, verdicts=None, sets=None, **header):
        path = tmp_path / "chain.json"
        path.write_text(json.dumps(result(lively() if verdicts is None else verdicts, **header)), "utf-8")
        return cases_of(path, key, (known(),) if sets is None else sets, toolset)[0]

    return find


def shown(found, path) -> str:
    return "\n".join(case_lines(found)).replace(str(path), "chain.json") + "\n"


def test_a_poisoned_play_as_people_see_it(cases, tmp_path, golden) -> None:
    golden("task_chain.txt", shown(cases("injection-bonn-1"), tmp_path / "chain.json"))


@pytest.mark.parametrize("key, lines, why", [
    ("lookup_then_call-bonn-2", ["plan      get_city_resource(slug=\"bonn\", resource=\"stations\")",
                                 "          station_board_departures(eva=\"8001083\")",
                                 "  turn 2    calls, tool_calls, 1.2 s << the evidence is complete",
                                 "key_from_memory"], "the plan, the turn of the evidence, the slip"),
    ("filter_count-bonn-1", ["  answered  40", "  compared  with 36 (number): no match, the near miss ohne Filter",
                             "  verdict   wrong: wrong_answer, answered 40"], "what it was compared with"),
    ("not_covered-bonn-2", ["  came back /cities/bonn/parking: 200 not_covered, 77 characters << carries what the "
                            "answer needs", "  answered  null (reason nicht_abgedeckt, alternative Ulm)"], "no value"),
    ("wrong_turn-bonn-2", ["ended by max_turns", "  answered  none", "3 repeated calls", "2 errors"], "lost"),
    ("stop-bonn-1", ["must not  any call after the evidence", "broke_must_not", "2 extra reads"], "went on"),
    ("join-bonn-1", ["answer_match yes, evidence no, path_match no"], "a guess"),
    ("resolve_city-bonn-2", ["  error     connection reset", "  verdict   no answer: infra_error"], "a failure"),
])
def test_what_decides_is_shown(cases, tmp_path, key, lines, why) -> None:
    text = shown(cases(key), tmp_path / "chain.json")
    for line in lines:
        assert line in text, why
    assert "call_match" not in text and "tool_match" not in text


def test_runs_of_other_worlds_are_shown_apart(cases, tmp_path) -> None:
    found = cases("join-bonn-1")
    other = cases("join-bonn-1", sets=())
    text = shown([*found, *other], tmp_path / "chain.json")
    assert text.count("task      join-bonn-1") == 2 and "question  not known" in text
    assert text.count("  turn 1    calls") == 2, "the play is shown, whether its task is known or not"


def test_no_text_of_a_stranger_acts_in_a_terminal(cases, tmp_path) -> None:
    evil = "\x1b[31m\u202e"
    told = {**right(BY_ID["join-bonn-1"]), "answer": {"antwort": evil}, "near_miss": evil, "stop_reason": "answered"}
    text = shown(cases("join-bonn-1", {"join-bonn-1": told}), tmp_path / "chain.json")
    assert "\x1b" not in text and "\u202e" not in text and "\\x1b[31m\\u202e" in text


def test_a_file_without_its_results_still_shows_the_play(cases, tmp_path) -> None:
    text = shown(cases("join-bonn-2", bodies={}), tmp_path / "chain.json")
    assert "/cities/bonn/parking: 200 ok, not stored" in text


def test_the_same_for_programs(cases) -> None:
    [found] = cases("injection-bonn-1")
    value = json.loads(json.dumps(case_json(found)))
    assert value["verdict"]["task_success"] is False and value["verdict"]["followed_injection"] is True
    assert [turn["kind"] for turn in value["play"]["turns"]] == ["calls", "calls", "answer"]
    got = value["play"]["turns"][0]["results"][0]
    assert got["poisoned"] is got["carries"] is True and chain_runs.ORDER in got["body"]
    assert dict(map(tuple, value["facts"]))["injected"].endswith("the answer 4711")


def test_other_suites_have_no_play(make_result, answer, tmp_path, toolset, demo_tasks) -> None:
    from lm_eval_task.records import Reply

    path = tmp_path / "single.json"
    path.write_text(json.dumps(make_result(lambda t: Reply.from_text(answer(t)))), "utf-8")
    [found] = cases_of(path, demo_tasks[0].task_id, (), toolset)[0]
    assert found.play is None and "play" not in case_json(found)
