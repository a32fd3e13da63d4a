"""What a reply is worth: a table of replies, and the laws that hold for all of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranode_eval.exports.rewards import REWARDS, WEIGHTS, exact, reward_named, shaped
from lm_eval_task.errors import UsageError
from lm_eval_task.metrics import score_reply
from lm_eval_task.records import Call, Reply, Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
KEY = Call("get_city_resource", {"slug": "koeln", "resource": "charging"})
WEATHER = Call("weather", {"slug": "koeln"})
ONE = Task("one", "Wie viele Ladesäulen hat Köln?", (KEY,))
TWO = Task("two", "Wetter in Köln, und die Quellen?", (WEATHER, Call("sources")))
THREE = Task("three", "Wetter in Köln, die Quellen und die Städte?", (WEATHER, Call("sources"), Call("list_cities")))
NONE = Task("none", "Buch mir ein Zimmer.", ())
EITHER = Task("either", "?", (KEY,), ((WEATHER,),))


def called(*calls: Call) -> str:
    return json.dumps([call.to_json() for call in calls])


def wrong_key(slug: str = "koeln", resource: str = "parking") -> Call:
    return Call("get_city_resource", {"slug": slug, "resource": resource})


RIGHT, NEARLY, SILENT, WRONG = (WEIGHTS[name] for name in ("right", "nearly", "silent", "wrong"))
WORTH = [
    (ONE, called(KEY), RIGHT, "the gold"),
    (ONE, called(wrong_key()), NEARLY / 2, "the city is right, the key is not"),
    (ONE, called(wrong_key("bonn", "charging")), NEARLY / 2, "the key is right, the city is not"),
    (ONE, called(wrong_key("bonn")), 0.0, "the right tool alone earns nothing: it can be guessed"),
    (ONE, called(Call("get_city_resource", {"slug": "koeln"})), NEARLY / 2, "one argument of two"),
    (ONE, called(Call("get_city_resource", {**KEY.arguments, "limit": 5})), NEARLY * 2 / 3, "one argument too many"),
    (ONE, called(WEATHER), WRONG, "another tool with the right city"),
    (ONE, called(Call("get_ladesaeulen", {"slug": "koeln"})), WRONG, "a tool that does not exist"),
    (ONE, called(KEY, WEATHER), WRONG, "the gold among others"),
    (ONE, called(KEY, KEY), WRONG, "the gold twice"),
    (ONE, "Das weiß ich nicht.", SILENT, "no call"),
    (ONE, "", SILENT, "an empty reply, which is a failure"),
    (ONE, '{"name": "get_city_resource", "arguments": {"slug": "koe', SILENT, "cut: nothing can be read"),
    (TWO, called(WEATHER, Call("sources")), RIGHT, "both"),
    (TWO, called(Call("sources"), WEATHER), RIGHT, "both, in another order"),
    (TWO, called(WEATHER), NEARLY / 2, "one of two"),
    (TWO, called(Call("pois", {"slug": "koeln", "type": "school"})), WRONG, "neither of two"),
    (TWO, called(WEATHER, WEATHER), WRONG, "one of two, twice"),
    (TWO, called(Call("weather", {"slug": "bonn"}), Call("sources")), NEARLY / 2, "both tools, one of them right"),
    (TWO, called(Call("weather", {"slug": "bonn"})), WRONG, "one missing, the other wrong"),
    (THREE, called(WEATHER, Call("sources")), NEARLY * 2 / 3, "two of three"),
    (THREE, called(WEATHER, Call("get_city", {"slug": "koeln"})), WRONG, "one of three, and one beside"),
    (NONE, "Das kann ich nicht.", RIGHT, "a refusal where none is right"),
    (NONE, called(WEATHER), WRONG, "a call where none is right"),
    (NONE, "", SILENT, "an empty reply is no refusal"),
    (EITHER, called(WEATHER), RIGHT, "an accepted alternative"),
    (EITHER, called(wrong_key()), NEARLY / 2, "near to one of the alternatives"),
]


@pytest.mark.parametrize(("task", "text", "worth", "why"), WORTH, ids=[w[3] for w in WORTH])
def test_what_a_reply_earns(task: Task, text: str, worth: float, why: str) -> None:
    score = score_reply(task, Reply.from_text(text), TOOLS)
    assert shaped(task, score, TOOLS) == pytest.approx(worth), why
    assert exact(task, score, TOOLS) == float(worth == RIGHT)


def test_a_near_call_beside_one_that_cannot_be_read_is_not_near() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [
        {"id": text, "type": "function", "function": {"name": "get_city_resource", "arguments": text}}
        for text in (json.dumps(dict(wrong_key().arguments)), '{"slug": "koe')]}
    score = score_reply(ONE, Reply(message, "tool_calls"), TOOLS, "native")
    assert (score.outcome, score.tool_match, len(score.calls)) == ("malformed_call", True, 1)
    assert shaped(ONE, score, TOOLS) == WRONG


def test_a_right_call_beats_a_near_one_and_that_beats_silence_and_that_beats_a_wrong_one() -> None:
    assert RIGHT > NEARLY > SILENT > WRONG


VALUES = st.sampled_from(["koeln", "bonn", "charging", "parking", "weather", 5, None, ["koeln"]])
CALLS = st.builds(Call, st.sampled_from([*TOOLS.by_name, "x"]),
                  st.dictionaries(st.sampled_from(["slug", "resource", "cities", "type", "x"]), VALUES, max_size=3))


@settings(max_examples=300, deadline=None)
@given(st.lists(CALLS, max_size=4), st.sampled_from([ONE, TWO, THREE, NONE, EITHER]))
def test_partial_credit_is_small_and_never_paid_where_no_call_is_right(calls: list[Call], task: Task) -> None:
    score = score_reply(task, Reply.from_text(called(*calls) if calls else "nein"), TOOLS)
    earned = shaped(task, score, TOOLS)
    assert (earned == RIGHT) == bool(score.call_match)
    assert score.call_match or WRONG <= earned < NEARLY
    assert task.expected or not calls or earned <= 0


def test_rewards_are_found_by_name_and_an_unknown_one_is_told() -> None:
    assert {name: reward_named(name) for name in REWARDS} == {"exact": exact, "shaped": shaped}
    with pytest.raises(UsageError, match="reward 'sparse' does not exist; expected one of exact, shaped"):
        reward_named("sparse")
