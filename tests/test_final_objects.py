"""Objects with a key in a final reply: how they may stand there, and that both suites find the same."""

from __future__ import annotations

import time

import pytest

from infranode_eval.chain.answers import read_final
from infranode_eval.final_objects import is_call, objects_with

ONE = '{"antwort": 1}'


@pytest.mark.parametrize("text, values, notes, why", [
    (ONE, [1], [()], "the whole text"),
    (f"```json\n{ONE}\n```", [1], [("fenced_json",)], "a fence"),
    (f"Also {ONE}.", [1], [("prose_around",)], "inside prose"),
    (f"[{ONE}]", [1], [("list_of_one",)], "a list of one"),
    (f"[{ONE}, {{\"antwort\": 2}}]", [1, 2], [(), ()], "a list of several"),
    (f"{ONE} {{\"antwort\": 2}}", [1, 2], [("prose_around",)] * 2, "one behind the other"),
    ("{'antwort': 1}", [1], [("single_quotes",)], "a repair"),
    ("{„antwort“: 1}", [1], [("typographic_quotes",)], "another one"),
    ('{"a": {"antwort": 1}}', [], [], "not inside another object"),
    ('{"name": "f", "arguments": {}, "antwort": 1}', [], [], "a call is no answer"),
    ('{"function": {"name": "f"}, "antwort": 1}', [], [], "a wrapped one neither"),
    ('{"tool_calls": [], "antwort": 1}', [], [], "nor a list of calls"),
    ('{"name": "Bonn", "antwort": 1}', [1], [()], "a name without arguments calls nothing"),
    (f'{{"x": "y" {ONE}', [], [], "behind an object that never closes nothing is looked at"),
    (f'{{"x": }} {ONE}', [1], [("prose_around",)], "one that cannot be read is skipped"),
    ('{"antwort": 1', [], [], "nothing is completed"),
    ("", [], [], "no text"),
])
def test_objects_with(text, values, notes, why):
    found = list(objects_with("antwort", text))
    assert [one.value["antwort"] for one in found] == values, why
    assert [one.notes for one in found] == notes, why
    final = read_final(text)
    if len(set(values)) == 1:
        assert (final.value, final.notes) == (values[0], notes[0]), "the suite chain reads the same"
    else:
        assert final is None


def test_is_call():
    assert is_call({"tool": "f", "args": "{}"}) and not is_call({"tool": 3, "args": "{}"})


@pytest.mark.parametrize("text", ['{"antwort": ' * 20_000, "{„" * 50_000, '[{"' * 30_000, "{'a" * 30_000])
def test_hostile_texts_take_linear_time(text):
    start = time.perf_counter()
    assert list(objects_with("antwort", text)) == []
    assert time.perf_counter() - start < 2
