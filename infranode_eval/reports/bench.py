"""What a run of the suite bench comes to: five numbers, the stages, silence where a value is missing; pure.

Formulas: specification, bench, "Metrics". A failure is not solved, not form-correct and not still; beside that every
number stands over the answered rows, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from infranode_eval.reports.archive import Row, Run
from infranode_eval.reports.db_routing_rows import SUITE as ROUTED
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.repeats import Steadiness, steadiness_of
from infranode_eval.statistics import Interval, clustered_proportion, wilson
from lm_eval_task.cases import SILENT, STAGES, SUFFIX
from lm_eval_task.metrics import mean
from lm_eval_task.records import Task

SUITE = "bench"
USUAL = "B"             # the set-up of the suite as it is by default
PLAYED_AS_USUAL = "C"   # the same of the suite chain
ROUTED_AS_USUAL = "D"   # the same of the suite db_routing
CALLING = tuple(stage for stage in STAGES if stage not in SILENT)
SEVERAL, ASKING = "S3", "S5"
FEW_CLUSTERS = 20       # below these, drawing clusters promises more than so few can keep


@dataclass(frozen=True, slots=True)
class Ratio:
    """k of n; value None where n is 0.

    rows: (case, verdict) of each row where rows of one case, its repeats or its two wordings, stand or fall together;
    else empty.
    """

    k: float
    n: int
    rows: tuple[tuple[str, bool], ...] = field(default=(), compare=False, repr=False)

    @property
    def value(self) -> float | None:
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's for independent rows. Else drawn cases, or with few of them Wilson's, each case as one row."""
        if not self.n:
            return None
        cases = [case for case, _ in self.rows]
        count = len(set(cases))
        if not self.rows:
            return wilson(self.k, self.n)
        if count < FEW_CLUSTERS:
            return wilson(count * self.k / self.n, count)
        return clustered_proportion(cases, [verdict for _, verdict in self.rows])


@dataclass(frozen=True, slots=True)
class Numbers:
    """The five numbers over a choice of rows, under their names in results files, and the original's beside them."""

    formkorrekt: Ratio
    richtig_je_schritt: Ratio
    auftraege_gelungen: Ratio
    schritte_je_auftrag: Ratio
    stillgehalten: Ratio
    streng: Ratio


@dataclass(frozen=True, slots=True)
class Stage:
    """The rows of one stage. steadiness: None for cases that were asked once."""

    solved: int
    n: int
    answered: int
    streng: int
    steadiness: Steadiness | None = None


@dataclass(frozen=True, slots=True)
class Silence:
    """S5: rows, those with no call, and what became of these.

    asked_right: asked for a value that is missing, of the `named` whose case has words for it. claims_done: says that
    it was done, which is worse than a call.
    """

    n: int
    silent: int
    asked: int
    asked_right: int
    claims_done: int
    named: int


@dataclass(frozen=True, slots=True)
class Bench:
    """A run over bench cases. answered: the same numbers over the rows with an answer.

    stages: those that occur, in order. silence: of S5; first_step_only: rows of S3 whose only call is a right one; both
    None without such a stage. first_step_cases: how many cases those are; several_emitted: some reply of the run holds
    several calls. cases: different ones, a case in two wordings is one. notes: form notes with the ids of their cases.
    missed: ids of cases that some repeat does not solve; turned: ids of those that the original's rule judges
    otherwise. streng_leads: the run was asked to put that rule first. steps: expected calls of S1–S3 in one pass over
    the cases. tests: what a case tests, if known.
    """

    numbers: Numbers
    answered: Numbers
    stages: Mapping[str, Stage]
    silence: Silence | None
    first_step_only: Ratio | None
    first_step_cases: int
    several_emitted: bool
    cases: int
    notes: Mapping[str, tuple[str, ...]]
    missed: tuple[str, ...]
    turned: tuple[str, ...]
    streng_leads: bool
    steps: int
    tests: Mapping[str, str] = field(default_factory=dict)

    @property
    def alone(self) -> bool:
        """Does every row stand alone, as each is of another case?"""
        return self.cases == self.numbers.auftraege_gelungen.n

    @property
    def leading(self) -> Ratio:
        """The number that the run is asked to put first."""
        return self.numbers.streng if self.streng_leads else self.numbers.auftraege_gelungen


