"""Runs of the suite db_routing as tables for people and as values for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from infranode_eval.budget import read_prices
from infranode_eval.db_routing.behaviour import EXCLUDED
from infranode_eval.db_routing.buckets import LABELS
from infranode_eval.db_routing.corridor import Corridor
from infranode_eval.db_routing.costs import WRITE, Rates, saving
from infranode_eval.reports.comparison import p_text
from infranode_eval.reports.db_routing import ALL, KINDS, Route, Routing
from infranode_eval.reports.db_routing_panels import PanelFacts, definitions_of, panel_of
from infranode_eval.reports.db_routing_ranks import in_band, is_ranked, measured_drift, routing_tiers, swapped
from infranode_eval.reports.db_routing_rows import AGENTIC
from infranode_eval.reports.effort import price_named
from infranode_eval.reports.figures import Summary
from infranode_eval.stability import Drift
from infranode_eval.statistics import wilson
from infranode_eval.tables import ABSENT, Column, Section, Table, limits, percent

UNMEASURED = "Drift ungemessen"
SATURATED = "gesättigt"
ADAPTER = "Modell + Adapter"
_NAMED = 12             # names in one line
_INTERVAL = ("95 %: Wilson on the row's own n; it covers the sampling of questions only, not repeats, upstreams or "
             "wordings")

Shown = Sequence[tuple[str, Summary, Routing]]


def routing_tables(summaries: Sequence[Summary], names: Sequence[str]) -> list[Table]:
    """Routes first, then SQL and the ways there; empty for runs of other suites.

    summaries: runs that may be compared with each other; names: their labels, in the same order.
    """
    known = [(name, s, s.routing) for name, s in zip(names, summaries, strict=True) if s.routing is not None]
    shown = [one for one in known if one[2].status is None]
    if not known:
        return []
    if not shown:
        return [Table("Routes", (Column("model"),), (("none: every run is excluded",),), tuple(_excluded(known)))]
    agentic = shown[0][2].procedure == AGENTIC
    ways = [_switching(shown), _first_probe(shown), _probes(shown), _turns(shown)] if agentic else []
    return [_overview(shown, known), _buckets(shown), _databases(shown), *_hard_share(shown), *_sql(shown), *ways,
            _endings(shown), _baselines(shown), *_repeats(shown), *_costs(shown), *_upstreams(shown)]


# --- routes -----------------------------------------------------------------------------------------------------------

def _overview(shown: Shown, known: Shown) -> Table:
    hard = shown[0][2].hard
    lead = f"{label(hard)} answered" if hard else "answered"
    columns = _columns("tier", "drift band", lead, "95 %", "strict", "all answered", "95 %", "strict", "prose too",
                       "n", "scored", "failed")
    summaries = [s for _, s, _ in shown]
    rows = tuple((f"{name} ({ADAPTER})" if found.adapted else name, str(tier or ABSENT), _band(band),
                  *_both(found.leading, found, s), *_both(found.routes[ALL], found, s),
                  _plain(found.prose, found.routes[ALL].answered), *_numbers(s))
                 for (name, s, found), tier, band in zip(shown, routing_tiers(summaries), in_band(summaries),
                                                         strict=True))
    return Table("Routes", columns, rows, tuple(_overview_notes(shown, known)))


def _overview_notes(shown: Shown, known: Shown) -> list[str]:
    hard = shown[0][2].hard
    summaries = [s for _, s, _ in shown]
    models = [s.run.model for s in summaries]
    names = [model if models.count(model) == 1 else name for model, (name, _, _) in zip(models, shown, strict=True)]
    limit = shown[0][2].limit
    notes = ["answered: right of the answered questions; strict: every failure counted as wrong (metrics in the file); "
             f"the order of the rows is by {label(hard) if hard else 'all'}, answered", _INTERVAL,
             "prose too: the declaration is right, or there is none and the text names the right database only"]
    if any(s.repeats > 1 for s in summaries):
        notes.append("no interval where questions were repeated: rows of one question are not independent")
    if limit is not None:
        notes.append(f"cut to {limit} questions by --limit or --per-category: no rank, no tier")
    ranked = sum(map(is_ranked, summaries))
    if ranked > 1:
        notes.append(f"tier: runs of one tier cannot be told apart (paired test over {label(hard) if hard else 'all'}, "
                     f"5 %, Holm over {ranked * (ranked - 1) // 2} pairs); baselines have no rank")
    notes += [_drift_note(summaries), *_swap_notes(summaries, names, hard), *_excluded(known)]
    if any(found.adapted for _, _, found in shown):
        notes.append(f"{ADAPTER}: more than half of the calls were read out of text")
    return notes


def _drift_note(summaries: Sequence[Summary]) -> str:
    drift = measured_drift(summaries)
    if drift is None:
        return f"drift band: {UNMEASURED} (no ranked run holds repeats)"
    return (f"drift band: within {100 * float(drift):.1f} points of the leader, the largest difference between two "
            "repeats of a run here")


def _swap_notes(summaries: Sequence[Summary], names: Sequence[str], hard: str | None) -> list[str]:
    notes = []
    for bucket in dict.fromkeys([hard or ALL, ALL]):
        pairs = swapped(summaries, names, bucket)
        if pairs:
            told = "; ".join(f"{ahead} / {behind}" for ahead, behind in pairs[:_NAMED])
            notes.append(f"adjacent ranks that swap if failures are wrong, {label(bucket)}: {told}"
                         + (f" and {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else ""))
    if not notes and sum(map(is_ranked, summaries)) > 1:
        notes.append("adjacent ranks that swap if failures are wrong: none")
    return notes


def _excluded(known: Shown) -> list[str]:
    return [f"{EXCLUDED}: {s.run.model} ({found.routes[ALL].answered} answered questions without a single tool call) "
            "is in no table" for _, s, found in known if found.status == EXCLUDED]


def _band(inside: bool | None) -> str:
    return ABSENT if inside is None else "yes" if inside else "no"


def _both(route: Route, found: Routing, summary: Summary) -> tuple[str, str, str]:
    """(answered, its interval, strict)."""
    return (_of(route.right, route.answered, found.drawn), _limits(route, found, summary), percent(route.worst_case))


def _limits(route: Route, found: Routing, summary: Summary) -> str:
    if not route.answered or summary.repeats > 1 or found.drawn:
        return ABSENT
    return limits(wilson(route.right, route.answered))


def _buckets(shown: Shown) -> Table:
    """One row for each bucket and run: right of answered with Wilson's interval, worst case, failures."""
    kinds = dict.fromkeys(name for _, _, found in shown for name in found.routes)
    rows = tuple(("" if number else label(kind), name, *_route_cells(found.routes[kind], found, s))
                 for kind in kinds for number, (name, s, found) in
                 enumerate([one for one in shown if kind in one[2].routes]))
    columns = (Column("bucket"), *_columns("answered", "95 %", "strict", "failed"))
    return Table("Route by bucket", columns, rows, (_INTERVAL, *_saturated(shown)))


