"""The sections of the report: summaries in, headings with tables out.

Runs that cannot be compared (mode, set-up, tasks, tools, prompt, scorer) never share a table: each group has its own
section, and a line says in what the groups differ. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from infranode_eval.reports.abstention_tables import abstention_tables
from infranode_eval.reports.archive import OUTCOMES, UNKNOWN, short_hash
from infranode_eval.reports.bench import SUITE, setup_of
from infranode_eval.reports.bench_tables import bench_tables, place_of, streng_leads
from infranode_eval.reports.chain import world_name
from infranode_eval.reports.chain_tables import chain_tables
from infranode_eval.reports.comparison import DISCORDANT
from infranode_eval.reports.db_routing_ranks import order_key
from infranode_eval.reports.db_routing_rows import OUTCOMES as ROUTE_OUTCOMES
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.db_routing_tables import definition_sections, routing_notes, routing_tables
from infranode_eval.reports.difficulty import BUCKETS
from infranode_eval.reports.figures import FATES, POLICY, PROFILE, Count, Summary
from infranode_eval.reports.items import Look
from infranode_eval.reports.items_tables import every_item_table, items_note, items_tables
from infranode_eval.reports.plays import OUTCOMES as PLAYED_OUTCOMES
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.ranks import is_unranked, other_orders, tier_notes, tiers
from infranode_eval.reports.robustness_tables import robustness_tables
from infranode_eval.reports.team_rows import OUTCOMES as TEAM_OUTCOMES
from infranode_eval.reports.team_rows import SUITE as TEAM
from infranode_eval.reports.team_tables import team_tables
from infranode_eval.statistics import smallest_detectable_difference
from infranode_eval.tables import ABSENT, Column, Section, Table, limits, percent, share


class Group(NamedTuple):
    """What runs must have in common to stand in one table.

    world, results: of the suite chain, the world and the most characters of a tool result; panel, condition, cut: of
    db_routing, the panel's hash, how questions were put, and to how many a run was cut. Each is empty elsewhere.
    """

    suite: str
    dataset: str
    mode: str
    setup: str
    tasks: str
    tools: str
    prompt: str
    scorer: str
    count: int
    repeats: int
    arm: str
    world: str = ""
    results: str = ""
    panel: str = ""
    condition: str = ""
    cut: str = ""


_GROUP_WORDS = {"suite": "suite", "dataset": "set of tasks", "mode": "mode", "setup": "set-up", "tasks": "tasks hash",
                "tools": "tools hash", "prompt": "prompt hash", "scorer": "scorer version", "count": "number of tasks",
                "repeats": "repeats", "arm": "arm", "world": "world", "results": "length of tool results",
                "panel": "panel", "condition": "condition", "cut": "--limit"}


def group_of(summary: Summary) -> Group:
    """Runs of the suite team stand in one table, which says in what they differ (specification: team, section 4)."""
    run = summary.run
    if run.suite == TEAM:
        return Group(TEAM, summary.dataset or "unknown set", run.mode, "", "", "", "", "", 0, 1, run.arm or "")
    dataset = summary.dataset or "unknown set"
    if summary.dataset and not summary.known:
        dataset += " (so named by the file)"
    tasks, tools, prompt = (short_hash(run.hashes.get(key)) for key in ("tasks", "tools", "prompt"))
    return Group(run.suite, dataset, run.mode, setup_of(run), tasks, tools, prompt, run.scorer_version,
                 summary.task_count, summary.repeats, run.arm or "", world_name(run.world), results_of(run.settings),
                 *_of_panel(summary))


def _of_panel(summary: Summary) -> tuple[str, str, str]:
    found = summary.routing
    if found is None:
        return "", "", ""
    cut = "" if found.limit is None else f"cut to {found.limit}"
    return short_hash(found.panel), f"{found.condition}, {found.procedure}", cut


def results_of(settings: Mapping[str, Any]) -> str:
    """How long a tool result may be, as "24,000 characters"; empty where the run has no such limit."""
    most = settings.get("max_result_chars")
    return f"{most:,} characters" if isinstance(most, int) else ""


SETUPS = {
    "S": "set-up S: tools in the prompt, 160 tokens, temperature 0, no reasoning",
    "N": "set-up N: tools sent as tools=, 1,024 tokens, vendor default",
    "R": "set-up R: 8,192 tokens, reasoning on",
    "B": "set-up B: the suite bench as it is by default, 512 tokens, temperature 0",
    "C": "set-up C: the suite chain as it is by default, 1,024 tokens a reply, temperature 0",
    "D": "set-up D: the suite db_routing as it is by default, 1,024 tokens a reply, temperature 0",
}


def report_sections(summaries: Iterable[Summary], look: Look | None = None) -> list[Section]:
    """One section per group of comparable runs. look: shows what was asked and called in tasks that look broken."""
    groups = grouped(summaries)
    sections = [_group_section(group, inside, look) for group, inside in groups]
    if len(groups) > 1:
        notes = (_split_reason([g for g, _ in groups]), *version_notes([s for _, inside in groups for s in inside]))
        sections.insert(0, Section(f"{len(groups)} groups of runs", notes=notes))
    return sections + definition_sections(s for _, inside in groups for s in inside)


def item_sections(summaries: Iterable[Summary], look: Look | None = None) -> list[Section]:
    """Every task of each group as an item, those that look broken before them."""
    return [Section(_title(group), (*items_tables(inside, look), *every_item_table(inside)),
                    tuple(note for note in [items_note(inside)] if note)) for group, inside in grouped(summaries)]


def version_notes(summaries: Iterable[Summary]) -> list[str]:
    """A line for each set of which runs over several versions are there, since those have no common rank."""
    sets: dict[tuple[str, str], dict[str, list[Summary]]] = {}
    for summary in summaries:
        group = group_of(summary)
        if summary.dataset:
            sets.setdefault((group.suite, summary.dataset), {}).setdefault(group.tasks, []).append(summary)
    return [f"NOT RANKED TOGETHER: {len(versions)} versions of the set {name}: "
            f"{' and '.join(_version_words(tasks, inside) for tasks, inside in versions.items())}; report.py "
            "--common-rows restricts the runs to the rows that all of them hold, and ranks them over those (--tasks "
            "FILE names a version that is not the project's own)"
            for (_, name), versions in sets.items() if len(versions) > 1]


def _version_words(tasks: str, inside: Sequence[Summary]) -> str:
    version = inside[0].version or "a version that no --tasks file holds"
    return f"{version} (tasks {tasks}, {len(inside)} run{'s' if len(inside) > 1 else ''})"


def grouped(summaries: Iterable[Summary]) -> list[tuple[Group, list[Summary]]]:
    """The groups of comparable runs, the runs of each in the order of its tables; sets without ranks stand last."""
    groups: dict[Group, list[Summary]] = {}
    for summary in summaries:
        groups.setdefault(group_of(summary), []).append(summary)
    return [(group, in_order(groups[group])) for group in sorted(groups, key=_place)]


def _place(group: Group) -> tuple[bool, bool, Group]:
    """The main suite's ranked sets first, other suites last."""
    return group.suite in (SUITE, PLAYED, ROUTED, TEAM), is_unranked(group.dataset, group.suite), group


