"""The numbers of suite team: each edge case with its reason, the rules of the specification, and what always holds."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranode_eval.team.metrics import (
    FACTORS,
    Play,
    Usage,
    mca,
    roc,
    run_values,
    scenario_values,
    sms,
    sms_interval,
    tpp,
    wpp,
)

TOOLS = ("Read", "Write", "Edit", "Bash", "Grep", "Glob")


def usage(granted="", used="", files=0, touched=0, key="llm", refused=0, **media) -> Usage:
    """One sub-agent; tools as words, touched as how many paths."""
    return Usage("helfer", key, frozenset(granted.split()), frozenset(used.split()), files,
                 frozenset(f"/arbeit/akten/{n}" for n in range(touched)), media, refused)


@pytest.mark.parametrize("measure, given, value, why", [
    (tpp, usage("Read Write Bash", "Read", 20, 5), 1 / 3, "one of three tools was needed"),
    (roc, usage("Read Write Bash", "Read", 20, 5), 0, "it only read and could have written"),
    (wpp, usage("Read Write Bash", "Read", 20, 5), 0.25, "five of twenty files"),
    (mca, usage("Read Write Bash", "Read", 20, 5), 1, "an llm needs no attachment"),
    (tpp, usage("Read", "", 3), 0, "never run: it used nothing"),
    (roc, usage("Read", "", 3), 1, "never run: nothing used is no reading only"),
    (wpp, usage("Read", "", 3), 0, "never run: it touched nothing"),
    (mca, usage("Read", "", 3), 1, "never run, llm"),
    (mca, usage("Read", "", 3, key="vlm"), 0, "never run: it saw no picture"),
    (mca, usage("Read", "", 3, key="omni"), 0, "never run: it heard no sound"),
    (tpp, usage("", "", 3), 0, "no tool granted is 0, not a division by 0"),
    (roc, usage("", "", 3), 1, "no tool granted: nothing used"),
    (wpp, usage("", "", 3), 0, "no tool granted: nothing touched"),
    (mca, usage("", "", 3), 1, "no tool granted, llm"),
    (tpp, usage("Read Write", "Read Write", 4, 4), 1, "all tools used"),
    (roc, usage("Read Write", "Read Write", 4, 4), 1, "it did write"),
    (wpp, usage("Read Write", "Read Write", 4, 4), 1, "all files touched"),
    (mca, usage("Read Write", "Read Write", 4, 4), 1, "by key: an llm"),
    (mca, usage("Read Write", "Read Write", 4, 4, "vlm", image=1), 1, "by key: a vlm that saw a picture"),
    (mca, usage("Read Write", "Read Write", 4, 4, "vlm", video=1), 1, "by key: a film counts for a vlm as well"),
    (mca, usage("Read", "Read", 2, 2, "vlm", image=0, video=0), 0, "a vlm that reads only text"),
    (mca, usage("Read", "Read", 2, 2, "vlm", audio=1), 0, "a sound is not what a vlm is for"),
    (mca, usage("Read", "Read", 2, 2, "omni", image=3, video=1), 0, "an omni that only looks: a vlm would do"),
    (mca, usage("Read", "Read", 2, 2, "omni", audio=1), 1, "an omni that hears"),
    (mca, usage("Read", "Read", 2, 1, "vlm", image=0), 0, "its only picture was dropped by the cap: in no request"),
    (tpp, usage("Bash", "Bash", 9), 1, "only Bash granted and used"),
    (roc, usage("Bash", "Bash", 9), 1, "Bash may change things"),
    (wpp, usage("Bash", "Bash", 9), 0, "what Bash reads is not touched"),
    (mca, usage("Bash", "Bash", 9), 1, "only Bash, llm"),
    (tpp, usage("Write", "Write", 0, 1), 1, "a writer on an empty folder used its tool"),
    (roc, usage("Write", "Write", 0, 1), 1, "a writer on an empty folder wrote"),
    (wpp, usage("Write", "Write", 0, 1), 1, "no file was reachable and one was made: ours is 1, not 0"),
    (mca, usage("Write", "Write", 0, 1), 1, "a writer on an empty folder, llm"),
    (wpp, usage("Read Write", "Read Write", 2, 3), 1, "a third file, made and read by it: at most 1"),
    (wpp, usage("Read", "", 0, 0), 0, "no file reachable and none touched"),
    (tpp, usage("Read", "", 3, refused=4), 0, "all Reads refused: a refused call is no use"),
    (roc, usage("Read", "", 3, refused=4), 1, "all Reads refused: nothing used"),
    (wpp, usage("Read", "", 3, refused=4), 0, "all Reads refused: nothing touched"),
    (mca, usage("Read", "", 3, refused=4), 1, "all Reads refused, llm"),
    (roc, usage("Read Grep Glob", "Read Grep Glob", 3), 1, "it could not have changed anything"),
    (roc, usage("Read Edit", "Grep", 3), 0, "Grep alone is reading only"),
    (roc, usage("Read Edit Bash", "Read Bash", 3), 1, "one changing tool used excuses the other"),
    (tpp, usage("Read", "Read Write", 1, 1), 1, "only granted tools count, whatever the log says"),
])
def test_edge_cases(measure, given, value, why):
    assert measure(given) == pytest.approx(value), why


NO_ONE = Play("recht", 5, 5)


def test_without_a_subagent_all_rounds_earn_nothing():
    assert scenario_values(NO_ONE) == {"tcr": 1, "tpp": 0, "roc": 0, "wpp": 0, "mca": 0, "sms": 0, "maf": 0, "saft": 0,
                                       "safa": None}
    assert run_values([NO_ONE])["sms"] == 0 and run_values([NO_ONE])["safa"] is None


@pytest.mark.parametrize("passed, rounds, factors, published, mean_of_products", [
    (146, 258, (0.7896, 0.9770, 0.3788, 0.9547), 43.86, 43.84),      # gemma-4-31b
    (157, 258, (0.7250, 0.9574, 0.4070, 0.9621), 46.42, 46.32),      # qwen3.6-27b
])
def test_two_published_runs_are_products_of_means(passed, rounds, factors, published, mean_of_products):
    found = round(100 * sms(passed / rounds, *factors), 2)
    assert found == published and found != mean_of_products


GOOD = usage("Read", "Read", 1, 1)                              # earns 1 in each factor
POOR = usage("Read Write", "Read", 4, 1, "vlm", refused=2)      # .5, 0, .25, 0


def test_a_scenario_is_the_mean_over_its_subagents():
    values = scenario_values(Play("recht", 6, 3, (GOOD, POOR), maf=1))
    assert values == {"tcr": 0.5, "tpp": 0.75, "roc": 0.5, "wpp": 0.625, "mca": 0.5, "sms": 0.5 * 2.375 / 4, "maf": 1,
                      "saft": 2, "safa": 1.0}


A, B = Play("recht", 2, 2, (POOR,), maf=1), Play("pegel", 8, 2, (GOOD, GOOD, GOOD))
FAILED = Play("vergabe", 5, None)


def test_a_run_is_a_product_of_means_and_tcr_goes_over_rounds():
    """By hand: 4 of 10 rounds, though the scenarios' mean is .625; factors .75 .5 .625 .5, whose mean is .59375."""
    found = run_values([A, B])
    assert found == {"sms": pytest.approx(0.4 * 0.59375), "tcr": 0.4, "tpp": 0.75, "roc": 0.5, "wpp": 0.625, "mca": 0.5,
                     "rounds_passed": 4, "rounds": 10, "maf": 1, "saft": 2, "safa": 0.5, "subagents": 4}
    products = [scenario_values(play)["sms"] for play in (A, B)]
    assert sum(products) / 2 != pytest.approx(found["sms"])


