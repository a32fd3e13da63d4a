"""The main suite: one request as the prompt module renders it, one verdict as the scorer gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.suites import SUITES, Setup, Transcript, open_suite, single
from lm_eval_task.errors import DataError, InfraError, UsageError
from lm_eval_task.metrics import score_reply
from lm_eval_task.prompt import messages, prompt_fingerprint
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import read_tools

TOOLS = read_tools()
TASK = Task("t", "Wetter in Köln?", (Call("weather", {"slug": "koeln"}),))
CALL = '{"name": "weather", "arguments": {"slug": "koeln"}}'


@pytest.mark.parametrize("mode", ("prompt", "native"))
def test_play_sends_one_request_of_the_mode(mode: str) -> None:
    setup = Setup.of(mode, TOOLS, Sampling(160))
    provider = ScriptedProvider([CALL])
    transcript = single.play(TASK, provider, setup)
    asked = messages(mode, TOOLS, TASK.question)
    assert provider.requests == [(asked, TOOLS.to_json() if mode == "native" else None, Sampling(160))]
    assert transcript == Transcript((*asked, {"role": "assistant", "content": CALL}),
                                    (Answer({"role": "assistant", "content": CALL}, "stop"),))
    assert single.prompt_hash(setup) == prompt_fingerprint(mode, TOOLS)


@pytest.mark.parametrize(("mode", "text", "outcome", "reason"), [
    ("prompt", CALL, "ok", "the JSON that the prompt asks for"),
    ("native", CALL, "ok_recovered", "the same text where native calls were possible"),
    ("prompt", CALL.replace("koeln", "Köln"), "wrong_args", "an umlaut"),
    ("prompt", "Weiß nicht.", "no_call", "a sentence"),
])
def test_score_is_the_scorers_verdict_in_the_mode_of_the_run(mode: str, text: str, outcome: str, reason: str) -> None:
    setup = Setup.of(mode, TOOLS, Sampling(160))
    transcript = single.play(TASK, ScriptedProvider([text]), setup)
    score = single.score(TASK, transcript, setup)
    assert score.outcome == outcome, reason
    assert score == score_reply(TASK, transcript.answers[0].reply, TOOLS, mode)


def test_a_failure_of_the_provider_goes_through() -> None:
    with pytest.raises(InfraError):
        single.play(TASK, ScriptedProvider([InfraError("x")]), Setup.of("prompt", TOOLS, Sampling(160)))


def test_load_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"task_id": "a", "question": "?", "expected": []}\nkaputt\n')
    with pytest.raises(DataError, match=r"t\.jsonl:2: "):
        single.load(path, TOOLS, "core")


def test_every_registered_suite_opens_and_others_are_refused() -> None:
    for name in SUITES:
        suite = open_suite(name)
        assert all(callable(getattr(suite, f)) for f in ("load", "play", "score", "prompt_hash"))
    with pytest.raises(UsageError, match="expected one of single"):
        open_suite("solo")
