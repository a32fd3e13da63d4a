"""What a run needs before it starts: prompt size, context, tokens and money, in both modes.

Pure but for `read_prices`. Servers render native tools each in their own way, so native numbers are those of the JSON
that is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from infranode_eval.shipped import read_shipped
from infranode_eval.tables import ABSENT, Column, Section, Table, percent
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import native_system, prompt_prefix, render_tools
from lm_eval_task.records import Task, canonical_json
from lm_eval_task.tools import Toolset

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Size:
    """A length in characters and in tokens."""

    characters: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """One mode's prompts over all tasks.

    prefix: what stands before every question and can be cached. tools: its part that describes tools. shortest,
    longest: whole prompts, characters and tokens each on their own. total: all of them. context: tokens a model must
    hold, longest prompt and reply.
    """

    mode: str
    prefix: Size
    tools: Size
    shortest: Size
    longest: Size
    total: Size
    requests: int
    context: int


@dataclass(frozen=True, slots=True)
class Price:
    """Per million tokens: input, output, and input read from a cache (None: no such price)."""

    price_in: float
    price_out: float
    cached: float | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """A full run in the currency of the price: uncached and cached input, replies as long as the gold or the limit."""

    lowest: float
    uncached: float
    highest: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What plays of several requests take if they follow the golds, each on its own; tokens.

    cached: of the input, what stood in the request before, word for word. most_output: if every reply were as long as
    it may be. context: the longest request and a reply.
    """

    requests: int
    input_tokens: int
    cached: int
    output_tokens: int
    most_output: int
    context: int

    def cost(self, price: Price) -> Cost:
        told = self.input_tokens * price.price_in
        less = self.cached * (price.price_in - price.cached) if price.cached is not None else 0.0
        said = self.output_tokens * price.price_out
        return Cost((told - less + said) / MILLION, (told + said) / MILLION,
                    (told + self.most_output * price.price_out) / MILLION)


def prompt_of(mode: str, tools: Toolset, tasks: Sequence[Task], count: Callable[[str], int], max_tokens: int,
              before: str | None = None) -> Prompt:
    """Measure one mode; prompted: one user message, native: system message, tools as sent, question.

    before: the text of the messages up to the question, where it is not the main suite's.
    """
    if mode == "prompt":
        prefix, tool_text = prompt_prefix(tools) if before is None else before, render_tools(tools)
    else:
        tool_text = json.dumps(tools.to_json(), ensure_ascii=False, separators=(",", ":"))
        prefix = (native_system(tools) if before is None else before) + tool_text
    fixed = Size(len(prefix), count(prefix))
    questions = [Size(len(t.question), count(t.question)) for t in tasks]
    characters = [fixed.characters + q.characters for q in questions]
    tokens = [fixed.tokens + q.tokens for q in questions]
    return Prompt(mode, fixed, Size(len(tool_text), count(tool_text)), Size(min(characters), min(tokens)),
                  Size(max(characters), max(tokens)), Size(sum(characters), sum(tokens)), len(tasks),
                  max(tokens) + max_tokens)


def gold_tokens(tasks: Sequence[Task], count: Callable[[str], int]) -> int:
    """Tokens of the shortest right replies: the gold calls as JSON (one object, or a list of several)."""
    calls = [[c.to_json() for c in t.expected] for t in tasks]
    return sum(count(canonical_json(c[0] if len(c) == 1 else c)) for c in calls)


def cost_of(prompt: Prompt, price: Price, gold: int, max_tokens: int) -> Cost:
    """The first request pays the prefix in full; with a cache price the others read it from the cache."""
    uncached = prompt.total.tokens * price.price_in
    cached = uncached
    if price.cached is not None:
        cached -= (prompt.requests - 1) * prompt.prefix.tokens * (price.price_in - price.cached)
    return Cost((cached + gold * price.price_out) / MILLION, (uncached + gold * price.price_out) / MILLION,
                (uncached + prompt.requests * max_tokens * price.price_out) / MILLION)


# --- prices -----------------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model with the month they were collected; nobody has checked them here."""

    as_of: str
    currency: str
    about: str
    prices: Mapping[str, Price]


def read_prices() -> PriceTable:
    """The table that ships with the package."""
    value = read_shipped("prices.json")
    return PriceTable(value["as_of"], value["currency"], value["about"],
                      {r["model"]: Price(r["in"], r["out"], r["cached"]) for r in value["rows"]})


def price_of(table: PriceTable, model: str | None, price_in: float | None, price_out: float | None,
             cached: float | None) -> Price | None:
    """The given prices, filled from the model's row of the table; None if no price is asked for.

    Raise UsageError for an unknown model, a negative price, or one of --price-in and --price-out without the other.
    """
    if model is not None and model not in table.prices:
        raise UsageError(f"--model {model}: no price for it; give --price-in and --price-out, or one of "
                         f"{', '.join(table.prices)}")
    listed = table.prices[model] if model is not None else None
    if any(p is not None and not 0 <= p < float("inf") for p in (price_in, price_out, cached)):
        raise UsageError("a price per million tokens is a number from 0 on")
    price_in = price_in if price_in is not None or listed is None else listed.price_in
    price_out = price_out if price_out is not None or listed is None else listed.price_out
    cached = cached if cached is not None or listed is None else listed.cached
    if price_in is None and price_out is None and cached is None:
        return None
    if price_in is None or price_out is None:
        raise UsageError("a cost needs --price-in and --price-out, both per million tokens")
    return Price(price_in, price_out, cached)


