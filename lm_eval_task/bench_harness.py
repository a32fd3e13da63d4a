"""The test bench as lm-evaluation-harness sees it: documents, prompt, metrics of one document, aggregations.

As harness.py for the main suite; verdicts come from bench.score_case. Prompted mode only: lm-eval hands over one text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from lm_eval_task.bench import score_case
from lm_eval_task.bench_prompt import prompt_text
from lm_eval_task.cases import SILENT, STAGES, Cases, offered, read_cases
from lm_eval_task.harness import NAN, task_of
from lm_eval_task.records import Reply, Score, Task


@lru_cache(maxsize=4)
def _cases(which: str = "original") -> Cases:
    return read_cases(which=which)


def documents(which: str = "original") -> list[dict[str, str]]:
    """One flat dict of strings per case, in file order; the case itself travels as JSON text in `row`."""
    return [{"task_id": t.task_id, "category": t.category, "question": t.question,
             "row": json.dumps(t.to_json(), ensure_ascii=False)} for t in _cases(which).tasks]


def custom_dataset(set: str = "original", **_: Any) -> dict[str, Any]:
    """{"test": datasets.Dataset}; lm-eval passes the YAML's metadata as keywords."""
    import datasets  # part of lm-eval; not needed by the scorer

    return {"test": datasets.Dataset.from_list(documents(set))}


def doc_to_text(doc: Mapping[str, str]) -> str:
    cases = _cases()
    return prompt_text(offered(task_of(doc), cases.tools), doc["question"], cases.system)


def process_results(doc: Mapping[str, str], results: Sequence[str]) -> dict[str, Any]:
    """Metrics of one document; None: does not apply to it. Means over documents are those of bench.aggregate_cases.

    An empty text counts as not solved, not form-correct, not still (the strict numbers); a reply cut by the budget is
    not known as such here.
    """
    task, cases = task_of(doc), _cases()
    reply = Reply.from_text(results[0] or "", finish_reason=None)
    return numbers_of(task, score_case(task, reply, cases.tools, "prompt", cases.zone))


def numbers_of(task: Task, score: Score) -> dict[str, Any]:
    """A verdict as the metrics of its document."""
    details, success = score.details, float(bool(score.call_match))
    silent, emitted = task.category in SILENT, details.get("emitted", 0)
    still = float(score.outcome == "abstain_ok")
    metrics: dict[str, Any] = {
        "auftraege_gelungen": success,
        "call_match": success,
        "formkorrekt": None if silent else float(emitted >= 1 and not details["broken"]),
        "richtig_je_schritt": None if silent else [details.get("hits", 0), len(task.expected)],
        "schritte_je_auftrag": float(emitted),
        "stillgehalten": still if silent else None,
        "ability": [task.category, success],
        "parsed": float(bool(score.parsed)),
        "streng_auftraege_gelungen": float(bool(details.get("streng_match"))),
        "first_step_only": float(bool(details.get("first_step_only"))) if task.category == "S3" else None,
    }
    for name in ("asked", "asked_right", "claims_done"):
        value = details.get(name) if task.category == "S5" else None
        metrics[name] = None if value is None else float(value)
    for stage in STAGES:
        metrics[f"call_match_{stage}"] = success if stage == task.category else None
    return metrics


def ratio_of_sums(items: Iterable[Sequence[float] | None]) -> float:
    """The sum of the first numbers by the sum of the second; NaN where the second is 0."""
    pairs = [item for item in items if item is not None]
    whole = sum(of for _, of in pairs)
    return sum(part for part, _ in pairs) / whole if whole else NAN