def _split_reason(groups: Sequence[Group]) -> str:
    differing = [word for name, word in _GROUP_WORDS.items() if len({getattr(g, name) for g in groups}) > 1]
    return (f"These runs differ in {', '.join(differing)}: each group has tables of its own, and numbers must not be "
            "compared between groups.")


def _group_section(group: Group, ordered: Sequence[Summary], look: Look | None) -> Section:
    names, warnings = _marked(_labels(ordered), ordered)
    meaning = SETUPS.get(group.setup)
    programs = [f"baseline {s.run.model}: {s.run.program.removeprefix('baseline: ')}" for s in ordered if s.run.program]
    own = own_tables(ordered, names)
    main, *more = own or [main_table(ordered, names)]
    tables = [replace(main, notes=(*warnings, *main.notes)), *more]
    rows = [s for s in ordered if s.categories and (s.routing is None or s.routing.status is None)]
    if rows and group.suite in _OUTCOMES:
        tables.append(outcome_table(rows, [names[ordered.index(s)] for s in rows]))
    elif rows:
        labels = [names[ordered.index(s)] for s in rows]
        tables.append(fate_table(rows, labels))
        if not own:
            tables += [category_table(rows, labels), *difficulty_table(rows, labels), *items_tables(rows, look)]
        tables += repeats_table(rows, labels)
        tables += [] if own else profile_table(rows, labels)
        tables += [outcome_table(rows, labels), reading_table(rows, labels)]
    said = filter(None, (identity_of(group), meaning))
    return Section(_title(group), tuple(tables), (*said, *programs, *routing_notes(ordered)))


