"""The results file: its rows and numbers, its name, reading and atomic writing (specification: design, formats)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from infranode_eval.beside import Hashed, transcripts_path
from infranode_eval.journal import Entry
from infranode_eval.providers.adaptation import PARALLEL_LEFT_OUT, RULES, TEMPERATURE
from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.providers.token_usage import NAMES, normal_usage
from infranode_eval.runner import Played
from infranode_eval.serving import budget_note, cut_in_reasoning
from infranode_eval.shelf import Kept, Shelf, ShelvedRows, ShelvedTexts
from infranode_eval.suites import MAIN
from infranode_eval.totals import Tariff, Totals
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.metrics import SCORER_VERSION, aggregate
from lm_eval_task.records import FAILURES, MATCHES, Score, Task
from lm_eval_task.shapes import parts_of

FORMAT = 1
HARNESS = "run_eval"

Pairs = Sequence[tuple[Task, Score]]
Metrics = Mapping[str, "float | None"]


_ASKED_FOR = ("seed", "shuffle_tools", "arm", "arm_seed", "tool_choice", "parallel_tool_calls",
              "extra_body", "zone", "max_result_chars", "world", "condition")     # identity where sent


@dataclass(frozen=True, slots=True)
class Description:
    """What a run is: everything in the file that stands above its numbers.

    hashes: sha256 of "tasks", "tools", "prompt". settings: sampling, limits and endpoint, as stored.
    """

    suite: str
    set: str
    model: str
    backend: str
    mode: str
    setup: str | None
    hashes: Mapping[str, str]
    settings: Mapping[str, Any]

    def identity(self) -> dict[str, Any]:
        """What must be equal for two runs to share answers (specification: the direct runner, --resume)."""
        sampling = {k: self.settings.get(k) for k in ("temperature", "max_tokens")}
        sampling |= {k: self.settings[k] for k in _ASKED_FOR if self.settings.get(k) is not None}
        return {"suite": self.suite, "set": self.set, "model": self.model, "backend": self.backend, "mode": self.mode,
                **{f"hash of {k}": v for k, v in self.hashes.items()}, **sampling}

    @classmethod
    def of_result(cls, result: Mapping[str, Any]) -> Description:
        """Raise KeyError for a file that is no result."""
        return cls(result["suite"], result["set"], result["model"], result["backend"], result["mode"],
                   result["setup"], result["hashes"], result["settings"])


def results_path(model: str, suite: str = MAIN, which: str = "core", mode: str = "prompt", tag: str | None = None,
                 own: str | None = None, arm: str | None = None, usual: str = "core",
                 condition: str | None = None, unmarked: str = "prompt") -> Path:
    """results/<model>[.<set>][.native][.<tag>].json; another suite than the main one has a folder of its own.

    own: the name of the user's tasks, which stands in the place of the set. arm: runs under one lie together, as
    results/arms/<model>[.<set>][.native].<arm>[.<tag>].json. usual, unmarked: the set and the mode that are not named.
    condition: an arm of a suite's own, which has no folder.
    """
    tasks = [_file_name(own)] if own else [which] if which != usual else []
    marks = [_file_name(model), *tasks, *([mode] if mode != unmarked else []),
             *([_file_name(arm or condition)] if arm or condition else []),
             *([_file_name(tag)] if tag else [])]
    folder = Path("results") if suite == MAIN else Path("results") / suite
    return (folder / "arms" if arm else folder) / f"{'.'.join(marks)}.json"


def _file_name(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", text.replace("/", "__"))
    return f"_{name}" if name.startswith(".") else name


def setup_of(mode: str, sampling: Sampling, rows: Iterable[Mapping[str, Any]]) -> str:
    """S, N, R or custom (specification: scoring, "Set-ups that may stand in one table")."""
    rows = list(rows)
    return setup_named(mode, sampling, any(_reasoned(row) for row in rows),
                       {deviation for row in rows for deviation in row.get("deviations", ())})


def setup_named(mode: str, sampling: Sampling, reasoned: bool, deviations: Collection[str] = ()) -> str:
    """The name of a set-up. reasoned: some reply held thoughts. deviations: what was sent otherwise than asked for.

    A temperature that the endpoint refused is nobody's set-up: nobody knows which one it used.
    """
    if RULES[TEMPERATURE].deviation in deviations:
        return "custom"
    if mode == "prompt" and sampling.max_tokens == 160 and sampling.temperature == 0 and not reasoned:
        return "S"
    if mode == "native" and sampling.max_tokens == 1024 and sampling.temperature == 0:
        return "N"
    return "R" if sampling.max_tokens == 8192 and reasoned else "custom"


def _reasoned(row: Mapping[str, Any]) -> bool:
    """Did the reply hold thoughts, in a place of their own or in a block that the reader took out of the text?

    Some endpoints only count them.
    """
    thoughts = parts_of(row["reply"] or {}).thoughts
    counted = (row.get("usage") or {}).get("reasoning_tokens")
    return "reasoning_removed" in row["labels"] or any(map(str.strip, thoughts)) or bool(counted)


def row_of(played: Played, deterministic: bool) -> dict[str, Any]:
    """One row. A deterministic run stores neither times nor request keys, so that it gives the same bytes again.

    A play of several requests tells its last reply, the sums of tokens and seconds, and its transcript.
    """
    answers = played.transcript.answers if played.transcript else ()
    answer = answers[-1] if answers else Answer({})
    row: dict[str, Any] = {
        "task_id": played.task.task_id, "category": played.task.category, "repeat": played.repeat,
        **played.score.to_json(),
        "reply": answer.message if played.transcript else None, "finish_reason": answer.finish_reason,
        "usage": _summed([normal_usage(one.usage) for one in answers]),
        "latency_s": None if deterministic else _sum_of([one.latency_s for one in answers]),
        "attempts": played.attempts, "error": played.error}
    if played.transcript and played.transcript.course:
        row["transcript"] = played.transcript.course.to_json()
    if not deterministic:
        row |= {"served_model": answer.model, "usage_raw": answer.usage, "keys": list(played.keys)}
        row |= {"finish_reason_raw": answer.finish_reason_raw} if answer.finish_reason_raw is not None else {}
        row |= {"served_by": answer.served_by} if answer.served_by is not None else {}
        row |= {"deviations": list(answer.deviations)} if answer.deviations else {}
        row |= {"unused_answers": played.unused} if played.unused else {}
    return row


def _summed(usages: Sequence[Mapping[str, int | None] | None]) -> dict[str, int | None] | None:
    """Token counts over all requests of a task; a count that one of them does not tell is unknown."""
    if len(usages) < 2:
        return usages[0] if usages else None     # type: ignore[return-value]
    if None in usages:
        return None
    return {name: _sum_of([usage[name] for usage in usages]) for name in NAMES}    # type: ignore[index]


def _sum_of(values: Sequence[Any]) -> Any:
    if None in values or not values:
        return None
    return round(sum(values), 4)


def _parallel_obeyed(row: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, bool | None]:
    """Where one call at most was asked for: did the reply keep to it? Empty where nothing of the kind was sent."""
    if "parallel_obeyed" in row:    # the suite has told
        return {}
    if settings.get("parallel_tool_calls") is not False or PARALLEL_LEFT_OUT in row.get("deviations", ()):
        return {}
    return {"parallel_obeyed": None if row["calls"] is None else len(row["calls"]) <= 1}


def _by_category(pairs: Pairs) -> Metrics:
    return aggregate([(task.category, score) for task, score in pairs])


class Fold:
    """Takes the tasks of a run as they end, keeps their rows on a shelf, and makes the results file of them.

    deterministic: no times, no totals, so that the same run gives the same bytes. numbers: the suite's metrics;
    headline: which of them lead, if any do. beside: transcripts go into a file of their own, not into the rows.
    """

    def __init__(self, description: Description, sampling: Sampling, deterministic: bool, shelf: Shelf,
                 numbers: Callable[[Pairs], Metrics] = _by_category,
                 headline: Callable[[Metrics], Metrics | None] = lambda metrics: None, beside: bool = False) -> None:
        self._beside = beside
        self._description, self._sampling, self._deterministic = description, sampling, deterministic
        self._shelf, self._numbers, self._headline = shelf, numbers, headline
        self._lock = threading.Lock()
        self._totals = Totals()
        self._scores: dict[tuple[Any, ...], Score] = {}
        self._deviations: set[str] = set()
        self._cut = 0
        self._any_reasoned = False
        self._bodies: dict[str, int] = {}

    def keep(self, played: Played) -> Kept:
        """Safe to call from many threads."""
        row = row_of(played, self._deterministic)
        row |= _parallel_obeyed(row, self._description.settings)
        aside = row.pop("transcript", None) if self._beside else None
        place = self._shelf.put(_line(row))
        told = None if aside is None else self._shelf.put(_line(
            {"task_id": row["task_id"], "repeat": row["repeat"], **aside}))
        cut, reasoned = _cut(played.score, row), _reasoned(row)
        light = played.score.light()
        verdict = (light.outcome, light.sub, *(getattr(light, name, None) for name in MATCHES))
        self._keep_bodies(played)
        with self._lock:
            self._totals.add(row)
            self._deviations.update(row.get("deviations", ()))
            self._cut += cut
            self._any_reasoned |= reasoned
            return Kept(place, played.task, light if light.details else self._scores.setdefault(verdict, light), told)

    def _keep_bodies(self, played: Played) -> None:
        """Each result of a tool once, under its sha256, however many plays received it."""
        course = played.transcript.course if played.transcript else None
        for key, text in (course.bodies() if course else {}).items():
            with self._lock:
                known = key in self._bodies
                self._bodies.setdefault(key, -1)
            if not known:
                self._bodies[key] = self._shelf.put(_json(text).encode("utf-8", "backslashreplace"))

    def result(self, kept: Sequence[Kept], stopped: str | None = None, tariff: Tariff | None = None,
               pacing: Mapping[str, Any] | None = None, times: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The whole results file. stopped: why the run ended before its time. times: "started" and "finished"."""
        description = self._description
        scores = [(one.task, one.score) for one in kept]
        answered = [(task, score) for task, score in scores if not score.failed]
        metrics = self._numbers(scores)
        headline = self._headline(metrics)
        settings, totals = dict(description.settings), {}
        if not self._deterministic:
            settings["deviations"] = sorted(self._deviations)
            totals = {"totals": self._totals.to_json(tariff) | ({"pacing": dict(pacing)} if pacing else {})}
        notes = [budget_note(self._cut, settings.get("max_tokens"))] if self._cut else []
        return {
            "format": FORMAT, "suite": description.suite, "set": description.set, "model": description.model,
            "backend": description.backend, "mode": description.mode,
            "setup": description.setup or setup_named(description.mode, self._sampling, self._any_reasoned,
                                                          self._deviations),
            "harness": HARNESS, "complete": len(answered) == len(scores), "stopped": stopped,
            **({} if self._deterministic else {**(times or {}), "version": package_version()}),
            "scorer_version": SCORER_VERSION, "hashes": dict(description.hashes), "settings": settings,
            "counts": {"n": len(scores), "scored": len(answered), "failed": len(scores) - len(answered)},
            **({} if headline is None else {"headline": headline}),
            "metrics": metrics, "answered": dict.fromkeys(metrics) | dict(self._numbers(answered)), **totals,
            **({"notes": notes} if notes else {}),
            **({"bodies": ShelvedTexts(self._shelf, self._bodies)} if self._bodies else {}),
            **({"transcripts": ShelvedRows(self._shelf, [one.transcript for one in kept if one.transcript is not None])}
               if self._beside else {}),
            "rows": ShelvedRows(self._shelf, [one.place for one in kept])}


