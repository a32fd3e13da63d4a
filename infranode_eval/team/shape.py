"""The form of manifest.json and rounds.json: which keys there are, what each holds, and how they refer to each other.

Pure: values in, findings out; no file is opened (specification: team, section 4).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from infranode_eval.team.finding import ERROR, WARNING, Finding, fault

DOMAINS = ("law", "medicine", "engineering", "business", "science")
CONSTRAINTS = tuple(f"C{number}" for number in range(1, 11))
OF_A_ROUND = ("C7", "C8")               # these name the earlier round that they lean on: C7:r1
PLACEHOLDERS = ("workspace", "scripts", "scenario_id", "runs", "before")
FOR_AGENTS = ("workspace", "scenario_id")     # what main, and its sandbox, in which `before` runs, can see
MAX_TIMEOUT_S, DEFAULT_TIMEOUT_S = 120, 20
PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
MAX_NAME, MAX_PATH, MAX_DEPTH = 200, 1_000, 64      # bytes of a name, bytes and names of a path
MAX_ID, MAX_PATTERN, MAX_COMMAND = 64, 1_000, 30_000        # characters
_ID = re.compile(r"[A-Za-z0-9_-]+")
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")

Problem = Callable[[Any], "str | None"]      # what was expected, None if the value fits


class Field(NamedTuple):
    problem: Problem
    required: bool = False
    recommended: bool = False       # a warning where it is missing


def path_problem(value: Any) -> str | None:
    """A relative path in the form that it is stored in: no '..', no '.', no doubled or trailing slash."""
    if not isinstance(value, str) or not value:
        return "a relative path"
    if value.startswith("/"):
        return "a relative path, not an absolute one"
    parts = value.split("/")
    if ".." in parts:
        return 'a path without ".."'
    if "" in parts or "." in parts or "\\" in value or any(ord(sign) < 32 or ord(sign) == 127 for sign in value):
        return "a plain path like akten/satzung.txt"
    return None if short_enough(value) else SHORT


SHORT = f"a path of at most {MAX_DEPTH} names, {MAX_NAME} bytes a name and {MAX_PATH} bytes in all"


def short_enough(path: str) -> bool:
    """Can it be copied below any folder? A file system takes 255 bytes a name and 4,096 bytes a path."""
    names = [len(name.encode("utf-8", "surrogateescape")) for name in path.split("/")]
    return len(names) <= MAX_DEPTH and max(names) <= MAX_NAME and sum(names) + len(names) <= MAX_PATH


def covers(grant: str, path: str) -> bool:
    """Is `path` the grant itself, or below it? Both relative."""
    return PurePosixPath(path).is_relative_to(grant)


def _is(test: Callable[[Any], bool], expected: str) -> Problem:
    return lambda value: None if test(value) else expected


def or_null(problem: Problem) -> Problem:
    return lambda value: None if value is None or problem(value) is None else f"{problem(value)}, or null"


def _whole(low: int, high: int | None) -> Problem:
    expected = f"a whole number from {low}" + ("" if high is None else f" to {high}")
    return _is(lambda v: type(v) is int and v >= low and (high is None or v <= high), expected)


def _one_of(*names: str) -> Problem:
    return _is(lambda v: isinstance(v, str) and v in names, f"one of {', '.join(names)}")


def _each_once(problem: Problem, empty: bool = True) -> Problem:
    def listed(value: Any) -> str | None:
        if not isinstance(value, list) or not (value or empty):
            return "a list" if empty else "a list with at least one entry"
        for item in value:
            if expected := problem(item):
                return f"each entry to be {expected} (not {item!r})"
        return None if len(set(value)) == len(value) else "each entry once"
    return listed


def _regex_problem(value: Any) -> str | None:
    if not isinstance(value, str) or not value:
        return "a regular expression"
    if len(value) > MAX_PATTERN:
        return f"a regular expression of at most {MAX_PATTERN} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        return f"a regular expression that Python's re can read ({error})"
    return None


def _command_problem(value: Any) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return "a text that is not blank"
    return None if len(value) <= MAX_COMMAND else f"a command of at most {MAX_COMMAND} characters"


TEXT = _is(lambda v: isinstance(v, str) and bool(v.strip()), "a text that is not blank")
STRING = _is(lambda v: isinstance(v, str), "a text")
_ID_FORM = _is(lambda v: isinstance(v, str) and bool(_ID.fullmatch(v)), "a name of A-Z a-z 0-9 _ -")


def _id_problem(value: Any) -> str | None:
    """An id is part of file names."""
    return _ID_FORM(value) or (None if len(value) <= MAX_ID else f"a name of at most {MAX_ID} characters")


ID: Problem = _id_problem
OBJECT = _is(lambda v: isinstance(v, dict), "an object")
LIST = _is(lambda v: isinstance(v, list), "a list")
_PROGRAM_NAME = _is(lambda v: isinstance(v, str) and bool(_PROGRAM.fullmatch(v)), "the name of a program")
_SECONDS = _is(lambda v: type(v) in (int, float) and 0 < v <= MAX_TIMEOUT_S,
               f"a number of seconds above 0, at most {MAX_TIMEOUT_S}")

Fields = Mapping[str, Field]
MANIFEST: Fields = {
    "scenario_id": Field(ID, True), "title": Field(TEXT), "domain": Field(_one_of(*DOMAINS), True),
    "version": Field(_whole(1, None)), "workspace_template": Field(path_problem, True),
    "scripts": Field(path_problem, True), "rounds": Field(path_problem, True),
    "needs": Field(_each_once(_PROGRAM_NAME)),
    "accessible": Field(_each_once(path_problem, empty=False), True), "delegable": Field(_each_once(path_problem)),
    "decoys": Field(_each_once(path_problem), recommended=True), "updates": Field(OBJECT)}
_UPDATE: Fields = {"files": Field(LIST, True)}
_CHANGE: Fields = {"op": Field(_one_of("new", "replace"), True), "src": Field(path_problem, True),
                   "dst": Field(path_problem, True)}
ROUND: Fields = {
    "id": Field(ID, True), "type": Field(_one_of("exec_check"), True), "question": Field(TEXT, True),
    "update_ids": Field(_each_once(ID)), "covers": Field(_each_once(STRING), recommended=True),
    "tags": Field(_each_once(STRING)), "eval": Field(OBJECT, True), "feedback": Field(OBJECT, True)}
_EVAL: Fields = {
    "command": Field(_command_problem, True), "expect_exit": Field(_whole(0, 255)),
    "stdout_contains": Field(or_null(TEXT)), "stdout_matches": Field(or_null(_regex_problem)),
    "timeout_s": Field(_SECONDS), "before": Field(or_null(_command_problem))}
_FEEDBACK: Fields = {"correct": Field(TEXT, True), "incorrect": Field(TEXT, True)}


def object_faults(value: Any, fields: Fields, file: str, key: str = "") -> Iterator[Finding]:
    """What is wrong with one object and the values directly in it."""
    if not isinstance(value, dict):
        yield fault(file, key, value, "an object")
        return
    for name, field in fields.items():
        where = f"{key}.{name}" if key else name
        if name not in value:
            if field.required or field.recommended:
                yield Finding(ERROR if field.required else WARNING, file, where,
                              "is missing, expected " + (field.problem(None) or "a value"))
        elif expected := field.problem(value[name]):
            yield fault(file, where, value[name], expected)
    for name in [name for name in value if name not in fields]:
        yield Finding(ERROR, file, f"{key}.{name}" if key else name,
                      f"is an unknown key, expected one of {', '.join(fields)}")


def _at(value: Any, key: str, kind: type) -> Any:
    """What stands under the key, if it is of that kind, else an empty one: its fault is told elsewhere."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, kind) else kind()


