"""One answer of the API as everything in this suite sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infranode_eval.infranode.envelope import compact


@dataclass(frozen=True, slots=True)
class Response:
    """One answer: the request (path and query without /api/v1), the status, the decoded envelope, its compact text.

    Nobody changes a body: it is shared by all who asked.
    """

    request: str
    status: int
    body: Mapping[str, Any]
    text: str = ""

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "text", compact(self.body))

    @property
    def source_status(self) -> str | None:
        """As meta says; None where it says nothing: errors, /cities, /sources, /compare."""
        meta = self.body.get("meta")
        found = meta.get("source_status") if isinstance(meta, Mapping) else None
        return found if isinstance(found, str) else None

    @property
    def answered(self) -> bool:
        """HTTP 200, and source_status is ok or absent."""
        return self.status == 200 and self.source_status in (None, "ok")

    @property
    def result(self) -> str:
        """answered, not_found (404), not_covered or failed: what a step may expect."""
        if self.answered:
            return "answered"
        if self.status == 404:
            return "not_found"
        return "not_covered" if self.source_status == "not_covered" else "failed"
