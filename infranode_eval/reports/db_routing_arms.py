"""The conditions of the suite db_routing that are put in one request, beside the anonymised one, bucket by bucket.

Pure. Never in a table with the loop: without tools another thing is measured. Source: specification, db_routing, 67
to 71.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from infranode_eval.db_routing.arms import BASE, CONDITIONS
from infranode_eval.reports.comparison import p_text
from infranode_eval.reports.db_routing import ALL, Routing
from infranode_eval.reports.db_routing_tables import label
from infranode_eval.reports.figures import Summary
from infranode_eval.reports.sections import group_of
from infranode_eval.statistics import Interval, PairedTest, exact_is_shown, mcnemar, mcnemar_exact, wilson
from infranode_eval.tables import ABSENT, Column, Section, Table, limits, percent

_CHANGES = {
    BASE: "aliases and paragraphs; the base of the others", "names": "real names, no paragraph",
    "catalogue": "real names with their paragraphs", "permuted": "real names, each with the paragraph of another",
    "distractors": "the right paragraph among ten of the reserve, under aliases dealt anew",
    "paraphrase": "the question in other words, where a paraphrase passes its gates"}


@dataclass(frozen=True, slots=True)
class Effect:
    """One condition beside the base over the questions of a bucket that both answered; base's own row: test None.

    right, n: of the condition over its own answered questions. pairs: questions in the test; gained, lost: right under
    the condition only, under the base only.
    """

    bucket: str
    right: int
    n: int
    asked: int
    pairs: int = 0
    gained: int = 0
    lost: int = 0
    test: PairedTest | None = None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.right, self.n) if self.n else None

    @property
    def exact(self) -> float | None:
        """Beside the corrected test where few pairs differ."""
        return mcnemar_exact(self.gained, self.lost) if self.test and exact_is_shown(self.gained, self.lost) else None


@dataclass(frozen=True, slots=True)
class Family:
    """A model's runs in one request over one panel: the base (None where it is missing) and all conditions in order."""

    model: str
    base: Summary | None
    runs: tuple[Summary, ...]


def families(summaries: Iterable[Summary]) -> list[Family]:
    """By model, panel and whatever else runs must share; conditions in the order of the suite."""
    found: dict[Any, list[Summary]] = {}
    order = {name: number for number, name in enumerate(CONDITIONS)}
    single = [s for s in summaries if s.run.single_shot and s.routing is not None]
    for summary in sorted(single, key=lambda s: (order.get(s.run.arm or "", len(order)), s.run.path)):
        key = group_of(summary)._replace(arm="", prompt="", count=0, condition=""), summary.run.model, \
            summary.run.backend
        found.setdefault(key, []).append(summary)
    return [Family(model, next((s for s in runs if s.run.arm == BASE), None), tuple(runs))
            for (_, model, _), runs in sorted(found.items())]


def effects_of(run: Summary, base: Summary | None) -> list[Effect]:
    """For all questions and for each bucket."""
    return [_effect(kind, run, base) for kind in (run.routing.routes if run.routing else ())]


def _effect(kind: str, summary: Summary, base: Summary | None) -> Effect:
    found = summary.routing
    assert found is not None, "single-shot runs have a routing"
    inside = _inside(found, kind)
    right, n, asked = sum(inside.values()), len(inside), found.routes[kind].asked
    if base is None or base is summary or base.routing is None:
        return Effect(kind, right, n, asked)
    theirs = _inside(base.routing, kind)
    common = [key for key in inside if key in theirs]
    gained, lost = (sum(one[key] > other[key] for key in common) for one, other in ((inside, theirs), (theirs, inside)))
    return Effect(kind, right, n, asked, len(common), gained, lost, mcnemar(gained, lost))


def _inside(found: Routing, kind: str) -> dict[tuple[str, int], bool]:
    return {key: given.right for key, given in found.given.items() if kind in (ALL, found.buckets[key[0]])}


