"""The tiers of the runs in one table, and the orders that two ways of counting give.

Pure. Models over the same tasks are ranked by ability (strict); baselines, budget-limited runs and runs of which only
numbers are known stand outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from infranode_eval.reports.ability import ability_weights
from infranode_eval.reports.figures import POLICY, Summary
from infranode_eval.reports.tiers import tiers_of

MOST_RANKED = 100       # every pair is tested: 4,950 tests
_NAMED = 12             # names in one line


def tiers(summaries: Sequence[Summary]) -> list[int | None]:
    """The tier of each run, from 1; None outside the ranking, and for all where there are too many to compare."""
    ranked = [i for i in _by_ability(summaries) if _is_ranked(summaries[i], summaries)]
    found: list[int | None] = [None] * len(summaries)
    if ranked and len(ranked) <= MOST_RANKED:
        first = summaries[ranked[0]].tally
        assert first is not None
        shares = [_shares(summaries[i], first.task_ids) for i in ranked]
        placed = tiers_of(shares, ability_weights(first.categories), first.clusters or first.task_ids)
        for index, tier in zip(ranked, placed.tier, strict=True):
            found[index] = tier
    return found


def _shares(summary: Summary, task_ids: Sequence[str]) -> list[float]:
    tally = summary.tally
    assert tally is not None
    solved = tally.shares
    return [solved[key] for key in task_ids]


def _by_ability(summaries: Sequence[Summary]) -> list[int]:
    return sorted(range(len(summaries)), key=lambda i: -(summaries[i].strict.get("ability") or 0.0))


def _is_ranked(summary: Summary, summaries: Sequence[Summary]) -> bool:
    """Is this a model, with rows over the tasks of the first such model, that no budget held back?"""
    if not _may_rank(summary):
        return False
    first = next(s.tally for s in summaries if _may_rank(s))
    return first is not None and summary.tally is not None and (
        summary.tally.task_ids == first.task_ids or set(summary.tally.task_ids) == set(first.task_ids))


def _may_rank(summary: Summary) -> bool:
    return summary.tally is not None and not summary.run.baseline and not summary.budget_limited \
        and summary.strict.get("ability") is not None


def tier_notes(summaries: Sequence[Summary]) -> list[str]:
    """What the tier column means, or why it is empty."""
    ranked = sum(_is_ranked(s, summaries) for s in summaries)
    if ranked > MOST_RANKED:
        return [f"no tiers: {ranked} models would take {ranked * (ranked - 1) // 2:,} paired tests; name fewer files "
                f"(up to {MOST_RANKED} are compared)"]
    if ranked < 2:
        return []
    return [f"tier: models in one tier cannot be told apart (paired differences of ability, 5 %, Holm over "
            f"{ranked * (ranked - 1) // 2} pairs); baselines, budget-limited runs and runs without rows have no rank"]


def other_orders(summaries: Sequence[Summary]) -> list[str]:
    """The orders of the models that other ways of counting give, where they differ from that by ability."""
    models = [s for s in summaries
              if not s.run.baseline and not s.budget_limited and s.strict.get("ability") is not None]
    notes = []
    by_ability, other = _orders([s for s in models if POLICY in s.categories], lambda s: s.macro)
    if by_ability != other:
        notes.append(f"the order changes with not_covered: without it {by_ability}; with it {other}")
    by_ability, other = _orders(models, lambda s: s.strict.get("call_match"))
    if by_ability != other:
        notes.append(f"the order by call_match is another one: by ability {by_ability}; by call_match {other}")
    return notes


def _orders(summaries: Sequence[Summary], number: Callable[[Summary], float | None]) -> tuple[str, str]:
    """(names by ability, names by another number); what is equal keeps the order of ability."""
    by_ability = sorted(summaries, key=lambda s: -round(s.strict.get("ability") or 0.0, 9))
    return _names(by_ability), _names(sorted(by_ability, key=lambda s: -round(number(s) or 0.0, 9)))


def _names(summaries: Sequence[Summary]) -> str:
    more = f" and {len(summaries) - _NAMED} more" if len(summaries) > _NAMED else ""
    return ", ".join(s.run.model for s in summaries[:_NAMED]) + more
