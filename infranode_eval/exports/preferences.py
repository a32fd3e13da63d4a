"""Preference pairs for DPO: the gold reply, and a wrong one that a model really gave and a results file kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.exports.material import Exported, Material, for_training
from infranode_eval.exports.sft import gold_reply, lines, tools_text, trl_message
from infranode_eval.reports.archive import find_results, is_harness_output, read_json, reply_of
from infranode_eval.results import read_result
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import score_reply
from lm_eval_task.prompt import messages, prompt_fingerprint
from lm_eval_task.records import Reply, Task, canonical_json
from lm_eval_task.tools import Toolset

RESULTS = "results"


def exported(material: Material) -> Exported:
    """One JSON-lines file of {"prompt", "chosen", "rejected"}, TRL's conversational preference format.

    Raise DataError if no results file holds a wrong reply to a chosen task.
    """
    material = for_training(material)
    mode = material.order.mode or "prompt"
    found = Pairs(material, mode)
    files = find_results(material.order.results or [RESULTS])
    for path in files:
        found.read(path)
    if not found.rows:
        raise DataError(f"no wrong reply to any of the {len(material.tasks)} chosen tasks in {len(files)} result files "
                        f"(mode {mode}); run a model over them first: python3 run_eval.py --set extended …")
    notes = tuple(f"{count} left out: {reason}" for reason, count in sorted(found.left_out.items()))
    name = f"{material.order.split or 'train'}.jsonl"
    return Exported({name: lines(found.rows)}, material, (f"{len(found.rows)} pairs from {len(files)} files", *notes))


class Pairs:
    """Collects pairs from results files, each once. left_out: how many rows were of no use, by reason."""

    def __init__(self, material: Material, mode: str) -> None:
        self.rows: list[dict[str, Any]] = []
        self.left_out: Counter[str] = Counter()
        self._tasks = {task.task_id: task for task in material.tasks if task.expected}
        self._tools, self._mode = material.tools, mode
        self._seen: set[str] = set()

    def read(self, path: Path) -> None:
        """Raise DataError for a file that is no result of ours; lm-eval's output holds no message as received."""
        if is_harness_output(read_json(path)):
            self.left_out["files of lm-eval, which keep no message as received"] += 1
            return
        result = read_result(path)
        if not self._same_prompt(result):
            self.left_out["files of another mode, other tools or another prompt"] += 1
            return
        for task, reply, row in self._wrong_replies(result["rows"]):
            self._add(task, reply, f"{result['model']}: {row['outcome']}")

    def _same_prompt(self, result: Mapping[str, Any]) -> bool:
        """Did the model see what the pair's prompt says? An arm or shuffled tools are another prompt."""
        changed = [result["settings"].get(name) for name in ("arm", "shuffle_tools")]
        hashes = {"tools": self._tools.fingerprint, "prompt": prompt_fingerprint(self._mode, self._tools)}
        return result["mode"] == self._mode and all(value is None for value in changed) and all(
            result["hashes"].get(name) == value for name, value in hashes.items())

    def _wrong_replies(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Task, Reply, Mapping[str, Any]]]:
        """Rows that were wrong when they were stored and are wrong for the current scorer and row, too."""
        for row in rows:
            task, reply = self._tasks.get(row["task_id"]), reply_of(row)
            if task is None or row["call_match"]:
                continue
            if reply is None or row["call_match"] is None:
                self.left_out["failures, not replies"] += 1
            elif row["outcome"] == "truncated":
                self.left_out["replies that the budget cut"] += 1
            elif score_reply(task, reply, self._tools, self._mode).call_match is not False:
                self.left_out["replies that the task as it is now takes for right"] += 1
            else:
                yield task, reply, row

    def _add(self, task: Task, reply: Reply, source: str) -> None:
        rejected = rejected_message(reply)
        key = canonical_json([task.task_id, rejected])
        if rejected is None:
            self.left_out["replies without a text or a readable tool call"] += 1
        elif key in self._seen:
            self.left_out["the same reply to the same task"] += 1
        else:
            self._seen.add(key)
            self.rows.append(pair(task, rejected, self._tools, self._mode) | {"task_id": task.task_id,
                                                                              "source": source})


def pair(task: Task, rejected: Mapping[str, Any], tools: Toolset, mode: str) -> dict[str, Any]:
    """One row; `tools` as JSON text in native mode."""
    row: dict[str, Any] = {"prompt": messages(mode, tools, task.question),
                           "chosen": [trl_message(gold_reply(task.expected, mode))], "rejected": [dict(rejected)]}
    return row | ({"tools": tools_text(tools)} if mode == "native" else {})


def rejected_message(reply: Reply) -> dict[str, Any] | None:
    """The stored message, text as received; None where no text and no call with readable arguments is left of it."""
    content, calls = reply.message.get("content"), reply.message.get("tool_calls")
    kept: dict[str, Any] = {"content": content if isinstance(content, str) else ""}
    if calls:
        if not _readable(calls):
            return None
        kept["tool_calls"] = calls
    return trl_message(kept) if kept["content"].strip() or calls else None


def _readable(calls: Any) -> bool:
    try:
        return all(isinstance(json.loads(entry["function"]["arguments"]), dict)
                   and isinstance(entry["function"]["name"], str) for entry in _sequence(calls))
    except (KeyError, TypeError, ValueError):
        return False


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]
