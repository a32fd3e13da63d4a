"""The test bench as lm-eval sees it, without lm-eval: documents, metrics of one document, aggregations."""

from __future__ import annotations

import json
import math

import pytest

from lm_eval_task import bench_harness, harness
from lm_eval_task.bench import aggregate_cases, score_case
from lm_eval_task.bench_prompt import prompt_text
from lm_eval_task.cases import offered, read_cases
from lm_eval_task.errors import DataError
from lm_eval_task.records import Reply

CASES = read_cases()
DOCS = bench_harness.documents()


def gold_text(doc):
    calls = json.loads(doc["row"])["expected"]
    return json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False) if calls else "Wie bitte?"


def test_documents_are_flat_strings_so_that_no_library_adds_none_to_arguments():
    assert len(DOCS) == 42
    assert all(isinstance(value, str) for doc in DOCS for value in doc.values())


def test_the_prompt_is_the_one_of_the_direct_run_with_the_offered_tools_only():
    for doc, task in zip(DOCS, CASES.tasks, strict=True):
        assert bench_harness.doc_to_text(doc) == prompt_text(offered(task, CASES.tools), task.question, CASES.system)


def aggregated(per_document):
    """As lm-eval does, with the aggregations of the YAML."""
    ratio = {"richtig_je_schritt": bench_harness.ratio_of_sums, "ability": harness.ability_of}
    return {name: ratio.get(name, harness.mean_where_given)([metrics[name] for metrics in per_document])
            for name in per_document[0]}


REPLIES = {
    "gold": gold_text, "silence": lambda doc: "Dafür passt kein Werkzeug.", "empty": lambda doc: "",
    "first call": lambda doc: gold_text(doc) if not gold_text(doc).startswith("[") else
    json.dumps(json.loads(gold_text(doc))[0]), "cut": lambda doc: gold_text(doc)[:-5], "claim": lambda doc: "Erledigt.",
    "digits as text": lambda doc: gold_text(doc).replace(": 60", ': "60"'),
}


@pytest.mark.parametrize("name", REPLIES)
def test_the_numbers_are_those_of_the_direct_run(name):
    said = [REPLIES[name](doc) for doc in DOCS]
    got = aggregated([bench_harness.process_results(doc, [text]) for doc, text in zip(DOCS, said, strict=True)])
    pairs = [(task, score_case(task, Reply.from_text(text, None), CASES.tools, "prompt", CASES.zone))
             for task, text in zip(CASES.tasks, said, strict=True)]
    wanted = {key: math.nan if value is None else value for key, value in aggregate_cases(pairs).items()}
    assert got == pytest.approx(wanted, nan_ok=True)


def test_a_sum_over_nothing_is_no_number():
    assert bench_harness.ratio_of_sums([[1, 2], None, [2, 2]]) == 0.75
    assert math.isnan(bench_harness.ratio_of_sums([None]))


def test_a_document_from_elsewhere_is_said():
    with pytest.raises(DataError, match="document x does not hold a task"):
        bench_harness.process_results({"task_id": "x", "row": "{}"}, [""])
