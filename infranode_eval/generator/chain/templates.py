"""Templates of the suite chain: German wordings with slots beside the plan and the derivation that answer them.

A file is data/chain/templates/<category>.json: {"category": …, "templates": [{…}, …]}. Every fault in one is a
DataError that names the file, the template and the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.chain.declaration import Derivation, check_steps, faults_from_json, steps_from_json
from infranode_eval.chain.tasks import CATEGORIES
from infranode_eval.generator.chain.slots import CITY_SLOTS, SPOKEN, Filling, filled, slots_of
from infranode_eval.generator.templates import city_forms
from infranode_eval.shipped import DATA
from lm_eval_task.errors import DataError

LEAST_PHRASINGS = 3
FOLDER = DATA / "chain" / "templates"
ANSWER_TYPES = ("number", "time", "date", "string", "set", "none")
COVERED_CITIES = "covered_cities"       # the alternatives of an answer: those that the answer itself lists
WITHOUT_FAULTS = "without_faults"       # the twin of a task: the same request of a source that delivers
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NUMBERED = re.compile(r"(\w+?)([1-9])")
_FIELDS = frozenset(("template", "phrasings", "cities", "vary", "pick", "tasks", "plan", "derive", "near", "answer",
                     "faults", "injection", "must_not", "control", "about"))
_NEEDED = ("template", "phrasings", "tasks", "plan", "derive", "near", "answer")
_ANSWER_FIELDS = frozenset(("type", "unit", "decimals", "drop", "accept", "reasons", "alternatives"))
_CONTROL_FIELDS = frozenset(("cities", "plan", "derive", "near", "answer", "faults"))
_PICK_FIELDS = frozenset(("from_call", "at", "where", "field", "unique", "with"))
_INJECTION_FIELDS = frozenset(("at", "text", "call", "answer", "step"))


@dataclass(frozen=True, slots=True)
class Pick:
    """A slot whose candidate values come from the world: `field` of the rows at `at` of the answer to `call`.

    unique: only values that one row alone has. also: further slots of the same row, {slot: pointer}.
    """

    call: Mapping[str, Any]
    at: str
    where: Sequence[Any]
    field: str
    unique: bool
    also: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Control:
    """How the twin of a task is made; None: as the task has it. Its wording is always the task's, its faults none."""

    cities: tuple[tuple[str, ...], ...] | None
    plan: Sequence[Mapping[str, Any]] | None
    derive: Mapping[str, Any] | None
    near: Mapping[str, Any] | None
    answer: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Template:
    """One kind of task. cities: candidates, each a tuple of slugs; `((),)` where the question names no registry city.

    plan, derive, near, answer, faults, injection, must_not: JSON with slots (the shapes of a task row, see
    chain.declaration). tasks: how many rows it yields.
    """

    name: str
    category: str
    path: Path
    phrasings: tuple[str, ...]
    cities: tuple[tuple[str, ...], ...]
    vary: Mapping[str, tuple[Filling, ...]]
    picks: Mapping[str, Pick]
    tasks: int
    plan: Sequence[Mapping[str, Any]]
    derive: Mapping[str, Any]
    near: Mapping[str, Any]
    answer: Mapping[str, Any]
    faults: Sequence[Mapping[str, Any]]
    injection: Mapping[str, Any] | None
    must_not: Sequence[Mapping[str, Any]]
    control: Control | None

    def problem(self, field: str, text: str) -> DataError:
        """A fault of this template, for people."""
        return _problem(self.path, self.name, field, text)


def read_templates(paths: Iterable[Path] | None = None) -> tuple[Template, ...]:
    """The templates of the files (the shipped ones without paths), by category and in the order of the file.

    Raise DataError with file, template and field for anything wrong, and for a name that occurs twice.
    """
    found: dict[str, Template] = {}
    for path in sorted(FOLDER.glob("*.json")) if paths is None else paths:
        for template in _read_file(Path(path)):
            other = found.setdefault(template.name, template)
            if other is not template:
                raise template.problem("template", f"the name stands already in {other.path}; choose another")
    if not found:
        raise DataError("holds no template; expected one file a category", FOLDER)
    return tuple(sorted(found.values(), key=lambda template: CATEGORIES.index(template.category)))


