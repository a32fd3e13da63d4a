"""A call written as JSON: keys, wrappers, arguments, duplicates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lm_eval_task.jsoncalls import calls_of_value, plain_name, read_arguments, unfenced, without_duplicates
from lm_eval_task.records import Call
from lm_eval_task.tools import read_tools

TOOLS = read_tools(Path(__file__).parent / "data" / "reply_tools.json")
W = Call("weather", {"slug": "koeln"})
GOOD = {"name": "weather", "arguments": {"slug": "koeln"}}

VALUES = [
    # (value, calls as the whole text, calls inside prose, why); None = no call, "BROKEN" = unreadable
    (GOOD, [W], [W], "the plain form"),
    ({"function": GOOD}, [W], [W], "function wrapper"),
    ({"type": "function", "function": GOOD, "id": "x"}, [W], [W], "function wrapper with its type"),
    ({"tool_calls": [GOOD]}, [W], [W], "tool_calls wrapper"),
    ([GOOD, GOOD], [W, W], [W, W], "a list keeps its order and number"),
    ({"name": "wetter", "arguments": {}}, [Call("wetter")], None, "any name only where it is the whole text"),
    ({"name": "weather"}, [Call("weather")], [Call("weather")], "an offered name alone"),
    ({"name": "wetter"}, None, None, "another name alone"),
    ({"name": "functions.weather:0", "arguments": {"slug": "koeln"}}, [W], [W], "leaked affixes"),
    ({"function": "weather", "input": {"slug": "koeln"}}, [W], [W], "function as the name key"),
    ({"name": "weather", "arguments": '{"slug": "koeln"}'}, [W], [W], "arguments as a JSON string"),
    ({"name": "weather", "arguments": 5}, "BROKEN", "BROKEN", "arguments that are no object"),
    ({"name": "wetter", "arguments": 5}, None, None, "the same with another name is no call"),
    ({"name": None}, [], [], "says that nothing is called"), ({"name": "  "}, [], [], "says that nothing is called"),
    ([], [], [], "says that nothing is called"), ({"tool_calls": []}, [], [], "says that nothing is called"),
    ({}, None, None, "nothing"), ([1, "a"], None, None, "no calls"), ("weather", None, None, "a string"),
    (5, None, None, "a number"), (None, None, None, "null"), ({"arguments": {"slug": "koeln"}}, None, None, "no name"),
    ({"name": ["weather"], "arguments": {}}, None, None, "a name is a string"),
    ([GOOD, {"a": 1}], "BROKEN", "BROKEN", "a list that is only partly calls"),
    ({"name": "nearby", "arguments": {"limit": 1}, "parameters": {"limit": True}}, "BROKEN", "BROKEN",
     "two argument keys that disagree"),
]


@pytest.mark.parametrize(("value", "whole", "prose", "why"), VALUES, ids=[v[3] + f" {i}" for i, v in enumerate(VALUES)])
def test_calls_of_value(value: Any, whole: Any, prose: Any, why: str) -> None:
    for is_whole, wanted in ((True, whole), (False, prose)):
        found = calls_of_value(value, TOOLS, whole=is_whole)
        if wanted is None:
            assert found is None, why
        elif wanted == "BROKEN":
            assert found is not None and found.broken, why
        else:
            assert found is not None and not found.broken and found.calls == wanted, why


def test_other_keys_and_lists_are_notes_not_repairs() -> None:
    found = calls_of_value([{"tool": "weather", "args": {"slug": "koeln"}}], TOOLS, whole=True)
    assert found is not None and found.notes and not found.repairs


def test_double_encoding_is_a_repair() -> None:
    arguments = read_arguments('"{\\"slug\\": \\"koeln\\"}"')
    assert arguments is not None and arguments.value == {"slug": "koeln"} and arguments.repairs


@pytest.mark.parametrize("value", [[], "x", 5, True, "[]", '"x"', "{", "{}{", '{"a": 1}{"a": 2}',
                                   '{"a": 1}{"a": true}'])
def test_arguments_that_cannot_be_read(value: Any) -> None:
    assert read_arguments(value) is None


@pytest.mark.parametrize("value", [None, "", "  ", {}, "{}", "null"])
def test_absent_arguments_are_empty(value: Any) -> None:
    arguments = read_arguments(value)
    assert arguments is not None and arguments.value == {} and not arguments.repairs


NAMES = [("functions.weather", "weather"), ("weather:3", "weather"), ("geo.find-place", "geo.find-place"), (" pois ",
"pois"),
         ("functions.functions.x", "functions.x"), ("a:b", "a:b"), ("", "")]


@pytest.mark.parametrize(("name", "plain"), NAMES, ids=[n[0] or "blank" for n in NAMES])
def test_plain_name(name: str, plain: str) -> None:
    assert plain_name(name, TOOLS) == plain


FENCES = [("```json\n{}\n```", "{}"), ("```\n{}\n```", "{}"), ("```{}```", "{}"), ("```json\n{} {}\n```", None), ("{}",
None),
          ("```json\n{}\n``` und", None), ("```json\n{\n```", None)]


@pytest.mark.parametrize(("text", "inner"), FENCES, ids=range(len(FENCES)))
def test_unfenced(text: str, inner: str | None) -> None:
    assert unfenced(text) == inner


def test_duplicates_go_and_the_order_stays() -> None:
    a, b = Call("weather", {"slug": "koeln"}), Call("nearby", {"limit": 1})
    c = Call("nearby", {"limit": True})
    assert without_duplicates([a, b, a, c, b]) == [a, b, c]
