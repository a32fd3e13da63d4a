"""Before and after a fine-tune over bench cases: what flips and what it tests, both tests, a plain answer."""

from __future__ import annotations

import csv
import io

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.comparison import compare
from infranode_eval.reports.comparison_tables import comparison_json, comparison_sections, flip_json
from infranode_eval.reports.export import csv_text
from infranode_eval.tables import render
from tests.reports.bench_runs import BY_ID, CASES, called, failure, known, result, right, wrong

CALLS = [case.task_id for case in CASES if case.expected]
SILENT = [case.task_id for case in CASES if not case.expected]


def missing(ids):
    return {i: wrong(BY_ID[i]) if i in CALLS else called(BY_ID[i]) for i in ids}


def compared(base, tuned, **options):
    first, second = (run_from_json(result(missing(ids) if isinstance(ids, (list, tuple)) else ids, model=name,
                                          **options), f"{name}.json")
                     for name, ids in (("base", base), ("tuned", tuned)))
    return compare(first, second, [known()])


def answered(found):
    [section] = comparison_sections(found)
    return section.notes[1]


@pytest.mark.parametrize("base, tuned, said", [
    (CALLS[:12], CALLS[:1], "Did it help? Yes: 11 cases gained, 0 lost, and that is more than chance (p = 0.000977"),
    (CALLS[:6], [], "Did it help? Yes: 6 cases gained, 0 lost, and that is more than chance (p = 0.0312"),
    (CALLS[:5], [], "Did it help? That cannot be told from 42 cases: 5 cases gained, 0 lost (p = 0.0625, McNemar, "
                    "exact); 6 gained and none lost would be enough; two cases more or less are noise."),
    ([], CALLS[:8], "Did it help? No, it did harm: 0 cases gained, 8 lost"),
    (CALLS[:2], CALLS[:2], "Did it help? Not that it shows: both solve the same cases."),
])
def test_a_plain_answer(base, tuned, said) -> None:
    assert answered(compared(base, tuned)).startswith(said)


def test_a_gain_in_calls_does_not_hide_what_silence_lost() -> None:
    found = compared(CALLS[:12], SILENT[:4])
    assert "Where no call is right (S4, S5) it solves 10 of 14 instead of 14" in answered(found)
    assert "no call is right" not in answered(compared(CALLS[:12], []))


def test_a_failure_is_no_gain_to_boast_of() -> None:
    found = compared({key: failure() for key in CALLS[:8]}, [])
    assert answered(found).endswith("8 of the cases have no answer in one of the runs: ask again first (run_eval.py "
                                    "--resume).")
    assert "no answer" not in answered(compared(CALLS[:8], []))


def test_flips_are_named_with_what_they_test_and_both_tests_stand_there() -> None:
    text = render(comparison_sections(compared(["S2-9", "S3-1"], ["S5-8"])), "text")
    assert "prüft S2-9" in text and "prüft S5-8" in text and "what it tests" in text
    assert "continuity-corrected chi²" in text and "exact p = 1" in text
    assert "By the original's rule (--streng): tuned 41/42, base 40/42." in text


def test_repeats_need_no_mcnemar_and_still_answer() -> None:
    found = compared(missing(CALLS[:12]), missing([]), repeats=2)
    assert found.test == "paired test by cases" and answered(found).startswith("Did it help? Yes: 12 cases gained")


def eight(ids, repeats, model, **header):
    """A run over the eight cases of S3."""
    cases = tuple(case for case in CASES if case.category == "S3")
    return run_from_json(result(missing(ids), cases=cases, repeats=repeats, model=model, **header), f"{model}.json")


@pytest.mark.parametrize("repeats, lost, why", [
    (3, 5, "the bootstrap excludes 0, the test says p = 0.07"), (3, 7, "more than chance, and still too few to draw"),
    (1, 5, "Newcombe's interval excludes 0 beside p = 0.0625")])
def test_an_interval_never_says_otherwise_than_the_test(repeats, lost, why) -> None:
    ids = [f"S3-{n}" for n in range(1, lost + 1)]
    found = compare(eight(ids, repeats, "base"), eight([], repeats, "tuned"))
    numbers = comparison_sections(found)[0].tables[0]
    assert "[" not in numbers.rows[0][-1] and "the test decides" in numbers.notes[0], why
    difference = comparison_json(found)["difference"]
    assert difference["low"] is None and difference["estimate"] == pytest.approx(lost / 8)


def test_an_interval_stands_where_it_says_what_the_test_says() -> None:
    numbers = comparison_sections(compared(CALLS[:12], []))[0].tables[0]
    assert "[" in numbers.rows[0][-1] and "Newcombe" in numbers.notes[0]


