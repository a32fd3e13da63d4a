"""Lint: every check finds the fault it is for and leaves alone what is right; the shipped file has none."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from infranode_eval.generator import lint
from infranode_eval.generator.lint import findings, misspelt, similar_pairs, trigrams
from lm_eval_task.dataset import load_tasks
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools
from tests.needs import need_program

TOOLS = read_tools()
TASKS = load_tasks(TOOLS, "all")
BY_ID = {task.task_id: task for task in TASKS}
CORE = next(t for t in TASKS if t.set == "core" and t.category == "resource_key")
TRAINED = next(t for t in TASKS if t.set == "extended" and "canary" not in t.extra)
TESTED = next(t for t in TASKS if t.set == "extended" and t.category == "poi_type" and "canary" in t.extra)


LONG = ("Wie viele Ladepunkte sind derzeit frei, wenn ich vom Bahnhof aus in Richtung Innenstadt fahre und kaum Zeit "
        "habe")


def checks(*tasks: Task) -> set[str]:
    """The checks that fire over the shipped tasks and these."""
    return {found.check for found in findings([*TASKS, *tasks], TOOLS)}


def test_the_shipped_tasks_have_no_fault() -> None:
    assert list(map(str, findings(TASKS, TOOLS))) == []


def test_the_shipped_tasks_are_spelt_as_the_dictionary_says() -> None:
    need_program("hunspell", lint.has_speller())
    assert list(map(str, misspelt(TASKS))) == []


@pytest.mark.parametrize(("change", "check", "why"), [
    ({"question": CORE.question}, "duplicate", "word for word"),
    ({"question": CORE.question.replace("Wuppertal", "Bonn"), "expected": (Call("sources"),)}, "near duplicate",
     "the same words about another city, but another gold"),
    ({"question": CORE.question[:-1] + " !"}, "characters", "a blank before the mark"),
    ({"question": "Wie warm ist es in Ko\u0308ln?"}, "characters", "not composed, and no nfd variant"),
    ({"question": "Wie warm\u00a0ist es in Bonn?"}, "characters", "a blank that is none"),
    ({"question": "Wie „warm“ ist es in Bonn?"}, "characters", "typographic quotes"),
    ({"question": "Wie warm ist es in Bonn?\u200b"}, "characters", "a character of no width"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_a_row_at_fault_is_found(change: dict, check: str, why: str) -> None:
    assert check in checks(replace(CORE, task_id="new", **change)), why


def test_a_near_duplicate_in_another_city_with_the_same_gold_is_none() -> None:
    city = replace(CORE, task_id="new", question=CORE.question.replace("Wuppertal", "Chemnitz") + " ")
    assert "near duplicate" not in checks(replace(city, question=city.question.strip()))


def test_a_declared_twin_may_be_nearly_the_same() -> None:
    task = next(t for t in TASKS if t.set == "abstain" and t.expect and "twin" in t.extra)
    rows = [replace(task, question=f"{LONG}?"),
            replace(BY_ID[task.extra["twin"]], question=f"{LONG}!")]
    assert list(lint._near_duplicates(rows)) == []
    unlinked = [replace(row, extra={}) for row in rows]
    assert [found.check for found in lint._near_duplicates(unlinked)] == ["near duplicate"]


def test_a_wording_in_two_splits_is_found() -> None:
    moved = replace(TRAINED, task_id="new", extra={**TRAINED.extra, "phrasing": TESTED.extra["phrasing"]})
    assert "split" in {found.check for found in lint._shared_phrasings([TRAINED, moved])}


def test_nearly_the_same_wording_in_train_and_in_a_test_set_is_found() -> None:
    near = replace(next(t for t in TASKS if t.set == "abstain"), question=TRAINED.question[:-1] + "!")
    assert "across" in next(lint._shared_phrasings([TRAINED, near])).text
    assert list(lint._shared_phrasings([TESTED, replace(near, question=TESTED.question[:-1] + "!")])) == []


def test_a_key_that_nobody_asks_for_is_found() -> None:
    rest = [t for t in TASKS if t.set in ("core", "extended")
            and not any(call.arguments.get("resource") == "parking" for call in t.expected)]
    assert [found.where for found in lint._unseen(rest, TOOLS)] == ["get_city_resource/parking"]


def test_an_uneven_city_and_a_thin_category_are_found() -> None:
    few = [t for t in TASKS if t.set == "extended" and t.category == "source_off"][:7]
    found = {(one.check, one.where) for one in lint._unbalanced([t for t in TASKS if t.set == "core"] + few)}
    assert ("unbalanced", "source_off") in found and ("unbalanced", "cities") in found


def test_a_question_that_names_its_key_is_leaking() -> None:
    named = [replace(CORE, question="parking?", expected=(Call("get_city_resource", {"slug": "bonn", "resource":
                                                                                        "parking"}),))]
    assert [found.check for found in lint._leaking(named, TOOLS)] == ["leaking", "leaking"] or \
        [found.check for found in lint._leaking(named, TOOLS)] == ["leaking"]


def test_a_variant_with_few_pairs_is_thin() -> None:
    rows = [t for t in TASKS if t.set == "robust" and t.extra["variant"] != "speech"]
    assert [found.where for found in lint._thin_variants(rows)] == ["speech"]


def test_misspelt_words_are_found_and_a_spoilt_word_that_is_a_word_is_one_too() -> None:
    need_program("hunspell", lint.has_speller())
    base = replace(CORE, question="Wie schön ist es?")
    wrong = replace(CORE, task_id="w", question="Wie vile Parkhäuser gibt es?")
    word = replace(CORE, task_id="v", set="robust", question="Wie schon ist es?",
                   extra={"variant": "no_dots", "base": CORE.task_id})
    fine = replace(word, task_id="f", question="Wie schoen ist es?", extra={"variant": "ascii_umlaut", "base": "x"})
    assert [(found.where, found.text.split("'")[1]) for found in misspelt([base, wrong, word, fine])] \
        == [("w", "vile"), ("v", "schon")]


def test_every_word_of_our_own_list_is_used_and_none_stands_twice() -> None:
    words = (lint.DATA / "words.txt").read_text("utf-8").split()
    used = {word for task in TASKS for word in lint.words_of(task.question)}
    assert len(set(words)) == len(words)
    assert [word for word in words if word not in used] == []


def test_similar_pairs_are_those_of_the_plain_comparison() -> None:
    """The prefix filter against all pairs, on seeded random texts."""
    draw = random.Random(7)
    texts = ["".join(draw.choice("abc ") for _ in range(draw.randint(3, 30))) for _ in range(150)]
    texts += [text + draw.choice(["", "a", " b"]) for text in texts[:60]]
    for least in (0.5, 0.8, 0.95):
        sets = [trigrams(text) for text in texts]
        plain = {(i, j) for j in range(len(texts)) for i in range(j)
                 if len(sets[i] & sets[j]) / len(sets[i] | sets[j]) >= least}
        assert {(i, j) for i, j, _ in similar_pairs(texts, least)} == plain
