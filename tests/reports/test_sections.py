"""The report's sections: what may share a table, its order, its marks; the whole report as golden files."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.sections import report_sections, version_notes
from infranode_eval.reports.tasksets import TaskSet
from infranode_eval.tables import render
from lm_eval_task.records import Reply, Score, tasks_fingerprint


@pytest.fixture
def core(demo_tasks):
    """Every third task is hard, but one of which nothing is known."""
    buckets = {t.task_id: ("hard", "easy", "medium")[i % 3] for i, t in enumerate(demo_tasks[:-1])}
    return TaskSet("core", tasks_fingerprint(demo_tasks), {t.task_id: t for t in demo_tasks}, buckets=buckets)


@pytest.fixture
def summary(make_result, answer, core):
    """summary(model, path=…, replier=…, **header)"""

    def make(model, replier=None, path=None, known=True, **options):
        value = make_result(replier or (lambda t: Reply.from_text(answer(t))), model=model, **options)
        return summarise(run_from_json(value, path or f"results/{model}.json"), [core] if known else [])

    return make


def mixed(answer):
    """A model with most kinds of outcome, chosen by the task."""
    def replier(task):
        text = answer(task)
        kinds = {
            "resource_key-koeln-charging": Reply.from_text(text.replace("koeln", "köln")),
            "resource_key-koeln-tourism": Reply.from_text(text[:-3]),
            "resource_key-koeln-tree-cadastre": Reply.from_text(text.replace("tree-cadastre", "Bäume")),
            "resource_key-muenchen-charging": Reply.from_text(f"[{text}, {text.replace('charging', 'parking')}]"),
            "resource_key-muenchen-tourism": Reply.from_text(f"<tool_call>{text}</tool_call>"),
            "resource_key-bonn-parking": Score.failure("infra_error", "timed out"),
            "not_covered-bonn": Reply.from_text(json.dumps({"name": "get_city_overview",
                                                            "arguments": {"slug": "bonn"}})),
            "not_covered-kiel": Reply.from_text("Für Kiel liegt mir das nicht vor."),
        }
        return kinds.get(task.task_id, Reply.from_text(text))
    return replier


@pytest.fixture
def whole(summary, answer):
    """Four runs in two groups: a model, a baseline and a model without a budget in prompted mode, one native."""
    def chatty(task):
        return Reply.from_text("Ich denke nach …", "length") if task.category == "routing_named" \
            else Reply.from_text(answer(task))

    def native(task):
        call = task.expected[0].to_json()
        return Reply({"role": "assistant", "content": "", "tool_calls": [
            {"type": "function", "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])}}]})

    return [summary("vendor/mixed", mixed(answer)), summary("oracle", backend="baseline"),
            summary("chatty|model", chatty), summary("vendor/mixed", native, path="results/vendor__mixed.native.json",
                                                     mode="native")]


@pytest.mark.parametrize("form, name", [("text", "report.txt"), ("markdown", "report.md")])
def test_the_whole_report(whole, golden, form, name):
    golden(name, render(report_sections(whole), form))


def titles(summaries):
    return [s.title for s in report_sections(summaries)]


@pytest.mark.parametrize("other, word", [
    ({"mode": "native"}, "mode"),
    ({"setup": "R"}, "set-up"),
    ({"setup": "custom"}, "set-up"),
    ({"scorer_version": "0.9"}, "scorer version"),
    ({"suite": "parcours"}, "suite"),
    ({"repeats": 2}, "repeats"),
    ({"known": False}, "set of tasks"),
])
def test_runs_that_differ_stand_in_sections_of_their_own(summary, other, word):
    sections = report_sections([summary("a"), summary("b", **other)])
    assert sections[0].title == "2 groups of runs" and word in sections[0].notes[0]
    assert [len(s.tables[0].rows) for s in sections[1:3]] == [1, 1]


def test_other_tasks_are_another_group_even_under_the_same_name(summary, demo_tasks):
    one, other = summary("a", known=False), summary("b", tasks=demo_tasks[:20], known=False)
    assert len(titles([one, other])) == 3, "the heading over both, and a section each"


def test_a_shortened_run_does_not_share_a_table_with_a_whole_one(make_result, answer, core, summary):
    value = make_result(lambda t: Reply.from_text(answer(t)))
    value["rows"] = value["rows"][:10]
    value["counts"] = {"n": 10, "scored": 10, "failed": 0}
    short = summarise(run_from_json(value, "short.json"), [core])
    assert "number of tasks" in report_sections([summary("a"), short])[0].notes[0]


def test_two_custom_setups_are_two_groups(summary):
    custom = [summary("a", setup="custom", settings={"max_tokens": n}) for n in (512, 4096)]
    assert [t for t in titles(custom) if "custom (max_tokens 512)" in t]
    assert len(titles(custom)) == 3


def test_rows_are_sorted_by_ability_with_marks_and_budget_limited_last(whole):
    section = next(s for s in report_sections(whole) if "mode prompt" in s.title)
    assert [row[0] for row in section.tables[0].rows] == [
        "oracle (baseline)", "vendor/mixed (incomplete) !1", "chatty|model (budget-limited) !2"]


def test_equal_names_are_told_apart_by_their_file(summary):
    section = report_sections([summary("a", path="x/1.json", backend="baseline"), summary("a", path="x/2.json")])[0]
    assert [row[0] for row in section.tables[0].rows] == ["a (baseline)", "a !1"]
    section = report_sections([summary("a", path=f"x/{n}.json", backend="baseline") for n in (1, 2)])[0]
    assert [row[0] for row in section.tables[0].rows] == ["a (baseline) · x/1.json", "a (baseline) · x/2.json"]


def test_a_warning_is_a_mark_beside_the_row_and_lines_below_the_table(whole):
    section = next(s for s in report_sections(whole) if "mode prompt" in s.title)
    marks = {row[0].rpartition(" ")[2] for row in section.tables[0].rows if "!" in row[0]}
    lines = [note for note in section.tables[0].notes if note.startswith("!")]
    assert marks == {"!1", "!2"} == {line.split()[0] for line in lines}
    assert [line.split(":")[0] for line in lines] == ["!1 vendor/mixed (results/vendor/mixed.json)",
                                                      "!2 chatty|model (results/chatty|model.json)"]
    assert all({row[0] for row in table.rows} >= {"oracle (baseline)", "chatty|model (budget-limited) !2"}
               for table in section.tables), "every table carries the mark"


def test_four_things_that_are_no_wrong_call_stay_apart(summary, answer):
    def replier(task):
        kinds = {"routing_named-koeln": Reply.from_text("Das weiß ich nicht."),
                 "routing_named-muenchen": Reply.from_text('{"name": "weather", "arguments": {'),
                 "routing_named-nuernberg": Reply.from_text("Ich überlege", "length"),
                 "routing_named-duesseldorf": Score.failure("infra_error", "reset"),
                 "resource_key-koeln-charging": Reply.from_text('{"name": "weather", "arguments": {"slug": "koeln"}}')}
        return kinds.get(task.task_id, Reply.from_text(answer(task)))

    table = report_sections([summary("a", replier)])[0].tables[1]
    assert dict(zip([c.header for c in table.columns], table.rows[0], strict=True)) == {
        "model": "a (incomplete, budget-limited) !1", "right": "35", "wrong call": "1", "did not call": "1",
        "could not read": "1", "ran out of tokens": "1", "no answer": "1", "n": "40", "scored": "39", "failed": "1"}


def test_both_orders_are_printed_when_not_covered_changes_them(summary, answer):
    def looks_first(task):
        return Reply.from_text("Nein." if task.category == "not_covered" else answer(task))

    def one_off(task):
        return Reply.from_text("Nein." if task.task_id == "routing_named-koeln" else answer(task))

    notes = report_sections([summary("looks", looks_first), summary("direct", one_off)])[0].tables[0].notes
    assert notes[-2] == "the order changes with not_covered: without it looks, direct; with it direct, looks"
    alone = report_sections([summary("looks", looks_first)])[0].tables[0].notes
    assert not any("order changes" in n for n in alone)


def test_a_category_without_an_answer_is_a_dash(summary, answer):
    found = report_sections([summary("a", lambda t: Score.failure("infra_error", "x") if t.category == "routing_named"
                                     else Reply.from_text(answer(t)))])[0].tables[2]
    cell = dict(zip([c.header for c in found.columns], found.rows[0], strict=True))
    assert cell["routing_named (n=4)"] == "—" and cell["resource_key (n=32)"].startswith("100.0 [")


def test_no_result_no_section():
    assert report_sections([]) == []


# --- versions of a set ------------------------------------------------------------------------------------------------

def test_runs_over_two_versions_of_a_set_are_not_ranked_together_and_both_are_named(summary, demo_tasks, core):
    old = replace(summary("old"), version="core-2026-12")
    new = replace(summary("new", tasks=demo_tasks[3:]), version="core-2026-12+r3-2026-12-05", dataset="core")
    unknown = replace(summary("odd", tasks=demo_tasks[5:], known=False), dataset="core")
    sections = report_sections([old, new, unknown])
    [line] = [note for note in sections[0].notes if "NOT RANKED TOGETHER" in note]
    assert "3 versions of the set core: core-2026-12 (tasks " in line and "--common-rows" in line
    assert "core-2026-12+r3-2026-12-05 (tasks " in line and "a version that no --tasks file holds (tasks " in line
    models = [[row[0].split(" ")[0] for row in section.tables[0].rows] for section in sections[1:]]
    assert sorted(models) == [["new"], ["odd"], ["old"]], "each in a table of its own"


def test_other_sets_and_other_modes_are_no_versions(summary, demo_tasks):
    other = replace(summary("b", tasks=demo_tasks[3:]), dataset="extended")
    nameless = replace(summary("c", tasks=demo_tasks[4:], known=False), dataset=None)
    assert version_notes([summary("a"), summary("d", mode="native"), other, nameless]) == []
