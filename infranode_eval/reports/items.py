"""What many models' answers tell about each task: how hard it is, whether it tells good from weak, and whether it looks
broken.

Pure. A task is an item of a test: its discrimination is the correlation over the models between having it right and the
share of all other tasks that they have right (point-biserial, corrected for overlap).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from infranode_eval.reports.archive import Run
from infranode_eval.reports.figures import Summary
from infranode_eval.reports.ranks import is_unranked
from lm_eval_task.records import Call, Score, Task

FEWEST = 3          # models that an analysis needs
GAP = 0.05          # by so much those who fail a task must be better elsewhere before it looks broken
GOOD = 0.5          # share of the other tasks that a model solves which is "otherwise good"
MOST_SHOWN = 10     # tasks that look broken in one table


@dataclass(frozen=True, slots=True)
class Item:
    """One task over all models. right: mean share of models (and repeats) that have it right, 0–1.

    discrimination: -1 to 1, None where all models do alike. gap: share of the other tasks that those solve who have it
    right, minus that of those who have it wrong; None where nobody, or everybody, has it right.
    """

    task_id: str
    category: str
    right: float
    discrimination: float | None
    gap: float | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """Every task in the order of the rows; models: how many told."""

    models: int
    items: tuple[Item, ...]

    @property
    def suspects(self) -> list[Item]:
        """Tasks that look broken: what nobody solves first, then by discrimination, the lowest first."""
        return sorted((i for i in self.items if i.why), key=lambda i: (
            i.discrimination is not None, i.discrimination or 0.0, i.task_id))


def models_of(summaries: Iterable[Summary]) -> dict[str, list[Summary]]:
    """Comparable runs that tell about tasks, by model: no baselines, no failures, no spent budgets, the same tasks.

    Sets without ranks have tables of their own: other wordings of a task are no further tasks.
    """
    found: dict[str, list[Summary]] = {}
    tasks: tuple[str, ...] | None = None
    for summary in summaries:
        if summary.run.baseline or summary.run.failed or summary.budget_limited or summary.tally is None \
                or is_unranked(summary.dataset):
            continue
        tasks = tasks or summary.tally.task_ids
        if set(summary.tally.task_ids) == set(tasks):
            found.setdefault(summary.run.model, []).append(summary)
    return found


def analysis_of(summaries: Iterable[Summary]) -> Analysis | None:
    """summaries: of one group of comparable runs. None with fewer than FEWEST models."""
    models = models_of(summaries)
    if len(models) < FEWEST:
        return None
    first = next(iter(models.values()))[0].tally
    assert first is not None
    shares = [_shares(runs) for runs in models.values()]
    totals = [math.fsum(solved.values()) for solved in shares]
    items = []
    for task_id, category in zip(first.task_ids, first.categories, strict=True):
        own = [solved[task_id] for solved in shares]
        rest = [(total - value) / max(1, len(first.task_ids) - 1) for total, value in zip(totals, own, strict=True)]
        items.append(_item(task_id, category, own, rest))
    return Analysis(len(models), tuple(items))


def _shares(runs: Sequence[Summary]) -> dict[str, float]:
    """What a model solves of each task: the mean over its runs."""
    tallies = [run.tally.shares for run in runs if run.tally is not None]
    return {key: fmean(shares[key] for shares in tallies) for key in tallies[0]}


def _item(task_id: str, category: str, own: Sequence[float], rest: Sequence[float]) -> Item:
    right = fmean(own)
    gap = None
    if 0 < right < 1:
        gap = math.fsum(o * r for o, r in zip(own, rest, strict=True)) / math.fsum(own) \
            - math.fsum((1 - o) * r for o, r in zip(own, rest, strict=True)) / math.fsum(1 - o for o in own)
    discrimination = correlation(own, rest)
    return Item(task_id, category, right, discrimination, gap, _why(right, discrimination, gap, rest))


def correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's; point-biserial where one side is 0 or 1. None where a side does not vary."""
    one, other = fmean(first), fmean(second)
    squares = [math.fsum((v - m) ** 2 for v in values) for values, m in ((first, one), (second, other))]
    if min(squares) < 1e-12:
        return None
    joint = math.fsum((a - one) * (b - other) for a, b in zip(first, second, strict=True))
    return max(-1.0, min(1.0, joint / math.sqrt(squares[0] * squares[1])))


def _why(right: float, discrimination: float | None, gap: float | None, rest: Sequence[float]) -> str | None:
    if right == 0 and min(rest) >= GOOD:
        return "nobody is right"
    if discrimination is not None and discrimination < 0 and gap is not None and gap <= -GAP:
        return "the better ones are wrong"
    return None


# --- what was asked and called ----------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Sighting:
    """A task as its rows show it. called: what wrong replies called, most frequent first, with counts."""

    question: str
    gold: str
    called: tuple[tuple[str, int], ...]


Look = Callable[[Sequence[Summary], Sequence[str]], Mapping[str, Sighting]]     # (runs, task ids) → by task id


def sightings_of(ids: Iterable[str], runs: Iterable[tuple[Run, Mapping[str, Task]]]) -> dict[str, Sighting]:
    """runs: with their rows, each with its tasks as far as they are known."""
    tasks: dict[str, Task] = {}
    called: dict[str, Counter[str]] = {key: Counter() for key in ids}
    for run, known in runs:
        for row in run.rows:
            if row.task_id in called:
                if row.task_id in known:
                    tasks.setdefault(row.task_id, known[row.task_id])
                if row.score.call_match is False:
                    called[row.task_id][_said(row.score)] += 1
    return {key: Sighting(tasks[key].question if key in tasks else "",
                          _calls(tasks[key].expected) if key in tasks else "",
                          tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))
            for key, counts in called.items()}


def _said(score: Score) -> str:
    if score.calls:
        return _calls(score.calls)
    return "unreadable" if score.outcome in ("malformed_call", "truncated") else "no call"


def _calls(calls: Sequence[Call]) -> str:
    return " + ".join(map(str, calls)) or "no call"
