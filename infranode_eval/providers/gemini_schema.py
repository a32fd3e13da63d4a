"""JSON Schema in the subset that Gemini's function declarations take (an OpenAPI 3.0 schema object)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEPT = ("title", "description", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern",
         "minProperties", "maxProperties")
_FORMATS = {"string": ("date-time", "enum"), "integer": ("int32", "int64"), "number": ("float", "double")}


def schema_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what the API knows, reword what it names otherwise, drop the rest (default, additionalProperties, $schema).

    A type list with "null" becomes nullable, another one anyOf; const an enum of one; oneOf anyOf. Only strings may
    have an enum there: the values of any other stand in its description.
    """
    types = [t for t in _listed(schema.get("type")) if t != "null"]
    made: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    if len(types) == 1:
        made["type"] = types[0]
    elif types:
        made["anyOf"] = [schema_of({**schema, "type": t, "description": ""}) for t in types]
        made = {key: made[key] for key in made if key in ("title", "description", "anyOf")}
    branches = [b for b in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) if b.get("type") != "null"]
    if branches:
        made["anyOf"] = [schema_of(branch) for branch in branches]
    if _nullable(schema):
        made["nullable"] = True
    if len(types) == 1:
        _add_enum(made, schema)
        if schema.get("format") in _FORMATS.get(types[0], ()):
            made["format"] = schema["format"]
    if "array" in types and len(types) == 1:
        made["items"] = schema_of(schema.get("items") or {"type": "string"})
    if schema.get("properties") and (not types or types == ["object"]):
        made["properties"] = {name: schema_of(value) for name, value in schema["properties"].items()}
        if schema.get("required"):
            made["required"] = list(schema["required"])
    return {key: value for key, value in made.items() if value != ""}


def _listed(value: Any) -> list[str]:
    return list(value) if isinstance(value, list) else [value] if value is not None else []


def _nullable(schema: Mapping[str, Any]) -> bool:
    return "null" in _listed(schema.get("type")) or None in schema.get("enum", ()) or schema.get("nullable") is True \
        or any(b.get("type") == "null" for b in (*schema.get("anyOf", ()), *schema.get("oneOf", ())))


def _add_enum(made: dict[str, Any], schema: Mapping[str, Any]) -> None:
    values = [v for v in schema.get("enum", [schema["const"]] if "const" in schema else []) if v is not None]
    if not values:
        return
    if made["type"] == "string":
        made["enum"] = values
    else:
        made["description"] = f"{made.get('description', '')} ({', '.join(map(str, values))})".strip()
