"""JSON Schema in Gemini's subset: what is kept, reworded, dropped."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.providers.gemini_schema import schema_of
from lm_eval_task.tools import read_tools

S = {"type": "string"}
ROWS = [
    ({"type": ["string", "null"], "default": None, "description": "d"},
     {"type": "string", "nullable": True, "description": "d"}, "null in the type, a default"),
    ({"type": "string", "enum": ["a", None]}, {"type": "string", "nullable": True, "enum": ["a"]}, "null in the enum"),
    ({"type": "integer", "enum": [6, 20], "description": "Augen"}, {"type": "integer", "description": "Augen (6, 20)"},
     "only strings have an enum there"),
    ({"type": "string", "const": "a"}, {"type": "string", "enum": ["a"]}, "const"),
    ({"type": "object", "properties": {"a": S}, "required": ["a"], "additionalProperties": False, "$schema": "x"},
     {"type": "object", "properties": {"a": S}, "required": ["a"]}, "what it does not know"),
    ({"type": "array", "items": {"type": ["integer", "null"]}, "minItems": 1, "uniqueItems": True},
     {"type": "array", "items": {"type": "integer", "nullable": True}, "minItems": 1}, "lists"),
    ({"type": "array"}, {"type": "array", "items": S}, "it wants items"),
    ({"type": ["string", "integer"], "description": "d"},
     {"description": "d", "anyOf": [S, {"type": "integer"}]}, "several types"),
    ({"anyOf": [S, {"type": "null"}]}, {"anyOf": [S], "nullable": True}, "anyOf with null"),
    ({"oneOf": [S, {"type": "integer"}]}, {"anyOf": [S, {"type": "integer"}]}, "oneOf"),
    ({"type": "string", "format": "email"}, S, "a format that it does not know"),
    ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}, "one that it knows"),
    ({"type": "integer", "minimum": 1, "maximum": 9, "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1,
                                                                             "maximum": 9}, "bounds"),
    ({"type": "string", "pattern": "^[a-z]+$", "examples": ["x"]}, {"type": "string", "pattern": "^[a-z]+$"}, "text"),
]


@pytest.mark.parametrize(("schema", "expected", "reason"), ROWS, ids=[r[2] for r in ROWS])
def test_schema(schema: dict[str, Any], expected: dict[str, Any], reason: str) -> None:
    assert schema_of(schema) == expected, reason


KNOWN = {"type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties",
         "required", "minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf"}


def test_the_twelve_tools_use_only_what_it_knows() -> None:
    def check(schema: dict[str, Any]) -> None:
        assert schema.keys() <= KNOWN
        for inner in schema.get("properties", {}).values():
            check(inner)

    for tool in read_tools().to_json():
        check(schema_of(tool["function"]["parameters"]))
