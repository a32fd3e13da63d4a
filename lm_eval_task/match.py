"""Equality of tool calls: which arguments mean the same request to the API, and what is wrong where they do not.

Equality is a table, a `Policy`, never one normaliser for all, and the suite chooses which. MAIN: by tool and parameter,
from what the API does. BENCH: by JSON type and format in the tool's schema.
Source: specification, scoring, "Equality of two calls" and "Sub-codes of wrong_args"; API release v1.1.1;
bench, "Matching".
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

from lm_eval_task.german import means
from lm_eval_task.records import Call
from lm_eval_task.schema import beyond_microseconds, branch_of, instant_of, properties_of, required_of, takes_text
from lm_eval_task.tools import COMPARE_RESOURCES, EVA, POI_TYPES, SLUG_REFUSED, Tool, Toolset, type_allowed

Equality = Callable[[Any, Any], bool]


def json_equal(a: Any, b: Any) -> bool:
    """JSON equality: 5 = 5.0, true != 1, "5" != 5, key order free, NFC = NFD."""
    if isinstance(a, str) or isinstance(b, str):
        return type(a) is type(b) and (a == b or nfc(a) == nfc(b))
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(json_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(json_equal(a[k], b[k]) for k in a)
    return False


def exact_equal(a: Any, b: Any) -> bool:
    """The very same string (enum values, EVA numbers, stop ids)."""
    return type(a) is type(b) and a == b


def slug_equal(a: Any, b: Any) -> bool:
    """ASCII case is free, as in the API; umlauts, blanks and punctuation are not."""
    return isinstance(a, str) and isinstance(b, str) and _ascii_lower(a) == _ascii_lower(b)


def cities_equal(a: Any, b: Any) -> bool:
    """One comma-separated string: order, ASCII case and blanks around commas are free, duplicates are not."""
    return isinstance(a, str) and isinstance(b, str) and _city_list(a) == _city_list(b)


def nfc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def _ascii_lower(text: str) -> str:
    return text.translate(_LOWER)


def _city_list(text: str) -> list[str]:
    return sorted(_ascii_lower(city.strip(" \t\r\n")) for city in text.split(","))


_SLUG_TOOLS = ("get_city", "get_city_overview", "get_city_resource", "air_quality", "weather", "pois",
               "transit_departures")
# The table. A (tool, parameter) that is not in it is compared as JSON, as in every tool that is not one of the twelve.
EQUALITIES: dict[tuple[str, str], Equality] = {
    **{(tool, "slug"): slug_equal for tool in _SLUG_TOOLS},
    ("get_city_resource", "resource"): exact_equal,
    ("compare", "resource"): exact_equal,
    ("compare", "cities"): cities_equal,
    ("pois", "type"): exact_equal,
    ("station_board_departures", "eva"): exact_equal,
    ("station_board_arrivals", "eva"): exact_equal,
    ("transit_departures", "stop_id"): exact_equal,
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Which values are equal, as tables.

    parameters: by (tool, parameter), before everything else. formats, types: by `format` of a text and by JSON type, at
    every depth of the arguments; without them JSON equality decides. spelled: what a text may stand for where the
    schema takes no text; it counts, with a form note. sets: paths of arrays whose order and duplicates are free.
    """

    name: str
    parameters: Mapping[tuple[str, str], Equality] = field(default_factory=dict)
    formats: Mapping[str, Equality] = field(default_factory=dict)
    types: Mapping[str, Equality] = field(default_factory=dict)
    spelled: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    sets: frozenset[tuple[str, ...]] = frozenset()


MAIN = Policy("main", EQUALITIES)


def text_equal(a: Any, b: Any) -> bool:
    """The same characters to a reader: outer blanks, NFD and no-break spaces are free; case and the rest are not."""
    return isinstance(a, str) and isinstance(b, str) and (a == b or _plain(a) == _plain(b))


def uuid_equal(a: Any, b: Any) -> bool:
    """As text, and ASCII case is free."""
    return isinstance(a, str) and isinstance(b, str) and _ascii_lower(a.strip()) == _ascii_lower(b.strip())


def instant_equal(a: Any, b: Any, zone: str = "") -> bool:
    """The same instant, however it is written; a time without an offset is local in `zone` ("": unknown)."""
    if not isinstance(a, str) or not isinstance(b, str):
        return False
    one, other = instant_of(a.strip(), zone), instant_of(b.strip(), zone)
    if one is None or other is None:
        return text_equal(a, b)
    return (one.tzinfo is None) is (other.tzinfo is None) and one == other and beyond_microseconds(
        a) == beyond_microseconds(b)


_NO_BREAK = str.maketrans({"\u00a0": " ", "\u202f": " "})


