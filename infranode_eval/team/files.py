"""The four tools that work on files: Read, Write, Edit and Glob.

Source: specification, team, T3 to T9 and T12. Each takes the agent, the workspace and the arguments as a model gave
them, and holds the workspace's lock. Each raises ToolError, and Forbidden where the access counts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any, BinaryIO

from infranode_eval.team.agent import Agent, Attachment, Result
from infranode_eval.team.arguments import flag, given, only, text, whole
from infranode_eval.team.kinds import TEXT, Kind, kind_of
from infranode_eval.team.pattern import Pattern, is_magic
from infranode_eval.team.staging import create
from infranode_eval.team.wording import say
from infranode_eval.team.workspace import ROOT, Scope, ToolError, Workspace, locate, open_regular, reachable, readable

NOTICE_BYTES, REFUSAL_BYTES = 32 * 1024, 256 * 1024     # of a text that is read at once
MAX_BYTES = 20_000_000              # of a file that is read or written: what the sandbox lets a program write, too
MAX_PATHS = 200                     # that Glob shows


def read(agent: Agent, workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    """Text with numbered lines, a file that the agent perceives as an attachment, any other as a placeholder."""
    only(arguments, "file_path", "offset", "limit")
    path = text(arguments, "file_path")
    offset = whole(arguments, "offset", 1, low=1)
    limit = whole(arguments, "limit", 0, low=1) if given(arguments, "limit") else None
    with workspace.lock:
        real = locate(workspace, agent.scope, path)
        with open_regular(workspace, real) as file:
            data = _content(file, path)
    shown, kind = workspace.virtual(real), kind_of(data)
    attachment = None
    if kind == TEXT:
        body = _text(shown, data, offset, limit, given(arguments, "offset") or limit is not None)
    elif kind.modality is None:
        raise ToolError(f"{shown} ist weder Text noch Bild, Ton oder Film ({len(data)} Bytes)")
    elif agent.modalities.get(kind.modality, 0) > 0:
        body = say("attached", **_named(shown, kind, data))
        attachment = Attachment(shown, kind.mime, kind.modality, data)
    else:
        keys = ", ".join(agent.keys_for.get(kind.modality, ())) or say("no_keys")
        body = say("placeholder", keys=keys, **_named(shown, kind, data))
    agent.known[shown] = _hash(data)
    return Result(body, touched=shown, attachment=attachment)


def _named(shown: str, kind: Kind, data: bytes) -> dict[str, object]:
    return {"path": shown, "kind": say(f"file_{kind.modality}"), "mime": kind.mime, "size": len(data)}


def _content(file: BinaryIO, path: str) -> bytes:
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES:
        raise ToolError(f"{path} hat {size} Bytes, mehr als die {MAX_BYTES}, die sich lesen lassen")
    try:
        data = file.read(MAX_BYTES)     # a raw file: one call reads up to 2 GB
    except OSError:
        raise ToolError(f"{path} lässt sich nicht lesen") from None
    return data or b""


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _text(shown: str, data: bytes, offset: int, limit: int | None, paged: bool) -> str:
    if len(data) >= REFUSAL_BYTES and not paged:
        raise ToolError(f"{shown} hat {len(data)} Bytes in {data.count(10) + 1} Zeilen, zu viel auf einmal; "
                        "lies die Datei mit offset und limit in Teilen")
    lines, damaged = _lines(data)
    if not lines:
        return f"[Hinweis: {shown} ist leer]"
    if offset > len(lines):
        raise ToolError(f"offset ist {offset}, aber {shown} endet mit Zeile {len(lines)}")
    chosen = lines[offset - 1:] if limit is None else lines[offset - 1:offset - 1 + limit]
    fitting = _fitting(chosen)
    size = sum(len(line.encode()) + 1 for line in fitting)
    notices = []
    if damaged:
        notices.append("[Hinweis: die Datei ist kein gültiges UTF-8; an unlesbaren Stellen steht �]\n")
    if fitting != chosen:
        last = offset - 1 + len(fitting)
        part = "; diese Zeile ist abgeschnitten" if fitting[-1] != chosen[len(fitting) - 1] else ""
        notices.append(f"[Hinweis: gezeigt bis Zeile {last} von {len(lines)}{part}]\n")
    elif size >= NOTICE_BYTES:
        notices.append(f"[Hinweis: {shown} hat {len(data)} Bytes in {len(lines)} Zeilen; mit offset und limit liest "
                       "du nur einen Teil]\n")
    return "".join(notices) + "\n".join(f"{number}\t{line}" for number, line in enumerate(fitting, offset))


def _lines(data: bytes) -> tuple[list[str], bool]:
    """The lines without their ends, and whether bytes had to be replaced."""
    try:
        decoded, damaged = data.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        decoded, damaged = data.decode("utf-8-sig", "replace"), True
    lines = decoded.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines], damaged


def _fitting(lines: list[str]) -> list[str]:
    """As many lines as stay below REFUSAL_BYTES; at least the first one, or what fits of it."""
    size = 0
    for index, line in enumerate(lines):
        size += len(line.encode()) + 1
        if size > REFUSAL_BYTES:
            return lines[:index] or [line.encode()[:REFUSAL_BYTES].decode("utf-8", "ignore")]
    return lines


def write(agent: Agent, workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    """A new file, with the folders above it as far as they lie in the scope, or a new content for a known one."""
    only(arguments, "file_path", "content")
    path = text(arguments, "file_path")
    content = text(arguments, "content", empty=True).encode()
    if len(content) > MAX_BYTES:
        raise ToolError(f"content hat {len(content)} Bytes, mehr als die {MAX_BYTES}, die sich schreiben lassen")
    if path.endswith("/"):
        raise ToolError("file_path nennt einen Ordner; nenne eine Datei")
    with workspace.lock:
        real = locate(workspace, agent.scope, path)
        shown = workspace.virtual(real)
        existed = os.path.lexists(real)
        with open_regular(workspace, real, write=True) if existed else create(workspace, agent.scope, real) as file:
            if existed:
                _check_known(agent, shown, _content(file, path))
            _replace(workspace, file, shown, content)
        agent.known[shown] = _hash(content)
    return Result(f"{shown} {'überschrieben' if existed else 'angelegt'} ({len(content)} Bytes).", touched=shown)


def edit(agent: Agent, workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    """One exact place, or with replace_all each, of a text that the agent knows. Works on bytes: the rest stays."""
    only(arguments, "file_path", "old_string", "new_string", "replace_all")
    path = text(arguments, "file_path")
    old, new = text(arguments, "old_string").encode(), text(arguments, "new_string", empty=True).encode()
    every = flag(arguments, "replace_all")
    if old == new:
        raise ToolError("old_string und new_string sind gleich")
    with workspace.lock:
        real = locate(workspace, agent.scope, path)
        shown = workspace.virtual(real)
        with open_regular(workspace, real, write=True) as file:
            data = _content(file, path)
            _check_known(agent, shown, data)
            count = _places(shown, data, old, every)
            if len(data) + count * (len(new) - len(old)) > MAX_BYTES:
                raise ToolError(f"{shown} hätte danach mehr als {MAX_BYTES} Bytes")
            data = data.replace(old, new)
            _replace(workspace, file, shown, data)
        agent.known[shown] = _hash(data)
    return Result(f"In {shown} {count} {'Stelle' if count == 1 else 'Stellen'} ersetzt.", touched=shown)


def _places(shown: str, data: bytes, old: bytes, every: bool) -> int:
    if kind_of(data) != TEXT:
        raise ToolError(f"{shown} ist kein Text")
    count = data.count(old)
    if not count:
        hint = "; die Zeilen der Datei enden mit CR LF" if b"\n" in old and b"\r\n" in data else ""
        raise ToolError(f"old_string kommt in {shown} nicht vor{hint}")
    if count > 1 and not every:
        raise ToolError(f"old_string kommt in {shown} {count}-mal vor; nimm mehr Text darum herum in old_string auf "
                        "oder setze replace_all auf true")
    return count


def _check_known(agent: Agent, shown: str, data: bytes) -> None:
    known = agent.known.get(shown)
    if known is None:
        raise ToolError(f"{shown} gibt es schon, und du kennst den Inhalt nicht; lies die Datei zuerst mit Read")
    if known != _hash(data):
        raise ToolError(f"{shown} wurde seit dem letzten Lesen geändert; lies die Datei noch einmal mit Read")


def _replace(workspace: Workspace, file: BinaryIO, shown: str, content: bytes) -> None:
    """A file with a second name is left alone: that name may lie outside the scope."""
    descriptor = file.fileno()
    if os.fstat(descriptor).st_nlink != 1:
        raise ToolError(f"{shown} hat noch einen zweiten Namen (harter Link) und wird nicht geändert")
    try:
        file.seek(0)
        file.truncate()
        view = memoryview(content)
        while view:
            view = view[file.write(view):]
        at = workspace.tick()
        os.utime(descriptor, ns=(at, at))
        workspace.own(descriptor)
    except OSError:
        raise ToolError(f"{shown} lässt sich nicht schreiben") from None


def glob_(agent: Agent, workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    """The regular files of the scope that a pattern means, newest first, ties by path; links are not listed.

    `path` is a place and counts if it lies outside, as do the plain names before the first wildcard of a pattern that
    is absolute or climbs with "..". Any other pattern only filters, so it counts nothing.
    """
    only(arguments, "pattern", "path")
    pattern = text(arguments, "pattern")
    base, rest = _start(text(arguments, "path", ROOT), pattern)
    with workspace.lock:
        top = locate(workspace, agent.scope, base, parents=True)
        if not os.path.isdir(top):
            raise ToolError(f"{base} ist kein Ordner" if os.path.exists(top) else f"{base} gibt es nicht")
        workspace.settle(agent.scope)
        found = _matching(workspace, agent.scope, workspace.relative(top), Pattern.of(rest))
    if not found:
        return Result("Keine Datei gefunden.")
    lines = [f"{ROOT}/{readable(name)}" for _, name in sorted(found)[:MAX_PATHS]]
    if len(found) > MAX_PATHS:
        lines.append(f"[Hinweis: {MAX_PATHS} von {len(found)} Dateien gezeigt; nimm ein engeres Muster]")
    return Result("\n".join(lines))


def _start(path: str, pattern: str) -> tuple[str, str]:
    """The folder to begin in, and the part of the pattern that is left."""
    if not (pattern.startswith("/") or ".." in pattern.split("/")):
        return path, pattern
    names = pattern.split("/")
    last = len(names) - (names[-1] != "..")
    plain = next((i for i, name in enumerate(names[:last]) if is_magic(name)), last)
    base = "/".join(names[:plain])
    if pattern.startswith("/"):
        return base or "/", "/".join(names[plain:])
    return f"{path}/{base}", "/".join(names[plain:])


def _matching(workspace: Workspace, scope: Scope, below: str, pattern: Pattern) -> list[tuple[int, str]]:
    start = len(below) + 1 if below else 0
    return [(-status.st_mtime_ns, name) for name, status in reachable(workspace, scope, below)
            if pattern.matches(name[start:])]
