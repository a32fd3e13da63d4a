"""The test bench in lm-eval's output: judged as run_eval judges it, and what a sample keeps where that differs."""

from __future__ import annotations

import json

import pytest

from infranode_eval.reports.archive import find_results, is_harness_output, read_json
from infranode_eval.reports.bench import metrics_of
from infranode_eval.reports.drilldown import case_lines, cases_of
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.harness_output import runs_from_harness, verdicts_from_harness
from infranode_eval.reports.harness_suites import PLAYED
from infranode_eval.reports.rescoring import rescore_samples, rescoring_sections
from infranode_eval.reports.sections import group_of, report_sections
from infranode_eval.reports.tasksets import case_sets
from infranode_eval.suites import SUITES
from infranode_eval.tables import render
from lm_eval_task import bench_harness, harness
from lm_eval_task.bench_prompt import prompt_fingerprint
from lm_eval_task.cases import read_cases
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import SCORER_VERSION
from lm_eval_task.records import tasks_fingerprint
from lm_eval_task.tools import read_tools
from tests.json_paths import paths_of, put
from tests.reports.test_harness_output import STRANGE

TASK, STAMP = "infranode_bench_de", "2026-12-01T10-00-00.1"
CASES = read_cases()
DOCS = bench_harness.documents()
TOOLS = read_tools()
SETS = case_sets()
AGGREGATIONS = {"richtig_je_schritt": bench_harness.ratio_of_sums, "ability": harness.ability_of}


def gold(doc):
    calls = json.loads(doc["row"])["expected"]
    return json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False) if calls else "Welche Angabe fehlt?"


def sample(doc, text):
    """One line of samples_*.jsonl as --log_samples makes it."""
    return {"doc_id": 0, "doc": doc, "target": "", "filter": "none", "resps": [[text]], "filtered_resps": [text],
            "arguments": {"gen_args_0": {"arg_0": bench_harness.doc_to_text(doc), "arg_1": {"until": []}}},
            **json.loads(json.dumps(bench_harness.process_results(doc, [text])))}


def results(leaves, *, original=42, groups=None, **more):
    """A results_*.json over leaf tasks: name -> list of samples."""
    numbers = list(bench_harness.process_results(DOCS[0], [""]))
    value = {"results": {}, "configs": {}, "n-samples": {}, "group_subtasks": groups or {}, "chat_template": None,
             "config": {"model": "hf", "model_args": {"pretrained": "org/small-model"}}, "system_instruction": None}
    for name, samples in leaves.items():
        value["results"][name] = {"alias": name, "sample_len": len(samples), "call_match_stderr,none": "N/A"} | {
            f"{m},none": AGGREGATIONS.get(m, harness.mean_where_given)([s[m] for s in samples]) for m in numbers}
        value["configs"][name] = {"generation_kwargs": {"until": [], "do_sample": False, "temperature": 0.0,
                                                        "max_gen_toks": 512},
                                  "num_fewshot": 0, "metadata": {"version": float(SCORER_VERSION), "set": "original"}}
        value["n-samples"][name] = {"original": original, "effective": len(samples)}
    return value | more


@pytest.fixture
def write(tmp_path):
    def write(value, leaves=()):
        path = tmp_path / f"results_{STAMP}.json"
        path.write_text(json.dumps(value))
        for name, samples in dict(leaves).items():
            (tmp_path / f"samples_{name}_{STAMP}.jsonl").write_text("".join(json.dumps(s) + "\n" for s in samples))
        return path
    return write


@pytest.fixture
def samples():
    """Gold, but S1-1 is silent, S2-1 is an empty reply, and one of S3 ends after its first call."""
    texts = {doc["task_id"]: gold(doc) for doc in DOCS} | {"S1-1": "Gern!", "S2-1": ""}
    texts["S3-1"] = json.dumps(json.loads(texts["S3-1"])[0])
    return [sample(doc, texts[doc["task_id"]]) for doc in DOCS]


