"""Mutations of a gold: replies that must score 0, each with the outcome that it must have.

Written from the specification (scoring, "Sub-codes", "Equality of two calls", the last section), not from the scorer,
which it checks: what two calls mean is decided here by `meaning`, not by lm_eval_task.match.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_task.records import Call, Reply, Task, canonical_json
from lm_eval_task.tools import THE_TWELVE, Tool, Toolset, type_allowed

NEARER = frozenset(("wrong_tool", "missing_args", "hallucinated_arg", "type_error", "wrong_args"))


@dataclass(frozen=True, slots=True)
class Variant:
    """One reply to a task. `outcomes`: the labels it may get; `sub`: the sub-code it must have (None: any).

    calls: what the reply says, for the message about a surprise (empty for a cut reply).
    """

    kind: str
    mode: str
    reply: Reply
    outcomes: frozenset[str]
    sub: str | None = None
    calls: tuple[Call, ...] = ()


# --- what a call means ------------------------------------------------------------------------------------------------

def meaning(tools: Toolset, calls: Sequence[Call]) -> str:
    """Equal for two lists of calls exactly if the API's rules make them equal; a second, independent implementation."""
    return canonical_json(sorted(canonical_json([c.name, _meant(tools, c)]) for c in calls))


def _meant(tools: Toolset, call: Call) -> dict[str, Any]:
    tool = tools.by_name.get(call.name)
    result = {}
    for name, value in call.arguments.items():
        schema = tool.properties.get(name) if tool else None
        optional = schema is not None and name not in tool.required
        if optional and (value is None or _is_default(schema, value)):
            continue
        if call.name in THE_TWELVE and isinstance(value, str) and name == "slug":
            value = _lower(value)
        elif call.name == "compare" and isinstance(value, str) and name == "cities":
            value = sorted(_lower(city.strip()) for city in value.split(","))
        result[name] = _plain(value, call.name not in THE_TWELVE)
    return result


def _is_default(schema: Mapping[str, Any], value: Any) -> bool:
    return "default" in schema and canonical_json(_plain(value)) == canonical_json(_plain(schema["default"]))


