"""Tasks, calls, scores: reading, writing, hashing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from lm_eval_task.errors import DataError
from lm_eval_task.records import (
    FAILURES,
    MATCHES,
    SETS,
    Call,
    Reply,
    Score,
    Task,
    canonical_json,
    fingerprint,
    read_tasks,
    tasks_fingerprint,
)

W = {"name": "weather", "arguments": {"slug": "koeln"}}
ROW = {"task_id": "a", "set": "core", "category": "c", "question": "Wie ist das Wetter in Köln?", "expected": [W],
       "accept": [[{"name": "pois", "arguments": {}}]], "verified": {"level": "snapshot"}, "then": [W]}


def test_a_row_survives_reading_and_writing() -> None:
    assert Task.from_json(ROW).to_json() == ROW
    assert list(Task.from_json(ROW).to_json()) == list(ROW), "the order of the keys is stable"


def test_unknown_keys_are_kept_untouched() -> None:
    task = Task.from_json(ROW)
    assert task.extra == {"verified": {"level": "snapshot"}, "then": [W]}


def test_no_call_is_right_is_an_empty_list() -> None:
    task = Task.from_json({"task_id": "a", "question": "?", "expected": [], "expect": "ask"})
    assert task.expected == () and task.expect == "ask" and task.alternatives == ((),)
    assert "accept" not in task.to_json() and task.to_json()["expect"] == "ask"


def test_the_gold_comes_first_among_the_alternatives() -> None:
    assert [a[0].name for a in Task.from_json(ROW).alternatives] == ["weather", "pois"]


WRONG = [
    ([], "a task is a JSON object"), ({**ROW, "task_id": ""}, '"task_id"'), ({**ROW, "task_id": 5}, '"task_id"'),
    ({**ROW, "question": " "}, '"question"'), ({k: v for k, v in ROW.items() if k != "question"}, '"question"'),
    ({k: v for k, v in ROW.items() if k != "expected"}, '"expected" is missing'), ({**ROW, "expected": None},
     "a list of calls"),
    ({**ROW, "expected": W}, "a list of calls"), ({**ROW, "expected": [{"arguments": {}}]}, "a call is"),
    ({**ROW, "expected": [{"name": "", "arguments": {}}]}, "a call is"), ({**ROW, "expected": ["weather"]},
     "a call is"),
    ({**ROW, "expected": [{"name": "weather", "arguments": []}]}, '"arguments" of weather'),
    ({**ROW, "expected": [{"name": "weather", "arguments": "{}"}]}, '"arguments" of weather'),
    ({**ROW, "set": "kern"}, '"set" must be one of'), ({**ROW, "expect": "ask"}, '"expect" goes only with'),
    ({**ROW, "expected": [], "expect": "call"}, '"expect" must be one of'), ({**ROW, "accept": W}, '"accept"'),
    ({**ROW, "accept": [W]}, "a list of calls"), ({**ROW, "category": 5}, '"category"'),
]


@pytest.mark.parametrize(("row", "message"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_row_says_what_is_wrong(row: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        Task.from_json(row)
    assert message in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def write(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines), "utf-8")
    return path


def test_a_file_names_the_line_that_breaks(tmp_path: Path) -> None:
    cases = [
        ((ROW, "", "{"), ":3: is not JSON"), ((ROW, {**ROW, "task_id": "b", "expected": 5}), ":2: task b"),
        ((ROW, {**ROW, "task_id": "b"}, ROW), ":3: task_id a stands already in line 1"), (("", " "), "holds no task"),
        ((ROW, "[" * 100_000), ":2: is not JSON"),
    ]
    for lines, message in cases:
        path = write(tmp_path / "tasks.jsonl", *lines)
        with pytest.raises(DataError) as error:
            read_tasks(path)
        assert message in str(error.value) and str(error.value).startswith(str(path))


def test_blank_lines_are_skipped_and_the_order_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.jsonl", "", {**ROW, "task_id": "z"}, "", {**ROW, "task_id": "a"}, "")
    assert [t.task_id for t in read_tasks(path)] == ["z", "a"]


def test_unusual_line_ends_and_separators_inside_strings(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    rows = [{**ROW, "task_id": "a", "question": "x\u2028y\x85z"}, {**ROW, "task_id": "b"}]
    path.write_bytes("\r\n".join(json.dumps(r, ensure_ascii=False) for r in rows).encode())
    assert [t.task_id for t in read_tasks(path)] == ["a", "b"]


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"task_id": "a", "question": "?", "expected": []}\n', "utf-8-sig")
    assert [task.task_id for task in read_tasks(path)] == ["a"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="check the path"):
        read_tasks(tmp_path / "none.jsonl")
    with pytest.raises(DataError):
        read_tasks(tmp_path)
    (tmp_path / "latin.jsonl").write_bytes(b'{"task_id": "\xe4"}')
    with pytest.raises(DataError, match="UTF-8"):
        read_tasks(tmp_path / "latin.jsonl")


def test_hashes_are_over_canonical_json() -> None:
    assert canonical_json({"b": "ä", "a": [1, None]}) == '{"a":[1,null],"b":"ä"}'
    assert fingerprint({"a": 1}) == hashlib.sha256(b'{"a":1}').hexdigest()
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


def test_the_hash_of_tasks_covers_what_is_asked_and_what_is_right_only() -> None:
    task = Task.from_json(ROW)
    hand = [["a", ROW["question"], [W], [[{"name": "pois", "arguments": {}}]]]]
    assert tasks_fingerprint([task]) == fingerprint(hand)
    for key, value in (("verified", {"level": "live"}), ("category", "x"), ("set", "extended"), ("hard", True)):
        assert tasks_fingerprint([Task.from_json({**ROW, key: value})]) == tasks_fingerprint([task]), key
    for key, value in (("question", "?"), ("expected", []), ("accept", []), ("task_id", "b")):
        assert tasks_fingerprint([Task.from_json({**ROW, key: value})]) != tasks_fingerprint([task]), key


def test_the_hash_of_tasks_depends_on_their_order() -> None:
    a, b = Task.from_json(ROW), Task.from_json({**ROW, "task_id": "b"})
    assert tasks_fingerprint([a, b]) != tasks_fingerprint([b, a])


def test_a_call_reads_as_code() -> None:
    assert str(Call("pois", {"slug": "köln", "n": 1})) == 'pois(slug="köln", n=1)'
    assert Call.from_json({"name": "x"}) == Call("x", {})


def test_a_reply_of_text() -> None:
    assert Reply.from_text("x") == Reply({"role": "assistant", "content": "x"}, "stop")


def test_scores_write_every_column_and_failures_write_null() -> None:
    row = Score("ok", call_match=True, calls=(Call("x"),)).to_json()
    assert set(row) == {"outcome", "sub", "labels", "why", "calls", *MATCHES}
    assert row["calls"] == [{"name": "x", "arguments": {}}]
    failure = Score.failure("infra_error", "timeout", "content_filter")
    assert failure.failed and all(failure.to_json()[m] is None for m in MATCHES) and failure.to_json()["calls"] is None


def test_what_a_suite_counts_joins_the_row_and_leaves_a_score_hashable() -> None:
    score = Score("ok", call_match=True, details={"hits": 1, "form_notes": []})
    assert list(score.to_json().items())[-2:] == [("hits", 1), ("form_notes", [])]
    assert Score("ok").to_json() == Score("ok", details={}).to_json()
    assert len({score, Score("ok", call_match=True), Score("ok", call_match=True)}) == 2


def test_the_names_of_the_format() -> None:
    assert SETS == ("core", "extended", "robust", "abstain")
    assert set(FAILURES) == {"infra_error", "context_overflow", "auth_error", "empty_reply", "not_run"}
    assert MATCHES == ("parsed", "tool_match", "args_match", "call_match", "request_match", "datum_match",
                       "lenient_call_match")


def test_values_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Call("x").name = "y"   # type: ignore[misc]
