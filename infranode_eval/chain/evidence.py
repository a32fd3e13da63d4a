"""Patterns of evidence: what a play must show, whether it did, and the pattern that follows from a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from infranode_eval.chain import carriers, pointers
from infranode_eval.chain.carriers import Candidate, Place
from infranode_eval.chain.declaration import RESULTS, Derivation, Fault, Step
from infranode_eval.chain.derive import Executed, Refused, bodies_of, selected_rows, source_rows, value_of
from infranode_eval.chain.pointers import MISSING, Condition
from infranode_eval.chain.responses import Response
from infranode_eval.chain.worlds import Session, World
from infranode_eval.infranode import facts
from lm_eval_task.errors import DataError
from lm_eval_task.match import json_equal
from lm_eval_task.records import canonical_json

Pattern = Mapping[str, Any]
_ATOM_KEYS = {"req", "resource", "city", "highlight", "result"}
_IDENTITY = "/stop_id"      # what makes a train on a board unlike any other


def satisfied(pattern: Pattern, turns: Sequence[Sequence[Response]]) -> int | None:
    """The 0-based turn in which a play met the pattern, None if it never did.

    turns: the answers of each turn. atom: the earliest matching turn; all: the latest of its parts; any: the earliest;
    seq: each part in a later turn than the one before. Source: the specification of the suite, section 3.
    Raise DataError for what is no pattern.
    """
    return _turn(pattern, turns, 0)


def _turn(pattern: Pattern, turns: Sequence[Sequence[Response]], start: int) -> int | None:
    """As `satisfied`, over the turns from `start` on."""
    kind, inner = _taken_apart(pattern)
    if kind == "atom":
        return next((index for index in range(start, len(turns))
                     if any(matches(pattern, response) for response in turns[index])), None)
    if kind == "seq":
        return _in_sequence(inner, turns, start)
    found = [_turn(part, turns, start) for part in inner]
    met = [turn for turn in found if turn is not None]
    if kind == "any":
        return min(met, default=None)
    return max(met) if len(met) == len(inner) else None


def _in_sequence(inner: Sequence[Pattern], turns: Sequence[Sequence[Response]], start: int) -> int | None:
    turn: int | None = None
    for part in inner:
        turn = _turn(part, turns, start)
        if turn is None:
            return None
        start = turn + 1
    return turn


def _taken_apart(pattern: Any) -> tuple[str, Sequence[Pattern]]:
    if isinstance(pattern, Mapping):
        if "req" in pattern:
            return "atom", ()
        for kind in ("all", "any", "seq"):
            inner = pattern.get(kind)
            if len(pattern) == 1 and isinstance(inner, Sequence) and not isinstance(inner, str) and inner:
                return kind, inner
    raise DataError(f'a pattern is {{"req": "/…", …}} or {{"all"|"any"|"seq": [one or more]}}, found {pattern!r}')


def check_pattern(pattern: Any) -> None:
    """Raise DataError, with the part that is wrong, for what is no pattern."""
    for atom in atoms_of(pattern):
        wrong = atom.keys() - _ATOM_KEYS
        if wrong or not str(atom["req"]).startswith("/") or atom.get("result", "answered") not in RESULTS:
            raise DataError(f'an atom is {{"req": "/…"[, "resource", "city", "highlight", "result"]}}, found {atom!r}')
        if (atom["req"] == "/compare") is not ("resource" in atom and "city" in atom):
            raise DataError(f'"resource" and "city" go with the request /compare, found {atom!r}')


def atoms_of(pattern: Any) -> Iterator[Mapping[str, Any]]:
    """All atoms of a pattern, from left to right. Raise DataError for what is no pattern."""
    kind, inner = _taken_apart(pattern)
    if kind == "atom":
        yield pattern
    for part in inner:
        yield from atoms_of(part)


def matches(atom: Pattern, response: Response) -> bool:
    """Is this the answer that an atom asks for?

    `req` ending in "/*" stands for every request below, `resource` "*" for every one. A row of /compare and a highlight
    are judged by their own source_status; an answer that failed as a whole fails for each city that it was asked for.
    """
    state = _state(atom, response)
    result = atom.get("result", "answered")
    return state is not None and (result == "any" or result == state or result == "failed" and state != "answered")


def _state(atom: Pattern, response: Response) -> str | None:
    """answered, not_covered, not_found or failed; None for another request."""
    request = atom["req"]
    if request == "/compare":
        return _compare_state(atom, response)
    if response.request != request and not (request.endswith("/*") and response.request.startswith(request[:-1])):
        return None
    if response.answered and "highlight" in atom:
        row = pointers.at(response.body, f"/data/highlights/{atom['highlight']}")
        return _row_state(row) if isinstance(row, Mapping) else "failed"
    return response.result


def _row_state(row: Mapping[str, Any]) -> str:
    status = row.get("source_status")
    if status in (None, "ok"):
        return "answered" if row.get("data") is not None else "failed"
    return status if status in ("not_covered", "not_found") else "failed"


def _compare_state(atom: Pattern, response: Response) -> str | None:
    asked = carriers.asked_by(response.request)
    if asked.kind != "compare" or atom["resource"] not in (asked.key, "*") or atom["city"] not in asked.cities:
        return None
    if not response.answered:
        return "failed"
    rows = pointers.at(response.body, "/data")
    row = next((row for row in rows if row.get("city") == atom["city"]), None) if isinstance(rows, list) else None
    return None if row is None else _row_state(row)


# What follows from a plan


@dataclass(frozen=True, slots=True)
class _Unit:
    """One part of a step's answer that is one datum: the answer, or a row of a list.

    candidates: where else it may stand. body: the step's body as it would be with another record in that place.
    """

    step: str
    own: Place
    candidates: tuple[Candidate, ...]
    body: Callable[[Any], Any]


def must_call_of(steps: Sequence[Step], executed: Sequence[Executed], world: World,
                 derivation: Derivation | Mapping[str, Any], faults: Sequence[Fault] = ()) -> dict[str, Any]:
    """The evidence that a play must show: for each datum that the derivation reads, `any` over its proven carriers.

    A carrier is proven by looking into the world's answer: the rows that the answer stands on must be there, equal in
    every field that the derivation reads. Faults that strike always hold while proving; one with `times` passes.
    For the operation none: what was asked for failed, and so does every carrier.
    Raise Refused where a step has not the result that it declares, or where a carrier of a missing datum answers.
    """
    derivation = Derivation.of(derivation)
    proof = _Proof(Session(world, [fault for fault in faults if fault.times is None]), Session(world), derivation,
                   bodies_of(executed))
    found: list[Pattern] = []
    for step, done in zip(steps, executed, strict=True):
        if step.carries(derivation):
            found += proof.missing(step, done) if derivation.op == "none" else proof.present(step, done)
    if not found:
        raise Refused("no step carries a datum")
    return _joined("all", found)


def _joined(kind: str, parts: Iterable[Pattern]) -> dict[str, Any]:
    """One pattern of several, each once; a single one stays itself."""
    flat = [inner for part in parts for inner in part.get(kind, [part])]
    distinct = list({canonical_json(part): part for part in flat}.values())
    return dict(distinct[0]) if len(distinct) == 1 else {kind: distinct}


@dataclass(frozen=True, slots=True)
class _Proof:
    """What the proof of carriers looks at: the world with and without its faults, the derivation, the gold's bodies."""

    session: Session
    clean: Session
    derivation: Derivation
    bodies: Mapping[str, Any]

    def present(self, step: Step, done: Executed) -> Iterator[Pattern]:
        """The evidence for the data of one step."""
        leaves = [leaf for leaf in self.derivation.leaves() if leaf.source and step.id in leaf.source.steps]
        for leaf in leaves or (None,):
            for unit in _units(done, leaf):
                if not matches(unit.own.atom(step.result), done.response):
                    raise _not_as_declared(step, done)
                others = [candidate.place.atom() for candidate in unit.candidates
                          if step.result == "answered" and self._carries(self.session, unit, candidate, leaf)]
                yield _joined("any", [unit.own.atom(step.result), *others])

    def missing(self, step: Step, done: Executed) -> Iterator[Pattern]:
        """The evidence that the datum of one step is not to be had."""
        if step.result in ("answered", "any"):
            yield from self.present(step, done)
            return
        leaf = self.derivation if self.derivation.source and step.id in self.derivation.source.steps else None
        sound = replace(done, response=self.clean.get(done.request))    # where the datum is, should a fault hide it
        units = [unit for unit in _units(sound, leaf) if matches(unit.own.atom(step.result), done.response)]
        if not units:
            raise _not_as_declared(step, done)
        proof = replace(self, bodies={**self.bodies, step.id: sound.response.body})
        for unit in units:
            yield _joined("any", [unit.own.atom(step.result), *proof.failing(unit, step.result, leaf),
                                  *_unknown_city(unit, step.result), *self._uncovered(unit, step.result)])

    def failing(self, unit: _Unit, result: str, leaf: Derivation | None) -> Iterator[Pattern]:
        """Carriers of a missing datum that fail in the same way. Raise Refused where one answers."""
        for candidate in unit.candidates:
            place = candidate.place
            response = self.session.get(place.request)
            if matches(place.atom(), response):
                if leaf is None and candidate.part and place.look(response.body) is not MISSING:
                    raise Refused(f"say which datum is missing: {place.request} holds a part of the record")
                if self._carries(self.session, unit, candidate, leaf):
                    raise Refused(f"the datum is there: {place.request} answers")
            elif matches(place.atom(result), response) and self._carries(self.clean, unit, candidate, leaf):
                yield place.atom(result)

    def _uncovered(self, unit: _Unit, result: str) -> Iterator[Pattern]:
        """The overview says as well what is not covered, in its catalogue."""
        asked = carriers.asked_by(unit.own.request)
        if result != "not_covered" or asked.kind != "record":
            return
        overview = self.session.get(f"/cities/{asked.slug}/overview")
        row = Place(overview.request, "/data/data_types", (Condition("/type", "==", asked.key),)).look(overview.body)
        if pointers.at(row, "/available") is False:
            yield {"req": overview.request}

    def _carries(self, session: Session, unit: _Unit, candidate: Candidate, leaf: Derivation | None) -> bool:
        """Does the place hold, in this session, what the leaf reads (the whole record without one)?"""
        response = session.get(candidate.place.request)
        if not matches(candidate.place.atom(), response):
            return False
        found = candidate.place.look(response.body)
        record = MISSING if found is MISSING else candidate.shaped(found)
        if record is MISSING:
            return False
        if leaf is None:
            return not candidate.part and _same_record(record, unit.own.look(self.bodies[unit.step]))
        return _same_rows(leaf, self.bodies, {**self.bodies, unit.step: unit.body(record)}, candidate.cut)


