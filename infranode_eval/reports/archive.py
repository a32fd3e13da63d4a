"""Results on disk: which files they are, and our own result files as `Run` records.

lm-eval's output becomes the same record in `harness_output`. Format: specification, design, "Two file formats".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from infranode_eval.arms import arm_of
from infranode_eval.reports import db_routing_rows as routes
from infranode_eval.reports import plays
from infranode_eval.reports import team_rows as team
from infranode_eval.reports.stored_verdicts import calls_in, notes_in
from infranode_eval.serving import cut_in_reasoning, cut_repeating, prompt_tokens, was_recovered
from lm_eval_task.errors import DataError
from lm_eval_task.records import FAILURES, MATCHES, Reply, Score, Task
from lm_eval_task.shapes import parts_of
from lm_eval_task.tools import Toolset

FORMAT = 1
OUTCOMES = ("ok", "ok_recovered", "abstain_ok", "wrong_tool", "unknown_tool", "wrong_args", "missing_args",
            "hallucinated_arg", "type_error", "extra_calls", "missing_calls", "no_call", "malformed_call", "truncated",
            *FAILURES)
UNKNOWN = "unknown"     # a row whose verdict is stored without its outcome (lm-eval, scored by another version)
SETUPS = ("S", "N", "R", "custom")
MAIN_SUITE = "infranode_tools_de"
DETAILS = {"hits": int, "steps": int, "emitted": int, "form_notes": list, "streng_match": bool, "streng_hits": int,
           "broken": bool, "asked": bool, "asked_right": bool, "claims_done": bool, "first_step_only": bool}
_NOTHING: Mapping[str, Any] = {}     # shared by a million rows


@dataclass(frozen=True, slots=True)
class Row:
    """One task's verdict in a run, and what the stored reply tells about its serving.

    native: the reply held native tool calls. recovered: its calls needed a recovery rule, None without readable calls
    or where it is unknown. cut_in_reasoning, cut_repeating: where the budget ended. prompt_tokens: as the endpoint
    counted. details: what only a bench case tells, by DETAILS, a play of the suite chain, by plays.DETAILS, a route, by
    routes.DETAILS, or under "managed" a play of the suite team; empty elsewhere.
    """

    task_id: str
    category: str
    repeat: int
    score: Score
    native: bool = False
    recovered: bool | None = None
    cut_in_reasoning: bool = False
    cut_repeating: bool = False
    prompt_tokens: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Any, mode: str = "prompt", tools: Toolset | None = None,
                  rules: Rules | None = None) -> Row:
        """mode, tools: those of the run, to read a reply once more where only that tells whether it was recovered.

        rules: what the run's other rows told, shared by them. Raise DataError for a row that lacks a field or holds a
        wrong one.
        """
        category, repeat = _place(value)
        score, usage = _score(value), value.get("usage")
        # A reply is taken apart only where it can tell something, since a report may read a million rows.
        message = value.get("reply")
        told = isinstance(message, dict) and not (message.keys() == _PLAIN and isinstance(message["content"], str))
        native = told and bool(parts_of(message).entries)
        if score.labels and score.calls:
            recovered = _recovered(score, value, native, mode, tools, {} if rules is None else rules)
        else:
            recovered = was_recovered(score, None, mode, tools)
        cut = score.outcome == "truncated" and isinstance(message, dict)
        return cls(intern(value["task_id"]), intern(category), repeat, score, native, recovered,
                   cut and cut_in_reasoning(score, message, usage), cut and cut_repeating(score, message),
                   prompt_tokens(usage) if usage else None,
                   _details(value) if "steps" in value or "hits" in value else _NOTHING)

    @classmethod
    def of_play(cls, value: Any) -> Row:
        """A row of the suite chain. Raise DataError for a row that lacks a field or holds a wrong one."""
        category, repeat = _place(value)
        score = plays.verdict_of(value)
        return cls(intern(value["task_id"]), intern(category), repeat, score, plays.is_native(value),
                   details=plays.details_of(value))

    @classmethod
    def of_route(cls, value: Any) -> Row:
        """A row of the suite db_routing; its bucket is its category. Raise DataError for a broken row."""
        _, repeat = _place(value)
        score, details = routes.verdict_of(value), routes.details_of(value)
        return cls(intern(value["task_id"]), details["bucket"], repeat, score, bool(details["tool_calls"]),
                   details=details)


    @classmethod
    def of_team(cls, value: Any) -> Row:
        """A row of the suite team. Raise DataError for a broken row."""
        category, repeat = _place(value)
        score, managed = team.verdict_of(value), team.managed_of(value)
        return cls(intern(value["task_id"]), intern(category), repeat, score,
                   details=_NOTHING if managed is None else {"managed": managed})


_OF_SUITES = {plays.SUITE: Row.of_play, routes.SUITE: Row.of_route, team.SUITE: Row.of_team}


def _place(value: Any) -> tuple[str, int]:
    """(category, repeat) of a row."""
    if not isinstance(value, dict) or not isinstance(value.get("task_id"), str):
        raise DataError('a row is an object with a "task_id"')
    category, repeat = value.get("category") or "", value.get("repeat") or 1
    if not isinstance(category, str) or not isinstance(repeat, int):
        raise DataError(f'row {value["task_id"]}: "category" must be a string and "repeat" a number')
    return category, repeat


Rules = dict[tuple[bool, bool, tuple[str, ...]], "bool | None"]     # (native, readable, labels) → recovered


def _recovered(score: Score, row: Mapping[str, Any], native: bool, mode: str, tools: Toolset | None,
               rules: Rules) -> bool | None:
    """As `was_recovered`, but labels name every rule that a reading took: what they mean is read from a reply once."""
    if score.outcome in ("ok", "ok_recovered"):
        return was_recovered(score, None, mode, tools)
    key = (native, bool(score.parsed), score.labels)
    if key not in rules:
        rules[key] = was_recovered(score, reply_of(row), mode, tools)
    return rules[key]


_PLAIN = frozenset(("role", "content"))
_KNOWN = frozenset(OUTCOMES)
_TRUTHS, _NULLS = frozenset((bool,)), frozenset((type(None),))


def _score(row: Mapping[str, Any]) -> Score:
    """The verdict in a row; raise DataError for one that breaks the format."""
    outcome = row.get("outcome")
    if not isinstance(outcome, str) or outcome not in _KNOWN:
        raise DataError(f'row {row["task_id"]}: "outcome" {outcome!r} is none of the {len(OUTCOMES)} known ones')
    matches = [*map(row.get, MATCHES)]
    if "datum_match" not in row:        # scored before 1.1: the least that it can be
        matches[MATCHES.index("datum_match")] = row.get("request_match")
    failed = outcome in FAILURES
    if set(map(type, matches)) != (_NULLS if failed else _TRUTHS):
        right = type(None) if failed else bool
        name, match = next(pair for pair in zip(MATCHES, matches, strict=True) if type(pair[1]) is not right)
        raise DataError(f'row {row["task_id"]}: "{name}" must be {"null in a failure" if failed else "true or false"}, '
                        f"found {match!r}")
    return Score(outcome, *notes_in(row), *matches, calls_in(row))


def _details(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a bench case tells besides its verdict; null where a failure leaves something open."""
    found = {name: row[name] for name in DETAILS if row.get(name) is not None}
    for name, value in found.items():
        if type(value) is not DETAILS[name] or name == "form_notes" and not all(isinstance(v, str) for v in value):
            raise DataError(f'row {row["task_id"]}: "{name}" must be {_KINDS[DETAILS[name]]}, found {value!r}')
    return found


