"""The short table that a run prints: what it got, by category and by outcome, as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from infranode_eval.serving import lost_note, prompt_tokens
from lm_eval_task.records import FAILURES
from lm_eval_task.tools import Toolset

Seen = Counter[tuple[str, str, str | None, bool | None]]

_HEADLINE = ("call_match", "tool_match", "args_match", "parsed", "ability")


def summary_lines(result: Mapping[str, Any], tools: Toolset | None = None,
                  own: Callable[[Mapping[str, Any]], Iterator[str] | None] = lambda result: None,
                  about: str = "") -> Iterator[str]:
    """The lines for one result: the strict numbers, the same over answered rows where they differ, then the counts.

    tools: those of the run; with them a prompt that cannot have held them is told. own: the suite's own numbers.
    about: which text preceded the questions.
    """
    counts = result["counts"]
    limit, arm = result["settings"].get("limit"), result["settings"].get("arm")
    few = result["settings"].get("per_category")
    seen, repeats = _seen(result["rows"])
    each = f" (tasks {counts['n'] // repeats}, repeats {repeats})" if repeats > 1 else ""
    yield (f"{result['model']} ({result['backend']}, {result['mode']}), suite {result['suite']}, set {result['set']}"
           f"{f', arm {arm}' if arm else ''}{f', first {limit} tasks' if limit else ''}"
           f"{f', {few} tasks a category' if few else ''}: n {counts['n']}{each}, "
           f"scored {counts['scored']}, failed {counts['failed']}")
    if result["setup"] and result["setup"] not in ("S", "N", "R", "custom"):
        yield result["setup"]
    if about:
        yield about
    yield ""
    numbers = own(result)
    yield from _numbers(result) if numbers is None else numbers
    yield ""
    if numbers is None:
        yield from _categories(seen)
        yield ""
    if counts["scored"]:
        yield "outcomes: " + _counted((outcome, n) for (_, outcome, _, right), n in seen.items() if right is not None)
    if counts["failed"]:
        yield "failures: " + _counted((outcome + (f" ({sub})" if sub else ""), n)
                                      for (_, outcome, sub, right), n in seen.items() if right is None)
    if "totals" in result:
        yield "took: " + ", ".join(_took(result["totals"]))
    yield from (f"note: {note}" for note in (*result.get("notes", ()), *result["settings"].get("deviations", ())))
    if lost := _lost_tools(result, tools):
        yield f"note: {lost}"


def _seen(rows: Iterable[Mapping[str, Any]]) -> tuple[Seen, int]:
    """How often each verdict occurs, and how often a task was asked; in one pass, for the rows may lie on disk.

    A verdict is whether the row was solved, None where no answer was obtained.
    """
    seen, repeats = Seen(), 1
    for row in rows:
        verdict = None if row["outcome"] in FAILURES else bool(row.get("call_match", row.get("task_success")))
        seen[row["category"], row["outcome"], row["sub"], verdict] += 1
        repeats = max(repeats, row["repeat"])
    return seen, repeats


def _lost_tools(result: Mapping[str, Any], tools: Toolset | None) -> str | None:
    """The endpoint's own count says that the prompt cannot have held the tools."""
    if tools is None or "totals" not in result:   # a baseline sees no prompt
        return None
    return lost_note(result["mode"], tools, (prompt_tokens(row.get("usage_raw")) for row in result["rows"]))


def _took(totals: Mapping[str, Any]) -> Iterator[str]:
    """Requests, tokens, seconds and money, as far as they are known."""
    yield f"{totals['attempts']:,} requests"
    if totals["input_tokens"] is not None:
        cached = f" ({totals['cached_tokens']:,} cached)" if totals["cached_tokens"] else ""
        yield f"{totals['input_tokens']:,} tokens in{cached}"
    if totals["output_tokens"] is not None:
        thoughts = f" ({totals['reasoning_tokens']:,} reasoning)" if totals["reasoning_tokens"] else ""
        yield f"{totals['output_tokens']:,} out{thoughts}"
    if totals["latency_p50_s"] is not None:
        yield f"latency p50 {totals['latency_p50_s']:.2f} s, p95 {totals['latency_p95_s']:.2f} s"
    if (pacing := totals.get("pacing")) and pacing["pauses"]:
        yield f"{pacing['refused']} refused by rate limits ({pacing['paused_s']:.0f} s of pauses)"
    if (cost := totals["cost"]) is not None:
        yield f"cost {cost['amount']:.4f}{' ' + cost['currency'] if cost['currency'] else ''} ({cost['source']})"


def per_cent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.1f}"


def _numbers(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'per cent':<16}" + "".join(f"{name:>12}" for name in _HEADLINE)
    yield f"{'all tasks':<16}" + "".join(f"{per_cent(result['metrics'][name]):>12}" for name in _HEADLINE)
    if result["counts"]["failed"]:
        yield f"{'answered only':<16}" + "".join(f"{per_cent(result['answered'][name]):>12}" for name in _HEADLINE)


def _categories(seen: Seen) -> Iterator[str]:
    """call_match of each category as k/n: few rows carry no decimals."""
    total, right, answered = Counter[str](), Counter[str](), Counter[str]()
    for (category, _, _, matched), count in seen.items():
        total[category] += count
        right[category] += count if matched else 0
        answered[category] += count if matched is not None else 0
    yield f"{'category':<28}{'call_match':>12}"
    for name, n in total.items():
        shown = f"{right[name]}/{n}" if answered[name] else f"—/{n}"
        yield f"{name or '(none)':<28}{shown:>12}"


def _counted(names: Iterable[tuple[str, int]]) -> str:
    totals = Counter[str]()
    for name, count in names:
        totals[name] += count
    return ", ".join(f"{name} {count}" for name, count in sorted(totals.items(), key=lambda i: (-i[1], i[0])))