@pytest.fixture
def one_run(write):
    def one_run(samples, logged=True, **more):
        value = results({TASK: samples}, **more)
        [run] = runs_from_harness(value, write(value, {TASK: samples} if logged else ()), TOOLS)
        return run
    return one_run


def test_every_suite_that_lm_eval_plays_is_one_of_run_evals():
    assert {played.opens for played in PLAYED} <= set(SUITES)
    assert not any(one.prefix.startswith(other.prefix) for one in PLAYED for other in PLAYED if one is not other)


def test_samples_give_the_numbers_that_lm_eval_gave_and_stand_among_the_usual_runs(samples, one_run):
    run = one_run(samples)
    assert (run.suite, run.mode, run.n, run.failed, run.set_name, run.notes) == (
        "bench", "prompt", 42, 1, "original", ())
    assert run.hashes == {"tasks": tasks_fingerprint(CASES.tasks), "tools": CASES.tools.fingerprint,
                          "prompt": prompt_fingerprint("prompt", CASES.tools, CASES.system)}
    found = summarise(run, SETS)
    assert {name: run.metrics[name] for name in metrics_of(found.bench)} == pytest.approx(metrics_of(found.bench))
    assert (found.bench.numbers.auftraege_gelungen.k, found.bench.numbers.schritte_je_auftrag.k) == (39, 34)
    assert found.answered["auftraege_gelungen"] == run.answered["auftraege_gelungen"] == 39 / 41
    assert group_of(found).setup == "B" and not any("differ" in line for line in found.warnings)


def test_the_given_tools_need_not_be_the_benchs(samples, write):
    value = results({TASK: samples})
    path = write(value, {TASK: samples})
    [one], [other] = runs_from_harness(value, path, TOOLS), runs_from_harness(value, path, CASES.tools)
    assert one.hashes == other.hashes and [r.score for r in one.rows] == [r.score for r in other.rows]


def test_more_calls_than_cases_are_no_share_and_yet_a_number(one_run):
    calls = json.dumps([{"name": "list_rooms", "arguments": {}}] * 3)
    run = one_run([sample(doc, calls) for doc in DOCS])
    assert run.metrics["schritte_je_auftrag"] == 3.0


def test_without_samples_only_numbers_are_known(samples, one_run):
    run = one_run(samples, logged=False)
    assert (run.rows, run.n, run.hashes["tasks"]) == ((), 42, None) and "--log_samples" in run.notes[0]
    assert run.metrics["auftraege_gelungen"] == 39 / 42 and run.metrics["schritte_je_auftrag"] == 34 / 42
    assert "bench" in render(report_sections([summarise(run, SETS)]), "text")


def test_a_limited_run_belongs_to_its_set(samples, one_run):
    found = summarise(one_run(samples[:5]), SETS)
    assert (found.dataset, found.known, found.bench.numbers.auftraege_gelungen.n) == ("original", True, 5)


STORED = {"auftraege_gelungen": 0.0, "call_match": 0.0, "streng_auftraege_gelungen": 0.0, "richtig_je_schritt": [0, 1],
          "formkorrekt": 0.0, "schritte_je_auftrag": 1.0}


@pytest.mark.parametrize("case, stored, numbers", [
    ("S2-2", STORED, {"auftraege_gelungen": (38, 42), "richtig_je_schritt": (33, 37), "formkorrekt": (25, 28),
                      "streng": (38, 42)}),
    ("S2-2", {"streng_auftraege_gelungen": 0.0}, {"auftraege_gelungen": (39, 42), "streng": (38, 42)}),
    ("S4-1", {"auftraege_gelungen": 0.0, "call_match": 0.0, "stillgehalten": 0.0, "schritte_je_auftrag": 2.0},
     {"stillgehalten": (13, 14), "schritte_je_auftrag": (36, 42), "auftraege_gelungen": (38, 42)}),
    ("S5-1", {"asked": 0.0}, {"stillgehalten": (14, 14)}),
], ids=["a wrong call", "only the original's rule", "a silence that was none", "a silence that did not ask"])
def test_a_verdict_that_the_scorer_no_longer_gives_counts_as_stored(samples, one_run, case, stored, numbers):
    next(s for s in samples if s["doc"]["task_id"] == case).update(stored)
    run = one_run(samples)
    found = summarise(run, SETS).bench
    assert {name: (getattr(found.numbers, name).k, getattr(found.numbers, name).n) for name in numbers} == numbers
    assert run.notes[0].startswith("1 of 42 stored verdicts differ")
    assert (found.silence.silent, found.silence.asked) == (8, 7 if case == "S5-1" else 8)