def _plain(value: Any, free_text: bool = True) -> Any:
    """JSON equality as text equality: 5.0 becomes 5, free text its composed form; true stays apart from 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and free_text:
        return unicodedata.normalize("NFC", value)
    if isinstance(value, list):
        return [_plain(v, free_text) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v, free_text) for k, v in value.items()}
    return value


def _lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


# --- how a reply is written -------------------------------------------------------------------------------------------

def native_reply(calls: Sequence[Call]) -> Reply:
    """Native call entries, arguments as a JSON string."""
    return native_entries([(c.name, json.dumps(dict(c.arguments), ensure_ascii=False)) for c in calls])


def native_entries(pairs: Sequence[tuple[str, Any]]) -> Reply:
    return Reply({"role": "assistant", "content": None, "tool_calls": [
        {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(pairs)]}, "tool_calls")


def prompted_text(calls: Sequence[Call]) -> str:
    """One JSON object, or a list of several, as the prompt asks for."""
    values = [c.to_json() for c in calls]
    return json.dumps(values[0] if len(values) == 1 else values, ensure_ascii=False)


def tagged_text(calls: Sequence[Call]) -> str:
    """One <tool_call> block a call."""
    return "\n".join(f"<tool_call>\n{json.dumps(c.to_json(), ensure_ascii=False)}\n</tool_call>" for c in calls)


def written(kind: str, calls: Sequence[Call], outcomes: frozenset[str], sub: str | None = None) -> Iterator[Variant]:
    calls = tuple(calls)
    yield Variant(kind, "prompt", Reply.from_text(prompted_text(calls)), outcomes, sub, calls)
    yield Variant(kind, "native", native_reply(calls), outcomes, sub, calls)


# --- the mutations ----------------------------------------------------------------------------------------------------

def mutations(task: Task, tools: Toolset) -> Iterator[Variant]:
    """Every mutation of the gold. One that by chance means an accepted answer is left out."""
    right = {meaning(tools, alternative) for alternative in task.alternatives}
    if not task.expected:
        for tool in tools.tools:
            if meaning(tools, (Call(tool.name),)) not in right:
                yield from written("call where none is right", (Call(tool.name),), *_allowed(task, "extra_calls", None))
        return
    for index, call in enumerate(task.expected):
        before, after = task.expected[:index], task.expected[index + 1:]
        for kind, mutant, outcome, sub in _mutants(tools, call):
            calls = (*before, mutant, *after)
            if meaning(tools, calls) not in right:
                yield from written(kind, calls, *_allowed(task, outcome, sub))
    yield from _counts(task, tools, right)
    yield from _cuts(task, tools, right)


def _allowed(task: Task, outcome: str, sub: str | None) -> tuple[frozenset[str], str | None]:
    """With `accept`, a mutant may lie nearer to another answer and is judged beside that: then any fault will do."""
    return (NEARER | {outcome}, None) if task.accept else (frozenset((outcome,)), sub)


Mutant = tuple[str, Call, str, "str | None"]


def _mutants(tools: Toolset, call: Call) -> Iterator[Mutant]:
    """(kind, mutated call, outcome, sub-code) for one gold call."""
    tool, arguments = tools.by_name[call.name], dict(call.arguments)
    for other in tools.tools:
        if other.name != call.name:
            yield "tool swapped", Call(other.name, arguments), "wrong_tool", None
    yield "tool swapped for an unknown one", Call(call.name + "_v2", arguments), "unknown_tool", None
    yield "argument added", Call(call.name, {**arguments, "sprache": "de"}), "hallucinated_arg", None
    for name, schema in tool.properties.items():
        if name not in arguments and not type_allowed(schema, ""):
            continue
        if name not in arguments:
            yield "argument added", Call(call.name, {**arguments, name: ""}), "hallucinated_arg", None
            continue
        left = {k: v for k, v in arguments.items() if k != name}
        yield "argument dropped", Call(call.name, left), "missing_args", None
        yield "argument null", Call(call.name, {**arguments, name: None}), "missing_args", None
        yield "argument renamed", Call(call.name, {**left, name + "_": arguments[name]}), "missing_args", None
        for value in (7, 7.5, True, [arguments[name]], {"wert": arguments[name]}, str(arguments[name])):
            if not type_allowed(schema, value):
                yield "type changed", Call(call.name, {**arguments, name: value}), "type_error", None
        for kind, value, sub in _wrong_values(tool, name, arguments[name]):
            omitted = name not in tool.required and _is_default(schema, value)
            outcome = "missing_args" if omitted else "wrong_args"   # an explicit default is as good as nothing
            yield kind, Call(call.name, {**arguments, name: value}), outcome, None if omitted else sub


def _wrong_values(tool: Tool, name: str, gold: Any) -> Iterator[tuple[str, Any, str | None]]:
    """(kind, value, sub-code) of another value of the same JSON type."""
    if not isinstance(gold, str):
        yield from (("argument changed", value, "other") for value in _other_values(gold))
        return
    if tool.name not in THE_TWELVE:
        yield "argument changed", gold + "x", "other"
        return
    yield from _WRONG_STRINGS[name](tool, gold)


def _other_values(gold: Any) -> Iterator[Any]:
    if isinstance(gold, bool):
        yield not gold
    elif isinstance(gold, (int, float)):
        yield gold + 1
        yield -gold - 1
    elif isinstance(gold, list):
        yield [*gold, *gold, "x"]
    elif isinstance(gold, dict):
        yield {**gold, "x": 1}


def _wrong_slugs(tool: Tool, gold: str) -> Iterator[tuple[str, Any, str | None]]:
    yield "argument changed", "bielefeld" if gold != "bielefeld" else "chemnitz", "other"
    yield "argument changed", gold + "x", "other"
    yield "argument changed", gold.replace("-", "") if "-" in gold else gold[:-1], "other"
    for bad in (f" {gold}", f"{gold} ", f"{gold}/", f"{gold}?a", gold[:1] + " " + gold[1:], "", "\u00a0"):
        yield "argument not executable", bad, "not_executable"
    yield "name lengthened", gold + "-stadt", "long_form"
    if "-" in gold:
        yield "name shortened", gold.split("-")[0], "long_form"
    for value in with_umlauts(gold):
        yield "umlaut put back", value, "umlaut_unresolved"


_DIGRAPHS = {"ae": "ä", "oe": "ö", "ue": "ü", "ss": "ß"}


def with_umlauts(slug: str) -> Iterator[str]:
    """Spellings of a slug with umlauts or ß: each place alone, all, in capitals, with edge blanks, decomposed."""
    for digraph, letter in _DIGRAPHS.items():
        for match in re.finditer(digraph, slug):
            yield slug[:match.start()] + letter + slug[match.end():]
    everywhere = re.sub("|".join(_DIGRAPHS), lambda m: _DIGRAPHS[m[0]], slug)
    if everywhere != slug:
        yield everywhere.capitalize()
        yield everywhere.upper()
        yield f" {everywhere} "
        if any(c in "äöü" for c in everywhere):
            yield unicodedata.normalize("NFD", everywhere)


def _wrong_keys(tool: Tool, gold: str) -> Iterator[tuple[str, Any, str | None]]:
    offered = tool.properties["resource"].get("enum") or COMPARED
    other = next(key for key in offered if key not in (gold, *gold.split("-")))
    yield "argument changed", other, "other"
    yield "argument changed", gold + "-data", "unknown_key"
    yield "case of a key changed", gold.upper(), "enum_case"
    yield "case of a key changed", gold.capitalize(), "enum_case"
    yield "value translated", GERMAN[gold], "value_language"


def _wrong_types(tool: Tool, gold: str) -> Iterator[tuple[str, Any, str | None]]:
    yield "argument changed", "school" if gold != "school" else "police", "other"
    yield "argument not executable", gold + "_x", "not_executable"
    yield "case of a key changed", gold.upper(), "enum_case"
    yield "value translated", GERMAN[gold], "value_language"


def _wrong_cities(tool: Tool, gold: str) -> Iterator[tuple[str, Any, str | None]]:
    cities = gold.split(",")
    for index, city in enumerate(cities):
        rest = cities[:index] + cities[index + 1:]
        yield "argument changed", ",".join([*rest, "bielefeld" if city != "bielefeld" else "chemnitz"]), "other"
        yield "city dropped", ",".join(rest), None
        yield "city doubled", ",".join([*cities, city]), "other"
        for value in with_umlauts(city):
            yield "umlaut put back", ",".join([*rest, value]), "umlaut_unresolved"
    yield "argument changed", ";".join(cities), "other"
    yield "argument changed", json.dumps(cities), "other"


def _wrong_numbers(tool: Tool, gold: str) -> Iterator[tuple[str, Any, str | None]]:
    yield "argument changed", gold[:-1] + str((int(gold[-1]) + 1) % 10), "other"
    yield "argument changed", gold[:5], "not_executable"
    yield "argument changed", "0" + gold, None
    yield "argument not executable", "Hauptbahnhof", "not_executable"
    yield "argument not executable", gold + " ", "not_executable"


def _wrong_stops(tool: Tool, gold: str) -> Iterator[tuple[str, Any, str | None]]:
    yield "argument changed", gold + "1", "other"
    yield "argument changed", gold.upper() if gold.upper() != gold else "0" + gold, "other"


_WRONG_STRINGS = {"slug": _wrong_slugs, "resource": _wrong_keys, "type": _wrong_types, "cities": _wrong_cities,
                  "eva": _wrong_numbers, "stop_id": _wrong_stops}


def _counts(task: Task, tools: Toolset, right: set[str]) -> Iterator[Variant]:
    """Calls doubled, added, left out."""
    extra = _allowed(task, "extra_calls", None)[0]
    missing = _allowed(task, "missing_calls" if len(task.expected) > 1 else "no_call", None)[0]
    for call in task.expected:
        doubled = (*task.expected, call)
        if meaning(tools, doubled) in right:
            continue
        yield Variant("call doubled", "native", native_reply(doubled), extra, None, doubled)
        for mode in ("prompt", "native"):
            yield Variant("call doubled", mode, Reply.from_text(tagged_text(doubled)), extra, None, doubled)
    others = tuple(Call(t.name) for t in tools.tools if not t.required)[:1]
    if others and meaning(tools, (*task.expected, *others)) not in right:
        yield from written("call added", (*task.expected, *others), extra)
        yield from written("call added", (*others, *task.expected), extra)
    for index in range(len(task.expected)):
        fewer = task.expected[:index] + task.expected[index + 1:]
        if meaning(tools, fewer) not in right:
            reply = native_reply(fewer) if fewer else Reply.from_text(SENTENCE)
            yield Variant("call left out", "native", reply, missing, None, fewer)


SENTENCE = "Dafür passt keines der Werkzeuge."


def _cuts(task: Task, tools: Toolset, right: set[str]) -> Iterator[Variant]:
    """The gold's text cut at every byte, ended by the model itself or by the token budget."""
    cut = frozenset(("truncated",))
    text = prompted_text(task.expected)
    data = text.encode()
    for length in range(len(data)):
        part = data[:length].decode("utf-8", "ignore")
        yield Variant("call cut at every byte", "prompt", Reply.from_text(part), _cut_outcome(part))
        yield Variant("call cut at every byte", "prompt", Reply.from_text(part, "length"), cut)
    yield from _cut_tags(task.expected)
    for index, call in enumerate(task.expected):
        yield from _cut_entries(task.expected, index, json.dumps(dict(call.arguments), ensure_ascii=False))


