"""One conversation with a model: what is sent, what is kept, which attachments stay, whose a stored answer is."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from infranode_eval.providers.media import Media, media_in
from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.team.agent import Attachment, Result
from infranode_eval.team.dialogue import Dialogue
from lm_eval_task.errors import ContextOverflowError, InfraError
from tests.team.plays import Voice, call, calls

SYSTEM = {"role": "system", "content": "Du liest."}


def dialogue(voice: Any, tools: tuple[str, ...] = ("Read",), **caps: int) -> Dialogue:
    return Dialogue(voice, tools, Sampling(10), [SYSTEM], caps, "s1")


def picture(name: str, modality: str = "image") -> Result:
    mime = {"image": "image/png", "audio": "audio/wav"}[modality]
    return Result(f"{name} folgt", attachment=Attachment(f"/arbeit/{name}", mime, modality, name.encode()))


def reads(count: int) -> dict[str, Any]:
    return calls(*[call("Read", file_path="/arbeit/x")] * count)


def test_what_is_said_is_sent_and_the_reply_belongs_to_it() -> None:
    voice = Voice(["gut", "besser"])
    talk = dialogue(voice)
    talk.tell("eins")
    assert talk.ask().turn.text == "gut"
    talk.tell("zwei")
    talk.ask()
    assert [m["content"] for m in voice.requests[1]] == ["Du liest.", "eins", "gut", "zwei"]
    assert list(talk.messages) == talk.said and talk.said[-1]["content"] == "besser"


@pytest.mark.parametrize("tools, offered", [(("Glob", "Read"), ["Read", "Glob"]), ((), None)])
def test_its_tools_are_offered_in_one_order_or_none_at_all(tools: tuple, offered: list | None) -> None:
    voice = Voice(["gut"])
    talk = dialogue(voice, tools)
    talk.tell("eins")
    talk.ask()
    assert (voice.tools[0] and [tool["function"]["name"] for tool in voice.tools[0]]) == offered


def test_attachments_follow_all_results_in_one_message_each_behind_its_name() -> None:
    talk = dialogue(Voice([reads(3), "gesehen"]), image=4)
    talk.tell("los")
    talk.answer(talk.ask().turn, [picture("a"), Result("Text"), picture("b")])
    assert [m["role"] for m in talk.messages][-4:] == ["tool", "tool", "tool", "user"]
    parts = talk.messages[-1]["content"]
    assert [part["type"] for part in parts] == ["text", "media", "text", "media"] and "/arbeit/a" in parts[0]["text"]
    talk.ask()
    assert talk.take_perceived() == {"image": 2} and talk.take_perceived() == {}


@pytest.mark.parametrize("cap, shown", [(1, ["c"]), (2, ["b", "c"]), (3, ["a", "b", "c"])])
def test_the_newest_stay_in_what_is_sent_and_all_in_what_is_kept(cap: int, shown: list) -> None:
    """T6"""
    talk = dialogue(Voice([reads(2), reads(1), "gesehen"]), image=cap)
    talk.tell("los")
    talk.answer(talk.ask().turn, [picture("a"), picture("b")])
    talk.answer(talk.ask().turn, [picture("c")])
    assert [one["path"][-1] for m in talk.messages for one in media_in(m)] == shown
    assert [one["path"][-1] for m in talk.said for one in media_in(m)] == ["a", "b", "c"]
    text = str([part for m in talk.messages if isinstance(m["content"], list) for part in m["content"]
                if not isinstance(part, Media)])
    assert text.count("nicht mehr gezeigt") == 3 - cap


def test_modalities_have_caps_of_their_own() -> None:
    talk = dialogue(Voice([reads(4), "x"]), image=1, audio=1)
    talk.tell("los")
    talk.answer(talk.ask().turn, [picture("a"), picture("b", "audio"), picture("c"), picture("d", "audio")])
    assert [one["path"][-1] for m in talk.messages for one in media_in(m)] == ["c", "d"]
    talk.ask()
    assert talk.take_perceived() == {"image": 1, "audio": 1}, "what was dropped before was never perceived"


@pytest.mark.parametrize("error", [InfraError("weg"), ContextOverflowError("zu lang")])
def test_a_failure_leaves_the_conversation_as_it_was(error: Exception) -> None:
    talk = dialogue(Voice([error, "gut"]))
    talk.tell("los")
    with pytest.raises(type(error)):
        talk.ask()
    assert [m["role"] for m in talk.messages] == ["system", "user"]
    assert talk.ask().turn.text == "gut"


class Told(NamedTuple):
    key: str
    answer: Answer


class Storing:
    """A provider that tells its keys, and keeps for whom it was asked."""

    deterministic, setup, stopped = False, None, False

    def __init__(self) -> None:
        self.sessions: list[str] = []

    def asked(self, messages: Any, tools: Any, sampling: Sampling, session: str = "") -> Told:
        self.sessions.append(session)
        return Told("k1", Answer({"role": "assistant", "content": "gut"}, "stop"))

    def settle(self) -> None:
        pass


def test_an_answer_is_stored_for_its_session_under_its_key() -> None:
    voice = Storing()
    talk = dialogue(voice)
    talk.tell("los")
    heard = talk.ask()
    assert (heard.key, heard.turn.text, voice.sessions) == ("k1", "gut", ["s1"])


def test_the_keys_of_two_replies_never_meet() -> None:
    talk = dialogue(Voice([calls(call("Read", file_path="/a")), calls(call("Read", file_path="/b")), "x"]))
    talk.tell("los")
    for _ in range(2):
        talk.answer(talk.ask().turn, [Result("gut")])
    ids = [entry["id"] for m in talk.messages for entry in m.get("tool_calls", ())]
    assert len(ids) == len(set(ids)) == 2
