"""Results of the suite db_routing by hand, as run_eval.py writes them: the test says what each question got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.db_routing.behaviour import answered
from infranode_eval.db_routing.metrics import metrics_of
from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import Summary, summarise
from lm_eval_task.metrics import SCORER_VERSION

DATABASES = {"laden": "handel", "werkstatt": "handel", "hafen": None}
WRONG = {"laden": "werkstatt", "werkstatt": "laden", "hafen": "laden"}
HARD, FREE = "neighbour_hard", "neighbour_free"
PANEL = "9" * 64


def row(task: str, said: str = "right", bucket: str = HARD, **more: Any) -> dict[str, Any]:
    """A row of "laden-1" and the like. said: right, wrong, none, or failed; more: keys of the row as they shall be."""
    database = task.partition("-")[0]
    shared = {"task_id": f"db_routing-{task}", "category": bucket, "repeat": more.pop("repeat", 1), "labels": [],
              "bucket": bucket, "database": database, "cluster": DATABASES[database], "latency_s": None,
              "attempts": 2, "reply": None, "finish_reason": None}
    if said == "failed":
        return {**_NULL, **shared, "outcome": "infra_error", "why": "timeout", "error": "timeout", "usage": None,
                **more}
    declared = {"right": database, "wrong": WRONG[database], "none": None}[said]
    right = said == "right"
    return {**_NULL, **shared, "outcome": {"right": "ok", "wrong": "wrong_database", "none": "no_declaration"}[said],
            "sub": "missing" if said == "none" else None, "why": f"declares {declared}", "parsed": declared is not None,
            **dict.fromkeys(("tool_match", "call_match", "request_match", "lenient_call_match", "route_ok", "sql_set",
                             "sql_strict", "args_match"), right),
            "calls": [] if declared is None else [{"name": "select_database", "arguments": {"database": declared}}],
            "declared": declared, "declaration_error": "missing" if said == "none" else None,
            "first_probe": declared, "probes": [declared] if declared else [], "switched": False,
            "declared_unprobed": False if declared else None, "tool_turns": 2, "tool_calls": 1, "api_calls": 3,
            "over_limit": 0, "parallel_obeyed": True, "recovered_calls": 0, "schema_truncated": 0,
            "rows_truncated": 0, "stop_reason": "stopped", "condition": "anonymised", "procedure": "agentic",
            "upstreams": [], "history": "native", "usage": None, "error": None, **more}


_NULL = dict.fromkeys((
    "outcome", "sub", "why", "parsed", "tool_match", "args_match", "call_match", "request_match", "datum_match",
    "lenient_call_match", "calls", "declared", "declared_alias", "declaration_error", "prose_route", "route_ok",
    "first_probe", "probes", "switched", "declared_unprobed", "tool_turns", "tool_calls", "api_calls", "over_limit",
    "parallel_obeyed", "recovered_calls", "schema_truncated", "rows_truncated", "sql", "sql_set", "sql_strict",
    "sql_error", "stop_reason", "condition", "procedure", "upstreams", "history"))


def rows(hard: Sequence[str] = (), free: Sequence[str] = (), names: Sequence[str] = ("laden", "werkstatt", "hafen"),
         **more: Any) -> list[dict[str, Any]]:
    """What each hard question got, then each free one; databases take turns."""
    return [row(f"{names[i % len(names)]}-{bucket[10]}{i}", said, bucket, **more)
            for bucket, told in ((HARD, hard), (FREE, free)) for i, said in enumerate(told)]


def right(k: int, n: int, failed: int = 0) -> list[str]:
    """k right, then wrong ones, of n, the last of them failed."""
    return ["right"] * k + ["wrong"] * (n - k - failed) + ["failed"] * failed


def result(model: str, made: Sequence[Mapping[str, Any]], *, condition: str = "anonymised",
           procedure: str = "agentic", panel: str = PANEL, mode: str = "native", backend: str = "openai",
           **settings: Any) -> dict[str, Any]:
    """The content of a results file."""
    made = [{**one, **({} if one["outcome"] == "infra_error" else {"condition": condition, "procedure": procedure})}
            for one in made]
    failed = sum(one["outcome"] == "infra_error" for one in made)
    return {"format": 1, "suite": "db_routing", "set": "core", "model": model, "backend": backend, "mode": mode,
            "setup": "custom", "harness": "run_eval", "complete": not failed, "stopped": None,
            "scorer_version": SCORER_VERSION,
            "hashes": {"tasks": "1" * 64, "tools": "2" * 64, "prompt": "3" * 64, "panel": panel},
            "settings": {"temperature": 0.0, "max_tokens": 1024, "limit": None, "repeats": 1, **settings,
                         "condition": condition, "procedure": procedure},
            "counts": {"n": len(made), "scored": len(made) - failed, "failed": failed},
            "headline": {"route_neighbour_hard": None, "route_ok": None},
            "metrics": metrics_of(made, 3), "answered": metrics_of(answered(made), 3),
            "transcripts": {"file": f"{model}.transcripts.jsonl", "sha256": "0" * 64, "n": len(made) - failed},
            "rows": list(made)}


def summary(model: str, made: Sequence[Mapping[str, Any]], **more: Any) -> Summary:
    value = result(model, made, **more)
    return summarise(run_from_json(value, f"{model}{more.get('condition', '')}{more.get('limit', '')}.json"))
