"""One group of comparable runs as the values that the page's template lays out; pure.

Every word comes from `Words`, in both languages at once; every number is a text already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.reports.ability import policies_of
from infranode_eval.reports.archive import MAIN_SUITE
from infranode_eval.reports.bench import SUITE
from infranode_eval.reports.chain_tables import SHOWN_FIRST
from infranode_eval.reports.charts import Point, kinds_of, parts_of_bar, with_front
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.figures import Count
from infranode_eval.reports.groups import set_name
from infranode_eval.reports.items import Look, sightings_of
from infranode_eval.reports.planes import decimals_for, plane_of
from infranode_eval.reports.plays import CONTROL
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.ranks import MOST_RANKED, is_unranked
from infranode_eval.reports.sections import DISCORDANT, Group, identity_of, in_order, own_tables, report_sections
from infranode_eval.reports.standings import Standing, is_drawn
from infranode_eval.reports.team_conditions import common_line
from infranode_eval.reports.team_panel import team_panel
from infranode_eval.reports.team_rows import SUITE as TEAM
from infranode_eval.reports.words import Words
from infranode_eval.statistics import Interval, smallest_detectable_difference
from infranode_eval.tables import ABSENT, Table


def group_title(group: Group, words: Words) -> str:
    """The set, how it was asked, and how much of it."""
    name = set_name(group)
    key = f"set_{name}"
    parts = [words(key) if key in words else words.same(name)]
    parts[0] += words.same("" if name == group.dataset else " (?)")
    if group.suite == TEAM:
        return words.joined(" · ", [words.same(TEAM), words("team_set") if name == "all" else parts[0]])
    parts = parts if group.suite == MAIN_SUITE else [words.same(group.suite), *parts]
    parts += [words(f"mode_{group.mode}") if f"mode_{group.mode}" in words else words.same(group.mode),
              words("setup_of", setup=group.setup),
              words("n_cases" if group.suite == SUITE else "n_tasks", n=group.count)]
    parts += [words("n_repeats", n=group.repeats)] if group.repeats > 1 else []
    return words.joined(" · ", parts)


def differing(groups: Sequence[Group]) -> list[str]:
    """The fields in which the groups are not all equal."""
    return [field for field in Group._fields if len({getattr(g, field) for g in groups}) > 1]


def panel(number: int, group: Group, standings: Sequence[Standing], names: Mapping[int, str],
          run_numbers: Mapping[int, int], groups: Sequence[Group], month: str, words: Words,
          more: Sequence[Table] = ()) -> dict[str, Any]:
    """names: the label of each exhibit by its id(). run_numbers: its place in the list of tasks, if it stands there.

    more: tables that follow those of the report; in a bench they stand among its own. The suite chain is ranked, and
    has tables of its own besides.
    """
    fields = differing(groups)
    exhibits = [s.exhibit for s in standings]
    labels = [names[id(e)] for e in exhibits]
    because = words.joined(", ", [words.valued(f"field_{f}", str(getattr(group, f))) for f in fields])
    warnings = [{"id": f"g{number}-w{i}", "name": label, "lines": e.summary.warnings}
                for i, (e, label) in enumerate(zip(exhibits, labels, strict=True)) if e.summary.warnings]
    own, played = _own(exhibits, labels) if is_unranked(group.dataset, group.suite) else [], group.suite == PLAYED
    own, more = (own + list(more), ()) if group.suite == SUITE else (own, more)
    tables = [t for s in report_sections([e.summary for e in exhibits], _look(exhibits)) for t in s.tables]
    with_rows = [(e, label) for e, label in zip(exhibits, labels, strict=True) if e.summary.tally]
    bars = _bars(with_rows, group.suite, words)
    ranked, measure = not own, "task_success" if played else "call_match"
    own = [t for t in tables if t.title in SHOWN_FIRST] if played else own
    return {
        "id": f"g{number}", "title": group_title(group, words), "played": played, "measure": measure,
        "because": words("own_group", what=because) if fields else "",
        "identity": f"{group.suite} · {identity_of(group)}" if group.suite != TEAM
        else common_line([("", e.summary.team.conditions) for e in exhibits if e.summary.team]),
        "blocks": _blocks(number, standings, labels, words), "notes": _notes(group, standings, words),
        "warnings": warnings,
        "heat": _heat(with_rows, run_numbers, group.suite, words) if with_rows else None, "bars": bars,
        "kinds": [k for k in kinds_of(group.suite) if any(p["kind"] == k for b in bars for p in b["parts"])],
        "planes": _planes(list(zip(exhibits, labels, strict=True)), measure, month, words),
        "ranked": ranked, "own": own,
        "team": team_panel(number, exhibits, labels, run_numbers, words) if group.suite == TEAM else None,
        "tables": [*(t for t in tables if t.title not in {o.title for o in own}), *more],
    }


def _own(exhibits: Sequence[Exhibit], labels: Sequence[str]) -> list[Table]:
    """The tables of a set that is not ranked, before everything else; in the order of the report."""
    by_id = {id(e.summary): label for e, label in zip(exhibits, labels, strict=True)}
    summaries = in_order([e.summary for e in exhibits])
    return own_tables(summaries, [by_id[id(s)] for s in summaries])


def _look(exhibits: Sequence[Exhibit]) -> Look:
    """From the rows at hand."""
    return lambda _, ids: sightings_of(ids, [(e.run, e.tasks) for e in exhibits if not e.run.baseline])


# --- the ranking ------------------------------------------------------------------------------------------------------

def _blocks(number: int, standings: Sequence[Standing], labels: Sequence[str], words: Words) -> list[dict[str, Any]]:
    """One block of rows for each tier, then runs without a rank, then baselines."""
    blocks: dict[Any, dict[str, Any]] = {}
    for place, (standing, label) in enumerate(zip(standings, labels, strict=True)):
        if standing.tier is not None:
            key, title, about = standing.tier, words("tier", n=standing.tier), ""
        elif standing.outside == "baseline":
            key, title, about = "baseline", words("baselines"), words("baselines_about")
        elif standing.outside is None:
            key, title, about = "many", words("untiered"), words("untiered_about", n=MOST_RANKED)
        else:
            key, title, about = "outside", words("outside"), words("outside_about")
        block = blocks.setdefault(key, {"title": title, "about": about, "rows": []})
        block["rows"].append(_row(f"g{number}-w{place}", standing, label, words))
    for key, block in blocks.items():
        if isinstance(key, int) and len(block["rows"]) > 1:
            block["about"] = words("tier_one")
    return list(blocks.values())


def _row(anchor: str, standing: Standing, label: str, words: Words) -> dict[str, Any]:
    summary, run = standing.exhibit.summary, standing.exhibit.run
    strict, interval = summary.strict, summary.interval
    rank = "" if standing.best is None or standing.worst is None else \
        str(standing.best) if standing.best == standing.worst else f"{standing.best}–{standing.worst}"
    chain = summary.chain
    parts = ("answer_match", "evidence") if chain else ("tool_match", "args_given_tool")
    dots = _dots(strict.get("ability"), standing.ability, "ability", 12) + \
        _dots(strict.get(summary.measure), interval, "match", 25)
    program = (run.program or "").removeprefix("baseline: ")
    note = words(f"why_{standing.outside}") if standing.outside not in (None, "baseline") else program
    marks = [words("incomplete")] if not run.complete else []
    return {"name": label, "rank": rank, "outside": standing.outside is not None, "dots": dots, "note": note,
            "marks": marks, "warning": anchor if summary.warnings else "",
            "spoken": f"ability {_spoken(standing.ability)}, {summary.measure} {_spoken(interval)}",
            "ability": words.percent(strict.get("ability")), "match": words.percent(strict.get(summary.measure)),
            "range": words.limits(interval) if interval else "", "tool": words.percent(strict.get(parts[0])),
            "args": words.percent(strict.get(parts[1])),
            "answered": words.same(f"{run.n - run.failed}/{run.n}") if run.n else ABSENT}


def _dots(value: float | None, interval: Interval | None, kind: str, y: int) -> list[dict[str, Any]]:
    if value is None:
        return []
    low, high = (_at(interval.low), _at(interval.high)) if interval else (None, None)
    return [{"kind": kind, "at": _at(value), "low": low, "high": high, "y": y}]


def _at(share: float) -> str:
    return f"{100 * share:.2f}"


def _spoken(interval: Interval | None) -> str:
    if interval is None:
        return "unknown"
    return f"{100 * interval.estimate:.1f} % [{100 * interval.low:.1f}–{100 * interval.high:.1f}]"


def _notes(group: Group, standings: Sequence[Standing], words: Words) -> list[str]:
    summaries = [s.exhibit.summary for s in standings]
    drawn = any(map(is_drawn, summaries))
    methods = ", ".join(sorted({s.method for s in summaries} - {""})) or ABSENT
    notes = [words("ranking_more")] if any(s.tier is not None for s in standings) else []
    notes += [words("methods", ability=words("method_bootstrap" if drawn else "method_mover"),
                    measure=words.same(summaries[0].measure), match=methods)]
    count = len(tally.task_ids) if group.suite == PLAYED and (tally := summaries[0].tally) else group.count
    similar, unlike = (smallest_detectable_difference(count, d) for d in DISCORDANT)
    if unlike is None:
        return [*notes, words("smallest_none", n=count)]
    shown = [ABSENT if d is None else f"{100 * d:.0f}" for d in (similar, unlike)]
    return [*notes, words("smallest", n=count, a=shown[0], b=shown[1])]


# --- heat map and bars ------------------------------------------------------------------------------------------------

def categories_of(exhibits: Sequence[Exhibit]) -> list[str]:
    """In the order of the rows, those that are no part of ability last."""
    found = dict.fromkeys(c for e in exhibits for c in e.summary.categories)
    policies = {p for e in exhibits for p in policies_of(e.run.suite)}
    return [c for c in found if c not in policies] + [c for c in found if c in policies]


def _heat(runs: Sequence[tuple[Exhibit, str]], numbers: Mapping[int, int], suite: str,
          words: Words) -> dict[str, Any]:
    categories, policies = categories_of([e for e, _ in runs]), policies_of(suite)
    gloss = "play_{}" if suite == PLAYED else "cat_{}"
    columns = [{"pieces": (c or ABSENT).split("_"), "policy": c in policies,
                "gloss": words(name) if (name := gloss.format(c)) in words else ""} for c in categories]
    twins = any(e.summary.chain and e.summary.chain.control for e, _ in runs)
    columns += [{"pieces": [CONTROL], "policy": True, "gloss": words("play_control")}] if twins else []
    rows = []
    for exhibit, label in runs:
        cells = [_cell(exhibit.summary.categories.get(c), c, c in policies) for c in categories]
        cells += [_cell(_twins(exhibit), CONTROL, True)] if twins else []
        every = list(exhibit.summary.categories.values())
        total = Count(sum(c.solved for c in every), sum(c.n for c in every), sum(c.answered for c in every))
        cells.append(_cell(total, None))
        number = numbers.get(id(exhibit))
        rows.append({"name": label, "run": "" if number is None else number, "cells": cells})
    return {"columns": columns, "rows": rows, "policy": bool({*policies} & {*categories}), "twins": twins}


def _twins(exhibit: Exhibit) -> Count | None:
    """The rows of the control set of a run of the suite chain."""
    chain = exhibit.summary.chain
    if chain is None:
        return None
    found = chain.control_success
    return Count(int(found.k), int(found.n), int(found.n)) if found.n else None


def _cell(count: Count | None, category: str | None, policy: bool = False) -> dict[str, Any]:
    """heat: 0–10, "x" where no row was answered, which is no 0."""
    known = count is not None and count.answered > 0
    return {"text": f"{count.solved}/{count.n}" if count is not None and known else ABSENT, "category": category,
            "heat": round(10 * count.solved / count.n) if count is not None and known else "x",
            "policy": policy, "total": category is None}


def _bars(runs: Sequence[tuple[Exhibit, str]], suite: str, words: Words) -> list[dict[str, Any]]:
    bars, kinds = [], kinds_of(suite)
    for exhibit, label in runs:
        parts = parts_of_bar(exhibit.summary)
        counts = {p.kind: p.count for p in parts}
        bars.append({"name": label, "spoken": ", ".join(f"{words.english(f'kind_{p.kind}')} {p.count}" for p in parts),
                     "parts": [{"kind": p.kind, "x": _at(p.start), "w": _at(p.width), "count": p.count,
                                "label": p.width >= 0.05} for p in parts],
                     "counts": [counts.get(k, 0) for k in kinds]})
    present = [i for i, _ in enumerate(kinds) if any(b["counts"][i] for b in bars)]
    return [{**b, "counts": [b["counts"][i] for i in present]} for b in bars]


# --- effort -----------------------------------------------------------------------------------------------------------

def _planes(runs: Sequence[tuple[Exhibit, str]], measure: str, month: str, words: Words) -> list[dict[str, Any]]:
    """Cost where prices are known, else tokens; and seconds; none where nothing is stored."""
    runs = [(e, label) for e, label in runs if not e.run.baseline and e.summary.strict.get(measure) is not None]
    costs = [(e, label, e.effort.cost) for e, label in runs]
    tokens = [(e, label, e.effort.tokens) for e, label in runs]
    seconds = [(e, label, e.effort.latency_p50) for e, label in runs]
    planes = []
    for name, told, note in (("cost", costs, words("effort_price_note", month=month)), ("tokens", tokens, ""),
                             ("latency", seconds, words("effort_latency_note"))):
        if any(value is not None for _, _, value in told) and not (name == "tokens" and planes):
            planes.append(_plane(name, told, [note] if note else [], measure, words))
    return planes


def _plane(name: str, told: Sequence[tuple[Exhibit, str, float | None]], notes: list[str], measure: str,
           words: Words) -> dict[str, Any]:
    known = {label: (e, value) for e, label, value in told if value is not None}
    missing = [label for _, label, value in told if value is None]
    points = with_front([Point(label, value, e.summary.strict.get(measure) or 0.0)
                         for label, (e, value) in known.items()])
    more = [words("effort_missing", names=", ".join(missing))] if missing else []
    key = "effort_latency_play" if name == "latency" and measure == "task_success" else f"effort_{name}"
    slowest = {label: e.effort.latency_p95 for label, (e, _) in known.items()} if name == "latency" else None
    return plane_of(points, words(key), [*notes, *more], measure, words, decimals_for([p.effort for p in points]),
                    slowest)