def test_a_run_weighs_scenarios_and_not_subagents():
    assert run_values([A, B])["tpp"] == 0.75, "the mean over its four sub-agents would be .875"


def test_a_failed_play_counts_as_nothing_in_metrics_and_is_left_out_of_answered():
    strict, answered = run_values([A, B, FAILED]), run_values([A, B, FAILED], strict=False)
    assert answered == run_values([A, B])
    assert (strict["tcr"], strict["rounds_passed"], strict["rounds"]) == (4 / 15, 4, 15)
    assert [strict[name] for name in FACTORS] == pytest.approx([1.5 / 3, 1 / 3, 1.25 / 3, 1 / 3])
    assert (strict["maf"], strict["saft"], strict["safa"], strict["subagents"]) == (1, 2, 0.5, 4)


def test_a_failed_play_has_no_values():
    assert set(scenario_values(FAILED).values()) == {None} and set(scenario_values(FAILED)) == set(scenario_values(A))


@pytest.mark.parametrize("plays, strict", [([], True), ([FAILED], False)])
def test_a_run_without_a_play_knows_no_share(plays, strict):
    assert run_values(plays, strict) == {
        "sms": None, "tcr": None, "tpp": None, "roc": None, "wpp": None, "mca": None, "rounds_passed": 0, "rounds": 0,
        "maf": 0, "saft": 0, "safa": None, "subagents": 0}