def identity_of(group: Group) -> str:
    """The hashes of a group in one line, and the world with its limit where there is one; empty for a team."""
    if group.suite == TEAM:
        return ""
    parts = [f"tasks {group.tasks}", f"tools {group.tools}", f"prompt {group.prompt}", f"scorer {group.scorer}"]
    parts += [f"world {group.world}"] if group.world else []
    parts += [f"panel {group.panel}", group.condition] if group.panel else []
    parts += [group.cut] if group.cut else []
    return " · ".join(parts + ([f"tool results up to {group.results}"] if group.results else []))


def own_tables(summaries: Sequence[Summary], names: Sequence[str]) -> list[Table]:
    """The tables of a set or suite that has its own and no ranking; empty for all others."""
    return robustness_tables(summaries, names) or abstention_tables(summaries, names) \
        or bench_tables(summaries, names) or chain_tables(summaries, names) or routing_tables(summaries, names) \
        or team_tables(summaries, names)


def _title(group: Group) -> str:
    if group.suite == TEAM:
        return f"{group.suite}, {group.dataset}: mode {group.mode}"
    title = f"{group.suite}, {group.dataset}: mode {group.mode}, set-up {group.setup}, {group.count} tasks"
    return title + (f" × {group.repeats}" if group.repeats > 1 else "")


def in_order(summaries: Sequence[Summary]) -> list[Summary]:
    """The order of the runs of one group in its tables."""
    streng = streng_leads(summaries)
    return sorted(summaries, key=lambda s: _order(s, streng))


def _order(summary: Summary, streng: bool) -> tuple[bool, float, float, str, str]:
    """By ability, budget-limited runs last; then by name, so that equal input gives equal bytes.

    Abstention has its own number: there silence would win by ability. So has the bench, one of two.
    """
    if summary.routing is not None:
        return *order_key(summary.routing), summary.run.model, summary.run.path
    ability = summary.strict.get("ability")
    if summary.abstention is not None:
        ability = summary.abstention.balanced.estimate if summary.abstention.balanced else None
    if summary.bench is not None:
        ability = place_of(summary, streng)
    if summary.team is not None:
        ability = summary.strict.get("sms")
    leading = -(ability if ability is not None else -1.0)
    return summary.budget_limited, leading, 0.0, summary.run.model, summary.run.path


def _labels(summaries: Sequence[Summary]) -> list[str]:
    names = [_label(s) for s in summaries]
    often = Counter(names)
    return [f"{name} · {s.run.path}" if often[name] > 1 else name for name, s in zip(names, summaries, strict=True)]


def _marked(names: Sequence[str], summaries: Sequence[Summary]) -> tuple[list[str], list[str]]:
    """(names, marked where a number needs a warning; the lines behind the marks)."""
    marked, lines, marks = [], [], 0
    for name, summary in zip(names, summaries, strict=True):
        marks += bool(summary.warnings)
        marked.append(f"{name} !{marks}" if summary.warnings else name)
        lines += [f"!{marks} {summary.run.model} ({summary.run.path}): {text}" for text in summary.warnings]
    return marked, lines


def _label(summary: Summary) -> str:
    marks = [word for word, holds in (("baseline", summary.run.baseline), ("incomplete", not summary.run.complete),
                                      ("budget-limited", summary.budget_limited)) if holds]
    name = summary.run.model + (f" ({', '.join(marks)})" if marks else "")
    return name if summary.run.harness == "run_eval" else f"{name} [{summary.run.harness}]"


# --- the tables -------------------------------------------------------------------------------------------------------

_NUMBERS = ("n", "scored", "failed")


def _numbers(summary: Summary) -> tuple[str, ...]:
    run = summary.run
    return str(run.n), str(run.n - run.failed), str(run.failed)


def _columns(*headers: str) -> tuple[Column, ...]:
    """The model, then numbers; n, scored and failed stand in every table."""
    return (Column("model"), *(Column(h, right=True) for h in (*headers, *_NUMBERS)))


