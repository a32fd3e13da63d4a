"""The tools a model is offered: reading and checking tools.json, casting text by schema, the REST request of a call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lm_eval_task.decode import decode_all
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call, Task, fingerprint

COMPARE_RESOURCES = frozenset(("air", "charging-status", "demographics", "indicators", "tourism", "unemployment",
                               "weather", "weather-warnings"))
POI_TYPES = frozenset(("hospital", "kindergarten", "pharmacy", "police", "restaurant", "school"))

SLUG_REFUSED = re.compile(r"[\s/@:\\?#]")   # the API's client rejects such a slug without a request
EVA = re.compile(r"[0-9]{6,8}")
STOP_ID = re.compile(r"de:[0-9]+:[^\s/?#]+|[0-9]+")

# Path of the REST request behind each of the twelve tools (InfraNode release v1.1.1).
_PATHS = {
    "get_city": "/cities/{slug}/base",
    "get_city_overview": "/cities/{slug}/overview",
    "get_city_resource": "/cities/{slug}/{resource}",
    "air_quality": "/cities/{slug}/air-uba",
    "weather": "/cities/{slug}/weather",
    "pois": "/cities/{slug}/pois?type={type}",
    "station_board_departures": "/stations/{eva}/departures",
    "station_board_arrivals": "/stations/{eva}/arrivals",
    "transit_departures": "/live/{slug}/transit/departures?stop_id={stop_id}",
    "list_cities": "/cities?limit=200",
    "sources": "/sources?limit=200",
    "compare": "/compare?resource={resource}&cities={cities}",
}
_PLACEHOLDERS = {name: tuple(re.findall(r"{(\w+)}", path)) for name, path in _PATHS.items()}
THE_TWELVE = frozenset(_PATHS)
# Keys of get_city_resource that have a tool of their own: four pairs of names for one URL each.
NAMED_TOOLS = {"base": "get_city", "overview": "get_city_overview", "air-uba": "air_quality", "weather": "weather"}

_JSON_TYPES = {"object": dict, "array": list, "null": type(None)}


@dataclass(frozen=True, slots=True)
class Tool:
    """One function a model may call; `parameters` is its JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Any) -> Tool:
        """Raise DataError unless `value` is {"type": "function", "function": {"name", "description", "parameters"}}."""
        function = value.get("function", value) if isinstance(value, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not name:
            raise DataError('a tool is {"type": "function", "function": {"name", "description", "parameters"}}')
        parameters = without_refs(function.get("parameters") or {"type": "object", "properties": {}}, f"tool {name}")
        properties = parameters.get("properties", {}) if isinstance(parameters, dict) else None
        required = parameters.get("required", []) if isinstance(parameters, dict) else None
        if not isinstance(properties, dict) or not all(isinstance(p, dict) for p in properties.values()):
            raise DataError(f'tool {name}: "parameters" must be a JSON Schema with an object "properties"')
        if not isinstance(required, list) or not all(isinstance(r, str) and r in properties for r in required):
            raise DataError(f'tool {name}: "required" must list names from "properties"')
        _check_schema(parameters, f"tool {name}", "")
        return cls(name, function.get("description") or "", parameters, properties, tuple(required))

    def to_json(self) -> dict[str, Any]:
        """The OpenAI shape, as `tools=` takes it."""
        return {"type": "function", "function": {"name": self.name, "description": self.description,
                                                 "parameters": self.parameters}}


_TYPE_NAMES = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))


_BRANCHES = ("anyOf", "oneOf", "allOf")
_MAX_NESTING, _MAX_REFS = 40, 500


def _check_schema(schema: Any, tool: str, path: str, depth: int = 0) -> None:
    """Raise DataError, with tool and path, for a keyword of a form that JSON Schema does not know, at any depth.

    Checked are the keywords that are read: type, enum, required, format, properties, items, anyOf, oneOf, allOf.
    """
    where = f"{tool}: parameter {path}" if path else f'{tool}: "parameters"'
    if isinstance(schema, bool) and path:
        return
    if not isinstance(schema, dict):
        raise DataError(f"{where}: must be a JSON Schema (an object), found {_short(schema)}")
    if depth > _MAX_NESTING:
        raise DataError(f"{tool}: parameter {path[:60]}…: is nested deeper than {_MAX_NESTING} levels; flatten it")
    _check_keywords(schema, where, depth > 0)
    for name, inner in schema.get("properties", {}).items():
        _check_schema(inner, tool, f"{path}.{name}" if path else name, depth + 1)
    items = schema.get("items", True)
    for index, inner in enumerate(items if isinstance(items, list) else [items]):
        at = f"items[{index}]" if isinstance(items, list) else "items"
        _check_schema(inner, tool, f"{path}.{at}" if path else at, depth + 1)
    for keyword in _BRANCHES:
        for index, inner in enumerate(schema.get(keyword, [])):
            at = f"{keyword}[{index}]"
            _check_schema(inner, tool, f"{path}.{at}" if path else at, depth + 1)


