"""Other wordings beside the original: hand-made runs with hand-computed numbers, noise, consistency, and the text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.export import report_csv, report_json
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.paired import pair
from infranode_eval.reports.ranks import tiers
from infranode_eval.reports.robustness import noise_of, place_of, robustness_of
from infranode_eval.reports.robustness_tables import NO_NOISE, robustness_tables
from infranode_eval.reports.sections import report_sections
from infranode_eval.reports.tasksets import TaskSet
from infranode_eval.statistics import Pairs, holm, mcnemar_exact, paired_difference
from infranode_eval.tables import render
from lm_eval_task.records import Call, Reply, Score, Task, tasks_fingerprint

ROOT = Path(__file__).resolve().parent.parent.parent
BASES = tuple(f"weather-{i:02}" for i in range(10))
VARIANTS = ("original", "no_dots", "lower", "english", "paraphrase")


def tasks(variants: Iterable[str] = VARIANTS, bases: Iterable[str] = BASES, **extra: str) -> tuple[Task, ...]:
    """A task for each base and variant, in the order of a robust set."""
    variants = tuple(variants)
    gold = (Call("weather", {"slug": "koeln"}),)
    return tuple(Task(f"robust-{v}-{b}", f"Wetter {b} ({v})?", gold, category="weather", set="robust",
                      extra={"variant": v, "base": b, **extra}) for b in bases for v in variants)


@pytest.fixture
def summary(make_result, answer) -> Callable[..., Summary]:
    """summary({variant: numbers of the bases that are wrong}): a run over the robust set."""

    def make(wrong: Mapping[str, Iterable[int]] | None = None, asked: tuple[Task, ...] = tasks(), model: str = "demo",
             path: str | None = None, sets: tuple[TaskSet, ...] | None = None, **header: Any) -> Summary:
        missed = {f"robust-{v}-{BASES[i]}" for v, numbers in (wrong or {}).items() for i in numbers}
        value = make_result(lambda t: Reply.from_text("Nein." if t.task_id in missed else answer(t)), tasks=asked,
                            model=model, set="robust", **header)
        known = TaskSet("robust", tasks_fingerprint(asked), {t.task_id: t for t in asked})
        return summarise(run_from_json(value, path or f"r/{model}.json"), (known,) if sets is None else sets)

    return make


def effects(found: Summary) -> dict[str, Any]:
    assert found.robustness is not None
    return {e.variant: e for e in found.robustness.effects}


def test_each_variant_is_paired_with_the_original_of_its_base(summary):
    found = effects(summary({"original": [0, 1], "no_dots": range(1, 8), "lower": [0]}))
    assert list(found) == ["no_dots", "lower", "english", "paraphrase"], "in the order of the list, not of the file"
    dots = found["no_dots"].paired
    assert (dots.n, dots.first, dots.second, dots.gained, dots.lost) == (10, 8, 3, 1, 6)
    assert dots.drop.estimate == 0.5
    expected = paired_difference(Pairs(2, 6, 1, 1))
    assert (dots.drop.low, dots.drop.high) == pytest.approx((expected.low, expected.high))
    assert dots.p == dots.exact == mcnemar_exact(1, 6) == 0.125
    assert (found["lower"].paired.gained, found["lower"].paired.lost) == (1, 0)


def test_holm_is_over_all_variants_of_the_run(summary):
    found = effects(summary({"no_dots": range(10), "lower": range(6), "paraphrase": range(8)}))
    p = [2 * 0.5 ** 10, 2 * 0.5 ** 6, 1.0, 2 * 0.5 ** 8]     # no_dots, lower, english, paraphrase
    assert [e.paired.p for e in found.values()] == p
    assert [e.adjusted for e in found.values()] == holm(p) == [4 * p[0], 2 * p[1], 1.0, 3 * p[3]]


@pytest.mark.parametrize("wrong, worst, why", [
    ({"no_dots": [0], "lower": [0, 1]}, "lower", "the largest drop"),
    ({"english": range(9), "paraphrase": range(8), "lower": [3]}, "lower", "no other language, no contamination"),
    ({"original": [0, 1]}, None, "variants that gain cost nothing"),
    ({}, None, "nothing is lost"),
])
def test_the_worst_variant(summary, wrong, worst, why):
    found = summary(wrong).robustness.worst
    assert (found.variant if found else None) == worst, why


def test_a_variant_with_few_pairs_is_not_named_the_worst(summary):
    asked = tasks(("original", "lower")) + tasks(("no_dots",), BASES[:3])
    found = summary({"no_dots": [0, 1], "lower": [5, 6]}, asked)
    assert effects(found)["no_dots"].paired.drop.estimate > effects(found)["lower"].paired.drop.estimate
    assert found.robustness.worst.variant == "lower"
    alone = summary({"no_dots": [0]}, tasks(("original", "no_dots"), BASES[:3]))
    assert alone.robustness.worst.variant == "no_dots", "unless none has more"


def test_consistency_is_the_share_of_bases_right_in_every_german_wording(summary):
    found = summary({"original": [0], "no_dots": [1], "lower": [1, 2], "paraphrase": [3], "english": [4, 5]}).robustness
    assert (found.linked, found.consistent) == (10, 0.6), "bases 0 to 3 are wrong somewhere, English does not count"
    assert found.original == 0.9 and found.mean == pytest.approx((0.9 + 0.8 + 0.9) / 3)


@pytest.mark.parametrize("flips, expected, why", [
    (0.0, 0.9, "without noise the originals that are right stay right: 9 of 10"),
    (0.1, 0.9 * 0.9 ** 3, "three German variants, each with one chance in ten to flip"),
    (1.0, 0.0, "all flip"),
])
def test_what_noise_alone_would_leave(summary, flips, expected, why):
    assert summary({"original": [0]}).robustness.expected(flips) == pytest.approx(expected), why


def test_bases_with_fewer_variants_have_fewer_chances_to_flip(summary):
    found = summary({}, tasks(("original", "lower")) + tasks(("no_dots",), BASES[:5])).robustness
    assert found.expected(0.2) == pytest.approx((5 * 0.8 + 5 * 0.8 ** 2) / 10)


# --- the noise floor --------------------------------------------------------------------------------------------------

def rows(verdicts: Mapping[str, list[bool | None]], make_result, answer) -> Any:
    """A run whose row number k of task t is right as verdicts[t][k] says; None: no answer."""
    asked = tasks(("original", "lower"), sorted(verdicts))
    turn: dict[str, int] = {}

    def replier(task: Task) -> Reply | Score:
        turn[task.task_id] = turn.get(task.task_id, -1) + 1
        right = verdicts[task.extra["base"]][turn[task.task_id]]
        if right is None:
            return Score.failure("infra_error", "timed out")
        return Reply.from_text(answer(task) if right else "Nein.")

    repeats = len(next(iter(verdicts.values())))
    value = make_result(replier, tasks=asked, set="robust", repeats=repeats)
    return robustness_of(run_from_json(value, "r.json").rows, {t.task_id: t for t in asked})


@pytest.mark.parametrize("verdicts, rate, why", [
    ({"a": [True, True], "b": [True, False], "c": [False, False], "d": [False, True]}, 0.5, "two of four flip"),
    ({"a": [True, True, False], "b": [True, True, True]}, 1 / 3, "of three pairs of repeats two differ: (2/3 + 0) / 2"),
    ({"a": [True, True]}, 0.0, "measured, and none flips"),
    ({"a": [True, True, None], "b": [True, False, None]}, 0.5, "no answer is no flip"),
])
def test_noise_from_repeats(make_result, answer, verdicts, rate, why):
    found = noise_of(rows(verdicts, make_result, answer), {})
    assert (found.rate, found.n) == (pytest.approx(rate), len(verdicts)), why


def test_noise_from_a_second_file(make_result, answer):
    one, other = (rows(v, make_result, answer) for v in (
        {"a": [True], "b": [True], "c": [False]}, {"a": [True], "b": [False], "c": [False]}))
    assert noise_of(one, {}) is None, "asked once, no other file"
    found = noise_of(one, {"again.json": other})
    assert (found.rate, found.n, found.source) == (pytest.approx(1 / 3), 3, "this run and again.json")


def test_with_repeats_consistency_is_within_each_repeat(make_result, answer):
    found = rows({"a": [True, False], "b": [True, True]}, make_result, answer)
    assert found.consistent == 0.75 and found.repeats == 2
    [effect] = found.effects
    assert (effect.paired.corrected, effect.paired.exact, effect.paired.p) == (None, None, 1.0), "no McNemar in parts"


def notes(summaries: list[Summary]) -> str:
    return "\n".join(robustness_tables(summaries, [s.run.model for s in summaries])[0].notes)


@pytest.mark.parametrize("others, said, why", [
    ([], NO_NOISE, "one run, one answer each"),
    ([{"path": "r/2.json"}], "(10.0 % of 10 originals; this run and r/2.json), 72.9 %",
     "0.9^3: one original of ten flips"),
    ([{"model": "other"}], NO_NOISE, "another model is no second run"),
    ([{"path": "r/2.json", "settings": {"max_tokens": 160, "temperature": 0, "arm": "no_guidance"}}], NO_NOISE,
     "another arm is another set-up"),
])
def test_the_noise_floor_comes_from_the_same_model_and_set_up_only(summary, others, said, why):
    assert said in notes([summary(path="r/1.json"), *(summary({"original": [0]}, **o) for o in others)]), why


def test_a_baseline_is_its_own_repeat(summary):
    said = notes([summary(backend="baseline")])
    assert "(0.0 % of 10 originals; a baseline repeats itself), 100.0 % would be" in said


# --- rows, clusters, places -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("task_id, extra, place, why", [
    ("robust-no_dots-weather-koeln-1", None, ("weather-koeln-1", "no_dots"), "the id alone tells it"),
    ("anything", {"base": "b", "variant": "v"}, ("b", "v"), "the row tells it"),
    ("robust-lower-x", {"base": 3}, ("x", "lower"), "a broken field does not"),
    ("weather-koeln", None, None, "no row of this set"),
    ("robust-lower", None, None, "an id without a base"),
])
def test_place(task_id, extra, place, why):
    task = None if extra is None else Task(task_id, "?", (), extra=extra)
    assert place_of(task_id, task) == place, why


def test_bases_of_one_template_are_drawn_together_and_core_ones_are_not(summary):
    asked = tasks(("original", "lower"), phrasing="w1")
    wrong = {"lower": range(6)}
    known = TaskSet("robust", tasks_fingerprint(asked), {t.task_id: t for t in asked})
    core = TaskSet("core", "c", {b: Task(b, "?", ()) for b in BASES})
    together, alone = (effects(summary(wrong, asked, sets=sets))["lower"].paired
                       for sets in ((known,), (known, core)))
    assert (together.method, alone.method) == ("cluster bootstrap", "Newcombe")
    assert together.clustered == together.p == 1.0, "one template: a single sign, which is no evidence"
    assert alone.clustered is None and alone.p == 2 * 0.5 ** 6


@pytest.mark.parametrize("first, second, estimate, why", [
    ([1, 1, 1, 1], [0, 0, 0, 0], -1.0, "all lost"),
    ([0, 0, 0, 0], [1, 1, 1, 1], 1.0, "all gained"),
    ([1, 1, 0, 0], [1, 1, 0, 0], 0.0, "alike"),
])
def test_columns_that_are_all_alike_do_not_claim_certainty(first, second, estimate, why):
    found = pair(first, second, ["x", "x", "y", "y"])
    assert found.difference.estimate == estimate and found.difference.high - found.difference.low > 0.3, why


def test_a_run_without_originals_has_no_pairs(summary):
    assert summary({}, tasks(("lower", "no_dots"))).robustness is None


def test_without_the_set_the_ids_tell_the_pairs(summary):
    assert effects(summary({"no_dots": [1]}, sets=()))["no_dots"].paired.lost == 1


# --- the report -------------------------------------------------------------------------------------------------------

@pytest.fixture
def two(summary) -> list[Summary]:
    weak = {"original": [0], "no_dots": range(1, 9), "english": range(7), "paraphrase": range(7)}
    return [summary(weak, model="weak"), summary({"lower": [2]}, model="strong")]


@pytest.mark.parametrize("form, name", [("text", "robustness.txt"), ("markdown", "robustness.md")])
def test_the_report(two, golden, form, name):
    golden(name, render(report_sections(two), form))


def test_the_set_has_no_ranks_and_stands_behind_the_others(two, make_result, answer):
    assert tiers(two) == [None, None]
    core = summarise(run_from_json(make_result(lambda t: Reply.from_text(answer(t)), suite="z"), "r/core.json"))
    titles = [s.title for s in report_sections([*two, core])]
    assert ["core" in t for t in titles] == [False, True, False], "the heading, core, robust"


def test_for_programs(two):
    [group] = json.loads(report_json(two))["groups"]
    weak = next(run for run in group["runs"] if run["model"] == "weak")["robustness"]
    assert (weak["original"], weak["worst"], weak["consistent"], weak["noise"]) == (0.9, "no_dots", 0.1, None)
    dots = weak["variants"][0]
    assert (dots["variant"], dots["n"], dots["gained"], dots["lost"], dots["drop"]) == ("no_dots", 10, 1, 8, 0.7)
    assert group["items"] is None and all(run["tier"] is None for run in group["runs"])
    lines = report_csv(two, "variants").splitlines()
    assert len(lines) == 9 and lines[0] == report_csv([], "variants").strip(), "a header, four variants of two runs"


def test_from_tasks_to_report(tmp_path):
    """The baseline finds a city by its name: without dots it does not find Köln."""
    rows = [{"task_id": f"robust-{variant}-{slug}", "set": "robust", "category": "weather", "variant": variant,
             "base": slug, "question": question, "expected": [{"name": "weather", "arguments": {"slug": slug}}]}
            for slug, city in (("koeln", "Köln"), ("bonn", "Bonn"))
            for variant, question in (("original", f"Wie ist das Wetter in {city}?"),
                                      ("no_dots", f"Wie ist das Wetter in {city}?".replace("ö", "o")))]
    file, out = tmp_path / "robust.jsonl", tmp_path / "r.json"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    for command in (["run_eval.py", "--tasks", file, "--set", "robust", "--out", out],
                    ["report.py", "--tasks", file, out]):
        done = subprocess.run([sys.executable, *map(str, (ROOT / command[0], *command[1:]))], capture_output=True,
                              text=True, encoding="utf-8", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "bm25 (baseline) loses most with no_dots: 50.0 instead of 100.0 % of 2 tasks" in done.stdout
    assert ["no_dots", "2", "100.0", "50.0", "+50.0"] in [line.split()[:5] for line in done.stdout.splitlines()]