def _cut_tags(calls: Sequence[Call]) -> Iterator[Variant]:
    """Up to the last call's closing brace. Between two blocks the calls so far are whole, only fewer."""
    for index in range(len(calls)):
        before = tagged_text(calls[:index]) + "\n" if index else ""
        block = tagged_text(calls[index:index + 1])
        opened = len("<tool_call>")
        unopened = frozenset(("missing_calls",) if index else ("no_call",))
        for length in range(1, block.index("\n</tool_call>")):
            outcomes = unopened if length < opened else frozenset(("malformed_call",))
            yield Variant("call cut at every byte", "native", Reply.from_text(before + block[:length]), outcomes)


def _cut_entries(calls: Sequence[Call], index: int, arguments: str) -> Iterator[Variant]:
    whole = [(c.name, json.dumps(dict(c.arguments), ensure_ascii=False)) for c in calls]
    for length in range(1, len(arguments)):
        pairs = [*whole[:index], (calls[index].name, arguments[:length]), *whole[index + 1:]]
        yield Variant("arguments cut at every byte", "native", native_entries(pairs), frozenset(("malformed_call",)))


def _cut_outcome(part: str) -> frozenset[str]:
    if not part:
        return frozenset(("empty_reply",))
    return frozenset(("malformed_call",) if re.match(r'\{\s*"|\[\s*\{', part) else ("no_call",))