def now_utc() -> str:
    """This second as YYYY-MM-DDThh:mm:ssZ."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def package_version() -> str:
    """The version in the checkout's pyproject.toml, else that of the installed package; "unknown" without either."""
    with contextlib.suppress(OSError):
        project = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text("utf-8")
        if found := re.search(r'^name = "infranode-tool-eval"\nversion = "([^"\n]+)"$', project, re.MULTILINE):
            return found[1]
    from importlib.metadata import PackageNotFoundError, version  # late: slow, and rarely needed

    with contextlib.suppress(PackageNotFoundError):
        return version("infranode-tool-eval")
    return "unknown"


def result_of(description: Description, played: Iterable[Played], sampling: Sampling, deterministic: bool,
              stopped: str | None = None) -> dict[str, Any]:
    """The results file of tasks that have all ended, with its rows in memory."""
    fold = Fold(description, sampling, deterministic, Shelf())
    result = fold.result([fold.keep(one) for one in played], stopped)
    return {**result, "rows": list(result["rows"])}


def _line(row: Mapping[str, Any]) -> bytes:
    return _json(row).encode("utf-8", "backslashreplace")


def notes_of(scores: Sequence[Score], rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[str]:
    """What people should know of a run besides its numbers: a budget that was spent on reasoning."""
    cut = sum(_cut(score, row) for score, row in zip(scores, rows, strict=True))
    return [budget_note(cut, settings.get("max_tokens"))] if cut else []


def _cut(score: Score, row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("reply"), dict) and cut_in_reasoning(score, row["reply"], row.get("usage"))


def result_bytes(result: Mapping[str, Any]) -> bytes:
    """The file's content: one line a key, one line a row. Lone surrogates become escapes, infinities text."""
    return b"".join(_pieces(result))


def _pieces(result: Mapping[str, Any]) -> Iterator[bytes]:
    """The content bit by bit: a long run's rows are never all in memory."""
    head = [f' {_json(key)}: {_json(value)}' for key, value in result.items() if key not in ("rows", "bodies")]
    yield ("{\n" + ",\n".join([*head, ""])).encode("utf-8", "backslashreplace")
    if "bodies" in result:
        yield from _body_pieces(result["bodies"])
    yield b' "rows": [\n'
    rows = result["rows"]
    for number, line in enumerate(rows.lines() if isinstance(rows, ShelvedRows) else map(_line, rows)):
        yield (b",\n  " if number else b"  ") + line
    yield b"\n ]\n}\n"


def _body_pieces(bodies: Mapping[str, str]) -> Iterator[bytes]:
    """One body a line, sorted by its sha256."""
    yield b' "bodies": {\n'
    for number, key in enumerate(sorted(bodies)):
        line = bodies.line(key) if isinstance(bodies, ShelvedTexts) else _json(bodies[key]).encode()
        yield (b",\n  " if number else b"  ") + f'"{key}": '.encode() + line
    yield b"\n },\n"


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(storable(value), ensure_ascii=False)


def storable(value: Any) -> Any:
    """JSON has no word for NaN and infinity; a model's 1e999 is kept as text."""
    if isinstance(value, Mapping):
        return {k: storable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_result(path: Path, result: Mapping[str, Any], advice: str = "choose another --out") -> None:
    """Replace the file in one step; a reader sees the old one or the new one.

    Raise UsageError, which ends in the advice, if that is refused.
    """
    if isinstance(result.get("transcripts"), ShelvedRows):
        lines = Hashed(result["transcripts"].lines())
        beside = transcripts_path(path)
        _replace(beside, lines, advice)
        result = {**result, "transcripts": {"file": beside.name, "sha256": lines.sha256, "n": lines.count}}
    _replace(path, _pieces(result), advice)


def _replace(path: Path, pieces: Iterable[bytes], advice: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise UsageError(f"{path} cannot be written ({error.strerror or error}); {advice}") from None


def check_writable(path: Path) -> None:
    """Raise UsageError now if `write_result` would fail at the end of a long run."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; --out names a file")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
        part.unlink()
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror or error}); choose another --out") from None


def read_result(path: Path) -> dict[str, Any]:
    """Raise DataError if the file is no results file of this format."""
    try:
        result = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"is no results file ({error}); choose another name, or delete it", path) from None
    try:
        if result["format"] != FORMAT or not isinstance(result["rows"], list):
            raise KeyError
        Description.of_result(result)
    except (KeyError, TypeError):
        raise DataError(f'is no results file of format {FORMAT}; choose another name, or delete it', path) from None
    return result


def entries_of(result: Mapping[str, Any],
               told: Callable[[Mapping[str, Any]], tuple[Sequence[Answer], Mapping[str, Any]]] | None = None,
               ) -> list[Entry]:
    """The answers of the scored rows, as a journal would hold them; rows that do not know their requests give none.

    told: the answers of a row that stands for several requests, in order, and what it read elsewhere by name; None
    where a row is one request.
    """
    entries: list[Entry] = []
    for row in result["rows"]:
        keys = row.get("keys", ())
        if row["outcome"] in FAILURES or not keys:
            continue
        if told is not None:
            answers, notes = told(row)
            entries += [Entry(row["task_id"], row["repeat"], name, None, 0, None, note)
                        for name, note in notes.items()]
            entries += [Entry(row["task_id"], row["repeat"], key, answer, row["attempts"] if seq == 0 else 0, seq)
                        for seq, (key, answer) in enumerate(zip(keys, answers, strict=True))]
        elif len(keys) == 1:
            entries.append(Entry(row["task_id"], row["repeat"], keys[0], _answer_of(row), row["attempts"]))
    return entries


def _answer_of(row: Mapping[str, Any]) -> Answer:
    """Rows of older files hold the counts as received under `usage`."""
    return Answer(row["reply"], row["finish_reason"], row.get("usage_raw", row["usage"]), row["latency_s"],
                  row["served_model"], row.get("finish_reason_raw"), tuple(row.get("deviations", ())),
                  row.get("served_by"))
