"""The suites as tasks of inspect_ai: the same replies get the same rows and numbers as in a run of our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.fold import row_of
from infranode_eval.providers.protocol import Answer
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.runner import Limits, Played, Runner
from infranode_eval.suites import Setup, Suite, open_suite
from lm_eval_task.records import Call, Task
from tests.needs import need
from tests.stub_endpoint import React, StubEndpoint, completion

ROOT = Path(__file__).resolve().parents[1]
BRIDGE = "infranode_eval/inspect_bridge.py"
OF_THE_REQUEST = frozenset(("latency_s", "usage_raw", "transcript", "keys", "finish_reason_raw"))


@dataclass(frozen=True)
class Line:
    """One reply, as our endpoints and as inspect's models give it. calls: (id, name, arguments), None: unreadable."""

    text: str = ""
    calls: tuple[tuple[str, str, Any], ...] = ()
    thought: str = ""
    finish: str = "stop"

    def answer(self) -> Answer:
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.thought:
            message["reasoning_content"] = self.thought
        if self.calls:
            message["tool_calls"] = [{"id": i, "type": "function", "function": {
                "name": name, "arguments": "unreadable" if a is None else json.dumps(a, ensure_ascii=False)}}
                for i, name, a in self.calls]
        return Answer(message, self.finish, {"input_tokens": 12, "output_tokens": 5}, 0.1, "mockllm/model")

    def output(self) -> Any:
        from inspect_ai.model import ContentReasoning, ContentText, ModelOutput, ModelUsage
        from inspect_ai.tool import ToolCall

        thoughts = [ContentReasoning(reasoning=self.thought, signature="signed")] if self.thought else []
        content = [*thoughts, ContentText(text=self.text)] if thoughts else self.text
        stop = {"length": "max_tokens"}.get(self.finish, self.finish)
        made = ModelOutput.from_content("mockllm/model", content, stop)
        if self.calls:
            made.choices[0].message.tool_calls = [
                ToolCall(i, name, a or {}, None if a is not None else "it is no JSON") for i, name, a in self.calls]
        made.usage = ModelUsage(input_tokens=12, output_tokens=5, total_tokens=17)  # else inspect loads a tokenizer
        return made


Script = Callable[[str, int], Line]     # (question, number of replies before) → reply


