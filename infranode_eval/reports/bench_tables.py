"""Runs over bench cases as tables for people and as values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.reports.archive import Run
from infranode_eval.reports.bench import (
    ASKING,
    FEW_CLUSTERS,
    SEVERAL,
    Bench,
    Numbers,
    Policy,
    Ratio,
    Silence,
    bench_of,
    metrics_of,
    policies_of,
)
from infranode_eval.reports.comparison import DISCORDANT, LEVEL, Comparison, p_text
from infranode_eval.reports.figures import Summary
from infranode_eval.statistics import mcnemar_exact, smallest_detectable_difference, wilson
from infranode_eval.tables import ABSENT, Column, Table, limits, percent, share
from lm_eval_task.cases import SILENT

NOISE = "two cases more or less are noise"
FEW_FIRST_STEPS = 3     # cases; fewer may be the model's own choice
_NAMED = 12             # names in one cell
_FIVE = ("formkorrekt", "richtig_je_schritt", "auftraege_gelungen", "schritte_je_auftrag", "stillgehalten")
_MEANING = {
    "S1": "right tool out of a few", "S2": "one call, exact arguments", "S3": "several calls, each counted",
    "S4": "nothing fits", "S5": "a value is missing that no tool returns"}

Shown = Sequence[tuple[str, Summary, Bench]]


def bench_tables(summaries: Sequence[Summary], names: Sequence[str]) -> list[Table]:
    """The five numbers with baselines beside them, the stages, and what a number alone does not tell.

    summaries: runs that may be compared with each other; names: their labels, in the same order.
    """
    shown = [(name, s, s.bench) for name, s in zip(names, summaries, strict=True) if s.bench is not None]
    if not shown:
        return []
    return [_overview(shown), *_answered(shown), _stages(shown), *_steadiness(shown), *_several(shown), *_asking(shown),
            *_missed(shown), *_forms(shown)]


def streng_leads(summaries: Sequence[Summary]) -> bool:
    """Were all models here asked with --streng? Else the suite's own rule leads."""
    asked = [s.bench.streng_leads for s in summaries if s.bench is not None and not s.run.baseline]
    return bool(asked) and all(asked)


def place_of(summary: Summary, streng: bool) -> float | None:
    """What runs over bench cases are ordered by; None for a run of another suite."""
    if summary.bench is None:
        return None
    numbers = summary.bench.numbers
    return (numbers.streng if streng else numbers.auftraege_gelungen).value


# --- the five numbers -------------------------------------------------------------------------------------------------

def _overview(shown: Shown) -> Table:
    streng = streng_leads([s for _, s, _ in shown])
    first, second = ("streng", "auftraege_gelungen") if streng else ("auftraege_gelungen", "streng")
    headers = (first, second, "formkorrekt", "richtig_je_schritt", "schritte_je_auftrag", "stillgehalten", "answered",
               "n", "scored", "failed")
    rows = [(name, *_five(found.numbers, first, second, s.repeats), _percent(found.answered, first), str(s.run.n),
             str(s.run.n - s.run.failed), str(s.run.failed)) for name, s, found in shown]
    _, summary, bench = shown[0]
    repeats, together = summary.repeats, _together(summary, bench)
    rows += [(f"{p.name} (by definition)", *_five(p.numbers, first, second, repeats, bench.alone), *[ABSENT] * 4)
             for p in _missing(shown)]
    method = "its interval" if together else "its Wilson interval"
    return Table("The numbers", _columns("model", *headers), tuple(rows), (
        *together,
        f"{first} is the number that counts, and the order of the rows: cases that succeed of all cases, with "
        f"{method}; a failure is not solved, not form-correct and not still; answered: the same without failures",
        "auftraege_gelungen: arguments compared by their types in the schema; streng: by the original's rule, text for "
        "text" + ("; it leads, as --streng asks" if streng else ""),
        "formkorrekt, richtig_je_schritt: of the outputs and expected steps of S1–S3; stillgehalten: S4 and S5 without "
        "a call; schritte_je_auftrag: readable calls for each case",
        _power(bench.cases),
        "never ranked with other suites, and no tiers: too few cases"))


