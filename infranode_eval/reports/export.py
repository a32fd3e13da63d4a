"""The report for programs: one JSON document, or one flat table as CSV.

Pure. Proportions are 0–1, absent values null or empty. Columns and keys may be added, those here keep their names and
their meaning. CSV is one table a file, tidy (one row per run, or one per run and category), as pandas.read_csv expects
it; `model` and `path` together name a run in every table.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.harmless import clean
from infranode_eval.reports.abstention import DONE
from infranode_eval.reports.abstention_tables import abstention_json, line_json
from infranode_eval.reports.arms import effect_json, families_of
from infranode_eval.reports.bench_tables import bench_json, bench_line, stage_json
from infranode_eval.reports.chain_tables import category_lines, chain_json, chain_line
from infranode_eval.reports.db_routing_arms import arm_lines, arms_json, families
from infranode_eval.reports.db_routing_panels import definitions_of, panel_of
from infranode_eval.reports.db_routing_tables import route_lines, routing_json, routing_line
from infranode_eval.reports.figures import Count, Summary
from infranode_eval.reports.items import Look
from infranode_eval.reports.items_tables import items_json
from infranode_eval.reports.ranks import tiers
from infranode_eval.reports.robustness import Noise
from infranode_eval.reports.robustness_tables import noises_of, robustness_json, variant_json
from infranode_eval.reports.sections import DISCORDANT, Group, grouped
from infranode_eval.reports.team import Team
from infranode_eval.reports.team_export import (
    HEADERS as TEAM_HEADERS,
)
from infranode_eval.reports.team_export import (
    refusal_lines,
    round_lines,
    scenario_lines,
    subagent_lines,
    team_json,
    team_line,
)
from infranode_eval.reports.wordings import wordings_json, wordings_of
from infranode_eval.statistics import smallest_detectable_difference, wilson

FORMAT = 1
_SOMETIMES = ("world", "results", "panel", "condition", "cut")        # keys of groups of some suites
SHARES = ("native", "recovered", "malformed", "truncated")


def report_json(summaries: Iterable[Summary], left_out: Sequence[str] = (), look: Look | None = None) -> str:
    """The document. left_out: the files that could not be read, each with its reason. look: as in `items`."""
    summaries = list(summaries)
    groups = [_group_json(group, inside, look) for group, inside in grouped(summaries)]
    arms = [effect_json(effect) for effects in families_of(summaries)[0] for effect in effects]
    wordings = [wordings_json(one) for one in wordings_of(summaries)]
    return json_text({"format": FORMAT, "groups": groups, "arms": arms, "wordings": wordings,
                      "left_out": list(left_out), **_routing_parts(summaries)})


def _routing_parts(summaries: Sequence[Summary]) -> dict[str, Any]:
    """The conditions in one request, and the definitions of each panel; empty without a run of the suite."""
    found = {(s.routing.panel, s.routing.votes): panel_of(s.routing.panel) for s in summaries if s.routing is not None}
    if not found:
        return {}
    return {"routing_arms": [arms_json(family) for family in families(summaries)],
            "definitions": {str(sha): [one.to_json() for one in definitions_of(panel, votes)]
                            for (sha, votes), panel in found.items()}}


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _group_json(group: Group, summaries: Sequence[Summary], look: Look | None) -> dict[str, Any]:
    """Runs that may be compared with each other, in the order of the tables; those of other groups may not."""
    noises = noises_of(summaries)
    told = {name: value for name, value in group._asdict().items() if name not in _SOMETIMES or value}
    return {**told,
            "detectable": {str(share): smallest_detectable_difference(group.count, share)
                           for share in DISCORDANT if group.count},
            "items": items_json(summaries, look),
            "runs": [_run_json(s, tier, noises[s.run.path])
                     for s, tier in zip(summaries, tiers(summaries), strict=True)]}


def _run_json(summary: Summary, tier: int | None, noise: Noise | None) -> dict[str, Any]:
    run, steady, interval = summary.run, summary.steadiness, summary.interval
    return {
        "model": run.model, "path": run.path, "harness": run.harness, "backend": run.backend,
        "baseline": run.baseline, "complete": run.complete, "budget_limited": summary.budget_limited, "tier": tier,
        "n": run.n, "scored": run.n - run.failed, "failed": run.failed, "hashes": dict(run.hashes),
        "settings": dict(run.settings), "strict": dict(summary.strict), "answered": dict(summary.answered),
        "macro": summary.macro,
        "interval": None if interval is None else {"low": interval.low, "high": interval.high, "level": 0.95,
                                                   "method": summary.method},
        "hard": _count_json(summary.difficulty["hard"]) if "hard" in summary.difficulty else None,
        "difficulty": {bucket: _count_json(count) for bucket, count in summary.difficulty.items()},
        "categories": {name: _count_json(count, summary.measure) for name, count in summary.categories.items()},
        "fates": dict(summary.fates), "outcomes": dict(summary.outcomes), "shares": dict(summary.shares),
        "first_calls": None if summary.profile is None else dict(summary.profile),
        "repeats": None if steady is None else {
            summary.measure: list(steady.call_match), "drift": steady.drift, "changed": steady.changed,
            "tasks": steady.tasks, "pass_hat": list(steady.pass_hat)},
        "robustness": None if summary.robustness is None else robustness_json(summary.robustness, noise),
        "abstention": None if summary.abstention is None else abstention_json(summary.abstention),
        "bench": None if summary.bench is None else bench_json(summary.bench),
        **({} if summary.chain is None else {"chain": chain_json(summary.chain)}),
        **({} if summary.routing is None else {"routing": routing_json(summary, summary.routing)}),
        **({} if summary.team is None else {"team": team_json(summary.team)}),
        "warnings": list(summary.warnings)}


def _count_json(count: Count, measure: str = "call_match") -> dict[str, Any]:
    return {"solved": count.solved, "n": count.n, "answered": count.answered,
            measure: count.solved / count.n if count.answered else None}


# --- CSV --------------------------------------------------------------------------------------------------------------

Line = Mapping[str, Any]


def _run_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    run, interval = summary.run, summary.interval if summary.chain is None else None    # it has a table of its own
    hard, steady = summary.difficulty.get("hard"), summary.steadiness
    return [{
        **_identity(summary), "suite": group.suite, "dataset": group.dataset, "mode": group.mode, "setup": group.setup,
        "tasks_hash": run.hashes.get("tasks"), "tools_hash": run.hashes.get("tools"),
        "prompt_hash": run.hashes.get("prompt"), "scorer_version": group.scorer, "task_count": group.count,
        "repeats": group.repeats, "harness": run.harness, "backend": run.backend, "baseline": run.baseline,
        "complete": run.complete, "budget_limited": summary.budget_limited, "arm": run.arm, "tier": tier,
        "n": run.n, "scored": run.n - run.failed, "failed": run.failed, "ability": summary.strict.get("ability"),
        "call_match": summary.strict.get("call_match"), "call_match_low": interval.low if interval else None,
        "call_match_high": interval.high if interval else None,
        "interval_method": (summary.method or None) if interval else None,
        "call_match_answered": summary.answered.get("call_match"), "macro": summary.macro,
        **{name: summary.strict.get(name) for name in ("tool_match", "args_match", "tool_choice", "args_given_tool",
                                                       "parsed", "request_match", "datum_match",
                                                       "lenient_call_match")},
        "hard_solved": hard.solved if hard else None, "hard_n": hard.n if hard else None,
        **{name: summary.shares.get(name) for name in SHARES},
        "drift": steady.drift if steady else None, "changed": steady.changed if steady else None,
        "pass_hat_k": steady.pass_hat[-1] if steady else None, "warnings": " | ".join(summary.warnings) or None}]


def _identity(summary: Summary) -> dict[str, Any]:
    return {"model": summary.run.model, "path": summary.run.path}


def _category_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    """Wilson limits, and only for tasks asked once: repeats of a task are no independent rows."""
    lines: list[Line] = []
    if summary.chain is not None:       # call_match is no number of theirs: see the table chain_categories
        return lines
    for name, count in summary.categories.items():
        known = wilson(count.solved, count.n) if count.answered and summary.repeats == 1 else None
        lines.append({**_identity(summary), "category": name, **_count_json(count),
                      "low": known.low if known else None, "high": known.high if known else None})
    return lines


def _outcome_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    return [{**_identity(summary), "outcome": name, "rows": count, "share": count / summary.run.n}
            for name, count in summary.outcomes.items()]


def _first_call_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    return [{**_identity(summary), "first_call": name, "rows": count}
            for name, count in (summary.profile or {}).items()]


def _repeat_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    steady = summary.steadiness
    if steady is None:
        return []
    if summary.chain is not None:
        return []
    numbers = zip(steady.call_match, steady.pass_hat, strict=False)
    return [{**_identity(summary), "k": k, "call_match_of_repeat": value, "pass_hat_k": chance}
            for k, (value, chance) in enumerate(numbers, 1)]


def _difficulty_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    return [{**_identity(summary), "bucket": name, **_count_json(count)} for name, count in summary.difficulty.items()]


def _variant_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    return [{**_identity(summary), "variant": effect.variant, **variant_json(effect)}
            for effect in (summary.robustness.effects if summary.robustness else ())]


def _abstention_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    return [{**_identity(summary), "gold": line.gold, "category": category, **line_json(line)}
            for category, line in (summary.abstention.categories if summary.abstention else {}).items()]


def _bench_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    found = summary.bench
    return [{**_identity(summary), "dataset": group.dataset, "mode": group.mode, **bench_line(summary, found)}] \
        if found else []


def _stage_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    found = summary.bench
    return [{**_identity(summary), "stage": stage, **stage_json(found, stage)}
            for stage in found.stages] if found else []


def _chain_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    found = summary.chain
    return [{**_identity(summary), "dataset": group.dataset, "mode": group.mode, "setup": group.setup,
             "world": group.world, "max_result_chars": summary.run.settings.get("max_result_chars"),
             "prompt_hash": summary.run.hashes.get("prompt"), "repeats": group.repeats, "tier": tier,
             **chain_line(summary, found)}] if found else []


def _chain_category_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    found = summary.chain
    return [{**_identity(summary), **line} for line in category_lines(summary, found)] if found else []


def _near_miss_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    return [{**_identity(summary), "near_miss": miss.name, "rows": miss.rows, "tasks": " ".join(miss.tasks)}
            for miss in (summary.chain.near if summary.chain else ())]


def _routing_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    found = summary.routing
    return [{**_identity(summary), "dataset": group.dataset, "mode": group.mode, "setup": group.setup,
             "prompt_hash": summary.run.hashes.get("prompt"), "repeats": group.repeats,
             **routing_line(summary, found, tier)}] if found else []


def _route_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    return [{**_identity(summary), **line} for line in route_lines(summary, summary.routing)] \
        if summary.routing else []


def _of_team(lines: Callable[[Team], Iterable[Line]]) -> Callable[[Group, Summary, int | None], list[Line]]:
    """A table about runs of the suite team."""
    return lambda group, summary, tier: [] if summary.team is None else \
        [{**_identity(summary), **line} for line in lines(summary.team)]


def _team_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    return [] if summary.team is None else [{**_identity(summary), "dataset": group.dataset,
                                             **team_line(summary, summary.team)}]


def _no_lines(group: Group, summary: Summary, tier: int | None) -> list[Line]:
    """Of a table that is about several runs at once."""
    return []


def items_csv(summaries: Iterable[Summary]) -> str:
    """One row per task of each group that enough models answered."""
    lines = [{"dataset": group.dataset, "tasks_hash": group.tasks, "mode": group.mode, "setup": group.setup,
              "models": items["models"], **item}
             for group, inside in grouped(summaries) if (items := items_json(inside)) for item in items["tasks"]]
    return csv_text(lines, ("dataset", "tasks_hash", "mode", "setup", "models", "task_id", "category", "right",
                            "discrimination", "gap", "why"))


TABLES: Mapping[str, Callable[[Group, Summary, int | None], list[Line]]] = {
    "runs": _run_lines, "categories": _category_lines, "outcomes": _outcome_lines, "first_calls": _first_call_lines,
    "repeats": _repeat_lines, "difficulty": _difficulty_lines, "variants": _variant_lines,
    "abstention": _abstention_lines, "bench": _bench_lines, "stages": _stage_lines, "chain": _chain_lines,
    "chain_categories": _chain_category_lines, "near_misses": _near_miss_lines, "routing": _routing_lines,
    "routes": _route_lines, "routing_arms": _no_lines, "team": _team_lines,
    "team_scenarios": _of_team(scenario_lines), "team_rounds": _of_team(round_lines),
    "team_subagents": _of_team(subagent_lines), "team_refusals": _of_team(refusal_lines)}
_RUN = ("model", "path")
_HEADERS = {     # of tables without lines
    "runs": _RUN, "categories": (*_RUN, "category", "solved", "n", "answered", "call_match", "low", "high"),
    "outcomes": (*_RUN, "outcome", "rows", "share"), "first_calls": (*_RUN, "first_call", "rows"),
    "repeats": (*_RUN, "k", "call_match_of_repeat", "pass_hat_k"),
    "difficulty": (*_RUN, "bucket", "solved", "n", "answered", "call_match"),
    "variants": (*_RUN, "variant", "n", "original", "call_match", "drop", "low", "high", "method", "gained", "lost",
                 "p_mcnemar", "p_exact", "p_clusters", "p", "p_holm"),
    "abstention": (*_RUN, "gold", "category", "n", "right", *(f"done_{name}" for name in DONE)),
    "bench": _RUN, "stages": (*_RUN, "stage", "solved", "n", "answered", "streng", "value", "low", "high",
                              "pass_hat_k"),
    "chain": _RUN, "chain_categories": (*_RUN, "category", "n", "solved", "task_success", "low", "high"),
    "near_misses": (*_RUN, "near_miss", "rows", "tasks"), "routing": _RUN, "routes": (*_RUN, "kind", "name"),
    "routing_arms": (*_RUN, "condition", "bucket"),
    **{name: (*_RUN, *columns) for name, columns in TEAM_HEADERS.items()}}


def report_csv(summaries: Iterable[Summary], table: str = "runs") -> str:
    """One of TABLES, with a header even where it has no line."""
    if table == "routing_arms":
        return csv_text(arm_lines(families(summaries)), _HEADERS[table])
    lines = [line for group, inside in grouped(summaries)
             for summary, tier in zip(inside, tiers(inside), strict=True)
             for line in TABLES[table](group, summary, tier)]
    return csv_text(lines, _HEADERS[table])


def csv_text(lines: Sequence[Line], header: Sequence[str] = ()) -> str:
    """RFC 4180 with \\n line ends. header: of a table without lines."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(lines[0] if lines else header)
    writer.writerows([_cell(value) for value in line.values()] for line in lines)
    return stream.getvalue()


def _cell(value: Any) -> Any:
    """A text of unknown origin made harmless; one that a spreadsheet would run as a formula gets an apostrophe."""
    if not isinstance(value, str):
        return value
    return f"'{clean(value)}" if value[:1] in ("=", "+", "-", "@") else clean(value)