def _not_as_declared(step: Step, done: Executed) -> Refused:
    return Refused(f"step {step.id} is not {step.result}: {done.request} gives {done.response.text[:80]}")


def _same_record(one: Any, other: Any) -> bool:
    """Two records of one thing: boards that share a train, else payloads that agree in all that both have."""
    payloads = [pointers.at(record, "/payload") for record in (one, other)]
    if not all(isinstance(payload, Mapping) for payload in payloads):
        return canonical_json(one) == canonical_json(other)
    trains = [_trains(payload) for payload in payloads]
    if any(trains):
        return bool(trains[0] & trains[1])
    common = payloads[0].keys() & payloads[1].keys() - {"kind"}
    return bool(common) and all(json_equal(payloads[0][name], payloads[1][name]) for name in common)


def _trains(payload: Mapping[str, Any]) -> set[str]:
    return {train for rows in payload.values() if isinstance(rows, list) for row in rows
            for train in [pointers.at(row, _IDENTITY)] if isinstance(train, str)}


def _same_rows(leaf: Derivation, one: Mapping[str, Any], other: Mapping[str, Any], cut: bool) -> bool:
    """Does the leaf find the same rows in both, as far as it reads them?

    Where one may be cut, the rows that the answer stands on are enough, as long as the answer is the same.
    """
    assert leaf.source is not None
    try:
        if cut:
            return value_of(leaf, one) == value_of(leaf, other) and _read(leaf, selected_rows(leaf, one)) == _read(
                leaf, selected_rows(leaf, other))
        return _read(leaf, source_rows(leaf.source, one, filtered=False)) == _read(
            leaf, source_rows(leaf.source, other, filtered=False))
    except Refused:
        return False


