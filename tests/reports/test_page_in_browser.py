"""The page in Debian's chromium: quiet, closed, usable by keyboard, on a phone, in both languages, without a script."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.effort import effort_of
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.page import html_page
from infranode_eval.reports.replies import evidence_of
from lm_eval_task.records import Reply, Score, Task
from lm_eval_task.tools import Toolset
from tests.chromium import Browser, chromium, chromium_path
from tests.conftest import result_json
from tests.needs import need

EVIL = "</script><script>alert(1)</script><img src=https://example.org/x onerror=alert(2)>\u202e\x00\ud800"


@pytest.fixture(scope="module")
def page(tmp_path_factory, demo_tasks: tuple[Task, ...], toolset: Toolset) -> Path:
    """Two groups; a good, a poor and a hostile model, a run with failures, a baseline."""
    need("jinja2")

    def right(task: Task) -> Reply:
        return Reply.from_text(json.dumps(task.expected[0].to_json(), ensure_ascii=False))

    def poor(task: Task) -> Reply | Score:
        if "kiel" in task.task_id:
            return Score.failure("infra_error", "timed out")
        return right(task) if "koeln" in task.task_id else Reply.from_text("Ich weiß es nicht.")

    runs = [(right, {"model": "good"}), (poor, {"model": "poor"}), (lambda t: Reply.from_text(EVIL), {"model": EVIL}),
            (right, {"model": "native-one", "mode": "native", "setup": "N"}),
            (lambda t: Reply.from_text("Nein."), {"model": "never_calls", "backend": "baseline"})]
    exhibits = []
    for number, (replier, header) in enumerate(runs):
        result = result_json(demo_tasks, replier, toolset, **header)
        for row in result["rows"]:
            row["latency_s"] = 0.5 + number if "good" in header["model"] or "poor" in header["model"] else None
        run = run_from_json(result, f"{number}.json", toolset)
        exhibits.append(Exhibit(summarise(run, (), toolset), run, effort_of(result["rows"]),
                                tuple(map(evidence_of, result["rows"])), {t.task_id: t for t in demo_tasks}))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html_page(exhibits, ["bad.json: is not JSON"]), "utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    if chromium_path() is None:
        if "chromium" in os.environ.get("INFRANODE_REQUIRE", "").split(","):
            pytest.fail("CI must have chromium")
        pytest.skip("chromium is not installed")
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


SCREENS = [(1280, 900, False, "en"), (1280, 900, True, "de"), (360, 740, False, "de"), (360, 740, True, "en"),
           (820, 1100, False, "de"), (1080, 700, False, "de")]


@pytest.mark.parametrize(("width", "height", "dark", "language"), SCREENS)
def test_every_screen_is_quiet_closed_and_not_wider_than_itself(browser, page, width, height, dark, language) -> None:
    browser.open(page, width=width, height=height, dark=dark, language=language)
    browser.value("for (const d of document.querySelectorAll('details')) d.open = true")
    browser.value("new Promise((resolve) => setTimeout(resolve, 100))")
    assert browser.complaints() == [] and browser.requests() == []
    assert not [e for e in browser.events if e["method"] == "Page.javascriptDialogOpening"]
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("document.documentElement.lang") == language
    shown, hidden = (browser.value(f"getComputedStyle(document.querySelector('h1 .{name}')).display") for name in
                     (("en", "de") if language == "en" else ("de", "en")))
    assert shown != "none" and hidden == "none"
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 23, 26)" if dark else "rgb(252, 251, 249)")


def test_the_policy_stops_what_a_page_could_be_made_to_ask_for(browser, page) -> None:
    browser.open(page)
    browser.value("new Promise((done) => { const i = new Image(); i.onerror = done; i.onload = done; "
                  "i.src = 'https://example.org/x.png'; })")
    assert any("violates" in text for text in browser.complaints()), "the probe itself must be noticed"
    browser.value("(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; "
                  "document.body.append(s); })()")
    assert browser.value("window.ran") is None


def test_without_a_script_tables_and_charts_are_there_and_the_rest_says_so(browser, page) -> None:
    browser.open(page, script=False)
    browser.send("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.value("document.querySelectorAll('.standings tbody tr').length") > 5
    assert browser.value("[...document.querySelectorAll('.track circle')].every((c) => "
                         "c.getBoundingClientRect().width > 0)")
    assert browser.value("document.querySelector('noscript').innerHTML").count("report.py --task ID") == 2
    assert browser.value("document.getElementById('switches').hidden") is True


def test_switches_change_language_and_colours_and_are_remembered(browser, page) -> None:
    browser.open(page)
    browser.value("document.getElementById('language').click()")
    browser.value("document.getElementById('theme').click()")
    assert browser.value("[document.documentElement.lang, document.documentElement.dataset.theme]") == ["de", "dark"]
    assert browser.value("document.querySelector('#explorer option').textContent") == "beliebig"
    browser.open(page)
    assert browser.value("[document.documentElement.lang, document.documentElement.dataset.theme]") == ["de", "dark"]
    browser.value("localStorage.clear()")


def shown(browser: Browser) -> int:
    return browser.value("Number(document.querySelector('.found .en').textContent.split(' ')[0]) || 0")


def choose(browser: Browser, name: str, value: str) -> None:
    browser.value(f"(() => {{ const e = document.querySelector('[name={name}]'); e.value = {json.dumps(value)}; "
                  f"e.dispatchEvent(new Event('change')); }})()")


def test_filters_narrow_the_list_together(browser, page) -> None:
    browser.open(page)
    assert shown(browser) == 40
    choose(browser, "category", "not_covered")
    assert shown(browser) == 4
    choose(browser, "outcome", "unanswered")
    assert shown(browser) == 1, "Kiel, where the poor model's endpoint failed"
    browser.value("[...document.querySelectorAll('.filters button')].pop().click()")
    assert shown(browser) == 40
    browser.value("(() => { const e = document.querySelector('[name=text]'); e.value = 'straßenbäume'; "
                  "e.dispatchEvent(new Event('input')); return new Promise((done) => setTimeout(done, 300)); })()")
    assert shown(browser) == 8
    browser.open(page)
    choose(browser, "group", "1")
    browser.value("document.querySelector('[name=differ]').click()")
    assert shown(browser) == 0, "one model differs from nobody"


def test_a_cell_of_the_heat_map_leads_to_its_tasks(browser, page) -> None:
    browser.open(page)
    browser.value("document.querySelector('.heat td[data-category=routing_named] button').click()")
    assert shown(browser) == 4
    assert browser.value("document.querySelector('[name=model]').selectedOptions[0].textContent").startswith("good")


def test_the_keyboard_alone_opens_a_task(browser, page) -> None:
    browser.open(page)
    browser.value("document.querySelector('[name=text]').focus()")
    for _ in range(8):
        browser.press("Tab")
        if browser.value("document.activeElement.tagName") == "SUMMARY":
            break
    browser.press("Enter")
    assert browser.value("document.querySelector('details.task').open") is True
    browser.value("new Promise((done) => setTimeout(done, 100))")
    assert browser.value("document.querySelectorAll('details.task[open] .reply').length") == 5


def test_hostile_replies_are_seen_and_do_nothing(browser, page) -> None:
    browser.open(page)
    browser.value("document.querySelector('details.task').open = true")
    browser.value("new Promise((done) => setTimeout(done, 100))")
    texts = browser.value("[...document.querySelectorAll('.reply pre')].map((p) => p.textContent)")
    assert [t for t in texts if t.endswith("\\u202e\\x00\\ud800") and t.startswith("</script><script>alert(1)")]
    assert browser.value("document.querySelectorAll('img').length") == 0


def test_it_prints_on_paper(browser, page) -> None:
    browser.open(page, dark=True)
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert browser.value("getComputedStyle(document.body).color") == "rgb(27, 29, 32)", "dark ink on white"
    assert browser.value("getComputedStyle(document.querySelector('.filters')).display") == "none"
    assert len(browser.send("Page.printToPDF", printBackground=False)["data"]) > 10_000