def _together(summary: Summary, found: Bench) -> list[str]:
    """What rows of one case mean for the numbers, where there are such."""
    if found.alone:
        return []
    wordings = summary.task_count // found.cases
    asked = [f"{summary.repeats} times"] * (summary.repeats > 1) + [f"in {wordings} wordings"] * (wordings > 1)
    mean = "; mean: of these rows" if summary.repeats > 1 else ""
    return [f"{summary.run.n} rows of {found.cases} cases, each asked {' and '.join(asked)}{mean}; rows of one case "
            "stand or fall together, so an interval draws whole cases (cluster bootstrap), and over fewer than "
            f"{FEW_CLUSTERS} cases it is Wilson's with each case as one row"]


def _five(numbers: Numbers, first: str, second: str, repeats: int, intervals: bool = True) -> tuple[str, ...]:
    """Steps of one case are no independent rows: no interval there."""
    emitted = numbers.schritte_je_auftrag.value
    return (_cell(getattr(numbers, first), repeats, intervals), _cell(getattr(numbers, second), repeats, False),
            _cell(numbers.formkorrekt, repeats, intervals), _cell(numbers.richtig_je_schritt, repeats, False),
            ABSENT if emitted is None else f"{emitted:.2f}", _cell(numbers.stillgehalten, repeats, intervals))


def _cell(ratio: Ratio, repeats: int, with_interval: bool = True) -> str:
    """k/n = per cent [limits], with repeats "mean per cent [limits]"; "—" without rows."""
    if ratio.value is None:
        return ABSENT
    told = f"{ratio.k:g}/{ratio.n} =" if repeats == 1 else "mean"
    interval = ratio.interval if with_interval else None
    return f"{told} {percent(ratio.value)}" + (f" {limits(interval)}" if interval else "")


def _percent(numbers: Numbers, name: str) -> str:
    ratio: Ratio = getattr(numbers, name)
    return percent(ratio.value)


def _missing(shown: Shown) -> list[Policy]:
    """Policies of which no stored baseline shows what they get."""
    stored = {s.run.model for _, s, _ in shown if s.run.baseline}
    return [policy for policy in policies_of(shown[0][2]) if policy.name not in stored]


def _power(n: int) -> str:
    """What so few cases can show, in one sentence."""
    found = [(share, smallest_detectable_difference(n, share)) for share in DISCORDANT]
    parts = [f"{f'{100 * d:.0f} points ({round(d * n)} cases)' if d is not None else 'none'} if they differ in "
             f"{100 * share:.0f} % of the cases" for share, d in found]
    least = least_gain(n)
    sure = f"; {least} gained and none lost is the least that is more than chance" if least else ""
    return (f"the smallest difference that {n} cases can show between two runs (80 % power, McNemar, 5 %) is "
            f"{', '.join(parts)}{sure}; {NOISE}")


def least_gain(n: int) -> int | None:
    """How many cases have to be gained, none lost, until the exact McNemar test finds it; None if n are too few."""
    return next((k for k in range(1, n + 1) if mcnemar_exact(k, 0) < LEVEL), None)


def _answered(shown: Shown) -> list[Table]:
    """Where something failed, the five numbers without it."""
    failed = [(name, s, found) for name, s, found in shown if s.run.failed]
    if not failed:
        return []
    rows = tuple((name, *_five(found.answered, "auftraege_gelungen", "streng", s.repeats), str(s.run.n - s.run.failed),
                  str(s.run.failed)) for name, s, found in failed)
    return [Table("Over the answered cases", _columns(
        "model", "auftraege_gelungen", "streng", "formkorrekt", "richtig_je_schritt", "schritte_je_auftrag",
        "stillgehalten", "scored", "failed"), rows, (
        "a failure is a fault of endpoint or budget, not of the model: ask again with run_eval.py --resume",))]


# --- the stages -------------------------------------------------------------------------------------------------------

