"""Runs under an arm beside the run without it: what a score rests on, in numbers and in words.

Pure. A base and its arms are one model over the same tasks in one mode and set-up; they are paired task by task, and
never ranked together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from infranode_eval.arms import ARMS, SEED, Arm
from infranode_eval.reports.comparison import LEVEL, Paired, paired
from infranode_eval.reports.figures import Summary, Tally
from infranode_eval.reports.sections import Group, group_of
from infranode_eval.statistics import exact_is_shown, holm, mcnemar_exact
from infranode_eval.tables import ABSENT, Column, Section, Table, limits, percent

COLLAPSED = 0.25        # of what the base solves; an arm that leaves no more has taken away what the score rests on
WIDE = 0.1              # an interval that reaches further than ten points says nothing about staying the same


@dataclass(frozen=True, slots=True)
class Effect:
    """One run under an arm beside its base. gained, lost: tasks that only the arm, only the base solves more often.

    adjusted: p after Holm's correction over the arms of this base, of which there are `arms`.
    """

    label: str
    run: Summary
    base: Summary
    gained: int
    lost: int
    paired: Paired
    adjusted: float = 1.0
    arms: int = 1

    @property
    def words(self) -> str:
        """What the difference says, for people who do not read p values."""
        arm = ARMS.get(self.run.run.arm or "")
        if arm is None:
            return ABSENT
        return (self._of_a_difference(arm) if self.adjusted < LEVEL else self._of_none(arm)) + _bound(self.run)

    def _of_a_difference(self, arm: Arm) -> str:
        before, after = (s.strict.get("call_match") or 0.0 for s in (self.base, self.run))
        if after > before:
            return arm.rises
        return f"collapses: {arm.falls}" if after <= COLLAPSED * before else arm.falls

    def _of_none(self, arm: Arm) -> str:
        """No difference shows: because there is none worth naming, or because there was nothing to see it by."""
        solved = round((self.base.strict.get("call_match") or 0.0) * self.base.task_count)
        if self.arms * mcnemar_exact(solved, 0) >= LEVEL:
            return "the base solves too few tasks to tell"
        interval = self.paired.difference
        if interval.low < -WIDE or interval.high > WIDE:
            return f"open: from {100 * interval.low:+.0f} to {100 * interval.high:+.0f} points is possible"
        return arm.stays


def _bound(summary: Summary) -> str:
    offered = summary.run.settings.get("gold_offered")
    if not isinstance(offered, dict):
        return ""
    return f"; the right tool was offered in {offered.get('tasks')} of {offered.get('of')} tasks"


def arms_sections(summaries: Iterable[Summary]) -> list[Section]:
    """One section with a table for each base; empty where no run is under an arm."""
    families, alone = families_of(summaries)
    if not families and not alone:
        return []
    shown = {effect.run.run.arm for effects in families for effect in effects}
    notes = [f"{arm.name}: {arm.changes}" for arm in ARMS.values() if arm.name in shown]
    notes += [f"{s.run.path}: {s.run.model} under {s.run.arm} has no base: no run without an arm over the same tasks "
              "in the same mode and set-up" for s in alone]
    return [Section("Arms: what a score rests on", tuple(_table(effects) for effects in families), tuple(notes))]


def tables_by_group(summaries: Iterable[Summary]) -> dict[Group, list[Table]]:
    """The tables, by the group in which their base stands."""
    found: dict[Group, list[Table]] = {}
    for effects in families_of(summaries)[0]:
        found.setdefault(group_of(effects[0].base), []).append(_table(effects))
    return found


def families_of(summaries: Iterable[Summary]) -> tuple[list[list[Effect]], list[Summary]]:
    """(the effects of each base, in the order of ARMS; runs under an arm that have no base)."""
    bases: dict[tuple[Group, str, str, str], Summary] = {}
    under: dict[tuple[Group, str, str, str], list[Summary]] = {}
    for summary in sorted((s for s in summaries if s.routing is None), key=lambda s: s.run.path):
        if summary.run.arm is None:
            bases.setdefault(_family(summary), summary)
        else:
            under.setdefault(_family(summary), []).append(summary)
    alone: list[Summary] = []
    families = []
    for key in sorted(under):
        base = bases.get(key)
        pairable = [s for s in under[key] if base is not None and _same_tasks(s.tally, base.tally)]
        alone += [s for s in under[key] if s not in pairable]
        if base is not None and pairable:
            families.append(_effects(base, pairable))
    return families, alone


def _family(summary: Summary) -> tuple[Group, str, str, str]:
    """What a base and its arms have in common: everything but the arm and the prompt that follows from it."""
    run = summary.run
    return group_of(summary)._replace(arm="", prompt=""), run.model, run.backend, run.harness


def _same_tasks(one: Tally | None, other: Tally | None) -> bool:
    return one is not None and other is not None and set(one.task_ids) == set(other.task_ids)


def _effects(base: Summary, runs: Sequence[Summary]) -> list[Effect]:
    ordered = sorted(runs, key=lambda s: (_place(s.run.arm), _seed(s), s.run.path))
    labels = [_label(s) for s in ordered]
    often = Counter(labels)
    effects = [_effect(f"{label} · {s.run.path}" if often[label] > 1 else label, s, base)
               for label, s in zip(labels, ordered, strict=True)]
    return [replace(effect, adjusted=p, arms=len(effects))
            for effect, p in zip(effects, holm([e.paired.p for e in effects]), strict=True)]


def _place(arm: str | None) -> int:
    return list(ARMS).index(arm) if arm in ARMS else len(ARMS)


def _seed(summary: Summary) -> int:
    settings = summary.run.settings
    seed = settings.get("arm_seed", settings.get("shuffle_tools"))
    return seed if isinstance(seed, int) else SEED


def _label(summary: Summary) -> str:
    name, seed = summary.run.arm or "", _seed(summary)
    return name if seed == SEED else f"{name} (seed {seed})"


def _effect(label: str, run: Summary, base: Summary) -> Effect:
    """Both have a tally over the same tasks."""
    first, second = base.tally, run.tally
    assert first is not None and second is not None
    before, after = ([tally.shares[key] for key in first.task_ids] for tally in (first, second))
    found = paired(before, after, first.clusters or first.task_ids, templates=bool(first.clusters),
                   repeated=base.repeats > 1)
    return Effect(label, run, base, sum(b > a for a, b in zip(before, after, strict=True)),
                  sum(b < a for a, b in zip(before, after, strict=True)), found)


# --- as a table -------------------------------------------------------------------------------------------------------

_HEADERS = ("call_match", "points", "95 %", "gained", "lost", "McNemar p", "tool_match", "n", "failed")


def _table(effects: Sequence[Effect]) -> Table:
    base = effects[0].base
    group = group_of(base)
    columns = (Column("arm"), *(Column(h, right=True) for h in _HEADERS), Column("what it says"))
    first = ("none (base)", percent(base.strict.get("call_match")), ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
             percent(base.strict.get("tool_match")), str(base.run.n), str(base.run.failed),
             "")
    rows = (first, *((e.label, percent(e.run.strict.get("call_match")), f"{100 * e.paired.difference.estimate:+.1f}",
                      limits(e.paired.difference), str(e.gained), str(e.lost), _p(e),
                      percent(e.run.strict.get("tool_match")), str(e.run.run.n), str(e.run.run.failed), e.words)
                     for e in effects))
    repeated = f" × {group.repeats}" if group.repeats > 1 else ""
    title = f"{base.run.model}: {group.dataset}, mode {group.mode}, set-up {group.setup}, {group.count} tasks{repeated}"
    return Table(title, columns, rows, (
        f"points: arm minus base, paired by tasks ({effects[0].paired.method}); gained, lost: tasks that only the arm, "
        "only the base solves",
        "p: continuity-corrected, the exact one behind it below 25 tasks that only one solves; the words go by "
        f"{effects[0].paired.test.split(',')[0]} after Holm over these arms (5 %), and say that something does not "
        f"show only where the interval stays within {100 * WIDE:.0f} points",
        f"collapses: no more than {COLLAPSED:.0%} of what the base solves is left"))


def _p(effect: Effect) -> str:
    """McNemar's p; with repeats, or where tasks hang together, that of the test which decides."""
    found = effect.paired
    if found.corrected is None or not found.test.startswith("McNemar"):
        return _short(found.p)
    shown = found.exact is not None and exact_is_shown(effect.gained, effect.lost)
    return _short(found.corrected.p) + (f" ({_short(found.exact)})" if shown else "")


def effect_json(effect: Effect) -> dict[str, Any]:
    """Everything a row of the table shows, proportions 0–1. Keys stay."""
    found, run = effect.paired, effect.run.run
    return {"model": run.model, "path": run.path, "base": effect.base.run.path, "arm": run.arm,
            "seed": _seed(effect.run), "call_match": effect.run.strict.get("call_match"),
            "base_call_match": effect.base.strict.get("call_match"),
            "difference": {"estimate": found.difference.estimate, "low": found.difference.low,
                           "high": found.difference.high, "method": found.method},
            "gained": effect.gained, "lost": effect.lost,
            "mcnemar": None if found.corrected is None else {"statistic": found.corrected.statistic,
                                                             "p": found.corrected.p, "p_exact": found.exact},
            "p": found.p, "test": found.test, "p_holm": effect.adjusted, "words": effect.words}


def _short(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.3g}"
