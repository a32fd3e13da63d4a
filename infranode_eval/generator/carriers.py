"""Carriers: which of the offered calls hold which datum, and for which cities, found by executing all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from infranode_eval.generator.contents import NOTHING, Naming, names_in
from infranode_eval.infranode import facts
from infranode_eval.infranode.routes import PREFIX
from infranode_eval.infranode.snapshot import Snapshot
from infranode_eval.shipped import read_shipped
from lm_eval_task.datum import Carriers, label_of
from lm_eval_task.records import Call
from lm_eval_task.tools import COMPARE_RESOURCES, NAMED_TOOLS, POI_TYPES, Toolset, request_of

Ask = Callable[[str], Mapping[str, Any]]    # path and query of a request → the decoded body
_TELLING = frozenset(("ok", "no_data", "not_covered"))      # these states say whether there are data
_ABOUT = ("Written by generate.py: datum name -> calls whose answer holds it, found by executing every offered call "
          "against the offline model and declared in infranode_eval/data/datum.json; only: the cities for which a key "
          "answers, where it does not for all.")
_STOPS = 3      # stops a city whose departures are asked; a stop may be silent


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known about contents beside the answers (data/datum.json).

    same_as: sets of names for one and the same datum. declared: label → names that its answer holds in production,
    though the offline model cannot show them. silent lists stand in naming.
    """

    naming: Naming
    same_as: tuple[frozenset[str], ...]
    declared: Mapping[str, frozenset[str]]

    @classmethod
    def read(cls) -> Knowledge:
        value = read_shipped("datum.json")
        kinds = {key.kind: name for name, key in facts.all_keys().items()} | value["kinds"]["renamed"]
        told_apart = {kind: (field, names) for kind, (field, names) in value["kinds"]["told_apart"].items()}
        return cls(Naming(kinds, told_apart, frozenset(value["silent"]["lists"])),
                   tuple(frozenset(row["names"]) for row in value["same_as"]),
                   {row["call"]: frozenset(row["names"]) for row in value["declared"]})

    def names(self, label: str, body: Mapping[str, Any]) -> frozenset[str]:
        """The names in the body of an answer and, if it answers, is switched off or has nothing now, those declared."""
        names = names_in(body.get("data"), self.naming)
        status = body.get("meta", {}).get("source_status")
        if names or status in ("disabled", "no_data"):
            names |= self.declared.get(label, frozenset())
        if status in _TELLING and label.startswith("get_city_resource/"):
            names |= {label.replace("get_city_resource/", "availability.")}
        return names


def offered(tools: Toolset, slug: str) -> Iterator[Call]:
    """Every call about one city; the boards of its main stations and of some stops stand for those that take a number.

    The four keys that share a request with a tool of their own are left out.
    """
    yield from (Call(name, {"slug": slug}) for name in NAMED_TOOLS.values())
    for key in tools.by_name["get_city_resource"].properties["resource"]["enum"]:
        if key not in NAMED_TOOLS:
            yield Call("get_city_resource", {"slug": slug, "resource": key})
    yield from (Call("pois", {"slug": slug, "type": kind}) for kind in sorted(POI_TYPES))
    yield from (Call("compare", {"resource": name, "cities": slug}) for name in sorted(COMPARE_RESOURCES))
    for eva in facts.board_evas(slug):
        yield from (Call(f"station_board_{board}", {"eva": eva}) for board in ("departures", "arrivals"))
    for stop in facts.stops(slug)[:_STOPS]:
        yield Call("transit_departures", {"slug": slug, "stop_id": stop.stop_id})
    yield from (Call("list_cities"), Call("sources"))


def executed(ask: Ask, tools: Toolset, knowledge: Knowledge, slugs: Iterable[str]) -> Carriers:
    """Execute every offered call for every city. Fields of payloads are facts, so one answer that shows one is enough;
    whether a key answers for a city is a fact, too."""
    labels: dict[str, set[str]] = {}
    answering: dict[str, set[str]] = {}
    slugs = tuple(slugs)
    for slug in slugs:
        for call in offered(tools, slug):
            label = label_of(call)
            names = knowledge.names(label, ask(request_of(call) or ""))
            for name in names:
                labels.setdefault(name, set()).add(label)
            if any(not name.startswith("availability.") for name in names):
                answering.setdefault(label, set()).add(slug)
    return _table(labels, {label: frozenset(found) for label, found in answering.items()
                           if label.startswith("get_city_resource/") and len(found) < len(slugs)}, knowledge)


def _table(labels: dict[str, set[str]], only: Mapping[str, frozenset[str]], knowledge: Knowledge) -> Carriers:
    """Equal data and the second spelling of a request added, marks of empty lists taken out."""
    for name in [name for name in labels if name.endswith(NOTHING)]:
        _fill(labels, name.removesuffix(NOTHING), labels.pop(name))
    for same in knowledge.same_as:
        together = set().union(*(labels.get(name, ()) for name in same))
        labels.update((name, set(together)) for name in same)
    aliases = {tool: f"get_city_resource/{key}" for key, tool in NAMED_TOOLS.items()}
    spelled = {name: frozenset(found | {aliases[label] for label in found if label in aliases})
               for name, found in labels.items()}
    return Carriers(spelled, only)


def _fill(labels: dict[str, set[str]], silent: str, found: set[str]) -> None:
    """A list that is empty in some answer shows no fields there, but its fields would stand in it."""
    for name in labels:
        if name.startswith(f"{silent}."):
            labels[name] |= found


def snapshot_carriers(tools: Toolset) -> Carriers:
    """The table of the embedded offline model, all cities; takes two seconds."""
    snapshot = Snapshot()
    return executed(lambda request: snapshot.respond("GET", PREFIX + request).json(), tools, Knowledge.read(),
                    [city.slug for city in facts.cities()])


def text_of(carriers: Carriers) -> str:
    """lm_eval_task/datum.json: one datum and one label a line."""
    def block(rows: Mapping[str, list[str]]) -> str:
        return ",\n".join(f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in rows.items())

    value = carriers.to_json()
    return (f'{{\n "about": {json.dumps(_ABOUT)},\n "carriers": {{\n{block(value["carriers"])}\n }},\n'
            f' "only": {{\n{block(value["only"])}\n }}\n}}\n')


def matches(pattern: str, name: str) -> bool:
    """Shell-like pattern over names; brackets stand for themselves."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))