def _plain(text: str) -> str:
    return nfc(text).strip().translate(_NO_BREAK)


_SPELLED_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}
_SPELLED_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,299})")
_SPELLED_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,299})(?:\.[0-9]{1,300})?")


def _integer(text: str) -> int | None:
    return int(text) if _SPELLED_INTEGER.fullmatch(text) else None


def _number(text: str) -> int | float | None:
    if not _SPELLED_NUMBER.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)


@lru_cache(maxsize=256)
def bench_policy(zone: str = "", sets: frozenset[tuple[str, ...]] = frozenset()) -> Policy:
    """The tolerances of the test bench; zone: of local times in its case file."""
    return Policy(
        "bench",
        formats={"uuid": uuid_equal, "date-time": partial(instant_equal, zone=zone), "date": text_equal},
        types={"string": text_equal, "boolean": exact_equal, "integer": json_equal, "number": json_equal,
               "null": exact_equal},
        spelled={"boolean": _SPELLED_BOOLEANS.get, "integer": _integer, "number": _number},
        sets=sets)


BENCH = bench_policy()


def normal_arguments(tool: Tool, arguments: Mapping[str, Any], policy: Policy = MAIN) -> Mapping[str, Any]:
    """Arguments without those that say nothing: an optional one that is null or equals its default."""
    if len(tool.required) == len(tool.properties):
        return arguments
    return _Comparison(policy, []).telling(tool.properties, tool.required, arguments, ())


def arguments_equal(tool: Tool, actual: Mapping[str, Any], expected: Mapping[str, Any], policy: Policy = MAIN) -> bool:
    """Do both argument sets cause the same request under the schema of `tool`, the gold's tool?"""
    actual, expected = normal_arguments(tool, actual, policy), normal_arguments(tool, expected, policy)
    if actual.keys() != expected.keys():
        return False
    return all(_argument_equal(policy, tool, name, actual[name], value) for name, value in expected.items())


def form_notes(tool: Tool, actual: Mapping[str, Any], expected: Mapping[str, Any], policy: Policy) -> list[str]:
    """What two equal argument sets spell differently, where the policy credits it with a note; usually nothing.

    Each note stands there once.
    """
    notes: list[str] = []
    comparison = _Comparison(policy, notes)
    actual = comparison.telling(tool.properties, tool.required, actual, ())
    for name, value in normal_arguments(tool, expected, policy).items():
        if (tool.name, name) not in policy.parameters and policy.types:
            comparison.equal(tool.properties.get(name, {}), actual.get(name), value, (name,))
    return list(dict.fromkeys(notes))


def _argument_equal(policy: Policy, tool: Tool, parameter: str, actual: Any, expected: Any) -> bool:
    equality = policy.parameters.get((tool.name, parameter))
    if equality is not None:
        return equality(actual, expected)
    if not policy.types:
        return json_equal(actual, expected)
    return _Comparison(policy, []).equal(tool.properties.get(parameter, {}), actual, expected, (parameter,))


