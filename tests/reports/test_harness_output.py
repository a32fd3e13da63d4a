"""lm-eval's output folders as runs; the files here have the shape that lm-eval 0.4.13 writes."""

from __future__ import annotations

import json

import pytest

from infranode_eval.reports.archive import is_harness_output, run_from_json
from infranode_eval.reports.comparison import compare
from infranode_eval.reports.comparison_tables import comparison_sections
from infranode_eval.reports.drilldown import case_lines, cases_of
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.harness_output import replies_from_harness, runs_from_harness
from infranode_eval.reports.sections import report_sections
from infranode_eval.reports.tasksets import TaskSet
from infranode_eval.tables import render
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import SCORER_VERSION, aggregate, score_reply
from lm_eval_task.prompt import prompt_fingerprint, prompt_text
from lm_eval_task.records import MATCHES, Reply, tasks_fingerprint
from lm_eval_task.shapes import parts_of
from tests.json_paths import paths_of, put

TASK = "infranode_tools_de"


def sample(task, text, toolset, wrap="{}"):
    """One line of samples_*.jsonl as process_results and --log_samples make it."""
    score = score_reply(task, Reply.from_text(text, finish_reason=None), toolset, "prompt")
    return {"doc_id": 0, "doc": {"task_id": task.task_id, "set": task.set, "category": task.category,
                                 "question": task.question, "row": json.dumps(task.to_json(), ensure_ascii=False)},
            "target": "", "arguments": {"gen_args_0": {"arg_0": wrap.format(prompt_text(toolset, task.question)),
                                                       "arg_1": {"until": []}}},
            "resps": [[text]], "filtered_resps": [text], "filter": "none",
            **{name: float(bool(getattr(score, name))) for name in MATCHES}}


def results(leaves, *, original, groups=None, **more):
    """A results_*.json over leaf tasks: name -> list of samples."""
    value = {"results": {}, "configs": {}, "n-samples": {}, "group_subtasks": groups or {}, "chat_template": None,
             "config": {"model": "hf", "model_args": {"pretrained": "org/small-model"}}, "system_instruction": None}
    for name, samples in leaves.items():
        n = len(samples)
        value["results"][name] = {"alias": name, "sample_len": n, "call_match_stderr,none": "N/A"} | {
            f"{m},none": sum(s[m] for s in samples) / n for m in MATCHES}
        value["configs"][name] = {"generation_kwargs": {"until": [], "do_sample": False, "temperature": 0.0,
                                                        "max_gen_toks": 160},
                                  "num_fewshot": 0, "metadata": {"version": float(SCORER_VERSION)}}
        value["n-samples"][name] = {"original": original, "effective": n}
    return value | more


@pytest.fixture
def write(tmp_path):
    def write(value, leaves=()):
        path = tmp_path / "results_2026-12-01T10-00-00.1.json"
        path.write_text(json.dumps(value))
        for name, samples in dict(leaves).items():
            lines = "".join(json.dumps(s) + "\n" for s in samples)
            (tmp_path / f"samples_{name}_2026-12-01T10-00-00.1.jsonl").write_text(lines)
        return path
    return write


@pytest.fixture
def samples(demo_tasks, toolset, answer):
    """Every third reply is no call, one is empty, one names the city with its umlaut."""
    texts = ["Gern!" if i % 3 == 2 else answer(t) for i, t in enumerate(demo_tasks)]
    texts[1] = answer(demo_tasks[1]).replace("muenchen", "münchen")
    texts[3] = ""
    return [sample(t, text, toolset) for t, text in zip(demo_tasks, texts, strict=True)]


def test_samples_give_the_same_rows_and_numbers_as_the_scorer(demo_tasks, toolset, samples, write):
    leaves = {TASK: samples}
    value = results(leaves, original=40)
    [run] = runs_from_harness(value, write(value, leaves), toolset)
    assert (run.model, run.harness, run.mode, run.setup, run.scorer_version) == (
        "org/small-model", "lm-eval", "prompt", "S", SCORER_VERSION)
    assert (run.n, run.failed) == (40, 1), "the empty reply is a failure, not a silence"
    assert run.hashes == {"tasks": tasks_fingerprint(demo_tasks), "tools": toolset.fingerprint,
                          "prompt": prompt_fingerprint("prompt", toolset)}
    strict = aggregate([(r.category, r.score) for r in run.rows])
    assert {m: strict[m] for m in MATCHES} == pytest.approx({m: run.metrics[m] for m in MATCHES})
    assert run.rows[1].score.sub == "umlaut_unresolved" and not run.notes


