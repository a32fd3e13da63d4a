"""One model over public and over sealed tasks: what it solves more of what it may have seen, and is the seal whole?

Pure but for the SHA-256 of task files. The two sets share no task, so their numbers are independent; a public number
that stays above the sealed one fits a model that knows the public tasks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.reports.ability import ability_interval
from infranode_eval.reports.archive import Run, short_hash
from infranode_eval.reports.comparison import differing
from infranode_eval.reports.figures import Summary
from infranode_eval.reports.standings import interval_of, is_drawn
from infranode_eval.reports.tasksets import TaskSet
from infranode_eval.statistics import Interval, independent_difference
from infranode_eval.tables import Column, Section, Table, limits, percent
from lm_eval_task.errors import DataError
from lm_eval_task.records import SETS

ENOUGH = 10             # tasks that a category needs on both sides

PUBLIC_SETS = (*SETS, "full")


@dataclass(frozen=True, slots=True)
class Gap:
    """A number over the public tasks beside the same over the sealed ones; difference: public minus sealed."""

    name: str
    public: Interval
    public_n: int
    sealed: Interval
    sealed_n: int

    @property
    def difference(self) -> Interval:
        return independent_difference(self.public, self.sealed)


@dataclass(frozen=True, slots=True)
class Seal:
    """holds: None where it cannot be checked. line: why."""

    holds: bool | None
    line: str


@dataclass(frozen=True, slots=True)
class SealedComparison:
    """whole: call_match over all tasks. ability: None without rows that count. few: categories with too few tasks."""

    public: Summary
    sealed: Summary
    whole: Gap
    ability: Gap | None
    categories: tuple[Gap, ...]
    few: tuple[str, ...]
    seal: Seal
    notes: tuple[str, ...]


def compare_sealed(public: Summary, sealed: Summary, seal: Seal) -> SealedComparison:
    """Raise DataError for runs without rows, of two models, in other modes, or over the same tasks."""
    _check(public, sealed)
    of_public, of_sealed = interval_of(public), interval_of(sealed)
    ability = Gap("ability", of_public, public.task_count, of_sealed, sealed.task_count) \
        if of_public is not None and of_sealed is not None else None
    names = list(dict.fromkeys((*public.categories, *sealed.categories)))
    gaps = [_gap(name, public, sealed) for name in names]
    found = tuple(gap for gap in gaps if gap is not None)
    few = tuple(name or "(none)" for name, gap in zip(names, gaps, strict=True) if gap is None)
    return SealedComparison(public, sealed, _whole(public, sealed), ability, found, few, seal, _notes(public, sealed))


def _check(public: Summary, sealed: Summary) -> None:
    one, other = public.run, sealed.run
    pair = f"{one.path} and {other.path}"
    for summary in (public, sealed):
        if summary.tally is None:
            raise DataError("holds numbers only, no rows to compare (lm_eval: --log_samples)", summary.run.path)
    if one.model != other.model:
        raise DataError(f"{pair} are runs of two models, {one.model} and {other.model}; --sealed compares one model "
                        "over two sets of tasks")
    differ = differing(one, other, ("tools", "mode", "suite"))
    if differ:
        raise DataError(f"{pair} cannot be compared, they differ in {', '.join(differ)}")
    if sealed.dataset in PUBLIC_SETS:
        raise DataError(f"was asked the public set {sealed.dataset}; expected a run over a sealed file "
                        "(generate.py --sealed FILE, run_eval.py --tasks FILE)", other.path)
    if _same_tasks(public, sealed):
        raise DataError(f"{pair} were asked the same tasks; expected a public and a sealed set (two runs over one set: "
                        "--compare)")


def _same_tasks(public: Summary, sealed: Summary) -> bool:
    hashes = [s.run.hashes.get("tasks") for s in (public, sealed)]
    return hashes[0] is not None and hashes[0] == hashes[1]


def _whole(public: Summary, sealed: Summary) -> Gap:
    one, other = public.interval, sealed.interval
    assert one is not None and other is not None      # both have rows
    return Gap(public.measure, one, public.task_count, other, sealed.task_count)


def _gap(category: str, public: Summary, sealed: Summary) -> Gap | None:
    (one, one_n), (other, other_n) = (_part(s, category) for s in (public, sealed))
    if one is None or other is None or min(one_n, other_n) < ENOUGH:
        return None
    return Gap(category or "(none)", one, one_n, other, other_n)


def _part(summary: Summary, category: str) -> tuple[Interval | None, int]:
    """(call_match of a category, its tasks)"""
    tally = summary.tally
    assert tally is not None
    shares = list(tally.shares.values())
    inside = [i for i, name in enumerate(tally.categories) if name == category]
    clusters = tally.clusters or tally.task_ids
    found = ability_interval([shares[i] for i in inside], ["one"] * len(inside),
                             [clusters[i] for i in inside] if is_drawn(summary) else None)
    return found, len(inside)


def _notes(public: Summary, sealed: Summary) -> tuple[str, ...]:
    found = []
    differ = differing(public.run, sealed.run, ("set-up", "prompt", "scorer version"))
    if differ:
        found.append(f"the runs also differ in {', '.join(differ)}: the difference may come from that")
    assert public.tally is not None and sealed.tally is not None
    shared = set(public.tally.task_ids) & set(sealed.tally.task_ids)
    if shared:
        found.append(f"{len(shared)} task ids stand in both sets: a sealed task must not be public, and the intervals "
                     "take the sets for independent")
    alone = sorted(set(public.categories) ^ set(sealed.categories))
    if alone:
        found.append(f"only one of the sets holds {', '.join(name or '(none)' for name in alone)}: ability and "
                     f"{public.measure} are of another mixture of tasks")
    found += [f"{s.run.path}: asked only with --limit {s.run.settings['limit']}: part of a set is another set"
              for s in (public, sealed) if s.run.settings.get("limit") is not None]
    found += [f"{s.run.path}: {s.run.failed} of {s.run.n} rows are failures without an answer, counted as not solved"
              for s in (public, sealed) if s.run.failed]
    return tuple(found)


# --- the seal ---------------------------------------------------------------------------------------------------------

def seal_of(run: Run, published: str | None, files: Sequence[tuple[Path, Sequence[TaskSet]]]) -> Seal:
    """Is the sealed run about the tasks whose SHA-256 was published?

    published: of the file of tasks, or their tasks hash; None: not checked. files: those that
    may hold the sealed tasks, with their sets. Raise DataError for a file that cannot be read.
    """
    asked = run.hashes.get("tasks")
    if published is None:
        return Seal(None, "seal not checked: give the published SHA-256 of the sealed file with --sha256")
    told = published.lower()
    if told == asked:
        return Seal(True, "seal holds: the published SHA-256 is the tasks hash of the sealed run")
    fits = {path: (_sha256(path) == told, any(known.fingerprint == asked for known in sets)) for path, sets in files}
    for path, (is_published, is_asked) in sorted(fits.items(), key=lambda item: -sum(item[1])):
        if is_published and is_asked:
            return Seal(True, f"seal holds: {path} has the published SHA-256 and is what the sealed run was asked")
        if is_published:
            return Seal(False, f"SEAL BROKEN: {path} has the published SHA-256, but the sealed run was asked other "
                               f"tasks (hash {short_hash(asked)})")
        if is_asked:
            return Seal(False, f"SEAL BROKEN: {path} has the tasks of the sealed run, but not the published SHA-256 "
                               f"({short_hash(told)})")
    return Seal(None, f"seal not checked: no file at hand has the published SHA-256 ({short_hash(told)}) or the tasks "
                      f"of the sealed run (hash {short_hash(asked)}); give the sealed tasks with --tasks FILE")


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}); check the path", path) from None


# --- for people -------------------------------------------------------------------------------------------------------

def sealed_section(found: SealedComparison) -> Section:
    names = ("public", "sealed")
    columns = (Column(""), *(Column(h, right=True) for h in (
        *(h for name in names for h in (name, "95 %", "n")), "public - sealed", "95 %")))
    gaps = [found.whole, *([found.ability] if found.ability else []), *found.categories]
    notes = ["difference in points with its 95 % interval: two independent samples, limits of both joined (Newcombe's "
             f"method 10 where they are Wilson's; here {' and '.join(_methods(found))})",
             "strict: a failure is not solved; categories are looked at one by one, so one in twenty of their "
             "intervals misses 0 by chance"]
    if found.few:
        notes.append(f"fewer than {ENOUGH} tasks on one side: {', '.join(found.few)}")
    title = f"{found.public.run.model}: public against sealed tasks"
    return Section(title, (Table(f"{found.whole.name}, per cent", columns, tuple(map(_cells, gaps)), tuple(notes)),),
                   (sentence(found), found.seal.line, *found.notes))


def _methods(found: SealedComparison) -> list[str]:
    return sorted({s.method for s in (found.public, found.sealed)})


def _cells(gap: Gap) -> tuple[str, ...]:
    sides = [c for interval, n in ((gap.public, gap.public_n), (gap.sealed, gap.sealed_n))
             for c in (percent(interval.estimate), limits(interval), str(n))]
    return gap.name, *sides, f"{100 * gap.difference.estimate:+.1f}", limits(gap.difference)


def sentence(found: SealedComparison) -> str:
    """What the comparison says, for people who do not read intervals."""
    gap, difference = found.whole, found.whole.difference
    scores = (f"{found.public.run.model} solves {percent(gap.public.estimate)} % of the public and "
              f"{percent(gap.sealed.estimate)} % of the sealed tasks")
    if found.seal.holds is False:
        return f"{scores}; with a broken seal the difference says nothing."
    if difference.low > 0:
        judged = "more than chance: it fits a model that has seen the public tasks, or sealed tasks that are harder"
    elif difference.high < 0:
        judged = "more than chance: the sealed tasks are the easier ones, and nothing points to public ones seen before"
    else:
        judged = "not more than chance: no sign that it has seen the public tasks"
    return (f"{scores}; public minus sealed is {100 * difference.estimate:+.1f} points {limits(difference)}, and that "
            f"is {judged}.")


# --- for programs -----------------------------------------------------------------------------------------------------

def sealed_json(found: SealedComparison) -> dict[str, Any]:
    """Everything the section shows, proportions 0–1. Keys stay."""
    return {"model": found.public.run.model, "public": _run_json(found.public), "sealed": _run_json(found.sealed),
            found.whole.name: _gap_json(found.whole), "ability": _gap_json(found.ability) if found.ability else None,
            "categories": {gap.name: _gap_json(gap) for gap in found.categories}, "too_few": list(found.few),
            "seal": {"holds": found.seal.holds, "why": found.seal.line}, "sentence": sentence(found),
            "notes": list(found.notes)}


def _run_json(summary: Summary) -> dict[str, Any]:
    run = summary.run
    return {"path": run.path, "set": summary.dataset, "hashes": dict(run.hashes), "setup": run.setup, "n": run.n,
            "failed": run.failed, "method": summary.method}


def _gap_json(gap: Gap) -> dict[str, Any]:
    return {"public": _interval_json(gap.public), "public_n": gap.public_n, "sealed": _interval_json(gap.sealed),
            "sealed_n": gap.sealed_n, "difference": _interval_json(gap.difference)}


def _interval_json(interval: Interval) -> dict[str, float]:
    return {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
