"""Arguments as the values that a tool works with."""

import json

import pytest

from infranode_eval.team.arguments import choice, flag, given, only, shown, text, texts, whole
from infranode_eval.team.workspace import Forbidden, ToolError

HUGE = 10 ** 400


def test_values_of_the_right_type_come_back_as_they_are():
    arguments = {"t": "ä", "leer": "", "n": 3, "f": 5.0, "b": True, "c": "llm", "l": ["a", "b"], "nichts": None}
    assert only(arguments, *arguments) is arguments
    assert text(arguments, "t") == "ä"
    assert text(arguments, "leer", empty=True) == ""
    assert (whole(arguments, "n"), whole(arguments, "f")) == (3, 5)
    assert isinstance(whole(arguments, "f"), int)
    assert flag(arguments, "b") is True
    assert choice(arguments, "c", ("llm", "vlm")) == "llm"
    assert texts(arguments, "l") == ("a", "b")
    assert [given(arguments, name) for name in ("n", "nichts", "fehlt")] == [True, False, False]


@pytest.mark.parametrize("arguments", [{}, {"x": None}])
def test_an_optional_parameter_that_is_absent_or_null_has_its_default(arguments):
    assert text(arguments, "x", "d") == "d"
    assert text(arguments, "x", "", empty=True) == ""
    assert whole(arguments, "x", 7) == 7
    assert flag(arguments, "x") is False
    assert choice(arguments, "x", ("a", "b"), "a") == "a"


WRONG = (
    (lambda a: text(a, "x"), {}, "x fehlt"), (lambda a: text(a, "x"), {"x": None}, "x fehlt"),
    (lambda a: text(a, "x"), {"x": ""}, "x darf nicht leer"), (lambda a: text(a, "x"), {"x": 5}, "x muss ein Text"),
    (lambda a: text(a, "x"), {"x": ["a"]}, "eine Liste"), (lambda a: text(a, "x"), {"x": {}}, "ein Objekt"),
    (lambda a: text(a, "x"), {"x": "a\0"}, "NUL"), (lambda a: text(a, "x"), {"x": "\ud83d"}, "Ersatzzeichenpaar"),
    (lambda a: whole(a, "x"), {}, "x fehlt"), (lambda a: whole(a, "x"), {"x": True}, "nicht true"),
    (lambda a: whole(a, "x"), {"x": "5"}, 'nicht "5"'), (lambda a: whole(a, "x"), {"x": 1.5}, "1.5"),
    (lambda a: whole(a, "x"), {"x": float("nan")}, "nan"), (lambda a: whole(a, "x"), {"x": float("inf")}, "inf"),
    (lambda a: whole(a, "x"), {"x": 1e300}, "Zahl von 0"), (lambda a: whole(a, "x"), {"x": HUGE}, "Zahl von 0"),
    (lambda a: whole(a, "x", low=1, high=60), {"x": 61}, "von 1 bis 60"), (lambda a: whole(a, "x"), {"x": -1}, "von 0"),
    (lambda a: flag(a, "x"), {"x": 1}, "true oder false"), (lambda a: flag(a, "x"), {"x": "true"}, "true oder false"),
    (lambda a: flag(a, "x"), {"x": HUGE}, "sehr große Zahl"),
    (lambda a: choice(a, "x", ("a",)), {"x": "b"}, "eines von a"),
    (lambda a: choice(a, "x", ("a",)), {"x": []}, "Liste"),
    (lambda a: choice(a, "x", ("a",)), {}, "x fehlt"),
    (lambda a: texts(a, "x"), {"x": "a"}, "Liste von Texten"), (lambda a: texts(a, "x"), {"x": ["a", 1]}, "Liste"),
    (lambda a: texts(a, "x"), {"x": [""]}, "leer"), (lambda a: texts(a, "x"), {"x": ["\udc80"]}, "paar"),
    (lambda a: only(a, "y"), {"x": 1}, 'Parameter "x" gibt es nicht; es gibt: y'),
    (lambda a: only(a), {"x": 1}, "es gibt: keinen"), (lambda a: only(a, "y"), {1: 1}, "Parameter 1"),
    (lambda a: only(a, "y"), ["x"], "JSON-Objekt"), (lambda a: only(a, "y"), None, "JSON-Objekt"),
    (lambda a: only(a, "y"), "x", "JSON-Objekt"), (lambda a: only(a, "y"), {"\ud800": 1}, "gibt es nicht"),
)


@pytest.mark.parametrize(("take", "arguments", "message"), WRONG)
def test_anything_else_is_an_error_that_names_the_parameter_and_counts_nothing(take, arguments, message):
    with pytest.raises(ToolError) as caught:
        take(arguments)
    assert message in str(caught.value)
    assert not isinstance(caught.value, Forbidden)
    str(caught.value).encode()      # a message can always be sent


@pytest.mark.parametrize("value", ["x" * 10 ** 7, "\ud800" * 100, "a\0b", HUGE, -HUGE, 1e300, None, [[]], {}, True])
def test_any_value_is_shown_short_and_can_be_sent(value):
    assert len(json.dumps(shown(value), ensure_ascii=False).encode()) < 200
    assert "\0" not in shown(value)