def _stages(shown: Shown) -> Table:
    repeats = shown[0][1].repeats
    sizes = {stage: max(f.stages[stage].n for _, _, f in shown if stage in f.stages) // repeats for stage in _MEANING
             if any(stage in f.stages for _, _, f in shown)}
    rows = tuple((name, *(_stage_cell(found, stage, s.repeats) for stage in sizes), percent(s.strict.get("ability")),
                  str(s.run.n), str(s.run.failed)) for name, s, found in shown)
    unit = "n={}" if repeats == 1 else "{} cases"
    headers = (*(f"{stage} ({unit.format(size)})" for stage, size in sizes.items()), "mean of stages", "n", "failed")
    shares = f"per cent, the mean over {repeats} repeats of each case; without an interval: a stage has few cases" \
        if repeats > 1 else "k/n with a Wilson interval in per cent: one case of eight is 12.5 points" \
        if shown[0][2].alone else "k/n and per cent, without an interval: two wordings of one case are not independent"
    return Table("By stage, solved of all", _columns("model", *headers), rows, (
        "; ".join(f"{stage}: {_MEANING[stage]}" for stage in sizes),
        shares))


def _stage_cell(found: Bench, stage: str, repeats: int) -> str:
    one = found.stages.get(stage)
    if one is None or not one.answered:
        return ABSENT
    if repeats > 1:
        return f"mean {percent(one.solved / one.n)}"
    return share(one.solved, one.n) if found.alone else f"{one.solved}/{one.n} = {percent(one.solved / one.n)}"


def _steadiness(shown: Shown) -> list[Table]:
    """pass^k of each stage, where cases were asked several times."""
    rows = [(name, stage, str(one.steadiness.tasks), f"{one.steadiness.changed}/{one.steadiness.tasks}",
             *map(percent, one.steadiness.pass_hat))
            for name, _, found in shown for stage, one in found.stages.items() if one.steadiness is not None]
    most = max(map(len, rows), default=0)
    headers = ("cases", "changed", *(f"pass^{k}" for k in range(1, most - 3)))
    return [Table("Repeats, by stage", (Column("model"), *_columns("stage", *headers)),
                  tuple((*row, *[ABSENT] * (most - len(row))) for row in rows), (
        "pass^k: chance that k repeats of a case all succeed; changed: cases that some repeats solve and others do "
        "not",))] if rows else []


def _several(shown: Shown) -> list[Table]:
    """S3: a reply that ends after one right call is a matter of the serving, and stands apart."""
    runs = [(name, s, found, found.first_step_only) for name, s, found in shown if found.first_step_only is not None]
    if not runs:
        return []
    rows = tuple((name, _stage_cell(found, SEVERAL, s.repeats), f"{only.k:g}/{only.n}",
                  _failed(found, SEVERAL))
                 for name, s, found, only in runs)
    blamed = [] if any(found.several_emitted for _, s, found in shown if not s.run.baseline) else [
        f"{name}: {only.k:g} of {only.n} {'cases' if s.repeats == 1 else 'replies'} of S3 end after one right call, "
        "and no reply here holds several calls: that is rather the server or its chat template, which cannot emit "
        "several calls in one reply, than a wrong choice; compare with "
        f"{'--mode prompt' if s.run.mode == 'native' else '--mode native'}, and read a reply (--task)"
        for name, s, found, only in runs if found.first_step_cases >= FEW_FIRST_STEPS and not s.run.baseline]
    return [Table("S3: several calls in one reply", _columns("model", "solved", "first step only", "failed"), rows, (
        "first step only: the one call of the reply is a right one; it counts as not solved", *_replies(shown),
        *blamed))]


def _asking(shown: Shown) -> list[Table]:
    """S5: silence is right, a question back is better, and saying that it was done is worse than any call."""
    runs = [(name, found, found.silence) for name, _, found in shown if found.silence is not None]
    if not runs:
        return []
    rows = [(name, f"{silence.silent}/{silence.n}", *_silence_cells(silence), _failed(found, ASKING))
            for name, found, silence in runs]
    rows += [(f"{p.name} (by definition)", f"{p.asked.n}/{p.asked.n}", f"{p.asked.k:g}/{p.asked.n}", f"0/{p.asked.n}",
              f"0/{p.asked.n}", ABSENT) for p in _missing(shown) if p.asked is not None and p.asked.n]
    columns = (*_columns("model", "no call", "asked", "asked right"), Column("claims done (!)", right=True, bad=True),
               Column("failed", right=True))
    claims = [f"{name}: {silence.claims_done} of {silence.silent} silent replies claim that it was done: read them, "
              "they are worse than a call" for name, _, silence in runs if silence.claims_done]
    return [Table("S5: a value is missing", columns, tuple(rows), (
        "of the cases without a call: asked: asks back; asked right: and names what is missing; claims done (!): says "
        "that something was done which never was: worse than a call; it still counts as still", *_replies(shown),
        *claims))]