_LONG = {PLAYED: PLAYED_AS_USUAL, ROUTED: ROUTED_AS_USUAL}


def setup_of(run: Run) -> str:
    """B for a bench as it is by default, C for the suite chain, D for db_routing; else S, N, R, or why it is custom.

    Two customs are not one.
    """
    settings = run.settings
    long = (settings.get("max_tokens"), settings.get("temperature")) == (1024, 0)
    if run.suite in _LONG and (run.baseline or long):
        return _LONG[run.suite]
    usual = (settings.get("max_tokens"), settings.get("temperature")) == (512, 0)
    if run.suite == SUITE and (run.baseline or usual):
        return USUAL
    if run.setup != "custom":
        return run.setup
    told = [f"{key} {settings[key]}" for key in ("max_tokens", "max_gen_toks", "temperature") if key in settings]
    return f"custom ({', '.join(told)})" if told else "custom"


def bench_of(run: Run, tasks: Mapping[str, Task]) -> Bench | None:
    """None for a run of another suite, or without rows. tasks: those of the run by id, as far as they are known."""
    rows = run.rows
    if run.suite != SUITE or not rows:
        return None
    steps = _steps(rows, tasks)
    by_stage = {stage: [r for r in rows if r.category == stage] for stage in STAGES}
    several = by_stage[SEVERAL]
    return Bench(
        _numbers(rows, steps), _numbers([r for r in rows if not r.score.failed], steps),
        {stage: _stage(inside) for stage, inside in by_stage.items() if inside}, _silence(by_stage[ASKING]),
        Ratio(sum(_is(r, "first_step_only") for r in several), len(several)) if several else None,
        len({r.task_id for r in several if _is(r, "first_step_only")}),
        any(_count(r, "emitted") > 1 for r in rows), len(set(_clusters(rows))), _notes(rows),
        tuple(dict.fromkeys(r.task_id for r in rows if not r.score.call_match)),
        tuple(dict.fromkeys(r.task_id for r in rows if bool(r.score.call_match) != _is(r, "streng_match"))),
        run.headline[:1] == ("streng",),
        sum(steps.get(key, 0) for key in dict.fromkeys(r.task_id for r in rows if r.category in CALLING)),
        {key: tasks[key].extra["prueft"] for key in dict.fromkeys(r.task_id for r in rows)
         if key in tasks and isinstance(tasks[key].extra.get("prueft"), str)})


def _steps(rows: Sequence[Row], tasks: Mapping[str, Task]) -> dict[str, int]:
    """Expected calls by case: a row without an answer need not tell, so the case or another repeat does."""
    found = {key: len(task.expected) for key, task in tasks.items()}
    return found | {r.task_id: r.details["steps"] for r in rows if "steps" in r.details}


def _clusters(rows: Sequence[Row]) -> list[str]:
    """The case of each row: the second wording of a case is the same case."""
    ids = {row.task_id for row in rows}
    return [base if (base := row.task_id.removesuffix(SUFFIX)) in ids else row.task_id for row in rows]


def _ratio(rows: Sequence[Row], holds: Callable[[Row], bool]) -> Ratio:
    cases, verdicts = _clusters(rows), [*map(holds, rows)]
    together = tuple(zip(cases, verdicts, strict=True)) if len(set(cases)) < len(rows) else ()
    return Ratio(sum(verdicts), len(rows), together)


def _numbers(rows: Sequence[Row], steps: Mapping[str, int]) -> Numbers:
    calling = [r for r in rows if r.category in CALLING]
    silent = [r for r in rows if r.category in SILENT]
    return Numbers(
        _ratio(calling, lambda r: _count(r, "emitted") >= 1 and not _is(r, "broken")),
        Ratio(sum(_count(r, "hits") for r in calling), sum(steps.get(r.task_id, 0) for r in calling)),
        _ratio(rows, lambda r: bool(r.score.call_match)),
        Ratio(sum(_count(r, "emitted") for r in rows), len(rows)),
        _ratio(silent, _kept_still),
        _ratio(rows, lambda r: _is(r, "streng_match")))


