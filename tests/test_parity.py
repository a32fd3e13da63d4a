"""The same raw replies give the same numbers in lm-eval, run_eval and report, per task and per category."""

import json
import random

import pytest

import run_eval
from infranode_eval.bench_variants import failures, successes
from infranode_eval.equivalences import equivalences
from infranode_eval.fold import result_of
from infranode_eval.mutations import mutations
from infranode_eval.providers.protocol import Sampling
from infranode_eval.providers.scripted import ScriptedProvider
from infranode_eval.reports.archive import find_results, read_json, run_from_json
from infranode_eval.reports.bench_tables import bench_tables
from infranode_eval.reports.comparison import differing
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.harness_output import runs_from_harness, verdicts_from_harness
from infranode_eval.reports.rescoring import rescore_samples
from infranode_eval.reports.sections import group_of
from infranode_eval.reports.tasksets import case_sets
from infranode_eval.results import Description, write_result
from infranode_eval.runner import Limits, Runner
from infranode_eval.suites import Setup, single
from lm_eval_task.cases import read_cases
from lm_eval_task.harness import documents
from lm_eval_task.metrics import score_reply
from lm_eval_task.records import MATCHES, Reply, tasks_fingerprint
from lm_eval_task.tools import read_tools
from tests.needs import need
from tests.stub_endpoint import React, StubEndpoint, completion

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


def played_by_lm_eval(task, replies, folder):
    """(folder of its output, results, samples), as the command writes them with --log_samples."""
    need("lm_eval")
    from lm_eval import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    from tests.test_lm_eval import FOLDER, scripted_model

    out = simple_evaluate(model=scripted_model(replies.__getitem__), tasks=[task],
                          task_manager=TaskManager(include_path=str(FOLDER), include_defaults=False),
                          bootstrap_iters=0, log_samples=True)
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.general_config_tracker.model_name = "scripted"
    samples = out.pop("samples")
    tracker.save_results_aggregated(results=out, samples=samples)
    tracker.save_results_samples(task_name=task, samples=samples[task])
    return folder, out, samples[task]


@pytest.fixture(scope="module")
def theirs(replies, tmp_path_factory):
    return played_by_lm_eval("infranode_tools_de_full", replies, tmp_path_factory.mktemp("theirs"))


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


# --- the test bench ---------------------------------------------------------------------------------------------------

BENCH = read_cases()
SAID_THERE = ("Erledigt, der Termin steht.", "Dafür passt kein Werkzeug.", "Welche Angabe fehlt mir noch?", "<think>Hm",
              "[]", '[{"name": "list_rooms", "argu', '{"name": "fax_senden", "arguments": {}}')


@pytest.fixture(scope="module")
def bench_replies():
    """As above: right ones in other spellings and in other calls' place, mutations, silence of every kind."""
    draw, texts = random.Random(20261130), {}
    for number, task in enumerate(BENCH.tasks):
        kind = (successes, failures, None)[number % 3]
        texts[task.question] = draw.choice(list(SAID_THERE) if kind is None else [
            v.reply.message["content"] for v in kind(task, BENCH.tools, BENCH.zone)
            if v.mode == "prompt" and v.reply.message.get("content") and v.reply.finish_reason in (None, "stop")])
    spoken = [task for task in BENCH.tasks if task.category == "S5"]
    texts |= {task.question: text for task, text in zip(spoken, SAID_THERE, strict=False)}
    texts[spoken[-1].question] = f"Das geht, nur: {spoken[-1].extra['fehlt'][0]}?"
    several = [task for task in BENCH.tasks if task.category == "S3"]
    texts[several[0].question] = json.dumps(several[0].expected[0].to_json())
    booking = next(task for task in BENCH.tasks if task.task_id == "S2-9")
    texts[booking.question] = json.dumps(booking.expected[0].to_json()).replace(": 90", ': "90"')
    return texts


