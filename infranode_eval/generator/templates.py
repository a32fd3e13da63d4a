"""Phrasings: German questions with slots beside the calls they mean, and how a city, station or stop fills them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from infranode_eval.shipped import DATA, read_shipped
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call

CATEGORIES = ("routing_broad", "routing_named", "resource_key", "slug_resolution", "poi_type", "compare_multi",
              "not_covered", "two_step", "routing_rest", "two_calls", "availability", "source_off")
BOARDS = ("departures", "arrivals")
_SLOT = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True)
class Phrasing:
    """One question with slots. A call template is {"name", "arguments"} with slots in the argument values.

    cities: only these (None: all); cities_not: never these; cities_uncovered: the only ones for not_covered tasks.
    topic: the key whose catalogue entry answers (availability). board: which board follows the look-up (two_step).
    water: the river whose gauge the question names. wave: the wave of tasks that may use it first. datum: names of the
    data that the answer has to contain.
    """

    id: str
    category: str
    register: str
    text: str
    calls: tuple[Mapping[str, Any], ...]
    datum: tuple[str, ...]
    accept: tuple[tuple[Mapping[str, Any], ...], ...] = ()
    cities: tuple[str, ...] | None = None
    cities_not: tuple[str, ...] = ()
    cities_uncovered: tuple[str, ...] | None = None
    topic: str | None = None
    board: str | None = None
    water: str | None = None
    wave: int = 1

    @classmethod
    def from_json(cls, row: Any) -> Phrasing:
        """Raise DataError if a field is missing or wrong."""
        try:
            calls = tuple(row["calls"]) if "calls" in row else (row["call"],)
            uncovered = row.get("cities_uncovered")
            found = cls(row["id"], row["category"], row["register"], row["text"], calls, tuple(row["datum"]),
                        tuple(tuple(alternative) for alternative in row["accept"]),
                        None if row["cities"] is None else tuple(row["cities"]), tuple(row.get("cities_not", ())),
                        None if uncovered is None else tuple(uncovered), row.get("topic"), row.get("board"),
                        row.get("water"), row.get("wave", 1))
        except (KeyError, TypeError) as error:
            raise DataError(f"phrasing {row.get('id') if isinstance(row, dict) else row!r}: {error!r} is missing or "
                            "wrong; expected id, category, register, text, call or calls, datum, accept, cities"
                            ) from None
        if found.category not in CATEGORIES:
            raise DataError(f"phrasing {found.id}: category {found.category!r} does not exist")
        if found.board not in (None, *BOARDS):
            raise DataError(f"phrasing {found.id}: board must be departures or arrivals")
        if not isinstance(row["datum"], list) or not found.datum:
            raise DataError(f"phrasing {found.id}: datum must list what the answer has to contain, "
                            'as ["weather.temperature_c"]')
        return found

    @property
    def slots(self) -> frozenset[str]:
        """The slots of the text and of every call."""
        templates = [self.text, *(str(value) for call in (*self.calls, *sum(self.accept, ()))
                                  for value in call["arguments"].values())]
        return frozenset(slot for template in templates for slot in _SLOT.findall(template))

    @property
    def city_count(self) -> int:
        """How many cities fill it: 0, 1, 2 or 3."""
        numbers = [int(slot[-1]) for slot in self.slots if slot[-1] in "123"]
        if numbers:
            return max(numbers)
        return int(bool(self.slots & {"city", "in_city", "gen", "adj", "slug"}) or self._fixed_slug is not None)

    @property
    def _fixed_slug(self) -> str | None:
        slug = self.calls[0]["arguments"].get("slug", "{slug}")
        return None if slug == "{slug}" else slug

    @property
    def key(self) -> str | None:
        """The resource key of a single get_city_resource call."""
        only = self.calls[0]
        return only["arguments"]["resource"] if len(self.calls) == 1 and only["name"] == "get_city_resource" else None

    @property
    def answer(self) -> str:
        """What the first call asks for, whatever the city: "get_city_resource charging", "pois school", "weather"."""
        arguments = self.calls[0]["arguments"]
        return " ".join(filter(None, (self.calls[0]["name"], arguments.get("resource"), arguments.get("type"))))

    def question(self, values: Mapping[str, str]) -> str:
        """The text with its slots filled; KeyError names a slot without a value."""
        return _SLOT.sub(lambda match: values[match[1]], self.text)

    def expected(self, values: Mapping[str, str]) -> tuple[Call, ...]:
        return tuple(_filled(call, values) for call in self.calls)

    def accepted(self, values: Mapping[str, str]) -> tuple[tuple[Call, ...], ...]:
        return tuple(tuple(_filled(call, values) for call in alternative) for alternative in self.accept)


def _filled(template: Mapping[str, Any], values: Mapping[str, str]) -> Call:
    arguments = {name: _SLOT.sub(lambda match: values[match[1]], value)
                 for name, value in template["arguments"].items()}
    return Call(template["name"], arguments)


@dataclass(frozen=True, slots=True)
class CityForms:
    """How German writes a city: name in running text, genitive and adjective (None where no form is safe)."""

    slug: str
    name: str
    genitive: str | None
    adjective: str | None

    def values(self, number: int | None = None) -> dict[str, str]:
        """Slot values; with a number the slots of a question about several cities (city1, gen1, slug1)."""
        forms = {"slug": self.slug, "city": self.name, "in_city": f"in {self.name}", "gen": self.genitive,
                 "adj": self.adjective}
        suffix = "" if number is None else str(number)
        return {slot + suffix: form for slot, form in forms.items() if form is not None}


@dataclass(frozen=True, slots=True)
class Place:
    """A named station (with its EVA number) or a named stop of local transport (without)."""

    slug: str
    name: str
    eva: str | None = None


@cache
def phrasings() -> Mapping[str, Phrasing]:
    """Every phrasing by id, in the order of the ids. Raise DataError for a broken file or an id that occurs twice."""
    paths = sorted((DATA / "phrasings").glob("*.json"))
    return _by_id((path, read_shipped(f"phrasings/{path.name}")) for path in paths)


def read_phrasings(path: Path) -> Mapping[str, Phrasing]:
    """The phrasings of a file of one's own, in the form of data/phrasings/*.json. Raise DataError with the file."""
    try:
        content = json.loads(path.read_text("utf-8"))
        return _by_id([(path, content)])
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}); check the path", path) from None
    except (ValueError, TypeError, KeyError):
        raise DataError('is no file of phrasings; expected {"phrasings": [{"id", "category", …}, …]}', path) from None