def _check_keywords(schema: Mapping[str, Any], where: str, inner: bool) -> None:
    types = schema.get("type", [])
    for name in types if isinstance(types, list) else [types]:
        if not isinstance(name, str) or name not in _TYPE_NAMES:
            raise DataError(f'{where}: "type" must name JSON types ({", ".join(sorted(_TYPE_NAMES))}), '
                            f"found {_short(types)}")
    for keyword in ("enum", *_BRANCHES):
        if not isinstance(schema.get(keyword, []), list):
            raise DataError(f'{where}: "{keyword}" must be a list, found {_short(schema[keyword])}')
    required = schema.get("required", [])
    if inner and not (isinstance(required, list) and all(isinstance(name, str) for name in required)):
        raise DataError(f'{where}: "required" must be a list of names, found {_short(required)}')
    if not isinstance(schema.get("format", ""), str):
        raise DataError(f'{where}: "format" must be a text, found {_short(schema["format"])}')
    if not isinstance(schema.get("properties", {}), dict):
        raise DataError(f'{where}: "properties" must be an object, found {_short(schema["properties"])}')


def without_refs(schema: Any, tool: str) -> Any:
    """The schema with every `$ref` to its own `$defs` or `definitions` (as pydantic writes them) put in its place.

    A schema without one stays as it is. Raise DataError for a reference that leads elsewhere or back to itself.
    """
    try:
        if not isinstance(schema, dict) or '"$ref"' not in json.dumps(schema, default=repr):
            return schema
    except RecursionError:
        raise DataError(f"{tool}: its schema is nested deeper than {_MAX_NESTING} levels; flatten it") from None
    resolved = _Refs(schema, tool, [0]).put_in(schema, ())
    return {key: value for key, value in resolved.items() if key not in ("$defs", "definitions")}


@dataclass(frozen=True, slots=True)
class _Refs:
    """References of one tool's schema; `followed` counts them, so that a small file cannot grow without end."""

    root: Mapping[str, Any]
    tool: str
    followed: list[int]

    def put_in(self, schema: Any, seen: tuple[str, ...], depth: int = 0) -> Any:
        """seen: the references that are being followed."""
        if not isinstance(schema, dict):
            return schema
        if depth > _MAX_NESTING:
            raise DataError(f"{self.tool}: its schema is nested deeper than {_MAX_NESTING} levels; flatten it")
        if "$ref" in schema:
            reference = schema["$ref"]
            target = self._target(reference, seen)
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return self.put_in({**target, **rest}, (*seen, reference), depth + 1)
        result = dict(schema)
        if isinstance(schema.get("properties"), dict):
            result["properties"] = {n: self.put_in(s, seen, depth + 1) for n, s in schema["properties"].items()}
        for keyword in ("items", "additionalProperties"):
            if keyword in schema:
                result[keyword] = self.put_in(schema[keyword], seen, depth + 1)
        for keyword in _BRANCHES:
            if isinstance(schema.get(keyword), list):
                result[keyword] = [self.put_in(inner, seen, depth + 1) for inner in schema[keyword]]
        only = result.get("allOf")   # how older pydantic wraps a reference
        if isinstance(only, list) and len(only) == 1 and isinstance(only[0], dict):
            del result["allOf"]
            return {**only[0], **result}
        return result

    def _target(self, reference: Any, seen: tuple[str, ...]) -> Mapping[str, Any]:
        if reference in seen:
            raise DataError(f'{self.tool}: "$ref": {reference} leads back to itself; a schema must not be recursive')
        self.followed[0] += 1
        if self.followed[0] > _MAX_REFS:
            raise DataError(f'{self.tool}: more than {_MAX_REFS} uses of "$ref"; write the schema without them')
        parts = reference.split("/") if isinstance(reference, str) else []
        found = self.root.get(parts[1]) if len(parts) == 3 and parts[0] == "#" else None
        name = parts[2].replace("~1", "/").replace("~0", "~") if len(parts) == 3 else ""
        if parts[1:2] not in (["$defs"], ["definitions"]) or not isinstance(found, dict) \
                or not isinstance(found.get(name), dict):
            raise DataError(f'{self.tool}: "$ref" must lead to "#/$defs/NAME" or "#/definitions/NAME" in the same '
                            f"schema, found {_short(reference)}")
        return found[name]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools offered together, in their order."""

    tools: tuple[Tool, ...]
    by_name: Mapping[str, Tool] = field(default_factory=dict)

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> Toolset:
        """Raise DataError if two tools share a name."""
        tools = tuple(tools)
        by_name = {t.name: t for t in tools}
        if len(by_name) != len(tools):
            names = [t.name for t in tools]
            raise DataError(f"tool {next(n for n in names if names.count(n) > 1)} is defined twice")
        return cls(tools, by_name)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def get(self, name: str) -> Tool | None:
        return self.by_name.get(name)

    def to_json(self) -> list[dict[str, Any]]:
        return [t.to_json() for t in self.tools]

    @property
    def fingerprint(self) -> str:
        """sha256 of the content of tools.json."""
        return fingerprint(self.to_json())


def data_file(name: str) -> Path:
    """Where a data file of the project lies: inside the installed package, or at the root of the checkout."""
    package = Path(__file__).resolve().parent
    return next((p for p in (package / name, package.parent / name) if p.is_file()), package.parent / name)


def read_tools(path: str | Path | None = None) -> Toolset:
    """Read tools.json (the project's own without a path). Raise DataError that names file and tool."""
    path = data_file("tools.json") if path is None else path
    try:
        value = json.loads(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}); check the path", path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON ({error})", path) from None
    if not isinstance(value, list) or not value:
        raise DataError('expected a list of {"type": "function", "function": {…}}', path)
    try:
        return Toolset.of(Tool.from_json(v) for v in value)
    except DataError as error:
        raise DataError(str(error), path) from None


