"""A result file as a page shows it: the run's numbers, and what each row's verdict rests on.

Replies come from strangers: what is shown of them is cut to a length, and every invisible character is spelled out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from infranode_eval.budget import Price
from infranode_eval.harmless import clean
from infranode_eval.reports.archive import Run, is_harness_output, read_json, run_from_json
from infranode_eval.reports.effort import Effort, effort_of, price_named
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.harness_output import replies_from_harness
from infranode_eval.reports.tasksets import TaskSet, set_of
from lm_eval_task.records import Task
from lm_eval_task.shapes import parts_of
from lm_eval_task.tools import Toolset

LONGEST = 4000          # characters of one text that are shown


@dataclass(frozen=True, slots=True)
class Text:
    """A text of unknown origin as it may be shown, and how many of its characters were left out."""

    shown: str = ""
    left_out: int = 0

    @classmethod
    def of(cls, value: str, longest: int = LONGEST) -> Text:
        r"""The first `longest` characters; line ends and tabs stay, other invisible characters become \u202e."""
        return cls(visible(value[:longest]), max(0, len(value) - longest))


def visible(text: str) -> str:
    """`clean`, but of several lines."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join("\t".join(map(clean, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a row's verdict rests on. entries: native call entries as received. error: why there is no answer."""

    text: Text = Text()
    entries: tuple[Text, ...] = ()
    thoughts: Text = Text()
    finish_reason: str | None = None
    error: str | None = None
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One run. evidence: one for each row, in their order, None where the file holds no replies.

    tasks: the tasks by id, as far as they are known.
    """

    summary: Summary
    run: Run
    effort: Effort
    evidence: tuple[Evidence, ...] | None = None
    tasks: Mapping[str, Task] = field(default_factory=dict)


def exhibits_of(path: Path, tools: Toolset, sets: Sequence[TaskSet], prices: Mapping[str, Price]) -> list[Exhibit]:
    """The runs of one file. Raise DataError for a broken one."""
    value = read_json(path)
    if is_harness_output(value):
        return [_exhibit(run, sets, tools, Effort(), tuple(evidence_of({"reply": r.message}) for r in replies) or None)
                for run, replies in replies_from_harness(value, path, tools)]
    run = run_from_json(value, path, tools)
    effort = effort_of(value["rows"], price_named(prices, run.model))
    return [_exhibit(run, sets, tools, effort, tuple(map(evidence_of, value["rows"])))]


def _exhibit(run: Run, sets: Sequence[TaskSet], tools: Toolset, effort: Effort,
             evidence: tuple[Evidence, ...] | None = None) -> Exhibit:
    known = set_of(run, sets)
    return Exhibit(summarise(run, sets, tools), run, effort, evidence, known.tasks if known else run.tasks)


def without_rows(exhibit: Exhibit) -> Exhibit:
    """The numbers only: thousands of runs fit into memory, their rows do not."""
    return replace(exhibit, run=replace(exhibit.run, rows=()), evidence=None)


def best_files(exhibits: Iterable[Exhibit], most: int) -> set[str]:
    """The files of the `most` runs with the highest ability."""
    return {e.run.path for e in ordered(e for e in exhibits if e.summary.tally)[:most]}


def evidence_of(row: Mapping[str, Any]) -> Evidence:
    """From a row as stored. Never raises: a reply may have any shape."""
    finish, error, attempts = row.get("finish_reason"), row.get("error"), row.get("attempts")
    facts = {"finish_reason": clean(finish) if isinstance(finish, str) else None,
             "error": clean(_plain(error)[:LONGEST]) if error else None,
             "attempts": attempts if isinstance(attempts, int) else 1}
    message = row.get("reply")
    if not isinstance(message, dict):
        return Evidence(**facts)
    parts = parts_of(message)
    entries = tuple(Text.of(f"{e.name or '?'}({_plain(e.arguments)})") for e in parts.entries)
    text = parts.text
    if not (text or entries or parts.thoughts) and message.keys() - {"role", "content"}:
        text = _plain(message)      # a shape that the reader does not know, shown whole
    return Evidence(Text.of(text), entries, Text.of("\n".join(parts.thoughts)), **facts)


def _plain(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def ordered(exhibits: Iterable[Exhibit]) -> list[Exhibit]:
    """By ability, the best first; then by name and path, so that equal input gives equal pages."""
    def key(exhibit: Exhibit) -> tuple[float, str, str]:
        ability = exhibit.summary.strict.get("ability")
        return -(ability if ability is not None else -1.0), exhibit.run.model, exhibit.run.path
    return sorted(exhibits, key=key)