class _Comparison(NamedTuple):
    """Two values side by side, down their schema; `notes` gathers what was only spelled right in what is equal."""

    policy: Policy
    notes: list[str]

    def equal(self, schema: Mapping[str, Any], actual: Any, expected: Any, path: tuple[str, ...]) -> bool:
        """path: where both stand in the arguments; "*" for an item of an array."""
        known = len(self.notes)
        equal = self._equal(schema, actual, expected, path)
        if not equal:
            del self.notes[known:]
        return equal

    def telling(self, properties: Mapping[str, Mapping[str, Any]], required: Sequence[str],
                arguments: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        """The entries that say something: not an optional one that is null or equals its default."""
        result = {}
        for name, value in arguments.items():
            schema = properties.get(name)
            if schema is not None and name not in required and (
                    value is None or ("default" in schema and self._is_default(schema, value, (*path, name)))):
                continue
            result[name] = value
        return result

    def _is_default(self, schema: Mapping[str, Any], value: Any, path: tuple[str, ...]) -> bool:
        if not self.policy.types:
            return json_equal(value, schema["default"])
        return self.equal(schema, value, schema["default"], path)

    def _equal(self, schema: Mapping[str, Any], actual: Any, expected: Any, path: tuple[str, ...]) -> bool:
        text_allowed, schema = takes_text(schema), branch_of(schema, expected)
        if isinstance(expected, dict):
            return isinstance(actual, dict) and self._objects_equal(schema, actual, expected, path)
        if isinstance(expected, list):
            return isinstance(actual, list) and self._arrays_equal(schema, actual, expected, path)
        kind = _kind_of(schema, expected)
        if isinstance(actual, str) and kind != "string" and not text_allowed:
            read = self.policy.spelled.get(kind, _nothing)(actual.strip())
            if read is None or not self.policy.types.get(kind, json_equal)(read, expected):
                return False
            self.notes.append(f'{".".join(path)}: text {_show(json.dumps(actual, ensure_ascii=False))} for {kind}')
            return True
        equality = self.policy.formats.get(schema.get("format")) if kind == "string" else None
        return (equality or self.policy.types.get(kind, json_equal))(actual, expected)

    def _objects_equal(self, schema: Mapping[str, Any], actual: Mapping[str, Any], expected: Mapping[str, Any],
                       path: tuple[str, ...]) -> bool:
        properties, required = properties_of(schema), required_of(schema)
        actual = self.telling(properties, required, actual, path)
        expected = _Comparison(self.policy, []).telling(properties, required, expected, path)
        return actual.keys() == expected.keys() and all(
            self.equal(properties.get(key, {}), actual[key], value, (*path, key)) for key, value in expected.items())

    def _arrays_equal(self, schema: Mapping[str, Any], actual: list[Any], expected: list[Any],
                      path: tuple[str, ...]) -> bool:
        items, inside = schema.get("items"), (*path, "*")
        items = items if isinstance(items, dict) else {}
        if path not in self.policy.sets:
            return len(actual) == len(expected) and all(
                self.equal(items, a, e, inside) for a, e in zip(actual, expected, strict=True))
        return all(any(self.equal(items, a, e, inside) for e in expected) for a in actual) and all(
            any(self.equal(items, a, e, inside) for a in actual) for e in expected)


def _nothing(_: str) -> None:
    return None


def _kind_of(schema: Mapping[str, Any], value: Any) -> str:
    """The JSON type under which a gold value that is neither object nor array is compared."""
    if isinstance(value, str):
        return "string"
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    types = schema.get("type", ())
    return "integer" if "integer" in ((types,) if isinstance(types, str) else types) else "number"


def calls_equal(tools: Toolset, actual: Call, expected: Call, policy: Policy = MAIN) -> bool:
    """Same tool, same arguments."""
    if actual.name == expected.name and actual.arguments == expected.arguments and all(
            type(value) is str for value in expected.arguments.values()):
        return True   # the usual case; among strings Python's 1 == True cannot blur anything
    return actual.name == expected.name and arguments_equal(tools.by_name[expected.name], actual.arguments,
                                                            expected.arguments, policy)


def same_text_equal(actual: Any, expected: Mapping[str, Any]) -> bool:
    """The original bench's rule for one call's arguments, word for word; what made it crash is no match.

    actual: whatever stood in the place of the arguments.
    """
    try:
        if not isinstance(actual, dict):
            return not actual and not expected
        return actual.keys() == expected.keys() and all(
            str(actual[name]).strip() == str(value) for name, value in expected.items())
    except (ValueError, RecursionError):   # a number of too many digits, a value of too many levels
        return False


def pairing(equal: Callable[[int, int], bool], n_actual: int, n_expected: int) -> list[int | None]:
    """A maximum matching: for each actual index its expected index or None; one actual covers one expected.

    Earlier actual calls are served first, so the first None is the first call that has no partner.
    """
    if n_actual == n_expected == 1:
        return [0] if equal(0, 0) else [None]
    partner: list[int | None] = [None] * n_expected
    for actual in range(n_actual):
        _augment(actual, equal, partner, set())
    result: list[int | None] = [None] * n_actual
    for expected, actual in enumerate(partner):
        if actual is not None:
            result[actual] = expected
    return result


def _augment(actual: int, equal: Callable[[int, int], bool], partner: list[int | None], seen: set[int]) -> bool:
    for expected in range(len(partner)):
        if expected in seen or not equal(actual, expected):
            continue
        seen.add(expected)
        if partner[expected] is None or _augment(partner[expected], equal, partner, seen):
            partner[expected] = actual
            return True
    return False


class Fault(NamedTuple):
    """What is wrong with a call beside the one it should be: outcome, sub-code (wrong_args only), one sentence."""

    outcome: str
    sub: str | None
    why: str


def fault_of(tools: Toolset, actual: Call, expected: Call, policy: Policy = MAIN) -> Fault:
    """The first fault, in the specification's order, of a call that is not equal to the expected one."""
    if actual.name not in tools:
        return Fault("unknown_tool", None, f"{actual.name} is not an offered tool; expected {expected}")
    if actual.name != expected.name:
        return Fault("wrong_tool", None, f"called {actual} instead of {expected}")
    tool = tools.by_name[expected.name]
    given, wanted = (normal_arguments(tool, call.arguments, policy) for call in (actual, expected))
    for name in tool.properties:
        if name in wanted and given.get(name) is None:
            return Fault("missing_args", None, f"{name} is missing; expected {_show(wanted[name])}")
        if name in tool.required and given.get(name) is None:
            return Fault("missing_args", None, f"{name} is missing")
    for name in given:
        if name not in wanted:
            return Fault("hallucinated_arg", None, f"{name}: {_show(given[name])} is one argument too many")
    for name in tool.properties:
        if name in given and not type_allowed(tool.properties[name], given[name]) and not _argument_equal(
                policy, tool, name, given[name], wanted[name]):
            return Fault("type_error", None, f"{name}: {_show(given[name])} is of the wrong JSON type; "
                                             f"expected {_show(wanted[name])}")
    for name in tool.properties:
        if name in given and not _argument_equal(policy, tool, name, given[name], wanted[name]):
            sub = sub_code(tool, name, given[name], wanted[name])
            return Fault("wrong_args", sub, f"{name}: {_show(given[name])} instead of {_show(wanted[name])}")
    raise AssertionError(f"{actual} equals {expected}")


def _show(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "…"


def sub_code(tool: Tool, parameter: str, actual: Any, expected: Any) -> str:
    """Which kind of wrong value it is; see the table in the specification, the first that applies."""
    if not isinstance(actual, str) or not isinstance(expected, str):
        return "other"
    ours = (tool.name, parameter) in EQUALITIES
    slug = ours and parameter == "slug"
    keyed = ours and parameter in ("resource", "type")
    if (slug or (ours and parameter == "cities")) and not actual.isascii() and _umlauts_equal(actual, expected):
        return "umlaut_unresolved"
    if keyed and actual.casefold() == expected.casefold():
        return "enum_case"
    if keyed and means(actual, expected):
        return "value_language"
    if slug and _one_prefixes_other(_ascii_lower(actual), _ascii_lower(expected)):
        return "long_form"
    if parameter == "resource" and ours and actual not in _offered_keys(tool):
        return "unknown_key"
    if ours and _not_executable(parameter, actual):
        return "not_executable"
    return "other"


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def _umlauts_equal(actual: str, expected: str) -> bool:
    folded = nfc(actual).strip().casefold().translate(_UMLAUTS)
    return _city_list(folded) == _city_list(expected) and any(c.isalpha() and not c.isascii() for c in nfc(actual))


def _one_prefixes_other(a: str, b: str) -> bool:
    return a.startswith(b + "-") or b.startswith(a + "-")


def _offered_keys(tool: Tool) -> frozenset[str]:
    enum = tool.properties["resource"].get("enum")
    return frozenset(enum) if enum else COMPARE_RESOURCES


def _not_executable(parameter: str, value: str) -> bool:
    if parameter == "slug":
        return not value or bool(SLUG_REFUSED.search(value))
    if parameter == "eva":
        return not EVA.fullmatch(value)
    return parameter == "type" and value not in POI_TYPES


_DIGITS = re.compile(r"-?[0-9]{1,300}")
_DECIMAL = re.compile(r"-?[0-9]{1,300}(?:\.[0-9]{1,300})?")


def lenient_value(schema: Mapping[str, Any], value: Any) -> Any:
    """The value that an HTTP query would carry all the same: "5" for 5, "true" for true, a list for a comma string.

    Source: specification, scoring, lenient_call_match. A value that already has an allowed type stays as it is.
    """
    if type_allowed(schema, value):
        return value
    types = schema.get("type")
    types = (types,) if isinstance(types, str) else tuple(types)
    if isinstance(value, str) and "integer" in types and _DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, str) and "number" in types and _DECIMAL.fullmatch(value):
        return float(value) if "." in value else int(value)
    if isinstance(value, str) and "boolean" in types and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if "string" in types and isinstance(value, int) and not isinstance(value, bool):
        return str(value) if -10**18 < value < 10**18 else value
    if "string" in types and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return ",".join(value)
    return value


def lenient_call(tools: Toolset, call: Call) -> Call:
    """`call` with every argument as `lenient_value` reads it."""
    tool = tools.get(call.name)
    if tool is None:
        return call
    return Call(call.name, {name: lenient_value(tool.properties[name], value) if name in tool.properties else value
                            for name, value in call.arguments.items()})


def first_unpaired(partners: Sequence[int | None], n_expected: int) -> tuple[int, list[int]]:
    """Index of the first actual call without a partner, and the expected indices that nobody covers."""
    covered = {p for p in partners if p is not None}
    return next(i for i, p in enumerate(partners) if p is None), [j for j in range(n_expected) if j not in covered]
