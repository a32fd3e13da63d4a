"""The verdict on a play: the route it declares, the SQL it ends with, and how it went there.

The same transcript gives the same score. Source: specification, db_routing, sections 1 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.db_routing.arms import anonymised, offered
from infranode_eval.db_routing.behaviour import behaviour_of
from infranode_eval.db_routing.compare import SqlVerdict
from infranode_eval.db_routing.costs import cost_of, tokens_of, upstreams, written_in_finalisation
from infranode_eval.db_routing.course import TOOL
from infranode_eval.db_routing.naive import chance
from infranode_eval.db_routing.route import NO_FINALISATION, Declaration, judge_route, read_declaration
from infranode_eval.db_routing.tasks import RoutingTask
from infranode_eval.db_routing.tools import toolset
from infranode_eval.db_routing.world import World
from infranode_eval.providers.protocol import Answer
from lm_eval_task.records import Call, Score

# What a row holds beside the shared names; of a failure all but the last three are null.
EXTRAS = ("declared", "declared_alias", "declaration_error", "prose_route", "route_ok", "first_probe", "probes",
          "switched", "declared_unprobed", "tool_turns", "tool_calls", "api_calls", "over_limit", "parallel_obeyed",
          "recovered_calls", "schema_truncated", "rows_truncated", "sql", "sql_set", "sql_strict", "sql_error",
          "stop_reason", "condition", "procedure", "upstreams", "history", "bucket", "database", "cluster")
AGENTIC = "agentic"


def failure_of(task: RoutingTask, outcome: str, why: str, sub: str | None = None) -> Score:
    """The row of a question that got no answer."""
    return Score(outcome, sub, (), why, details=dict.fromkeys(EXTRAS) | _of_task(task))


def _of_task(task: RoutingTask) -> dict[str, Any]:
    return {"bucket": task.bucket, "database": task.database, "cluster": task.cluster}


def score_play(task: RoutingTask, final: Answer | None, told: Mapping[str, Any], world: World) -> Score:
    """The verdict. final: the last reply, None where the context could not hold the finalisation.

    told: what a transcript holds under "db_routing".
    """
    agentic = told["procedure"] == AGENTIC
    this = anonymised(task) if agentic else offered(task, told["condition"])
    databases = this.databases
    declaration = NO_FINALISATION if final is None else read_declaration(
        final.message, final.finish_reason, this.labels, toolset(this.labels) if agentic else None)
    verdict = judge_route(declaration, this.gold)
    declared = databases[declaration.alias] if declaration.alias else None
    sql = _sql_verdict(task, declaration, declared, world) if agentic else SqlVerdict(None, None)
    calls = told["calls"]
    behaviour = behaviour_of(calls, databases, declared).to_json()
    details = dict.fromkeys(EXTRAS) | behaviour | {
        "declared": declared, "declared_alias": declaration.alias, "declaration_error": declaration.error,
        "prose_route": databases[declaration.prose] if declaration.prose else None, "route_ok": verdict.route_ok,
        "sql": declaration.sql, **sql.to_json(), "stop_reason": told["stop_reason"], "condition": told["condition"],
        "procedure": told["procedure"], "upstreams": upstreams(calls), "history": told["history"], **_of_task(task)}
    if not agentic:
        details |= {"declared_unprobed": None}
    if this.behind is not None:
        details["follows_paragraph"] = declared is not None and this.behind[declared] == task.database
    details |= spending_of(calls)
    if told.get("drawn_from"):
        details["chance"] = float(chance(told["drawn_from"]))
    return Score(verdict.outcome, verdict.sub, _labels(declaration, calls), verdict.why,
                 parsed=declaration.alias is not None, tool_match=verdict.route_ok, args_match=sql.sql_set,
                 call_match=verdict.route_ok, request_match=verdict.route_ok, lenient_call_match=verdict.lenient,
                 calls=() if declared is None else (Call("select_database", {"database": declared}),),
                 details=details)


def spending_of(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What sums of tokens do not tell: what was written into a cache, and what the provider says to bill for it all."""
    cost = cost_of(calls, None)
    found = {"cache_write": sum(tokens.written for call in calls if (tokens := tokens_of(call.get("usage")))),
             "final_cache_write": written_in_finalisation(calls)}
    return {name: count for name, count in found.items() if count} | (
        {} if cost.billed is None else {"billed": cost.billed})


def _sql_verdict(task: RoutingTask, declaration: Declaration, declared: str | None, world: World) -> SqlVerdict:
    """Gold first: a question whose gold does not run is out, whatever the reply. Without SQL the reason is told."""
    found = world.verdict(declared, declaration.sql, task.database, task.gold_sql, task.gold_ordered)
    if declared is not None and declaration.sql is None and found.sql_set is False and found.sql_error == "no_sql":
        return SqlVerdict(False, False, declaration.sql_error)
    return found


def _labels(declaration: Declaration, calls: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """How the answer was written, and what stands out of the way to it."""
    recovered = any(call.get("recovered") for call in calls if call["kind"] == TOOL)
    return tuple(dict.fromkeys((*declaration.notes, *(["recovered_calls"] if recovered else []))))
