"""What a run says at its end of the price of the permutation, and of what models may have seen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infranode_eval.db_routing.contamination import contamination_of
from infranode_eval.db_routing.opening import catalogue_of, opening
from infranode_eval.db_routing.permutation import permutation_line, prefix_tokens
from infranode_eval.db_routing.tools import alias_of, toolset


def result(**other: Any) -> dict[str, Any]:
    return {"model": "claude-opus-4-5", "backend": "anthropic", "settings": {"procedure": "agentic"},
            "rows": [{"task_id": f"t{n % 10}"} for n in range(20)], **other}


def test_the_prefix_is_rules_and_tools() -> None:
    tools = toolset(map(alias_of, range(1, 12)))
    rules = opening("native", tools, catalogue_of(()), "")[0]["content"]
    text = rules + json.dumps(tools.to_json(), ensure_ascii=False, separators=(",", ":"))
    assert abs(prefix_tokens(11) - len(text) / 3.3) <= 2 and prefix_tokens(11) > prefix_tokens(3)


def test_the_price_by_hand() -> None:
    """5 USD a million in, 0.5 from a cache, 1.25 times the price into it; ten questions, asked twice."""
    told = permutation_line(result(), 11)
    tokens = prefix_tokens(11)
    reads, both = (10 * tokens * 5 / 1e6 * factor for factor in (0.9, 0.9 + 0.25))
    assert told is not None and f"10 Fragen × etwa {tokens} Tokens" in told
    assert told.startswith(f"{reads:.3f} USD, mit Schreibaufschlag {both:.3f}:".replace(".", ","))


@pytest.mark.parametrize(("other", "reason"), [
    ({"model": "nobody-knows"}, "no price"), ({"backend": "baseline"}, "nothing was sent"),
    ({"settings": {"procedure": "single_shot"}}, "no tools")])
def test_where_there_is_no_price(other: dict[str, Any], reason: str) -> None:
    assert permutation_line(result(**other), 11) is None, reason


@pytest.mark.parametrize(("settings", "told"), [
    ({}, "seit Dezember 2026 öffentlich"),
    ({"bird": {"train": 560, "questions": 759}}, "560/759 = 73,78 % der Fragen stammen aus dem Trainingsteil")])
def test_what_models_may_have_seen(settings: dict[str, Any], told: str) -> None:
    assert told in contamination_of(settings)
