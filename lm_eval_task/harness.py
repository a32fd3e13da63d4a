"""The main suite as lm-evaluation-harness sees it: documents, prompt, per-document metrics, aggregations.

Everything here is a plain function; lm-eval reaches them through hooks.py. Verdicts come from metrics.score_reply.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from lm_eval_task.dataset import load_tasks
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.metrics import ability, mean, score_reply
from lm_eval_task.prompt import prompt_text
from lm_eval_task.records import MATCHES, Reply, Task
from lm_eval_task.tools import Toolset, read_tools

NAN = float("nan")
# Four different things that a plain 0 would hide: did not call, could not read, ran out of tokens, no answer came.
UNREAD = ("no_call", "malformed_call", "truncated", "empty_reply")


@lru_cache(maxsize=1)
def _tools() -> Toolset:
    return read_tools()


def documents(which: str = "core", category: str | None = None) -> list[dict[str, str]]:
    """One flat dict of strings per task, in file order.

    Calls travel as JSON text in `row`: the datasets library would unite dict columns and add None to every argument.
    `categories` lists the categories of the whole set when `category` is None, so that each gets its own metric.
    """
    tasks = load_tasks(_tools(), which)
    chosen = tasks if category is None else tuple(t for t in tasks if t.category == category)
    if not chosen:
        present = ", ".join(dict.fromkeys(t.category for t in tasks))
        raise UsageError(f"set {which} has no category {category!r}; it has {present}")
    categories = "" if category else ",".join(dict.fromkeys(t.category for t in tasks))
    return [{"task_id": t.task_id, "set": t.set or "", "category": t.category, "question": t.question,
             "row": json.dumps(_scored_part(t), ensure_ascii=False), "categories": categories} for t in chosen]


def _scored_part(task: Task) -> dict[str, Any]:
    """The row without what no verdict needs (provenance, reviews)."""
    row = task.to_json()
    return {k: v for k, v in row.items() if k not in ("verified", "review", "accept_unverified")}


def custom_dataset(set: str = "core", category: str | None = None, **_: Any) -> dict[str, Any]:
    """{"test": datasets.Dataset}; lm-eval passes the YAML's metadata as keywords."""
    import datasets  # part of lm-eval; not needed by the scorer

    return {"test": datasets.Dataset.from_list(documents(set, category))}


def doc_to_text(doc: Mapping[str, str]) -> str:
    return prompt_text(_tools(), doc["question"])


def doc_to_target(doc: Mapping[str, str]) -> str:
    """The gold as JSON text; shown in samples, not used for scoring."""
    return json.dumps(task_of(doc).to_json()["expected"], ensure_ascii=False)


def task_of(doc: Mapping[str, str]) -> Task:
    """The task or case that travels in a document. Raise DataError for a document of anybody else."""
    try:
        return Task.from_json(json.loads(doc["row"]))
    except (KeyError, ValueError, DataError) as error:
        raise DataError(f"document {doc.get('task_id')} does not hold a task ({error}); was it built by hooks.py?"
                        ) from None


def process_results(doc: Mapping[str, str], results: Sequence[str]) -> dict[str, Any]:
    """Metrics of one document from the one text that lm-eval hands over.

    It knows no finish reason and no reasoning field; an empty text counts 0 (specification: scoring, the strict
    number). None stands for "this metric does not apply to this document" and is left out by the aggregations.
    """
    task = task_of(doc)
    score = score_reply(task, Reply.from_text(results[0] or "", finish_reason=None), _tools(), "prompt")
    matched = {name: float(bool(getattr(score, name))) for name in MATCHES}
    call_match = matched["call_match"]
    metrics: dict[str, Any] = {
        "ability": [task.category, call_match],
        "tool_choice": matched["tool_match"],
        "args_given_tool": call_match if matched["tool_match"] else None,
        **matched,
        **{outcome: float(score.outcome == outcome) for outcome in UNREAD},
    }
    for category in filter(None, doc["categories"].split(",")):
        metrics[f"call_match_{category}"] = call_match if category == task.category else None
    return metrics


def mean_where_given(items: Iterable[float | None]) -> float:
    """Mean over the documents to which a metric applies; NaN if there is none."""
    value = mean(item for item in items if item is not None)
    return NAN if value is None else value


def ability_of(items: Iterable[Sequence[Any]]) -> float:
    """`metrics.ability` over [category, call_match] pairs; NaN if there is none."""
    value = ability((category, matched) for category, matched in items)
    return NAN if value is None else value
