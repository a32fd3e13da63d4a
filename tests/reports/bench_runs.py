"""Results of the suite bench by hand, as run_eval.py writes them: 42 cases, every verdict stated by the test."""

from __future__ import annotations

from typing import Any

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.tasksets import TaskSet
from lm_eval_task.metrics import SCORER_VERSION
from lm_eval_task.records import MATCHES, Call, Task, tasks_fingerprint

SIZES = {"S1": 8, "S2": 12, "S3": 8, "S4": 6, "S5": 8}
STEPS = {"S1": 1, "S2": 1, "S3": 2, "S4": 0, "S5": 0}
TOOLS_HASH = "b" * 64


def task(stage: str, number: int, which: str = "original") -> Task:
    steps = 3 if (stage, number) == ("S3", 8) else STEPS[stage]
    calls = tuple(Call("get_contact", {"contact_id": f"{stage}-{number}-{k}"}) for k in range(steps))
    question = f"Auftrag {stage}-{number}" if which == "original" else f"Anders gesagt: Auftrag {stage}-{number}"
    return Task(f"{stage}-{number}", question, calls, category=stage,
                extra={"prueft": f"prüft {stage}-{number}", "fallen": "die naheliegende Falle"})


CASES = tuple(task(stage, number) for stage, size in SIZES.items() for number in range(1, size + 1))


def known(which: str = "original") -> TaskSet:
    tasks = tuple(task(t.category, int(t.task_id.partition("-")[2]), which) for t in CASES)
    return TaskSet(which, tasks_fingerprint(tasks), {t.task_id: t for t in tasks}, suite="bench")


def right(case: Task) -> dict[str, Any]:
    """The details and outcome of a right row."""
    steps = len(case.expected)
    return {"outcome": "ok" if steps else "abstain_ok", "call_match": True, "hits": steps, "steps": steps,
            "emitted": steps, "form_notes": [], "streng_match": True, "streng_hits": steps, "broken": False,
            "asked": case.category == "S5", "asked_right": case.category == "S5", "claims_done": False,
            "first_step_only": False}


def wrong(case: Task, outcome: str = "wrong_args", **more: Any) -> dict[str, Any]:
    return {**right(case), "outcome": outcome, "call_match": False, "hits": 0, "streng_match": False, "streng_hits": 0,
            "asked": False, "asked_right": False, **more}


def called(case: Task, calls: int = 1) -> dict[str, Any]:
    """A case that wants no call, and got some."""
    return wrong(case, "extra_calls", emitted=calls)


def failure() -> dict[str, Any]:
    return {"outcome": "infra_error", "call_match": None}


def result(verdicts: dict[str, dict[str, Any]] | None = None, *, repeats: int = 1, cases: tuple[Task, ...] = CASES,
           later: dict[str, dict[str, Any]] | None = None, **header: Any) -> dict[str, Any]:
    """verdicts: by id what is not right; later: the same from the second repeat on, where it differs."""
    rows = []
    for repeat in range(1, repeats + 1):
        told = (verdicts or {}) if repeat == 1 or later is None else later
        rows += [_row(case, repeat, told.get(case.task_id) or right(case)) for case in cases]
    failed = sum(row["call_match"] is None for row in rows)
    return {"format": 1, "suite": "bench", "set": "original", "harness": "run_eval", "model": "demo",
            "backend": "openai", "mode": "prompt", "setup": "custom", "complete": not failed,
            "scorer_version": SCORER_VERSION,
            "hashes": {"tasks": tasks_fingerprint(cases), "tools": TOOLS_HASH, "prompt": "c" * 64},
            "settings": {"max_tokens": 512, "temperature": 0.0},
            "counts": {"n": len(rows), "scored": len(rows) - failed, "failed": failed},
            "headline": {"auftraege_gelungen": None}, "metrics": {}, "answered": {}, "rows": rows} | header


def _row(case: Task, repeat: int, told: dict[str, Any]) -> dict[str, Any]:
    match = told["call_match"]
    reply = None if match is None else {"role": "assistant", "content": "…"}
    return {"task_id": case.task_id, "category": case.category, "repeat": repeat, "sub": None, "labels": [],
            "why": "", **dict.fromkeys(MATCHES, match), "calls": None, "reply": reply, "finish_reason": "stop",
            "usage": None, "latency_s": None, "attempts": 1, "error": None, **told}


def summary(verdicts: dict[str, dict[str, Any]] | None = None, *, path: str | None = None, which: str = "original",
            sets: tuple[TaskSet, ...] | None = None, **options: Any) -> Summary:
    sets = (known(), known("paraphrase")) if sets is None else sets
    if which != "original":
        options |= {"cases": tuple(known(which).tasks.values()), "set": which}
    value = result(verdicts, **options)
    return summarise(run_from_json(value, path or f"results/bench/{value['model']}.json"), sets)


BY_ID = {case.task_id: case for case in CASES}


def fixture() -> dict[str, dict[str, Any]]:
    """The specification's: S2-9 books the room "raum", S5-8 looks into calendars."""
    return {"S2-9": wrong(BY_ID["S2-9"]), "S5-8": called(BY_ID["S5-8"], 2)}