def _saturated(shown: Shown) -> list[str]:
    """Buckets that every ranked run has entirely right tell nothing apart."""
    models = [found for _, s, found in shown if is_ranked(s)]
    full = [label(kind) for kind in (models[0].routes if models else ()) if kind != ALL and all(
        kind in found.routes and found.routes[kind].answered
        and found.routes[kind].right == found.routes[kind].answered for found in models)]
    return [f"{SATURATED}: {', '.join(full)} (100 % for every ranked run)"] if full else []


def _route_cells(route: Route, found: Routing, summary: Summary) -> tuple[str, ...]:
    return *_both(route, found, summary), str(route.asked - route.answered)


def _databases(shown: Shown) -> Table:
    """Right of answered; with eleven databases intervals would be wider than any screen: they are in CSV and JSON."""
    names = dict.fromkeys(name for _, _, found in shown for name in found.databases)
    groups = dict.fromkeys(name for _, _, found in shown for name in found.clusters)
    columns = _columns(*names, *(f"cluster {name}" for name in groups), "n", "scored", "failed")
    rows = tuple((name, *(_route_cell(found.databases.get(kind), found) for kind in names),
                  *(_share_cell(found.clusters.get(kind), found, s) for kind in groups), *_numbers(s))
                 for name, s, found in shown)
    return Table("Route by database and cluster", columns, rows, (
        "right of the answered questions of each database; clusters with 95 % (Wilson); intervals of each database: "
        "--format csv --table routes",))