def _read(leaf: Derivation, rows: Sequence[Any]) -> list[str]:
    values = [[pointers.at(row, pointer) for pointer in (*leaf.pointers(), _IDENTITY)] for row in rows]
    return sorted(canonical_json([None if value is MISSING else [value] for value in row]) for row in values)


def _unknown_city(unit: _Unit, result: str) -> Iterator[Pattern]:
    """Every way to be told that a city is not in the registry: any of its requests, any comparison, the list."""
    slug = unit.own.city or carriers.asked_by(unit.own.request).slug
    if result != "not_found" or not slug or facts.city(slug):
        return
    for spelled in _spellings(slug):
        sent = quote(spelled).lower()       # as request_of writes a slug
        yield {"req": f"/cities/{sent}/*", "result": "not_found"}
        yield {"req": f"/live/{sent}/*", "result": "not_found"}
        yield {"req": "/compare", "resource": "*", "city": spelled, "result": "not_found"}
    yield {"req": carriers.CITY_LIST}


_UMLAUTS = {"ae": "ä", "oe": "ö", "ue": "ü", "ss": "ß"}


def _spellings(slug: str) -> list[str]:
    """A slug and what it may be written for: giessen, gießen, as requests hold it and as /compare names it."""
    found = [slug]
    for plain, letter in _UMLAUTS.items():
        found += [text.replace(plain, letter) for text in found if plain in text]
    return list(dict.fromkeys(found))


