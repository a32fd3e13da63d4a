"""What a stored row tells about how its reply was served: recovery, spent thoughts, the length of its prompt.

Pure. A row does not store these; they follow from its verdict, its reply as received and the endpoint's token counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lm_eval_task.parse import calls_from_message
from lm_eval_task.prompt import native_system, prompt_prefix
from lm_eval_task.records import Reply, Score, canonical_json
from lm_eval_task.shapes import parts_of
from lm_eval_task.thoughts import split_thoughts
from lm_eval_task.tools import Toolset

CHARACTERS_PER_TOKEN = 4.0      # German text mixed with JSON; no tokenizer in use gets more out of a token
SHORTEST_LOOP, LONGEST_LOOP = 15, 120   # characters
FAR_BELOW = 0.5                 # a server may render tools shorter than they were sent, but not by half


def was_recovered(score: Score, reply: Reply | None, mode: str, tools: Toolset | None) -> bool | None:
    """Did reading the calls need a repair or a recovery rule? None without a readable call, or where it is unknown.

    A right call says it in its outcome and a reading without labels used no rule; any other reply is read once more,
    for which `tools` must be those of the run.
    """
    if score.failed or not score.parsed or not score.calls:
        return None
    if score.outcome in ("ok", "ok_recovered"):
        return score.outcome == "ok_recovered"
    if not score.labels:
        return False
    if reply is None or tools is None:
        return None
    return calls_from_message(reply.message, tools, mode, reply.finish_reason).recovered


def cut_in_reasoning(score: Score, message: Mapping[str, Any], usage: Any) -> bool:
    """Did the token budget end in reasoning, before any call?"""
    if score.outcome != "truncated" or score.calls:
        return False
    if reasoning_tokens(usage):
        return True
    parts = parts_of(message)
    thoughts = split_thoughts(parts.text)
    return thoughts.unclosed or thoughts.any or any(map(str.strip, parts.thoughts))


def cut_repeating(score: Score, message: Mapping[str, Any]) -> bool:
    """Did the token budget end in a loop, the same words at least three times in a row? A larger one would not help."""
    if score.outcome != "truncated":
        return False
    text = parts_of(message).text.strip()[-3 * LONGEST_LOOP:]
    end = len(text) - SHORTEST_LOOP     # where the last few characters start; a loop brings them up before
    at = text.rfind(text[-SHORTEST_LOOP:], 0, len(text) - 1) if end > 0 else -1
    while at >= max(0, end - LONGEST_LOOP):
        length = end - at
        tail = max(3 * length, 3 * SHORTEST_LOOP)
        if len(text) >= tail and text[-tail + length:] == text[-tail:-length]:
            return True
        at = text.rfind(text[-SHORTEST_LOOP:], 0, at + SHORTEST_LOOP - 1)
    return False


def budget_note(cut: int, max_tokens: Any, flag: str = "--max-tokens") -> str:
    """The note about `cut` replies that spent their budget on reasoning."""
    was = f" (it was {max_tokens})" if _count(max_tokens) else ""
    return f"{cut} {'reply' if cut == 1 else 'replies'} cut inside reasoning: raise {flag}{was}"


# --- token counts, in the words of every endpoint ---------------------------------------------------------------------

def reasoning_tokens(usage: Any) -> int:
    """Tokens that the endpoint counted as reasoning; 0 where it does not say."""
    if not isinstance(usage, Mapping):
        return 0
    details = (usage, usage.get("completion_tokens_details"), usage.get("output_tokens_details"))
    return max(_count(inner.get(key)) for inner in details if isinstance(inner, Mapping)
               for key in ("reasoning_tokens", "thoughtsTokenCount"))


def prompt_tokens(usage: Any) -> int | None:
    """Tokens of the prompt, those from a cache included; None where the endpoint does not say."""
    if not isinstance(usage, dict):
        return None
    for key in ("prompt_tokens", "promptTokenCount", "prompt_eval_count"):
        if count := _count(usage.get(key)):
            return count
    parts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")   # Anthropic counts them apart
    return sum(_count(usage.get(key)) for key in parts) or None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def least_prompt_tokens(mode: str, tools: Toolset) -> int:
    """A cautious estimate of the tokens in what precedes every question, the tools above all."""
    text = prompt_prefix(tools) if mode == "prompt" else native_system(tools) + canonical_json(tools.to_json())
    return round(len(text) / CHARACTERS_PER_TOKEN)


def lost_prompt(mode: str, tools: Toolset, counted: Iterable[int | None]) -> tuple[int, int] | None:
    """(longest prompt counted, least expected) in tokens if the tools cannot have been in any prompt, else None.

    counted: the endpoint's counts, one a row; the longest decides, since some servers leave cached tokens out.
    """
    longest = max((tokens for tokens in counted if tokens), default=None)
    if longest is None:
        return None
    least = least_prompt_tokens(mode, tools)
    return (longest, least) if longest < FAR_BELOW * least else None


def lost_note(mode: str, tools: Toolset, counted: Iterable[int | None]) -> str | None:
    """`lost_prompt` as a sentence for people, with the likely cause; None where nothing was lost."""
    lost = lost_prompt(mode, tools, counted)
    if lost is None:
        return None
    why = "the chat template does not render tools (llama.cpp: --jinja; elsewhere a template with tools)" \
        if mode == "native" else "the server cuts long prompts (Ollama: num_ctx) or a proxy does"
    return (f"the endpoint counted at most {lost[0]:,} prompt tokens where the tools alone need about {lost[1]:,}: the "
            f"model did not see them; likely cause: {why}. The numbers say nothing about the model")
