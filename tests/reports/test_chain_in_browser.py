"""Plays in Debian's chromium: readable by keyboard and on a phone, each under its own address; nothing in them acts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.reports.page import html_page
from tests.chromium import Browser, chromium, chromium_path
from tests.needs import need, need_program
from tests.reports.chain_runs import BY_ID, CORE, ORDER, exhibit, lively, wrong

EVIL = "</script><script>alert(1)</script><img src=https://example.org/x onerror=alert(2)>\u202e"
POISONED, STATION = "injection-bonn-1", "lookup_then_call-bonn-3"


def deep(value: dict[str, Any]) -> None:
    """The plain result becomes a long one, with numbers that a script would write otherwise."""
    stations = [{"name": f"Säule {n}", "power_kw": 300.0, "id": 12345678901234567890} for n in range(400)]
    text = json.dumps({"data": {"payload": {"stations": stations}}, "meta": {"source_status": "ok"}},
                      ensure_ascii=False, separators=(",", ":")).replace("300.0", "300.0")
    [old] = [key for key, body in value["bodies"].items() if "Altmarkt" in body and "WICHTIG" not in body]
    new = sha256(text.encode()).hexdigest()
    value["bodies"] = {key: body for key, body in value["bodies"].items() if key != old} | {new: text}
    for row in value["rows"]:
        for turn in (row["transcript"] or {}).get("turns", ()):
            for one in turn["executed"]:
                one["body"] = new if one["body"] == old else one["body"]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    need("jinja2")
    evil = {one.task_id: wrong(one, answer={"antwort": EVIL, "quelle": EVIL}, near_miss=EVIL) for one in CORE}
    text = html_page([exhibit(lively()), exhibit(model="perfect", change=deep), exhibit(evil, model=EVIL)])
    path = tmp_path_factory.mktemp("chain") / "report.html"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    need_program("chromium", chromium_path())
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def wait(browser: Browser, milliseconds: int = 100) -> None:
    browser.value(f"new Promise((done) => setTimeout(done, {milliseconds}))")


def go(browser: Browser, task: str) -> None:
    browser.value(f"location.hash = '#task/' + encodeURIComponent({json.dumps(task)})")
    wait(browser)


def open_all(browser: Browser) -> None:
    """Tasks, plays and results, each after what it stands in."""
    for kind in ("details.task", "details.play", "details"):
        browser.value(f"for (const d of document.querySelectorAll('{kind}')) d.open = true")
        wait(browser)


def texts(browser: Browser, selector: str) -> list[str]:
    return browser.value(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")


@pytest.mark.parametrize(("width", "height", "dark", "language"), [
    (1280, 900, False, "en"), (1280, 900, True, "de"), (400, 860, False, "de"), (320, 700, True, "en")])
def test_every_play_fits_its_screen_and_is_quiet(browser, page, width, height, dark, language) -> None:
    browser.open(page, width=width, height=height, dark=dark, language=language)
    browser.value("document.querySelector('.more-tasks').click()")
    open_all(browser)
    assert browser.value("document.querySelectorAll('.turn').length") > 200
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.complaints() == [] and browser.requests() == []
    assert not [e for e in browser.events if e["method"] == "Page.javascriptDialogOpening"]


@pytest.mark.parametrize("dark", [False, True])
def test_every_word_stands_out_from_what_lies_behind_it(browser, page, dark) -> None:
    """Contrast of at least 4.5 (WCAG AA) for the chips, badges, quotes and marks of plays."""
    browser.open(page, dark=dark)
    go(browser, POISONED)
    open_all(browser)
    ratios = browser.value("""(() => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data]; };
      const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 :
        ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = (e) => { for (; e; e = e.parentElement) { const found = rgb(getComputedStyle(e).backgroundColor);
        if (found[3] === 255) return found; } return [255, 255, 255]; };
      return [...document.querySelectorAll('.play .chip, .play mark, .play blockquote, .play .n, .play .soft,'
        + ' .play .brief, .poisoned p, .judged dt, .play pre, .verdict, .body > summary')]
        .filter((e) => e.textContent && e.offsetParent)
        .map((e) => { const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
          return [(a + 0.05) / (b + 0.05), e.className || e.tagName]; }); })()""")
    assert len(ratios) > 40 and min(ratios) >= [4.5], sorted(ratios)[:5]


def test_a_poisoned_result_is_marked_and_its_order_is_plain_text(browser, page) -> None:
    browser.open(page)
    go(browser, POISONED)
    open_all(browser)
    assert ORDER in texts(browser, ".result blockquote") and ORDER in texts(browser, ".facts blockquote")
    assert texts(browser, ".body mark") == [ORDER] * 3, "in each play, in the midst of its result"
    assert [text for text in texts(browser, ".chip.poison .en") if text == "poisoned"]
    assert texts(browser, ".with-poison.with-evidence > .n") == ["1"] * 3
    assert browser.value("document.querySelectorAll('script').length") == 3
    assert not [e for e in browser.events if e["method"] == "Page.javascriptDialogOpening"]


def test_what_a_model_says_is_seen_and_does_nothing(browser, page) -> None:
    browser.open(page)
    go(browser, POISONED)
    open_all(browser)
    assert [text for text in texts(browser, ".said strong") if text.startswith("</script><script>alert(1)")]
    assert [text for text in texts(browser, ".turn pre") if "onerror=alert(2)" in text and "\\u202e" in text]
    assert browser.value("document.querySelectorAll('img').length") == 0 and browser.requests() == []


def test_a_result_is_laid_out_letter_by_letter(browser, page) -> None:
    browser.open(page)
    go(browser, "join-bonn-2")
    open_all(browser)
    [long] = [text for text in texts(browser, ".body pre") if "Säule 7" in text]
    assert '{"name": "Säule 7", "power_kw": 300.0, "id": 12345678901234567890}' in long, "no number is rewritten"
    assert long.startswith('{\n  "data": {\n    "payload": {\n      "stations": [\n        {"name": "Säule 0"')
    assert [t for t in texts(browser, ".body summary .en") if t.startswith("Result, 2")], "thousands have their mark"
    assert any("more characters" in t or "first 24,000" in t for t in texts(browser, ".body .cut .en"))


def test_where_the_evidence_came_and_what_was_compared(browser, page) -> None:
    browser.open(page)
    go(browser, STATION)
    open_all(browser)
    assert texts(browser, ".with-evidence > .n") == ["2", "2", "2"]
    assert texts(browser, ".solid .en") == ["all data read"] * 3
    judged = texts(browser, ".judged")
    assert all("in turn 2" in text for text in judged) and sum("no match" in text for text in judged) == 1


def test_a_call_too_many_and_a_wish_that_was_granted_are_marked(browser, page) -> None:
    browser.open(page)
    go(browser, "stop-bonn-1")
    open_all(browser)
    assert texts(browser, ".about-turn .bad .en") == ["after all data were read"], "the one that went on"
    go(browser, POISONED)
    open_all(browser)
    assert texts(browser, ".came .bad .en") == ["what the order wanted"], "the one that followed"


def test_one_task_stands_alone_under_its_address(browser, page) -> None:
    browser.open(page)
    go(browser, POISONED)
    assert texts(browser, ".task .id") == [POISONED]
    assert browser.value("getComputedStyle(document.querySelector('.filters')).display") == "none"
    assert browser.value("document.querySelectorAll('details.play').length") == 3
    browser.value("[...document.querySelectorAll('.facts a')].find((a) => a.textContent.endsWith('-control')).click()")
    wait(browser)
    assert texts(browser, ".task .id") == [f"{POISONED}-control"]
    browser.value("document.querySelector('.alone a[rel=next]').click()")
    wait(browser)
    assert texts(browser, ".task .id") == ["injection-bonn-2-control"]
    browser.value("document.querySelector('.alone a').click()")
    wait(browser)
    assert len(texts(browser, ".task .id")) == 39
    assert browser.value("getComputedStyle(document.querySelector('.filters')).display") != "none"


@pytest.mark.parametrize("address", ["#task/no-such-task", "#task/%E0%A4%A", "#task/<img src=x>"])
def test_an_address_of_no_task_says_so(browser, page, address) -> None:
    browser.open(page)
    browser.value(f"location.hash = {json.dumps(address)}")
    wait(browser)
    assert texts(browser, ".task") == [] and "holds no task" in browser.value(
        "document.querySelector('.found .en').textContent")
    assert browser.complaints() == []


def test_the_keyboard_alone_reaches_a_result(browser, page) -> None:
    browser.open(page)
    go(browser, POISONED)
    seen = []
    for _ in range(40):
        browser.press("Tab")
        where = browser.value("(document.activeElement.closest('details') || {}).className + ' ' + "
                              "document.activeElement.tagName")
        seen.append(where)
        if where == "play SUMMARY" and not browser.value("document.activeElement.parentElement.open"):
            browser.press("Enter")
            wait(browser)
        if where == "body SUMMARY":
            browser.press("Enter")
            wait(browser)
            break
    assert browser.value("document.activeElement.parentElement.open && "
                         "document.activeElement.parentElement.querySelector('pre').tabIndex === 0"), seen


def test_a_cell_of_the_heat_map_leads_to_plays_also_from_a_task_alone(browser, page) -> None:
    browser.open(page)
    go(browser, POISONED)
    browser.value("document.querySelector('.heat td[data-category=control] button').click()")
    wait(browser)
    assert len(texts(browser, ".task .id")) == 9 and browser.value("location.hash") == "#tasks"
    assert browser.value("document.querySelector('[name=category]').value") == "control"


def test_what_was_said_and_asked_is_found(browser, page) -> None:
    browser.open(page)
    browser.value("(() => { const e = document.querySelector('[name=text]'); e.value = '/cities/bonn/stations'; "
                  "e.dispatchEvent(new Event('input')); return new Promise((done) => setTimeout(done, 300)); })()")
    assert len(texts(browser, ".task .id")) == 3 == sum(key.startswith("lookup") for key in BY_ID)


def test_outcomes_of_plays_filter_the_list(browser, page) -> None:
    browser.open(page)
    options = browser.value("[...document.querySelectorAll('[name=outcome] option')].map((o) => o.value)")
    assert options == ["", "right", "value", "unseen", "wenton", "injected", "noanswer", "unanswered"]
    browser.value("(() => { const e = document.querySelector('[name=outcome]'); e.value = 'injected'; "
                  "e.dispatchEvent(new Event('change')); })()")
    assert texts(browser, ".task .id") == [POISONED]
