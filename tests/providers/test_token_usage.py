"""Token counts of every vendor in one shape."""

from __future__ import annotations

from typing import Any

import pytest

from infranode_eval.providers.token_usage import NAMES, normal_usage

ROWS = [
    ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5},
      "completion_tokens_details": {"reasoning_tokens": 2}}, (7, 3, 5, 2), "OpenAI chat"),
    ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": None}, (7, 3, None, None), "vLLM"),
    ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}, (7, 3, 4, None), "DeepSeek"),
    ({"input_tokens": 7, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 5},
      "output_tokens_details": {"reasoning_tokens": 2}}, (7, 3, 5, 2), "Responses"),
    ({"input_tokens": 1, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 3},
     (8, 3, 5, None), "Anthropic counts cached input apart"),
    ({"input_tokens": 1, "output_tokens": 3}, (1, 3, None, None), "Anthropic without a cache"),
    ({"input_tokens": 1, "output_tokens": 3, "output_tokens_details": {"thinking_tokens": 2}}, (1, 3, None, 2),
     "Anthropic's thoughts"),
    ({"promptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "cachedContentTokenCount": 5},
     (7, 5, 5, 2), "Gemini counts thoughts apart"),
    ({"promptTokenCount": 7, "thoughtsTokenCount": 2}, (7, 2, None, 2), "Gemini, nothing but thoughts"),
    ({"promptTokenCount": 7}, (7, None, None, None), "Gemini, no output"),
    ({"prompt_tokens": True, "completion_tokens": "3"}, (None, None, None, None), "no numbers"),
    ({"prompt_tokens": -1}, (None, None, None, None), "no count"),
    ({"input_tokens": 8, "output_tokens": 3, "cached_tokens": None, "reasoning_tokens": 2}, (8, 3, None, 2),
     "this shape itself"),
    ({}, (None, None, None, None), "nothing"),
]


@pytest.mark.parametrize(("raw", "expected", "reason"), ROWS, ids=[r[2] for r in ROWS])
def test_normal_usage(raw: dict[str, Any], expected: tuple[Any, ...], reason: str) -> None:
    assert normal_usage(raw) == dict(zip(NAMES, expected, strict=True)), reason


def test_no_usage_stays_none() -> None:
    assert normal_usage(None) is None
