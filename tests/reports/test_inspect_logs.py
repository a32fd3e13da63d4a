"""Results as logs of inspect_ai: read back, a log says what its file says, and what was said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.fold import Fold
from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.results import Description, write_result
from infranode_eval.runner import Limits, Played, Runner
from infranode_eval.shelf import Shelf
from infranode_eval.suites import Setup, open_suite
from lm_eval_task.errors import ContextOverflowError
from lm_eval_task.records import tasks_fingerprint
from tests.needs import need

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"


def report(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "report.py"), *arguments], capture_output=True, text=True,
                          timeout=300, cwd=ROOT, env=os.environ | environ)


def logs_of(folder: Path, *files: Path, tasks: Path | None = None) -> dict[str, Any]:
    from inspect_ai.log import read_eval_log

    done = report("--inspect-log", str(folder), *(["--tasks", str(tasks)] if tasks else []), *map(str, files))
    assert done.returncode == 0, done.stderr
    paths = done.stdout.split()
    return {Path(path).name: read_eval_log(path, resolve_attachments=True) for path in paths}


def written(tmp_path: Path, name: str, mode: str, lines: Any, count: int = 6) -> tuple[Path, list[Played]]:
    """A results file over the first tasks of a suite; lines: as a ScriptedProvider takes them."""
    suite = open_suite(name)
    tools = suite.read_tools(None)
    tasks = suite.load(None, tools, suite.SETS[0])
    sampling = Sampling(suite.MAX_TOKENS)
    setup = Setup.of(mode, tools, sampling, suite.offering(tasks, tools), suite.scene(None, tools))
    played = Runner(suite, setup, ScriptedProvider(lines), Limits(1, retries=0)).run(tasks[:count])
    hashes = {"tasks": tasks_fingerprint(tasks), "tools": tools.fingerprint, "prompt": suite.prompt_hash(setup)}
    settings = {**sampling.to_json(), **setup.scene.settings}
    described = Description(name, suite.SETS[0], "some/model", "openai", mode, "custom", hashes, settings)
    path = tmp_path / f"{name}.{mode}.json"
    fold = Fold(described, sampling, False, Shelf(), suite.aggregate)
    write_result(path, fold.result([fold.keep(one) for one in played]))
    return path, played


def play(messages: Sequence[Mapping[str, Any]]) -> Answer:
    """Two calls with one id, one of them unreadable; then prose; then, when asked, an answer."""
    before = sum(message["role"] == "assistant" for message in messages)
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60},
             "completion_tokens_details": {"reasoning_tokens": 4}}
    calls = [{"id": "same", "type": "function", "function": {"name": "weather", "arguments": text}}
             for text in ('{"slug": "bonn"}', '{"slug": ')]
    said: list[dict[str, Any]] = [
        {"content": "Ich sehe nach.", "tool_calls": calls, "reasoning_content": "Das Wetter."},
        {"content": "<think>Hm.</think>Es ist warm."}, {"content": '{"antwort": 3, "einheit": null}'}]
    return Answer({"role": "assistant", **said[min(before, 2)]}, "stop", usage, 1.5)


@pytest.mark.parametrize(("file", "name", "task", "dataset"), [
    ("bm25.json", "bm25.eval", "infranode_single", "single core"),
    ("never_calls.abstain.json", "never_calls.abstain.eval", "infranode_single", "single abstain"),
    ("arms/bm25.order.json", "arms.bm25.order.eval", "infranode_single", "single core"),
    ("bench/first_step_only.paraphrase.json", "bench.first_step_only.paraphrase.eval", "infranode_bench",
     "bench paraphrase"),
])
def test_a_shipped_result_becomes_a_log(file: str, name: str, task: str, dataset: str, tmp_path: Path) -> None:
    need("inspect_ai")
    result = json.loads((RESULTS / file).read_bytes())
    log = logs_of(tmp_path, RESULTS / file)[name]
    assert (log.status, log.eval.task, log.eval.dataset.name) == ("success", task, dataset)
    assert log.eval.model == f"baseline/{result['model']}"
    samples = {(sample.id, sample.epoch): sample for sample in log.samples}     # inspect sorts them by name
    assert len(samples) == len(log.samples) == len(result["rows"])
    for row in result["rows"]:
        sample = samples[row["task_id"], row["repeat"]]
        score = sample.scores["call_match"]
        assert (score.value, score.explanation) == (float(row["call_match"]), row["why"])
        assert score.metadata["outcome"] == row["outcome"] and sample.error is None
        assert [message.role for message in sample.messages] == ["user", "assistant"]
        assert sample.messages[0].text.endswith(sample.input) and len(sample.messages[0].text) > len(sample.input)
    spread, numbers = ({key: metric.value for key, metric in score.metrics.items()} for score in log.results.scores)
    assert spread["mean"] == pytest.approx(result["metrics"]["call_match"])
    assert numbers == {**{k: v for k, v in result["metrics"].items() if v is not None}, "failed": 0}


def test_lm_evals_results_become_logs_as_well(tmp_path: Path) -> None:
    need("inspect_ai")
    log, = logs_of(tmp_path, RESULTS / "lm_eval").values()
    assert len(log.samples) == log.results.total_samples == 91
    assert all(len(sample.messages) == 2 for sample in log.samples)


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_a_play_is_shown_as_it_was(mode: str, tmp_path: Path) -> None:
    """Every message that was sent or came, with the ids under which results went back, and what each turn cost."""
    need("inspect_ai")
    path, played = written(tmp_path, "chain", mode, play)
    log = logs_of(tmp_path / "logs", path)[f"chain.{mode}.eval"]
    for sample, one in zip(log.samples, sorted(played, key=lambda one: one.task.task_id), strict=True):
        sent = one.transcript.messages
        assert [m.role for m in sample.messages] == [m["role"] for m in sent]
        assert [m.text for m in sample.messages if m.role != "assistant"] == \
            [m["content"] for m in sent if m["role"] != "assistant"]
        assert [m.tool_call_id for m in sample.messages if m.role == "tool"] == \
            [m["tool_call_id"] for m in sent if m["role"] == "tool"]
        score = sample.scores["task_success"]
        assert score.answer == "3" and score.explanation == one.score.why
        assert sample.metadata["category"] == one.task.category and sample.metadata["evidence"]
        usage = sample.model_usage["openai/some/model"]
        assert (usage.input_tokens, usage.input_tokens_cache_read, usage.output_tokens, usage.reasoning_tokens) == \
            (120, 180, 30, 12)
        assert sample.total_time == 4.5
        kinds = [event.event for event in sample.events]
        assert kinds == (["model", "tool", "tool", "model", "model", "score"] if mode == "native" else
                         ["model", "model", "model", "score"])
        if mode == "native":
            assert [call.id for call in sample.messages[2].tool_calls] == ["same", "call_0_1"]
            assert [bool(call.parse_error) for call in sample.messages[2].tool_calls] == [False, True]
            thoughts = [part.reasoning for m in sample.messages if m.role == "assistant" and isinstance(m.content, list)
                        for part in m.content if part.type == "reasoning"]
            assert thoughts == ["Das Wetter.", "Hm."]
    assert "bodies" not in log.eval.metadata and log.eval.metadata["settings"]["max_tokens"] == 1024


def test_a_failure_is_an_error_that_counts_as_not_solved(tmp_path: Path) -> None:
    need("inspect_ai")
    path, _ = written(tmp_path, "single", "native", [ContextOverflowError("HTTP 400: too long"), "Nein.", "Nein."], 3)
    log, = logs_of(tmp_path / "logs", path).values()
    failed, *others = log.samples
    assert failed.error.message == "context_overflow: HTTP 400: too long"
    assert failed.scores["call_match"].value == 0.0 and [m.role for m in failed.messages] == ["system", "user"]
    assert [sample.error for sample in others] == [None, None]
    assert (log.results.total_samples, log.results.completed_samples) == (3, 2)
    assert log.results.scores[1].metrics["failed"].value == 1


def test_what_no_file_may_hold_is_spelled_out(tmp_path: Path) -> None:
    need("inspect_ai")
    path, _ = written(tmp_path, "single", "prompt", ["half \ud800 a character"], 1)
    log, = logs_of(tmp_path / "logs", path).values()
    assert log.samples[0].messages[-1].text == "half \\ud800 a character"


def test_a_run_over_unknown_tasks_is_shown_without_their_questions(tmp_path: Path) -> None:
    need("inspect_ai")
    path, _ = written(tmp_path, "single", "prompt", ["Nein.", "Doch."], 2)
    result = json.loads(path.read_bytes())
    path.write_text(json.dumps({**result, "hashes": {**result["hashes"], "tasks": "0" * 64}}), "utf-8")
    log, = logs_of(tmp_path / "logs", path).values()
    assert [sample.messages[-1].text for sample in log.samples] == ["Nein.", "Doch."]
    assert all("name it with --tasks" in sample.input and len(sample.messages) == 1 for sample in log.samples)


def test_a_log_is_never_overwritten(tmp_path: Path) -> None:
    need("inspect_ai")
    (tmp_path / "bm25.eval").write_bytes(b"mine")
    done = report("--inspect-log", str(tmp_path), str(RESULTS / "oracle.json"), str(RESULTS / "bm25.json"))
    assert done.returncode == 2 and f"{tmp_path / 'bm25.eval'} exists" in done.stderr
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("bm25.eval", b"mine")]


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    need("inspect_ai")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.json").write_bytes((RESULTS / "bm25.json").read_bytes())
    done = report("--inspect-log", str(tmp_path / "logs"), str(tmp_path / "a"), str(tmp_path / "b"))
    assert done.returncode == 2 and "would both become" in done.stderr and not (tmp_path / "logs").exists()


def test_the_same_file_gives_the_same_samples(tmp_path: Path) -> None:
    need("inspect_ai")
    path, _ = written(tmp_path, "chain", "native", play, 2)
    first, second = (logs_of(tmp_path / folder, path)["chain.native.eval"] for folder in ("a", "b"))
    assert [s.model_dump() for s in first.samples] == [s.model_dump() for s in second.samples]
    assert first.eval == second.eval


def test_a_broken_file_is_left_out_and_told(tmp_path: Path) -> None:
    need("inspect_ai")
    (tmp_path / "broken.json").write_text("{", "utf-8")
    done = report("--inspect-log", str(tmp_path / "logs"), str(tmp_path / "broken.json"), str(RESULTS / "bm25.json"))
    assert done.returncode == 1 and "broken.json" in done.stderr
    assert done.stdout.split() == [str(tmp_path / "logs" / "bm25.eval")]


def test_without_inspect_ai_one_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "inspect_ai.py").write_text("raise ImportError", "utf-8")
    done = report("--inspect-log", str(tmp_path / "logs"), str(RESULTS / "bm25.json"), PYTHONPATH=str(tmp_path))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "--inspect-log needs inspect_ai, which is not installed" in done.stderr


@pytest.mark.parametrize(("lost", "roles", "why"), [
    ("tasks", ["assistant", "tool", "tool", "assistant", "user", "assistant"], "nobody knows the question"),
    ("prompt", ["user", "assistant", "tool", "tool", "assistant", "user", "assistant"], "not the rules"),
    ("tools", ["user", "assistant"], "replies cannot be read without the tools"),
])
def test_a_play_of_another_version_is_shown_as_far_as_it_is_known(lost: str, roles: list[str], why: str,
                                                                  tmp_path: Path) -> None:
    need("inspect_ai")
    path, _ = written(tmp_path, "chain", "native", play, 1)
    result = json.loads(path.read_bytes())
    path.write_text(json.dumps({**result, "hashes": {**result["hashes"], lost: "0" * 64}}), "utf-8")
    log, = logs_of(tmp_path / "logs", path).values()
    assert [message.role for message in log.samples[0].messages] == roles, why


def test_a_play_that_used_up_its_turns_is_gone_through_to_its_end(tmp_path: Path) -> None:
    need("inspect_ai")

    def never_stops(messages: Sequence[Mapping[str, Any]]) -> Answer:
        call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": '{"slug": "bonn"}'}}
        return Answer({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")

    path, (one,) = written(tmp_path, "chain", "native", never_stops, 1)
    log, = logs_of(tmp_path / "logs", path).values()
    assert [m.role for m in log.samples[0].messages] == [m["role"] for m in one.transcript.messages]
