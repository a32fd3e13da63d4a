"""The tiers of the runs in one table, and the orders that two ways of counting give.

Pure. Models over the same tasks are ranked by ability (strict); baselines, incomplete and budget-limited runs, runs of
which only numbers are known and runs over a set that measures something else stand outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from infranode_eval.reports.ability import ability_weights
from infranode_eval.reports.archive import MAIN_SUITE
from infranode_eval.reports.bench import SUITE
from infranode_eval.reports.db_routing_ranks import routing_tiers
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.figures import POLICY, Summary
from infranode_eval.reports.team_rows import SUITE as TEAM
from infranode_eval.reports.tiers import Tiers, tiers_of

UNRANKED = ("robust", "abstain")     # sets with tables of their own
OUTSIDE = ("set", "incomplete", "budget", "numbers", "tasks", "baseline")     # why a run has no rank
MOST_RANKED = 100       # every pair is tested: 4,950 tests
_NAMED = 12             # names in one line


def tiers(summaries: Sequence[Summary]) -> list[int | None]:
    """The tier of each run, from 1; None outside the ranking, and for all where there are too many to compare."""
    if summaries and summaries[0].routing is not None:
        return routing_tiers(summaries)
    reasons = reasons_outside(summaries)
    ranked = [i for i in _by_ability(summaries) if reasons[i] is None]
    found: list[int | None] = [None] * len(summaries)
    placed = placed_in_tiers([summaries[i] for i in ranked])
    for index, tier in zip(ranked, placed.tier if placed else (), strict=placed is not None):
        found[index] = tier
    return found


def placed_in_tiers(ranked: Sequence[Summary]) -> Tiers | None:
    """The tiers of runs over the same tasks, best first; None for none, or more than MOST_RANKED."""
    tallies = [s.tally for s in ranked if s.tally is not None]
    if not tallies or len(tallies) > MOST_RANKED:
        return None
    first = tallies[0]
    shares = [tally.shares for tally in tallies]
    return tiers_of([[solved[key] for key in first.task_ids] for solved in shares],
                    ability_weights(first.categories, first.policies),
                    first.clusters or first.task_ids)


def _by_ability(summaries: Sequence[Summary]) -> list[int]:
    return sorted(range(len(summaries)), key=lambda i: -(summaries[i].strict.get("ability") or 0.0))


def reasons_outside(summaries: Sequence[Summary]) -> list[str | None]:
    """For each run why it has no rank (one of OUTSIDE), or None: a model over the tasks of the first such model."""
    first = next((s.tally for s in summaries if _reason(s) is None and s.tally is not None), None)
    reference = set(first.task_ids) if first else set()
    return [_reason(s) or (None if s.tally and set(s.tally.task_ids) == reference else "tasks") for s in summaries]


def _reason(summary: Summary) -> str | None:
    if summary.run.baseline:
        return "baseline"
    if is_unranked(summary.dataset, summary.run.suite):
        return "set"
    if summary.tally is None or summary.strict.get("ability") is None:
        return "numbers"
    if summary.run.failed:
        return "incomplete"
    return "budget" if summary.budget_limited else None


def is_unranked(dataset: str | None, suite: str = MAIN_SUITE) -> bool:
    """Is this a set, or a suite, with tables of its own? Also where a remark stands behind its name."""
    return suite in (SUITE, ROUTED, TEAM) or (dataset or "").partition(" (")[0].partition(",")[0] in UNRANKED


def tier_notes(summaries: Sequence[Summary]) -> list[str]:
    """What the tier column means, or why it is empty."""
    ranked = reasons_outside(summaries).count(None)
    if ranked > MOST_RANKED:
        return [f"no tiers: {ranked} models would take {ranked * (ranked - 1) // 2:,} paired tests; name fewer files "
                f"(up to {MOST_RANKED} are compared)"]
    if ranked < 2:
        return []
    return [f"tier: models in one tier cannot be told apart (paired differences of ability, 5 %, Holm over "
            f"{ranked * (ranked - 1) // 2} pairs); baselines, incomplete and budget-limited runs, and runs without "
            "rows have no rank"]


def other_orders(summaries: Sequence[Summary]) -> list[str]:
    """The orders of the models that other ways of counting give, where they differ from that by ability."""
    models = [s for s in summaries
              if not s.run.baseline and not s.budget_limited and s.strict.get("ability") is not None]
    notes = []
    by_ability, other = _orders([s for s in models if POLICY in s.categories and s.chain is None], lambda s: s.macro)
    if by_ability != other:
        notes.append(f"the order changes with not_covered: without it {by_ability}; with it {other}")
    by_ability, other = _orders(models, lambda s: s.strict.get(s.measure))
    if by_ability != other:
        name = models[0].measure
        notes.append(f"the order by {name} is another one: by ability {by_ability}; by {name} {other}")
    return notes


def _orders(summaries: Sequence[Summary], number: Callable[[Summary], float | None]) -> tuple[str, str]:
    """(names by ability, names by another number); what is equal keeps the order of ability."""
    by_ability = sorted(summaries, key=lambda s: -round(s.strict.get("ability") or 0.0, 9))
    return _names(by_ability), _names(sorted(by_ability, key=lambda s: -round(number(s) or 0.0, 9)))


def _names(summaries: Sequence[Summary]) -> str:
    more = f" and {len(summaries) - _NAMED} more" if len(summaries) > _NAMED else ""
    return ", ".join(s.run.model for s in summaries[:_NAMED]) + more
