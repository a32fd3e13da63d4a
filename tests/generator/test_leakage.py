"""Leakage: what counts as solved by word comparison, and the bounds that the shipped tasks keep."""

from __future__ import annotations

import pytest

from infranode_eval.generator.leakage import (
    DESCRIPTIONS_BOUND,
    KEY_NAME_BOUND,
    METHODS,
    label_of,
    searches,
    shares,
    solved,
    table,
)
from lm_eval_task.dataset import load_tasks
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools()


def resource(key: str) -> Call:
    return Call("get_city_resource", {"slug": "ulm", "resource": key})


@pytest.mark.parametrize(("call", "label"), [
    (resource("charging"), "get_city_resource/charging"),
    (Call("pois", {"slug": "ulm", "type": "school"}), "pois/school"),
    (Call("compare", {"resource": "air", "cities": "ulm,bonn"}), "compare/air"),
    (Call("list_cities"), "list_cities"),
    (resource("weather"), "weather"),            # the same URL as the named tool
    (Call("weather", {"slug": "ulm"}), "weather"),
])
def test_labels(call: Call, label: str) -> None:
    assert label_of(call) == label


@pytest.mark.parametrize(("found", "task", "right", "why"), [
    (["get_city_resource/air"], Task("t", "?", (resource("air"),)), True, "the gold stands first"),
    (["x", "get_city_resource/air"], Task("t", "?", (resource("air"),)), False, "the second place does not count"),
    ([], Task("t", "?", (resource("air"),)), False, "nothing found"),
    (["get_city_resource/air"], Task("t", "?", (resource("geo"),), ((resource("air"),),)), True, "an accept counts"),
    (["get_city_resource/geo", "get_city_resource/air"], Task("t", "?", (resource("air"), resource("geo"))), True,
     "two golds in the first two places, in any order"),
    (["get_city_resource/weather", "weather"], Task("t", "?", (Call("weather", {"slug": "ulm"}),)), True,
     "two names of one URL"),
    (["weather"], Task("t", "?", ()), False, "no call is right: a search always calls"),
])
def test_what_counts_as_solved(found: list[str], task: Task, right: bool, why: str) -> None:
    assert solved(task, lambda question: found) is right, why


@pytest.mark.parametrize(("question", "label"), [
    ("Wie ist der Traffic in Ulm?", "get_city_resource/traffic"),              # the key as a word, any case
    ("Welche Restaurants hat Ulm?", "pois/restaurant"),                        # with an ending
    ("Wo ist Public WiFi in Ulm?", "get_city_resource/public-wifi"),           # with a blank for the hyphen
    ("Wie viel Sonne scheint in Ulm?", None),                                  # no key
    ("Ist der Fairtrade-Laden offen?", None),                                  # "air" inside a word
])
def test_key_names_are_found_in_questions(question: str, label: str | None) -> None:
    found = searches(TOOLS)["key_name"](question)
    assert (found[0] if found else None) == label


def test_a_question_in_the_words_of_a_description_is_solved_by_it() -> None:
    assert searches(TOOLS)["descriptions"]("Pegelstände an Bundeswasserstraßen in cm?")[0] \
        == "get_city_resource/water-level"


def test_a_question_in_the_words_of_a_label_is_solved_by_it() -> None:
    assert searches(TOOLS)["labels"]("Pollen und UV-Index?")[0] == "get_city_resource/pollen-uv"


def test_the_table_shows_each_category_of_each_set() -> None:
    found = shares([Task("a", "Wetter?", (resource("air"),), category="c", set="core")], TOOLS)
    assert found["core"]["c"]["n"] == 1
    assert set(METHODS) < set(found["core"]["c"])
    assert any(line.startswith("core c ") for line in table(found))


@pytest.mark.parametrize("name", ["core", "extended"])
def test_the_shipped_tasks_keep_the_bounds(name: str) -> None:
    found = shares(load_tasks(TOOLS, name), TOOLS)[name]
    for category, row in found.items():
        assert row["key_name"] <= KEY_NAME_BOUND, category
    assert found["resource_key"]["descriptions"] <= DESCRIPTIONS_BOUND
