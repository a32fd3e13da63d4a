"""The programs of the suite chain on every shipped task: oracles solve all, the others lose what they must."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import run_eval
from infranode_eval.chain.course import Course
from infranode_eval.chain.inbox import results_of
from infranode_eval.chain.policies import PROGRAMS
from infranode_eval.chain.proofs import MUST, Scored, solved, violations
from infranode_eval.chain.scoring import score_play
from infranode_eval.chain.tasks import CATEGORIES, ChainTask, read_chain_tasks, shipped_path
from infranode_eval.chain.variants import answered, answers
from infranode_eval.chain.weak import call_behind
from infranode_eval.providers.protocol import ProviderOptions, Sampling
from infranode_eval.suites import Transcript, chain
from infranode_eval.suites.chain import BASELINE
from lm_eval_task.errors import UsageError
from lm_eval_task.records import Call
from lm_eval_task.tools import read_tools
from tests.chain.plays import check_protocol, setup
from tests.chain.sample_rows import NAMES, task

TOOLS = read_tools()
SHIPPED = {"s1": "full", "s2": "reseed"}
MODES = ("native", "prompt")
WEAK = [name for name, must in MUST.items() if must.core is not None]
ORACLES = ("planner", "direct", "looker")
if not shipped_path().is_file():
    pytest.skip("the tasks are not built yet", allow_module_level=True)


@cache
def tasks(world: str) -> tuple[ChainTask, ...]:
    return read_chain_tasks(None, TOOLS, SHIPPED[world])


@cache
def transcript(name: str, mode: str, of: str, world: str) -> Transcript:
    one = next(one for one in tasks(world) if one.task_id == of)
    return chain.play(one, PROGRAMS[name](ProviderOptions(name, TOOLS)).for_task(one), setup(mode))


@cache
def scored(name: str, mode: str, world: str) -> Scored:
    scene = setup(mode)
    return [(one, chain.score(one, transcript(name, mode, one.task_id, world), scene)) for one in tasks(world)]


# --- what they solve --------------------------------------------------------------------------------------------------

def test_every_program_has_its_proof() -> None:
    assert PROGRAMS.keys() == MUST.keys()
    assert BASELINE in PROGRAMS and MUST[BASELINE].core is not None, "without a name no oracle is asked"


@pytest.mark.parametrize("world", SHIPPED)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_solves_what_it_must_and_no_more(name: str, mode: str, world: str) -> None:
    assert list(violations(name, scored(name, mode, world))) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ORACLES)
def test_an_oracle_is_accused_of_nothing(name: str, mode: str) -> None:
    for one, score in scored(name, mode, "s1"):
        found = score.details
        assert (score.outcome, found["stop_reason"], score.parsed) == ("ok", "answered", True), one.task_id
        assert not found["invented_value"] and found["near_miss"] is None and not found["followed_injection"]
        assert not found["honest_null"] and not found["broke_must_not"], one.task_id
        assert (found["poisoned"] is None) is (one.expectation["injection"] is None), one.task_id
        if name == "planner":
            assert found["path_match"] and found["step_recall"] == 1.0, one.task_id
            assert (found["calls_made"], found["extra_reads"]) == (found["needed"], 0), one.task_id
            assert found["poisoned"] is not False, f"the order of {one.task_id} is delivered"
        assert found["key_from_memory"] in (None, name == "direct"), one.task_id


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "outcomes", "why"), [
    ("never_calls", {"no_evidence"}, "the right answer without the data"),
    ("prose_only", {"no_answer"}, "the right answer without an object"),
    ("null_always", {"wrong_answer", "no_evidence"}, "a value, another reason, or the data were not asked for"),
    ("obeys_injection", {"followed_injection"}, "what was ordered"),
    ("never_stops", {"went_on"}, "all right but the end"),
    ("eager", {"went_on"}, "all right but the end"),
])
def test_what_is_lost_is_lost_for_the_right_reason(name: str, mode: str, outcomes: set[str], why: str) -> None:
    found = {score.outcome for _, score in scored(name, mode, "s1") if not score.details["task_success"]}
    assert found <= outcomes and found, why


@pytest.mark.parametrize("mode", MODES)
def test_a_right_answer_in_a_sentence_is_seen_and_not_credited(mode: str) -> None:
    seen = {one.task_id for one, score in scored("prose_only", mode, "s1") if "answer_in_prose" in score.labels}
    assert seen == {one.task_id for one in tasks("s1") if one.expectation["answer"]["type"] != "none"}


def test_an_answer_without_any_result_is_invented() -> None:
    for one, score in scored("never_calls", "native", "s1"):
        assert score.details["invented_value"] is (one.expectation["answer"]["value"] is not None)


def test_the_attack_shows_as_the_difference_to_the_twins() -> None:
    rows = [(one.set, one.category, score.details["task_success"]) for one, score in
            scored("obeys_injection", "native", "s1")]
    assert [s for kind, category, s in rows if (kind, category) == ("core", "injection")] == [False] * 15
    assert {s for kind, category, s in rows if (kind, category) == ("control", "injection")} == {True}


# --- cuts and changed answers -----------------------------------------------------------------------------------------

EVERY = [(world, one.task_id) for world in SHIPPED for one in tasks(world)]


@pytest.mark.parametrize(("world", "of"), EVERY, ids=[of for _, of in EVERY])
def test_answers_near_the_gold_lose_and_its_spellings_win(world: str, of: str) -> None:
    one = next(one for one in tasks(world) if one.task_id == of)
    whole = transcript("planner", "native", of, world)
    kinds = set()
    for variant in answers(one):
        score = score_play(one, answered(whole.course, variant.text), TOOLS, "native")
        assert score.details["task_success"] is variant.right, (variant, score.why)
        kinds.add(variant.right)
        if variant.kind.startswith("near miss: "):
            assert score.details["near_miss"] is not None, variant
    assert kinds == {True, False}


@pytest.mark.parametrize(("world", "of"), EVERY, ids=[of for _, of in EVERY])
def test_a_play_that_is_cut_before_its_data_has_no_evidence(world: str, of: str) -> None:
    one = next(one for one in tasks(world) if one.task_id == of)
    for mode in MODES:
        whole = transcript("planner", mode, of, world)
        right = whole.answers[-1].message["content"]
        evidence_turn = score_play(one, whole.course, TOOLS, mode).details["evidence_turn"]
        assert evidence_turn >= 1
        for turns in range(evidence_turn):
            score = score_play(one, answered(whole.course, right, turns), TOOLS, mode)
            assert (score.outcome, score.details["evidence"]) == ("no_evidence", False)
        assert score_play(one, answered(whole.course, right, evidence_turn), TOOLS, mode).outcome == "ok"


@pytest.mark.parametrize(("world", "of"), EVERY, ids=[of for _, of in EVERY])
def test_each_call_of_the_direct_way_is_needed(world: str, of: str) -> None:
    one = next(one for one in tasks(world) if one.task_id == of)
    whole = transcript("direct", "native", of, world).course
    first, *rest = whole.turns
    for number in range(len(first.executed) if len(whole.turns) == 2 else 0):
        kept = (*first.executed[:number], *first.executed[number + 1:])
        score = score_play(one, replace(whole, turns=(replace(first, executed=kept), *rest)), TOOLS, "native")
        assert score.outcome == "no_evidence", f"without {first.executed[number].call}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["planner", "looker", "never_stops", "random_walker", "obeys_injection"])
def test_a_stored_play_has_the_same_verdict(name: str, mode: str) -> None:
    for one, score in scored(name, mode, "s1"):
        course = transcript(name, mode, one.task_id, "s1").course
        stored, bodies = (json.loads(json.dumps(value, ensure_ascii=False)) for value in (
            course.to_json(), course.bodies()))
        assert score_play(one, Course.from_json(stored, bodies), TOOLS, mode) == score, one.task_id


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_sent_is_what_an_api_takes(name: str, mode: str) -> None:
    for one in tasks("s1")[::7]:
        check_protocol(transcript(name, mode, one.task_id, "s1").messages[:-1])


# --- the programs themselves ------------------------------------------------------------------------------------------

def test_a_program_reads_its_results_from_the_messages() -> None:
    """An answer that somebody changed on the way is what it computes from."""
    one = task("stop")
    program = PROGRAMS["planner"](ProviderOptions("planner", TOOLS)).for_task(one)
    body = {"data": {"payload": {"values": {"ankuenfte": 12}}}}
    asked = [{"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": []}]
    native = [*asked, {"role": "tool", "tool_call_id": "a", "name": "x", "content": json.dumps(body)}]
    prompted = [*asked, {"role": "user", "content": f"Ergebnis von x(a=1):\n{json.dumps(body)}"}]
    for messages in (native, prompted):
        reply = program.ask(messages, [], Sampling(9)).message
        assert json.loads(reply["content"])["antwort"] == 12


@pytest.mark.parametrize(("messages", "results", "why"), [
    ([{"role": "user", "content": "Ergebnis von x:\n{}"}], ((({}),),), "a result, even if it is the first message"),
    ([{"role": "user", "content": "Frage"}], (), "no result"),
    ([{"role": "assistant", "content": "a"}, {"role": "user", "content": "Ergebnis von x:\n{\"a\":1}\n"
      "Ergebnis von y:\n[2]"}], (({"a": 1}, [2]),), "two in a message"),
    ([{"role": "assistant", "content": "a"}, {"role": "tool", "content": "{"}], ((None,),), "one that was cut"),
    ([{"role": "assistant", "content": "a"}, {"role": "tool", "content": "1"}, {"role": "assistant", "content": "b"},
      {"role": "tool", "content": "2"}, {"role": "tool", "content": "3"}], ((1,), (2, 3)), "turn by turn"),
    ([{"role": "user", "content": '{"error": {}}'}], (), "a refusal without a header"),
])
def test_results_are_read_from_messages(messages: list[dict[str, str]], results: object, why: str) -> None:
    assert results_of(messages) == results, why


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", ORACLES)
def test_the_samples_are_tasks_like_any_other(program: str, mode: str, name: str) -> None:
    one, scene = task(name), setup(mode)
    play = chain.play(one, PROGRAMS[program](ProviderOptions(program, TOOLS)).for_task(one), scene)
    assert chain.score(one, play, scene).outcome == "ok"


@pytest.mark.parametrize(("request_", "call"), [
    ("/cities/kiel/webcams", Call("get_city_resource", {"slug": "kiel", "resource": "webcams"})),
    ("/cities/bonn/pois?type=hospital", Call("pois", {"slug": "bonn", "type": "hospital"})),
    ("/stations/8000096/arrivals", Call("station_board_arrivals", {"eva": "8000096"})),
    ("/live/bonn/transit/departures?stop_id=de:1:2", Call("transit_departures", {"slug": "bonn", "stop_id": "de:1:2"})),
    ("/compare?resource=air&cities=bonn,ulm", Call("compare", {"resource": "air", "cities": "bonn,ulm"})),
    ("/cities?limit=200", Call("list_cities")),
    ("/sources?limit=200", Call("sources")),
])
def test_a_call_behind_a_request(request_: str, call: Call) -> None:
    assert call_behind(request_) == call


def test_every_order_can_be_obeyed() -> None:
    for one in tasks("s1"):
        wanted = (one.expectation["injection"] or {}).get("call")
        assert wanted is None or call_behind(wanted["req"]).name in TOOLS, one.task_id


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_is_there(category: str) -> None:
    assert sum(one.category == category for one in tasks("s1") if one.set == "core") >= 15


def test_a_program_without_a_task_says_so() -> None:
    with pytest.raises(UsageError, match="answers tasks, not questions"):
        PROGRAMS["planner"](ProviderOptions("planner", TOOLS)).ask([], None, Sampling(9))


# --- proofs that can fail ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "of", "said", "why"), [
    ("never_calls", "planner", "solves 150 of 150 tasks of the set core, at most 0% are allowed", "too good"),
    ("planner", "never_calls", "loses ", "too bad"),
    ("eager", "planner", "solves stop-", "solves what it must lose"),
    ("never_stops", "eager", "ends ", "in another way"),
    ("obeys_injection", "eager", "loses stop-", "loses another category"),
    ("prose_only", "never_calls", "as answered, must end as no_answer", "the end"),
])
def test_a_program_that_does_something_else_is_noticed(name: str, of: str, said: str, why: str) -> None:
    assert any(said in found for found in violations(name, scored(of, "native", "s1"))), why


# --- as a command -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", MODES)
def test_the_command_gives_the_same_bytes_twice(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--suite", "chain", "--model", "planner", "--mode", mode, "--out", str(tmp_path / "p.json")]
    written = []
    for _ in range(2):
        assert run_eval.main(flags) == 0
        written.append((tmp_path / "p.json").read_bytes())
    assert written[0] == written[1]
    result = json.loads(written[0])
    assert result["headline"] == {"task_success": 1.0, "ability": 1.0}
    assert (result["model"], result["backend"], result["metrics"]["control_success"]) == ("planner", "baseline", 1.0)
    assert len(solved(scored("planner", mode, "s1"))) == result["counts"]["n"]
    assert "100.0 %" in capsys.readouterr().out


def test_without_a_name_the_default_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--suite", "chain", "--limit", "2", "--out", str(tmp_path / "r.json")]) == 0
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["model"] == BASELINE


@pytest.mark.parametrize("name", ["bm25", "oracle", "nobody"])
def test_an_unknown_program_is_told_which_there_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--suite", "chain", "--model", name]) == 2
    assert f"suite chain has no program {name!r}; expected one of planner, direct, looker" in capsys.readouterr().err


def test_the_help_names_every_program() -> None:
    text = run_eval.parser().format_help()
    assert all(name in text for name in PROGRAMS)


def test_a_program_answers_no_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--suite", "chain", "--model", "planner", "--ask", "Wie warm ist es in Bonn?"]) == 2
    assert "planner answers tasks, not questions" in capsys.readouterr().err
