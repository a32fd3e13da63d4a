"""The cases of the test bench: one JSON line each, in German field names; read, checked against the tools, as tasks.

A file of the user's own has the same format; its head line may be missing, and lines that begin with # are comments.
Source: specification, bench (the format of a case, Stages, Command and modes).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import Call, Task, read_json_lines
from lm_eval_task.schema import ZONE, ZONE_NAME, misfit, properties_of, zone_named
from lm_eval_task.tools import Tool, Toolset, data_file, read_tools

SETS = ("original", "paraphrase", "all")
STAGES = ("S1", "S2", "S3", "S4", "S5")
SILENT = ("S4", "S5")     # the stages in which no call is right
SUFFIX = "-p"             # of the ids of the paraphrased questions where both lists run
COMMENT = "#"


@dataclass(frozen=True, slots=True)
class Cases:
    """A list of cases with what its head says.

    tasks: category = stage, extra = the case's other fields. tools: all of them; `offered` says which ones a case sees.
    system: the text that precedes everything, "" without one. zone: of local times ("+02:00", "Europe/Berlin"), ""
    without one. about: which system text that is, in one line. notes: what may be an oversight, a line each.
    """

    tasks: tuple[Task, ...]
    tools: Toolset
    system: str
    zone: str
    version: str = ""
    about: str = ""
    notes: tuple[str, ...] = ()


def read_cases(path: str | Path | None = None, tools: Toolset | None = None, which: str = "original") -> Cases:
    """Read a case file (the project's own without a path), check every case, choose the questions.

    which: "original", "paraphrase" (the question `frage2`), or "all": both, ids of the second with the suffix "-p".
    Raise DataError with file, line and field for a broken case, UsageError for an unknown `which`.
    """
    if which not in SETS:
        raise UsageError(f"set {which!r} does not exist; expected one of {', '.join(SETS)}")
    shown = None if path is None else Path(path)
    path = data_file("bench_cases.jsonl") if shown is None else shown
    tools = _own_tools() if tools is None else tools
    head: Mapping[str, str] = {}
    tasks: dict[str, tuple[int, Task]] = {}
    for number, row in read_json_lines(path, COMMENT):
        try:
            if isinstance(row, dict) and "kopf" in row:
                if head or tasks:
                    raise DataError('"kopf" must be the first line')
                head = _read_head(row, path)
                continue
            task = task_of(row, tools)
            if task.task_id in tasks:
                raise DataError(f'"id": {task.task_id} stands already in line {tasks[task.task_id][0]}')
        except DataError as error:
            hint = _HINT if isinstance(error, _UnknownTool) and tools.by_name.keys() == _own_tools().by_name.keys() \
                else ""
            raise DataError(f"{error}{hint}", path, number) from None
        tasks[task.task_id] = number, task
    if not tasks:
        raise DataError("holds no case; expected one JSON object a line", path)
    if which == "all":
        _check_suffixed({name: number for name, (number, _) in tasks.items()}, path)
    chosen = [asked for number, task in tasks.values() for asked in _asked(task, which, path, number)]
    return Cases(tuple(chosen), tools, head.get("system", ""), head.get("zeitzone", ""), head.get("version", ""),
                 _about(head, shown), _notes(head, [task for _, task in tasks.values()], path))


def _about(head: Mapping[str, str], path: Path | None) -> str:
    """The system text's place and length. path: of the user's own file, whose place is worth telling."""
    system, file = head.get("system", ""), head.get("file")
    lines = len(system.splitlines())
    where = "built-in" if not system else \
        (str(path.parent / file) if path else file) if file else f"in {path or 'the head'}"
    return f"system text: {where}" + (f", {lines} line{'s' if lines != 1 else ''}" if system else "")


def _notes(head: Mapping[str, str], tasks: Sequence[Task], path: Path) -> tuple[str, ...]:
    notes = []
    if not head.get("system") and (path.parent / "system.txt").is_file():
        notes.append(f'{path}: no "kopf" names a "system", so {path.parent / "system.txt"} is not used; the first line '
                     'would be {"kopf": {"system": "system.txt"}}')
    bare = [task.task_id for task in tasks if task.category == "S5" and "fehlt" not in task.extra]
    if bare:
        notes.append(f'{path}: no "fehlt" in {_some(bare)}: whether a question back names what is missing is '
                     'not judged')
    return tuple(notes)


_HINT = "; if it is a tool of your own, give --tools FILE"


class _UnknownTool(DataError):
    """A case names a tool that is not there."""


def _own_tools() -> Toolset:
    return read_tools(data_file("bench_tools.json"))


def looks_like_cases(path: str | Path) -> bool:
    """Does the file begin as cases do, with a head or a case? For a better word to whoever forgot the suite."""
    try:
        row = next((row for _, row in read_json_lines(path, COMMENT)), None)
    except DataError:
        return False
    return isinstance(row, dict) and ("kopf" in row or {"stufe", "frage"} <= row.keys())


def _check_suffixed(lines: Mapping[str, int], path: Path) -> None:
    """Raise DataError for an id that the set all gives to another case's second question."""
    for name, number in lines.items():
        if name + SUFFIX in lines:
            raise DataError(f'"id": {name}{SUFFIX} is what the set all calls the second question of {name} '
                            f"(line {number}); choose another id", path, lines[name + SUFFIX])


def offered(task: Task, tools: Toolset) -> Toolset:
    """The tools that a case sees: those in `nur`, in the order of `nur`, else all."""
    names = task.extra.get("nur")
    return Toolset.of(tools.by_name[name] for name in names) if names else tools


def steps_of(task: Task) -> tuple[tuple[Call, ...], ...]:
    """For each expected call the calls that fulfil it: itself, then those in `oder`."""
    others = task.extra.get("oder")
    if not others:
        return tuple((call,) for call in task.expected)
    return tuple((call, *map(Call.from_json, more)) for call, more in zip(task.expected, others, strict=True))


def sets_of(task: Task) -> frozenset[tuple[str, ...]]:
    """The paths of `menge`, as match.Policy takes them."""
    return frozenset(tuple(_path_of(pointer)) for pointer in task.extra.get("menge", ()))


def _path_of(pointer: str) -> list[str]:
    """The names in a JSON pointer; "*" stands for every item of an array."""
    return [name.replace("~1", "/").replace("~0", "~") for name in pointer[1:].split("/")]


def _read_head(row: Mapping[str, Any], path: Path) -> dict[str, str]:
    """The head's texts; a `system` without a blank, or that ends in .txt or .md, is a file beside the case file.

    Its name then stands as "file" beside them.
    """
    head = row["kopf"]
    _known(row, ("kopf",), "the head line")
    if not isinstance(head, dict):
        raise DataError('"kopf" must be an object such as {"system": "…", "zeitzone": "+02:00"}')
    _known(head, ("system", "zeitzone", "version"), '"kopf"')
    for key, value in head.items():
        if not isinstance(value, str):
            raise DataError(f'"{key}" of "kopf" must be a text, found {_short(value)}')
    _check_zone(head.get("zeitzone", ""))
    system = head.get("system", "").strip()
    if "\0" in system:
        raise DataError('"system" of "kopf": holds a NUL character; take it out')
    if system and len(system.splitlines()) == 1 and (system.endswith((".txt", ".md")) or len(system.split()) == 1):
        head = {**head, "file": system}
        try:
            system = (path.parent / system).read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            raise DataError(f'"system" of "kopf": {system} cannot be read ({_reason(error)}); it must be a file '
                            'beside the case file, or a text of several words') from None
    return {**head, "system": system.strip()}


def _check_zone(zone: str) -> None:
    if ZONE_NAME.fullmatch(zone):
        try:
            zone_named(zone)
        except DataError as error:
            raise DataError(f'"zeitzone" of "kopf": {error}') from None
    elif zone and not ZONE.fullmatch(zone):
        raise DataError('"zeitzone" of "kopf" must be an offset such as "+02:00" or a name such as "Europe/Berlin", '
                        f'found {_short(zone)}')


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


_FIELDS = ("id", "stufe", "frage", "frage2", "nur", "erwartet", "reihenfolge", "menge", "fehlt", "prueft", "fallen")
_KEPT = ("nur", "reihenfolge", "menge", "fehlt", "prueft", "fallen")


def task_of(row: Any, tools: Toolset) -> Task:
    """The task of one case. Raise DataError (without path and line) that names the case and the field."""
    if not isinstance(row, dict):
        raise DataError(f"a case is a JSON object, found {_short(row)}")
    if "id" not in row and "task_id" in row:
        raise DataError('"task_id": a task of the main suite, no case; expected "id", "stufe", "frage", "erwartet"')
    _text(row, "id", "a case")
    where = f'case {row["id"]}'
    _known(row, _FIELDS, where)
    _text(row, "frage", where)
    for key in ("frage2", "prueft", "fallen"):
        if key in row:
            _text(row, key, where)
    if row.get("stufe") not in STAGES:
        raise DataError(f'{where}: "stufe" must be one of {", ".join(STAGES)}, found {_short(row.get("stufe"))}')
    names = _names(row, tools, where)
    steps = _steps(row, tools, names, where)
    _check_number_of_steps(row["stufe"], len(steps), where)
    if not isinstance(row.get("reihenfolge", False), bool):
        raise DataError(f'{where}: "reihenfolge" must be true or false, found {_short(row["reihenfolge"])}')
    _check_words(row, "fehlt", where)
    if "fehlt" in row and row["stufe"] not in SILENT:
        raise DataError(f'{where}: "fehlt" is for stages in which no call is right ({", ".join(SILENT)}), found '
                        f'stage {row["stufe"]}')
    _check_sets(row, [call for step in steps for call in step], tools, where)
    extra: dict[str, Any] = {key: row[key] for key in _KEPT if key in row}
    if any(len(step) > 1 for step in steps):
        extra["oder"] = [[call.to_json() for call in step[1:]] for step in steps]
    if "frage2" in row:
        extra["frage2"] = row["frage2"]
    return Task(row["id"], row["frage"], tuple(step[0] for step in steps), category=row["stufe"], extra=extra)


def row_of(task: Task) -> dict[str, Any]:
    """The line of a case file that holds this task. Raise DataError if its alternatives are not lists by step."""
    others = task.extra.get("oder", [[]] * len(task.expected))
    if not isinstance(others, list) or len(others) != len(task.expected) \
            or not all(isinstance(more, list) for more in others):
        raise DataError(f'case {task.task_id}: "oder" must hold a list of calls for each step, found {_short(others)}')
    steps = [{**_step(call.to_json()), **({"oder": [*map(_step, more)]} if more else {})}
             for call, more in zip(task.expected, others, strict=True)]
    return {"id": task.task_id, "stufe": task.category, "frage": task.question, "erwartet": steps,
            **{key: task.extra[key] for key in (*_KEPT, "frage2") if key in task.extra}}


def _step(call: Any) -> Any:
    """A call under the names of a case file; anything else as it is."""
    return {"args" if key == "arguments" else key: value for key, value in call.items()} \
        if isinstance(call, dict) else call


def _names(row: Mapping[str, Any], tools: Toolset, where: str) -> tuple[str, ...]:
    """The offered tools' names. Raise DataError for a `nur` that is no list of the tools' names."""
    if "nur" not in row:
        return tuple(tools.by_name)
    _check_words(row, "nur", where)
    for index, name in enumerate(row["nur"]):
        if name not in tools:
            raise _UnknownTool(f'{where}: "nur"[{index}]: {name} is not among the tools ({_some(tools.by_name)})')
        if name in row["nur"][:index]:
            raise DataError(f'{where}: "nur"[{index}]: {name} stands there twice')
    return tuple(row["nur"])


def _steps(row: Mapping[str, Any], tools: Toolset, names: Sequence[str], where: str) -> list[tuple[Call, ...]]:
    """Per step the expected call and its alternatives, each checked."""
    expected = row.get("erwartet")
    if not isinstance(expected, list):
        raise DataError(f'{where}: "erwartet" must be a list of calls ([]: no call is right), found {_short(expected)}')
    steps = []
    for index, step in enumerate(expected):
        field = f'{where}: "erwartet"[{index}]'
        call = _call(step, ("name", "args", "oder"), tools, names, field)
        others = step.get("oder", [])
        if not isinstance(others, list):
            raise DataError(f'{field}: "oder" must be a list of calls, found {_short(others)}')
        steps.append((call, *(_call(other, ("name", "args"), tools, names, f'{field}: "oder"[{at}]')
                              for at, other in enumerate(others))))
    return steps


def _call(value: Any, keys: Sequence[str], tools: Toolset, names: Sequence[str], where: str) -> Call:
    """A call of an offered tool whose arguments fit its schema."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise DataError(f'{where} must be {{"name": "…", "args": {{…}}}}, found {_short(value)}')
    _known(value, keys, where)
    name, arguments = value["name"], value.get("args", {})
    if name not in tools:
        raise _UnknownTool(f'{where}: "name": {name} is not among the tools ({_some(tools.by_name)})')
    if name not in names:
        raise DataError(f'{where}: {name} is not offered in this case; add it to "nur" ({_some(names)})')
    if not isinstance(arguments, dict):
        raise DataError(f'{where}: "args" must be an object, found {_short(arguments)}')
    try:
        json.dumps(arguments, allow_nan=False)
    except ValueError:
        raise DataError(f'{where}: "args" must hold JSON numbers only, not NaN or Infinity') from None
    tool = tools.by_name[name]
    reason = misfit(tool.parameters, arguments) or _unknown_argument(tool, arguments)
    if reason is not None:
        raise DataError(f'{where}: "args" of {name} do not fit the schema: {reason}')
    return Call(name, arguments)


def _unknown_argument(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """An argument that the schema does not name, even where it allows more."""
    unknown = next((name for name in arguments if name not in tool.properties), None)
    return unknown and f"there is no {unknown}; it has {', '.join(tool.properties) or 'no parameter'}"


def _check_number_of_steps(stage: str, number: int, where: str) -> None:
    wanted = {"S1": "one call", "S2": "one call", "S3": "two calls or more"}.get(stage, "[]: no call is right there")
    fits = number == 1 if stage in ("S1", "S2") else number > 1 if stage == "S3" else number == 0
    if not fits:
        raise DataError(f'{where}: "erwartet" of stage {stage} must hold {wanted}, found {number}')


def _check_words(row: Mapping[str, Any], key: str, where: str) -> None:
    value = row.get(key, ["…"])
    if not isinstance(value, list) or not value or not all(isinstance(v, str) and v.strip() for v in value):
        raise DataError(f'{where}: "{key}" must be a list of texts, found {_short(value)}')


def _check_sets(row: Mapping[str, Any], calls: Sequence[Call], tools: Toolset, where: str) -> None:
    """Each pointer of `menge` leads to an array in the schema of one of the case's tools."""
    if "menge" not in row:
        return
    _check_words(row, "menge", where)
    for index, pointer in enumerate(row["menge"]):
        path = _path_of(pointer)
        if not pointer.startswith("/") or not any(_leads_to_array(tools.by_name[c.name].parameters, path)
                                                  for c in calls):
            raise DataError(f'{where}: "menge"[{index}] must point to an array among the arguments, such as '
                            f'"/tags" or "/rows/*/tags", found {_short(pointer)}')


def _leads_to_array(schema: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Does the path lead to an array in the schema, or in one of its branches?"""
    branches = [b for keyword in ("anyOf", "oneOf") for b in schema.get(keyword, ()) if isinstance(b, dict)]
    if any(_leads_to_array(branch, path) for branch in branches):
        return True
    if not path:
        types = schema.get("type", ())
        return types == "array" or "array" in types
    inner = schema.get("items") if path[0] == "*" else properties_of(schema).get(path[0])
    return isinstance(inner, dict) and _leads_to_array(inner, path[1:])


def _asked(task: Task, which: str, path: Path, number: int) -> list[Task]:
    """The questions of a case that a set asks; `frage2` itself stays out of the task."""
    second = task.extra.get("frage2")
    first = replace(task, extra={key: value for key, value in task.extra.items() if key != "frage2"})
    if which == "original":
        return [first]
    if second is None:
        if which == "all":
            return [first]
        raise DataError(f'case {task.task_id}: "frage2" is missing; the set paraphrase asks it', path, number)
    if which == "paraphrase":
        return [replace(first, question=second)]
    return [first, replace(first, task_id=task.task_id + SUFFIX, question=second)]


def _text(row: Mapping[str, Any], key: str, where: str) -> None:
    if not isinstance(row.get(key), str) or not row[key].strip():
        what = "is missing" if key not in row else f"must be a text that is not blank, found {_short(row[key])}"
        raise DataError(f'{where}: "{key}" {what}')


def _known(row: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in row:
        if key not in keys:
            raise DataError(f'{where}: "{key}" is unknown; expected {", ".join(keys)}')


def _some(names: Any) -> str:
    names = list(names)
    return ", ".join(names[:12]) + (", …" if len(names) > 12 else "")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "…"
