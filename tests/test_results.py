"""The results file: rows and numbers, its schema, its bytes, its name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from infranode_eval.fold import Fold, result_of, setup_of
from infranode_eval.journal import Entry
from infranode_eval.providers.protocol import Answer, Sampling
from infranode_eval.results import (
    Description,
    check_writable,
    entries_of,
    read_result,
    result_bytes,
    results_path,
    write_result,
)
from infranode_eval.runner import Played
from infranode_eval.shelf import Shelf
from infranode_eval.suites import Transcript
from infranode_eval.summary import summary_lines
from lm_eval_task.errors import DataError, UsageError
from lm_eval_task.records import MATCHES, Call, Score, Task

SCHEMA = json.loads((Path(__file__).parents[1] / "infranode_eval/data/result.schema.json").read_text("utf-8"))
KEY = "0" * 64
RIGHT = dict.fromkeys(MATCHES, True)
WRONG = dict.fromkeys(MATCHES, False) | {"parsed": True}
DESCRIPTION = Description("single", "core", "m", "openai", "prompt", None,
                          {"tasks": KEY, "tools": KEY, "prompt": KEY}, {"temperature": 0.0, "max_tokens": 160})


def played(task_id: str, category: str, score: Score, text: str | None = "x", **message: Any) -> Played:
    answer = Answer({"role": "assistant", "content": text, **message}, "stop", {"total_tokens": 3}, 0.25, "m-1")
    transcript = None if score.failed and text is None else Transcript((), (answer,))
    return Played(Task(task_id, "?", (), category=category), 1, score, transcript, 2,
                  None if transcript else "InfraError: weg", (KEY,) if transcript else ())


ROWS = [
    played("a", "x", Score("ok", why="as expected", calls=(Call("weather", {"slug": "koeln"}),), **RIGHT)),
    played("b", "x", Score("wrong_tool", why="no", calls=(), **WRONG)),
    played("c", "y", Score.failure("infra_error", "no answer was obtained", "timeout"), None),
    played("d", "y", Score.failure("empty_reply", "blank"), "<think></think>"),
    played("e", "x", Score("wrong_args", "other", ("asks",), "no", calls=(Call("weather", {"slug": float("inf")}),),
                           **WRONG), "\ud800\x00"),
]


def result(rows: list[Played] = ROWS, deterministic: bool = False) -> dict[str, Any]:
    return result_of(DESCRIPTION, rows, Sampling(160), deterministic, None)


def test_the_numbers_count_failures_as_unsolved_and_beside_it_leave_them_out() -> None:
    made = result()
    assert made["counts"] == {"n": 5, "scored": 3, "failed": 2}
    assert made["complete"] is False
    assert made["metrics"]["call_match"] == 1 / 5
    assert made["answered"]["call_match"] == 1 / 3
    assert made["metrics"]["call_match_y"] == 0.0
    assert made["answered"]["call_match_y"] is None, "a category without an answered row is nothing, not 0"
    assert set(made["answered"]) == set(made["metrics"])
    assert result(ROWS[:2])["complete"] is True


def test_the_file_fits_its_schema_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.json"
    write_result(path, result())
    read = read_result(path)
    jsonschema.validate(read, SCHEMA)
    assert [r["task_id"] for r in read["rows"]] == list("abcde")
    assert read["rows"][4]["reply"]["content"] == "\ud800\x00", "half a character survives"
    assert read["rows"][4]["calls"][0]["arguments"] == {"slug": "inf"}, "JSON has no infinity"
    assert read["rows"][2]["reply"] is None and read["rows"][2]["error"] == "InfraError: weg"
    assert path.read_bytes().decode("utf-8"), "valid UTF-8"
    assert list(path.parent.iterdir()) == [path], "nothing is left beside it"


@pytest.mark.parametrize(("change", "reason"), [
    ({"complete": "yes"}, "not a boolean"),
    ({"hashes": {"tasks": "x"}}, "no hash"),
    ({"rows": []}, "every task has a row"),
    ({"metrics": {"call_match": 87.9}}, "per cent instead of a proportion"),
])
def test_the_schema_refuses(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(result_bytes(result())) | change, SCHEMA)


@pytest.mark.parametrize(("index", "change", "reason"), [
    (2, {"call_match": False}, "a failure has no score"),
    (0, {"call_match": None}, "an answer has one"),
    (0, {"outcome": "great"}, "no such outcome"),
])
def test_the_schema_keeps_failures_and_scores_apart(index: int, change: dict[str, Any], reason: str) -> None:
    made = json.loads(result_bytes(result()))
    made["rows"][index] |= change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made, SCHEMA)


def test_a_deterministic_run_stores_neither_times_nor_keys() -> None:
    row = result(deterministic=True)["rows"][0]
    assert row["latency_s"] is None and "keys" not in row and "served_model" not in row


PATHS = [
    (("m",), "results/m.json", "core and prompt are unmarked"),
    (("org/Model-1.5", "single", "extended", "native"), "results/org__Model-1.5.extended.native.json", "marks"),
    (("m", "single", "core", "prompt", "lauf 2"), "results/m.lauf_2.json", "a tag"),
    (("m", "chain"), "results/chain/m.json", "another suite"),
    (("m", "bench", "original", "prompt", None, None, None, "original"), "results/bench/m.json", "its usual set"),
    (("m", "bench", "paraphrase", "native", "t", None, None, "original"), "results/bench/m.paraphrase.native.t.json",
     "another set of it"),
    (("../x:y ü",), "results/_..__x_y__.json", "nothing leaves the folder"),
    ((".",), "results/_..json", "no hidden file"),
    (("m", "single", "extended", "native", "x", "meine"), "results/m.meine.native.x.json", "own tasks name the file"),
    (("m", "single", "core", "prompt", None, "a b"), "results/m.a_b.json", "whatever they are called"),
]


@pytest.mark.parametrize(("arguments", "expected", "reason"), PATHS)
def test_paths(arguments: tuple[str, ...], expected: str, reason: str) -> None:
    assert results_path(*arguments).as_posix() == expected, reason


def test_the_offset_of_local_time_belongs_to_the_identity_where_a_suite_has_one() -> None:
    east = replace(DESCRIPTION, settings={**DESCRIPTION.settings, "zone": "+02:00"})
    assert east.identity()["zone"] == "+02:00" and "zone" not in DESCRIPTION.identity()


def test_a_suite_brings_its_own_numbers_and_says_which_of_them_lead() -> None:
    fold = Fold(DESCRIPTION, Sampling(160), True, Shelf(), lambda pairs: {"n": len(pairs), "rest": None},
                lambda metrics: {"n": metrics["n"]})
    made = fold.result([fold.keep(one) for one in ROWS])
    assert made["metrics"] == {"n": 5, "rest": None} and made["answered"] == {"n": 3, "rest": None}
    assert made["headline"] == {"n": 5}
    assert list(made).index("headline") == list(made).index("metrics") - 1


def test_equal_verdicts_with_other_details_stay_two() -> None:
    scores = [Score("missing_calls", details={"hits": hits}, **WRONG) for hits in (0, 1)]
    fold = Fold(DESCRIPTION, Sampling(160), True, Shelf())
    kept = [fold.keep(played(f"t{i}", "x", score)) for i, score in enumerate(scores)]
    assert [one.score.details for one in kept] == [{"hits": 0}, {"hits": 1}]


SETUPS = [
    ("prompt", Sampling(160), None, "S", "short, no reasoning"),
    ("prompt", Sampling(160), "Hm", "custom", "it did reason"),
    ("prompt", Sampling(160, 0.7), None, "custom", "another temperature"),
    ("native", Sampling(1024), None, "N", "native"),
    ("native", Sampling(160), None, "custom", "native, short"),
    ("prompt", Sampling(8192), "Hm", "R", "reasoning with room"),
    ("prompt", Sampling(8192), None, "custom", "room without reasoning"),
]


@pytest.mark.parametrize(("mode", "sampling", "thought", "expected", "reason"), SETUPS)
def test_setups(mode: str, sampling: Sampling, thought: str | None, expected: str, reason: str) -> None:
    unanswered = {"reply": None, "labels": []}
    in_a_field = {"reply": {"reasoning": thought}, "labels": []}
    in_the_text = {"reply": {}, "labels": ["reasoning_removed"] if thought else []}
    for row in (in_a_field, in_the_text):
        assert setup_of(mode, sampling, [unanswered, row]) == expected, reason


@pytest.mark.parametrize(("mode", "sampling", "deviation", "expected", "reason"), [
    ("prompt", Sampling(160), "temperature refused: sent without", "custom", "nobody knows the temperature"),
    ("native", Sampling(1024), "temperature refused: sent without", "custom", "nor here"),
    ("native", Sampling(1024), "parallel_tool_calls refused: left out", "N", "the sampling is as asked for"),
    ("native", Sampling(1024), "max_tokens refused: sent as max_completion_tokens", "N", "the same under another name"),
])
def test_a_temperature_that_was_not_sent_is_no_named_setup(mode: str, sampling: Sampling, deviation: str,
                                                           expected: str, reason: str) -> None:
    row = {"reply": {}, "labels": [], "deviations": [deviation]}
    assert setup_of(mode, sampling, [{"reply": {}, "labels": []}, row]) == expected, reason


def test_the_table_counts_no_outcomes_where_there_are_none() -> None:
    assert "outcomes:" not in "\n".join(summary_lines(result([ROWS[2]])))
    assert "outcomes: ok 1" in "\n".join(summary_lines(result([ROWS[0], ROWS[2]])))


def test_scored_rows_are_answers_for_a_later_run() -> None:
    made = json.loads(result_bytes(result()))
    assert [e.task_id for e in entries_of(made)] == ["a", "b", "e"]
    assert entries_of(made)[0] == Entry("a", 1, KEY, ROWS[0].transcript.answers[0], 2)
    assert entries_of(json.loads(result_bytes(result(deterministic=True)))) == []


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 2, "rows": []}', '{"format": 1, "rows": []}', "\x00"])
def test_a_file_that_is_no_result_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"r\.json: is no results file"):
        read_result(path)


def test_places_that_cannot_be_written_are_refused_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "r.json"):
        with pytest.raises(UsageError):
            check_writable(path)
        with pytest.raises(UsageError):
            write_result(path, result())
    check_writable(tmp_path / "new" / "r.json")
    assert [p.name for p in (tmp_path / "new").iterdir()] == []


@pytest.mark.parametrize(("thoughts", "notes"), [
    ("Köln, also …", ["1 reply cut inside reasoning: raise --max-tokens (it was 160)"]),
    ("", None),
])
def test_a_budget_spent_on_reasoning_is_noted(thoughts: str, notes: list[str] | None) -> None:
    cut = played("a", "x", Score("truncated", why="cut", **dict.fromkeys(MATCHES, False)), "", reasoning=thoughts)
    made = result([cut])
    assert made.get("notes") == notes, "without a note there is no key, so that older bytes stay"
    jsonschema.validate(made, SCHEMA)
