"""The main suite as lm-eval sees it, without lm-eval: documents, metrics of one document, aggregations."""

import json
import math

import pytest

from lm_eval_task import harness
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import prompt_text
from lm_eval_task.tools import read_tools


@pytest.fixture(scope="module")
def docs():
    return harness.documents("core")


def gold_text(doc):
    calls = [{"name": c["name"], "arguments": c["arguments"]} for c in json.loads(doc["row"])["expected"]]
    return json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False)


def test_documents_are_flat_strings_so_that_no_library_adds_none_to_arguments(docs):
    assert docs
    assert all(isinstance(value, str) for doc in docs for value in doc.values())


def test_documents_carry_no_provenance(docs):
    assert not any({"verified", "review"} & json.loads(doc["row"]).keys() for doc in docs)


def test_full_set_holds_the_core_and_more(docs):
    full = {doc["task_id"] for doc in harness.documents("full")}
    assert full > {doc["task_id"] for doc in docs}


def test_a_category_holds_its_own_documents_and_names_no_categories(docs):
    poi = harness.documents("core", "poi_type")
    assert {doc["category"] for doc in poi} == {"poi_type"}
    assert {doc["categories"] for doc in poi} == {""}


def test_unknown_category_is_named_with_those_that_exist():
    with pytest.raises(UsageError, match="no category 'weather'.*resource_key"):
        harness.documents("core", "weather")


def test_the_prompt_is_the_one_of_the_direct_run(docs):
    assert harness.doc_to_text(docs[0]) == prompt_text(read_tools(), docs[0]["question"])


@pytest.mark.parametrize(("text", "expected"), [
    (gold_text, {"call_match": 1.0, "tool_match": 1.0, "parsed": 1.0, "args_given_tool": 1.0}),
    (lambda doc: "Dafür habe ich kein Werkzeug.",
     {"call_match": 0.0, "tool_match": 0.0, "parsed": 0.0, "args_given_tool": None, "no_call": 1.0,
      "malformed_call": 0.0}),
    (lambda doc: "", {"call_match": 0.0, "parsed": 0.0, "no_call": 0.0, "empty_reply": 1.0}),
    (lambda doc: gold_text(doc)[:-9], {"call_match": 0.0, "parsed": 0.0, "malformed_call": 1.0, "no_call": 0.0}),
    (lambda doc: "<think>Es geht um", {"call_match": 0.0, "truncated": 1.0, "no_call": 0.0}),
], ids=["gold", "silence", "empty", "cut", "unclosed thought"])
def test_metrics_of_one_document(docs, text, expected):
    for doc in docs:
        got = harness.process_results(doc, [text(doc)])
        assert {name: got[name] for name in expected} == expected, doc["task_id"]


def test_a_document_counts_in_its_own_category_only(docs):
    got = harness.process_results(docs[0], [gold_text(docs[0])])
    per_category = {k: v for k, v in got.items() if k.startswith("call_match_")}
    assert per_category.pop(f"call_match_{docs[0]['category']}") == 1.0
    assert set(per_category.values()) == {None}


def test_aggregations_leave_out_what_does_not_apply():
    assert harness.mean_where_given([1.0, None, 0.0]) == 0.5
    assert math.isnan(harness.mean_where_given([None]))


def test_ability_is_the_mean_over_categories_without_not_covered():
    items = [["a", 1.0], ["a", 0.0], ["b", 1.0], ["not_covered", 0.0]]
    assert harness.ability_of(items) == 0.75
