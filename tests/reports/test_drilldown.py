"""One task under the lens: everything is told, nothing in a reply acts on the terminal."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from infranode_eval.reports.drilldown import case_json, case_lines, cases_of, facts_of, unknown_task
from infranode_eval.reports.tasksets import TaskSet
from lm_eval_task.records import Reply, Score, tasks_fingerprint
from tests.reports import bench_runs

ID = "resource_key-koeln-charging"


@pytest.fixture
def sets(demo_tasks):
    return [TaskSet("core", tasks_fingerprint(demo_tasks), {t.task_id: t for t in demo_tasks})]


@pytest.fixture
def cases(make_result, answer, sets, toolset, tmp_path):
    """cases(reply, **header): the rows of one task in a file whose other replies are right."""

    def make(reply, sets=sets, **header):
        path = tmp_path / "r.json"
        path.write_text(json.dumps(make_result(lambda t: reply if t.task_id == ID else Reply.from_text(answer(t)),
                                               **header)), "utf-8")
        return cases_of(path, ID, sets, toolset)[0]

    return make


def lines(cases, start):
    return [line.strip() for line in case_lines(cases) if line.strip().startswith(start)]


@pytest.mark.parametrize("reply, read, verdict", [
    (Reply.from_text('{"name": "get_city_resource", "arguments": {"slug": "koeln", "resource": "charging"}}'),
     'read      get_city_resource(slug="koeln", resource="charging")', "verdict   right: ok, as expected"),
    (Reply.from_text('```json\n{"name": "weather", "arguments": {"slug": "köln"}}\n```'),
     'read      weather(slug="köln") [fenced_json]', "verdict   wrong: wrong_tool, called weather"),
    (Reply.from_text("Ich überlege noch", "length"), "read      nothing readable", "verdict   wrong: truncated, "),
    (Reply.from_text('{"name": "get_city_resource", "arguments": {"slug": "köln", "resource": "charging"}}'),
     'read      get_city_resource(slug="köln"', "verdict   wrong: wrong_args (umlaut_unresolved), slug: köln"),
    (Reply.from_text("Welche Ladesäulen?"), "read      no call [asks]", "verdict   wrong: no_call, no call; expected"),
    (Score.failure("infra_error", "timed out"), "read      nothing, there is no reply",
     "verdict   no answer: infra_error, timed out"),
])
def test_how_it_was_read_and_judged(cases, reply, read, verdict):
    found = cases(reply)
    assert [line for line in lines(found, "read") if line.startswith(read)], lines(found, "read")
    assert [line for line in lines(found, "verdict") if line.startswith(verdict)], lines(found, "verdict")


def test_question_gold_and_reply_are_shown(cases, golden):
    reply = Reply({"role": "assistant", "content": "erste Zeile\nzweite \x1b[2J\u202e Zeile",
                   "reasoning_content": "Köln hat einen Schlüssel",
                   "tool_calls": [{"type": "function", "function": {
                       "name": "get_city_resource", "arguments": '{"slug": "koeln", "resource": "Ladesäulen"}'}}]},
                  "tool_calls")
    text = "\n".join(case_lines(cases(reply, model="vendor/\x07m", mode="native")))
    assert not set(text) & set("\x07\x1b\u202e")
    golden("task.txt", "\n".join(line for line in text.split("\n") if "r.json" not in line) + "\n")


def test_a_long_reply_is_cut_and_that_is_said(cases):
    found = "\n".join(case_lines(cases(Reply.from_text("lang " * 2000))))
    assert "… 6,000 more characters" in found and len(found) < 6000


def test_repeats_are_shown_one_by_one(cases):
    found = cases(Reply.from_text("Nein."), repeats=3)
    assert len(found) == 3 and len(lines(found, "verdict")) == 3
    assert any("repeat 3" in line for line in case_lines(found))


def test_without_its_tasks_the_reply_is_shown_all_the_same(cases):
    found = cases(Reply.from_text("Nein."), sets=[])
    assert lines(found, "question") == ["question  not known: the run's tasks are in no known set; give them with "
                                        "--tasks"]
    assert lines(found, "reply") == ["reply     Nein."]


def test_versions_that_ask_something_else_under_one_id_are_shown_apart(cases):
    first = cases(Reply.from_text("Nein."))
    other = [replace(case, task=replace(case.task, question="Etwas anderes?")) for case in first]
    assert len(lines([*first, *other], "question")) == 2 and len(lines([*first, *first], "question")) == 1


def test_json(cases):
    [case] = cases(Reply.from_text("Nein."))
    value = json.loads(json.dumps(case_json(case)))
    assert (value["task_id"], value["reply"]["text"]) == (ID, "Nein.")
    assert value["expected"] == [{"name": "get_city_resource", "arguments": {"slug": "koeln", "resource": "charging"}}]
    assert value["verdict"]["outcome"] == "no_call" and value["verdict"]["call_match"] is False


@pytest.mark.parametrize("asked, hint, why", [
    ("resource_key-k", "did you mean resource_key-kiel-charging, resource_key-koeln-charging?", "begins alike"),
    ("kiel", "did you mean resource_key-kiel-charging?", "holds it"),
    ("resource_key-berlin", "did you mean resource_key-kiel-charging, resource_key-koeln-charging?", "same category"),
    ("nonsense", "report.py without --task shows the ids that there are", "nothing like it"),
])
def test_an_unknown_id_suggests_others(asked, hint, why):
    error = unknown_task(asked, ["resource_key-koeln-charging", "resource_key-kiel-charging", "pois-ulm"])
    assert str(error).endswith(hint), why


def test_many_suggestions_are_cut():
    assert str(unknown_task("t", [f"t{i}" for i in range(20)])).endswith("t15 and 12 more?")


def test_a_case_of_the_bench_says_what_it_tests_and_how_it_was_counted(tmp_path, toolset) -> None:
    told = {"S5-2": {**bench_runs.right(bench_runs.BY_ID["S5-2"]), "claims_done": True},
            "S3-1": bench_runs.wrong(bench_runs.BY_ID["S3-1"], "missing_calls", hits=1, emitted=1, first_step_only=True,
                                     form_notes=["a.b: text"])}
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(bench_runs.result(told)), "utf-8")
    text = {key: "\n".join(case_lines(cases_of(path, key, [bench_runs.known()], toolset)[0]))
            for key in ("S5-2", "S3-1", "S1-1")}
    assert "tests     prüft S5-2\npitfalls  die naheliegende Falle" in text["S5-2"]
    assert "  steps     0 calls; asked; asked right; claims done; by the original's rule right" in text["S5-2"]
    assert "1 of 2 met; 1 call; first step only; by the original's rule wrong; form: a.b: text" in text["S3-1"]
    assert "  steps     1 of 1 met; 1 call; by the original's rule right" in text["S1-1"]


@pytest.mark.parametrize("extra, expected", [
    ({"oder": [[], [{"name": "a", "arguments": {"x": 1}}]]}, [("or", "a(x=1) (step 2)")]),
    ({"nur": ["a", "b"], "reihenfolge": True, "menge": ["/x"]},
     [("offered", "a, b"), ("order", "as expected"), ("sets", "/x")]),
    ({"fehlt": ["mail"], "prueft": "p", "fallen": "f"}, [("missing", "mail"), ("tests", "p"), ("pitfalls", "f")]),
    ({"phrasing": "w1"}, []),
])
def test_what_a_case_says_of_itself(extra, expected) -> None:
    assert list(facts_of(replace(bench_runs.BY_ID["S1-1"], extra=extra))) == expected


@pytest.mark.parametrize("settings, label, why", [
    ({"max_tokens": 512, "temperature": 0.0}, "set-up B", "the suite as it is by default"),
    ({"max_tokens": 1024, "temperature": 0.0}, "set-up custom (max_tokens 1024, temperature 0.0)", "another budget")])
def test_a_bench_case_is_shown_with_its_set_up_and_without_what_is_not_counted(tmp_path, toolset, settings, label, why):
    told = {"S3-1": bench_runs.wrong(bench_runs.BY_ID["S3-1"], "missing_calls", emitted=1,
                                     why="1 calls instead of 2: list_rooms()")}
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(bench_runs.result(told, settings=settings)), "utf-8")
    found = cases_of(path, "S3-1", [bench_runs.known()], toolset)[0]
    text = "\n".join(case_lines(found))
    assert f"mode prompt, {label} (" in text, why
    assert case_json(found[0])["setup"] == label.removeprefix("set-up ")
    assert "missing_calls, 1 call instead of 2: list_rooms()" in text
    for name in ("args_match", "request_match", "datum_match"):
        assert name not in text, "no request is sent"
    assert "call_match no" in text


def test_the_main_suite_shows_every_match(cases, answer):
    text = "\n".join(case_lines(cases(Reply.from_text("Nein."))))
    assert all(name in text for name in ("args_match", "request_match", "datum_match"))
