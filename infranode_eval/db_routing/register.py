"""The concept register: what each database knows, how German speakers say it, who lacks what.

Source of the rules: specification, db_routing_panel, section 3. Written in parts (register/shared.json for concepts of
several databases, register/<database>.json for the rest); the whole is built as register.json.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.folding import phrase, words
from infranode_eval.db_routing.textfiles import read_json
from lm_eval_task.errors import DataError

LEAST_WHOLE, LEAST_START, LEAST_INSIDE = 2, 4, 5      # letters of a cue: as a whole word, at its start, inside it
_ENDINGS = ("", "e", "n", "s", "en", "er", "es")


@dataclass(frozen=True, slots=True)
class Cue:
    """One way to say a concept: a piece of a word, "=" + a whole word, or a phrase with blanks. key: its words."""

    text: str
    key: str

    @classmethod
    def of(cls, text: str) -> Cue:
        return cls(text, " ".join(words(text)))

    @property
    def problem(self) -> str | None:
        """Why the cue would match by accident; None if it would not."""
        whole = self.text.startswith("=")
        least = LEAST_WHOLE if whole else LEAST_START
        if " " in self.key:
            return "is no whole word and a phrase at once" if whole else None
        return f"has fewer than {least} letters" if len(self.key) < least else None

    def is_in(self, word: str) -> bool:
        """Does the folded word say it? A cue of four letters counts at the start only, from five on anywhere."""
        if self.text.startswith("="):
            return word.startswith(self.key) and word[len(self.key):] in _ENDINGS
        return self.key in word if len(self.key) >= LEAST_INSIDE else word.startswith(self.key)


@dataclass(frozen=True)
class Concept:
    """One thing that a database can know. cues: how people say it; excluded ("not"): what only looks like it."""

    name: str
    german: str
    cues: tuple[Cue, ...]
    excluded: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, name: str, value: Any) -> Concept:
        """Raise DataError unless `value` is {"de", "cues"[, "not"]} and every cue is long enough."""
        if not isinstance(value, Mapping) or not {"de", "cues"} <= value.keys() <= {"de", "cues", "not"}:
            raise DataError(f'concept {name} is {{"de": str, "cues": […][, "not": […]]}}, found {value!r}')
        concept = cls(name, value["de"], tuple(map(Cue.of, value["cues"])), tuple(value.get("not", ())))
        for cue in concept.cues:
            if cue.problem:
                raise DataError(f'concept {name}: the cue "{cue.text}" {cue.problem}; say it longer or as "=word"')
        return concept

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"de": self.german, "cues": [cue.text for cue in self.cues]}
        return row | ({"not": list(self.excluded)} if self.excluded else {})

    @cached_property
    def _barred(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        keys = [" ".join(words(text)) for text in self.excluded]
        return tuple(k for k in keys if " " not in k), tuple(k for k in keys if " " in k)

    @cached_property
    def _of_word(self) -> dict[str, bool]:
        return {}

    def _says(self, word: str) -> bool:
        known = self._of_word
        if word not in known:
            known[word] = not any(part in word for part in self._barred[0]) \
                and any(cue.is_in(word) for cue in self.cues if " " not in cue.key)
        return known[word]

    def is_voiced(self, text: str) -> bool:
        """Does the text say it? A word that holds a string of `excluded` does not count, nor does such a phrase."""
        said = phrase(text)
        for part in self._barred[1]:
            said = said.replace(f" {part}", " ")
        if any(f" {cue.key}" in said for cue in self.cues if " " in cue.key):
            return True
        return any(self._says(word) for word in said.split())


@dataclass(frozen=True, slots=True)
class Coverage:
    """For which days and places a database knows a concept; None and () = no bound."""

    first: str | None = None
    last: str | None = None
    places: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Coverage:
        return cls(value.get("from"), value.get("to"), tuple(value.get("places", ())))

    def to_json(self) -> dict[str, Any]:
        row = {"from": self.first, "to": self.last, "places": list(self.places) or None}
        return {key: value for key, value in row.items() if value is not None}

    def holds_time(self, first: str, last: str) -> bool:
        """Do ISO texts from `first` to `last` (a year, a month, a day) lie inside?"""
        return (self.first is None or first >= self.first[:len(first)]) \
            and (self.last is None or last <= self.last[:len(last)])


@dataclass(frozen=True, slots=True)
class Domain:
    """What one database knows. bridges: databases of another cluster that were made alike on purpose."""

    name: str
    cluster: str | None
    concepts: Mapping[str, Coverage]
    bridges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Register:
    """All concepts and all databases, by name."""

    concepts: Mapping[str, Concept]
    databases: Mapping[str, Domain]

    def lacking(self, database: str, concepts: Iterable[str]) -> list[str]:
        """The concepts that the database does not know, sorted."""
        return sorted(set(concepts) - self.databases[database].concepts.keys())

    def knows(self, database: str, concepts: Iterable[str]) -> bool:
        return not self.lacking(database, concepts)

    def others(self, database: str) -> list[str]:
        return [name for name in self.databases if name != database]

    def mates(self, database: str) -> list[str]:
        """The other databases of the cluster; none for an isolated one."""
        cluster = self.databases[database].cluster
        return [n for n in self.others(database) if cluster is not None and self.databases[n].cluster == cluster]

    def sisters(self, database: str) -> list[str]:
        """Mates, and the databases that it is bridged to."""
        return [*self.mates(database), *self.databases[database].bridges]

    def group(self, database: str) -> str:
        """The cluster, or the database itself if it is isolated."""
        return self.databases[database].cluster or database

    def granting(self, database: str, concepts: Collection[str]) -> Register:
        """The register in which the database knows these concepts, too."""
        domain = self.databases[database]
        wider = replace(domain, concepts={**domain.concepts, **dict.fromkeys(concepts, Coverage())})
        return Register(self.concepts, {**self.databases, database: wider})

    def to_json(self, columns: Mapping[str, Mapping[str, list[str]]]) -> dict[str, Any]:
        """As register.json has it. columns: per database, concept → "table.column" of its schema."""
        known = {name: {"cluster": domain.cluster, "bridges": list(domain.bridges),
                        "concepts": {concept: {"columns": columns.get(name, {}).get(concept, []), **cover.to_json()}
                                     for concept, cover in sorted(domain.concepts.items())}}
                 for name, domain in self.databases.items()}
        return {"concepts": {name: concept.to_json() for name, concept in sorted(self.concepts.items())},
                "databases": known}


def read_register(folder: Path, databases: Iterable[str]) -> Register:
    """The parts in `folder` put together. Raise DataError for an id that two parts define, or that none does."""
    shared = read_json(folder / "shared.json")["concepts"]
    concepts = {name: Concept.from_json(name, value) for name, value in shared.items()}
    domains = {}
    for database in databases:
        path = folder / f"{database}.json"
        part = read_json(path)
        for name, value in part["concepts"].items():
            if name in concepts:
                raise DataError(f'the concept "{name}" is defined twice; ids are global', path)
            concepts[name] = Concept.from_json(name, value)
        domains[database] = Domain(database, part["cluster"], _coverages(part, shared, path), tuple(part["bridges"]))
    for problem in _asymmetric(domains):
        raise DataError(problem, folder)
    return Register(concepts, domains)


def _coverages(part: Mapping[str, Any], shared: Mapping[str, Any], path: Path) -> dict[str, Coverage]:
    for name in part["uses"]:
        if name not in shared:
            raise DataError(f'"uses" names "{name}", which shared.json does not define', path)
    values = {**part["uses"], **{name: {} for name in part["concepts"]}}
    return {name: Coverage.from_json(value) for name, value in values.items()}


def _asymmetric(domains: Mapping[str, Domain]) -> Iterator[str]:
    for name, domain in domains.items():
        for other in domain.bridges:
            if other in domains and name not in domains[other].bridges:
                yield f"{name} names the bridge {other}, which does not name it back"
