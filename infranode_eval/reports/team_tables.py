"""Runs of the suite team as tables for people: score, scenarios, cost, what was refused, granted and not passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from infranode_eval.reports.figures import Summary
from infranode_eval.reports.team import Cell, Place, Team
from infranode_eval.reports.team_conditions import common_line, difference_lines
from infranode_eval.reports.team_rows import INVOCATIONS
from infranode_eval.tables import ABSENT, Column, Table, limits, percent
from infranode_eval.team.leaderboard import pareto_front
from infranode_eval.team.metrics import FACTORS, Usage, mca, roc, tpp, wpp

MOST = 120              # lines of one table; the rest is counted
SHARES = ("sms", "tcr", *FACTORS)
SCORES, SCENARIOS = "Management of sub-agents", "Scenarios"     # the tables that a page draws instead
FORMULA = ("SMS = TCR × (TPP + ROC + WPP + MCA) / 4, each a mean over the run; TCR: passed rounds of all rounds; a "
           "command decides each round, never a judge")
_FEW = 20               # scenarios; up to here an interval is wider than what mostly lies between two models

_MEASURES = (tpp, roc, wpp, mca)

Shown = Sequence[tuple[str, Summary, Team]]


def team_tables(summaries: Sequence[Summary], names: Sequence[str]) -> list[Table]:
    """The score first; empty for runs of other suites. names: the labels of the runs, in the same order."""
    shown = [(name, s, s.team) for name, s in zip(names, summaries, strict=True) if s.team is not None]
    if not shown:
        return []
    return [_scores(shown), *_without_failures(shown), _scenarios(shown), *_costs(shown), *_unpassed(shown),
            *_refused(shown), *_grants(shown), _runs(shown)]


# --- the score --------------------------------------------------------------------------------------------------------

def _scores(shown: Shown) -> Table:
    bad = [Column(name, right=True, bad=True) for name in ("MAF", "SAFt")]
    columns = _columns("SMS", "95 %", *(name.upper() for name in SHARES[1:]), "rounds", "sub-agents", *bad, "SAFa",
                       "cost of main", "n", "scored", "failed")
    rows = tuple((name, percent(found.strict.get("sms")), _limits(found), *_shares(found), _passed(found),
                  _count(found, "subagents"), _count(found, "maf"), _count(found, "saft"), per_subagent(found),
                  money(found), *_numbers(s)) for name, s, found in shown)
    return Table(SCORES, columns, rows, tuple(score_notes(shown)))


def score_notes(shown: Shown) -> Iterator[str]:
    """What the columns mean, what a reader must not conclude, and in what the runs differ."""
    made = [(name, found.conditions) for name, _, found in shown]
    yield from difference_lines(made)
    yield f"alike in all: {common_line(made)}"
    yield "per cent; a failed play counts with all its rounds as not passed and its factors as 0; the order is by SMS"
    yield FORMULA
    yield ("MAF: forbidden accesses of the main agent; SAFt: of all sub-agents, SAFa: of each on average; many "
           "sub-agents with one file each raise the factors, so their number stands beside")
    yield "cost: list price of the main agent's tokens only; the pool has no price here"
    yield few_sentence(max(len(found.conditions.scenarios) for _, _, found in shown))


def few_sentence(scenarios: int) -> str:
    """How much a number of scenarios can tell."""
    one = scenarios == 1
    if scenarios > _FEW:
        return f"no tiers; 95 %: whole scenarios drawn again from the {scenarios}, with all their rounds"
    return (f"{scenarios} scenario{'' if one else 's'} separate{'s' if one else ''} few models: no tiers, and "
            + ("no interval from one scenario" if one else
               "95 % (whole scenarios drawn again) from so few tends to be too narrow")
            + "; — where all draws agree, which proves nothing")


def _without_failures(shown: Shown) -> list[Table]:
    """Strict and answered numbers side by side, of the runs in which they differ."""
    partly = [(name, s, found) for name, s, found in shown if found.partly]
    if not partly:
        return []
    columns = _columns(*(header for name in SHARES for header in (name.upper(), "answered")), "rounds", "answered",
                       "n", "scored", "failed")
    rows = tuple((name, *(percent(part.get(key)) for key in SHARES for part in (found.strict, found.answered)),
                  *(_passed_of(part) for part in (found.strict, found.answered)), *_numbers(s))
                 for name, s, found in partly)
    return [Table("All plays, and those with an answer", columns, rows, (
        "first over all plays, then without those that failed: a timeout or a refused request is no answer",))]


def _scenarios(shown: Shown) -> Table:
    """Scenario × run; the rows are the runs, as in all tables."""
    names = scenarios_of(shown)
    rows = tuple((label, *(cell_text(found.cells.get(name)) for name in names)) for label, _, found in shown)
    return Table(SCENARIOS, _columns(*names), rows, (
        "SMS of the scenario alone, in brackets the passed rounds of all, repeats together; the SMS of a run is the "
        "product of the run's means, not the mean of these",))


def scenarios_of(shown: Shown) -> list[str]:
    """All of them, in the order in which the runs name them."""
    return list(dict.fromkeys(name for _, _, found in shown for name in found.cells))


def cell_text(cell: Cell | None) -> str:
    """As "66.7 (4/6)"; "—" where the run has no play with a verdict."""
    if cell is None or cell.sms is None:
        return ABSENT
    return f"{percent(cell.sms)} ({cell.passed}/{cell.rounds})"


def _costs(shown: Shown) -> list[Table]:
    """The cheapest first; no table where no price is known."""
    priced = sorted([(found.amount, name, found) for name, _, found in shown if found.amount is not None],
                    key=lambda one: (one[0], one[1]))
    if not priced:
        return []
    front = front_of([found for _, _, found in priced])
    rows = tuple((name, money(found), percent(found.strict.get("sms")), "yes" if place in front else "no")
                 for place, (_, name, found) in enumerate(priced))
    notes = ["front: no other run costs no more and scores no less, one of the two strictly"]
    if len({found.cost.currency for _, _, found in priced if found.cost}) > 1:
        notes = ["no front: the prices are in several currencies"]
    without = [name for name, _, found in shown if found.amount is None]
    notes += [f"without a price: {', '.join(without)}"] if without else []
    return [Table("Cost and score", _columns("cost of main", "SMS", "front"), rows, tuple(notes))]


def front_of(teams: Sequence[Team]) -> frozenset[int]:
    """Positions of the runs on the front of cost and SMS; none where their currencies differ."""
    if len({found.cost.currency for found in teams if found.cost is not None and found.amount is not None}) > 1:
        return frozenset()
    return frozenset(pareto_front([(found.amount, found.strict.get("sms")) for found in teams]))


# --- what went wrong --------------------------------------------------------------------------------------------------

def _unpassed(shown: Shown) -> list[Table]:
    rows = [(name, *_place(place), one.id, "passed" if one.passed else "not passed", one.why)
            for name, _, found in shown for place, one in found.unpassed]
    rows += [(name, *_place(place), "all", "no verdict", why)
             for name, _, found in shown for place, why in found.failures]
    columns = (Column("model"), Column("scenario"), Column("round"), Column("verdict"), Column("why"))
    return _cut("Rounds that are not passed", columns, rows, "team_rounds", (
        "what the check of the round said; a round that a limit cut short is checked all the same",))


def _refused(shown: Shown) -> list[Table]:
    counts = Counter((name, *_place(place), one.round, one.agent, one.tool, one.path)
                     for name, _, found in shown for place, one in found.refusals)
    rows = [(*key, str(count)) for key, count in counts.items()]
    columns = (Column("model"), Column("scenario"), Column("round"), Column("who"), Column("tool"), Column("path"),
               Column("times", right=True))
    return _cut("Forbidden accesses", columns, rows, "team_refusals")


def _grants(shown: Shown) -> list[Table]:
    """Sub-agents that were granted something for nothing, chosen amiss, or refused something."""
    rows = [(name, *_place(place), usage.name, usage.model_key, *_tools(usage), _files(usage), _media(usage),
             *(percent(measure(usage), 0) for measure in _MEASURES), str(usage.refused))
            for name, _, found in shown for place, usage in found.subagents if not _is_well_used(usage)]
    columns = (Column("model"), Column("scenario"), Column("sub-agent"), Column("key"), Column("tools used"),
               Column("granted, not used"), Column("files", right=True), Column("perceived"),
               *(Column(name.upper(), right=True) for name in FACTORS), Column("refused", right=True, bad=True))
    return _cut("Grants and their use", columns, rows, "team_subagents", (
        "files: read or written of those within reach when it was created; perceived: pictures, films, sounds that "
        "stood in a request",))


def _runs(shown: Shown) -> Table:
    headers = ("first runs", "continued", "first, in background", "continued, in background", "by workflow")
    rows = tuple((name, str(len(found.subagents)), f"{_well_used(found)}/{len(found.subagents)}",
                  *(str(found.invocations[key]) for key in INVOCATIONS)) for name, _, found in shown)
    return Table("Runs of sub-agents", _columns("sub-agents", "well granted", *headers), rows, (
        "well granted: used every tool and as many files as it could reach, perceived what its key is for, and was "
        "refused nothing",))


def _well_used(found: Team) -> int:
    return sum(_is_well_used(usage) for _, usage in found.subagents)


def _is_well_used(usage: Usage) -> bool:
    return not usage.refused and min(measure(usage) for measure in _MEASURES) == 1


def _cut(title: str, columns: tuple[Column, ...], rows: Sequence[tuple[str, ...]], csv: str,
         notes: tuple[str, ...] = ()) -> list[Table]:
    if not rows:
        return []
    more = (f"{len(rows) - MOST} more lines: report.py --format csv --table {csv}",) if len(rows) > MOST else ()
    return [Table(title, columns, tuple(rows[:MOST]), (*notes, *more))]


# --- cells ------------------------------------------------------------------------------------------------------------

def _columns(*headers: str | Column) -> tuple[Column, ...]:
    return (Column("model"), *(h if isinstance(h, Column) else Column(h, right=True) for h in headers))


def _numbers(summary: Summary) -> tuple[str, ...]:
    run = summary.run
    return str(run.n), str(run.n - run.failed), str(run.failed)


def _limits(found: Team) -> str:
    return ABSENT if found.interval is None else limits(found.interval)


def _shares(found: Team) -> Iterable[str]:
    return (percent(found.strict.get(name)) for name in SHARES[1:])


def _passed(found: Team) -> str:
    return _passed_of(found.strict)


def _passed_of(numbers: object) -> str:
    passed, rounds = (numbers.get(name) for name in ("rounds_passed", "rounds"))    # type: ignore[attr-defined]
    return ABSENT if passed is None or rounds is None else f"{passed:g}/{rounds:g}"


def _count(found: Team, name: str) -> str:
    value = found.strict.get(name)
    return ABSENT if value is None else f"{value:g}"


def per_subagent(found: Team) -> str:
    """Forbidden accesses of a sub-agent on average; "—" without one."""
    value = found.strict.get("safa")
    return ABSENT if value is None else f"{value:.2f}"


def money(found: Team) -> str:
    """Of the main agent, with its currency; "—" where no price is known."""
    if found.cost is None or found.cost.amount is None:
        return ABSENT
    return f"{found.cost.amount:.4f}" + (f" {found.cost.currency}" if found.cost.currency else "")


def _place(place: Place) -> tuple[str]:
    return (place.scenario + (f" ({place.repeat})" if place.repeat > 1 else ""),)


def _tools(usage: Usage) -> tuple[str, str]:
    return (", ".join(sorted(usage.granted & usage.used)) or ABSENT,
            ", ".join(sorted(usage.granted - usage.used)) or ABSENT)


def _files(usage: Usage) -> str:
    return f"{len(usage.touched)}/{usage.files}"


def _media(usage: Usage) -> str:
    return ", ".join(f"{count} {name}" for name, count in usage.media.items() if count) or ABSENT