def _count(row: Row, name: str) -> int:
    return 0 if row.score.failed else row.details.get(name, 0)


def _is(row: Row, name: str) -> bool:
    return not row.score.failed and bool(row.details.get(name))


def _kept_still(row: Row) -> bool:
    return row.score.outcome == "abstain_ok"


def _stage(rows: Sequence[Row]) -> Stage:
    return Stage(sum(bool(r.score.call_match) for r in rows), len(rows), sum(not r.score.failed for r in rows),
                 sum(_is(r, "streng_match") for r in rows), steadiness_of(rows))


def _silence(rows: Sequence[Row]) -> Silence | None:
    silent = [r for r in rows if _kept_still(r)]
    counts = [sum(_is(r, name) for r in silent) for name in ("asked", "asked_right", "claims_done")]
    return Silence(len(rows), len(silent), *counts, sum("asked_right" in r.details for r in silent)) if rows else None


def _notes(rows: Sequence[Row]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for note in row.details.get("form_notes", ()):
            found.setdefault(note, {})[row.task_id] = None
    return {note: tuple(ids) for note, ids in sorted(found.items())}


def metrics_of(found: Bench, answered: bool = False) -> dict[str, float | None]:
    """The numbers under the names that results files store, 0–1; call_match and its kin come from elsewhere."""
    numbers = found.answered if answered else found.numbers
    stages = {stage: Ratio(s.solved, s.answered if answered else s.n).value for stage, s in found.stages.items()}
    silence, only = found.silence, found.first_step_only
    silent = silence.silent if silence else 0
    s3 = found.stages.get(SEVERAL)
    return {
        "formkorrekt": numbers.formkorrekt.value, "richtig_je_schritt": numbers.richtig_je_schritt.value,
        "auftraege_gelungen": numbers.auftraege_gelungen.value,
        "schritte_je_auftrag": numbers.schritte_je_auftrag.value, "stillgehalten": numbers.stillgehalten.value,
        "ability": mean(v for v in stages.values() if v is not None),
        **{f"call_match_{stage}": stages.get(stage) for stage in STAGES if stage in stages},
        "streng_auftraege_gelungen": numbers.streng.value,
        **{name: Ratio(getattr(silence, name), silent).value if silence else None for name in ("asked", "claims_done")},
        "asked_right": Ratio(silence.asked_right, silence.named).value if silence else None,
        "first_step_only": Ratio(only.k, (s3.answered if answered and s3 else only.n)).value if only else None}


# --- what a fixed policy gets -----------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Policy:
    """What a program without understanding gets by definition, from the sizes of the stages alone."""

    name: str
    numbers: Numbers
    asked: Ratio | None = None


def policies_of(found: Bench) -> list[Policy]:
    """Over the cases of this run. What always calling gets depends on the calls, so it is not among them."""
    sizes = {stage: s.n for stage, s in found.stages.items()}
    every, calling, silent = sum(sizes.values()), *(sum(sizes.get(s, 0) for s in part) for part in (CALLING, SILENT))
    repeats = _repeats(found)
    steps, asking = found.steps * repeats, sizes.get(ASKING, 0)
    still = Numbers(Ratio(0, calling), Ratio(0, steps), Ratio(silent, every), Ratio(0, every), Ratio(silent, silent),
                    Ratio(silent, every))
    one_call = Ratio(every - sizes.get(SEVERAL, 0), every)
    first = Numbers(Ratio(calling, calling), Ratio(calling, steps), one_call, Ratio(calling, every),
                    Ratio(silent, silent), one_call)
    whole = Numbers(Ratio(calling, calling), Ratio(steps, steps), Ratio(every, every), Ratio(steps, every),
                    Ratio(silent, silent), Ratio(every, every))
    return [Policy("never_calls", still, Ratio(0, asking)), Policy("asks_always", still, Ratio(asking, asking)),
            Policy("first_step_only", first), Policy("oracle", whole)]


def _repeats(found: Bench) -> int:
    return max((len(s.steadiness.pass_hat) for s in found.stages.values() if s.steadiness), default=1)
