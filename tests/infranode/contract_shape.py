"""The shape of a response: status, source_status, error code, and which keys stand where; no values.

Run `python tests/infranode/contract_shape.py FOLDER` to rewrite the fixture from a folder of recorded responses.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FIXTURE = Path(__file__).resolve().parents[1] / "data" / "recorded_contract.jsonl"


def key_sets(value: Any, path: str = "") -> dict[str, list[str]]:
    """Path -> distinct key sets found there, each as text; "[]" stands for the entries of a list."""
    found: dict[str, set[str]] = {}

    def walk(node: Any, where: str) -> None:
        if isinstance(node, dict):
            found.setdefault(where, set()).add(",".join(sorted(node)))
            for key, child in node.items():
                walk(child, f"{where}.{key}" if where else key)
        elif isinstance(node, list):
            for child in node:
                walk(child, f"{where}[]")

    walk(value, path)
    return {where: sorted(sets) for where, sets in sorted(found.items())}


def kind_of(body: Any) -> str:
    """null, object, list, or absent: what stands under `data`."""
    if not isinstance(body, dict) or "data" not in body:
        return "absent"
    data = body["data"]
    return "null" if data is None else "list" if isinstance(data, list) else "object"


def shape(status: int, headers: dict[str, str], body: Any) -> dict[str, Any]:
    """What the fixture keeps of a response. content-length and the CORS header are no part of it."""
    body_keys = body if isinstance(body, dict) else {}
    names = sorted(name.lower() for name in headers)
    return {"status": status, "source_status": (body_keys.get("meta") or {}).get("source_status"),
            "code": (body_keys.get("error") or {}).get("code"), "data": kind_of(body), "keys": key_sets(body),
            "headers": [name for name in names if name not in ("content-length", "access-control-allow-origin")]}


def contract_row(name: str, recording: dict[str, Any]) -> dict[str, Any]:
    """One line of the fixture: the request and the shape of its answer."""
    request = recording["request"]
    return {"name": name, "method": request["method"], "path": request["path"], "request_headers": request["headers"],
            **shape(recording["status"], recording["headers"], recording["body"])}


def rows_of_folder(folder: Path) -> list[dict[str, Any]]:
    """All recordings of a folder as lines of the fixture, by name."""
    return [contract_row(path.stem, json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("*.json"))]


def read_fixture() -> list[dict[str, Any]]:
    """The lines of the fixture."""
    return [json.loads(line) for line in FIXTURE.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    lines = [json.dumps(row, ensure_ascii=False) for row in rows_of_folder(Path(sys.argv[1]))]
    FIXTURE.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{len(lines)} rows -> {FIXTURE}")