def test_what_an_older_scorer_stored_counts_as_this_one_where_it_agrees(toolset, samples, write):
    value = results({TASK: samples}, original=40)
    value["configs"][TASK]["metadata"]["version"] = 1.0
    for row in samples:
        row.pop("datum_match")
    [run] = runs_from_harness(value, write(value, {TASK: samples}), toolset)
    assert run.scorer_version == SCORER_VERSION and "stored by scorer 1.0" in run.notes[0]
    assert all(row.score.datum_match is row.score.request_match for row in run.rows if not row.score.failed)
    samples[0]["call_match"] = 1.0 - samples[0]["call_match"]
    [run] = runs_from_harness(value, write(value, {TASK: samples}), toolset)
    assert run.scorer_version == "1.0" and "differ from scorer" in run.notes[0]


@pytest.mark.parametrize("wrap, why", [
    ("<|im_start|>user\n{}<|im_end|>\n", "a chat template around the prompt"),
    ("JSON", "the messages of an API model, as JSON text in a list"),
])
def test_the_prompt_is_recognised_whatever_stands_around_it(demo_tasks, toolset, answer, write, wrap, why):
    lines = [sample(t, answer(t), toolset, "{}" if wrap == "JSON" else wrap) for t in demo_tasks]
    if wrap == "JSON":
        for line in lines:
            arguments = line["arguments"]["gen_args_0"]
            arguments["arg_0"] = [json.dumps([{"role": "user", "content": arguments["arg_0"]}], ensure_ascii=False)]
    value = results({TASK: lines}, original=40, chat_template="{{ x }}")
    [run] = runs_from_harness(value, write(value, {TASK: lines}), toolset)
    assert run.hashes["prompt"] == prompt_fingerprint("prompt", toolset), why
    assert run.harness == "lm-eval chat"


def test_another_prompt_is_not_taken_for_ours(demo_tasks, toolset, answer, write):
    lines = [sample(t, answer(t), toolset) for t in demo_tasks]
    lines[0]["arguments"]["gen_args_0"]["arg_0"] = "Frage"
    value = results({TASK: lines}, original=40)
    [run] = runs_from_harness(value, write(value, {TASK: lines}), toolset)
    assert run.hashes["tools"] is None and run.hashes["prompt"] is None


def test_replies_come_with_their_rows(demo_tasks, toolset, samples, write, answer, make_result):
    """What report.py --task and --compare need: the text that was scored, and runs of both harnesses side by side."""
    value = results({TASK: samples}, original=40)
    path = write(value, {TASK: samples})
    [(run, replies)] = replies_from_harness(value, path, toolset)
    assert [parts_of(r.message).text for r in replies] == [s["filtered_resps"][0] for s in samples]
    core = TaskSet("core", tasks_fingerprint(demo_tasks), {t.task_id: t for t in demo_tasks})
    [case] = cases_of(path, demo_tasks[1].task_id, [core], toolset)[0]
    lines = list(case_lines([case]))
    assert any("org/small-model [lm-eval], mode prompt, set-up S" in line for line in lines)
    assert any(line.startswith("  reply") and "münchen" in line for line in lines)
    ours = run_from_json(make_result(lambda t: Reply.from_text(answer(t)), model="ours"), "ours.json")
    found = compare(run, ours, [core])
    assert (found.n, found.whole.first, len(found.gained)) == (40, sum(s["call_match"] for s in samples), 15)
    assert "small-model [lm-eval]" in comparison_sections(found)[0].title


def test_without_samples_only_numbers_are_known(samples, toolset, write):
    value = results({TASK: samples}, original=40)
    [run] = runs_from_harness(value, write(value), toolset)
    assert run.rows == () and run.n == 40 and run.hashes["tasks"] is None
    assert run.metrics["call_match"] == sum(s["call_match"] for s in samples) / 40
    assert "--log_samples" in run.notes[0]


def test_a_limited_run_has_no_tasks_hash_but_says_how_many_there_were(samples, toolset, write):
    leaves = {TASK: samples[:5]}
    value = results(leaves, original=40)
    [run] = runs_from_harness(value, write(value, leaves), toolset)
    assert run.hashes["tasks"] is None and (run.n, run.task_count) == (5, 40)


