"""The short table that a run prints: what it got, by category and by outcome, as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_HEADLINE = ("call_match", "tool_match", "args_match", "parsed", "ability")


def summary_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """The lines for one result: the strict numbers, the same over answered rows where they differ, then the counts."""
    counts = result["counts"]
    limit = result["settings"].get("limit")
    yield (f"{result['model']} ({result['backend']}, {result['mode']}), suite {result['suite']}, set {result['set']}"
           f"{f', first {limit} tasks' if limit else ''}: n {counts['n']}, scored {counts['scored']}, "
           f"failed {counts['failed']}")
    if result["setup"] and result["setup"] not in ("S", "N", "R", "custom"):
        yield result["setup"]
    yield ""
    yield from _numbers(result)
    yield ""
    yield from _categories(result)
    yield ""
    yield "outcomes: " + _counted(r["outcome"] for r in result["rows"] if r["call_match"] is not None)
    if counts["failed"]:
        yield "failures: " + _counted(r["outcome"] + (f" ({r['sub']})" if r["sub"] else "") for r in result["rows"]
                                      if r["call_match"] is None)


def per_cent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.1f}"


def _numbers(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'per cent':<16}" + "".join(f"{name:>12}" for name in _HEADLINE)
    yield f"{'all tasks':<16}" + "".join(f"{per_cent(result['metrics'][name]):>12}" for name in _HEADLINE)
    if result["counts"]["failed"]:
        yield f"{'answered only':<16}" + "".join(f"{per_cent(result['answered'][name]):>12}" for name in _HEADLINE)


def _categories(result: Mapping[str, Any]) -> Iterator[str]:
    """call_match of each category as k/n: few rows carry no decimals."""
    total = Counter(r["category"] for r in result["rows"])
    right = Counter(r["category"] for r in result["rows"] if r["call_match"])
    answered = Counter(r["category"] for r in result["rows"] if r["call_match"] is not None)
    yield f"{'category':<28}{'call_match':>12}"
    for name, n in total.items():
        shown = f"{right[name]}/{n}" if answered[name] else f"—/{n}"
        yield f"{name or '(none)':<28}{shown:>12}"


def _counted(names: Iterator[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(Counter(names).items(), key=lambda i: (-i[1], i[0])))
