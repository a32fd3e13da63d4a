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
    assert found.test == "paired test by tasks" and answered(found).startswith("Did it help? Yes: 12 cases gained")


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
