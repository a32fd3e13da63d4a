"""A comparison of two runs as sections for people and as values for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infranode_eval.reports.archive import Row, Run, counted
from infranode_eval.reports.bench import SUITE, setup_of
from infranode_eval.reports.bench_tables import claims_of, claims_sentence, help_sentence, streng_sentence
from infranode_eval.reports.comparison import Comparison, Flip, Part, p_text, sentence
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.tables import ABSENT, Column, Section, Table, limits, percent


def names_of(found: Comparison) -> tuple[str, str]:
    """What the two runs are called; by their files where the models are the same."""
    first, second = (_name(run) for run in (found.first, found.second))
    return (first, second) if first != second else (f"{first} ({found.first.path})", f"{second} ({found.second.path})")


def _name(run: Run) -> str:
    return run.model if run.harness == "run_eval" else f"{run.model} [{run.harness}]"


def comparison_sections(found: Comparison) -> list[Section]:
    names = names_of(found)
    title = f"{names[1]} compared with {names[0]}: {found.n} {found.unit}s"
    tables = (_numbers(found, names), _categories(found, names),
              _flips(f"Solved only by {names[1]}", found.gained, names, found.unit),
              _flips(f"Solved only by {names[0]}", found.lost, names, found.unit))
    verdict = [help_sentence(found), streng_sentence(found, names), *claims_sentence(found, names)] \
        if found.first.suite == SUITE else []
    return [Section(title, tuple(t for t in tables if t.rows), (sentence(found, names), *verdict, *found.notes))]


def _columns(*headers: str) -> tuple[Column, ...]:
    return Column(headers[0]), *(Column(h, right=True) for h in headers[1:])


def _numbers(found: Comparison, names: tuple[str, str]) -> Table:
    whole = "all tasks (strict)" if found.unit == "task" else "all cases"
    rows = [(whole, *_part_cells(found.whole), _points(found)), ("answered by both", *_part_cells(found.answered), "")]
    rows += [("control twins, in no other number", *_part_cells(found.control), "")] if found.control else []
    notes = [f"difference in points, with its 95 % interval ({found.method})" if found.interval_holds else
             "difference in points; without an interval, since over so few it would not say what the test says: the "
             "test decides"]
    if found.corrected is not None and found.exact is not None:
        notes.append(f"McNemar: continuity-corrected chi² = {found.corrected.statistic:.3f}, "
                     f"{p_text(found.corrected.p)}; exact {p_text(found.exact)}")
    else:
        notes.append(f"with repeats a {found.unit} may be solved in part, so there is no McNemar test")
    notes.append(f"{found.test} decides: {p_text(found.p)}")
    smallest = "none, even if all of those favoured one run" if found.detectable is None \
        else f"{100 * found.detectable:.1f} points"
    notes.append(f"smallest difference that {found.n} {found.unit}s show with 80 % power when the runs differ in "
                 f"{percent(found.discordant)} % of them, as here{_as_if(found)}: {smallest}")
    return Table(found.measure, _columns("", "n", *names, "gained", "lost", "difference"), tuple(rows), tuple(notes))


def _as_if(found: Comparison) -> str:
    return f" (as if {found.unit}s were independent)" if found.test.endswith("clusters") else ""


def _points(found: Comparison) -> str:
    return f"{100 * found.difference.estimate:+.1f}" + (f" {limits(found.difference)}" if found.interval_holds else "")


def _part_cells(part: Part) -> tuple[str, ...]:
    solved = [f"{value:.4g} ({percent(value / part.n)} %)" if part.n else ABSENT for value in (part.first, part.second)]
    return str(part.n), *solved, str(part.gained), str(part.lost)


def _categories(found: Comparison, names: tuple[str, str]) -> Table:
    rows = tuple((category or "(none)", *(f"{solved:.4g}/{part.n}" for solved in (part.first, part.second)),
                  str(part.gained), str(part.lost)) for category, part in found.parts.items())
    kind = "bucket" if found.first.suite == ROUTED else "category" if found.unit == "task" else "stage"
    return Table(f"{found.measure} by {kind}", _columns(kind, *names, "gained", "lost"), rows)


def _flips(title: str, flips: Sequence[Flip], names: tuple[str, str], unit: str) -> Table:
    told = any(f.tests for f in flips)
    rows = tuple((f.task_id, *([f.tests or ABSENT] if told else []), _verdict(f.first), _verdict(f.second))
                 for f in flips)
    aim = [Column("what it tests")] if told else []
    return Table(f"{title}: {len(flips)}", (Column(unit), *aim, Column(names[0]), Column(names[1])), rows)


def _verdict(row: Row) -> str:
    sub = f" ({row.score.sub})" if row.score.sub else ""
    why = "" if row.score.call_match or not row.score.why else f": {counted(row.score.why)}"
    return f"{row.score.outcome}{sub}{why}" or ABSENT


# --- for programs -----------------------------------------------------------------------------------------------------

def comparison_json(found: Comparison) -> dict[str, Any]:
    """Everything the tables show, proportions 0–1. Keys stay."""
    return {
        "first": _run_json(found.first), "second": _run_json(found.second), "n": found.n,
        "all": _part_json(found.whole), "answered": _part_json(found.answered),
        **({"control": _part_json(found.control)} if found.control else {}),
        "measure": found.measure,
        "difference": {"estimate": found.difference.estimate,
                       "low": found.difference.low if found.interval_holds else None,
                       "high": found.difference.high if found.interval_holds else None, "method": found.method},
        "mcnemar": None if found.corrected is None else {
            "statistic": found.corrected.statistic, "p": found.corrected.p, "p_exact": found.exact},
        "p": found.p, "test": found.test, "discordant": found.discordant, "detectable": found.detectable,
        "categories": {category: _part_json(part) for category, part in found.parts.items()},
        "flips": [flip_json(flip) for flip in found.flips],
        "sentence": sentence(found, names_of(found)),
        **({"help": help_sentence(found), "claims_done": claims_of(found)} if found.first.suite == SUITE else {}),
        "notes": list(found.notes)}


def _run_json(run: Run) -> dict[str, Any]:
    return {"model": run.model, "path": run.path, "harness": run.harness, "mode": run.mode, "setup": setup_of(run),
            "hashes": dict(run.hashes), "scorer_version": run.scorer_version}


def _part_json(part: Part) -> dict[str, Any]:
    return {"n": part.n, "first": part.first, "second": part.second, "gained": part.gained, "lost": part.lost}


def flip_json(flip: Flip) -> dict[str, Any]:
    """A flat row."""
    return {"task_id": flip.task_id, "category": flip.category, "change": flip.change,
            "first_outcome": flip.first.score.outcome, "first_sub": flip.first.score.sub,
            "first_why": flip.first.score.why, "second_outcome": flip.second.score.outcome,
            "second_sub": flip.second.score.sub, "second_why": flip.second.score.why,
            "tests": flip.tests}