def _route_cell(route: Route | None, found: Routing) -> str:
    if route is None or not route.answered:
        return ABSENT
    return percent(route.of_answered) if found.drawn else f"{route.right:g}/{route.answered}"


def _share_cell(route: Route | None, found: Routing, summary: Summary) -> str:
    if route is None or not route.answered:
        return ABSENT
    told, interval = _of(route.right, route.answered, found.drawn), _limits(route, found, summary)
    return told if interval == ABSENT else f"{told} {interval}"


def _hard_share(shown: Shown) -> list[Table]:
    """What the leading bucket is made of, which is the same for all runs of a table."""
    found = shown[0][2]
    if found.hard is None or not found.hard_of[0]:
        return []
    total = sum(found.hard_of[0].values())
    rows = [(what, name, str(count), percent(count / total)) for what, counts in (
        ("database", found.hard_of[0]), ("cluster", found.hard_of[1])) for name, count in counts.items()]
    columns = (Column("kind"), Column("name"), Column("questions", right=True), Column("per cent", right=True))
    return [Table(f"What {label(found.hard)} is made of: {total} questions", columns, tuple(rows), _ratio_notes(shown))]


def _ratio_notes(shown: Shown) -> tuple[str, ...]:
    """One line a ranked run: a ratio is a statement about models."""
    told = []
    for name, s, found in shown:
        ratio = found.ratio.ratio if found.ratio else None
        if ratio is None or found.ratio is None or found.ratio.p is None or s.repeats > 1 or not is_ranked(s):
            continue
        gone = f"; without {', '.join(found.ratio.dropped)}" if found.ratio.dropped else ""
        told.append(f"{name}: {ratio.estimate:.3f} [{ratio.low:.3f}, {ratio.high:.3f}], {p_text(found.ratio.p)}{gone}")
    return ("share of right routes among hard questions over that among the others, within databases:", *told) \
        if told else ()


# --- SQL --------------------------------------------------------------------------------------------------------------

def _sql(shown: Shown) -> list[Table]:
    told = [one for one in shown if one[2].sql]
    if not told:
        return []
    columns = _columns("sql_set", "sql_strict", "corridor of sql_set", "corridor of sql_strict", "sql_set, route right",
                       "n", "scored", "failed")
    rows = tuple((name, *(_sql_cell(found.corridor(kind)) for kind in KINDS),
                  *(_corridor_cell(found.corridor(kind)) for kind in KINDS),
                  percent(found.answered_metrics.get("sql_set_given_route")), *_numbers(s)) for name, s, found in told)
    note = told[0][2].corridor(KINDS[0]).note
    return [Table("SQL", columns, rows, (
        "of the answered questions whose gold ran; a failure leaves the denominator",
        f"corridor: {note}, the three values are equal" if note else
        "corridor: faulty golds counted as wrong / as they are / as right"))]


def _sql_cell(found: Corridor) -> str:
    return ABSENT if found.middle is None else _of(round(found.middle * found.n), found.n)


def _corridor_cell(found: Corridor) -> str:
    return " / ".join(percent(value) for value in (found.lower, found.middle, found.upper))


# --- the ways ---------------------------------------------------------------------------------------------------------

def _switching(shown: Shown) -> Table:
    columns = _columns("switched", "stayed right", "right → wrong", "wrong → right", "wrong → wrong",
                       "of these probed the right one", "net", "gained per lost", "n", "scored", "failed")
    rows = tuple((name, _plain(cells.n, found.routes[ALL].answered), str(cells.stayed), str(cells.lost),
                  str(cells.gained), str(cells.missed), str(cells.between), f"{cells.net:+d}",
                  ABSENT if cells.ratio is None else f"{cells.ratio:.2f}", *_numbers(s))
                 for name, s, found in shown for cells in [found.switching])
    return Table("Switching", columns, rows, (
        "answered questions with two probed databases or more: was the first probe right, and was the declaration? no "
        "declaration counts as not right",))


def _first_probe(shown: Shown) -> Table:
    columns = _columns("first_probe_acc", "one database in the first probing turn", "first probe right",
                       "declared right", "gap, points", "declared as probed", "declared without a probe", "n", "scored",
                       "failed")
    rows = tuple((name, _of(*found.first_right), str(first.n), _of(first.first_right, first.n),
                  _of(first.declared_right, first.n), _gap(first.declared_right - first.first_right, first.n),
                  _plain(first.same, first.n), _plain(*found.unprobed), *_numbers(s))
                 for name, s, found in shown for first in [found.first])
    return Table("First probe and declaration", columns, rows, (
        "first_probe_acc: the older metric, the first probe decides, over all answered questions; the other columns "
        "are over questions whose first probing turn reached a single database",
        "declared without a probe: of the questions that declare one"))


