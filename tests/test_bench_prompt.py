"""What a model is told on the test bench, as golden files, and what the text must not say."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from lm_eval_task.bench_prompt import RULES, SYSTEM, messages, prompt_fingerprint, prompt_prefix, prompt_text
from lm_eval_task.cases import offered, read_cases
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import MODES
from lm_eval_task.prompt import prompt_fingerprint as main_fingerprint
from lm_eval_task.tools import Toolset

CASES = read_cases()
QUESTION = "Sag den Termin T-4471 ab."


def test_golden_prompt(golden: Callable[[str, str], None]) -> None:
    golden("bench_prompt.txt", prompt_text(CASES.tools, QUESTION, CASES.system) + "\n")
    golden("bench_prompt_native.json", json.dumps(messages("native", CASES.tools, QUESTION, CASES.system),
                                                  ensure_ascii=False, indent=1) + "\n")


def test_prompted_mode_is_one_user_message_that_ends_with_the_question() -> None:
    message, = messages("prompt", CASES.tools, QUESTION, CASES.system)
    assert message == {"role": "user", "content": prompt_text(CASES.tools, QUESTION, CASES.system)}
    assert message["content"] == prompt_prefix(CASES.tools, CASES.system) + QUESTION
    assert message["content"].splitlines()[-1] == QUESTION


def test_native_mode_is_the_system_text_and_the_question() -> None:
    assert messages("native", CASES.tools, QUESTION, CASES.system) == [
        {"role": "system", "content": CASES.system}, {"role": "user", "content": QUESTION}]


def test_a_case_sees_the_tools_that_it_is_offered() -> None:
    task = CASES.tasks[0]
    text = prompt_text(offered(task, CASES.tools), task.question, CASES.system)
    shown = [json.loads(line)["name"] for line in text.splitlines() if line.startswith('{"name":"')]
    assert shown == task.extra["nur"]


@pytest.mark.parametrize("mode", MODES)
def test_the_hash_is_its_own_and_knows_system_and_tools(mode: str) -> None:
    fewer = Toolset.of(CASES.tools.tools[:3])
    hashes = [prompt_fingerprint(mode, CASES.tools, CASES.system), prompt_fingerprint(mode, CASES.tools, "anders"),
              prompt_fingerprint(mode, CASES.tools), main_fingerprint(mode, CASES.tools)]
    if mode == "prompt":
        hashes.append(prompt_fingerprint(mode, fewer, CASES.system))
    assert len(set(hashes)) == len(hashes)


def test_several_calls_go_into_one_reply_and_no_word_is_lost_on_missing_values() -> None:
    for text in (SYSTEM, CASES.system):
        assert "mehrere Aufrufe nötig" in text and "Passt kein Werkzeug" in text
    assert "JSON-Liste" in RULES and "ohne JSON" in RULES
    for text in (SYSTEM, CASES.system, RULES):
        assert not any(word in text.lower() for word in ("fehl", "frag", "unklar", "rate nicht", "erfinde"))


def test_an_unknown_mode_is_said() -> None:
    with pytest.raises(UsageError, match="mode 'chat' does not exist"):
        messages("chat", CASES.tools, QUESTION)
