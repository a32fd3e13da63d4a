"""Token counts in one shape, whichever vendor counted them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")

# Where each count stands: OpenAI chat and its kin, OpenAI Responses, Gemini; a second name leads into an object.
_PLACES = {
    "input_tokens": (("input_tokens",), ("prompt_tokens",), ("promptTokenCount",)),
    "output_tokens": (("output_tokens",), ("completion_tokens",)),
    "cached_tokens": (("prompt_tokens_details", "cached_tokens"), ("input_tokens_details", "cached_tokens"),
                      ("cache_read_input_tokens",), ("cachedContentTokenCount",), ("prompt_cache_hit_tokens",)),
    "reasoning_tokens": (("completion_tokens_details", "reasoning_tokens"),
                         ("output_tokens_details", "reasoning_tokens"), ("output_tokens_details", "thinking_tokens"),
                         ("thoughtsTokenCount",), ("reasoning_tokens",)),
}


def normal_usage(raw: Mapping[str, Any] | None) -> dict[str, int | None] | None:
    """The counts under `NAMES`; None where the endpoint gave none.

    input_tokens: all of them, those read from a cache included (Anthropic counts them apart). output_tokens: all that
    are billed as output, thoughts included (Gemini counts them apart).
    """
    if raw is None:
        return None
    usage = {name: next((n for place in places if (n := _count(raw, *place)) is not None), None)
             for name, places in _PLACES.items()}
    if usage["input_tokens"] is not None and _count(raw, "prompt_tokens") is None:
        apart = (_count(raw, key) for key in ("cache_read_input_tokens", "cache_creation_input_tokens"))
        usage["input_tokens"] += sum(n or 0 for n in apart)
    if usage["output_tokens"] is None:
        parts = [_count(raw, key) for key in ("candidatesTokenCount", "thoughtsTokenCount")]
        usage["output_tokens"] = sum(n or 0 for n in parts) if parts != [None, None] else None
    return usage


def _count(raw: Mapping[str, Any], key: str, inner: str | None = None) -> int | None:
    value: Any = raw.get(key)
    if inner is not None:
        value = value.get(inner) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