def type_allowed(schema: Mapping[str, Any], value: Any) -> bool:
    """Does JSON Schema's `type` allow `value`? true is no number; 5.0 is an integer. No `type`: everything goes."""
    types = schema.get("type")
    if isinstance(types, str):
        return _is_type(types, value)
    return types is None or any(_is_type(t, value) for t in types)


def _is_type(name: str, value: Any) -> bool:
    if name == "string":
        return isinstance(value, str)
    if name == "boolean":
        return isinstance(value, bool)
    if name in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return name == "number" or isinstance(value, int) or value.is_integer()
    return isinstance(value, _JSON_TYPES.get(name, object))


def call_problem(tools: Toolset, call: Call) -> str | None:
    """Why `call` does not fit the schema of its tool, as one line; None if it fits. Used on golds and requests."""
    tool = tools.get(call.name)
    if tool is None:
        return f"{call.name} is not among the offered tools"
    for name in tool.required:
        if call.arguments.get(name) is None:
            return f"{call.name}: required argument {name} is missing"
    for name, value in call.arguments.items():
        schema = tool.properties.get(name)
        if schema is None:
            return f"{call.name}: there is no parameter {name}"
        if not type_allowed(schema, value):
            return f"{call.name}: {name} must be of type {schema.get('type')}, found {json.dumps(value)}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{call.name}: {name} = {json.dumps(value, ensure_ascii=False)} is not in the enum"
    return None


def check_golds(tasks: Iterable[Task], tools: Toolset, path: object = None) -> None:
    """Raise DataError if a gold or accepted call of a task does not fit the offered tools."""
    for task in tasks:
        for call in (call for alternative in task.alternatives for call in alternative):
            problem = call_problem(tools, call)
            if problem is not None:
                raise DataError(f"task {task.task_id}: gold {problem}", path)


def request_of(call: Call) -> str | None:
    """Path and query (without /api/v1) of the GET request that a call of the twelve tools causes.

    Slugs are lower-cased, city lists sorted. None: another tool, or a call that its client refuses without a request.
    """
    template = _PATHS.get(call.name)
    if template is None:
        return None
    values: dict[str, str] = {}
    for name in _PLACEHOLDERS[call.name]:
        value = call.arguments.get(name)
        if not isinstance(value, str) or not _executable(name, value):
            return None
        values[name] = quote(value, safe=":,")
    if "slug" in values:
        values["slug"] = values["slug"].lower()
    if "cities" in values:
        values["cities"] = ",".join(sorted(c.strip().lower() for c in call.arguments["cities"].split(",")))
    return template.format_map(values)


_HALF_PAIR = re.compile("[\ud800-\udfff]")      # JSON may hold half a surrogate pair, a URL may not


def _executable(parameter: str, value: str) -> bool:
    if _HALF_PAIR.search(value):
        return False
    if parameter == "slug":
        return bool(value) and not SLUG_REFUSED.search(value)
    if parameter == "eva":
        return bool(EVA.fullmatch(value))
    if parameter == "stop_id":
        return bool(STOP_ID.fullmatch(value))
    return bool(value)


_INTEGER = re.compile(r"-?[0-9]+")


def cast(schema: Mapping[str, Any], text: str) -> Any:
    """The value that untyped text stands for under a parameter's schema; the text itself where nothing casts.

    Source: specification, formats, section 3, rule 14. Strings stay verbatim.
    """
    types = schema.get("type")
    types = [types] if isinstance(types, str) else list(types or ["string"])
    bare = text.strip()
    if bare == "null" and "null" in types:
        return None
    if "string" in types:
        return text
    for name in types:
        try:
            if name == "integer" and _INTEGER.fullmatch(bare):
                return int(bare)
            if name == "boolean" and bare.lower() in ("true", "false"):
                return bare.lower() == "true"
            if name in ("number", "array", "object"):
                decoded = decode_all(bare)
                if decoded is not None and not decoded.repairs and _is_type(name, decoded.value):
                    return decoded.value
        except ValueError:   # an integer of too many digits
            continue
    return text
