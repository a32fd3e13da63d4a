"""Read the stored transcripts of a result again: do calls and verdicts come out as they did then?

    python -m infranode_eval.db_routing rescan FILE         FILE: a result, with its transcripts beside it

A play of which a turn is read otherwise now is marked and not judged again: what the model would then have seen cannot
be known. Nothing is written.

Exit codes: 0 all as it was, 1 something is read or judged otherwise, 2 usage or data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from infranode_eval.beside import read_transcripts
from infranode_eval.db_routing.panel import Panel
from infranode_eval.db_routing.panel_choice import add_panel_flags, chosen_panel
from infranode_eval.db_routing.rescan import Changed, changed_in, rescored
from infranode_eval.db_routing.tasks import RoutingTask, tasks_of
from infranode_eval.db_routing.world import World
from infranode_eval.results import read_result
from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError, DataError

PROG = "rescan"
_JURY = frozenset(("bucket", "category"))       # hang on the votes of today, not on the transcript


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser("python -m infranode_eval.db_routing rescan", __doc__)
    parser.add_argument("file", type=Path, metavar="FILE")
    add_panel_flags(parser)
    try:
        chosen = parser.parse_args(arguments)
        result = _read(chosen.file)
        panel, _ = chosen_panel(chosen, chosen.file.parent)
        _check_panel(result, panel, chosen.file)
        lines = list(_lines(result, read_transcripts(chosen.file, result["transcripts"]), panel))
    except BenchError as error:
        complain(PROG, str(error))
        return error.exit_code
    show("".join(f"{line}\n" for line in lines))
    return 1 if len(lines) > 1 else 0


def _read(path: Path) -> dict[str, Any]:
    result = read_result(path)
    if result["suite"] != "db_routing" or "transcripts" not in result:
        raise DataError("is no result of the suite db_routing", path)
    return result


def _check_panel(result: Mapping[str, Any], panel: Panel, path: Path) -> None:
    expected = result["hashes"].get("panel")
    if expected != panel.sha256:
        raise DataError(f"belongs to the panel {expected}, found {panel.sha256}; name its folder by --tasks, or by "
                        "--bird and --descriptions", path)


def _lines(result: Mapping[str, Any], transcripts: Mapping[tuple[str, int], Mapping[str, Any]],
           panel: Panel) -> Iterator[str]:
    """What differs, a line each; the counts at the end."""
    tasks = {task.task_id: task for task in tasks_of(panel)}
    marked = judged = other = 0
    world = World({name: database.path for name, database in panel.databases.items()})
    try:
        for row in result["rows"]:
            transcript = transcripts.get((row["task_id"], row["repeat"]))
            if transcript is None:
                continue
            if changed := list(changed_in(transcript)):
                marked += 1
                yield from map(_read_otherwise, changed)
                continue
            judged += 1
            if told := list(_differing(row, tasks[row["task_id"]], transcript, world)):
                other += 1
                yield f"{row['task_id']} repeat {row['repeat']}: {'; '.join(told)}"
    finally:
        world.close()
    yield (f"{marked + judged} transcripts: {marked} read otherwise, which are marked and not judged again; {judged} "
           f"judged again, {other} otherwise")


def _read_otherwise(one: Changed) -> str:
    before, now = (" ".join(calls) or "no call" for calls in (one.before, one.now))
    return f"{one.task_id} repeat {one.repeat} turn {one.turn} is read otherwise: {before} → {now}"


def _differing(row: Mapping[str, Any], task: RoutingTask, transcript: Mapping[str, Any], world: World) -> Iterator[str]:
    now = json.loads(json.dumps(rescored(task, transcript, world).to_json(), ensure_ascii=False))
    for name, value in now.items():
        if name not in _JURY and row.get(name) != value:
            yield f"{name} {json.dumps(row.get(name), ensure_ascii=False)} → {json.dumps(value, ensure_ascii=False)}"
