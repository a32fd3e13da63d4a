"""The page's list of tasks as one JSON value: questions, golds, and what every run replied.

Pure. Every text in it is already visible text: nothing in it acts, and it can be encoded as UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.harmless import clean
from infranode_eval.reports.archive import counted
from infranode_eval.reports.chain_page import play_of, played_task
from infranode_eval.reports.charts import kind_of
from infranode_eval.reports.drilldown import facts_of
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.plays import CONTROL
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.replies import Evidence, Text, visible
from infranode_eval.reports.team_page import row_values
from infranode_eval.reports.team_rows import SUITE as TEAM
from lm_eval_task.records import Call, Task

LONGEST_CALL = 600      # characters of a call that are shown
MOST_RUNS = 60          # runs whose replies one page holds


def taskbook(exhibits: Sequence[Exhibit], names: Sequence[str], groups: Sequence[int],
             group_names: Sequence[str]) -> dict[str, Any]:
    """names, groups: of each run, its label and the number of its group.

    {"groups", "runs", "tasks", "rows"}; a row points at its task and run by number. Tasks of one id whose question or
    gold differs are two tasks. The results of calls stand apart: see `chain_page.bodies_of`.
    """
    tasks: dict[str, int] = {}
    shown: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for number, exhibit in enumerate(exhibits):
        evidence = exhibit.evidence or (None,) * len(exhibit.run.rows)
        plays = exhibit.plays or exhibit.courses or (None,) * len(exhibit.run.rows)
        for row, seen, play in zip(exhibit.run.rows, evidence, plays, strict=True):
            task = _task(row.task_id, row.category, exhibit.tasks.get(row.task_id))
            key = json.dumps(task)
            if key not in tasks:
                tasks[key] = len(shown)
                shown.append(task)
            score = row.score
            rows.append({"task": tasks[key], "run": number, "repeat": row.repeat, "kind": kind_of(row),
                         "outcome": score.outcome, "sub": _clean(score.sub),
                         "why": clean(counted(score.why)[:LONGEST_CALL]),
                         "labels": [clean(label) for label in score.labels],
                         "calls": None if score.calls is None else [_call(c) for c in score.calls], **_reply(seen),
                         **(play_of(row, play) if exhibit.run.suite == PLAYED else {}),
                         **(row_values(row, play) if exhibit.run.suite == TEAM else {})})
    runs = [{"name": clean(name), "group": group, "baseline": e.run.baseline, "repeats": e.summary.repeats,
             **_limit(e)}
            for e, name, group in zip(exhibits, names, groups, strict=True)]
    order = sorted(range(len(shown)), key=lambda i: (shown[i]["category"], shown[i]["id"], i))
    place = {old: new for new, old in enumerate(order)}
    return {"groups": list(group_names), "runs": runs, "tasks": [shown[i] for i in order],
            "rows": [{**row, "task": place[row["task"]]} for row in rows]}


def _limit(exhibit: Exhibit) -> dict[str, int]:
    """How much of a result the models saw, where results are stored."""
    most = exhibit.run.settings.get("max_result_chars")
    return {"limit": most} if isinstance(most, int) else {}


def _task(task_id: str, category: str, task: Task | None) -> dict[str, Any]:
    """expected None: the gold is not known."""
    played = task is not None and "expect" in task.extra
    shown = CONTROL if task and played and task.set == CONTROL else category
    return {"id": clean(task_id), "category": clean(shown), "question": visible(task.question) if task else "",
            "expected": [_call(c) for c in task.expected] if task else None,
            "accept": [[_call(c) for c in calls] for calls in task.accept] if task else [],
            **({"facts": [[name, visible(text)] for name, text in facts_of(task)]} if task and not played else
               {"facts": []}), **(played_task(task) if task and played else {})}


def _call(call: Call) -> str:
    text = str(call)
    return clean(text if len(text) <= LONGEST_CALL else text[:LONGEST_CALL] + "…")


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _reply(evidence: Evidence | None) -> dict[str, Any]:
    """Empty for a run whose file holds no replies."""
    if evidence is None:
        return {}
    return {"text": evidence.text.shown, "left": evidence.text.left_out, "entries": [_cut(e) for e in evidence.entries],
            "thoughts": _cut(evidence.thoughts) if evidence.thoughts.shown else None,
            "finish": evidence.finish_reason, "error": evidence.error, "attempts": evidence.attempts}


def _cut(text: Text) -> list[Any]:
    return [text.shown, text.left_out]


# Characters that end a script element, start a comment in it, or end a line in old parsers.
_SCRIPT = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def script_json(value: Mapping[str, Any]) -> str:
    r"""JSON that may stand inside <script>: < is \u003c, so no text can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _SCRIPT.sub(lambda m: f"\\u{ord(m[0]):04x}", text)