# --- what is shown ----------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Measurement:
    """All numbers of one call of measure.py."""

    tasks: str
    token_source: str
    max_tokens: int
    gold_tokens: int
    prompts: tuple[Prompt, ...]
    price: Price | None
    costs: tuple[Cost, ...]
    forecasts: Mapping[str, Forecast] = field(default_factory=dict)     # by mode, where a task is several requests

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def forecast_section(name: str, tasks: int, found: Mapping[str, Forecast], source: str, price: Price | None,
                     notes: Sequence[str] = ()) -> Section:
    """Plays of several requests, one row a mode."""
    headers = ("requests", "input tokens", "of them repeated %", "output tokens", "output tokens, at most",
               "context needed, tokens")
    rows = tuple((mode, _number(f.requests), _number(f.input_tokens), percent(_ratio(f.cached, f.input_tokens)),
                  _number(f.output_tokens), _number(f.most_output), _number(f.context)) for mode, f in found.items())
    tables = [Table("A full run, if plays follow the golds", _columns(headers), rows, (
        "each request repeats all that was said before: input grows with every turn, and a model that takes detours "
        "sends more; a play may take up to twice the calls and two more",))]
    if price is not None:
        costs = {mode: f.cost(price) for mode, f in found.items()}
        heads = ("repeated input cached", "no cache", "no cache, longest replies")
        tables.append(Table("Cost of a full run", _columns(heads), tuple(
            (mode, f"{c.lowest:.4f}" if price.cached is not None else ABSENT, f"{c.uncached:.4f}", f"{c.highest:.4f}")
            for mode, c in costs.items()), (_price_note(price),)))
    return Section(f"{name}: {tasks} tasks", tuple(tables), (f"tokens: {source}", *notes))


def measurement_section(found: Measurement, notes: Sequence[str] = ()) -> Section:
    """Size, tokens of a full run, and cost, both modes side by side."""
    if found.forecasts:
        return forecast_section(found.tasks, found.prompts[0].requests, found.forecasts, found.token_source,
                                found.price, notes)
    tables = (_size_table(found), _run_table(found), *([_cost_table(found)] if found.price else []))
    return Section(f"{found.tasks}: {found.prompts[0].requests} tasks", tables,
                   (f"tokens: {found.token_source}", *notes))


def _size_table(found: Measurement) -> Table:
    headers = ("characters, longest", "tokens, longest", "tokens, shortest", "tools %", "cacheable prefix, tokens",
               "prefix %", "context needed, tokens")
    rows = tuple((p.mode, _number(p.longest.characters), _number(p.longest.tokens), _number(p.shortest.tokens),
                  percent(_ratio(p.tools.tokens, p.longest.tokens)), _number(p.prefix.tokens),
                  percent(_ratio(p.prefix.tokens, p.longest.tokens)), _number(p.context)) for p in found.prompts)
    return Table("Prompt of one task", _columns(headers), rows, (
        f"context: longest prompt and a reply of {found.max_tokens} tokens; a chat template adds some tens of tokens",
        "native: system message, tools and question as they are sent; a server may render tools longer or shorter"))


def _run_table(found: Measurement) -> Table:
    headers = ("requests", "input tokens", "cacheable %", "output tokens, gold calls", "output tokens, at most")
    rows = tuple((p.mode, _number(p.requests), _number(p.total.tokens),
                  percent(_ratio((p.requests - 1) * p.prefix.tokens, p.total.tokens)), _number(found.gold_tokens),
                  _number(p.requests * found.max_tokens)) for p in found.prompts)
    return Table("A full run, without repeats and retries", _columns(headers), rows)


def _cost_table(found: Measurement) -> Table:
    price = found.price
    cached = price is not None and price.cached is not None
    rows = tuple((p.mode, f"{c.lowest:.4f}" if cached else ABSENT, f"{c.uncached:.4f}", f"{c.highest:.4f}")
                 for p, c in zip(found.prompts, found.costs, strict=True))
    headers = ("prefix cached, gold replies", "no cache, gold replies", "no cache, longest replies")
    return Table("Cost of a full run", _columns(headers), rows, (
        _price_note(price) if price else "",
        "reasoning models bill their thoughts as output: expect the last column, and more with a larger --max-tokens"))


def _price_note(price: Price) -> str:
    cached = ABSENT if price.cached is None else price.cached
    return f"per million tokens: in {price.price_in:g}, cached {cached}, out {price.price_out:g}"


def _columns(headers: Sequence[str]) -> tuple[Column, ...]:
    return (Column("mode"), *(Column(h, right=True) for h in headers))


def _number(value: int) -> str:
    return f"{value:,}"


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