def test_a_run_of_failures_has_an_sms_of_0():
    assert run_values([FAILED, FAILED])["sms"] == 0 and run_values([FAILED])["rounds"] == 5


def test_a_subagent_that_never_ran_counts():
    idle = usage("Read", "", 3)
    assert scenario_values(Play("recht", 5, 5, (GOOD, idle)))["tpp"] == 0.5


def test_one_file_each_raises_the_factor_and_the_number_of_subagents_tells():
    """Rule 6: what the count in every table is for."""
    one, many = Play("recht", 5, 5, (usage("Read Write", "Read Write", 9, 3),)), Play("recht", 5, 5, (GOOD,) * 9)
    assert run_values([many])["sms"] > run_values([one])["sms"]
    assert (run_values([one])["subagents"], run_values([many])["subagents"]) == (1, 9)


def test_refusals_are_counted_over_all_subagents():
    """T15: two refused Reads by one of two."""
    values = scenario_values(Play("recht", 5, 5, (usage("Read", "", 1, refused=2), GOOD)))
    assert (values["saft"], values["safa"]) == (2, 1.0)


def test_repeats_are_plays_of_their_own():
    again = replace(A, passed=0)
    found = run_values([A, B, again, B])
    assert (found["rounds_passed"], found["rounds"], found["subagents"]) == (6, 20, 8)
    assert [found[name] for name in FACTORS] == [run_values([A, B])[name] for name in FACTORS]


# --- broken input -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("rounds, passed", [(0, 0), (5, 6), (5, -1), (0, None)])
def test_impossible_rounds_are_refused(rounds, passed):
    with pytest.raises(ValueError, match="recht"):
        Play("recht", rounds, passed)


@pytest.mark.parametrize("change", [{"model_key": "main"}, {"files": -1}, {"refused": -1}, {"media": {"image": -1}}])
def test_an_impossible_subagent_is_refused(change):
    with pytest.raises(ValueError, match="helfer"):
        replace(GOOD, **change)


# --- rows -------------------------------------------------------------------------------------------------------------

ENTRY = {"name": "leser", "model_key": "vlm", "granted": ["Glob", "Read"], "used": ["Read"],
         "paths": ["akten", "bilder"], "files": 3, "touched": ["/arbeit/akten/a.txt", "/arbeit/bilder/b.png"],
         "media": {"image": 1, "audio": 0, "video": 0}, "refused": 1}


def test_a_subagent_survives_its_row():
    found = Usage.from_json(ENTRY)
    assert found.to_json() == ENTRY and Usage.from_json(found.to_json()) == found
    assert list(found.to_json()) == list(ENTRY), "the order of the specification"
    assert Usage.from_json(ENTRY | {"granted": ["Read", "Glob"]}).to_json() == ENTRY, "sorted: the same bytes"


ROW = {"task_id": "recht_satzung", "outcome": "partial",
       "team": {"values": {"maf": 3}, "rounds": [{"id": "r1", "passed": True}, {"id": "r2", "passed": False}],
                "subagents": [ENTRY]}}


def test_a_row_becomes_a_play():
    assert Play.from_row(ROW) == Play("recht_satzung", 2, 1, (Usage.from_json(ENTRY),), 3)
    assert Play.from_row(ROW, 2) == Play.from_row(ROW)


@pytest.mark.parametrize("outcome", ["infra_error", "auth_error", "not_run"])
def test_a_failed_row_becomes_a_failed_play(outcome):
    row = {"task_id": "recht_satzung", "outcome": outcome, "team": None}
    assert Play.from_row(row, 6) == Play("recht_satzung", 6, None)
    assert Play.from_row(ROW | {"outcome": outcome}) == Play("recht_satzung", 2, None), "the row tells its rounds"


def test_a_row_that_does_not_fit_its_scenario_is_refused():
    with pytest.raises(ValueError, match="2 rounds in the row, expected 6"):
        Play.from_row(ROW, 6)
    with pytest.raises(ValueError, match="recht_satzung"):
        Play.from_row({"task_id": "recht_satzung", "outcome": "not_run"})


# --- intervals --------------------------------------------------------------------------------------------------------

MANY = [Play(f"s{n}", 5, n % 6, (GOOD,) * (n % 3) + (POOR,)) for n in range(12)]


