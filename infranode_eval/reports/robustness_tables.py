"""Robustness as sections for people and as values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.reports.comparison import LEVEL, p_text
from infranode_eval.reports.figures import Summary
from infranode_eval.reports.robustness import LANGUAGES, PUBLIC, Effect, Noise, Robustness, noise_of
from infranode_eval.statistics import Interval
from infranode_eval.tables import ABSENT, Column, Table, limits, percent

NO_NOISE = "noise floor not measured; run with --repeats 2"


def robustness_tables(summaries: Sequence[Summary], names: Sequence[str]) -> list[Table]:
    """An overview with a row for each run, then the variants of each run; names: their labels, in the same order."""
    shown = [(name, s, s.robustness) for name, s in zip(names, summaries, strict=True) if s.robustness is not None]
    noises = noises_of(summaries)
    if not shown:
        return []
    overview = _overview([(name, s, found, noises[s.run.path]) for name, s, found in shown])
    return [overview, *(table for name, _, found in shown for table in _variant_tables(name, found))]


def noises_of(summaries: Sequence[Summary]) -> dict[str, Noise | None]:
    """The noise floor of each run by its file; summaries: runs that may be compared with each other."""
    return {s.run.path: _noise(s, summaries) for s in summaries}


def _noise(summary: Summary, summaries: Sequence[Summary]) -> Noise | None:
    found = summary.robustness
    if found is None:
        return None
    if summary.run.baseline:
        return Noise(0.0, len(found.originals), "a baseline repeats itself")
    others = {s.run.path: s.robustness for s in summaries if s is not summary and s.robustness is not None
              and _who(s) == _who(summary)}
    return noise_of(found, others)


def _who(summary: Summary) -> tuple[Any, ...]:
    run = summary.run
    return run.model, run.backend, run.harness, run.settings.get("arm")


# --- tables -----------------------------------------------------------------------------------------------------------

def _overview(runs: Sequence[tuple[str, Summary, Robustness, Noise | None]]) -> Table:
    columns = (Column("model"), *(Column(h, right=True) for h in (
        "original", "variants, mean", "worst variant", "drop", "consistent", "by noise alone", "noise floor", "bases",
        "n", "scored", "failed")))
    rows = tuple((name, percent(found.original), percent(found.mean), *_worst_cells(found), percent(found.consistent),
                  percent(found.expected(noise.rate) if noise else None), percent(noise.rate if noise else None),
                  str(found.linked), str(s.run.n), str(s.run.n - s.run.failed), str(s.run.failed))
                 for name, s, found, noise in runs)
    notes = ["call_match in per cent, a failure counts as not solved; drop in points; this set has no tiers and is "
             "never ranked with others",
             "variants, mean: unweighted over the German variants; consistent: share of the bases for which the "
             "original and all their German variants are right",
             *(line for name, _, found, noise in runs for line in sentences(name, found, noise))]
    return Table("Robustness", columns, rows, tuple(notes))


def _worst_cells(found: Robustness) -> tuple[str, str]:
    worst = found.worst
    return (ABSENT, ABSENT) if worst is None else (worst.variant, _points(worst.paired.drop))


def _variant_tables(name: str, found: Robustness) -> list[Table]:
    tables = [_effects(f"{name}: other wordings", found.wordings, (_correction(found), *_NOTES)),
              _effects(f"{name}: another language, an axis of its own", found.block(LANGUAGES), ()),
              _effects(f"{name}: public wording minus paraphrase (contamination)", found.block(PUBLIC), (
                  *(_public_sentence(name, effect) for effect in found.block(PUBLIC)),
                  "a model that knows the public wording by heart loses here; so does one that finds the new wording "
                  "harder: see what other wordings cost it"))]
    return [t for t in tables if t.rows]


_NOTES = ("drop: original minus variant, in points, with its 95 % interval; gained, lost: tasks that only the variant, "
          "only the original solves",
          "the test that decides is the rightmost one shown: by clusters (tasks of one template, or repeats), exact "
          "(below 25 discordant pairs), McNemar with continuity correction")


def _correction(found: Robustness) -> str:
    return f"Holm: p of the test that decides, corrected over the {len(found.effects)} variants of this run"


def _effects(title: str, effects: Sequence[Effect], notes: Sequence[str]) -> Table:
    columns = (Column("variant"), *(Column(h, right=True) for h in (
        "pairs", "original", "variant", "drop", "95 %", "gained", "lost", "McNemar", "exact", "by clusters", "Holm")))
    return Table(title, columns, tuple(_effect_cells(e) for e in effects), tuple(notes))


def _effect_cells(effect: Effect) -> tuple[str, ...]:
    found = effect.paired
    return (effect.variant, str(found.n), percent(found.first / found.n), percent(found.second / found.n),
            f"{100 * found.drop.estimate:+.1f}", limits(found.drop), str(found.gained), str(found.lost),
            _p(found.corrected.p if found.corrected else None), _p(found.exact if found.exact_is_shown else None),
            _p(found.clustered), _p(effect.adjusted))


def _p(value: float | None) -> str:
    return ABSENT if value is None else p_text(value).removeprefix("p ").removeprefix("= ")


def _points(interval: Interval) -> str:
    return f"{100 * interval.estimate:+.1f} {limits(interval)}"


# --- in plain words ---------------------------------------------------------------------------------------------------

def sentences(name: str, found: Robustness, noise: Noise | None) -> list[str]:
    """The worst variant, and consistency beside what chance alone would leave of it."""
    return [_worst_sentence(name, found), _noise_sentence(name, found, noise)]


def _worst_sentence(name: str, found: Robustness) -> str:
    worst = found.worst
    if worst is None:
        return f"{name}: no other wording costs it anything"
    pairs = worst.paired
    judged = "more" if worst.adjusted < LEVEL else "not more"
    return (f"{name} loses most with {worst.variant}: {percent(pairs.second / pairs.n)} instead of "
            f"{percent(pairs.first / pairs.n)} % of {pairs.n} tasks, {percent(pairs.drop.estimate)} points less "
            f"{limits(pairs.drop)}; that is {judged} than chance ({p_text(worst.adjusted)}, Holm over "
            f"{len(found.effects)} variants)")


def _noise_sentence(name: str, found: Robustness, noise: Noise | None) -> str:
    measured = f"{percent(found.consistent)} % of {found.linked} bases are right in every wording"
    if not found.linked:
        return f"{name}: no base with a German variant"
    if noise is None:
        return f"{name}: {measured}; {NO_NOISE}"
    return (f"{name}: {measured}; if wording did nothing and verdicts flipped only as often as between runs of the "
            f"same wording ({percent(noise.rate)} % of {noise.n} originals; {noise.source}), "
            f"{percent(found.expected(noise.rate))} % would be")


def _public_sentence(name: str, effect: Effect) -> str:
    found = effect.paired
    if effect.adjusted >= LEVEL:
        judged = "not more than chance"
    else:
        judged = "more than chance" + ("" if found.drop.estimate > 0 else ", the new wording is the easier one")
    return (f"{name}: public wording minus {effect.variant} {_points(found.drop)} points over {found.n} tasks; that is "
            f"{judged} ({p_text(effect.adjusted)} by Holm's correction)")


# --- for programs -----------------------------------------------------------------------------------------------------

def robustness_json(found: Robustness, noise: Noise | None) -> dict[str, Any]:
    """Everything the tables show, proportions 0–1."""
    return {"original": found.original, "mean": found.mean, "worst": found.worst.variant if found.worst else None,
            "bases": found.linked, "consistent": found.consistent,
            "noise": None if noise is None else {"rate": noise.rate, "n": noise.n, "source": noise.source,
                                                 "expected_consistent": found.expected(noise.rate)},
            "variants": [{"variant": e.variant, **variant_json(e)} for e in found.effects]}


def variant_json(effect: Effect) -> Mapping[str, Any]:
    """A flat row."""
    found = effect.paired
    return {"n": found.n, "original": found.first / found.n, "call_match": found.second / found.n,
            "drop": found.drop.estimate, "low": found.drop.low, "high": found.drop.high, "method": found.method,
            "gained": found.gained, "lost": found.lost, "p_mcnemar": found.corrected.p if found.corrected else None,
            "p_exact": found.exact, "p_clusters": found.clustered, "p": found.p, "p_holm": effect.adjusted}
