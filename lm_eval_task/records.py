"""The values that everything else passes around: Call, Task, Reply, Reading, Score."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lm_eval_task.errors import DataError

SETS = ("core", "extended", "robust", "abstain")
FAILURES = ("infra_error", "context_overflow", "auth_error", "empty_reply", "not_run")
EXPECTS = ("ask", "refuse")


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no blanks, real umlauts: equal values give equal text (specification: design, Hashes)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(value: Any) -> str:
    """sha256 (hex) over `canonical_json(value)` in UTF-8."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: `name`, and `arguments` as decoded JSON values by parameter name."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Any) -> Call:
        """Raise DataError unless `value` is {"name": str, "arguments": {…}}."""
        if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
            raise DataError(f'a call is {{"name": str, "arguments": {{…}}}}, found {_short(value)}')
        arguments = value.get("arguments", {})
        if not isinstance(arguments, dict):
            raise DataError(f'"arguments" of {value["name"]} must be an object, found {_short(arguments)}')
        return cls(value["name"], arguments)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "arguments": dict(self.arguments)}

    def __str__(self) -> str:
        inner = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in self.arguments.items())
        return f"{self.name}({inner})"


def calls_from_json(value: Any) -> tuple[Call, ...]:
    """A JSON list of calls; raise DataError if it is anything else."""
    if not isinstance(value, list):
        raise DataError(f"expected a list of calls, found {_short(value)}")
    return tuple(Call.from_json(v) for v in value)


@dataclass(frozen=True, slots=True)
class Task:
    """One question with its right calls. `expected == ()`: no call is right.

    `accept`: further right answers, each a list of calls. `extra`: the row's other keys, untouched.
    """

    task_id: str
    question: str
    expected: tuple[Call, ...]
    accept: tuple[tuple[Call, ...], ...] = ()
    category: str = ""
    set: str | None = None
    expect: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, row: Any) -> Task:
        """Raise DataError (without path and line: the reader of the file adds them) if a field is missing or wrong."""
        if not isinstance(row, dict):
            raise DataError(f"a task is a JSON object, found {_short(row)}")
        for key in ("task_id", "question"):
            if not isinstance(row.get(key), str) or not row[key].strip():
                raise DataError(f'"{key}" must be a non-empty string, found {_short(row.get(key))}')
        where = f'task {row["task_id"]}'
        if "expected" not in row:
            raise DataError(f'{where}: "expected" is missing (a list of calls; [] = no call is right)')
        _check_choice(row, "set", SETS, where)
        _check_choice(row, "expect", EXPECTS, where)
        if row.get("expect") is not None and row["expected"]:
            raise DataError(f'{where}: "expect" goes only with "expected": []')
        accept = row.get("accept") or []
        if not isinstance(accept, list):
            raise DataError(f'{where}: "accept" must be a list of lists of calls, found {_short(accept)}')
        category = row.get("category") or ""
        if not isinstance(category, str):
            raise DataError(f'{where}: "category" must be a string, found {_short(category)}')
        try:
            expected = calls_from_json(row["expected"])
            alternatives = tuple(calls_from_json(a) for a in accept)
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
        extra = {k: v for k, v in row.items() if k not in _TASK_KEYS}
        return cls(row["task_id"], row["question"], expected, alternatives, category, row.get("set"),
                   row.get("expect"), extra)

    def to_json(self) -> dict[str, Any]:
        """The row, keys in the order of the file format, absent fields left out."""
        row: dict[str, Any] = {"task_id": self.task_id}
        if self.set is not None:
            row["set"] = self.set
        row |= {"category": self.category, "question": self.question, "expected": [c.to_json() for c in self.expected]}
        if self.accept:
            row["accept"] = [[c.to_json() for c in a] for a in self.accept]
        if self.expect is not None:
            row["expect"] = self.expect
        return row | dict(self.extra)

    @property
    def alternatives(self) -> tuple[tuple[Call, ...], ...]:
        """The gold first, then everything in `accept`."""
        return (self.expected, *self.accept)

    @property
    def wants_several(self) -> bool:
        """Can it not be solved with one call a reply?"""
        return min(map(len, self.alternatives)) > 1


_TASK_KEYS = frozenset(("task_id", "set", "category", "question", "expected", "accept", "expect"))


def read_tasks(path: str | Path) -> tuple[Task, ...]:
    """Read a JSON-lines file of tasks. Raise DataError with file and line for anything that breaks the format."""
    tasks: list[Task] = []
    seen: dict[str, int] = {}
    for number, row in read_json_lines(path):
        try:
            task = Task.from_json(row)
        except DataError as error:
            raise DataError(str(error), path, number) from None
        if task.task_id in seen:
            raise DataError(f"task_id {task.task_id} stands already in line {seen[task.task_id]}", path, number)
        seen[task.task_id] = number
        tasks.append(task)
    if not tasks:
        raise DataError("holds no task; expected one JSON object a line", path)
    return tuple(tasks)


