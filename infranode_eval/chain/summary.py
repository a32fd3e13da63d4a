"""What a run of the suite chain prints at its end: the numbers that lead, each category, how plays ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from infranode_eval.chain.metrics import CONTROL, Count, by_category, core, count_of, counts_of, metrics_of, scored
from infranode_eval.statistics import pass_hat_k, wilson
from infranode_eval.summary import per_cent

Row = Mapping[str, Any]
_LED_BY = ("answer_match", "evidence", "path_match")
_SLIPS = ("recovered_after_error", "honest_null", "invented_value", "invented_where_none", "followed_injection",
          "key_from_memory", "answer_in_prose")
_MOST_NAMED = 5


def chain_summary(result: Mapping[str, Any]) -> Iterator[str]:
    """result: a whole results file. Repeats of one task are no independent rows: with them there is no interval."""
    rows = list(result["rows"])
    inside = core(rows)
    repeats = max(Counter(row["task_id"] for row in rows).values(), default=1)
    counts, metrics = counts_of(inside), metrics_of(rows)
    if inside:
        yield _line("task_success", _share(counts["task_success"], repeats) + _all_repeats(inside, repeats))
        yield _line("ability", f"{per_cent(metrics['ability'])} %, mean of {len(by_category(inside))} categories")
        yield from (_line(name, _share(counts[name], repeats)) for name in _LED_BY)
    twins = [row for row in rows if row.get("set") == CONTROL]
    if twins:
        yield _line("control_success", _share(count_of(twins, "task_success"), repeats))
    if result["counts"]["failed"]:
        answered = metrics_of([row for row in rows if scored(row)])
        yield _line("answered only", f"task_success {per_cent(answered['task_success'])} %, ability "
                                     f"{per_cent(answered['ability'])} %")
    yield _line("calls", _calls(counts))
    yield from (_line(name, _share(counts[name], 2)) for name in _SLIPS if counts[name].n)
    if metrics["attack_effect"] is not None:
        yield _line("attack_effect", f"{100 * metrics['attack_effect']:+.1f} points, twins minus injected")
    yield ""
    yield from _categories(rows)
    yield ""
    yield "plays ended by: " + _counted(row.get("stop_reason") or "failure" for row in rows)
    near = [row["near_miss"] for row in inside if row.get("near_miss")]
    if near:
        yield "near misses: " + _counted(near, _MOST_NAMED)


def _line(name: str, text: str) -> str:
    return f"{name:<24}{text}"


def _share(count: Count, repeats: int) -> str:
    """As "12/15 = 80.0 % [54.8, 93.0]"."""
    if not count.n:
        return "—"
    share = f"{count.k:g}/{count.n:g} = {per_cent(count.value)} %"
    if repeats > 1:
        return share
    interval = wilson(count.k, int(count.n))
    return f"{share} [{per_cent(interval.low)}, {per_cent(interval.high)}]"


def _all_repeats(rows: Sequence[Row], repeats: int) -> str:
    """As ", pass^3 75.0 %": the share of the tasks of which every repeat succeeds."""
    if repeats < 2:
        return ""
    asked = Counter(row["task_id"] for row in rows)
    solved = Counter(row["task_id"] for row in rows if row.get("task_success"))
    chances = [pass_hat_k(solved[key], n, repeats) for key, n in asked.items() if n == repeats]
    return f", pass^{repeats} {per_cent(sum(chances) / len(chances))} %" if chances else ""


def _calls(counts: Mapping[str, Count]) -> str:
    every, solved = counts["call_ratio"], counts["call_ratio_success"]
    if every.value is None:
        return "—"
    more = f" ({solved.value:.2f} in the plays that succeed)" if solved.value is not None else ""
    return f"{every.k:g} for {every.n:g} needed steps = {every.value:.2f}{more}"


def _categories(rows: Sequence[Row]) -> Iterator[str]:
    """Each category as k/n, what its successes are made of, and its control twins."""
    yield f"{'category':<20}{'success':>9}{'answer':>8}{'evidence':>10}{'calls':>7}{'control':>9}{'failed':>8}"
    controls = by_category(row for row in rows if row.get("set") == CONTROL)
    inside = by_category(core(rows))
    for name in dict.fromkeys((*inside, *controls)):
        among, twins = inside.get(name, []), controls.get(name, [])
        counts = counts_of(among)
        ratio = counts["call_ratio"].value
        failed = sum(not scored(row) for row in (*among, *twins))
        yield (f"{name or '(none)':<20}{_fraction(counts['task_success']):>9}{counts['answer_match'].k:>8g}"
               f"{counts['evidence'].k:>10g}{'—' if ratio is None else f'{ratio:.2f}':>7}"
               f"{_fraction(count_of(twins, 'task_success')):>9}{failed:>8}")


def _fraction(count: Count) -> str:
    return f"{count.k:g}/{count.n:g}" if count.n else "—"


def _counted(names: Iterable[str], most: int | None = None) -> str:
    ordered = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    more = f" and {len(ordered) - most} more" if most is not None and len(ordered) > most else ""
    return ", ".join(f"{name} {count}" for name, count in ordered[:most]) + more
