"""The journal: what is written survives a kill, what is torn is dropped, what is foreign is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infranode_eval.journal import Entry, Journal, journal_path, read_journal, request_key, stored_answers
from infranode_eval.providers.protocol import Answer
from lm_eval_task.errors import DataError, UsageError

RUN = {"suite": "single", "model": "m"}
KEY = "0" * 64


def entry(task_id: str = "a", text: str = "Hallo", repeat: int = 1) -> Entry:
    return Entry(task_id, repeat, KEY, Answer({"role": "assistant", "content": text}, "stop", {"n": 1}, 0.5, "m1"), 2)


def written(path: Path, *entries: Entry) -> Path:
    journal = Journal.open(path, RUN)
    for e in entries:
        journal.append(e)
    journal.close()
    return path


def test_it_stands_beside_the_results_file() -> None:
    assert journal_path(Path("results/m.native.json")) == Path("results/m.native.journal.jsonl")
    assert journal_path(Path("out")) == Path("out.journal.jsonl")


def test_what_was_appended_is_read_back_in_order(tmp_path: Path) -> None:
    entries = [entry("a", "ä\n"), entry("b", "\ud800 halb"), entry("a", "", 2)]
    assert read_journal(written(tmp_path / "deep" / "j.jsonl", *entries)) == (RUN, entries)


def test_each_answer_is_in_the_file_before_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal.open(path, RUN)
    journal.append(entry())
    assert read_journal(path) == (RUN, [entry()])
    journal.close()


def test_every_torn_end_is_dropped_and_repaired_before_the_next_answer(tmp_path: Path) -> None:
    path = written(tmp_path / "j.jsonl", entry("a"), entry("b"))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        lines = whole[:length].count(b"\n")
        assert read_journal(path) == (RUN if lines else {}, [entry("a"), entry("b")][:max(0, lines - 1)])
        if length % 37 == 0:
            written(path, entry("c"))
            assert read_journal(path) == (RUN, [*[entry("a"), entry("b")][:max(0, lines - 1)], entry("c")])


@pytest.mark.parametrize(("content", "line", "reason"), [
    (b'{"journal": 2, "run": {}}\n', 1, "another format"),
    (b"[]\n", 1, "no header"),
    (b"\xff\n", 1, "no UTF-8"),
    (b'{"journal": 1, "run": {}}\nkaputt\n', 2, "a broken line that is not the last one's torn end"),
    (b'{"journal": 1, "run": {}}\n{"task_id": "a"}\n', 2, "a line without an answer"),
])
def test_a_broken_line_is_named(tmp_path: Path, content: bytes, line: int, reason: str) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"j.jsonl:{line}: "):
        read_journal(path)


def test_a_second_run_is_refused_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    hold = ("import sys; from pathlib import Path; from infranode_eval.journal import Journal\n"
            "j = Journal.open(Path(sys.argv[1]), {}); print('held', flush=True); sys.stdin.read()")
    root = Path(__file__).parents[1]
    holder = subprocess.Popen([sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env={**os.environ, "PYTHONPATH": str(root)})
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(UsageError, match="another run writes"):
        Journal.open(path, RUN)
    holder.kill()
    holder.communicate()
    Journal.open(path, RUN).close()


def test_anew_gives_up_what_was_there(tmp_path: Path) -> None:
    path = written(tmp_path / "j.jsonl", entry())
    Journal.open(path, {"other": 1}, anew=True).close()
    assert read_journal(path) == ({"other": 1}, [])


def test_close_may_remove_the_file_and_late_answers_go_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal.open(path, RUN)
    journal.close(remove=True)
    journal.append(entry())
    journal.close()
    assert not path.exists()


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        Journal.open(tmp_path / "file" / "j.jsonl", RUN)


def test_the_key_of_a_request_depends_on_all_that_is_asked() -> None:
    asked = [{"role": "user", "content": "a"}]
    few, more = {"max_tokens": 1}, {"max_tokens": 2}
    keys = {request_key("model", asked, None, few), request_key("user", asked, None, few),
            request_key("model", [*asked, *asked], None, few), request_key("model", asked, "hash", few),
            request_key("model", asked, None, more)}
    assert len(keys) == 5
    assert request_key("model", tuple(asked), None, {}) == request_key("model", asked, None, {})


def test_answers_are_grouped_by_task_and_repeat() -> None:
    a1, a2, b1 = entry("a"), entry("a", repeat=2), entry("b")
    assert stored_answers([a1, b1, a2, a1]) == {("a", 1): [a1, a1], ("b", 1): [b1], ("a", 2): [a2]}