def test_repeats_are_said_to_be_rows_of_few_cases() -> None:
    found = compare(eight(["S3-1"], 3, "base"), eight([], 3, "tuned"))
    assert "in each run 24 rows of 8 cases; a case counts as the share of its repeats that succeed" in found.notes
    assert "rows of" not in " ".join(compared(CALLS[:3], []).notes)


def test_cases_and_their_number_are_called_what_they_are() -> None:
    [section] = comparison_sections(compared(CALLS[:12], ["S5-8"]))
    assert section.title == "tuned compared with base: 42 cases"
    assert [t.title for t in section.tables[:2]] == ["auftraege_gelungen", "auftraege_gelungen by stage"]
    assert section.tables[2].columns[0].header == "case"
    text = render([section], "text")
    assert "call_match" not in text and "task" not in text


@pytest.mark.parametrize("base, tuned, told", [
    (CALLS[:5], [], True), ([], CALLS[:5], False), (CALLS[:2], CALLS[2:6], False), (CALLS[:4], CALLS[3:6], True)])
def test_what_would_be_enough_is_said_only_after_a_gain(base, tuned, told) -> None:
    assert ("would be enough" in answered(compared(base, tuned))) is told


def test_claims_of_both_runs_stand_beside_each_other() -> None:
    """A fine-tune that stops claiming has improved, though the number that counts does not move."""
    claims = {f"S5-{n}": {**right(BY_ID[f"S5-{n}"]), "asked": False, "asked_right": False, "claims_done": True}
              for n in (1, 2)}
    base = {**claims, **{f"S5-{n}": called(BY_ID[f"S5-{n}"]) for n in range(3, 9)}}
    found = compared(base, missing(["S5-1", "S5-2"]))
    [line] = [n for n in comparison_sections(found)[0].notes if n.startswith("Claims done")]
    assert line == "Claims done: base 2 of 2 silent S5 replies, tuned 0 of 6; such a claim is worse than a call."
    assert comparison_json(found)["claims_done"] == [{"claims_done": 2, "silent": 2}, {"claims_done": 0, "silent": 6}]
    only_s3 = compare(eight([], 1, "base"), eight(["S3-1"], 1, "tuned"))
    assert "Claims" not in " ".join(comparison_sections(only_s3)[0].notes), "no case of S5 there"


@pytest.mark.parametrize("first, second, measure, solved", [
    ("streng", "streng", "streng", (42, 39)), ("streng", "auftraege_gelungen", "auftraege_gelungen", (41, 42))])
def test_the_original_rule_decides_where_both_runs_lead_with_it(first, second, measure, solved) -> None:
    turned = {f"S2-{n}": {**right(BY_ID[f"S2-{n}"]), "streng_match": False} for n in (1, 2, 3)}
    base = {"S1-1": {**wrong(BY_ID["S1-1"]), "streng_match": True}}
    runs = [run_from_json(result(verdicts, model=name, headline={lead: 1.0}), f"{name}.json")
            for verdicts, name, lead in ((base, "base", first), (turned, "tuned", second))]
    found = compare(*runs, [known()])
    assert (found.measure, (found.whole.first, found.whole.second)) == (measure, solved)
    [section] = comparison_sections(found)
    assert section.tables[0].title == measure and f"{solved[1]} against {solved[0]}" in section.notes[0]
    other = "By the types in the schema (auftraege_gelungen): tuned 42/42, base 41/42; above" if measure == "streng" \
        else "By the original's rule (--streng): tuned 39/42, base 42/42."
    assert other in section.notes[2]


def test_cases_in_one_wording_are_independent() -> None:
    assert compared(CALLS[:3], []).test == "McNemar, exact"


def test_programs_get_the_same() -> None:
    found = compared(["S2-9"], [])
    value = comparison_json(found)
    assert value["help"].startswith("Did it help?") and value["flips"][0]["tests"] == "prüft S2-9"
    assert value["mcnemar"]["p_exact"] == 1
    [line] = csv.DictReader(io.StringIO(csv_text([flip_json(flip) for flip in found.flips])))
    assert line["task_id"] == "S2-9" and line["tests"] == "prüft S2-9"


def test_a_case_that_is_not_known_flips_all_the_same() -> None:
    runs = [run_from_json(result(verdicts, model=name), f"{name}.json")
            for name, verdicts in (("base", missing(["S2-9"])), ("tuned", {"S2-9": right(BY_ID["S2-9"])}))]
    text = render(comparison_sections(compare(*runs)), "text")
    assert "S2-9" in text and "what it tests" not in text