def _gap(difference: int, n: int) -> str:
    return f"{100 * difference / n:+.1f}" if n else ABSENT


def _probes(shown: Shown) -> Table:
    kinds = dict.fromkeys(name for _, _, found in shown for name in found.routes if name in found.touched)
    columns = _columns(*(f"{label(kind)}{what}" for kind in kinds for what in (": mean", " > 1")), "all: mean",
                       "all > 1", "none", "n", "scored", "failed")
    rows = tuple((name, *(cell for kind in kinds for cell in _touched_cells(found, kind)),
                  _decimal(found.answered_metrics.get("probed")),
                  percent(found.answered_metrics.get("probed_several")),
                  percent(found.answered_metrics.get("probed_none")), *_numbers(s)) for name, s, found in shown)
    return Table("Databases probed", columns, rows, (
        "distinct databases a question, and per cent of the answered questions with more than one; no probe counts as "
        "0",))


def _touched_cells(found: Routing, kind: str) -> tuple[str, str]:
    touched = found.touched.get(kind)
    return (ABSENT, ABSENT) if touched is None else (f"{touched.mean:.2f}", percent(touched.several / touched.n))


def _turns(shown: Shown) -> Table:
    columns = _columns("tool turns", "tool calls", "API calls", "recovered", "over the limit", "one call a turn",
                       "schema cut", "rows cut", "history as text", "n", "scored", "failed")
    rows = tuple((name, _decimal(found.turns), *(_decimal(found.answered_metrics.get(key)) for key in (
        "tool_calls", "api_calls")), _of(*found.recovered), percent(found.answered_metrics.get("over_limit_share")),
                  percent(found.answered_metrics.get("parallel_obeyed")), str(found.cut[0]), str(found.cut[1]),
                  str(found.histories.get("text", 0)), *_numbers(s)) for name, s, found in shown)
    return Table("Turns and calls", columns, rows, (
        "means over the answered questions; tool turns without the finalisation, 9 at most; recovered: of all calls, "
        f"those read out of text, above 50 % it is {ADAPTER}; schema cut, rows cut: questions with such a result",))


def _endings(shown: Shown) -> Table:
    stops = dict.fromkeys(reason for _, _, found in shown for reason in found.stops)
    errors = dict.fromkeys(reason for _, _, found in shown for reason in found.errors)
    columns = _columns(*stops, *(f"not declared: {reason}" for reason in errors), "n", "scored", "failed")
    rows = tuple((name, *(str(found.stops.get(reason, 0)) for reason in stops),
                  *(str(found.errors.get(reason, 0)) for reason in errors), *_numbers(s)) for name, s, found in shown)
    return Table("How plays ended", columns, rows)


# --- baselines --------------------------------------------------------------------------------------------------------

def _baselines(shown: Shown) -> Table:
    """What answers without thought are worth on these very questions."""
    found = shown[0][2]
    hard = [found.hard] if found.hard else []
    rows = [(name, *(_of(k, n) if k is not None and n else percent(value) for k, n, value in cells), what)
            for name, cells, what in _naive(found, hard)]
    panel = panel_of(found.panel)
    note = f"panel {found.panel[:12] if found.panel else 'unknown'}"
    if panel is None:
        note += ": not at hand, so routers that read words are not computed; name its folder with --tasks"
    return Table("Baselines on the same questions", (Column("baseline"), *(
        Column(label(kind), right=True) for kind in (ALL, *hard)), Column("what it does")), tuple(rows), (note,))


Cells = list[tuple[int | None, int, float | None]]      # (k, n, share) over all questions, and over the hard ones