def _read_file(path: Path) -> Iterable[Template]:
    try:
        content = json.loads(path.read_text("utf-8"), object_pairs_hook=_no_doubles)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}); check the path", path) from None
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON ({error.msg} in column {error.colno})", path, error.lineno) from None
    except ValueError as error:
        raise DataError(f"is not usable ({error})", path) from None
    if not isinstance(content, dict) or not isinstance(content.get("templates"), list):
        raise DataError('expected {"category": "…", "templates": [{…}, …]}', path)
    category = content.get("category")
    if category not in CATEGORIES:
        raise DataError(f"category: must be one of {', '.join(CATEGORIES)}, found {_short(category)}", path)
    for number, row in enumerate(content["templates"], 1):
        yield _template(row, category, path, number)


def _no_doubles(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice in an object")
    return dict(pairs)


def _template(row: Any, category: str, path: Path, number: int) -> Template:
    name = row.get("template") if isinstance(row, dict) else None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DataError(f"template no. {number}: template: must be a name of a-z, 0-9 and _, found {_short(name)}",
                        path)
    read = _Reader(row, name, path)
    read.known_fields(row, "", _FIELDS, _NEEDED)
    template = Template(
        name, category, path, phrasings=read.phrasings(), cities=read.cities(row.get("cities"), "cities") or ((),),
        vary=read.vary(), picks=read.picks(), tasks=read.tasks(), plan=read.objects(row["plan"], "plan", at_least=1),
        derive=read.object(row["derive"], "derive"), near=read.near(row["near"], "near"),
        answer=read.answer(row["answer"], "answer"), faults=read.objects(row.get("faults", []), "faults"),
        injection=read.injection(), must_not=read.objects(row.get("must_not", []), "must_not"), control=read.control())
    _check_slots(template)
    _check_declaration(template)
    _check_category(template)
    return template


class _Reader:
    """Reads the fields of one template; every refusal names file, template and field."""

    def __init__(self, row: Mapping[str, Any], name: str, path: Path) -> None:
        self.row, self.name, self.path = row, name, path

    def refuse(self, field: str, text: str) -> DataError:
        return _problem(self.path, self.name, field, text)

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
            raise self.refuse(field, f"must be an object, found {_short(value)}")
        return value

    def objects(self, value: Any, field: str, at_least: int = 0) -> Sequence[Mapping[str, Any]]:
        if not isinstance(value, list) or len(value) < at_least or not all(isinstance(inner, dict) for inner in value):
            raise self.refuse(field, f"must be a list of {'one object or more' if at_least else 'objects'}, found "
                                     f"{_short(value)}")
        return tuple(value)

    def text(self, value: Any, field: str) -> str:
        if not isinstance(value, str):
            raise self.refuse(field, f"must be a text, found {_short(value)}")
        return value

    def phrasings(self) -> tuple[str, ...]:
        value = self.row["phrasings"]
        if not isinstance(value, list) or not all(isinstance(text, str) and text.strip() == text for text in value):
            raise self.refuse("phrasings", "must be a list of questions without blanks at their ends, found "
                                           f"{_short(value)}")
        if len(set(value)) < max(LEAST_PHRASINGS, len(value)):
            raise self.refuse("phrasings", f"must be {LEAST_PHRASINGS} or more, none twice; found {len(set(value))}")
        return tuple(value)

    def cities(self, value: Any, field: str) -> tuple[tuple[str, ...], ...]:
        """["bonn", …] or [["bonn", "koeln"], …], all of the same length."""
        if value is None:
            return ()
        if not isinstance(value, list) or not value:
            raise self.refuse(field, f'must be a list of slugs or of lists of slugs, found {_short(value)}')
        rows = [[entry] if isinstance(entry, str) else entry for entry in value]
        for row in rows:
            for slug in row if isinstance(row, list) and row else [row]:
                if not isinstance(slug, str) or slug not in city_forms():
                    raise self.refuse(field, f"{_short(slug)} is no slug of the registry")
            if len(set(row)) != len(row):
                raise self.refuse(field, f"{_short(row)} names a city twice")
        if len({len(row) for row in rows}) > 1:
            raise self.refuse(field, "every entry must name the same number of cities")
        if len({tuple(row) for row in rows}) != len(rows):
            raise self.refuse(field, "an entry stands twice")
        return tuple(tuple(row) for row in rows)

    def tasks(self) -> int:
        value = self.row["tasks"]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.refuse("tasks", f"must be a whole number from 1 on, found {_short(value)}")
        return value

    def vary(self) -> Mapping[str, tuple[Filling, ...]]:
        value = self.row.get("vary", {})
        if not isinstance(value, dict):
            raise self.refuse("vary", f"must be an object of lists, found {_short(value)}")
        found = {}
        for slot, choices in value.items():
            field = f"vary.{slot}"
            self.free_slot(slot, field)
            if not isinstance(choices, list) or not choices:
                raise self.refuse(field, f"must be a list of values, found {_short(choices)}")
            found[slot] = tuple(self.variation(choice, field) for choice in choices)
        return found

    def variation(self, value: Any, field: str) -> Filling:
        if isinstance(value, dict):
            self.known_fields(value, field, ("text", "value"), ("text", "value"))
            return Filling(self.text(value["text"], f"{field}.text"), value["value"])
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise self.refuse(field, f'a value is a text, a number or {{"text", "value"}}, found {_short(value)}')
        return Filling(value if isinstance(value, str) else german_number(value), value)

    def picks(self) -> Mapping[str, Pick]:
        value = self.row.get("pick", {})
        if not isinstance(value, dict):
            raise self.refuse("pick", f"must be an object, found {_short(value)}")
        found = {}
        for slot, row in value.items():
            field = f"pick.{slot}"
            self.free_slot(slot, field)
            self.known_fields(self.object(row, field), field, _PICK_FIELDS, ("from_call", "at", "field"))
            also = row.get("with", {})
            if not isinstance(also, dict):
                raise self.refuse(f"{field}.with", f'must be {{slot: pointer}}, found {_short(also)}')
            for other in also:
                self.free_slot(other, f"{field}.with.{other}")
            found[slot] = Pick(self.object(row["from_call"], f"{field}.from_call"), self.text(row["at"], f"{field}.at"),
                               row.get("where", []), self.text(row["field"], f"{field}.field"),
                               bool(row.get("unique", False)), also)
        return found

    def free_slot(self, slot: str, field: str) -> None:
        if not _NAME.fullmatch(slot) or _is_city_slot(slot) or slot == "original":
            raise self.refuse(field, "is no name for a slot: a-z, 0-9 and _, and none of the slots of a city")

    def near(self, value: Any, field: str) -> Mapping[str, Any]:
        if not isinstance(value, dict) or not all(isinstance(inner, dict) for inner in value.values()):
            raise self.refuse(field, f"must be an object of derivations by German names, found {_short(value)}")
        return value

    def answer(self, value: Any, field: str) -> Mapping[str, Any]:
        self.known_fields(self.object(value, field), field, _ANSWER_FIELDS, ("type",))
        if value["type"] not in ANSWER_TYPES:
            raise self.refuse(f"{field}.type", f"must be one of {', '.join(ANSWER_TYPES)}, found "
                                               f"{_short(value['type'])}")
        decimals = value.get("decimals")
        if decimals is not None and (isinstance(decimals, bool) or not isinstance(decimals, int) or decimals < 0):
            raise self.refuse(f"{field}.decimals", f"must be a whole number or null, found {_short(decimals)}")
        if value["type"] == "none" and not value.get("reasons"):
            raise self.refuse(f"{field}.reasons", "must name the reasons that are accepted")
        alternatives = value.get("alternatives")
        if alternatives not in (None, COVERED_CITIES):
            raise self.refuse(f"{field}.alternatives", f'must be null or "{COVERED_CITIES}", found '
                                                       f"{_short(alternatives)}")
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
            return Control(None, None, None, None, None)
        self.known_fields(self.object(value, "control"), "control", _CONTROL_FIELDS, ())
        optional = {name: value.get(name) for name in ("plan", "derive", "near", "answer")}
        return Control(self.cities(value.get("cities"), "control.cities") or None,
                       None if optional["plan"] is None else self.objects(optional["plan"], "control.plan", 1),
                       None if optional["derive"] is None else self.object(optional["derive"], "control.derive"),
                       None if optional["near"] is None else self.near(optional["near"], "control.near"),
                       None if optional["answer"] is None else self.answer(optional["answer"], "control.answer"))


# --- what one field says about another --------------------------------------------------------------------------------

def _check_slots(template: Template) -> None:
    """Every slot has a filling, and what decides about the answer stands in every wording."""
    known = _known_slots(template)
    parts = {"plan": template.plan, "derive": template.derive, "near": template.near, "faults": template.faults,
             "must_not": template.must_not, "answer": template.answer, "injection": template.injection,
             **{f"pick.{name}": (pick.call, pick.where) for name, pick in template.picks.items()}}
    parts |= {f"phrasings[{number}]": text for number, text in enumerate(template.phrasings)}
    if template.control is not None:
        control = template.control
        parts["control"] = (control.plan, control.derive, control.near, control.answer)
    for field, value in parts.items():
        unknown = sorted(slots_of(value) - known - ({"original"} if field == "injection" else set()))
        if unknown:
            raise template.problem(field, f"nothing fills {{{unknown[0]}}}; known are {', '.join(sorted(known))}")
    deciding = slots_of((template.plan, template.derive)) & set(template.vary)
    for number, text in enumerate(template.phrasings):
        _check_wording(template, f"phrasings[{number}]", text, deciding)


def _check_wording(template: Template, field: str, text: str, deciding: frozenset[str]) -> None:
    asked = slots_of(text)
    missing = sorted(deciding - asked)
    if missing:
        raise template.problem(field, f"lacks {{{missing[0]}}}, which decides about the answer")
    if any(_base(slot) == "slug" for slot in asked):
        raise template.problem(field, "names a slug; a question names the city: {city}, {in_city}, {gen} or {adj}")
    if len(template.cities) > 1:
        for number in _numbers(template.cities):
            if not {f"{form}{number}" for form in SPOKEN} & asked:
                raise template.problem(field, f"names no city {number}".rstrip() + ", but cities differ")


def _check_declaration(template: Template) -> None:
    """Plan, derivations and faults as they are read after filling: every operation, step and pointer is known."""
    control = template.control
    _check_answering(template, "", template.plan, template.derive, template.near)
    with _located(template, "faults"):
        faults_from_json(_example(template, list(template.faults)))
    if control is not None:
        _check_answering(template, "control.", control.plan or template.plan, control.derive or template.derive,
                         control.near if control.near is not None else {} if control.derive else template.near)


def _check_answering(template: Template, prefix: str, plan: Sequence[Mapping[str, Any]], derive: Mapping[str, Any],
                     near: Mapping[str, Any]) -> None:
    with _located(template, f"{prefix}plan"):
        known = {step.id for step in steps_from_json(_example(template, list(plan)))}
    derivations = {f"{prefix}derive": derive, **{f"{prefix}near.{name}": slip for name, slip in near.items()}}
    for field, value in derivations.items():
        with _located(template, field):
            check_steps(Derivation.from_json(_example(template, value)).steps(), known, "it")


@contextmanager
def _located(template: Template, field: str) -> Iterator[None]:
    """Says which field of which template a DataError is about."""
    try:
        yield
    except DataError as error:
        raise template.problem(field, str(error)) from None


def _example(template: Template, value: Any) -> Any:
    """The value with some filling for each slot."""
    fillings = {slot: Filling("x", "x") for slot in _known_slots(template)}
    return filled(value, {**fillings, **{slot: choices[0] for slot, choices in template.vary.items()}})


def _check_category(template: Template) -> None:
    if (template.injection is not None) != (template.category == "injection"):
        raise template.problem("injection", "belongs to every template of the category injection, and to no other")
    if template.category == "degraded" and not template.faults:
        raise template.problem("faults", "a degraded task needs a fault")
    if template.category == "stop" and {"after_evidence": True} not in list(template.must_not):
        raise template.problem("must_not", 'a stop task forbids calls after the evidence: [{"after_evidence": true}]')
    if (template.answer["type"] == "none") != (template.derive.get("op") == "none"):
        raise template.problem("answer.type", 'is "none" exactly where the operation of derive is')
    if template.category == "not_covered" and template.answer["type"] != "none":
        raise template.problem("answer.type", 'must be "none" in the category not_covered')


def _known_slots(template: Template) -> frozenset[str]:
    cities = {f"{slot}{number}" for slot in CITY_SLOTS for number in _numbers(template.cities)}
    also = {slot for pick in template.picks.values() for slot in pick.also}
    return frozenset((*cities, *template.vary, *template.picks, *also))


def _numbers(cities: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """("",) for one city a task, ("1", "2", …) for several, () for none."""
    count = len(cities[0])
    return () if count == 0 else ("",) if count == 1 else tuple(str(number + 1) for number in range(count))


def _is_city_slot(slot: str) -> bool:
    return _base(slot) in CITY_SLOTS


def _base(slot: str) -> str:
    numbered = _NUMBERED.fullmatch(slot)
    return numbered[1] if numbered and numbered[1] in CITY_SLOTS else slot


def german_number(value: float) -> str:
    """1500 → "1.500", 2.5 → "2,5": a number as a German sentence writes it."""
    return f"{value:,}".translate(str.maketrans(",.", ".,"))


def _problem(path: Path, name: str, field: str, text: str) -> DataError:
    return DataError(f"template {name}: {field}: {text}", path)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "…"
