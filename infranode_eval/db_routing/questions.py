"""Questions of the panel as tasks: gold, why no other database, decoys, hardness.

The form is that of the specification, db_routing, section 1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from infranode_eval.db_routing.alike import likeness
from infranode_eval.db_routing.bench import DIGITS, Bench, Result
from infranode_eval.db_routing.composition import MOST_LIKE_QUESTION
from infranode_eval.db_routing.decoys import decoys_of
from infranode_eval.db_routing.gates import GATES
from infranode_eval.db_routing.hardness import Verdict
from infranode_eval.db_routing.intents import Intent
from lm_eval_task.records import canonical_json

TOOL = "select_database"
HARD, FREE = "neighbour_hard", "neighbour_free"


def task_id_of(intent: str) -> str:
    """Of the intent's id: "filialhandel-017" → "db_routing-filialhandel-017"."""
    return f"db_routing-{intent}"


def question_row(intent: Intent, bench: Bench, verdict: Verdict) -> dict[str, Any]:
    """The line of questions.jsonl of an intent that has passed the gates."""
    sources, bucket = bench.sources, HARD if verdict.flagged else FREE
    gold = bench.gold(intent)
    question, paraphrase = intent.phrasings["a"], intent.phrasings["c"]
    return {
        "task_id": task_id_of(intent.name), "set": "core", "category": bucket, "question": question,
        "expected": [{"name": TOOL, "arguments": {"database": intent.database}}],
        "database": intent.database, "cluster": sources.register.databases[intent.database].cluster,
        "intent": intent.name, "level": intent.level, "gold_sql": sources.sql(intent),
        "gold_ordered": intent.is_ordered, "gold_rows": len(gold),
        "gold_sha256": result_sha256(gold, ordered=intent.is_ordered), "concepts": sources.concepts(intent),
        "why_not": why_not(intent, bench), "decoys": decoys_of(intent, sources),
        "hardness": {"foreign": verdict.foreign, "neighbours": verdict.neighbours, "votes": None, "bucket": bucket},
        "paraphrase": paraphrase if likeness(question, paraphrase) < MOST_LIKE_QUESTION else None,
        "verified": {"level": "generated", "gates": len(GATES)}}


def why_not(intent: Intent, bench: Bench) -> dict[str, dict[str, list[str]]]:
    """Other database → concepts that it lacks, and those of them that the question says."""
    concepts, said = bench.sources.concepts(intent), bench.voiced(intent, "a")
    found = {}
    for other in bench.register.others(intent.database):
        lacks = bench.register.lacking(other, concepts)
        found[other] = {"lacks": lacks, "voiced_by": [concept for concept in lacks if concept in said]}
    return found


def result_sha256(rows: Result, *, ordered: bool) -> str:
    """Over the rows as canonical JSON, numbers to 6 decimals; sorted by their JSON text where no order is asked for."""
    lines = [canonical_json([round(v, DIGITS) if isinstance(v, float) else v for v in row]) for row in rows]
    return hashlib.sha256("\n".join(lines if ordered else sorted(lines)).encode()).hexdigest()


def question_line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
