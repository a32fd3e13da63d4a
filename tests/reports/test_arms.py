"""Runs under an arm beside their base: paired, never ranked, and said in words that the numbers carry."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import report
from infranode_eval.arms import ARMS
from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.arms import arms_sections, families_of, tables_by_group
from infranode_eval.reports.export import report_csv, report_json
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.sections import group_of, report_sections
from infranode_eval.tables import render
from lm_eval_task.records import Reply

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def summary(make_result, answer, demo_tasks):
    """summary(arm, solved): a run under an arm that solves the first `solved` of the forty tasks."""

    def make(arm=None, solved=30, path=None, model="demo", seed=None, extra=None, fail=0, **options):
        right = {t.task_id for t in demo_tasks[:solved]}
        value = make_result(lambda t: Reply.from_text(answer(t) if t.task_id in right else '{"name": "sources", '
                                                      '"arguments": {"x": 1}}'), model=model, **options)
        settings = {"max_tokens": 160, "temperature": 0, **(extra or {})}
        settings |= {"arm": arm, "arm_seed": seed or 1} if arm else {}
        value |= {"settings": settings}
        return summarise(run_from_json(value, path or f"{model}.{arm}.json"))

    return make


@pytest.mark.parametrize(("arm", "base", "solved", "words", "reason"), [
    ("names_only", 30, 30, "goes by names: descriptions do not show", "nothing lost"),
    ("names_only", 30, 8, "reads descriptions", "lost, but more than a quarter is left"),
    ("names_only", 30, 7, "collapses: reads descriptions", "a quarter of 30 is 7.5"),
    ("names_only", 20, 34, "descriptions mislead it", "gained"),
    ("anonymous", 30, 0, "collapses: goes by the names of tools", "nothing left"),
    ("descriptions_only", 30, 27, "open: from -17 to +2 points is possible", "three fewer may be chance, or not"),
    ("english", 5, 0, "the base solves too few tasks to tell", "even all five would be chance"),
    ("english", 0, 0, "the base solves too few tasks to tell", "nothing there"),
    ("english", 6, 0, "collapses: German descriptions help it", "six of six: p = 0.03"),
    ("order", 40, 40, "the order of the tools does not show", "everything solved"),
])
def test_words(summary, arm, base, solved, words, reason):
    [[effect]], alone = families_of([summary(solved=base), summary(arm, solved)])
    assert not alone and (effect.gained, effect.lost) == (max(0, solved - base), max(0, base - solved))
    assert effect.words == words, (reason, effect.paired.difference)


def test_many_arms_are_corrected_for(summary):
    """The same six lost tasks are more than chance alone, and no longer among ten arms."""
    alone, = families_of([summary(), summary("english", 24)])[0]
    many, = families_of([summary(), *(summary(arm, 24) for arm in ARMS)])[0]
    assert alone[0].adjusted < 0.05 < many[0].adjusted and alone[0].paired.p == many[0].paired.p
    assert [e.label for e in many] == list(ARMS), "in the order of the arms"


def test_an_arm_that_bounds_the_score_says_so(summary):
    bound = {"gold_offered": {"tasks": 12, "of": 40}}
    [[effect]], _ = families_of([summary(), summary("nearest_3", 11, extra=bound)])
    assert effect.words == "misses tools that retrieval leaves out; the right tool was offered in 12 of 40 tasks"


def test_only_runs_over_the_same_tasks_in_the_same_way_are_paired(summary, demo_tasks):
    base = summary(path="base.json")
    pairs = {"other model": summary("order", model="else"), "other mode": summary("order", mode="native", setup="N"),
             "other set-up": summary("order", setup="R"), "fewer tasks": summary("order", tasks=demo_tasks[:10]),
             "repeats": summary("order", repeats=2)}
    families, alone = families_of([base, *pairs.values()])
    assert not families and len(alone) == len(pairs)
    section, = arms_sections([base, pairs["other mode"]])
    assert not section.tables and "demo under order has no base" in " ".join(section.notes)
    assert arms_sections([base]) == []


def test_a_shuffled_run_of_old_is_the_arm_order_and_other_seeds_are_named(summary):
    runs = [summary(extra={"shuffle_tools": 5}, path="s.json"), summary("order", path="a.json"),
            summary("order", path="b.json")]
    [effects], _ = families_of([summary(), *runs])
    assert [e.label for e in effects] == ["order · a.json", "order · b.json", "order (seed 5)"]


def test_repeats_are_paired_by_tasks(summary):
    section, = arms_sections([summary(repeats=2), summary("names_only", 5, repeats=2)])
    table, = section.tables
    assert "40 tasks × 2" in table.title and "cluster bootstrap" in table.notes[0]
    assert table.rows[1][-1] == "collapses: reads descriptions"


def test_arms_have_no_place_among_the_runs_that_are_ranked(summary):
    base, arm = summary(), summary("english", 40)
    assert group_of(base) != group_of(arm)
    document = json.loads(report_json([base, arm]))
    assert sorted(g["arm"] for g in document["groups"]) == ["", "english"]
    effect, = document["arms"]
    assert (effect["base"], effect["arm"], effect["gained"], effect["lost"]) == ("demo.None.json", "english", 10, 0)
    assert effect["difference"]["estimate"] == 0.25 and effect["p"] == effect["p_holm"] == effect["mcnemar"]["p_exact"]
    header, *lines = report_csv([base, arm]).splitlines()
    at = header.split(",").index("arm")
    assert sorted(line.split(",")[at] for line in lines) == ["", "english"]
    assert list(tables_by_group([base, arm])) == [group_of(base)]


def test_table(summary, golden):
    runs = [summary(path="base.json"), summary("anonymous", 29), summary("names_only", 3),
            summary("permuted_descriptions", 0), summary("english", 36, seed=7)]
    golden("arms.txt", render(arms_sections(runs), "text"))
    golden("arms.md", render(arms_sections(runs), "markdown"))


def test_the_report_shows_arms_after_the_tables_that_rank(capsys):
    assert report.main([str(ROOT / "results/bm25.json"), str(ROOT / "results/arms")]) == 0
    out = capsys.readouterr().out
    ranked, _, arms = out.partition("Arms: what a score rests on")
    assert ranked == render(report_sections([summarise_file("results/bm25.json")]), "text") + "\n"
    assert all(re.search(rf"^{name} ", arms, re.MULTILINE) for name in ARMS)


def summarise_file(name):
    tools = report.read_tools(None)
    found, = report.summaries_of(ROOT / name, tools, report.task_sets(tools, None, print))
    return found


def test_the_shipped_table_is_the_one_that_the_command_prints():
    text = (ROOT / "docs/arms.md").read_text("utf-8")
    command = re.search(r"^python3 (report\.py --format markdown .*)$", text, re.MULTILINE)[1]
    done = subprocess.run([sys.executable, *command.split()], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = re.search(r"<!-- arms -->\n(.*?)\n<!-- /arms -->", text, re.DOTALL)[1]
    table = done.stdout[done.stdout.index("### bm25: core"):]
    assert shown.strip() == table.strip()
