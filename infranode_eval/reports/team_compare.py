"""Two runs of the suite team, compared round by round over the scenarios that both hold; pure.

A round of a scenario is played once a repeat; a failed play passes none. Rounds of one scenario build on each other, so
that McNemar's test over rounds claims more than it knows: a line says so, and how the scenarios moved stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from infranode_eval.reports.archive import Row, Run, short_hash
from infranode_eval.reports.comparison import p_text
from infranode_eval.reports.team import Team, team_of
from infranode_eval.reports.team_conditions import conditions_of, difference_lines
from infranode_eval.reports.team_tables import FORMULA, SHARES
from infranode_eval.statistics import (
    Interval,
    PairedTest,
    Pairs,
    exact_is_shown,
    mcnemar,
    mcnemar_exact,
    paired_difference,
)
from infranode_eval.tables import Column, Section, Table, limits, percent
from lm_eval_task.errors import DataError

Key = tuple[str, int, str]      # scenario, repeat, round


@dataclass(frozen=True, slots=True)
class RoundFlip:
    """A round that only one of the two runs passes. gained: the second does."""

    scenario: str
    repeat: int
    round: str
    gained: bool
    why: str


@dataclass(frozen=True, slots=True)
class Rounds:
    """`second` beside `first`; the difference is second minus first, over `pairs.n` rounds that both hold.

    teams: the numbers of both over these scenarios. exact, corrected: McNemar's test. by_scenario: passed rounds of the
    first, of the second, all.
    """

    first: Run
    second: Run
    teams: tuple[Team, Team]
    pairs: Pairs
    difference: Interval
    corrected: PairedTest
    exact: float
    by_scenario: Mapping[str, tuple[int, int, int]]
    flips: tuple[RoundFlip, ...]
    notes: tuple[str, ...]

    @property
    def p(self) -> float:
        """Of the test that decides: exact where few rounds differ."""
        return self.exact if exact_is_shown(self.pairs.first_only, self.pairs.second_only) else self.corrected.p


def compare_rounds(first: Run, second: Run, common: bool = False) -> Rounds:
    """Compare two runs. common: over the scenarios that both hold, where their data differ.

    Raise DataError if they cannot be paired: another suite, data or number of repeats, or no scenario in common.
    """
    _check(first, second, common)
    ids = [key for key in dict.fromkeys(row.task_id for row in first.rows)
           if any(row.task_id == key for row in second.rows)]
    if not ids:
        raise DataError(f"{first.path} and {second.path} have no scenario in common")
    rounds = _rounds_of((first, second), ids)
    one, other = (_passed(run, ids, rounds) for run in (first, second))
    if one.keys() != other.keys():
        raise DataError(f"{first.path} and {second.path} cannot be compared: they hold other rounds or other repeats "
                        "of the same scenarios")
    pairs = Pairs.of([bool(other[key]) for key in one], [bool(one[key]) for key in one])
    return Rounds(first, second, (_team(first, rounds), _team(second, rounds)), pairs, paired_difference(pairs),
                  mcnemar(pairs.first_only, pairs.second_only), mcnemar_exact(pairs.first_only, pairs.second_only),
                  _by_scenario(one, other), tuple(_flips(first, second, one, other)),
                  tuple(_notes(first, second, len(ids))))


def _check(first: Run, second: Run, common: bool) -> None:
    if first.suite != second.suite:
        raise DataError(f"{first.path} and {second.path} cannot be compared, they differ in suite {first.suite} / "
                        f"{second.suite}")
    hashes = [short_hash(run.hashes.get("tasks")) for run in (first, second)]
    if hashes[0] != hashes[1] and not common:
        raise DataError(f"{first.path} and {second.path} cannot be compared, they differ in tasks hash {hashes[0]} / "
                        f"{hashes[1]}; --common compares the scenarios that both hold")


def _rounds_of(runs: Sequence[Run], ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The ids of each scenario's rounds, as some play with a verdict tells. Raise DataError where none does."""
    found: dict[str, tuple[str, ...]] = {}
    for run in runs:
        for row in run.rows:
            if "managed" in row.details:
                found.setdefault(row.task_id, tuple(one.id for one in row.details["managed"].rounds))
    found = {key: found[key] for key in ids if key in found}
    unknown = [key for key in ids if key not in found]
    if unknown:
        raise DataError(f"neither run has a play of {unknown[0]} with a verdict")
    return found


def _passed(run: Run, ids: Sequence[str], rounds: Mapping[str, Sequence[str]]) -> dict[Key, bool]:
    found: dict[Key, bool] = {}
    for row in run.rows:
        if row.task_id in ids:
            found |= {(row.task_id, row.repeat, name): passed for name, passed in _of_row(row, rounds[row.task_id])}
    return dict(sorted(found.items(), key=lambda item: (ids.index(item[0][0]), item[0][1])))


def _of_row(row: Row, rounds: Sequence[str]) -> list[tuple[str, bool]]:
    managed = row.details.get("managed")
    return [(name, False) for name in rounds] if managed is None else [(one.id, one.passed) for one in managed.rounds]


def _team(run: Run, rounds: Mapping[str, Sequence[str]]) -> Team:
    found = team_of(replace(run, rows=tuple(row for row in run.rows if row.task_id in rounds)), run.tasks,
                    {name: len(ids) for name, ids in rounds.items()})
    assert found is not None
    return found


