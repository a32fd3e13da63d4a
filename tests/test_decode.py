"""JSON as models write it: what is read, with which repair, and what must stay unreadable."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from lm_eval_task.decode import decode_all, decode_at, extent_of, literal_at

READABLE = [
    # (text, value, repaired, why)
    ('{"a": 1}', {"a": 1}, False, "plain"), (' \n[1, 2.5, "x", true, null] ', [1, 2.5, "x", True, None], False,
     "plain list"),
    ('{"a": "\\u00e4\\n"}', {"a": "ä\n"}, False, "escapes"), ('{"a": 1, "a": 1}', {"a": 1}, False,
     "a key twice, same value"),
    ("{'a': 'x'}", {"a": "x"}, True, "single quotes"), ("{'a': \"it's\"}", {"a": "it's"}, True, "mixed quotes"),
    ("{'a': 'it\\'s'}", {"a": "it's"}, True, "an escaped quote"), ('{"a": True}', {"a": True}, True, "True"),
    ('{"a": None, "b": False}', {"a": None, "b": False}, True, "None and False"),
    ('{"a": 1,}', {"a": 1}, True, "trailing comma in an object"), ("[1, 2,]", [1, 2], True, "trailing comma in a list"),
    ('{"a": [1,],}', {"a": [1]}, True, "nested trailing commas"), ('{"a": 1}"', {"a": 1}, True, "trailing quote"),
    ('{"a": 1}\'', {"a": 1}, True, "trailing single quote"), ("[1]``", [1], True, "trailing backticks"),
    ("[" + "[1]," * 500 + "[{}]]", [*([[1]] * 500), [{}]], False, "many brackets, hardly nested"),
    ('{"a": -0.5e-3}', {"a": -0.0005}, False, "a number"),
]


@pytest.mark.parametrize(("text", "value", "repaired", "why"), READABLE, ids=[r[3] for r in READABLE])
def test_readable(text: str, value: Any, repaired: bool, why: str) -> None:
    decoded = decode_all(text)
    assert decoded is not None and decoded.value == value, why
    assert bool(decoded.repairs) is repaired


UNREADABLE = [
    ("", "blank"), ("{", "open"), ('{"a": 1', "open brace"), ('{"a": "x', "open string"), ('{"a": "x}', "open string"),
    ("[1, 2", "open list"), ('{"a": 1}{"b": 2}', "two values"), ('{"a": 1} x', "a word behind"), ("[,]",
     "a comma alone"),
    ("{,}", "a comma alone"), ('{"a": 1,,}', "two commas"), ('{"a" 1}', "no colon"), ("{a: 1}", "a bare key"),
    ('{"a": NaN}', "NaN"), ("[Infinity]", "Infinity"), ("[-Infinity]", "-Infinity"), ("[1e999]", "beyond every float"),
    ('{"a": 1, "a": 2}', "a key twice, different values"), ('{"a": 1, "a": true}', "1 is not true"),
    ("{'a': 1, 'a': 2}", "the same in single quotes"), ("[" + "9" * 5000 + "]", "too many digits"), ("[0x10]",
     "hexadecimal"),
    ("[1_000]", "underscores"), ("[01]", "leading zero"), ("[+1]", "plus"), ("[.5]", "no leading digit"), ("(1, 2)",
     "a tuple"),
    ("{1, 2}", "a set"), ("{1: 2}", "a number as key"), ("[f()]", "a call"), ("['a' 'b']", "two strings"), ("[1 2]",
     "no comma"),
    ("[__import__('os')]", "code"), ("[truely]", "a word"), ("[True_]", "a word"), ("x", "a word"),
    ("[" * 10_000 + "]" * 10_000, "too deep"), ("[" * 10_000, "deep and open"), ('{"a":' * 5000 + "1" + "}" * 5000,
     "too deep"),
    ("['a\\q']", "an unknown escape"), ('["a\\q"]', "an unknown escape"), ('["a\nb"]', "a raw newline in a string"),
]


@pytest.mark.parametrize(("text", "why"), UNREADABLE, ids=[f"{i} {u[1]}" for i, u in enumerate(UNREADABLE)])
def test_unreadable(text: str, why: str) -> None:
    assert decode_all(text) is None, why


def test_python_words_and_quotes_are_no_repair_where_they_are_at_home() -> None:
    decoded = literal_at("{'a': [True, None, 'x']}", 0)
    assert decoded is not None and decoded.value == {"a": [True, None, "x"]} and not decoded.repairs


def test_decoding_starts_and_ends_where_it_says() -> None:
    text = 'abc  {"a": "}"} def'
    decoded = decode_at(text, 3)
    assert decoded is not None and decoded.value == {"a": "}"} and text[decoded.end:] == " def"
    assert decode_at(text, 0) is None


EXTENTS = [('{"a": "}"} x', 10), ("[[1], {2}] x", 10), ('{"a": "x', None), ("{[}", None), ('{"a\\"}": 1}', 11)]


@pytest.mark.parametrize(("text", "end"), EXTENTS, ids=[e[0] for e in EXTENTS])
def test_extent(text: str, end: int | None) -> None:
    assert extent_of(text, 0) == end


def random_value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(7 if depth < 4 else 5)
    if kind == 0:
        return "".join(rng.choices("aä\"'\\{}[],: \n\t\x00🚲", k=rng.randint(0, 8)))
    if kind in (1, 2):
        return rng.choice((rng.randint(-10**12, 10**12), rng.uniform(-1e6, 1e6)))
    if kind in (3, 4):
        return rng.choice((True, False, None))
    if kind == 5:
        return [random_value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return {str(i) + "ä": random_value(rng, depth + 1) for i in range(rng.randint(0, 4))}


def test_whatever_json_writes_is_read_back() -> None:
    rng = random.Random("infranode json")
    for _ in range(2000):
        value = random_value(rng)
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
        decoded = decode_all(text)
        assert decoded is not None and json.dumps(decoded.value) == json.dumps(value)
        assert not decoded.repairs


def test_whatever_python_writes_is_read_back() -> None:
    rng = random.Random("infranode repr")
    for _ in range(2000):
        value = [random_value(rng)]
        decoded = literal_at(repr(value), 0)
        assert decoded is not None and json.dumps(decoded.value) == json.dumps(value), repr(value)


def test_a_cut_value_is_never_completed() -> None:
    rng = random.Random("infranode cut")
    for _ in range(200):
        for text in (json.dumps({"a": random_value(rng)}), repr([random_value(rng), "x"])):
            for length in range(len(text)):
                assert decode_all(text[:length]) is None