def test_a_group_is_one_run_with_its_numbers_weighted_by_size(samples, toolset, write):
    leaves = {f"{TASK}_{c}": [s for s in samples if s["doc"]["category"] == c]
              for c in ("routing_named", "resource_key", "not_covered")}
    value = results(leaves, original=0, groups={"infranode_tools_de_categories": list(leaves)})
    value["n-samples"] = {n: {"original": len(v), "effective": len(v)} for n, v in leaves.items()}
    value["results"]["infranode_tools_de_categories"] = {"call_match,none": 0.123}
    [run] = runs_from_harness(value, write(value, leaves), toolset)
    assert run.n == 40 and len(run.tasks) == 40
    by_rows = aggregate([(r.category, r.score) for r in run.rows])
    [numbers] = runs_from_harness(value, write_only(value, run.path), toolset)
    assert numbers.rows == ()
    for name in ("call_match", "ability", "call_match_resource_key"):
        assert numbers.metrics[name] == pytest.approx(by_rows[name]), name


def write_only(value, path):
    """The same results under another time stamp, without samples beside them."""
    other = path.replace("2026-12-01", "2026-12-02")
    with open(other, "w") as file:
        json.dump(value, file)
    return other


def test_a_verdict_that_the_scorer_no_longer_gives_has_no_outcome(samples, toolset, write):
    samples[0] = samples[0] | {"call_match": 0.0}
    value = results({TASK: samples}, original=40)
    [run] = runs_from_harness(value, write(value, {TASK: samples}), toolset)
    assert run.rows[0].score.outcome == "unknown" and run.rows[0].score.call_match is False
    assert run.notes[0].startswith("1 of 40 stored verdicts differ")


@pytest.mark.parametrize("change, setup, why", [
    ({}, "S", "as shipped"),
    ({"generation_kwargs": {"max_gen_toks": 512}}, "custom", "another length"),
    ({"generation_kwargs": {"max_gen_toks": 160, "temperature": 0.7, "do_sample": True}}, "custom", "sampling"),
    ({"num_fewshot": 2}, "custom", "shots"),
])
def test_setup(samples, toolset, write, change, setup, why):
    value = results({TASK: samples}, original=40)
    value["configs"][TASK] |= change
    [run] = runs_from_harness(value, write(value), toolset)
    assert run.setup == setup, why


@pytest.mark.parametrize("arguments, name", [
    ({"pretrained": "org/model"}, "org/model"),
    ("pretrained=org/model,dtype=float32", "org/model"),
    ({"pretrained": "/data/models/small"}, "small"),
    ({"pretrained": "./dir", "gguf_file": "small.Q4_1.gguf"}, "small.Q4_1.gguf"),
    ({"model": "gpt-x", "base_url": "http://localhost"}, "gpt-x"),
])
def test_model_names_show_no_folder_of_this_machine(samples, toolset, write, arguments, name):
    value = results({TASK: samples}, original=40)
    value["config"]["model_args"] = arguments
    [run] = runs_from_harness(value, write(value), toolset)
    assert run.model == name


def test_output_of_other_tasks_is_refused(toolset, tmp_path):
    with pytest.raises(DataError, match="without a task whose name starts with infranode_tools_de"):
        runs_from_harness({"results": {"mmlu": {"acc,none": 0.5}}}, tmp_path / "results_x.json", toolset)


def test_a_broken_samples_line_is_named(samples, toolset, write):
    value = results({TASK: samples}, original=40)
    path = write(value, {TASK: samples})
    with open(next(path.parent.glob("samples_*")), "a") as file:
        file.write("{")
    with pytest.raises(DataError, match=r"samples_infranode_tools_de_.*\.jsonl:41: is not JSON"):
        runs_from_harness(value, path, toolset)


STRANGE = (None, True, -1, 1.5, float("nan"), "", "x", [], [1], {}, {"a": 1})


def test_whatever_stands_where_it_should_not_is_an_error_or_is_shown(samples, toolset, write):
    """Every node of both files replaced by every strange value: one clear error, or a table."""
    value = results({TASK: samples[:2]}, original=2, groups={"infranode_tools_de_group": [TASK]})
    both = json.dumps([value, samples[:2]])
    for path in paths_of(json.loads(both)):
        for strange in STRANGE:
            changed = json.loads(both)
            put(changed, path, strange)
            if not is_harness_output(changed[0]) or not isinstance(changed[1], list):
                continue
            file = write(changed[0], {TASK: changed[1]})
            try:
                runs = runs_from_harness(changed[0], file, toolset)
            except DataError as error:
                assert "\n" not in str(error)
            else:
                assert render(report_sections(map(summarise, runs)), "text")


@pytest.mark.parametrize("value, is_output", [
    ({"results": {}}, True), ({"format": 1, "results": {}}, False), ([], False)])
def test_output_is_told_from_results(value, is_output):
    assert is_harness_output(value) is is_output
