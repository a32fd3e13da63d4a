"""What a run of the suite team prints at its end: the score with its parts, each scenario, what was refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infranode_eval.summary import per_cent
from infranode_eval.team.metrics import FACTORS, Play, sms_interval
from lm_eval_task.records import FAILURES

Row = Mapping[str, Any]
_HEAD = ("Szenario", "Runden", "SMS", "TCR", *(name.upper() for name in FACTORS), "Unteragenten", "MAF", "SAFt")


def team_summary(result: Mapping[str, Any]) -> Iterator[str]:
    """result: a whole results file."""
    rows = list(result["rows"])
    metrics = result["metrics"]
    plays = [Play.from_row(row, None) for row in rows if row["outcome"] not in FAILURES]
    interval = sms_interval(plays)
    spread = f" [{per_cent(interval.low)}–{per_cent(interval.high)}]" if interval else ""
    yield f"SMS   {per_cent(metrics['sms'])}{spread}"
    yield f"TCR   {per_cent(metrics['tcr'])}  ({metrics['rounds_passed']} von {metrics['rounds']} Runden)"
    yield "      " + "  ".join(f"{name.upper()} {per_cent(metrics[name])}" for name in FACTORS)
    yield (f"verweigerte Zugriffe: Leitung {metrics['maf']}, Unteragenten {metrics['saft']}; "
           f"{metrics['subagents']} Unteragenten")
    if failed := [row for row in rows if row["outcome"] in FAILURES]:
        names = ', '.join(row['task_id'] for row in failed)
        yield f"Ausfälle: {len(failed)} ({names}), oben als nicht bestanden gezählt"
    yield ""
    yield from _table([_HEAD, *map(_cells, rows)])
    for row in rows:
        if row["why"]:
            yield f"{row['task_id']}: {row['why']}"


def _cells(row: Row) -> tuple[str, ...]:
    team = row["team"]
    if team is None:
        return row["task_id"], row["outcome"], *[""] * (len(_HEAD) - 2)
    values = team["values"]
    passed = sum(one["passed"] for one in team["rounds"])
    return (row["task_id"], f"{passed}/{len(team['rounds'])}", per_cent(values["sms"]), per_cent(values["tcr"]),
            *(per_cent(values[name]) for name in FACTORS), str(len(team["subagents"])), str(values["maf"]),
            str(values["saft"]))


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in
                                                    zip(row[1:], widths[1:], strict=True))]).rstrip()
