"""Decoys: sisters in which everything stands that a question names, so that only a look at the schema tells.

Source of the rules: specification, db_routing_panel, section 10.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.db_routing.intents import Intent
from infranode_eval.db_routing.sources import Sources

_DATE = re.compile(r"\d{4}(?:-\d\d){0,2}$")


def decoys_of(intent: Intent, sources: Sources) -> list[str]:
    """Sisters with all its literals, and the one of its twin; none for an intent without literals or twin."""
    named = [value for condition in intent.where for value in condition.literals if isinstance(value, str)]
    found = [sister for sister in sources.register.sisters(intent.database)
             if sister in sources.schemas and named and _holds(sources.rows(sister), named)]
    twin = (intent.twin or "").rpartition("-")[0]
    return sorted({*found, *([twin] if twin else [])})


def _holds(rows: Mapping[str, Sequence[Sequence[Any]]], named: Sequence[str]) -> bool:
    values = {value for table in rows.values() for row in table for value in row if isinstance(value, str)}
    return all(value in values or _DATE.match(value) and any(text.startswith(value) for text in values)
               or "%" in value and any(text.startswith(value.strip("%")) for text in values) for value in named)