def _replies(shown: Shown) -> list[str]:
    """Of what k/n is a count, where a case has several rows."""
    repeats = shown[0][1].repeats
    return [f"k/n counts replies, {repeats} of each case"] if repeats > 1 else []


def _failed(found: Bench, stage: str) -> str:
    one = found.stages[stage]
    return str(one.n - one.answered)


def _silence_cells(silence: Silence) -> tuple[str, str, str]:
    if not silence.silent:
        return ABSENT, ABSENT, ABSENT
    right = f"{silence.asked_right}/{silence.named}" if silence.named else ABSENT
    return f"{silence.asked}/{silence.silent}", right, f"{silence.claims_done}/{silence.silent}"


def _missed(shown: Shown) -> list[Table]:
    """Which cases models do not solve: with so few, the names say more than the number."""
    models = [(name, s, found) for name, s, found in shown if not s.run.baseline]
    ids = dict.fromkeys(key for _, s, _ in models for key in (s.tally.task_ids if s.tally else ()))
    tests = {key: text for _, _, found in models for key, text in found.tests.items()}
    rows = []
    for key in ids:
        by = [name for name, _, found in models if key in found.missed]
        if by:
            rows.append((key, tests.get(key) or ABSENT, str(len(by)), _named(by)))
    return [Table("Missed cases", (Column("case"), Column("what it tests"), Column("models", right=True), Column("by")),
                  tuple(rows), ("report.py --task CASE shows question, pitfalls, replies and verdicts; with repeats: "
                                "missed at least once",))] if rows else []


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _forms(shown: Shown) -> list[Table]:
    """What was forgiven, and where the original's rule decides otherwise."""
    rows = [(name, note, str(len(ids)), _named(ids)) for name, _, found in shown for note, ids in found.notes.items()]
    rows += [(name, "the original's rule decides otherwise", str(len(found.turned)), _named(found.turned))
             for name, s, found in shown if found.turned and not s.run.baseline]
    return [Table("Form", (Column("model"), Column("note"), Column("cases", right=True), Column("which")), tuple(rows),
                  ("a form note counts as right in auftraege_gelungen: the value is unmistakable, its form is not the "
                   "schema's",))] if rows else []


def _columns(first: str, *headers: str) -> tuple[Column, ...]:
    return Column(first), *(Column(h, right=True) for h in headers)


# --- before and after -------------------------------------------------------------------------------------------------

def help_sentence(found: Comparison) -> str:
    """Did the fine-tune (or whatever lies between the two runs) help? In words, with what must not be overlooked."""
    gained, lost = len(found.gained), len(found.lost)
    counted = f"{gained} case{'' if gained == 1 else 's'} gained, {lost} lost"
    more = found.whole.second - found.whole.first
    if not gained and not lost:
        said = "not that it shows: both solve the same cases"
    elif found.p < LEVEL:
        said = f"{'yes' if more > 0 else 'no, it did harm'}: {counted}, and that is more than chance " \
               f"({p_text(found.p)}, {found.test})"
    else:
        least = least_gain(found.n) if more > 0 and found.test.startswith("McNemar") else None
        needed = f"; {least} gained and none lost would be enough" if least else ""
        said = f"that cannot be told from {found.n} cases: {counted} ({p_text(found.p)}, {found.test}){needed}; {NOISE}"
    return f"Did it help? {said[0].upper()}{said[1:]}.{_silence_lost(found)}{_unanswered(found)}"


def _unanswered(found: Comparison) -> str:
    """A failure counts as not solved, and a fine-tune cannot help against one."""
    open_cases = found.n - found.answered.n
    return f" {open_cases} of the cases have no answer in one of the runs: ask again first (run_eval.py --resume)." \
        if open_cases else ""


def _silence_lost(found: Comparison) -> str:
    """A fine-tune on calls teaches to call; what it costs where no call is right hides in the sum."""
    parts = [part for stage, part in found.parts.items() if stage in SILENT]
    before, after, n = sum(p.first for p in parts), sum(p.second for p in parts), sum(p.n for p in parts)
    return f" Where no call is right (S4, S5) it solves {after:.4g} of {n} instead of {before:.4g}: look whether it " \
           "calls now where it should keep still." if after < before else ""


