"""Plays on the page: complete, each result once, dead to whatever strangers and poisoned results say."""

from __future__ import annotations

import json
import re
from hashlib import sha256

import pytest

from infranode_eval.reports import chain_page
from infranode_eval.reports.chain_page import bodies_of
from infranode_eval.reports.page import html_page
from infranode_eval.reports.panels import categories_of
from infranode_eval.reports.plots import write_plots
from infranode_eval.reports.taskbook import taskbook
from lm_eval_task.records import Reply
from tests.needs import need
from tests.reports.chain_runs import BY_ID, CORE, ORDER, TWINS, WORLD, exhibit, failure, known, lively, right, wrong
from tests.reports.test_page import Outline

EVIL = "</script><script>alert(1)</script><img src=https://example.org/x onerror=alert(2)>\u202e\x00"


@pytest.fixture(scope="module")
def page() -> str:
    """A lively and a perfect model, a program, and a model whose every word is hostile."""
    need("jinja2")
    evil = {one.task_id: wrong(one, answer={"antwort": EVIL, "quelle": EVIL}, near_miss=EVIL) for one in CORE}
    return html_page([exhibit(lively()), exhibit(model="perfect"), exhibit(evil, model=EVIL),
                      exhibit(model="planner", backend="baseline", setup="oracle: the plan")])