def _by_scenario(one: Mapping[Key, bool], other: Mapping[Key, bool]) -> dict[str, tuple[int, int, int]]:
    names = dict.fromkeys(key[0] for key in one)
    return {name: (sum(v for k, v in one.items() if k[0] == name), sum(v for k, v in other.items() if k[0] == name),
                   sum(k[0] == name for k in one)) for name in names}


def _flips(first: Run, second: Run, one: Mapping[Key, bool], other: Mapping[Key, bool]) -> list[RoundFlip]:
    """why: of the run that does not pass it."""
    found = []
    for key in one:
        if one[key] != other[key]:
            loser = first if other[key] else second
            found.append(RoundFlip(*key, other[key], _why(loser, key)))
    return found


def _why(run: Run, key: Key) -> str:
    for row in run.rows:
        if (row.task_id, row.repeat) == key[:2]:
            managed = row.details.get("managed")
            if managed is None:
                return row.score.outcome
            return next((one.why for one in managed.rounds if one.id == key[2]), "")
    return ""


def _notes(first: Run, second: Run, scenarios: int) -> list[str]:
    made = [(run.path, conditions_of(run)) for run in (first, second)]
    return [f"rounds of one scenario build on each other, so p over rounds is smaller than it should be; {scenarios} "
            f"scenario{'' if scenarios == 1 else 's'} separate{'s' if scenarios == 1 else ''} few models",
            *difference_lines(made)]


# --- what people and programs read ------------------------------------------------------------------------------------

def rounds_sections(found: Rounds) -> list[Section]:
    names = _names(found)
    pairs = found.pairs
    title = f"{names[1]} compared with {names[0]}: {pairs.n} rounds of {len(found.by_scenario)} scenarios"
    apart = "more than chance explains" if found.p < 0.05 else "no more than chance explains"
    verdict = (f"{names[1]} passes {pairs.first_only} rounds that {names[0]} does not, and the other way round "
               f"{pairs.second_only}: {apart} ({p_text(found.p)})")
    tables = (_numbers(found, names), _scenarios(found, names), _flip_table(found, names))
    return [Section(title, tuple(t for t in tables if t.rows), (verdict, *found.notes))]


def _names(found: Rounds) -> tuple[str, str]:
    first, second = found.first, found.second
    return (first.model, second.model) if first.model != second.model else (f"{first.model} ({first.path})",
                                                                            f"{second.model} ({second.path})")


def _numbers(found: Rounds, names: tuple[str, str]) -> Table:
    strict = [team.strict for team in found.teams]
    rows = [("rounds passed", *(f"{numbers['rounds_passed']:g}/{numbers['rounds']:g}" if numbers.get("rounds") else "—"
                                for numbers in strict),
             f"{100 * found.difference.estimate:+.1f} {limits(found.difference)}")]
    rows += [(name.upper(), *(percent(numbers.get(name)) for numbers in strict), _points(strict, name))
             for name in SHARES]
    notes = (f"rounds: difference in points with its 95 % interval (Newcombe); McNemar exact {p_text(found.exact)}, "
             f"continuity-corrected {p_text(found.corrected.p)}", FORMULA)
    return Table("Both over the same scenarios", _columns("", *names, "difference"), tuple(rows), notes)


def _points(strict: Sequence[Mapping[str, float | None]], name: str) -> str:
    one, other = (numbers.get(name) for numbers in strict)
    return "—" if one is None or other is None else f"{100 * (other - one):+.1f}"


def _scenarios(found: Rounds, names: tuple[str, str]) -> Table:
    rows = tuple((name, f"{one}/{every}", f"{other}/{every}") for name, (one, other, every) in
                 found.by_scenario.items())
    return Table("Rounds passed, by scenario", _columns("scenario", *names), rows)


def _flip_table(found: Rounds, names: tuple[str, str]) -> Table:
    rows = tuple((flip.scenario + (f" ({flip.repeat})" if flip.repeat > 1 else ""), flip.round,
                  names[1] if flip.gained else names[0], flip.why) for flip in found.flips)
    return Table("Rounds that only one of them passes", (Column("scenario"), Column("round"), Column("passed by"),
                                                         Column("the other")), rows)


def _columns(*headers: str) -> tuple[Column, ...]:
    return Column(headers[0]), *(Column(h, right=True) for h in headers[1:])


def rounds_json(found: Rounds) -> dict[str, Any]:
    return {"first": {"model": found.first.model, "path": found.first.path, "strict": dict(found.teams[0].strict)},
            "second": {"model": found.second.model, "path": found.second.path, "strict": dict(found.teams[1].strict)},
            "rounds": found.pairs.n, "both": found.pairs.both, "gained": found.pairs.first_only,
            "lost": found.pairs.second_only, "neither": found.pairs.neither,
            "difference": {"estimate": found.difference.estimate, "low": found.difference.low,
                           "high": found.difference.high, "level": 0.95},
            "p": found.p, "p_exact": found.exact, "p_mcnemar": found.corrected.p,
            "scenarios": {name: {"first": one, "second": other, "rounds": every}
                          for name, (one, other, every) in found.by_scenario.items()},
            "flips": [flip_line(flip) for flip in found.flips], "notes": list(found.notes)}


def flip_line(flip: RoundFlip) -> dict[str, Any]:
    return {"scenario": flip.scenario, "repeat": flip.repeat, "round": flip.round,
            "change": 1 if flip.gained else -1, "why": flip.why}