def _naive(found: Routing, hard: Sequence[str]) -> Iterable[tuple[str, Cells, str]]:
    chance = 1 / found.offered
    yield "chance", [(None, 0, chance) for _ in (ALL, *hard)], f"one of {found.offered}, reckoned, not drawn"
    sizes = {kind: sum(kind in (ALL, bucket) for bucket in found.buckets.values()) for kind in (ALL, *hard)}
    yield ("majority", [(found.majority[kind][1], sizes[kind], None) for kind in (ALL, *hard)],
           "always the largest: " + ", ".join(found.majority[kind][0] for kind in (ALL, *hard)))
    panel = panel_of(found.panel)
    for name, right in (panel.lexical if panel else {}).items():
        inside = [[key for key in found.buckets if key in right and kind in (ALL, found.buckets[key])]
                  for kind in (ALL, *hard)]
        yield (name, [(sum(right[key] for key in keys), len(keys), None) for keys in inside],
               "the paragraph most like the question, without a model")


# --- repeats, costs, upstreams ----------------------------------------------------------------------------------------

def _repeats(shown: Shown) -> list[Table]:
    rows = [(name, label(kind), f"{drift.first}/{drift.n}", f"{drift.second}/{drift.n}", _difference(drift),
             str(drift.differing), f"{drift.lost}, {drift.gained}, {drift.moved}")
            for name, _, found in shown for kind, drifts in found.drifts.items() for drift in drifts]
    headers = ("first", "second", "difference, points", "questions that differ", "lost, gained, wrong otherwise")
    return [Table("Repeats", (Column("model"), Column("bucket"), *(Column(h, right=True) for h in headers)),
                  tuple(rows), ("each two repeats of a run; keine Standardabweichung: two repeats tell no spread",))
            ] if rows else []


def _difference(drift: Drift) -> str:
    return ABSENT if drift.difference is None else f"{100 * drift.difference:.1f}"


def _costs(shown: Shown) -> list[Table]:
    known = [(name, s, found) for name, s, found in shown if found.spent is not None]
    if not known:
        return []
    table = read_prices()
    rows = tuple((name, *_cost_cells(s, found)) for name, s, found in known)
    return [Table("Cost", _columns("tokens in", "of these cached", "tokens out", "rows", "billed", "estimated",
                                   "list price", "saving"), rows, (
        "Größenordnung only: billed where the provider reports it for every row, else estimated (geschätzt) from the "
        f"price table of {table.as_of}, {table.currency}, or by the prices of the run's own command line; list price: "
        "as if nothing were cached",))]


def cost_of(summary: Summary, found: Routing) -> dict[str, float | int | None]:
    """In the currency of the price table, else as the run was told to reckon; None where nothing is known."""
    spent = found.spent
    if spent is None:
        return dict.fromkeys(("input_tokens", "cached_tokens", "output_tokens", "rows", "billed", "estimated", "listed",
                              "saving"))
    price = price_named(read_prices().prices, summary.run.model)
    listed, estimated = (None, _reckoned(summary)) if price is None else \
        spent.prices(Rates.of(price, WRITE.get(summary.run.backend, 1.0)))
    amount = spent.billed if spent.billed is not None else estimated
    return {"input_tokens": spent.uncached + spent.read, "cached_tokens": spent.read, "output_tokens": spent.output,
            "rows": spent.rows, "billed": spent.billed, "estimated": estimated, "listed": listed,
            "saving": saving(amount, listed) if amount is not None and listed else None}


def _reckoned(summary: Summary) -> float | None:
    """What the file says that the run cost, by the prices of its own command line."""
    cost = summary.run.totals.get("cost")
    amount = cost.get("amount") if isinstance(cost, dict) else None
    return float(amount) if isinstance(amount, (int, float)) and not isinstance(amount, bool) else None


def _cost_cells(summary: Summary, found: Routing) -> tuple[str, ...]:
    cost = cost_of(summary, found)
    return (*(f"{cost[name]:,}" for name in ("input_tokens", "cached_tokens", "output_tokens")),
            f"{cost['rows']}/{found.spent.asked if found.spent else 0}", _money(cost["billed"]),
            _money(cost["estimated"]), _money(cost["listed"]), percent(cost["saving"]))


def _money(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4f}"


def _upstreams(shown: Shown) -> list[Table]:
    told = [(name, found) for name, _, found in shown if found.upstreams]
    if not told:
        return []
    rows = tuple((name, str(len(found.upstreams)), ", ".join(f"{who} ({count})" for who, count in sorted(
        found.upstreams.items(), key=lambda item: (-item[1], item[0])))) for name, found in told)
    return [Table("Upstreams", (Column("model"), Column("distinct", right=True), Column("questions answered by")), rows,
                  ("a run over several upstreams is no measurement of one of them: pin it where the router can",))]