_KINDS = {int: "a whole number", bool: "true or false", list: "a list of texts"}


def short_hash(hash_: str | None) -> str:
    """A hash as tables and messages show it."""
    return hash_[:12] if hash_ else "unknown"


def counted(text: str) -> str:
    """A text that begins with a number of calls, in good English: stored reasons say "1 calls instead of 2"."""
    return f"1 call{text[len('1 calls'):]}" if text == "1 calls" or text.startswith("1 calls ") else text


def reply_of(row: Mapping[str, Any]) -> Reply | None:
    """The reply stored in a row, as the scorer saw it; None if no answer was obtained."""
    message, finish = row.get("reply"), row.get("finish_reason")
    return Reply(message, finish if isinstance(finish, str) else None) if isinstance(message, dict) else None


@dataclass(frozen=True, slots=True)
class Run:
    """One model, measured once, from either harness.

    hashes: tasks, tools, prompt, and panel where there is one; None where the file does not tell. n, failed: rows.
    metrics, answered: as stored, over all rows (a failure is not solved) and over the answered ones, 0–1. rows: empty
    where only metrics were stored. tasks: the tasks by id where the file holds them. task_count: tasks of the set
    before --limit, if told. set_name: what the file calls its set. program: what a baseline does, in its own words.
    headline: the numbers that the suite puts first, the one that counts before the others. world: kind, name and hash
    of the one that a suite with a world was played in (of the settings), else empty. totals: what the run took, as
    stored; empty where the file does not tell. version: of the package that made the file.
    """

    path: str
    harness: str
    suite: str
    model: str
    backend: str
    mode: str
    setup: str
    complete: bool
    scorer_version: str
    hashes: Mapping[str, str | None]
    settings: Mapping[str, Any]
    n: int
    failed: int
    metrics: Mapping[str, float | None]
    answered: Mapping[str, float | None]
    rows: tuple[Row, ...] = ()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    task_count: int | None = None
    notes: tuple[str, ...] = ()
    set_name: str | None = None
    program: str | None = None
    headline: tuple[str, ...] = ()
    world: Mapping[str, Any] = field(default_factory=dict)
    totals: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None

    @property
    def arm(self) -> str | None:
        """What was changed about the tools, None for the tools as they stand; db_routing: the condition of one request.

        There `anonymised` is the base of the others.
        """
        if self.suite == routes.SUITE:
            return text_or_none(self.settings.get("condition")) if self.single_shot else None
        return arm_of(self.settings)

    @property
    def single_shot(self) -> bool:
        """Was each question of the suite db_routing put in one request?"""
        return self.suite == routes.SUITE and self.settings.get("procedure") == routes.SINGLE_SHOT

    @property
    def measure(self) -> str:
        """The number that tells whether a row is solved, under its name in results files; of a team how well."""
        return {plays.SUITE: "task_success", routes.SUITE: "route_ok", team.SUITE: "sms"}.get(self.suite, "call_match")

    @property
    def baseline(self) -> bool:
        """A program that sees the question and the tools, not a model."""
        return self.backend == "baseline"