def test_what_an_older_scorer_stored_counts_as_this_one_where_it_agrees(samples, write):
    value = results({TASK: samples})
    value["configs"][TASK]["metadata"]["version"] = 1.0
    for line in samples:
        line.pop("claims_done")
    [run] = runs_from_harness(value, write(value, {TASK: samples}), TOOLS)
    assert run.scorer_version == SCORER_VERSION and "stored by scorer 1.0" in run.notes[0]


def test_a_case_that_cannot_be_read_keeps_its_stored_verdict(samples, one_run):
    row = json.loads(samples[20]["doc"]["row"])
    samples[20]["doc"] = samples[20]["doc"] | {"row": json.dumps(row | {"oder": [5]})}
    run = one_run(samples)
    assert run.hashes["tasks"] is None and len(run.tasks) == 41 and "cannot be checked" in run.notes[0]
    assert summarise(run, SETS).bench.numbers.auftraege_gelungen.k == 39
    assert run.answered["richtig_je_schritt"] == 34 / 36


@pytest.mark.parametrize("change, usual, why", [
    ({}, True, "as shipped"),
    ({"generation_kwargs": {"max_gen_toks": 160, "temperature": 0.0}}, False, "the main suite's length"),
    ({"generation_kwargs": {"max_gen_toks": 512, "temperature": 0.7, "do_sample": True}}, False, "sampling"),
    ({"num_fewshot": 2}, False, "shots"),
])
def test_set_up(samples, write, change, usual, why):
    value = results({TASK: samples})
    value["configs"][TASK] |= change
    [run] = runs_from_harness(value, write(value, {TASK: samples}), TOOLS)
    assert (group_of(summarise(run, SETS)).setup == "B") is usual, why


def test_both_suites_in_one_file_are_two_runs_and_tasks_of_a_bench_group_as_well(samples, write, demo_tasks, toolset,
                                                                                 answer):
    from tests.reports import test_harness_output as main

    other = [main.sample(task, answer(task), toolset) for task in demo_tasks]
    value, rest = results({TASK: samples, f"{TASK}_again": samples}), main.results({main.TASK: other}, original=40)
    for key in ("results", "configs", "n-samples"):
        value[key] |= rest[key]
    value["group_subtasks"] = {"all_of_it": [main.TASK, TASK, f"{TASK}_again"]}
    path = write(value, {TASK: samples, f"{TASK}_again": samples, main.TASK: other})
    runs = runs_from_harness(value, path, toolset)
    assert [(run.suite, run.settings["task"], run.n) for run in runs] == [
        ("infranode_tools_de", "all_of_it", 40), ("bench", TASK, 42), ("bench", f"{TASK}_again", 42)]


def test_one_case_under_the_lens(samples, write):
    value = results({TASK: samples})
    path = write(value, {TASK: samples})
    assert find_results([path.parent]) == (path,) and is_harness_output(read_json(path))
    [case], ids = cases_of(path, "S3-1", SETS, TOOLS)
    lines = list(case_lines([case]))
    assert len(ids) == 42 and any("first step only" in line for line in lines)
    next(s for s in samples if s["doc"]["task_id"] == "S3-1")["parsed"] = 0.0
    [case], _ = cases_of(write(value, {TASK: samples}), "S3-1", SETS, TOOLS)
    assert "  matches   parsed no, call_match no" in case_lines([case]), "what lm-eval does not keep is not made up"


# --- judged again -----------------------------------------------------------------------------------------------------