def manifest_faults(manifest: Any, file: str) -> Iterator[Finding]:
    """Keys, types and values of the manifest, and of the updates in it."""
    yield from object_faults(manifest, MANIFEST, file)
    for name, update in _at(manifest, "updates", dict).items():
        if expected := ID(name):
            yield fault(file, "updates", name, expected)
        yield from object_faults(update, _UPDATE, file, f"updates.{name}")
        changes = _at(update, "files", list)
        if isinstance(update, dict) and update.get("files") == []:
            yield fault(file, f"updates.{name}.files", [], "at least one file")
        for place, change in enumerate(changes):
            yield from object_faults(change, _CHANGE, file, f"updates.{name}.files[{place}]")


def rounds_faults(rounds: Any, file: str) -> Iterator[Finding]:
    """Keys, types and values of all rounds."""
    if not isinstance(rounds, list) or not rounds:
        yield fault(file, "", rounds, "a list of at least one round")
        return
    for place, row in enumerate(rounds):
        key = f"[{place}]"
        yield from object_faults(row, ROUND, file, key)
        for name, fields in (("eval", _EVAL), ("feedback", _FEEDBACK)):
            if isinstance(row, dict) and isinstance(row.get(name), dict):
                yield from object_faults(row[name], fields, file, f"{key}.{name}")


def reference_faults(manifest: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]], files: tuple[str, str],
                     folder: str) -> Iterator[Finding]:
    """What only shows when keys are held together; both values have the right form. files: (manifest, rounds)."""
    if manifest["scenario_id"] != folder:
        yield fault(files[0], "scenario_id", manifest["scenario_id"], f'"{folder}", the name of the folder')
    yield from _folder_faults(manifest, files[0])
    yield from _view_faults(manifest, files[0])
    yield from _update_faults(manifest.get("updates", {}), rounds, files)
    ids = [row["id"] for row in rounds]
    for place, row in enumerate(rounds):
        if row["id"] in ids[:place]:
            yield fault(files[1], f"[{place}].id", row["id"], "an id that no other round has")
        yield from _cover_faults(row.get("covers", []), ids[:place], files[1], f"[{place}].covers")
        yield from _text_faults(row, files[1], f"[{place}]")


