"""Results of the suite team by hand, as run_eval.py writes them: the test says which rounds passed, and with whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.team.metrics import Play, Usage, run_values, scenario_values
from lm_eval_task.metrics import SCORER_VERSION

POOL = {"llm": {"model_id": "small-text", "modalities": {"text": True}},
        "vlm": {"model_id": "small-eyes", "modalities": {"text": True, "image": 8}},
        "omni": {"model_id": "small-ears", "modalities": {"text": True, "audio": 4}}}
LIMITS = {"turns": 40, "context": 128000, "worker_turns": 30, "runs": 200, "subagents": 64, "wall_s": 3600.0}


def agent(name: str = "leser", key: str = "llm", granted: str = "Read", used: str = "Read", files: int = 1,
          touched: int = 1, refused: int = 0, **media: int) -> dict[str, Any]:
    """granted, used: tools with blanks between them."""
    return Usage(name, key, frozenset(granted.split()), frozenset(used.split()), files,
                 frozenset(f"/arbeit/akten/{n}" for n in range(touched)),
                 {"image": 0, "audio": 0, "video": 0, **media}, refused, ("akten",)).to_json()


def row(scenario: str, passed: str = "+++", agents: Sequence[Mapping[str, Any]] = (), refusals: Sequence[str] = (),
        repeat: int = 1, **more: Any) -> dict[str, Any]:
    """passed: a round each, "+" passed, "-" not, "t" cut by the limit of turns. refusals: "main Read /arbeit/x r1"."""
    rounds = [{"id": f"r{n}", "passed": sign == "+", "reason": "turn_limit" if sign == "t" else None,
               "exit": 0 if sign == "+" else 1, "timed_out": False, "stdout": "OK\n" if sign == "+" else "falsch: x\n"}
              for n, sign in enumerate(passed, 1)]
    told = [dict(zip(("agent", "tool", "path", "round"), text.split(" "), strict=True)) for text in refusals]
    usages = tuple(Usage.from_json(one) for one in agents)
    play = Play(scenario, len(rounds), passed.count("+"), usages, sum(one["agent"] == "main" for one in told))
    outcome = "solved" if "+" * len(passed) == passed else "partial" if "+" in passed else "unsolved"
    team = {"values": scenario_values(play), "rounds": rounds, "subagents": list(agents), "refusals": told,
            "invocations": {"new_runtime": len(agents), "continue_runtime": 0, "new_background": 0,
                            "continue_background": 0, "workflow": 0},
            "usage": {"main": {"requests": 3}, "llm": {}, "vlm": {}, "omni": {}}, "replayed": 0, "live": 3}
    first = next((one for one in rounds if not one["passed"]), None)
    return {"task_id": scenario, "category": "law", "repeat": repeat, "outcome": outcome, "sub": None, "labels": [],
            "why": f"{first['id']}: exit 1, falsch: x" if first else "", "calls": None, "team": team,
            "reply": {"role": "assistant", "content": "fertig"}, "finish_reason": "stop", "usage": None,
            "latency_s": None, "attempts": 3, "error": None, **more}


def failed(scenario: str, repeat: int = 1) -> dict[str, Any]:
    return {**row(scenario, repeat=repeat), "outcome": "infra_error", "why": "timeout", "team": None, "reply": None,
            "finish_reason": None, "error": "timeout"}


def result(model: str, rows: Sequence[Mapping[str, Any]], *, rounds: int = 3, backend: str = "openai",
           cost: float | None = None, currency: str | None = "USD", tasks: str = "1" * 64,
           **settings: Any) -> dict[str, Any]:
    """The content of a results file. rounds: of a scenario that failed."""
    plays = [Play.from_row(one, None if one["team"] else rounds) for one in rows]
    lost = sum(play.failed for play in plays)
    metrics, answered = run_values(plays), run_values([play for play in plays if not play.failed])
    value = {"format": 1, "suite": "team", "set": "all", "model": model, "backend": backend, "mode": "native",
             "setup": "custom", "harness": "run_eval", "complete": not lost, "stopped": None,
             "scorer_version": SCORER_VERSION, "hashes": {"tasks": tasks, "tools": "2" * 64, "prompt": "3" * 64},
             "settings": {"temperature": 0.0, "max_tokens": 4096, "limit": None, "repeats": 1, "pool": POOL,
                          "sandbox": "bwrap", "workflow": "quickjs", "limits": LIMITS, **settings},
             "counts": {"n": len(rows), "scored": len(rows) - lost, "failed": lost},
             "headline": {"sms": metrics["sms"], "tcr": metrics["tcr"]}, "metrics": metrics, "answered": answered,
             "transcripts": {"file": f"{model}.transcripts.jsonl", "sha256": "0" * 64, "n": len(rows) - lost},
             "rows": list(rows)}
    if cost is not None:
        value["totals"] = {"input_tokens": 1000, "output_tokens": 100,
                           "cost": {"amount": cost, "currency": currency, "source": "list"}}
    return value


def summary(model: str, rows: Sequence[Mapping[str, Any]], **more: Any) -> Summary:
    return summarise(run_from_json(result(model, rows, **more), f"results/team/{model}.json"))


def demo() -> list[Summary]:
    """Four runs: a careful one, a lavish one, a cheap one that failed once, one alone in another sandbox."""
    eyes, ears = agent("bild", "vlm", image=1), agent("ton", "omni", audio=1)
    idle = agent("auge", "vlm", granted="Read Write Bash", files=4)
    return [
        summary("lavish", [row("recht", "+++", [agent("alles", granted="Read Write Bash Grep", files=20, touched=5)]),
                           row("pegel", "++-", [idle, agent("ohr", "omni", refused=2, audio=1)],
                               ["ohr Read /arbeit/akten/x r2"] * 2)], cost=4.0),
        summary("careful", [row("recht", "+++", [agent(), eyes], ["main Read /arbeit/akten/y r1"]),
                            row("pegel", "+++", [agent(), ears])], cost=9.5),
        summary("cheap", [row("recht", "+t-", [agent()]), failed("pegel")], cost=0.25),
        summary("alone", [row("recht", "++-"), row("pegel", "---")], sandbox="none")]
