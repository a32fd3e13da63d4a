"""One model over both wordings of the bench: what it solves of each, and which cases flip between them; pure.

Two wordings of one case have one gold, so a case that flips tells how far a single verdict can be trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.reports.bench import SUITE
from infranode_eval.reports.bench_tables import NOISE
from infranode_eval.reports.comparison import LEVEL, Paired, p_text, paired
from infranode_eval.reports.figures import Summary
from infranode_eval.reports.sections import Group, group_of
from infranode_eval.tables import ABSENT, Column, Section, Table
from lm_eval_task.cases import SETS, SUFFIX

FIRST, SECOND, BOTH = SETS


@dataclass(frozen=True, slots=True)
class Wordings:
    """original, paraphrase: share of its repeats that is solved, by case; the same cases in both.

    runs: one that holds both wordings, or one for each.
    """

    runs: tuple[Summary, ...]
    original: Mapping[str, float]
    paraphrase: Mapping[str, float]
    paired: Paired

    @property
    def lost(self) -> list[str]:
        """Cases that the second wording costs."""
        return [key for key, share in self.original.items() if self.paraphrase[key] < share]

    @property
    def gained(self) -> list[str]:
        return [key for key, share in self.original.items() if self.paraphrase[key] > share]

    @property
    def model(self) -> str:
        return self.runs[0].run.model

    @property
    def words(self) -> str:
        """What it says, for people who do not read p values."""
        if not self.lost and not self.gained:
            return "no case flips: the wording does nothing"
        if self.paired.p < LEVEL:
            side = "costs more" if len(self.lost) > len(self.gained) else "gains more"
            return f"the other wording {side} than chance ({p_text(self.paired.p)})"
        flips = len(self.lost) + len(self.gained)
        return f"{flips} of {len(self.original)} cases flip, not more than chance one way ({p_text(self.paired.p)})"


def wordings_of(summaries: Iterable[Summary]) -> list[Wordings]:
    """One for each model that was asked both; programs, which do not read, are left out. In the order of paths."""
    asked = sorted((s for s in summaries if s.run.suite == SUITE and s.tally is not None and not s.run.baseline
                    and s.run.arm is None), key=lambda s: s.run.path)
    found = [one for s in asked if _named(s)[1] == BOTH for one in _paired((s,), *_halves(s))]
    originals: dict[Any, Summary] = {}
    for summary in asked:
        if _named(summary)[1] == FIRST:
            originals.setdefault(_family(summary), summary)
    for summary in asked:
        first = originals.get(_family(summary))
        if _named(summary)[1] == SECOND and first is not None:
            found += _paired((first, summary), _shares(first), _shares(summary))
    return found


def _named(summary: Summary) -> tuple[str, str]:
    """(whose cases, which wording): ("", "original"), or ("faelle", "paraphrase") of a user's own faelle.jsonl."""
    name = (summary.dataset or "").partition(" (")[0]
    if name in SETS:
        return "", name
    stem, _, which = name.rpartition(".")
    return (stem, which) if stem and which in SETS else (name, FIRST)


def case_keys(summary: Summary) -> set[tuple[str, str]]:
    """(whose cases, id of the case) of what a bench run was asked; a second wording is no other case."""
    if summary.run.suite != SUITE or summary.tally is None:
        return set()
    return {(_named(summary)[0], key.removesuffix(SUFFIX)) for key in summary.tally.task_ids}


def _family(summary: Summary) -> tuple[Any, ...]:
    """What runs over the two wordings have in common: everything but the set and what follows from it."""
    run = summary.run
    group = group_of(summary)._replace(dataset="", tasks="", count=0)
    return group, _named(summary)[0], run.model, run.backend, run.harness


def _shares(summary: Summary) -> dict[str, float]:
    found = summary.tally.shares if summary.tally else {}
    return {key.removesuffix(SUFFIX): share for key, share in found.items()}


def _halves(summary: Summary) -> tuple[dict[str, float], dict[str, float]]:
    found = summary.tally.shares if summary.tally else {}
    return ({key: share for key, share in found.items() if not key.endswith(SUFFIX)},
            {key.removesuffix(SUFFIX): share for key, share in found.items() if key.endswith(SUFFIX)})


def _paired(runs: tuple[Summary, ...], original: Mapping[str, float],
            paraphrase: Mapping[str, float]) -> list[Wordings]:
    """Over the cases that stand in both; empty without one."""
    ids = [key for key in original if key in paraphrase]
    if not ids:
        return []
    first, second = ({key: shares[key] for key in ids} for shares in (original, paraphrase))
    return [Wordings(runs, first, second, paired(list(first.values()), list(second.values()), ids, templates=False,
                                                 repeated=runs[0].repeats > 1, unit="case"))]


# --- shown ------------------------------------------------------------------------------------------------------------

def wordings_sections(summaries: Iterable[Summary]) -> list[Section]:
    """Empty where no model was asked both wordings."""
    found = wordings_of(summaries)
    return [Section("Two wordings of the bench", (_table(found),))] if found else []


def wordings_by_group(summaries: Iterable[Summary]) -> dict[Group, list[Table]]:
    """The tables, by the group of the first of the two runs."""
    found: dict[Group, list[Wordings]] = {}
    for one in wordings_of(summaries):
        found.setdefault(group_of(one.runs[0]), []).append(one)
    return {group: [_table(inside)] for group, inside in found.items()}


def _table(found: list[Wordings]) -> Table:
    columns = (Column("model"), Column("mode"), Column("original", right=True), Column("paraphrase", right=True),
               Column("only the original"), Column("only the paraphrase"), Column("what it says"))
    rows = tuple((one.model, one.runs[0].run.mode, _score(one.original), _score(one.paraphrase), _ids(one.lost),
                  _ids(one.gained), one.words) for one in found)
    return Table("Original and paraphrase", columns, rows, (
        "cases that succeed, and the cases that flip between two wordings with one gold; a failure "
        f"is not solved; p: of {found[0].paired.test}; {NOISE}",))


def _score(shares: Mapping[str, float]) -> str:
    return f"{sum(shares.values()):.4g}/{len(shares)}"


def _ids(ids: list[str]) -> str:
    return ", ".join(ids) or ABSENT


def wordings_json(one: Wordings) -> dict[str, Any]:
    """Everything a row of the table shows, proportions 0–1."""
    return {"model": one.model, "mode": one.runs[0].run.mode, "paths": [s.run.path for s in one.runs],
            "n": len(one.original), "original": sum(one.original.values()), "paraphrase": sum(one.paraphrase.values()),
            "only_original": one.lost, "only_paraphrase": one.gained, "p": one.paired.p, "test": one.paired.test,
            "words": one.words}
