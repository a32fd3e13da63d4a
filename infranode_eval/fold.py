"""The rows of a run as its tasks end, and the results file that they make."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.providers.adaptation import PARALLEL_LEFT_OUT, RULES, TEMPERATURE
from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.providers.token_usage import NAMES, normal_usage
from infranode_eval.results import FORMAT, HARNESS, Description, Metrics, Pairs, json_text, line_of, package_version
from infranode_eval.runner import Played
from infranode_eval.serving import budget_note, cut_in_reasoning
from infranode_eval.shelf import Kept, Shelf, ShelvedRows, ShelvedTexts
from infranode_eval.totals import Tariff, Totals
from lm_eval_task.metrics import SCORER_VERSION, aggregate
from lm_eval_task.records import MATCHES, Score
from lm_eval_task.shapes import parts_of


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
        "usage": summed([normal_usage(one.usage) for one in answers]),
        "latency_s": None if deterministic else sum_of([one.latency_s for one in answers]),
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


def summed(usages: Sequence[Mapping[str, int | None] | None]) -> dict[str, int | None] | None:
    """Token counts over all requests of a task; a count that one of them does not tell is unknown."""
    if len(usages) < 2:
        return usages[0] if usages else None     # type: ignore[return-value]
    if None in usages:
        return None
    return {name: sum_of([usage[name] for usage in usages]) for name in NAMES}    # type: ignore[index]


def sum_of(values: Sequence[Any]) -> Any:
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
        place = self._shelf.put(line_of(row))
        told = None if aside is None else self._shelf.put(line_of(
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
                self._bodies[key] = self._shelf.put(json_text(text).encode("utf-8", "backslashreplace"))

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


def result_of(description: Description, played: Iterable[Played], sampling: Sampling, deterministic: bool,
              stopped: str | None = None) -> dict[str, Any]:
    """The results file of tasks that have all ended, with its rows in memory."""
    fold = Fold(description, sampling, deterministic, Shelf())
    result = fold.result([fold.keep(one) for one in played], stopped)
    return {**result, "rows": list(result["rows"])}


def notes_of(scores: Sequence[Score], rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[str]:
    """What people should know of a run besides its numbers: a budget that was spent on reasoning."""
    cut = sum(_cut(score, row) for score, row in zip(scores, rows, strict=True))
    return [budget_note(cut, settings.get("max_tokens"))] if cut else []


def _cut(score: Score, row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("reply"), dict) and cut_in_reasoning(score, row["reply"], row.get("usage"))
