"""The watch report: a Drift as Markdown for people or as JSON for programs, both from one value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from infranode_eval.generator.drift import GRADES, Drift, Finding, by_subject
from infranode_eval.generator.surroundings import Change
from infranode_eval.tables import Column, Section, Table, render

FORMAT = 1
_SHOWN = 40             # names in one cell; the rest is counted
_IDS = 3                # task ids that stand for a group of changed rows
_PROVES = {
    "live": "the public API",
    "server": "a server of the API elsewhere, not the public one",
    "recording": "a recording, not the API of today",
    "snapshot": "our own offline model of the API, so this says nothing about the live API",
}


def watch_json(drift: Drift, head: Mapping[str, Any]) -> str:
    """The report for programs. head: file, version, source."""
    value = {"watch_report": FORMAT, **head, "day": drift.day, "checked": drift.checked, "retired": drift.retired,
             "counts": {grade: len(drift.of(grade)) for grade in GRADES},
             "changes": [asdict(change) for change in drift.changes],
             "findings": [asdict(finding) for finding in drift.findings]}
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def watch_markdown(drift: Drift, head: Mapping[str, Any]) -> str:
    """The report for people. head: file, version, source (with its level)."""
    sections = [_head(drift, head), _around(drift.changes)]
    moved, changed, unknown, back = map(drift.of, GRADES)
    if moved:
        sections.append(_moved(moved))
    if changed:
        sections.append(_changed(changed))
    if unknown:
        sections.append(_rows("No answer", unknown, "nobody knows whether these hold; look again later"))
    if back:
        sections.append(_rows("Retired rows that hold again", back, "none is revived by itself: delete its \"retired\" "
                                                                   "by hand if it shall return"))
    return "# Watch report\n\n" + render(sections, "markdown")


def _head(drift: Drift, head: Mapping[str, Any]) -> Section:
    source = head["source"]
    place = ", ".join(f"{key} {value}" for key, value in source.items())
    counts = {grade: len(drift.of(grade)) for grade in GRADES}
    holds = drift.checked - counts["moved"] - counts["changed"] - counts["unknown"]
    return Section(f"{head['file']}, version {head['version'] or 'unknown'}, on {drift.day}", notes=(
        f"asked: {_PROVES[source['level']]} ({place})",
        f"{drift.checked} rows in use: {holds} as they were, {counts['changed']} hold but changed, {counts['moved']} "
        f"moved, {counts['unknown']} without an answer",
        f"{drift.retired} rows are retired, {counts['back']} of them hold again"))


def _around(changes: Sequence[Change]) -> Section:
    rows = tuple((change.name, str(change.before), "?" if change.now is None else str(change.now),
                  _names(change.added), _names(change.removed), change.source) for change in changes)
    columns = (Column("what"), Column("before", True), Column("now", True), Column("added"), Column("removed"),
               Column("source"))
    return Section("The API as a whole", (Table("Keys, types and cities", columns, rows, (
        "before: the enum of tools.json and what the project knows of release v1.1.1; ?: the API does not say",)),))


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more or "–"


def _moved(found: Sequence[Finding]) -> Section:
    columns = tuple(map(Column, ("task", "set", "request", "before", "now", "reason")))
    rows = tuple((f.task_id, f.set or "–", f.request, f.before, f.now, f.reason) for f in found)
    return Section("Moved: the gold no longer holds", (Table(f"{len(found)} rows", columns, rows, (
        "generate.py --verify --retire takes these rows out of use",)),))


def _changed(found: Sequence[Finding]) -> Section:
    columns = (Column("about"), Column("rows", True), Column("what changed"), Column("for example"))
    rows = []
    for (subject, reason), inside in by_subject(found).items():
        more = f" and {len(inside) - _IDS} more" if len(inside) > _IDS else ""
        rows.append((subject, str(len(inside)), reason, ", ".join(f.task_id for f in inside[:_IDS]) + more))
    return Section("Changed: the gold holds, the answer looks different", (
        Table(f"{len(found)} rows, by what they ask for", columns, tuple(rows)),))


def _rows(title: str, found: Sequence[Finding], note: str) -> Section:
    columns = tuple(map(Column, ("task", "set", "request", "reason")))
    rows = tuple((f.task_id, f.set or "–", f.request, f.reason) for f in found)
    return Section(title, (Table(f"{len(found)} rows", columns, rows, (note,)),))