def tasks_of(name: str, mode: str) -> tuple[Suite, tuple[Task, ...], Setup]:
    """Of the shipped tasks every kind, and few of each."""
    from infranode_eval.inspection.playing import ready

    this = ready(name, open_suite(name).SETS[0], mode)
    every = tuple(this.tasks.values())
    step = max(1, len(every) // 28)
    return this.suite, every[::step], this.setup


def question_in(text: str, tasks: Sequence[Task]) -> str:
    return max((task.question for task in tasks if text.endswith(task.question)), key=len)


def ours(name: str, mode: str, script: Script, repeats: int = 1) -> list[Played]:
    suite, tasks, setup = tasks_of(name, mode)

    def answer(messages: Sequence[Mapping[str, Any]]) -> Answer:
        first = next(m["content"] for m in messages if m["role"] == "user")
        return script(question_in(first, tasks), sum(m["role"] == "assistant" for m in messages)).answer()

    return Runner(suite, setup, ScriptedProvider(answer), Limits(1, retries=0)).run(tasks, repeats)


def evaluated(name: str, mode: str, reply: Callable[..., Any], tmp_path: Path, **more: Any) -> Any:
    """The log of inspect's own evaluation. reply: (question, replies before, what the model was handed) → output."""
    from inspect_ai import eval as evaluate
    from inspect_ai.model import get_model

    from infranode_eval import inspect_bridge

    suite, tasks, _ = tasks_of(name, mode)

    def answer(said: list[Any], tools: list[Any], choice: Any, config: Any) -> Any:
        first = next(m.text for m in said if m.role == "user")
        return reply(question_in(first, tasks), sum(m.role == "assistant" for m in said), (said, tools, choice, config))

    which = suite.SETS[0]
    log, = evaluate(getattr(inspect_bridge, f"infranode_{name}")(set=which, mode=mode),
                    model=get_model("mockllm/model", custom_outputs=answer), log_dir=str(tmp_path), display="none",
                    sample_id=[task.task_id for task in tasks], **more)
    assert log.status == "success", log.error
    return log


def script_for(name: str, mode: str) -> Script:
    """Right ones, wrong ones, cut ones, unreadable ones and endless ones, by the place of the task."""
    _, tasks, _ = tasks_of(name, mode)
    numbers = {task.question: number for number, task in enumerate(tasks)}
    by_question = {task.question: task for task in tasks}

    def called(calls: Sequence[Call], text: str = "") -> Line:
        if mode == "native":
            return Line(text, tuple(("same", call.name, dict(call.arguments)) for call in calls), "Ich denke.",
                        "tool_calls")
        return Line(text + json.dumps([call.to_json() for call in calls], ensure_ascii=False))

    def line(question: str, before: int) -> Line:
        task, kind = by_question[question], numbers[question] % 7
        expect = task.extra.get("expect") or {"answer": {"value": None}}
        final = json.dumps({"antwort": expect["answer"]["value"], "einheit": expect["answer"].get("unit")})
        if kind == 6 and before < 20:       # never stops
            return called([Call("weather", {"slug": "bonn"})])
        if kind == 5:
            return Line("Ich überlege noch", finish="length")
        if kind == 4:
            return Line("Das weiß ich nicht.") if before == 0 else Line(f"Also: {final}")
        if kind == 3 and before == 0:       # one can be read, the other cannot
            broken = (("same", "weather", {"slug": "ulm"}), ("same", "compare", None))
            return Line("", broken, finish="tool_calls") if mode == "native" else Line('{"name": "weather", "arg')
        if kind in (1, 2) and before == 0:
            return called([Call("wetter", {"stadt": "Köln"})] if kind == 1 else [*task.expected, *task.expected])
        if task.expected and before == kind % 3:
            return called(task.expected, "" if kind else "\n")
        return Line(final, thought="Fertig." if kind else "")

    return line


@pytest.mark.parametrize("mode", ["prompt", "native"])
@pytest.mark.parametrize("name", ["single", "bench", "chain"])
def test_inspect_gives_the_rows_and_numbers_of_a_run(name: str, mode: str, tmp_path: Path) -> None:
    need("inspect_ai")
    script = script_for(name, mode)
    log = evaluated(name, mode, lambda question, before, handed: script(question, before).output(), tmp_path, epochs=2)
    played = ours(name, mode, script, 2)
    rows = {(one.task.task_id, one.repeat): row_of(one, deterministic=False) for one in played}
    samples = {(sample.id, sample.epoch): sample for sample in log.samples}
    assert samples.keys() == rows.keys()
    number = "task_success" if name == "chain" else "call_match"
    for one in played:
        key = one.task.task_id, one.repeat
        score, row = samples[key].scores[number], json.loads(json.dumps(rows[key]))
        theirs = {k: v for k, v in score.metadata.items() if k not in OF_THE_REQUEST}
        assert theirs == {k: v for k, v in row.items() if k not in OF_THE_REQUEST}
        assert (score.value, score.explanation) == (float(row[number]), row["why"])
        told = [(m.role, m.text, getattr(m, "tool_call_id", None)) for m in samples[key].messages]
        assert told == [(m["role"], m["content"] or "", m.get("tool_call_id")) for m in one.transcript.messages]
    assert len({row["outcome"] for row in rows.values()}) >= 4, "the script is to meet many verdicts"
    (spread, numbers), suite = log.results.scores, open_suite(name)
    expected = suite.aggregate([(one.task, one.score) for one in played])
    found = {key: metric.value for key, metric in numbers.metrics.items()}
    assert found == pytest.approx({**{k: v for k, v in expected.items() if v is not None}, "failed": 0})
    assert spread.metrics["mean"].value == pytest.approx(
        sum(bool(row[number]) for row in rows.values()) / len(rows))
    assert spread.metrics.keys() == {"mean", "stderr"}


def test_what_is_asked_is_what_the_suite_asks(tmp_path: Path) -> None:
    """Tools, budget and temperature; what signs a thought goes back; no call is allowed in the last request."""
    need("inspect_ai")
    requests: list[Any] = []

    def reply(question: str, before: int, handed: Any) -> Any:
        requests.append((before, *handed))
        calls = (("same", "weather", {"slug": "ulm"}), ("same", "we ather", {}))
        return Line("", calls, "Denken.", "tool_calls").output() if before < 2 else Line("Nein.").output()

    evaluated("chain", "native", reply, tmp_path, limit=None, max_samples=1)
    first, second, third, last = requests[:4]
    assert (first[4].max_tokens, first[4].temperature, first[4].parallel_tool_calls) == (1024, 0, True)
    setup = tasks_of("chain", "native")[2]
    assert [tool.name for tool in first[2]] == [tool.name for tool in setup.tools.tools]
    assert first[2][2].parameters.model_dump(exclude_none=True)["properties"].keys() == \
        setup.tools.tools[2].properties.keys()
    back = [message for message in third[1] if message.role == "assistant"]
    thoughts = [part for message in back for part in message.content if part.type == "reasoning"]
    assert [thought.signature for thought in thoughts] == ["signed", "signed"]
    ids = [call.id for message in back for call in message.tool_calls]
    assert len(set(ids)) == 4 and ids == [m.tool_call_id for m in third[1] if m.role == "tool"]
    assert {call.function for message in back for call in message.tool_calls} == {"weather", "we_ather"}
    assert (first[3], last[3]) == ("auto", "none") and last[1][-1].text.startswith("Es folgen keine Werkzeugaufrufe")


def test_the_command_may_set_another_budget(tmp_path: Path) -> None:
    need("inspect_ai")
    budgets = set()

    def reply(question: str, before: int, handed: Any) -> Any:
        budgets.add((handed[3].max_tokens, handed[3].temperature))
        return Line("Hm.").output()

    evaluated("single", "prompt", reply, tmp_path, max_tokens=77, temperature=0.5)
    assert budgets == {(77, 0.5)}


class Refused(Exception):
    """As vendors' packages raise it."""

    def __init__(self, status_code: int, text: str) -> None:
        super().__init__(text)
        self.status_code = status_code


def written_by_the_api(stop: str, text: str = "the API's own words") -> Any:
    from inspect_ai.model import ModelOutput, ModelUsage

    made = ModelOutput.from_content("mockllm/model", text, stop)
    made.usage = ModelUsage(input_tokens=9, output_tokens=0, total_tokens=9)
    return made


@pytest.mark.parametrize(("reply", "outcome", "sub", "why"), [
    (lambda: written_by_the_api("model_length"), "context_overflow", None, "the prompt was too long"),
    (lambda: Line("Es ist", finish="model_length").output(), "truncated", None, "the window ended a reply"),
    (lambda: written_by_the_api("content_filter"), "infra_error", "content_filter", "the prompt was blocked"),
    (lambda: Line("", finish="content_filter").output(), "infra_error", "content_filter", "nothing was left of it"),
    (lambda: Line("I seem to have had trouble calling a function and replied with x.", finish="unknown").output(),
     "malformed_call", None, "inspect's words for a call that Gemini broke"),
    (lambda: Line("").output(), "empty_reply", None, "blank twice"),
    (Refused(401, "wrong key"), "auth_error", None, "a status says what it was"),
    (Refused(503, "busy"), "infra_error", None, "the endpoint failed"),
    (Refused(400, "maximum context length is 8192"), "context_overflow", None, "a refusal for its length"),
    (Refused(404, "no such model"), "infra_error", None, "refused for good"),
    (RuntimeError("it broke"), "infra_error", None, "without a status: the way to the model"),
])
def test_what_goes_wrong_is_told_and_ends_nothing(reply: Any, outcome: str, sub: str | None, why: str,
                                                  tmp_path: Path) -> None:
    need("inspect_ai")
    failing = list(tasks_of("single", "native")[1])[:2]

    def answer(question: str, before: int, handed: Any) -> Any:
        if question not in (failing[0].question, failing[1].question):
            return Line("Gut.").output()
        if isinstance(reply, Exception):
            raise reply
        return reply()

    log = evaluated("single", "native", answer, tmp_path)
    found = {sample.id: sample.scores["call_match"] for sample in log.samples}
    for task in failing:
        score = found[task.task_id]
        assert (score.metadata["outcome"], score.metadata["sub"], score.value) == (outcome, sub, 0.0), why
    failed = outcome not in ("truncated", "malformed_call")
    assert log.results.scores[1].metrics["failed"].value == (2 if failed else 0)


def test_a_limit_of_inspects_ends_the_sample_as_it_does_elsewhere(tmp_path: Path) -> None:
    need("inspect_ai")

    def reply(question: str, before: int, handed: Any) -> Any:
        return Line("", (("c", "weather", {"slug": "ulm"}),), finish="tool_calls").output()

    log = evaluated("chain", "native", reply, tmp_path, message_limit=5)
    for sample in log.samples:
        score = sample.scores["task_success"]
        assert (sample.limit.type, score.value, score.metadata["outcome"]) == ("message", 0.0, "infra_error")
        assert [message.role for message in sample.messages] == ["system", "user", "assistant", "tool"]
    assert log.results.scores[1].metrics["failed"].value == len(log.samples)


def command(*arguments: str, cwd: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, cwd=cwd,
                          env=os.environ | {"HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "COLUMNS": "200"} | environ)


def test_the_file_is_what_inspect_runs_with_its_own_providers(tmp_path: Path) -> None:
    need("inspect_ai")
    need("openai")
    body = completion(None, "tool_calls", tool_calls=[{"id": "c", "type": "function", "function": {
        "name": "list_contacts", "arguments": "{}"}}])
    body["usage"]["total_tokens"] = 10
    with StubEndpoint([React(body)]) as stub:
        done = command("-m", "inspect_ai", "eval", f"{BRIDGE}@infranode_bench", "--model", "openai-api/stub/stub-1",
                       "--limit", "2", "--display", "plain", "--log-dir", str(tmp_path), "-T", "set=paraphrase", "-T",
                       "mode=native", STUB_BASE_URL=f"{stub.url}/v1", STUB_API_KEY="k", NO_PROXY="127.0.0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    from inspect_ai.log import list_eval_logs, read_eval_log

    info, = list_eval_logs(str(tmp_path))
    log = read_eval_log(info)
    assert (log.status, log.eval.dataset.name) == ("success", "bench paraphrase")
    assert [sample.scores["call_match"].metadata["outcome"] for sample in log.samples] == ["ok", "unknown_tool"]
    assert log.eval.metadata["hashes"].keys() == {"tasks", "tools", "prompt"}
    assert [len(request.body["tools"]) for request in stub.requests] == [3, 3]


@pytest.mark.parametrize(("flag", "said"), [
    ("set=nope", "suite bench has no set 'nope'; expected one of original, paraphrase, all"),
    ("mode=loud", "mode 'loud' does not exist; expected one of prompt, native"),
    ("tasks=mine.jsonl", "give the whole path: -T tasks=$PWD/mine.jsonl"),
    ("tasks=/nowhere/mine.jsonl", "/nowhere/mine.jsonl: cannot be read"),
])
def test_a_wrong_order_is_one_clear_line(flag: str, said: str, tmp_path: Path) -> None:
    need("inspect_ai")
    done = command("-m", "inspect_ai", "eval", f"{BRIDGE}@infranode_bench", "--model", "none/none", "--display",
                   "plain", "--log-dir", str(tmp_path), "-T", flag)
    told = " ".join((done.stdout + done.stderr).split())
    assert said in told and "Traceback" not in told


def test_without_inspect_ai_one_line_says_what_to_install() -> None:
    done = command("-c", "import sys; sys.modules['inspect_ai'] = None; import infranode_eval.inspect_bridge")
    assert "ImportError: inspect_ai is not installed; install it with: " in done.stderr.splitlines()[-1]