def routing_arms_sections(summaries: Iterable[Summary]) -> list[Section]:
    """One section with a table for each model; empty where no run was put in one request."""
    groups = families(summaries)
    if not groups:
        return []
    shown = dict.fromkeys(s.run.arm or "" for one in groups for s in one.runs)
    notes = [f"{name}: {_CHANGES.get(name, 'unknown')}" for name in shown]
    notes += [f"{one.model}: no run of the base {BASE}, so no condition is compared; make one with --arm {BASE}"
              for one in groups if one.base is None]
    return [Section("db_routing, conditions in one request without tools", tuple(map(_table, groups)), tuple(notes))]


def _table(family: Family) -> Table:
    rows = [(label(effect.bucket) if not number else "", s.run.arm or ABSENT, *_cells(effect, s))
            for kind in _kinds(family) for number, (s, effect) in enumerate(
                [(s, effect) for s in family.runs for effect in effects_of(s, family.base) if effect.bucket == kind])]
    columns = (Column("bucket"), Column("condition"), *(Column(header, right=True) for header in (
        "answered", "95 %", "strict", "pairs", "gained", "lost", "chi²", "p", "p exact", "follows the text")))
    return Table(f"{family.model}: {family.runs[0].run.mode}, single_shot", columns, tuple(rows), (
        f"McNemar with continuity correction against {BASE}, over the questions that both answered; exact beside it "
        "below 25 that differ; one test a bucket and condition, not corrected for their number",
        "follows the text: declared the name that stands over the right paragraph",
        "a model that knows a published panel by heart may go by its questions: what was published before a model's "
        "release is no proof of routing"))


def _kinds(family: Family) -> list[str]:
    return list(dict.fromkeys(kind for s in family.runs for kind in (s.routing.routes if s.routing else ())))


def _cells(effect: Effect, summary: Summary) -> tuple[str, ...]:
    drawn, found = summary.repeats > 1, summary.routing
    share = f"{effect.right}/{effect.n} = {percent(effect.right / effect.n)}" if effect.n else ABSENT
    follows = found.follows if found and effect.bucket == ALL else None
    return (share, limits(effect.interval) if effect.interval and not drawn else ABSENT,
            percent(effect.right / effect.asked) if effect.asked else ABSENT,
            *_test_cells(effect), f"{follows[0]}/{follows[1]}" if follows else "")


def _test_cells(effect: Effect) -> tuple[str, ...]:
    if effect.test is None:
        return ("",) * 6
    exact = p_text(effect.exact).removeprefix("p = ") if effect.exact is not None else ""
    return (str(effect.pairs), str(effect.gained), str(effect.lost), f"{effect.test.statistic:.3f}",
            p_text(effect.test.p).removeprefix("p = "), exact)


def arms_json(family: Family) -> dict[str, Any]:
    """Proportions 0–1; test null for the base and without one."""
    return {"model": family.model, "base": family.base.run.path if family.base else None, "conditions": [
        {"condition": s.run.arm, "path": s.run.path, "buckets": [_effect_json(e) for e in effects_of(s, family.base)]}
        for s in family.runs]}


def _effect_json(effect: Effect) -> dict[str, Any]:
    interval = effect.interval
    return {"bucket": effect.bucket, "right": effect.right, "answered": effect.n, "asked": effect.asked,
            "low": interval.low if interval else None, "high": interval.high if interval else None,
            "pairs": effect.pairs, "gained": effect.gained, "lost": effect.lost,
            "chi2": effect.test.statistic if effect.test else None, "p": effect.test.p if effect.test else None,
            "p_exact": effect.exact}


def arm_lines(families_: Sequence[Family]) -> list[dict[str, Any]]:
    """A flat row for each condition and bucket."""
    return [{"model": one.model, "path": s.run.path, "condition": s.run.arm, **_effect_json(effect)}
            for one in families_ for s in one.runs for effect in effects_of(s, one.base)]
