"""The same raw replies give the same numbers in lm-eval, run_eval and report, per task and per category."""

import json
import random

import pytest

from infranode_eval.equivalences import equivalences
from infranode_eval.mutations import mutations
from infranode_eval.providers.protocol import Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.reports.archive import find_results, read_json, run_from_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.harness_output import runs_from_harness
from infranode_eval.results import Description, result_of, write_result
from infranode_eval.runner import Limits, Runner
from infranode_eval.suites import Setup, single
from lm_eval_task.harness import documents
from lm_eval_task.metrics import score_reply
from lm_eval_task.records import MATCHES, Reply, tasks_fingerprint
from lm_eval_task.tools import read_tools
from tests.needs import need

SAID = ("Dafür habe ich kein Werkzeug.", "Welche Stadt meinen Sie?", "<think>Hm", "{\"name\": \"weather\", \"argu",
        "<think>Köln → koeln</think>Ich weiß es nicht.", "[]", "Ich rufe list_cities auf.")


@pytest.fixture(scope="module")
def tools():
    return read_tools()


@pytest.fixture(scope="module")
def tasks(tools):
    return single.load(None, tools, "full")


@pytest.fixture(scope="module")
def replies(tasks, tools):
    """Some right in another spelling, some mutated, some anything; text only and never blank: lm-eval hands over
    nothing else."""
    draw, texts = random.Random(20261130), {}
    for task in tasks:
        kinds = (equivalences, mutations, mutations, None)
        kind = draw.choice(kinds)
        variants = list(SAID) if kind is None else [
            v.reply.message["content"] for v in kind(task, tools)
            if v.mode == "prompt" and v.reply.message.get("content") and "tool_calls" not in v.reply.message
            and v.reply.finish_reason in (None, "stop")]
        texts[task.question] = draw.choice(variants)
    return texts


@pytest.fixture(scope="module")
def ours(tasks, tools, replies, tmp_path_factory):
    setup = Setup.of("prompt", tools, Sampling(160, 0.0))
    provider = ScriptedProvider(lambda messages: replies[messages[-1]["content"].rsplit("\n", 1)[1]])
    played = Runner(single, setup, provider, Limits(concurrency=4)).run(tasks)
    hashes = {"tasks": tasks_fingerprint(tasks), "tools": tools.fingerprint, "prompt": single.prompt_hash(setup)}
    result = result_of(Description("single", "full", "scripted", "openai", "prompt", None, hashes, {}), played,
                       setup.sampling, deterministic=False)
    path = tmp_path_factory.mktemp("ours") / "scripted.json"
    write_result(path, result)
    return path, result


def test_the_replies_are_a_mixture(ours):
    _, result = ours
    outcomes = {row["outcome"] for row in result["rows"]}
    assert {"ok", "wrong_args", "wrong_tool", "no_call", "malformed_call", "unknown_tool", "missing_args"} <= outcomes
    assert 0.1 < result["metrics"]["call_match"] < 0.8


def test_rows_hold_the_scorers_verdict(ours, tasks, tools, replies):
    _, result = ours
    for task, row in zip(tasks, result["rows"], strict=True):
        score = score_reply(task, Reply.from_text(replies[task.question]), tools, "prompt")
        assert {k: row[k] for k in score.to_json()} == score.to_json()


def test_report_shows_the_numbers_of_the_file(ours):
    path, result = ours
    summary = summarise(run_from_json(read_json(path), path))
    assert dict(summary.strict) == result["metrics"]


@pytest.fixture(scope="module")
def theirs(replies, tmp_path_factory):
    need("lm_eval")
    from lm_eval import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    from tests.test_lm_eval import FOLDER, scripted_model

    out = simple_evaluate(model=scripted_model(replies.__getitem__), tasks=["infranode_tools_de_full"],
                          task_manager=TaskManager(include_path=str(FOLDER), include_defaults=False),
                          bootstrap_iters=0, log_samples=True)
    folder = tmp_path_factory.mktemp("theirs")
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.general_config_tracker.model_name = "scripted"
    samples = out.pop("samples")
    tracker.save_results_aggregated(results=out, samples=samples)
    tracker.save_results_samples(task_name="infranode_tools_de_full", samples=samples["infranode_tools_de_full"])
    return folder, out, samples["infranode_tools_de_full"]


def test_lm_eval_gives_every_metric_of_the_direct_run(ours, theirs):
    _, result = ours
    _, out, _ = theirs
    numbers = out["results"]["infranode_tools_de_full"]
    assert len(result["metrics"]) == 10 + 12
    for name, value in result["metrics"].items():
        assert numbers[f"{name},none"] == pytest.approx(value, abs=1e-12), name


def test_lm_eval_gives_every_verdict_of_the_direct_run(ours, theirs):
    _, result = ours
    by_id = {row["task_id"]: row for row in result["rows"]}
    _, _, samples = theirs
    assert len(samples) == len(documents("full")) == len(by_id)
    for sample in samples:
        row = by_id[sample["doc"]["task_id"]]
        assert {m: bool(sample[m]) for m in MATCHES} == {m: row[m] for m in MATCHES}, sample["doc"]["task_id"]


def test_report_reads_lm_eval_output_as_the_same_run(ours, theirs, tools):
    _, result = ours
    folder, _, _ = theirs
    path, = find_results([folder])
    run, = runs_from_harness(json.loads(path.read_text()), path, tools)
    summary = summarise(run)
    assert dict(summary.strict) == pytest.approx(result["metrics"])
    assert {k: (c.solved, c.n) for k, c in summary.categories.items()} == {
        k: (sum(r["call_match"] for r in result["rows"] if r["category"] == k),
            sum(r["category"] == k for r in result["rows"])) for k in summary.categories}
