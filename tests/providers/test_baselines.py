"""The baselines: what they answer in both modes, and that only the oracle needs the task."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from infranode_eval.providers import open_provider
from infranode_eval.providers.baselines import NO_CALL, PROGRAMS, QUESTION, REPLAYS
from infranode_eval.providers.protocol import Provider, ProviderOptions, Sampling, TaskReader
from infranode_eval.runner import Limits, Runner
from infranode_eval.suites import Setup, single
from lm_eval_task.dataset import load_tasks
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import messages
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import Tool, Toolset, call_problem, read_tools
from lm_eval_task.wording import asks_back, claims_done

TOOLS = read_tools()
SAMPLING = Sampling(max_tokens=160)


def baseline(name: str, tools: Toolset = TOOLS) -> Provider:
    return open_provider("baseline", ProviderOptions(name, tools))


def text_of(name: str, question: str) -> str:
    return baseline(name).ask(messages("prompt", TOOLS, question), None, SAMPLING).message["content"]


ANSWERS = [
    ("bm25", "Wie viele Trinkbrunnen gibt es in Köln?",
     {"name": "get_city_resource", "arguments": {"slug": "koeln", "resource": "drinking-water"}}, "one key, one city"),
    ("bm25", "Wie hoch ist die Arbeitslosenquote in Ulm und in Kiel?",
     {"name": "compare", "arguments": {"resource": "unemployment", "cities": "ulm,kiel"}}, "several cities: compare"),
    ("bm25", "Was zeigt die Abfahrtstafel des Bahnhofs mit der EVA-Nummer 8000105?",
     {"name": "station_board_departures", "arguments": {"eva": "8000105"}}, "the number stands in the question"),
    ("bm25", "Welche Echtzeitabfahrten hat die Haltestelle de:05315:11201 in Köln?",
     {"name": "transit_departures", "arguments": {"slug": "koeln", "stop_id": "de:05315:11201"}}, "a stop id"),
    ("bm25", "Zeig mir das Verzeichnis aller Datenquellen mit Lizenz.",
     {"name": "sources", "arguments": {}}, "a tool without arguments"),
    ("bm25", "Xyzzy?", NO_CALL, "nothing in common with any tool"),
    ("keyword", "Gibt es Ladepunkte in Bonn, die frei sind?",
     {"name": "get_city_resource", "arguments": {"slug": "bonn", "resource": "charging-status"}}, "shared word parts"),
    ("majority", "Irgendetwas über Münchens Bäume",
     {"name": "get_city_overview", "arguments": {"slug": "muenchen"}}, "the same tool, whatever is asked"),
    ("majority", "Irgendetwas", {"name": "get_city_overview", "arguments": {}}, "no city to fill in"),
    ("first_tool", "Wetter in Köln?", {"name": "get_city", "arguments": {"slug": "koeln"}}, "first of the list"),
    ("constant", "Wetter in Köln?", {"name": "get_city", "arguments": {"slug": "berlin"}}, "the same call"),
    ("never_calls", "Wetter in Köln?", NO_CALL, "a sentence"),
    ("asks_always", "Wetter in Köln?", QUESTION, "a question"),
    ("always_calls", "Wetter in Köln?", {"name": "get_city", "arguments": {"slug": "x"}}, "nothing of the question"),
]


@pytest.mark.parametrize(("name", "question", "expected", "reason"), ANSWERS)
def test_answers_in_prompt_mode(name: str, question: str, expected: dict | str, reason: str) -> None:
    text = text_of(name, question)
    assert (text if isinstance(expected, str) else json.loads(text)) == expected, reason


@pytest.mark.parametrize("name", PROGRAMS)
def test_native_mode_says_the_same_as_prompt_mode(name: str) -> None:
    question = "Wie viele Trinkbrunnen gibt es in Köln?"
    answer = baseline(name).ask(messages("native", TOOLS, question), TOOLS.to_json(), SAMPLING)
    text = text_of(name, question)
    if text in (NO_CALL, QUESTION):
        assert (answer.message["content"], answer.finish_reason) == (text, "stop")
    else:
        function = answer.message["tool_calls"][0]["function"]
        assert {"name": function["name"], "arguments": json.loads(function["arguments"])} == json.loads(text)
        assert answer.finish_reason == "tool_calls"


@pytest.mark.parametrize("name", ("bm25", "keyword"))
def test_searching_baselines_make_only_calls_that_fit_the_schema(name: str) -> None:
    for question in ("Abfahrten am Bahnhof Köln-Deutz?", "Vergleiche das Wetter in Köln, Bonn und Ulm.",
                     "Alles über Essen", "Abfahrten bitte"):
        text = text_of(name, question)
        if text != NO_CALL:
            assert call_problem(TOOLS, Call.from_json(json.loads(text))) is None


def test_baselines_work_on_tools_of_a_users_own() -> None:
    own = Toolset.of([t for t in TOOLS.tools if t.name in ("weather", "pois")])
    answer = baseline("bm25", own).ask(messages("prompt", own, "Wetter in Köln?"), None, SAMPLING)
    assert json.loads(answer.message["content"]) == {"name": "weather", "arguments": {"slug": "koeln"}}


GOLDS = [
    ((), None),
    ((Call("weather", {"slug": "koeln"}),), {"name": "weather", "arguments": {"slug": "koeln"}}),
    ((Call("weather", {"slug": "koeln"}), Call("sources")),
     [{"name": "weather", "arguments": {"slug": "koeln"}}, {"name": "sources", "arguments": {}}]),
]


@pytest.mark.parametrize(("gold", "expected"), GOLDS)
def test_the_oracle_replays_the_gold_of_its_task(gold: tuple[Call, ...], expected: object) -> None:
    oracle = baseline("oracle")
    assert isinstance(oracle, TaskReader)
    content = oracle.for_task(Task("t", "?", gold)).ask([], None, SAMPLING).message["content"]
    assert content == NO_CALL if expected is None else json.loads(content) == expected


def test_the_first_step_is_all_that_a_server_without_parallel_calls_would_send() -> None:
    calls = GOLDS[2][0]
    for gold, expected in (((), None), (calls[:1], calls[0]), (calls, calls[0])):
        provider = baseline("first_step_only").for_task(Task("t", "?", gold))
        content = provider.ask([], None, SAMPLING).message["content"]
        assert content == NO_CALL if expected is None else json.loads(content) == expected.to_json()


def test_only_those_that_replay_golds_read_tasks() -> None:
    assert not any(isinstance(baseline(name), TaskReader) for name in PROGRAMS)
    for name in REPLAYS:
        with pytest.raises(UsageError, match="whose gold it is handed"):
            baseline(name).ask([], None, SAMPLING)


def test_the_fixed_texts_are_a_question_and_none() -> None:
    assert (asks_back(QUESTION), asks_back(NO_CALL)) == (True, False)
    assert not claims_done(QUESTION) and not claims_done(NO_CALL)


MADE_UP = [
    ({"type": "string", "enum": ["lead", "kunde"]}, "lead"), ({"type": "string", "format": "date"}, "2000-01-01"),
    ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
    ({"type": "string", "format": "date-time"}, "2000-01-01T00:00:00"), ({"type": "integer", "minimum": 3}, 3),
    ({"type": "number"}, 1), ({"type": "boolean"}, True), ({"type": ["string", "null"]}, "x"), ({}, "x"),
    ({"type": "array"}, []), ({"type": "object"}, {}),
]


@pytest.mark.parametrize(("schema", "value"), MADE_UP)
def test_made_up_values_fit_the_schema(schema: dict, value: object) -> None:
    own = Toolset.of([Tool.from_json({"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "properties": {"a": schema}}}})])
    text = baseline("always_calls", own).ask(messages("prompt", own, "?"), None, SAMPLING).message["content"]
    assert json.loads(text) == {"name": "f", "arguments": {"a": value}}
    assert call_problem(own, Call("f", {"a": value})) is None


def test_always_calls_takes_the_first_tool_that_a_case_offers() -> None:
    few = Toolset.of(TOOLS.tools[3:5])
    answer = baseline("always_calls").for_tools(few).ask(messages("prompt", few, "?"), None, SAMPLING)
    assert json.loads(answer.message["content"])["name"] == TOOLS.tools[3].name


@pytest.mark.parametrize(("backend", "model"), [("baseline", "bm26"), ("telepathy", "m"), ("openai", "m")])
def test_unknown_names_and_missing_endpoints_are_usage_errors(backend: str, model: str) -> None:
    with pytest.raises(UsageError, match=r"bm25, keyword|openai, responses, anthropic, gemini, baseline|--base-url"):
        open_provider(backend, ProviderOptions(model, TOOLS))


# --- on the shipped core set ------------------------------------------------------------------------------------------

CORE = load_tasks(TOOLS, "core")


def call_match(name: str, mode: str) -> float:
    setup = Setup.of(mode, TOOLS, SAMPLING)
    played = Runner(single, setup, baseline(name), Limits(1)).run(CORE)
    assert not any(p.score.failed for p in played)
    return sum(p.score.call_match for p in played) / len(CORE)


@pytest.mark.parametrize("mode", ("prompt", "native"))
@pytest.mark.parametrize(("name", "least", "most"), [
    ("oracle", 1.0, 1.0), ("never_calls", 0.0, 0.0), ("constant", 0.0, 0.0), ("first_tool", 0.0, 0.0),
    ("majority", 0.1, 0.2), ("bm25", 0.05, 0.5), ("keyword", 0.05, 0.5)])
def test_floor_and_ceiling_of_the_core(name: str, least: float, most: float, mode: str) -> None:
    assert least <= call_match(name, mode) <= most


def test_majority_is_the_most_frequent_gold_call_of_the_core() -> None:
    shapes = Counter(tuple((c.name, *sorted(v for k, v in c.arguments.items() if k not in ("slug", "cities")))
                           for c in task.expected) for task in CORE)
    assert shapes.most_common(1)[0][0] == (("get_city_overview",),)
