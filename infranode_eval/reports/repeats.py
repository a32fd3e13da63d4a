"""How steady a run is that asked each task several times: what every repeat solved, and what only some did.

Pure. Strict like all numbers of a ranking: a failure is not solved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from infranode_eval.reports.archive import Row
from infranode_eval.statistics import pass_hat_k
from lm_eval_task.metrics import mean


@dataclass(frozen=True, slots=True)
class Steadiness:
    """call_match: of each repeat, in their order. changed: tasks that some repeats solve and others do not, of `tasks`.

    pass_hat: pass^1, pass^2, … up to the number of repeats; pass^k is the chance that k repeats of a task all solve it.
    """

    call_match: tuple[float, ...]
    changed: int
    tasks: int
    pass_hat: tuple[float, ...]

    @property
    def drift(self) -> float:
        """The largest difference between two repeats, 0–1."""
        return max(self.call_match) - min(self.call_match)


def steadiness_of(rows: Iterable[Row]) -> Steadiness | None:
    """None without a task that was asked twice."""
    by_repeat: dict[int, list[bool]] = {}
    by_task: dict[str, list[bool]] = {}
    for row in rows:
        solved = bool(row.score.call_match)
        by_repeat.setdefault(row.repeat, []).append(solved)
        by_task.setdefault(row.task_id, []).append(solved)
    most = max(map(len, by_task.values()), default=0)
    if most < 2:
        return None
    changed = sum(0 < sum(solved) < len(solved) for solved in by_task.values())
    pass_hat = [mean(pass_hat_k(sum(solved), len(solved), k) for solved in by_task.values() if len(solved) >= k) or 0.0
                for k in range(1, most + 1)]
    return Steadiness(tuple(sum(v) / len(v) for _, v in sorted(by_repeat.items())), changed, len(by_task),
                      tuple(pass_hat))