def main_table(summaries: Sequence[Summary], names: Sequence[str]) -> Table:
    """Everything over all tasks (strict), with call_match over the answered ones beside it."""
    columns = _columns("tier", "ability", "call_match", "95 %", "answered", "tool_match", "args_match",
                       "args_given_tool", "parsed", "request_match", "datum_match")
    rows = tuple((name, str(tier or ABSENT), *_main_cells(s), *_numbers(s))
                 for name, tier, s in zip(names, tiers(summaries), summaries, strict=True))
    notes = ["per cent of all tasks, a failure counts as not solved; answered: call_match without the failures",
             "ability: unweighted mean of call_match over the categories without not_covered; the order of the rows",
             "args_given_tool: call_match among the rows with the right tool (their number)",
             "datum_match: the answer to the call would have contained what was asked; scored since 1.1",
             f"95 %: {', '.join(sorted({s.method for s in summaries} - {''})) or 'none'}"]
    return Table("Results", columns, rows, tuple(
        notes + tier_notes(summaries) + _detectable(summaries) + other_orders(summaries)))


def _main_cells(summary: Summary) -> tuple[str, ...]:
    strict = summary.strict
    return (percent(strict.get("ability")), percent(strict.get("call_match")),
            limits(interval) if (interval := summary.interval) else ABSENT, percent(summary.answered.get("call_match")),
            percent(strict.get("tool_match")), percent(strict.get("args_match")), _given_tool(summary),
            percent(strict.get("parsed")), percent(strict.get("request_match")), percent(strict.get("datum_match")))


def _given_tool(summary: Summary) -> str:
    value, tool_match = summary.strict.get("args_given_tool"), summary.strict.get("tool_match")
    return ABSENT if value is None or tool_match is None else f"{percent(value)} ({round(tool_match * summary.run.n)})"


def _share(count: Count | None, repeats: int) -> str:
    """A cell of a part of the tasks; repeats of one task are no independent rows, so they get no interval."""
    if count is None or not count.answered:
        return ABSENT
    return share(count.solved, count.n) if repeats == 1 else percent(count.solved / count.n)


def _detectable(summaries: Sequence[Summary]) -> list[str]:
    n = summaries[0].task_count
    parts = []
    for discordant in DISCORDANT:
        difference = smallest_detectable_difference(n, discordant)
        shown = "none" if difference is None else f"{100 * difference:.0f} points"
        parts.append(f"{shown} at {100 * discordant:.0f} %")
    return [f"smallest difference that a pair shows with 80 % power (McNemar, 5 %, n = {n}), by the share of tasks "
            f"that only one of the two solves: {'; '.join(parts)}"]


def category_table(summaries: Sequence[Summary], names: Sequence[str]) -> Table:
    """call_match by category, strict; "—" where no row of a category was answered."""
    sizes: dict[str, int] = {}
    for summary in summaries:
        for category, count in summary.categories.items():
            sizes[category] = max(sizes.get(category, 0), count.n)
    columns = _columns(*(f"{category or '(none)'} (n={size})" for category, size in sizes.items()), "macro", "micro")
    rows = tuple((name, *(_share(s.categories.get(c), s.repeats) for c in sizes), percent(s.macro),
                  percent(s.strict.get("call_match")), *_numbers(s))
                 for name, s in zip(names, summaries, strict=True))
    return Table("call_match by category", columns, rows, (
        "k/n with a Wilson interval in per cent below 30 rows; macro: unweighted mean over all these categories, "
        "micro: over all tasks",))


def difficulty_table(summaries: Sequence[Summary], names: Sequence[str]) -> list[Table]:
    """call_match by difficulty; no table where tasks.meta.json tells nothing about the tasks."""
    sizes = {bucket: max((s.difficulty[bucket].n for s in summaries if bucket in s.difficulty), default=0)
             for bucket in BUCKETS}
    shown = {bucket: size for bucket, size in sizes.items() if size}
    if not shown:
        return []
    columns = _columns(*(f"{bucket} (n={size})" for bucket, size in shown.items()))
    rows = tuple((name, *(_share(s.difficulty.get(bucket), s.repeats) for bucket in shown), *_numbers(s))
                 for name, s in zip(names, summaries, strict=True))
    note = items_note(summaries)
    return [Table("call_match by difficulty", columns, rows, (
        "buckets of tasks.meta.json", *([note] if note else [])))]


def profile_table(summaries: Sequence[Summary], names: Sequence[str]) -> list[Table]:
    """not_covered measures a policy, call directly or look first: shown as counts of first calls, without a rank."""
    shown = [(name, s) for name, s in zip(names, summaries, strict=True) if s.profile is not None]
    if not shown:
        return []
    rows = tuple(_profile_row(name, s, s.profile, s.categories[POLICY]) for name, s in shown if s.profile is not None)
    return [Table("not_covered: the first call, a policy and no rank", _columns(*PROFILE, "call_match"), rows, (
        "direct key: the key asked for, whatever the slug; unreadable: malformed or truncated",))]