def read_json_lines(path: str | Path, comment: str | None = None) -> Iterable[tuple[int, Any]]:
    """Yield (line number, value) of each line that is not blank and does not begin with `comment`.

    Raise DataError for a missing file, bad UTF-8 or bad JSON.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8").removeprefix("\ufeff")   # some editors put a mark there
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}); check the path", path) from None
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 (byte {error.start}); save it as UTF-8", path) from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or (comment and line.lstrip().startswith(comment)):
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"is not JSON ({error}); expected one JSON object a line", path, number) from None


def tasks_fingerprint(tasks: Iterable[Task]) -> str:
    """Hash of what is asked and what is right: [task_id, question, expected, accept] of each task, in file order.

    A case of the test bench and a task of several steps add an object of what else decides about it, if there is any.
    """
    return fingerprint([[t.task_id, t.question, [c.to_json() for c in t.expected],
                         [[c.to_json() for c in a] for a in t.accept], *_judged_extra(t)] for t in tasks])


JUDGED = ("nur", "oder", "reihenfolge", "menge", "fehlt",            # of a case of the test bench
          "world", "faults", "plan", "expect", "max_turns")         # of a task of several steps


def _judged_extra(task: Task) -> list[dict[str, Any]]:
    found = {key: task.extra[key] for key in JUDGED if key in task.extra} if task.extra else {}
    return [found] if found else []


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one request: the chat message as received, and the finish reason (None if unknown)."""

    message: Mapping[str, Any]
    finish_reason: str | None = None

    @classmethod
    def from_text(cls, text: str, finish_reason: str | None = "stop") -> Reply:
        return cls({"role": "assistant", "content": text}, finish_reason)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says, before anyone asks whether it is right.

    calls: None = no readable call, () = a readable "I call nothing", else the calls in order.
    labels: format notes and repairs, by name. recovered: a repair or a recovery rule was needed.
    attempted: something in the reply is a call or wants to be one. broken: such a thing could not be read.
    broken_name: the name of a native call whose arguments could not be read.
    truncated: the token budget ended the reply, or a reasoning block never closed.
    text: the readable text without closed reasoning. thought: a reasoning field that is not blank.
    lenient: calls found in the reasoning when the text holds none (counts in lenient_call_match only).
    """

    calls: tuple[Call, ...] | None
    labels: tuple[str, ...] = ()
    recovered: bool = False
    attempted: bool = False
    broken: bool = False
    broken_name: str | None = None
    truncated: bool = False
    text: str = ""
    thought: bool = False
    lenient: tuple[Call, ...] | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """The verdict on one reply. In a failure row (no answer was obtained) every match is None.

    outcome: one label of the specification's table; sub: sub-code of wrong_args; why: one sentence for people.
    details: what a suite counts beside the matches, by name; it joins the row (and stays out of the hash).
    """

    outcome: str
    sub: str | None = None
    labels: tuple[str, ...] = ()
    why: str = ""
    parsed: bool | None = None
    tool_match: bool | None = None
    args_match: bool | None = None
    call_match: bool | None = None
    request_match: bool | None = None
    datum_match: bool | None = None
    lenient_call_match: bool | None = None
    calls: tuple[Call, ...] | None = None
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def failure(cls, outcome: str, why: str, sub: str | None = None) -> Score:
        """A row without an answer; `outcome` is one of FAILURES."""
        return cls(outcome=outcome, sub=sub, why=why)

    @property
    def failed(self) -> bool:
        return self.call_match is None

    def light(self) -> Score:
        """Without what only the row needs."""
        return replace(self, labels=(), why="", calls=None)

    def to_json(self) -> dict[str, Any]:
        """The scorer's part of a result row (specification: design, result format)."""
        return {"outcome": self.outcome, "sub": self.sub, "labels": list(self.labels), "why": self.why,
                **{name: getattr(self, name) for name in MATCHES},
                "calls": None if self.calls is None else [c.to_json() for c in self.calls], **self.details}


MATCHES = ("parsed", "tool_match", "args_match", "call_match", "request_match", "datum_match",
           "lenient_call_match")


def _check_choice(row: Mapping[str, Any], key: str, choices: tuple[str, ...], where: str) -> None:
    if row.get(key) is not None and row[key] not in choices:
        raise DataError(f'{where}: "{key}" must be one of {", ".join(choices)}, found {_short(row[key])}')


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "…"