# --- files ------------------------------------------------------------------------------------------------------------

def find_results(paths: Iterable[str | Path]) -> tuple[Path, ...]:
    """Result files below folders and among files, sorted within a folder; each once.

    In a folder every .json counts, journals, locks and samples do not; hidden names are left out.
    Raise DataError for a path that does not exist.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*.json") if p.is_file())
            found |= dict.fromkeys(p for p in inside if not _hidden(p.relative_to(path)))
        elif not path.exists():
            raise DataError("does not exist; expected a result file or a folder with results", path)
        elif path.name.endswith(".json"):
            found[path] = None
        elif not path.name.endswith((".jsonl", ".lock")):
            raise DataError("is no result; expected a .json file of run_eval.py, or results_*.json of lm-eval", path)
    return tuple(found)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def read_json(path: str | Path) -> Any:
    """The value in a JSON file. Raise DataError for a missing file, bad UTF-8 or bad JSON."""
    try:
        return json.loads(Path(path).read_bytes().decode("utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}); check the path", path) from None
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 (byte {error.start})", path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON ({error})", path) from None


def is_harness_output(value: Any) -> bool:
    """Is this the content of a results_*.json of lm-eval?"""
    return isinstance(value, dict) and "format" not in value and isinstance(value.get("results"), dict)


# --- our own format ---------------------------------------------------------------------------------------------------

_TEXTS = ("suite", "model", "backend", "mode")
_HASHES = ("tasks", "tools", "prompt")


def run_from_json(value: Any, path: str | Path, tools: Toolset | None = None) -> Run:
    """A result of run_eval.py. Raise DataError that names the first thing that breaks the format.

    tools: used where they are those of the run, to tell which calls were read by a recovery rule.
    """
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = value.get("format") if isinstance(value, dict) else type(value).__name__
        raise DataError(f'is no result: expected an object with "format": {FORMAT}, found {found!r}', path)
    for key in _TEXTS:
        if not isinstance(value.get(key), str) or not value[key]:
            raise DataError(f'"{key}" must be a non-empty string, found {value.get(key)!r}', path)
    if not isinstance(value.get("rows"), list):
        raise DataError('"rows" must be a list', path)
    hashes, settings = _object(value, "hashes", path), _object(value, "settings", path)
    known = tools is not None and hashes.get("tools") == tools.fingerprint and arm_of(settings) is None
    offered = tools if known else None      # under an arm replies speak of other tools
    try:
        rules: Rules = {}
        own = _OF_SUITES.get(value["suite"])
        rows = tuple([own(row) if own else Row.from_json(row, value["mode"], offered, rules) for row in value["rows"]])
        _check_twins(rows)
    except DataError as error:
        raise DataError(str(error), path) from None
    failed = sum(row.score.failed for row in rows)
    _check_counts(value.get("counts"), len(rows), failed, path)
    setup, program = _setup(value)
    return Run(
        path=str(path), harness=str(value.get("harness") or "run_eval"), suite=suite_name(value["suite"]),
        model=value["model"], backend=value["backend"], mode=value["mode"], setup=setup,
        complete=value.get("complete") is True, scorer_version=str(value.get("scorer_version") or "?"),
        hashes={key: text_or_none(hashes.get(key)) for key in (*_HASHES, *(["panel"] if "panel" in hashes else []))},
        settings=settings,
        n=len(rows), failed=failed, metrics=_numbers(value, "metrics", path),
        answered=_numbers(value, "answered", path), rows=rows, set_name=text_or_none(value.get("set")), program=program,
        headline=tuple(value["headline"]) if isinstance(value.get("headline"), dict) else (),
        world=_world(value), totals=value["totals"] if isinstance(value.get("totals"), dict) else {},
        version=text_or_none(value.get("version")))


def _world(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found = value["settings"].get("world")
    return found if isinstance(found, dict) else {}


def _setup(value: Mapping[str, Any]) -> tuple[str, str | None]:
    """(set-up, what a baseline does): a baseline samples nothing, so it stands beside its mode's usual set-up."""
    stored = str(value.get("setup") or "custom")
    if value["backend"] != "baseline":
        return stored, None
    usual = "S" if value["mode"] == "prompt" else "N"
    return usual, None if stored in SETUPS else stored