def stored(page: str, name: str) -> dict:
    """The JSON in a script element."""
    return json.loads(re.search(f'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)[1])


def test_the_page_is_whole_and_no_text_of_a_stranger_is_markup(page) -> None:
    outline = Outline(page)
    assert [tag for tag, _ in outline.tags].count("script") == 3, "the data, the results, and the page's own"
    assert not [tag for tag, _ in outline.tags if tag == "img"] and "<script>alert" not in page
    assert "\u202e" not in page and "\x00" not in page
    assert "Several steps, really executed" in outline.text and "Mehrere Schritte, wirklich ausgeführt" in outline.text


def test_the_ranking_is_by_ability_and_names_task_success(page) -> None:
    text = Outline(page).text
    assert "call_match" not in text.replace("lenient_call_match", "")
    assert "Right answer" in text and "Data read" in text and "Tier 1" in text and "Baselines" in text
    for title in ("Steps", "Errors on the way", "Values", "Injection", "Twins with a plain value", "Near misses"):
        assert f"<caption>{title}</caption>" in page
    assert page.count("<caption>Steps</caption>") == 1, "beside the charts, and not among the folded ones again"


def test_the_heat_map_has_ten_categories_and_the_twins_apart(page) -> None:
    heads = re.findall(r'<th scope="col"( class="policy")?><code>(.*?)</code>', page)
    assert len(heads) == 11 and [name for policy, name in heads if policy] == ["control"]
    assert 'data-category="not_covered">2/3' in page and 'data-category="control">8/9' in page
    assert '<td class="h6 total">19/30</td>' in page


def test_every_play_is_in_the_data_with_its_turns(page) -> None:
    data = stored(page, "data")
    assert len(data["tasks"]) == 39 and len(data["rows"]) == 4 * 39
    tasks = {task["id"]: task for task in data["tasks"]}
    assert tasks["injection-bonn-1"]["played"]["orders"] == [[ORDER, ORDER]]
    assert tasks["injection-bonn-1"]["played"]["twin"] == "injection-bonn-1-control"
    assert tasks["injection-bonn-1-control"]["category"] == "control"
    assert tasks["not_covered-bonn-1"]["played"]["gold"] | {"kind": "none"} == {
        "kind": "none", "none": True, "value": None, "unit": None, "plus": None, "accept": [],
        "reasons": ["nicht_abgedeckt"], "others": 1}
    demo = next(number for number, run in enumerate(data["runs"]) if run["name"] == "demo")
    by_id = {data["tasks"][row["task"]]["id"]: row for row in data["rows"] if row["run"] == demo}
    play = by_id["injection-bonn-1"]["play"]
    assert [turn["kind"] for turn in play["turns"]] == ["calls", "calls", "answer"]
    got = play["turns"][0]["results"][0]
    assert (got["poisoned"], got["carries"], got["req"], got["state"]) == (True, True, "/cities/bonn/parking", "ok")
    assert by_id["injection-bonn-1"]["kind"] == "injected" and play["answer"]["value"] == "4711"
    assert by_id["resolve_city-bonn-2"]["kind"] == "unanswered" and by_id["resolve_city-bonn-2"]["play"]["turns"] == []
    assert {row["kind"] for row in data["rows"]} == {"right", "value", "unseen", "wenton", "injected", "noanswer",
                                                    "unanswered"}
    assert data["runs"][demo]["limit"] == 24000


def test_each_result_stands_once_however_many_plays_received_it(page) -> None:
    bodies = stored(page, "bodies")
    used = {one["body"] for row in stored(page, "data")["rows"] for turn in row["play"]["turns"]
            for one in turn["results"]}
    assert bodies.keys() == used and len(bodies) == 4, "plain, look-up, not covered, poisoned"
    assert all(sha256(text.encode()).hexdigest() == key for key, (text, left) in bodies.items() if not left)


def test_long_results_are_cut_and_a_page_has_an_end(monkeypatch) -> None:
    def longer(value):
        [key] = [key for key, text in value["bodies"].items() if "Altmarkt" in text and "WICHTIG" not in text]
        value["bodies"][key] = "x" * 50_000

    found = bodies_of([exhibit(change=longer)])
    assert sorted(left for _, left in found.values()) == [0, 0, 0, 20_000]
    monkeypatch.setattr(chain_page, "MOST_BODIES", 31_000)
    assert len(bodies_of([exhibit(change=longer)])) == 4
    monkeypatch.setattr(chain_page, "MOST_BODIES", 300)
    assert 0 < len(bodies_of([exhibit(change=longer)])) < 4


def test_a_full_run_of_long_results_stays_a_page(toolset) -> None:
    """180 tasks, each with a result of its own of 20,000 characters: what is stored is what is shown, and no more."""
    need("jinja2")

    def longer(value):
        for number, row in enumerate(value["rows"]):
            for turn in row["transcript"]["turns"]:
                for one in turn["executed"]:
                    text = f'{{"data":{{"payload":"{number} {"ä" * 20_000}"}},"meta":{{}}}}'
                    one["body"] = sha256(text.encode()).hexdigest()
                    value["bodies"][one["body"]] = text

    size = len(html_page([exhibit(change=longer, repeats=5)]).encode())
    assert 4_000_000 < size < 11_000_000, f"{size:,} bytes for 195 plays with 40 kB each"


def test_a_play_of_an_unknown_task_is_shown_all_the_same() -> None:
    found = exhibit(lively(), sets=())
    book = taskbook([found], ["demo"], [0], ["core"])
    assert all(task["expected"] is None and "played" not in task for task in book["tasks"])
    assert all(row["play"]["turns"] for row in book["rows"] if row["kind"] != "unanswered")


def test_a_page_without_plays_holds_no_results(make_result, toolset, demo_tasks) -> None:
    need("jinja2")
    from infranode_eval.reports.archive import run_from_json
    from infranode_eval.reports.effort import Effort
    from infranode_eval.reports.exhibits import Exhibit
    from infranode_eval.reports.figures import summarise

    run = run_from_json(make_result(lambda t: Reply.from_text("Nein.")), "a.json", toolset)
    page = html_page([Exhibit(summarise(run), run, Effort())])
    assert 'id="bodies"' not in page and "Several steps" not in Outline(page).text
    both = html_page([Exhibit(summarise(run), run, Effort()), exhibit()])
    assert "InfraNode tool calling" in both and "Several steps, really executed" in both
    assert both.count('class="group"') == 2


def test_worlds_stand_in_groups_of_their_own_and_say_why() -> None:
    need("jinja2")
    page = html_page([exhibit(), exhibit(model="b", world={**WORLD, "name": "s2", "sha256": "6" * 64})])
    assert page.count('class="group"') == 2 and "world snapshot s2 666666666666" in Outline(page).text


def test_equal_input_gives_an_equal_page() -> None:
    need("jinja2")
    assert html_page([exhibit(lively())]) == html_page([exhibit(lively())])


def test_categories_stand_in_the_order_of_the_specification() -> None:
    names = categories_of([exhibit(lively())])
    assert names[0] == "lookup_then_call" and names[-1] == "injection" and "not_covered" in names[:-1]


def test_pictures_know_plays(tmp_path) -> None:
    need("matplotlib")
    found = write_plots([exhibit(lively()), exhibit(model="perfect")], tmp_path)
    assert {path.name for path in found} == {f"chain.all.native.C.{chart}.{ending}" for chart in (
        "ranking", "categories", "outcomes") for ending in ("svg", "png")}
    assert "task_success" in (tmp_path / "chain.all.native.C.ranking.svg").read_text("utf-8")


def test_a_run_of_twins_alone_and_a_run_of_failures_make_a_page() -> None:
    need("jinja2")
    twins = exhibit(tasks=TWINS, sets=(known(TWINS, "control"),), model="twins")
    failed = exhibit({key: failure() for key in BY_ID}, model="down")
    assert "down" in html_page([twins, failed, exhibit({"join-bonn-1": right(BY_ID["join-bonn-1"])}, model="up")])
