"""Prompt size, tokens and cost before a run."""

from __future__ import annotations

import json

import pytest

from infranode_eval import budget
from infranode_eval.budget import Price, Prompt, Size
from infranode_eval.tables import render
from infranode_eval.tokens import ESTIMATE, estimate, load_counter
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.prompt import messages, prompt_text
from lm_eval_task.records import Call, Task

PRICE = Price(2.0, 8.0, 0.5)


def test_prompted_mode_measures_exactly_what_is_sent(demo_tasks, toolset):
    found = budget.prompt_of("prompt", toolset, demo_tasks, len, 160)
    sent = [len(prompt_text(toolset, t.question)) for t in demo_tasks]
    assert (found.shortest.characters, found.longest.characters, found.total.characters) == (
        min(sent), max(sent), sum(sent))
    assert found.prefix.characters == sent[0] - len(demo_tasks[0].question)
    assert found.context == max(sent) + 160 and found.requests == 40
    assert 0.9 * found.prefix.characters < found.tools.characters < found.prefix.characters


def test_native_mode_counts_system_message_tools_and_question(demo_tasks, toolset):
    found = budget.prompt_of("native", toolset, demo_tasks[:1], len, 160)
    chat = sum(len(m["content"]) for m in messages("native", toolset, demo_tasks[0].question))
    tools = json.dumps(toolset.to_json(), ensure_ascii=False, separators=(",", ":"))
    assert found.longest.characters == chat + len(tools) and found.tools.characters == len(tools)


def test_gold_replies_are_counted_as_json():
    tasks = [Task("a", "?", (Call("weather", {"slug": "ulm"}),)), Task("b", "?", (Call("x"), Call("y"))),
             Task("c", "?", ())]
    assert budget.gold_tokens(tasks, len) == sum(map(len, (
        '{"arguments":{"slug":"ulm"},"name":"weather"}', '[{"arguments":{},"name":"x"},{"arguments":{},"name":"y"}]',
        "[]")))


def prompt(requests=10, prefix=1000, question=20):
    size = Size(0, prefix + question)
    total = Size(0, requests * (prefix + question))
    return Prompt("prompt", Size(0, prefix), Size(0, 900), size, size, total, requests, 0)


@pytest.mark.parametrize("price, expected, why", [
    (PRICE, (10200 * 2 - 9 * 1000 * 1.5 + 50 * 8, 10200 * 2 + 50 * 8, 10200 * 2 + 1600 * 8),
     "nine of ten requests read the prefix from the cache"),
    (Price(2.0, 8.0), (10200 * 2 + 50 * 8, 10200 * 2 + 50 * 8, 10200 * 2 + 1600 * 8), "no cache price, no discount"),
    (Price(0.0, 0.0, 0.0), (0, 0, 0), "a model of one's own"),
])
def test_cost_by_hand(price, expected, why):
    found = budget.cost_of(prompt(), price, gold=50, max_tokens=160)
    assert (found.lowest, found.uncached, found.highest) == pytest.approx(tuple(x / 1e6 for x in expected)), why


@pytest.mark.parametrize("given, price, why", [
    ((None, None, None, None), None, "nobody asked for a cost"),
    ((None, 1.0, 2.0, None), Price(1.0, 2.0, None), "prices of one's own"),
    (("gpt-4.1", None, None, None), Price(2.0, 8.0, 0.5), "from the table"),
    (("gpt-4.1", None, None, 0.0), Price(2.0, 8.0, 0.0), "one price overridden, by nothing to pay"),
])
def test_prices(given, price, why):
    assert budget.price_of(budget.read_prices(), *given) == price, why


@pytest.mark.parametrize("given, message", [
    (("gpt-99", None, None, None), "--model gpt-99: no price for it"),
    ((None, 1.0, None, None), "a cost needs --price-in and --price-out"),
    ((None, None, None, 1.0), "a cost needs --price-in and --price-out"),
    ((None, -1.0, 1.0, None), "a number from 0 on"),
    ((None, float("nan"), 1.0, None), "a number from 0 on"),
])
def test_impossible_prices_are_refused(given, message):
    with pytest.raises(UsageError, match=message):
        budget.price_of(budget.read_prices(), *given)


def test_the_price_table_says_when_it_was_made_and_that_nobody_checked_it():
    table = budget.read_prices()
    assert "UNVERIFIED" in table.about and table.as_of.startswith("20") and table.currency == "USD"
    assert all(p.cached is None or 0 <= p.cached <= p.price_in <= p.price_out for p in table.prices.values())


def test_the_shown_section(demo_tasks, toolset, golden):
    prompts = tuple(budget.prompt_of(m, toolset, demo_tasks, ESTIMATE.count, 160) for m in ("prompt", "native"))
    gold = budget.gold_tokens(demo_tasks, ESTIMATE.count)
    found = budget.Measurement("tasks.jsonl, set core", ESTIMATE.source, 160, gold, prompts, PRICE,
                               tuple(budget.cost_of(p, PRICE, gold, 160) for p in prompts))
    golden("measure.txt", render([budget.measurement_section(found)], "text"))


@pytest.mark.parametrize("text, tokens", [("", 0), ("a", 1), ("a" * 33, 10), ("a" * 34, 11)])
def test_the_estimate(text, tokens):
    assert estimate(text) == tokens


def test_a_tokenizer_is_counted_with(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        counter = load_counter(path)
        assert counter.count("a b a") == 3 and not counter.estimated


def test_a_missing_tokenizer_is_one_line(tmp_path):
    with pytest.raises(DataError, match="does not exist; expected a tokenizer.json"):
        load_counter(tmp_path / "none")


def test_a_broken_tokenizer_is_one_line(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises((DataError, UsageError), match="tokenizer") as caught:
        load_counter(tmp_path)
    assert "\n" not in str(caught.value)


def test_another_suite_measures_what_stands_before_its_own_questions(toolset, demo_tasks):
    ours = budget.prompt_of("native", toolset, demo_tasks[:1], len, 512)
    theirs = budget.prompt_of("native", toolset, demo_tasks[:1], len, 512, "Kurz.")
    assert theirs.tools == ours.tools
    assert theirs.prefix.characters == theirs.tools.characters + len("Kurz.")
    prompted = budget.prompt_of("prompt", toolset, demo_tasks[:1], len, 512, "Kurz.")
    assert prompted.prefix.characters == len("Kurz.")