COMPARED = ("air", "charging-status", "demographics", "indicators", "tourism", "unemployment", "weather",
            "weather-warnings")
# A German name of every key and every type: what a model writes that translates the value.
GERMAN: Mapping[str, str] = {
    "accidents": "Unfälle", "air": "Luft", "air-uba": "Luftqualität", "base": "Stammdaten",
    "bathing-water": "Badegewässer", "bike-counts": "Radzählstellen", "business-registrations": "Gewerbeanmeldungen",
    "charging": "Ladesäulen", "charging-status": "Ladestatus", "civil-protection-warnings": "Bevölkerungsschutz",
    "construction": "Baugenehmigungen", "crime-stats": "Kriminalstatistik", "demographics": "Bevölkerung",
    "district-heating": "Fernwärme", "drinking-water": "Trinkwasser", "education": "Bildung",
    "election": "Bundestagswahl", "energy": "Energie", "events": "Veranstaltungen", "fire-danger": "Waldbrandgefahr",
    "flood": "Hochwasser", "fuel-prices": "Spritpreise", "geo": "Geodaten", "government-offices": "Behörden",
    "health": "Gesundheit", "heritage": "Denkmäler", "holidays": "Feiertage", "hospital": "Krankenhaus",
    "hospitals-atlas": "Klinik-Atlas", "icu-live": "Intensivbetten", "indicators": "Indikatoren",
    "insolvencies": "Insolvenzen", "kindergarten": "Kita", "land-values": "Bodenrichtwerte",
    "markets": "Wochenmärkte", "office-wait-times": "Wartezeiten", "overview": "Überblick",
    "parcel-lockers": "Packstationen", "parking": "Parkhäuser", "pharmacy": "Apotheke", "playgrounds": "Spielplätze",
    "police": "Polizei", "pollen-uv": "Pollenflug", "population-density": "Bevölkerungsdichte",
    "post-boxes": "Briefkästen", "post-offices": "Postfilialen", "power-load": "Netzlast",
    "power-price": "Strompreis", "public-tenders": "Ausschreibungen", "public-toilets": "Toiletten",
    "public-wifi": "WLAN", "recycling-centres": "Wertstoffhöfe", "restaurant": "Gaststätte",
    "road-events": "Baustellen", "school": "Schule", "sharing": "Leihräder", "solar": "Sonneneinstrahlung",
    "solar-roofs": "Solardächer", "station-arrivals": "Ankünfte", "station-departures": "Abfahrten",
    "station-facilities": "Aufzüge", "stations": "Bahnhöfe", "tax-rates": "Hebesätze", "tourism": "Tourismus",
    "traffic": "Verkehr", "transit": "Haltestellen", "tree-cadastre": "Baumkataster",
    "unemployment": "Arbeitslosigkeit", "vehicle-registrations": "Zulassungen", "water-level": "Pegelstand",
    "weather": "Wetter", "weather-warnings": "Wetterwarnungen", "webcams": "Kameras",
}