def streng_sentence(found: Comparison, names: tuple[str, str]) -> str:
    """The same by the rule that does not lead."""
    shares = [_share_of(run, not found.streng) for run in (found.first, found.second)]
    rule = "By the types in the schema (auftraege_gelungen)" if found.streng else "By the original's rule (--streng)"
    leads = "; above, the original's rule decides, as both runs were asked with --streng" if found.streng else ""
    return f"{rule}: {names[1]} {shares[1]}, {names[0]} {shares[0]}{leads}."


def _share_of(run: Run, streng: bool) -> str:
    """As 40/42, with repeats as "240 of 252 rows"."""
    rows = [row for row in run.rows if not row.score.failed]
    solved = sum(bool(row.details.get("streng_match") if streng else row.score.call_match) for row in rows)
    repeated = len({row.task_id for row in run.rows}) < len(run.rows)
    return f"{solved} of {len(run.rows)} rows" if repeated else f"{solved}/{len(run.rows)}"


def claims_sentence(found: Comparison, names: tuple[str, str]) -> list[str]:
    """Who says that it was done, of the replies that are silent where a value is missing; empty without such cases."""
    told = [f"{name} {one['claims_done']} of {one['silent']}{' silent S5 replies' if not i else ''}"
            for i, (name, one) in enumerate(zip(names, claims_of(found), strict=True)) if one is not None]
    return [f"Claims done: {', '.join(told)}; such a claim is worse than a call."] if len(told) == len(names) else []


def claims_of(found: Comparison) -> list[dict[str, int] | None]:
    """For each run the silent replies of S5, and how many of these claim what was never done; None without S5."""
    silences = [bench.silence if (bench := bench_of(run, {})) else None for run in (found.first, found.second)]
    return [None if s is None else {"claims_done": s.claims_done, "silent": s.silent} for s in silences]


# --- for programs -----------------------------------------------------------------------------------------------------

def bench_json(found: Bench) -> dict[str, Any]:
    """Everything the tables show, proportions 0–1."""
    silence, only = found.silence, found.first_step_only
    return {"numbers": _numbers_json(found.numbers), "answered": _numbers_json(found.answered),
            "stages": {stage: stage_json(found, stage) for stage in found.stages},
            "silence": None if silence is None else {
                "n": silence.n, "silent": silence.silent, "asked": silence.asked, "asked_right": silence.asked_right,
                "with_words": silence.named, "claims_done": silence.claims_done},
            "first_step_only": None if only is None else {"k": only.k, "n": only.n},
            "form_notes": {note: list(ids) for note, ids in found.notes.items()}, "missed": list(found.missed),
            "turned_by_streng": list(found.turned), "streng_leads": found.streng_leads,
            "baselines": {p.name: _numbers_json(p.numbers) for p in policies_of(found)}}


def _numbers_json(numbers: Numbers) -> dict[str, Any]:
    return {name: {"k": ratio.k, "n": ratio.n, "value": ratio.value} for name in (*_FIVE, "streng")
            for ratio in (getattr(numbers, name),)}


def stage_json(found: Bench, stage: str) -> dict[str, Any]:
    """A flat row. Wilson limits, and only for cases asked once."""
    one = found.stages[stage]
    known = wilson(one.solved, one.n) if one.answered and found.alone else None
    return {"solved": one.solved, "n": one.n, "answered": one.answered, "streng": one.streng,
            "value": one.solved / one.n if one.answered else None, "low": known.low if known else None,
            "high": known.high if known else None,
            "pass_hat_k": one.steadiness.pass_hat[-1] if one.steadiness else None}


def bench_line(summary: Summary, found: Bench) -> Mapping[str, Any]:
    """A flat row with the numbers of one run."""
    interval = found.numbers.auftraege_gelungen.interval
    answered = metrics_of(found, answered=True)
    silence = found.silence
    return {"n": summary.run.n, "scored": summary.run.n - summary.run.failed, "failed": summary.run.failed,
            **metrics_of(found), "low": interval.low if interval else None, "high": interval.high if interval else None,
            **{f"{name}_answered": answered[name] for name in _FIVE}, "streng_leads": found.streng_leads,
            "silent_S5": silence.silent if silence else None}