def test_the_interval_holds_the_score_and_repeats_itself():
    found = sms_interval(MANY)
    assert found.estimate == pytest.approx(run_values(MANY)["sms"])
    assert 0 <= found.low < found.estimate < found.high <= 1
    assert sms_interval(MANY) == found and sms_interval(MANY, seed=1) != found


def test_the_interval_is_that_of_whole_scenarios_drawn_one_by_one():
    drawing, scores = Random(5), []
    for _ in range(200):
        scores.append(run_values(drawing.choices(MANY, k=len(MANY)))["sms"])
    scores.sort()
    found = sms_interval(MANY, draws=200, seed=5, level=0.9)
    assert (found.low, found.high) == pytest.approx((scores[9] + 0.95 * (scores[10] - scores[9]),
                                                     scores[189] + 0.05 * (scores[190] - scores[189])))


def test_repeats_of_a_scenario_make_the_interval_no_narrower():
    once, thrice = sms_interval(MANY), sms_interval(MANY * 3)
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high)), "the same twelve scenarios, drawn whole"


@pytest.mark.parametrize("plays, why", [
    ([], "nothing was played"),
    ([A], "one scenario cannot be drawn differently"),
    ([A, A], "neither can its repeats"),
    ([replace(B, scenario_id=name) for name in "abcde"], "equal scenarios: limits would claim certainty"),
    ([replace(B, scenario_id=name, passed=0) for name in "ab"], "nothing passed, whatever is drawn"),
])
def test_no_interval_where_all_draws_agree(plays, why):
    assert sms_interval(plays) is None, why


def test_failures_move_the_interval_in_metrics_only():
    lost = [Play(f"f{n}", 5, None) for n in range(4)]
    assert sms_interval(MANY + lost, strict=False) == sms_interval(MANY)
    assert sms_interval(MANY + lost).estimate < sms_interval(MANY).estimate


# --- what always holds ------------------------------------------------------------------------------------------------

SETS = st.frozensets(st.sampled_from(TOOLS))
SUBAGENTS = st.builds(
    Usage, name=st.just("helfer"), model_key=st.sampled_from(["llm", "vlm", "omni"]), granted=SETS, used=SETS,
    files=st.integers(0, 40), touched=st.frozensets(st.sampled_from([f"/arbeit/{n}" for n in range(60)]), max_size=60),
    media=st.fixed_dictionaries({name: st.integers(0, 3) for name in ("image", "audio", "video")}),
    refused=st.integers(0, 5))


@st.composite
def plays(draw) -> Play:
    rounds = draw(st.integers(1, 9))
    passed = draw(st.none() | st.integers(0, rounds))
    return Play(draw(st.sampled_from("abcde")), rounds, passed, tuple(draw(st.lists(SUBAGENTS, max_size=4))),
                draw(st.integers(0, 9)))


RUNS = st.lists(plays(), min_size=1, max_size=8)
SHARES = ("sms", "tcr", *FACTORS)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(RUNS, st.booleans())
def test_all_shares_lie_in_0_to_1_and_sms_never_exceeds_tcr(run, strict):
    found = run_values(run, strict)
    if found["rounds"]:
        assert all(0 <= found[name] <= 1 for name in SHARES) and found["sms"] <= found["tcr"]
    for play in run:
        values = scenario_values(play)
        assert play.failed or (all(0 <= values[name] <= 1 for name in SHARES) and values["sms"] <= values["tcr"])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(RUNS)
def test_nothing_passed_is_an_sms_of_0(run):
    assert run_values([replace(play, passed=0) for play in run])["sms"] == 0


@settings(max_examples=100, deadline=None, derandomize=True)
@given(RUNS)
def test_strict_never_exceeds_answered(run):
    strict, answered = run_values(run), run_values(run, strict=False)
    assert not answered["rounds"] or all(strict[name] <= answered[name] + 1e-12 for name in SHARES)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(plays(), min_size=2, max_size=4), st.lists(SUBAGENTS, min_size=3, max_size=3))
def test_order_changes_no_digit(run, subagents):
    assert len({tuple(run_values(order).values()) for order in permutations(run)}) == 1
    assert len({tuple(scenario_values(Play("a", 2, 1, order)).values()) for order in permutations(subagents)}) == 1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(RUNS, st.booleans())
def test_an_interval_stays_on_the_scale(run, strict):
    found = sms_interval(run, strict, draws=50)
    assert found is None or -1e-12 <= found.low < found.high <= 1 + 1e-12
