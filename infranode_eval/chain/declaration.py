"""What a task declares: steps, derivations over their answers, and faults of its world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infranode_eval.chain.pointers import Condition, parts
from lm_eval_task.errors import DataError
from lm_eval_task.records import Call

RESULTS = ("answered", "failed", "not_covered", "not_found", "any")
SCOPES = ("path", "datum")
EMPTY_STATES = ("no_data", "disabled", "not_ingested")
# What each operation is made of: keys beside the source, and derivations inside.
_OWN_KEYS: dict[str, tuple[str, ...]] = {
    "value": (), "count": (), "sum": (), "mean": (), "max": (), "min": (), "set": (), "none": (),
    "argmax": ("by", "return"), "argmin": ("by", "return"), "nth": ("by", "n", "return"),
    "difference": ("absolute",), "ratio": ("times",), "intersection": (), "minus_set": ()}
_PARTS: dict[str, tuple[str, ...]] = {"difference": ("of", "minus"), "ratio": ("of", "over"),
                                      "intersection": ("of", "and"), "minus_set": ("of", "minus")}
_FIELD_OPS = ("value", "sum", "mean", "max", "min", "set", "none")
OPERATIONS = tuple(_OWN_KEYS)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of the answers of one step or of several, in that order: those at `at` that meet `where`.

    `field`: pointer into the row, "" for the row itself.
    """

    steps: tuple[str, ...]
    at: str = ""
    where: tuple[Condition, ...] = ()
    field: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Source:
        """Raise DataError for a missing step, a pointer or a condition that is none."""
        steps = value.get("from")
        steps = [steps] if isinstance(steps, str) else steps
        if not isinstance(steps, list) or not steps or not all(isinstance(step, str) and step for step in steps):
            raise DataError(f'"from" is the id of a step or a list of ids, found {value.get("from")!r}')
        where = value.get("where", [])
        if not isinstance(where, list):
            raise DataError(f'"where" is a list of conditions, found {where!r}')
        found = cls(tuple(steps), value.get("at", ""), tuple(Condition.from_json(item) for item in where),
                    value.get("field", ""))
        parts(found.at)
        parts(found.field)
        return found

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"from": self.steps[0] if len(self.steps) == 1 else list(self.steps), "at": self.at}
        if self.where:
            row["where"] = [condition.to_json() for condition in self.where]
        if self.field:
            row["field"] = self.field
        return row


@dataclass(frozen=True, slots=True)
class Derivation:
    """An operation over a source, or over the two derivations in `parts` (named of, minus, over, and).

    by, give ("return"): pointers into the row. n: 1 = the first in ascending order. times: factor of a ratio.
    """

    op: str
    source: Source | None = None
    by: str | None = None
    give: str | None = None
    n: int | None = None
    times: int | float = 1
    absolute: bool = False
    parts: Mapping[str, Derivation] = field(default_factory=dict, hash=False)

    @classmethod
    def from_json(cls, value: Any) -> Derivation:
        """Raise DataError for an unknown operation, and for a key that it lacks or does not know."""
        op = value.get("op") if isinstance(value, Mapping) else None
        if op not in OPERATIONS:
            raise DataError(f'a derivation is {{"op": {"|".join(OPERATIONS)}, …}}, found {value!r}')
        names = _PARTS.get(op, ())
        _check_keys(value, op, names)
        inner = {name: cls.from_json(value[name]) for name in names}
        with_source = not names and (op != "none" or "from" in value)
        return cls(op, Source.from_json(value) if with_source else None, value.get("by"), value.get("return"),
                   value.get("n"), value.get("times", 1), value.get("absolute", False), inner)

    @classmethod
    def of(cls, value: Derivation | Mapping[str, Any]) -> Derivation:
        """A derivation as it is, or read from JSON."""
        return value if isinstance(value, Derivation) else cls.from_json(value)

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"op": self.op, **(self.source.to_json() if self.source else {})}
        row |= {name: value for name, value in (("by", self.by), ("n", self.n), ("return", self.give))
                if value is not None}
        row |= {name: inner.to_json() for name, inner in self.parts.items()}
        if self.times != 1:
            row["times"] = self.times
        if self.absolute:
            row["absolute"] = True
        return row

    def leaves(self) -> Iterator[Derivation]:
        """The derivations that read a source themselves, from left to right."""
        if self.source is not None:
            yield self
        for inner in self.parts.values():
            yield from inner.leaves()

    def steps(self) -> tuple[str, ...]:
        """Ids of the steps that are read, each once, at any depth."""
        return tuple(dict.fromkeys(step for leaf in self.leaves() for step in leaf.source.steps))  # type: ignore

    def pointers(self) -> tuple[str, ...]:
        """The pointers into a row that a leaf reads, each once."""
        if self.source is None:
            return ()
        own = [pointer for pointer in (self.by, self.give) if pointer is not None]
        used = [*(condition.pointer for condition in self.source.where), *own]
        if self.op in _FIELD_OPS or not used:
            used.append(self.source.field)
        return tuple(dict.fromkeys(used))