@pytest.fixture(scope="module")
def our_bench(bench_replies, tmp_path_factory):
    path = tmp_path_factory.mktemp("our_bench") / "scripted.json"

    def answer(request):
        return React(completion(bench_replies[request.body["messages"][-1]["content"].rsplit("\n", 1)[1]]))

    with StubEndpoint(answer) as endpoint:
        assert run_eval.main(["--suite", "bench", "--mode", "prompt", "--base-url", endpoint.url, "--model", "scripted",
                              "--out", str(path)]) == 0
    return run_from_json(read_json(path), path, read_tools())


@pytest.fixture(scope="module")
def their_output(bench_replies, tmp_path_factory):
    folder, out, _ = played_by_lm_eval("infranode_bench_de", bench_replies, tmp_path_factory.mktemp("their_bench"))
    path, = find_results([folder])
    return path, out["results"]["infranode_bench_de"]


@pytest.fixture(scope="module")
def their_bench(their_output):
    path, _ = their_output
    run, = runs_from_harness(read_json(path), path, read_tools())
    return run


def test_the_replies_to_the_bench_are_a_mixture(our_bench):
    found = summarise(our_bench, case_sets()).bench
    assert {row.score.outcome for row in our_bench.rows} >= {"ok", "abstain_ok", "no_call", "malformed_call",
                                                              "extra_calls", "truncated"}
    numbers = found.numbers
    assert all(0.1 < ratio.value < 0.9 for ratio in (
        numbers.auftraege_gelungen, numbers.streng, numbers.formkorrekt, numbers.richtig_je_schritt,
        numbers.stillgehalten))
    assert numbers.auftraege_gelungen.k != numbers.streng.k and found.notes and found.turned
    assert found.silence.asked_right and found.silence.claims_done and found.first_step_only.k


def test_lm_eval_gives_every_number_of_the_direct_bench_run(our_bench, their_output):
    _, numbers = their_output
    assert len(our_bench.metrics) == 13 + 5
    for name, value in our_bench.metrics.items():
        assert numbers[f"{name},none"] == pytest.approx(value, abs=1e-12), name


def test_report_reads_lm_evals_bench_as_the_same_run(our_bench, their_bench):
    assert (their_bench.suite, their_bench.mode, their_bench.harness, their_bench.notes) == (
        "bench", "prompt", "lm-eval", ())
    assert dict(their_bench.hashes) == dict(our_bench.hashes)
    assert (their_bench.set_name, their_bench.headline) == (our_bench.set_name, our_bench.headline)
    for name in ("metrics", "answered"):
        assert getattr(their_bench, name) == pytest.approx(getattr(our_bench, name)), name


def test_every_verdict_on_the_bench_is_that_of_the_direct_run(our_bench, their_bench):
    """Whether a cut was one in reasoning, and the count of tokens, only run_eval knows."""
    for ours, theirs in zip(our_bench.rows, their_bench.rows, strict=True):
        assert (theirs.task_id, theirs.category, theirs.score, dict(theirs.details)) == (
            ours.task_id, ours.category, ours.score, dict(ours.details))


def test_every_table_of_the_bench_is_that_of_the_direct_run(our_bench, their_bench):
    one, other = (summarise(run, case_sets()) for run in (our_bench, their_bench))
    assert one.bench == other.bench and dict(one.strict) == dict(other.strict)
    assert dict(one.answered) == dict(other.answered) and one.fates == other.fates
    assert group_of(one) == group_of(other), "they stand in one table"
    assert not differing(our_bench, their_bench, ("tasks", "tools", "prompt", "mode", "suite", "set-up"))
    assert bench_tables([one], ["x"]) == bench_tables([other], ["x"])


def test_lm_evals_bench_judged_again_stays_what_it_is(their_output):
    path, _ = their_output
    [(run, pairs)] = verdicts_from_harness(read_json(path), path, read_tools())
    found = rescore_samples(run, pairs)
    assert (found.changes, found.reworded) == ((), 0) and found.after == pytest.approx(found.before)
