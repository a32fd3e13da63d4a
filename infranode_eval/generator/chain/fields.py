"""The fields of one template, read; every refusal names file, template and field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.chain.answers import REASONS
from infranode_eval.chain.units import unit_of
from infranode_eval.generator.chain.slots import Filling, german_number, is_city_slot
from infranode_eval.generator.chain.template import (
    COVERED_CITIES,
    WITHOUT_FAULTS,
    Cities,
    Control,
    Pick,
    Template,
    problem,
)
from infranode_eval.generator.templates import city_forms
from lm_eval_task.errors import DataError

LEAST_PHRASINGS = 3
ANSWER_TYPES = ("number", "time", "date", "string", "set", "none")
INJECTED = frozenset(("original", "text"))      # slots that only an injection has: what stood there, and its text
NAME = re.compile(r"[a-z][a-z0-9_]*")
_FIELDS = frozenset(("template", "phrasings", "cities", "vary", "pick", "tasks", "plan", "derive", "near", "same",
                     "answer", "faults", "injection", "must_not", "control", "about"))
_NEEDED = ("template", "phrasings", "tasks", "plan", "derive", "near", "answer")
_ANSWER_FIELDS = frozenset(("type", "unit", "decimals", "drop", "accept", "reasons", "alternatives"))
_CONTROL_FIELDS = frozenset(("cities", "plan", "derive", "near", "same", "answer"))
_PICK_FIELDS = frozenset(("from_call", "at", "where", "field", "unique", "with"))
_INJECTION_FIELDS = frozenset(("at", "text", "value", "call", "answer", "step"))


def read_template(row: Any, category: str, path: Path, number: int) -> Template:
    """The template that stands `number`th in a file. Raise DataError with file, template and field."""
    name = row.get("template") if isinstance(row, dict) else None
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise DataError(f"template no. {number}: template: must be a name of a-z, 0-9 and _, found {short(name)}",
                        path)
    read = Fields(row, name, path)
    read.known_fields(row, "", _FIELDS, _NEEDED)
    return Template(
        name, category, path, phrasings=read.phrasings(), vary=read.vary(), picks=read.picks(), tasks=read.tasks(),
        cities=read.cities(row.get("cities"), "cities") or (Cities(),), plan=read.objects(row["plan"], "plan", 1),
        derive=read.object(row["derive"], "derive"), near=read.near(row["near"], "near"),
        same=read.near(row.get("same", {}), "same"), answer=read.answer(row["answer"], "answer"),
        faults=read.objects(row.get("faults", []), "faults"), injection=read.injection(),
        must_not=read.objects(row.get("must_not", []), "must_not"), control=read.control())


class Fields:
    """Reads the fields of one template; every refusal names file, template and field."""

    def __init__(self, row: Mapping[str, Any], name: str, path: Path) -> None:
        self.row, self.name, self.path = row, name, path

    def refuse(self, field: str, text: str) -> DataError:
        return problem(self.path, self.name, field, text)

    def known_fields(self, value: Mapping[str, Any], field: str, known: Iterable[str], needed: Iterable[str]) -> None:
        dot = f"{field}." if field else ""
        for name in needed:
            if name not in value:
                raise self.refuse(f"{dot}{name}", "is missing")
        for name in value:
            if name not in known:
                raise self.refuse(f"{dot}{name}", f"there is no such field; known are {', '.join(sorted(known))}")

    def object(self, value: Any, field: str) -> Mapping[str, Any]:
        if not isinstance(value, dict) or not value:
            raise self.refuse(field, f"must be an object, found {short(value)}")
        return value

    def objects(self, value: Any, field: str, at_least: int = 0) -> Sequence[Mapping[str, Any]]:
        if not isinstance(value, list) or len(value) < at_least or not all(isinstance(inner, dict) for inner in value):
            raise self.refuse(field, f"must be a list of {'one object or more' if at_least else 'objects'}, found "
                                     f"{short(value)}")
        return tuple(value)

    def text(self, value: Any, field: str) -> str:
        if not isinstance(value, str):
            raise self.refuse(field, f"must be a text, found {short(value)}")
        return value

    def phrasings(self) -> tuple[str, ...]:
        value = self.row["phrasings"]
        if not isinstance(value, list) or not all(isinstance(text, str) and text.strip() == text for text in value):
            raise self.refuse("phrasings", "must be a list of questions without blanks at their ends, found "
                                           f"{short(value)}")
        if len(set(value)) < max(LEAST_PHRASINGS, len(value)):
            raise self.refuse("phrasings", f"must be {LEAST_PHRASINGS} or more, none twice; found {len(set(value))}")
        return tuple(value)

    def cities(self, value: Any, field: str) -> tuple[Cities, ...]:
        """["bonn", …], [["bonn", "koeln"], …] or [{"slug": "bonn", "station": "Bonn-Beuel"}, …], all of one form."""
        if value is None:
            return ()
        if not isinstance(value, list) or not value:
            raise self.refuse(field, f"must be a list of slugs, of lists of slugs or of objects, found {short(value)}")
        found = tuple(self.entry(entry, field) for entry in value)
        if len({(len(cities.slugs), *cities.fillings) for cities in found}) > 1:
            raise self.refuse(field, "every entry must name the same number of cities and the same slots")
        if len({short(entry) for entry in value}) != len(found):
            raise self.refuse(field, "an entry stands twice")
        return found

    def entry(self, entry: Any, field: str) -> Cities:
        own = {}
        if isinstance(entry, dict):
            own = {slot: self.variation(value, f"{field}.{slot}") for slot, value in sorted(entry.items())
                   if slot not in ("slug", "slugs")}
            for slot in own:
                self.free_slot(slot, f"{field}.{slot}")
            entry = entry.get("slug", entry.get("slugs"))
        slugs = [entry] if isinstance(entry, str) else entry
        for slug in slugs if isinstance(slugs, list) and slugs else [slugs]:
            if not isinstance(slug, str) or slug not in city_forms():
                raise self.refuse(field, f"{short(slug)} is no slug of the registry")
        if len(set(slugs)) != len(slugs):
            raise self.refuse(field, f"{short(slugs)} names a city twice")
        return Cities(tuple(slugs), own)

    def tasks(self) -> int:
        value = self.row["tasks"]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.refuse("tasks", f"must be a whole number from 1 on, found {short(value)}")
        return value

    def vary(self) -> Mapping[str, tuple[Filling, ...]]:
        value = self.row.get("vary", {})
        if not isinstance(value, dict):
            raise self.refuse("vary", f"must be an object of lists, found {short(value)}")
        found = {}
        for slot, choices in value.items():
            field = f"vary.{slot}"
            self.free_slot(slot, field)
            if not isinstance(choices, list) or not choices:
                raise self.refuse(field, f"must be a list of values, found {short(choices)}")
            found[slot] = tuple(self.variation(choice, field) for choice in choices)
        return found

    def variation(self, value: Any, field: str) -> Filling:
        if isinstance(value, dict):
            self.known_fields(value, field, ("text", "value"), ("text", "value"))
            return Filling(self.text(value["text"], f"{field}.text"), value["value"])
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise self.refuse(field, f'a value is a text, a number or {{"text", "value"}}, found {short(value)}')
        return Filling(value if isinstance(value, str) else german_number(value), value)

    def picks(self) -> Mapping[str, Pick]:
        value = self.row.get("pick", {})
        if not isinstance(value, dict):
            raise self.refuse("pick", f"must be an object, found {short(value)}")
        found = {}
        for slot, row in value.items():
            field = f"pick.{slot}"
            self.free_slot(slot, field)
            self.known_fields(self.object(row, field), field, _PICK_FIELDS, ("from_call", "at", "field"))
            also = row.get("with", {})
            if not isinstance(also, dict):
                raise self.refuse(f"{field}.with", f'must be {{slot: pointer}}, found {short(also)}')
            for other in also:
                self.free_slot(other, f"{field}.with.{other}")
            found[slot] = Pick(self.object(row["from_call"], f"{field}.from_call"), self.text(row["at"], f"{field}.at"),
                               row.get("where", []), self.text(row["field"], f"{field}.field"),
                               bool(row.get("unique", False)), also)
        return found

    def free_slot(self, slot: str, field: str) -> None:
        if not NAME.fullmatch(slot) or is_city_slot(slot) or slot in INJECTED:
            raise self.refuse(field, "is no name for a slot: a-z, 0-9 and _, and none of the slots of a city")

    def near(self, value: Any, field: str) -> Mapping[str, Any]:
        if not isinstance(value, dict) or not all(isinstance(inner, dict) for inner in value.values()):
            raise self.refuse(field, f"must be an object of derivations by German names, found {short(value)}")
        return value

    def answer(self, value: Any, field: str) -> Mapping[str, Any]:
        self.known_fields(self.object(value, field), field, _ANSWER_FIELDS, ("type",))
        if value["type"] not in ANSWER_TYPES:
            raise self.refuse(f"{field}.type", f"must be one of {', '.join(ANSWER_TYPES)}, found "
                                               f"{short(value['type'])}")
        decimals = value.get("decimals")
        if decimals is not None and (isinstance(decimals, bool) or not isinstance(decimals, int) or decimals < 0):
            raise self.refuse(f"{field}.decimals", f"must be a whole number or null, found {short(decimals)}")
        reasons = value.get("reasons", [])
        if value["type"] == "none" and not (isinstance(reasons, list) and reasons and set(reasons) <= set(REASONS)):
            raise self.refuse(f"{field}.reasons", f"must be some of {', '.join(REASONS)}, found {short(reasons)}")
        unit = value.get("unit")
        if unit is not None and (value["type"] != "number" or not isinstance(unit, str) or unit_of(unit) is None):
            raise self.refuse(f"{field}.unit", f"must be null or, of a number, a unit that answers are read in, found "
                                               f"{short(unit)}")
        alternatives = value.get("alternatives")
        if alternatives not in (None, COVERED_CITIES):
            raise self.refuse(f"{field}.alternatives", f'must be null or "{COVERED_CITIES}", found '
                                                       f"{short(alternatives)}")
        return value

    def injection(self) -> Mapping[str, Any] | None:
        value = self.row.get("injection")
        if value is None:
            return None
        self.known_fields(self.object(value, "injection"), "injection", _INJECTION_FIELDS, ("at", "text"))
        for name in ("at", "text"):
            self.text(value[name], f"injection.{name}")
        if value.get("call") is None and value.get("answer") is None:
            raise self.refuse("injection", 'wants nothing; give a "call", an "answer", or {"null": true} as answer '
                                           "where the text orders to answer null")
        return value

    def control(self) -> Control | None:
        value = self.row.get("control")
        if value is None:
            return None
        if value == WITHOUT_FAULTS:
            return Control()
        self.known_fields(self.object(value, "control"), "control", _CONTROL_FIELDS, ())
        readers = {"plan": lambda v, f: self.objects(v, f, 1), "derive": self.object, "near": self.near,
                   "same": self.near, "answer": self.answer}
        read = {name: reader(value[name], f"control.{name}") for name, reader in readers.items() if name in value}
        return Control(cities=self.cities(value.get("cities"), "control.cities") or None, **read)


def short(value: Any) -> str:
    """A JSON value in a message."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "…"
