"""The corridor of three values around a share of right SQL, and the audit file behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from infranode_eval.db_routing.corridor import NO_AUDIT, Corridor, corridor, read_audit
from lm_eval_task.errors import DataError

VERDICTS = [("a", True), ("b", True), ("c", False), ("d", False), ("e", None)]
CORRIDORS = [
    # (faulty, expected, why)
    (None, Corridor(0.5, 0.5, 0.5, 4, None), "no audit: the three are equal"),
    (set(), Corridor(0.5, 0.5, 0.5, 4, 0), "an audit that found nothing"),
    ({"a"}, Corridor(0.25, 0.5, 0.5, 4, 1), "a row that counted as right"),
    ({"c"}, Corridor(0.5, 0.5, 0.75, 4, 1), "a row that counted as wrong"),
    ({"a", "c"}, Corridor(0.25, 0.5, 0.75, 4, 2), "one of each"),
    ({"a", "b", "c", "d"}, Corridor(0.0, 0.5, 1.0, 4, 4), "all"),
    ({"e"}, Corridor(0.5, 0.5, 0.5, 4, 0), "a gold that did not run is out already"),
    ({"x"}, Corridor(0.5, 0.5, 0.5, 4, 0), "a task of another set"),
]


@pytest.mark.parametrize(("faulty", "expected", "why"), CORRIDORS, ids=[c[2] for c in CORRIDORS])
def test_corridor(faulty: set[str] | None, expected: Corridor, why: str) -> None:
    found = corridor(VERDICTS, faulty)
    assert found == expected, why
    assert found.lower <= found.middle <= found.upper
    assert (found.note == NO_AUDIT) is (faulty is None)


def test_no_rows_have_no_shares() -> None:
    assert corridor([("e", None)], {"e"}).to_json() == {"lower": None, "middle": None, "upper": None, "n": 0,
                                                       "faulty": 0, "note": None}
    assert corridor([]).to_json()["note"] == "kein Gold-Audit"


def test_an_audit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('\ufeff{"task_id": "a", "gold_faulty": true, "why": "Join"}\r\n\n'
                    '{"task_id": "b", "gold_faulty": false}', "utf-8")
    assert read_audit(path) == {"a"}
    assert read_audit(path, {"a", "b"}) == {"a"}


BAD = [
    ('{"task_id": "a"}', "1: a line of a gold audit", "a key is missing"),
    ('{"task_id": 1, "gold_faulty": true}', "1: a line of a gold audit", "the id is no text"),
    ('{"task_id": "a", "gold_faulty": "ja"}', "1: a line of a gold audit", "no truth value"),
    ('{"task_id": "a", "gold_faulty": true}\n[', "2: a line of a gold audit", "no JSON"),
    ('{"task_id": "a", "gold_faulty": true}\n{"task_id": "a", "gold_faulty": false}', "2: task a stands here a second",
     "a task twice"),
    ('{"task_id": "z", "gold_faulty": true}', "1: there is no task z", "an unknown task"),
]


@pytest.mark.parametrize(("text", "message", "why"), BAD, ids=[b[2] for b in BAD])
def test_a_bad_audit_is_refused_with_its_line(tmp_path: Path, text: str, message: str, why: str) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=f"audit.jsonl:{message}"):
        read_audit(path, {"a"})


def test_an_audit_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").write_bytes(b"\xff\xfe\x00")
    for name in ("audit.jsonl", "fehlt.jsonl"):
        with pytest.raises(DataError, match="cannot be read"):
            read_audit(tmp_path / name)