def _folder_faults(manifest: Mapping[str, Any], file: str) -> Iterator[Finding]:
    """Answers and updates never lie where agents or checks look: the folders are apart."""
    own = [("workspace_template", manifest["workspace_template"]), ("scripts", manifest["scripts"])]
    taken = ["golden", "updates"]
    for key, path in own:
        if any(covers(path, other) or covers(other, path) for other in taken):
            yield fault(file, key, path, f"a folder apart from {', '.join(taken)}")
        taken.append(path)


def _view_faults(manifest: Mapping[str, Any], file: str) -> Iterator[Finding]:
    accessible, delegable = manifest["accessible"], manifest.get("delegable", [])
    for place, path in enumerate(delegable):
        for own in accessible:
            if covers(own, path) or covers(path, own):
                yield fault(file, f"delegable[{place}]", path, f'a path apart from "{own}" in accessible')
    for place, path in enumerate(manifest.get("decoys", [])):
        if not any(covers(grant, path) for grant in (*accessible, *delegable)):
            yield fault(file, f"decoys[{place}]", path, "a path within accessible or delegable", WARNING)


def _update_faults(updates: Mapping[str, Any], rounds: Iterable[Mapping[str, Any]],
                   files: tuple[str, str]) -> Iterator[Finding]:
    used: dict[str, str] = {}
    for place, row in enumerate(rounds):
        for name in row.get("update_ids", []):
            if name not in updates:
                yield fault(files[1], f"[{place}].update_ids", name,
                            f"an update of the manifest ({', '.join(updates) or 'it has none'})")
            elif name in used:
                yield fault(files[1], f"[{place}].update_ids", name,
                            f"an update that no other round uses ({used[name]} does)")
            used.setdefault(name, row["id"])
    for name, update in updates.items():
        if name not in used:
            yield Finding(ERROR, files[0], f"updates.{name}", "is used by no round, expected exactly one")
        for place, change in enumerate(update["files"]):
            if not covers("updates", change["src"]) or change["src"] == "updates":
                yield fault(files[0], f"updates.{name}.files[{place}].src", change["src"], "a file below updates/")


def _cover_faults(named: Iterable[str], earlier: Sequence[str], file: str, key: str) -> Iterator[Finding]:
    for item in named:
        constraint, colon, lean = item.partition(":")
        if constraint not in CONSTRAINTS:
            yield fault(file, key, item, f"one of {', '.join(CONSTRAINTS)}")
        elif constraint in OF_A_ROUND and lean not in earlier:
            yield fault(file, key, item, f"{constraint}:<round>, an earlier one ({', '.join(earlier) or 'none is'})")
        elif constraint not in OF_A_ROUND and colon:
            yield fault(file, key, item, f"{constraint} alone")


def _text_faults(row: Mapping[str, Any], file: str, key: str) -> Iterator[Finding]:
    """Placeholders of the question, the feedback and the commands."""
    check = row["eval"]
    command = [name for name in PLACEHOLDERS if name != "before" or check.get("before")]
    texts = ((f"{key}.question", row["question"], FOR_AGENTS, False),
             (f"{key}.feedback.correct", row["feedback"]["correct"], FOR_AGENTS, False),
             (f"{key}.feedback.incorrect", row["feedback"]["incorrect"], FOR_AGENTS, False),
             (f"{key}.eval.command", check["command"], command, True),
             (f"{key}.eval.before", check.get("before") or "", FOR_AGENTS, True))
    for where, text, known, quoted in texts:
        for found in PLACEHOLDER.finditer(text):
            if found[1] not in PLACEHOLDERS:
                yield fault(file, where, found[0], f"a known placeholder: {_names(PLACEHOLDERS)}")
            elif found[1] not in known:
                yield fault(file, where, found[0], f"a placeholder that has a value here: {_names(known)}")
            elif quoted and _within_quotes(text[:found.start()]):
                yield fault(file, where, found[0], "a placeholder outside of quotes: it is quoted when it is filled in")


def _names(known: Iterable[str]) -> str:
    return ", ".join(f"${{{name}}}" for name in known)


def _within_quotes(before: str) -> bool:
    """Does a shell still read a quoted word behind this beginning of a command?"""
    quote = ""
    signs = iter(before)
    for sign in signs:
        if sign == "\\" and quote != "'":
            next(signs, None)
        elif sign == quote:
            quote = ""
        elif sign in "'\"" and not quote:
            quote = sign
    return bool(quote)