# --- what stands below a group ----------------------------------------------------------------------------------------

def routing_notes(summaries: Sequence[Summary]) -> list[str]:
    """The limits of these runs, from their data, and a warning where they were made by several versions."""
    known = [s.routing for s in summaries if s.routing is not None]
    if not known:
        return []
    found, panel = known[0], panel_of(known[0].panel)
    notes = ["limit: databases are anonymised in name only; tables, columns and values tell what they are about"]
    cut = [sum(one.cut[place] for one in known) for place in (0, 1)]
    if any(cut):
        notes.append(f"limit: schemas were cut in {cut[0]} answered questions of these runs, results in {cut[1]}")
    largest = next(iter(found.hard_of[1].items()), None)
    if largest and found.hard:
        total = sum(found.hard_of[1].values())
        notes.append(f"limit: {largest[1]}/{total} = {percent(largest[1] / total)} % of the {label(found.hard)} "
                     f"questions belong to the cluster {largest[0]}")
    notes += [f"limit: {line}" for line in _panel_limits(panel)]
    notes += [f"warning: {s.run.model}: finalisations wrote {s.routing.wasted:,} tokens into a cache that nobody reads"
              for s in summaries if s.routing is not None and s.routing.wasted]
    versions = sorted({s.run.version for s in summaries if s.run.version})
    if len(versions) > 1:
        notes.append(f"warning: made by several versions of the harness: {', '.join(versions)}")
    return notes


def _panel_limits(panel: PanelFacts | None) -> list[str]:
    if panel is None:
        return ["the panel is not at hand: floor and signal of its hardness are not known here"]
    hardness = panel.manifest["hardness"]
    told = [f"hard by signal {hardness['signal']} with a floor of {hardness['floor']:g}; another signal grades "
            "otherwise"]
    if panel.manifest["candidates"]["method"] == "authored":
        told.append("synthetic data, and one author of questions and paragraphs")
    return told


def definition_sections(summaries: Iterable[Summary]) -> list[Section]:
    """The list of definitions, once for each panel of the runs; empty where no run is of this suite."""
    found = {}
    for s in summaries:
        if s.routing is not None:
            found.setdefault((s.routing.panel, s.routing.votes), panel_of(s.routing.panel))
    return [Section(f"Definitions, panel {(sha or 'unknown')[:12]}", notes=tuple(
        f"{one.id}: {one.en}" for one in definitions_of(panel, votes)) + (() if panel else (
            "the panel is not at hand, so what depends on it is not told; name its folder with --tasks",)))
        for (sha, votes), panel in found.items()]


# --- cells ------------------------------------------------------------------------------------------------------------

def label(bucket: str) -> str:
    """As tables call a bucket; that of complete votes keeps its name."""
    return bucket if bucket in (ALL, "hard_strict") else LABELS.get(bucket, bucket)


def _columns(*headers: str) -> tuple[Column, ...]:
    return (Column("model"), *(Column(h, right=True) for h in headers))


def _numbers(summary: Summary) -> tuple[str, str, str]:
    run = summary.run
    return str(run.n), str(run.n - run.failed), str(run.failed)


def _of(k: float, n: int, drawn: bool = False) -> str:
    """k/n = per cent; a drawn answer is reckoned, not counted."""
    if not n:
        return ABSENT
    return f"{percent(k / n)} reckoned" if drawn else f"{k:g}/{n} = {percent(k / n)}"


def _plain(k: float, n: int) -> str:
    return f"{k:g}/{n}" if n else ABSENT


def _decimal(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.2f}"


# --- for programs -----------------------------------------------------------------------------------------------------