def _check_twins(rows: Iterable[Row]) -> None:
    seen = set()
    for row in rows:
        if (row.task_id, row.repeat) in seen:
            raise DataError(f"row {row.task_id} stands twice for repeat {row.repeat}")
        seen.add((row.task_id, row.repeat))


def text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def suite_name(name: str) -> str:
    """The main suite has one name in every harness."""
    return MAIN_SUITE if name == "single" or name.startswith(MAIN_SUITE) else name


def _check_counts(counts: Any, n: int, failed: int, path: str | Path) -> None:
    expected = {"n": n, "scored": n - failed, "failed": failed}
    if not isinstance(counts, dict) or {key: counts.get(key) for key in expected} != expected:
        raise DataError(f'"counts" does not fit the rows: expected {json.dumps(expected)}, found {json.dumps(counts)}',
                        path)


def _object(value: Mapping[str, Any], key: str, path: str | Path) -> Mapping[str, Any]:
    inner = value.get(key)
    if not isinstance(inner, dict):
        raise DataError(f'"{key}" must be an object, found {inner!r}', path)
    return inner


def is_number(value: Any) -> bool:
    """An int or float of a sane size; no truth value, NaN or infinity."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e9 < value < 1e9


def _numbers(value: Mapping[str, Any], key: str, path: str | Path) -> dict[str, float | None]:
    inner = _object(value, key, path)
    for name, number in inner.items():
        if number is not None and not is_number(number):
            raise DataError(f'"{key}": {name} must be a number or null, found {str(number)[:40]!r}', path)
    return dict(inner)