def judged(samples, write):
    value = results({TASK: samples})
    [(run, pairs)] = verdicts_from_harness(value, write(value, {TASK: samples}), TOOLS)
    return rescore_samples(run, pairs)


def test_what_is_stored_by_this_scorer_does_not_change(samples, write):
    found = judged(samples, write)
    assert (found.changes, found.reworded, found.result) == ((), 0, None)
    assert found.before == pytest.approx(found.after) and found.answered[0] == found.answered[1]


@pytest.mark.parametrize("case, stored, moved, before, after", [
    ("S2-2", STORED, 1, "unknown: no call_match", "ok: call_match"),
    ("S1-1", {"auftraege_gelungen": 1.0, "call_match": 1.0}, -1, "unknown: call_match", "no_call: no call_match"),
    ("S4-1", {"auftraege_gelungen": 0.0, "call_match": 0.0, "stillgehalten": 0.0}, 1, "unknown: no call_match",
     "abstain_ok: call_match"),
], ids=["a wrong call", "a right one", "no silence"])
def test_a_verdict_that_differs_is_named(samples, write, case, stored, moved, before, after):
    next(s for s in samples if s["doc"]["task_id"] == case).update(stored)
    found = judged(samples, write)
    [change] = found.changes
    assert (change.task_id, change.moved, change.before, change.after) == (case, moved, before, after)
    assert (found.before["auftraege_gelungen"], found.after["auftraege_gelungen"]) == ((39 - moved) / 42, 39 / 42)
    assert found.answered[1]["auftraege_gelungen"] == 39 / 41
    assert "lm-eval's output is never written" in render(rescoring_sections([found], write=True), "text")


def test_a_count_alone_that_differs_is_no_changed_verdict(samples, write):
    next(s for s in samples if s["doc"]["task_id"] == "S2-2").update({"streng_auftraege_gelungen": 0.0})
    found = judged(samples, write)
    assert (found.changes, found.reworded) == ((), 1)
    assert (found.before["streng_auftraege_gelungen"], found.after["streng_auftraege_gelungen"]) == (38 / 42, 39 / 42)
    assert "streng_auftraege_gelungen" in render(rescoring_sections([found], write=False), "text")


@pytest.mark.parametrize("edit, message", [
    (lambda lines: lines[0]["arguments"]["gen_args_0"].update(arg_0="Frage"), "was asked with other tools or another"),
    (lambda lines: lines[3]["doc"].update(row="{}"), "holds no task that fits these tools"),
], ids=["another prompt", "no case"])
def test_what_cannot_be_judged_again_is_refused(samples, write, edit, message):
    samples = json.loads(json.dumps(samples))
    value = results({TASK: samples})
    edit(samples)
    with pytest.raises(DataError, match=message):
        verdicts_from_harness(value, write(value, {TASK: samples}), TOOLS)


# --- strange files ----------------------------------------------------------------------------------------------------

def test_whatever_stands_where_it_should_not_is_an_error_or_is_shown(samples, write):
    """Every node of both files, and of a case in it, replaced by every strange value: one clear error, or a table."""
    some = [s for s in samples if s["doc"]["task_id"] == "S3-1"]
    value = results({TASK: some}, original=1)
    whole = json.dumps([value, some, [json.loads(s["doc"]["row"]) for s in some]])
    for path in paths_of(json.loads(whole)):
        for strange in STRANGE:
            changed, lines, rows = json.loads(whole)
            put(both := [changed, lines, rows], path, strange)
            changed, lines, rows = both
            if not is_harness_output(changed) or not isinstance(lines, list) or not isinstance(rows, list):
                continue
            for line, row in zip(lines, rows, strict=False) if path[0] == 2 else ():
                line["doc"]["row"] = json.dumps(row)
            file = write(changed, {TASK: lines})
            try:
                runs = runs_from_harness(changed, file, TOOLS)
                cases, _ = cases_of(file, "S3-1", SETS, TOOLS)
            except DataError as error:
                assert "\n" not in str(error)
            else:
                assert render(report_sections(summarise(run, SETS) for run in runs), "text")
                assert list(case_lines(cases)) or not cases