def _check_keys(value: Mapping[str, Any], op: str, names: Sequence[str]) -> None:
    source = () if names else ("from", "at", "where", *(("field",) if op in _FIELD_OPS else ()))
    known = {"op", *source, *names, *_OWN_KEYS[op]}
    needed = {*names, *_OWN_KEYS[op]} - {"absolute", "times"}
    for wrong, said in ((needed - value.keys(), "lacks"), (value.keys() - known, "knows no")):
        if wrong:
            raise DataError(f'operation {op} {said} "{min(wrong)}"')
    for name in ("by", "return"):
        if name in value:
            parts(value[name])
    if "n" in value and not (type(value["n"]) is int and value["n"] >= 1):
        raise DataError(f'"n" is a whole number from 1 on, found {value["n"]!r}')
    if type(value.get("times", 1)) not in (int, float) or not value.get("times", 1):
        raise DataError(f'"times" is a number other than 0, found {value["times"]!r}')
    if not isinstance(value.get("absolute", False), bool):
        raise DataError(f'"absolute" is true or false, found {value["absolute"]!r}')


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan; an argument of its call may be a derivation over earlier steps.

    carry: whether its answer holds the datum; None = if `derive` reads it. result: what its answer is to be.
    """

    id: str
    call: Call
    carry: bool | None = None
    result: str = "answered"

    @classmethod
    def from_json(cls, value: Any) -> Step:
        """Raise DataError unless `value` is {"id", "call"[, "carry", "result"]}."""
        if not isinstance(value, Mapping) or not isinstance(value.get("id"), str) or not value["id"]:
            raise DataError(f'a step is {{"id": str, "call": {{…}}}}, found {value!r}')
        wrong = value.keys() - {"id", "call", "carry", "result"}
        if wrong:
            raise DataError(f'step {value["id"]} knows no "{min(wrong)}"')
        if value.get("carry") not in (None, True, False) or value.get("result", "answered") not in RESULTS:
            raise DataError(f'step {value["id"]}: "carry" is true or false, "result" one of {", ".join(RESULTS)}')
        step = cls(value["id"], Call.from_json(value.get("call")), value.get("carry"), value.get("result", "answered"))
        step.derived()
        return step

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"id": self.id, "call": self.call.to_json()}
        if self.carry is not None:
            row["carry"] = self.carry
        if self.result != "answered":
            row["result"] = self.result
        return row

    def derived(self) -> dict[str, Derivation]:
        """The arguments that are derivations, by name."""
        return {name: Derivation.from_json(value) for name, value in self.call.arguments.items()
                if isinstance(value, Mapping)}

    def carries(self, derivation: Derivation) -> bool:
        """Does the answer of this step hold the datum of the task?"""
        return self.id in derivation.steps() if self.carry is None else self.carry


def steps_from_json(value: Any) -> tuple[Step, ...]:
    """A plan. Raise DataError if it is empty, names a step twice, or reads a step that does not come earlier."""
    if not isinstance(value, list) or not value:
        raise DataError(f"a plan is a list of steps, found {value!r}")
    steps = tuple(Step.from_json(item) for item in value)
    seen: set[str] = set()
    for step in steps:
        check_steps((name for inner in step.derived().values() for name in inner.steps()), seen, f"step {step.id}")
        if step.id in seen:
            raise DataError(f"step {step.id} is declared twice")
        seen.add(step.id)
    return steps


def check_steps(read: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise DataError if a step is read that is not known."""
    known = set(known)
    for name in read:
        if name not in known:
            raise DataError(f'{where} reads step "{name}", which does not come before it')


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong in a world: the answer of `request` becomes a 503, an empty state, or carries another value.

    times: the first so many answers, None = always. scope: "path" = this request only, "datum" = every answer that
    carries the same record. source: name of the upstream in the message of the 503. `at`, `value`: what is set.
    """

    request: str
    status: int | None = None
    source: str | None = None
    source_status: str | None = None
    at: str | None = None
    value: Any = None
    times: int | None = None
    scope: str = "path"

    @classmethod
    def from_json(cls, value: Any) -> Fault:
        """Raise DataError unless it has `req` and exactly one of status, source_status and set."""
        if not isinstance(value, Mapping) or not str(value.get("req", "")).startswith("/"):
            raise DataError(f'a fault is {{"req": "/…", …}}, found {value!r}')
        where = f'fault of {value["req"]}'
        wrong = value.keys() - {"req", "times", "scope", "status", "source", "source_status", "set"}
        if wrong:
            raise DataError(f'{where} knows no "{min(wrong)}"')
        if len({"status", "source_status", "set"} & value.keys()) != 1:
            raise DataError(f'{where} takes exactly one of "status", "source_status" and "set"')
        _check_kind(value, where)
        change = value.get("set") or {}
        return cls(value["req"], value.get("status"), value.get("source"), value.get("source_status"),
                   change.get("at"), change.get("value"), value.get("times"), value.get("scope", "path"))

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"req": self.request}
        if self.times is not None:
            row["times"] = self.times
        if self.scope != "path":
            row["scope"] = self.scope
        if self.status is not None:
            return row | {"status": self.status, "source": self.source}
        if self.source_status is not None:
            return row | {"source_status": self.source_status}
        return row | {"set": {"at": self.at, "value": self.value}}


def _check_kind(value: Mapping[str, Any], where: str) -> None:
    if "status" in value and (value["status"] != 503 or not isinstance(value.get("source"), str)):
        raise DataError(f'{where}: "status" is 503 and comes with "source", the name of the upstream')
    if "status" not in value and "source" in value:
        raise DataError(f'{where}: "source" goes only with "status"')
    if "source_status" in value and value["source_status"] not in EMPTY_STATES:
        raise DataError(f'{where}: "source_status" is one of {", ".join(EMPTY_STATES)}')
    if value.get("scope", "path") not in SCOPES:
        raise DataError(f'{where}: "scope" is one of {", ".join(SCOPES)}')
    times = value.get("times")
    if "times" in value and not (type(times) is int and times >= 1):
        raise DataError(f'{where}: "times" is a whole number from 1 on, found {times!r}')
    if "set" in value:
        if not isinstance(value["set"], Mapping) or value["set"].keys() != {"at", "value"}:
            raise DataError(f'{where}: "set" is {{"at": pointer, "value": …}}')
        if value.get("scope", "path") != "path":
            raise DataError(f'{where}: "set" changes one answer; "scope" must be "path"')
        parts(value["set"]["at"])


def faults_from_json(value: Any) -> tuple[Fault, ...]:
    """Raise DataError unless `value` is a list of faults."""
    if not isinstance(value, list):
        raise DataError(f"faults are a list, found {value!r}")
    return tuple(Fault.from_json(item) for item in value)
