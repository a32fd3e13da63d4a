"""What it costs that every question has its tools in another order: no prefix is shared between questions.

Source: specification, db_routing, 56.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infranode_eval.budget import read_prices
from infranode_eval.db_routing.costs import WRITE, Rates, price_of_permutation
from infranode_eval.db_routing.opening import catalogue_of, opening
from infranode_eval.db_routing.tools import alias_of, toolset
from infranode_eval.tokens import estimate
from lm_eval_task.records import canonical_json


def prefix_tokens(databases: int) -> int:
    """Rules and tools of a question, estimated."""
    tools = toolset(alias_of(number) for number in range(1, databases + 1))
    rules, _ = opening("native", tools, catalogue_of(()), "")
    return estimate(rules["content"]) + estimate(canonical_json(tools.to_json()))


def permutation_line(result: Mapping[str, Any], databases: int) -> str | None:
    """In German; None where the price table does not know the model, or nothing was sent with tools."""
    table = read_prices()
    model = result["model"]
    price = table.prices.get(model) or table.prices.get(model.rpartition("/")[2])
    if price is None or result["backend"] == "baseline" or result["settings"].get("procedure") != "agentic":
        return None
    rates = Rates.of(price, WRITE.get(result["backend"], 1.0))
    tokens, questions = prefix_tokens(databases), len({row["task_id"] for row in result["rows"]})
    cost = price_of_permutation(tokens, questions, rates)
    return (f"{_money(cost.reads)} {table.currency}, mit Schreibaufschlag {_money(cost.both)}: {questions} Fragen × "
            f"etwa {tokens} Tokens, die sonst aus einem Cache kämen (geschätzt)")


def _money(amount: float) -> str:
    return f"{amount:.3f}".replace(".", ",")