def _profile_row(name: str, summary: Summary, profile: Mapping[str, int], count: Count) -> tuple[str, ...]:
    return (name, *(str(profile[p]) for p in PROFILE), _share(count, summary.repeats), str(count.n),
            str(count.answered), str(count.n - count.answered))


def repeats_table(summaries: Sequence[Summary], names: Sequence[str]) -> list[Table]:
    """How far the repeats of a run agree; without repeats there is no table."""
    steady = [(name, s, s.steadiness) for name, s in zip(names, summaries, strict=True) if s.steadiness is not None]
    if not steady:
        return []
    most = max(len(repeats.pass_hat) for _, _, repeats in steady)
    rows = tuple((name, *_filled([percent(v) for v in repeats.call_match], most), percent(repeats.drift),
                  f"{repeats.changed}/{repeats.tasks}", *_filled([percent(v) for v in repeats.pass_hat], most),
                  *_numbers(s)) for name, s, repeats in steady)
    headers = (*(f"repeat {k}" for k in range(1, most + 1)), "drift", "tasks that changed",
               *(f"pass^{k}" for k in range(1, most + 1)))
    return [Table("Repeats", _columns(*headers), rows, (
        "call_match of each repeat; drift: largest difference between two repeats, in points; changed: solved in some "
        "repeats only; pass^k: chance that k repeats of a task all solve it (strict)",))]


def _filled(cells: Sequence[str], count: int) -> list[str]:
    return [*cells[:count], *[ABSENT] * (count - len(cells))]


def fate_table(summaries: Sequence[Summary], names: Sequence[str]) -> Table:
    """What every row came to: silence, an unreadable call, a spent budget and no answer are four different things."""
    shown = [*FATES, *([UNKNOWN] if any(s.fates[UNKNOWN] for s in summaries) else [])]
    rows = tuple((name, *(str(s.fates[fate]) for fate in shown), *_numbers(s))
                 for name, s in zip(names, summaries, strict=True))
    notes = ["right: ok, ok_recovered, abstain_ok; wrong call: read, but not the expected one; did not call: no_call; "
             "could not read: malformed_call; ran out of tokens: truncated; no answer: failures"]
    if UNKNOWN in shown:
        notes.append("unknown: wrong by lm-eval's stored verdict, which this scorer cannot explain")
    return Table("What came of the rows", _columns(*shown), rows, tuple(notes))


_OUTCOMES = {PLAYED: PLAYED_OUTCOMES, ROUTED: ROUTE_OUTCOMES, TEAM: TEAM_OUTCOMES}


def outcome_table(summaries: Sequence[Summary], names: Sequence[str]) -> Table:
    """Rows by outcome, failures included; only outcomes that occur have a column."""
    known = _OUTCOMES.get(summaries[0].run.suite, OUTCOMES)
    seen = [o for o in (*known, UNKNOWN) if any(s.outcomes.get(o) for s in summaries)]
    unseen = [o for o in known if o not in seen]
    rows = tuple((name, *(str(s.outcomes.get(o, 0)) for o in seen), *_numbers(s))
                 for name, s in zip(names, summaries, strict=True))
    return Table("Outcomes, rows", _columns(*seen), rows, (f"in no row: {', '.join(unseen)}",) if unseen else ())


def reading_table(summaries: Sequence[Summary], names: Sequence[str]) -> Table:
    """How replies arrived: what the serving, and not the model, may be to blame for."""
    shares = ("native", "recovered", "malformed", "truncated")
    rows = tuple((name, *(percent(s.shares[k]) for k in shares), *_lenient(s.strict), *_numbers(s))
                 for name, s in zip(names, summaries, strict=True))
    notes = ["per cent of the answered rows, recovered: of the replies with readable calls; lenient_call_match over "
             "all tasks, with what serving can break forgiven"]
    if any(s.run.harness.startswith("lm-eval") for s in summaries):
        notes.append("lm-eval hands over no finish reason: there a cut reply shows as malformed_call, no_call or "
                     "abstain_ok")
    return Table("How replies were read", _columns(*shares, "lenient_call_match", "above strict"), rows, tuple(notes))


def _lenient(strict: Mapping[str, float | None]) -> tuple[str, str]:
    lenient, call_match = strict.get("lenient_call_match"), strict.get("call_match")
    return percent(lenient), percent(None if lenient is None or call_match is None else lenient - call_match)
