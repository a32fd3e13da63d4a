"""Tasks as items of a test: hand-computed shares and correlations, what looks broken, who tells, and the text."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.export import report_json
from infranode_eval.reports.figures import Summary, summarise
from infranode_eval.reports.intake import look_again
from infranode_eval.reports.items import Item, Sighting, analysis_of, correlation, models_of, sightings_of
from infranode_eval.reports.items_tables import items_note, items_tables
from infranode_eval.reports.sections import report_sections
from infranode_eval.reports.tasksets import TaskSet, known_sets
from infranode_eval.tables import render
from lm_eval_task.records import Call, Reply, Score, Task, tasks_fingerprint

ROOT = Path(__file__).resolve().parent.parent.parent
SLUGS = ("koeln", "bonn", "kiel", "ulm", "trier", "muenchen")
TASKS = tuple(Task(f"t{i}", f"Wetter in {slug}?", (Call("weather", {"slug": slug}),), category="routing_named",
                   set="core") for i, slug in enumerate(SLUGS))
# Which tasks each model has right: only the weak one has t3, nobody t4.
RIGHT = {"strong": "t0 t1 t2 t5", "middle": "t0 t1 t2 t5", "weak": "t1 t2 t3"}


def replier(right: str, said: str = "Nein.") -> Callable[[Task], Reply]:
    def reply(asked: Task) -> Reply:
        if asked.task_id in right.split():
            return Reply.from_text(json.dumps(asked.expected[0].to_json()))
        return Reply.from_text(said)

    return reply


@pytest.fixture
def summary(make_result) -> Callable[..., Summary]:
    def make(model: str, right: str | None = None, asked: tuple[Task, ...] = TASKS, **header: Any) -> Summary:
        reply = header.pop("reply", replier(RIGHT.get(model, "") if right is None else right))
        value = make_result(reply, tasks=asked, model=model, **header)
        known = TaskSet("core", tasks_fingerprint(asked), {t.task_id: t for t in asked},
                        buckets=dict.fromkeys((t.task_id for t in asked), "easy"))
        return summarise(run_from_json(value, f"r/{model}.json"), [known])

    return make


@pytest.fixture
def three(summary) -> list[Summary]:
    return [summary(model) for model in RIGHT]


def items(summaries: list[Summary]) -> Mapping[str, Item]:
    found = analysis_of(summaries)
    assert found is not None
    return {item.task_id: item for item in found.items}


def test_shares_and_discrimination_by_hand(three):
    found = items(three)
    assert {key: item.right for key, item in found.items()} == pytest.approx(
        {"t0": 2 / 3, "t1": 1, "t2": 1, "t3": 1 / 3, "t4": 0, "t5": 2 / 3})
    # Rest of t0, of five: strong 3, middle 3, weak 3 (t1 t2 t3): it does not vary. Rest of t3: 4, 4, 2; it is 0, 0, 1.
    assert found["t0"].discrimination is None and found["t0"].gap == pytest.approx(0)
    assert found["t3"].discrimination == pytest.approx(-1) and found["t3"].gap == pytest.approx((2 - 4) / 5)
    assert found["t1"].discrimination is None and found["t1"].gap is None, "all alike"


def test_discrimination_is_the_point_biserial_correlation_with_the_rest():
    """(M1 − M0) / s · sqrt(p q), s with n below it."""
    own, rest = [1.0, 1.0, 0.0, 1.0, 0.0], [0.9, 0.7, 0.6, 0.5, 0.2]
    mean = math.fsum(rest) / 5
    spread = math.sqrt(math.fsum((r - mean) ** 2 for r in rest) / 5)
    by_hand = ((0.9 + 0.7 + 0.5) / 3 - (0.6 + 0.2) / 2) / spread * math.sqrt(3 / 5 * 2 / 5)
    assert correlation(own, rest) == pytest.approx(by_hand)


def test_oracle_scipy_agrees():
    stats = pytest.importorskip("scipy.stats")
    own, rest = [1, 1, 0, 1, 0, 0], [0.9, 0.7, 0.6, 0.5, 0.2, 0.9]
    assert correlation(own, rest) == pytest.approx(stats.pointbiserialr(own, rest).statistic)


def test_the_task_itself_is_no_part_of_the_rest(summary):
    """With the total instead of the rest, every task would look better than it is."""
    found = items([summary("a", "t0"), summary("b", "t1"), summary("c", "t2")])
    assert found["t0"].discrimination == pytest.approx(-1), "who has t0 has nothing else; by the total it would be none"


@pytest.mark.parametrize("right, suspects, why", [
    (RIGHT, {"t4": "nobody is right", "t3": "the better ones are wrong"}, "nobody, and the weak one only"),
    ({"a": "t0 t1 t2 t3", "b": "t0 t1 t2 t3", "c": "t0"}, {}, "t4, t5: nobody, but one is weak elsewhere"),
    ({"a": "t0 t1 t2 t3 t4 t5", "b": "t0 t1 t2 t3 t4", "c": "t0 t1 t2 t3"}, {}, "easy tasks and good ones"),
    ({"a": "t0 t1 t2", "b": "t0 t1 t3", "c": "t0 t1 t4"}, {"t5": None}, "t5 nobody, rests of 3/5"),
])
def test_what_looks_broken(summary, right, suspects, why):
    found = analysis_of([summary(model, tasks) for model, tasks in right.items()])
    shown = {i.task_id: i.why for i in found.suspects}
    if None in suspects.values():
        assert shown["t5"] == "nobody is right", why
    else:
        assert shown == suspects, why


def test_models_that_are_almost_alike_accuse_no_task(summary):
    """The better one has one task of 59 more: a correlation of -1 that means nothing."""
    asked = tuple(Task(f"t{i}", f"Frage {i}?", (Call("weather", {"slug": "ulm"}),), category="c") for i in range(60))
    names = [t.task_id for t in asked]
    found = items([summary("a", " ".join(names[1:]), asked), summary("b", " ".join(names[1:]), asked),
                   summary("c", " ".join(names[:-1][:58]), asked)])
    assert found["t0"].discrimination == pytest.approx(-1) and abs(found["t0"].gap) < 0.05 and found["t0"].why is None


# --- who tells --------------------------------------------------------------------------------------------------------

def test_only_models_with_complete_runs_over_the_same_tasks_tell(summary):
    told = models_of([
        summary("strong"), summary("middle"), summary("bm25", "t0", backend="baseline"),
        summary("failing", reply=lambda t: Score.failure("infra_error", "x")), summary("short", "t0", TASKS[:3]),
        summary("cut", reply=lambda t: Reply.from_text("Ich überlege", "length"))])
    assert list(told) == ["strong", "middle"]


def test_two_runs_of_one_model_are_one_model(summary):
    assert analysis_of([summary("strong"), summary("strong", "t0"), summary("weak")]) is None
    found = items([summary("a", "t0 t1"), summary("a", "t0"), summary("b", "t0"), summary("c", "")])
    assert found["t1"].right == pytest.approx(0.5 / 3), "a half of one model"


@pytest.mark.parametrize("models, note", [
    ([], "item analysis: needs complete runs of 3 models over these tasks, here are 0"),
    (["strong"], "item analysis: needs complete runs of 3 models over these tasks, here is 1"),
    (["strong", "weak"], "item analysis: needs complete runs of 3 models over these tasks, here are 2"),
    (["strong", "middle", "weak"], None),
])
def test_with_too_few_models_one_line_says_so(summary, models, note):
    runs = [summary(model) for model in models]
    assert items_note(runs) == note and bool(items_tables(runs)) is (note is None)
    if runs:
        notes = report_sections(runs)[0].tables[3].notes
        assert (note in notes) if note else not any("item analysis" in n for n in notes)


def test_one_line_says_that_no_task_looks_broken(summary):
    runs = [summary(model, "t0 t1 t2 t3 t4 t5") for model in "abc"]
    assert items_tables(runs) == [] and items_note(runs) == "item analysis: no task looks broken to 3 models"


@pytest.mark.parametrize("name", ["robust", "abstain"])
def test_wordings_and_abstentions_are_no_items(make_result, name):
    runs = [summarise(run_from_json(make_result(replier(RIGHT[m]), tasks=TASKS, model=m, set=name), m)) for m in RIGHT]
    assert analysis_of(runs) is None


# --- what was asked and called ----------------------------------------------------------------------------------------

def test_sightings_count_what_wrong_replies_called(make_result):
    def run(model: str, said: str) -> Any:
        return run_from_json(make_result(replier("t0", said), tasks=TASKS, model=model), f"{model}.json")

    wrong = '{"name": "get_city", "arguments": {"slug": "kiel"}}'
    runs = [run("a", wrong), run("b", wrong), run("c", "Nein."), run("d", '{"name": "weather", "arguments": {')]
    known = {t.task_id: t for t in TASKS}
    found = sightings_of(["t2", "t0", "gone"], [(r, known) for r in runs])
    assert found["t2"] == Sighting("Wetter in kiel?", 'weather(slug="kiel")', (
        ('get_city(slug="kiel")', 2), ("no call", 1), ("unreadable", 1)))
    assert found["t0"].called == () and found["gone"] == Sighting("", "", ())
    assert sightings_of(["t2"], [(runs[0], {})])["t2"].question == "", "tasks that are not known"


@pytest.fixture
def files(tmp_path, make_result, toolset):
    """(summaries of three files, a look at them)"""
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(t.to_json(), ensure_ascii=False) + "\n" for t in TASKS), "utf-8")
    sets = known_sets(toolset, tasks)
    found = []
    for model, right in RIGHT.items():
        path = tmp_path / f"{model}.json"
        path.write_text(json.dumps(make_result(replier(right), tasks=TASKS, model=model)), "utf-8")
        found.append(summarise(run_from_json(json.loads(path.read_bytes()), path), sets))
    return found, look_again(toolset, sets)


def test_files_are_read_once_more_for_what_looks_broken(files):
    summaries, look = files
    [table] = items_tables(summaries, look)
    assert [row[:4] for row in table.rows] == [
        ("t4", "0", "—", "nobody is right"), ("t3", "33", "-1.00", "the better ones are wrong")]
    assert table.rows[1][4:] == ("Wetter in ulm?", 'weather(slug="ulm")', "no call (2 of 2)")
    assert all(row[4:] == ("—", "—", "—") for row in items_tables(summaries)[0].rows), "without a look"


def test_for_programs(files):
    summaries, look = files
    [group] = json.loads(report_json(summaries, (), look))["groups"]
    found = group["items"]
    assert found["models"] == 3 and [t["task_id"] for t in found["tasks"]] == [t.task_id for t in TASKS]
    assert found["tasks"][3] == {"task_id": "t3", "category": "routing_named", "right": pytest.approx(1 / 3),
                                 "discrimination": pytest.approx(-1), "gap": pytest.approx(-0.4),
                                 "why": "the better ones are wrong"}
    assert found["suspects"][1] == {"task_id": "t3", "question": "Wetter in ulm?", "gold": 'weather(slug="ulm")',
                                    "called": [{"calls": "no call", "rows": 2}]}
    assert json.loads(report_json(summaries[:2]))["groups"][0]["items"] is None


def test_a_long_list_is_bounded_and_long_texts_are_cut(summary):
    asked = tuple(Task(f"t{i:02}", f"Frage {i}?", (Call("weather", {"slug": "ulm"}),), category="c") for i in range(40))
    good = " ".join(t.task_id for t in asked[15:])
    [table] = items_tables([summary(m, good, asked) for m in "abc"],
                           lambda _, ids: {key: Sighting("?" * 200, "g" * 200, (("c" * 200, 3),)) for key in ids})
    assert table.title.endswith("15 of 40") and len(table.rows) == 10
    assert table.notes[0] == "the first 10 are shown, 5 more stand in --items"
    assert {len(cell) for row in table.rows for cell in row[4:]} == {90}


@pytest.mark.parametrize("form, name", [("text", "items.txt"), ("markdown", "items.md")])
def test_the_report(files, golden, form, name):
    summaries, look = files
    tables = items_tables(summaries, look)
    [section] = report_sections(summaries, look)
    assert tables[0] in section.tables
    golden(name, render([section.__class__("Items", tuple(tables))], form))


def test_from_files_to_report(tmp_path, make_result):
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(t.to_json(), ensure_ascii=False) + "\n" for t in TASKS), "utf-8")
    buckets = {t.task_id: {"difficulty": {"bucket": "easy" if t.task_id < "t3" else "hard"}} for t in TASKS}
    (tmp_path / "tasks.meta.json").write_text(json.dumps({"tasks": buckets}), "utf-8")
    for model, right in RIGHT.items():
        value = make_result(replier(right), tasks=TASKS, model=model)
        (tmp_path / f"{model}.json").write_text(json.dumps(value), "utf-8")

    def report(*arguments: object) -> str:
        done = subprocess.run([sys.executable, ROOT / "report.py", "--tasks", tasks, *map(str, arguments)],
                              capture_output=True, text=True, encoding="utf-8", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    files = [f"{model}.json" for model in RIGHT]
    said = report(*files)
    assert "Tasks that look broken: 2 of 6" in said and 'weather(slug="ulm")' in said
    assert ["weak", "2/3", "[21–94]", "1/3", "[6–79]"] in [line.split()[:5] for line in said.splitlines()]
    every = report("--items", *files)
    assert ["t5", "routing_named", "67", "—"] in [line.split() for line in every.splitlines()]
    lines = report("--items", "--format", "csv", *files).splitlines()
    assert len(lines) == 7 and lines[4].endswith(",the better ones are wrong")
    assert "needs complete runs of 3 models over these tasks, here is 1" in report("--items", files[0])