def _by_id(files: Iterable[tuple[Path, Any]]) -> Mapping[str, Phrasing]:
    found: dict[str, Phrasing] = {}
    for path, content in files:
        for row in content["phrasings"]:
            phrasing = Phrasing.from_json(row)
            if phrasing.id in found:
                raise DataError(f"phrasing {phrasing.id} occurs twice", path)
            found[phrasing.id] = phrasing
    return {name: found[name] for name in sorted(found, key=natural)}


@cache
def city_forms() -> Mapping[str, CityForms]:
    """The forms of the 84 cities by slug."""
    rows = read_shipped("city_forms.json")["cities"]
    return {slug: CityForms(slug, row["name"], row["genitive"], row["adjective"]) for slug, row in rows.items()}


@cache
def states() -> tuple[str, ...]:
    """Federal states with two cities or more that may follow a bare preposition."""
    return tuple(read_shipped("city_forms.json")["states"])


@cache
def places(kind: str) -> tuple[Place, ...]:
    """The places of a kind: "two_step" and "board" are stations, "stops" are stops of local transport."""
    return tuple(Place(row["slug"], row.get("station") or row["stop"], row.get("eva"))
                 for row in read_shipped("two_step_stations.json")[kind])


@cache
def core_rows() -> tuple[Mapping[str, Any], ...]:
    """The hand-chosen core: task_id, category, phrasing, and slugs or place; `twin` numbers pairs."""
    return tuple(read_shipped("core.json")["tasks"])


def core_version() -> str:
    """The version that the core set carries, e.g. "core-2026-12"."""
    return read_shipped("core.json")["version"]


def natural(name: str) -> tuple[str, int, str]:
    """A sort key under which charging-2 comes before charging-10."""
    stem, _, number = name.rpartition("-")
    return (stem, int(number), "") if number.isdigit() else (name, 0, "")


def by_category(found: Iterable[Phrasing], category: str) -> tuple[Phrasing, ...]:
    return tuple(phrasing for phrasing in found if phrasing.category == category)
