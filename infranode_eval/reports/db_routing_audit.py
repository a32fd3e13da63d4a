"""Runs of the suite db_routing with what an audit of its golds has found, so that right SQL gets a corridor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from infranode_eval.db_routing.corridor import read_audit
from infranode_eval.reports.figures import Summary


def audited(summaries: Sequence[Summary], path: Path) -> list[Summary]:
    """The runs, those of the suite with the faulty golds. Raise DataError for a broken file, or an unknown task."""
    known = {task for s in summaries if s.routing is not None for task in s.routing.buckets}
    faulty = read_audit(path, known)
    return [s if s.routing is None else replace(s, routing=replace(s.routing, faulty=faulty)) for s in summaries]