def _units(done: Executed, leaf: Derivation | None) -> Iterator[_Unit]:
    """The data in the answer of a step that a leaf reads."""
    asked = carriers.asked_by(done.request)
    body = done.response.body
    rows = pointers.at(body, "/data")
    if asked.kind == "compare" and isinstance(rows, list):
        for index, row in enumerate(rows):
            if _pinned(leaf, row, "/city") and _within(leaf, index):
                key = "air-uba" if asked.key == "air" else asked.key
                yield _Unit(done.id, carriers.row_of(asked.key, row["city"]),
                            tuple(carriers.of_record(row["city"], key)) if facts.city(row["city"]) else (),
                            partial(_with_row, body, index))
    elif asked.kind == "list" and isinstance(rows, list) and leaf is not None:
        yield _entry_unit(done, leaf, rows)
    elif asked.kind == "record":
        yield _Unit(done.id, carriers.whole(done.request), tuple(carriers.of_record(asked.slug, asked.key)),
                    partial(_with_data, body))
    elif asked.kind == "board":
        yield _Unit(done.id, carriers.whole(done.request), tuple(carriers.of_board(asked.slug, asked.key)),
                    partial(_with_data, body))
    else:
        yield _Unit(done.id, carriers.whole(done.request), (), partial(_with_data, body))


def _entry_unit(done: Executed, leaf: Derivation, rows: Sequence[Any]) -> _Unit:
    """The list of cities; where the leaf reads a single city that it names, that city's entry has other places."""
    own = carriers.whole(done.request)
    named = [(index, row) for index, row in enumerate(rows)
             if any(_names_one(leaf, pointer) and _pinned(leaf, row, pointer) for pointer in ("/slug", "/name_de"))]
    if len(named) != 1:
        return _Unit(done.id, own, (), partial(_with_data, done.response.body))
    index, row = named[0]
    return _Unit(done.id, own, tuple(carriers.of_entry(row["slug"], row)),
                 partial(_with_entry, done.response.body, index))


def _names_one(leaf: Derivation, pointer: str) -> bool:
    assert leaf.source is not None
    return any(condition.pointer == pointer and condition.op == "==" for condition in leaf.source.where)


def _pinned(leaf: Derivation | None, row: Any, pointer: str) -> bool:
    """Can the leaf read this row, as far as the conditions at `pointer` say?"""
    if leaf is None or leaf.source is None:
        return True
    return all(condition.holds(row) for condition in leaf.source.where if condition.pointer == pointer)


def _within(leaf: Derivation | None, index: int) -> bool:
    """Does the pointer of the leaf leave this entry of `data` in?"""
    names = pointers.parts(leaf.source.at) if leaf and leaf.source else ()
    return len(names) < 2 or names[1] == str(index)


def _with_data(body: Any, record: Any) -> Any:
    return {**body, "data": record}


def _with_entry(body: Any, index: int, entry: Any) -> Any:
    return pointers.replaced(body, f"/data/{index}", entry)


def _with_row(body: Any, index: int, record: Any) -> Any:
    row = {**body["data"][index], "data": record, "source_status": "ok"}
    return pointers.replaced(body, f"/data/{index}", row)


def path_of(steps: Sequence[Step], executed: Sequence[Executed]) -> dict[str, Any]:
    """The gold plan as a pattern: `seq` where an argument comes from an earlier result, else `all`.

    Each atom has the result that the gold saw.
    """
    stages: list[list[Pattern]] = [[]]
    current: set[str] = set()
    for step, done in zip(steps, executed, strict=True):
        read = {name for inner in step.derived().values() for name in inner.steps()}
        if read & current:
            stages.append([])
            current = set()
        current.add(step.id)
        stages[-1] += _seen(done)
    joined = [_joined("all", stage) for stage in stages]
    return joined[0] if len(joined) == 1 else {"seq": joined}


def _seen(done: Executed) -> list[Pattern]:
    """The atoms of one executed step."""
    asked = carriers.asked_by(done.request)
    places = [carriers.whole(done.request)]
    if asked.kind == "compare":
        places = [carriers.row_of(asked.key, city) for city in asked.cities]
    results = ("answered", "not_covered", "not_found", "failed")
    seen = ((place.atom(result) for result in results if matches(place.atom(result), done.response))
            for place in places)
    return [atom for atoms in seen for atom in [next(atoms, None)] if atom is not None]
