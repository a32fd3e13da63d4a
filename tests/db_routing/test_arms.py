"""The conditions without tools: what each of them shows, letter by letter, and what counts as right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from infranode_eval.db_routing.arms import CONDITIONS, derangement, eligible, offered, question_of
from infranode_eval.db_routing.behaviour import status_of
from infranode_eval.db_routing.opening import catalogue_in, question_in
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.suites import db_routing
from lm_eval_task.errors import ContextOverflowError, DataError, UsageError
from tests.db_routing.plays import by_policy, entry, native, played, said, schema, setup_for
from tests.db_routing.tiny_panel import PARAGRAPHS, RESERVE


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_message_of_an_arm(task: RoutingTask, condition: str, golden: Callable[[str, str], None]) -> None:
    found = played(task, [said("?")], condition=condition)
    (message,) = found.requests[0][0]
    assert (message["role"], found.requests[0][1]) == ("user", None), "one message, no tools"
    golden(f"db_routing/{condition}.txt", message["content"] + "\n")
    assert question_in(message["content"]) == question_of(task, condition)
    assert list(catalogue_in(message["content"])) == list(found.course.order)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_an_arm_is_one_request_and_says_so(task: RoutingTask, condition: str) -> None:
    found = by_policy(task, "oracle", condition=condition)
    assert len(found.requests) == 1
    row = found.row
    assert (row["procedure"], row["condition"], row["stop_reason"]) == ("single_shot", condition, "single_shot")
    assert (row["route_ok"], row["declared"], row["tool_turns"], row["api_calls"]) == (True, "laden", 0, 1)
    assert (row["sql_set"], row["sql_strict"], row["declared_unprobed"]) == (None, None, None), "no schema was shown"


def test_arms_change_one_thing_and_keep_the_order(task: RoutingTask) -> None:
    base = [entry.database for entry in offered(task, "anonymised").entries]
    for condition in ("names", "catalogue", "permuted", "paraphrase"):
        assert [entry.database for entry in offered(task, condition).entries] == base, condition
    texts = {entry.database: entry.paragraph for entry in offered(task, "catalogue").entries}
    assert texts == PARAGRAPHS
    assert {entry.paragraph for entry in offered(task, "names").entries} == {None}


# --- permuted ---------------------------------------------------------------------------------------------------------

def test_under_permuted_names_no_text_is_its_own(tasks: Mapping[str, RoutingTask]) -> None:
    for task in tasks.values():
        shown = {entry.label: entry.paragraph for entry in offered(task, "permuted").entries}
        assert sorted(shown.values()) == sorted(PARAGRAPHS.values())
        assert all(shown[name] != PARAGRAPHS[name] for name in shown)


def test_whoever_goes_by_the_text_is_wrong_by_the_name_and_is_told(task: RoutingTask) -> None:
    this = offered(task, "permuted")
    by_text = next(name for name, behind in this.behind.items() if behind == "laden")
    other = next(name for name in this.labels if name not in ("laden", by_text))
    for name, route_ok, follows in (("laden", True, False), (by_text, False, True), (other, False, False)):
        row = played(task, [said(name)], condition="permuted").row
        assert (row["route_ok"], row["follows_paragraph"], row["declared"]) == (route_ok, follows, name)


@pytest.mark.parametrize("count", range(2, 12))
def test_a_derangement_leaves_nothing_in_its_place(count: int) -> None:
    names = [f"n{number}" for number in range(count)]
    for seed in range(20):
        found = derangement(names, f"{seed}")
        assert sorted(found) == sorted(found.values()) == sorted(names) and all(a != b for a, b in found.items())
    assert derangement(names, "1") == derangement(names[::-1], "1")


def test_one_alone_cannot_change_places() -> None:
    with pytest.raises(ValueError, match="fewer than two"):
        derangement(["n"], "1")


# --- distractors ------------------------------------------------------------------------------------------------------

def wide(task: RoutingTask, number: int) -> RoutingTask:
    """The question under another id, in a panel of eleven databases with twenty paragraphs in reserve."""
    one = task.panel.databases["laden"]
    known = {"laden": one, **{f"d{n}": replace(one, name=f"d{n}", alias=f"db_{n + 4:02d}") for n in range(10)}}
    panel = replace(task.panel, databases=known, reserve=tuple(f"Absatz {n}." for n in range(20)))
    return replace(task, task_id=f"db_routing-laden-{number:03d}", panel=panel)


def test_ten_paragraphs_of_the_reserve_stand_beside_the_right_one(task: RoutingTask) -> None:
    this = offered(wide(task, 1), "distractors")
    assert sorted(this.labels) == [f"db_{n:02d}" for n in range(1, 12)]
    by_label = {entry.label: entry for entry in this.entries}
    assert (by_label[this.gold].database, by_label[this.gold].paragraph) == ("laden", PARAGRAPHS["laden"])
    others = [entry.paragraph for entry in this.entries if entry.label != this.gold]
    assert len(set(others)) == 10 and all(text.startswith("Absatz") for text in others)
    assert this == offered(wide(task, 1), "distractors") != offered(wide(task, 2), "distractors")


def test_the_right_alias_is_spread_over_all_eleven(task: RoutingTask) -> None:
    """χ² with 10 degrees of freedom: 29.6 is p = 0.001. A fixed number, since the seed is fixed."""
    count = 506
    found = Counter(offered(wide(task, number), "distractors").gold for number in range(count))
    drawn = Counter(entry.paragraph for number in range(count)
                    for entry in offered(wide(task, number), "distractors").entries if entry.database is None)
    assert sum((n - count / 11) ** 2 / (count / 11) for n in found.values()) < 29.6 and len(found) == 11
    assert len(drawn) == 20 and min(drawn.values()) > 0.8 * count / 2, "each of the reserve about as often"


def test_a_declared_distractor_is_wrong_and_no_database(task: RoutingTask) -> None:
    this = offered(task, "distractors")
    wrong = next(label for label in this.labels if label != this.gold)
    row = played(task, [said(wrong)], condition="distractors").row
    assert (row["outcome"], row["declared"], row["route_ok"]) == ("wrong_database", f"reserve:{wrong}", False)
    assert {entry.paragraph for entry in this.entries if entry.database is None} <= set(RESERVE)


def test_too_few_paragraphs_in_reserve_are_told(task: RoutingTask) -> None:
    with pytest.raises(DataError, match="has 1 paragraphs in reserve, the arm needs 2"):
        offered(replace(task, panel=replace(task.panel, reserve=("Einer.",))), "distractors")


# --- paraphrases ------------------------------------------------------------------------------------------------------

def test_only_questions_with_a_paraphrase_are_put_in_other_words(tasks: Mapping[str, RoutingTask]) -> None:
    kept = eligible(tuple(tasks.values()), "paraphrase")
    assert len(kept) == 9 and not any(task.task_id.endswith("004") for task in kept)
    assert db_routing.eligible(tuple(tasks.values()), setup_for(kept[0], condition="paraphrase")) == kept
    assert len(db_routing.eligible(tuple(tasks.values()), setup_for(kept[0]))) == 12
    with pytest.raises(DataError, match="has no paraphrase"):
        question_of(tasks["laden-004"], "paraphrase")


# --- replies ----------------------------------------------------------------------------------------------------------

REPLIES: list[tuple[str, Any, str | None, str | None, str]] = [
    # (condition, reply, declared, declaration error, why)
    ("anonymised", said("DB_02 "), "laden", None, "blanks and case do not matter"),
    ("anonymised", "Antwort: db_02", None, "missing", "no object"),
    ("anonymised", said("laden"), None, "invalid_alias", "the real name was not shown"),
    ("names", said("Laden"), "laden", None, "the real name was"),
    ("catalogue", said("db_02"), None, "invalid_alias", "the alias was not"),
    ("anonymised", native(entry("db_02", {}, "c1")), None, "tool_call", "nothing is offered to be called"),
    ("anonymised", said("db_02") + said("db_01"), None, "conflicting", "two of them"),
]


@pytest.mark.parametrize(("condition", "reply", "declared", "error", "why"), REPLIES, ids=[
    f"{case[0]}: {case[4]}" for case in REPLIES])
def test_what_a_reply_declares(task: RoutingTask, condition: str, reply: Any, declared: str | None, error: str | None,
                               why: str) -> None:
    row = played(task, [reply], condition=condition).row
    assert (row["declared"], row["declaration_error"]) == (declared, error), why


def test_an_overflow_of_the_one_request_is_a_failure(task: RoutingTask) -> None:
    with pytest.raises(ContextOverflowError):
        played(task, [ContextOverflowError("too long")], condition="names")


def test_an_arm_that_does_not_exist_is_told(task: RoutingTask) -> None:
    with pytest.raises(UsageError, match="no arm 'order'; expected one of anonymised, names, catalogue, permuted"):
        setup_for(task, condition="order")


def test_arms_and_loop_have_hashes_and_settings_of_their_own(task: RoutingTask) -> None:
    setups = [setup_for(task), setup_for(task, "prompt"), *(setup_for(task, condition=name) for name in CONDITIONS)]
    assert len({db_routing.prompt_hash(setup) for setup in setups}) == len(setups)
    assert setups[0].scene.settings == {"condition": "anonymised", "procedure": "agentic", "cache": "off"}
    assert setups[2].scene.settings == {"condition": "anonymised", "procedure": "single_shot", "cache": "off"}


def test_a_loop_without_a_call_is_told_apart_from_an_arm(tasks: Mapping[str, RoutingTask]) -> None:
    rows = [by_policy(task, "narrator").row for task in tasks.values()] * 2
    assert status_of(rows) == "excluded_no_tool_calls" and status_of(rows[:19]) is None
    assert played(tasks["laden-001"], [schema("db_02"), "x", said("db_02")]).row["procedure"] == "agentic"