def routing_json(summary: Summary, found: Routing) -> dict[str, Any]:
    """Everything the tables show of one run, proportions 0–1."""
    cells, first = found.switching, found.first
    return {
        "condition": found.condition, "procedure": found.procedure, "panel": found.panel, "limit": found.limit,
        "leading": found.hard or ALL, "status": found.status, "adapted": found.adapted,
        "routes": {kind: route_json(route, found, summary) for kind, route in found.routes.items()},
        "databases": {name: route_json(route, found, summary) for name, route in found.databases.items()},
        "clusters": {name: route_json(route, found, summary) for name, route in found.clusters.items()},
        "leading_made_of": {"databases": found.hard_of[0], "clusters": found.hard_of[1]},
        "sql": {kind: found.corridor(kind).to_json() for kind in KINDS} if found.sql else None,
        "switching": {"n": cells.n, "stayed": cells.stayed, "lost": cells.lost, "gained": cells.gained,
                      "missed": cells.missed, "between": cells.between, "net": cells.net, "ratio": cells.ratio},
        "first_probe": {"acc": _count(*found.first_right), "n": first.n, "same": first.same,
                        "first_right": first.first_right, "declared_right": first.declared_right},
        "probes": {kind: {"n": touched.n, "mean": touched.mean, "several": touched.several}
                   for kind, touched in found.touched.items()},
        "tool_turns": found.turns, "declared_unprobed": _count(*found.unprobed),
        "recovered": _count(*found.recovered), "follows_paragraph": _count(*found.follows) if found.follows else None,
        "declaration_errors": dict(found.errors), "stops": dict(found.stops),
        "cut": {"schema": found.cut[0], "rows": found.cut[1]}, "upstreams": dict(found.upstreams),
        "histories": dict(found.histories), "cost": cost_of(summary, found),
        "baselines": {name: dict(zip(("all", "leading"), [value if k is None else k / n if n else None
                                                          for k, n, value in parts], strict=False))
                      for name, parts, _ in _naive(found, [found.hard] if found.hard else [])},
        "drift": None if found.drift is None else float(found.drift),
        "repeats": {kind: [{"n": d.n, "first": d.first, "second": d.second, "difference": d.difference,
                            "differing": d.differing, "lost": d.lost, "gained": d.gained, "moved": d.moved}
                           for d in drifts] for kind, drifts in found.drifts.items()},
        "ratio": _ratio_json(found), "interval": _INTERVAL}


def route_json(route: Route, found: Routing, summary: Summary) -> dict[str, Any]:
    known = wilson(route.right, route.answered) if route.answered and summary.repeats == 1 and not found.drawn else None
    return {"right": route.right, "answered": route.answered, "asked": route.asked, "route_ok": route.of_answered,
            "low": known.low if known else None, "high": known.high if known else None, "strict": route.worst_case}


def _count(k: int, n: int) -> dict[str, Any]:
    return {"k": k, "n": n, "value": k / n if n else None}


def _ratio_json(found: Routing) -> dict[str, Any] | None:
    ratio = found.ratio
    if ratio is None or ratio.ratio is None:
        return None
    return {"ratio": ratio.ratio.estimate, "low": ratio.ratio.low, "high": ratio.ratio.high, "z": ratio.z, "p": ratio.p,
            "dropped": list(ratio.dropped), "corrected": list(ratio.corrected)}


def routing_line(summary: Summary, found: Routing, tier: int | None) -> dict[str, Any]:
    """A flat row with the numbers of one run; metrics over the answered rows, the worst case of the routes beside."""
    lead, whole = (route_json(found.routes[kind], found, summary) for kind in (found.hard or ALL, ALL))
    plain = {name: value for name, value in found.answered_metrics.items()
             if not name.startswith(("route_", "stopped_", "ability", "call_match", "tool_match", "request_match"))}
    return {"panel": found.panel, "condition": found.condition, "procedure": found.procedure, "limit": found.limit,
            "status": found.status, "tier": tier, "leading": found.hard or ALL,
            **{f"leading_{name}": value for name, value in lead.items()},
            **{f"all_{name}": value for name, value in whole.items()},
            "n": summary.run.n, "scored": summary.run.n - summary.run.failed, "failed": summary.run.failed, **plain,
            **{f"switching_{name}": getattr(found.switching, name) for name in (
                "n", "stayed", "lost", "gained", "missed", "between")},
            "upstreams": len(found.upstreams), **{f"cost_{name}": value for name, value in
                                                  cost_of(summary, found).items()}}


def route_lines(summary: Summary, found: Routing) -> list[dict[str, Any]]:
    """A flat row for each bucket, database and cluster."""
    parts: list[tuple[str, Mapping[str, Route]]] = [
        ("bucket", found.routes), ("database", found.databases), ("cluster", found.clusters)]
    return [{"kind": kind, "name": name, **route_json(route, found, summary)}
            for kind, routes in parts for name, route in routes.items()]
