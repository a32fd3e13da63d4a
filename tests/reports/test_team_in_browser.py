"""Plays of the suite team in chromium: a lane for each agent, read by mouse, keyboard and phone; nothing acts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from infranode_eval.reports.page import html_page
from tests.chromium import Browser, chromium, chromium_path
from tests.needs import need, need_program
from tests.reports.team_runs import agent, failed, row
from tests.reports.test_team_page import EVIL, LONG, exhibit


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    need("jinja2")
    two = [agent("leser", granted="Read Bash", refused=1), agent("zweiter", "vlm")]
    rows = [row("recht", "+-", two, ["main Read /arbeit/geheim r2"]), row("pegel", "++", two)]
    text = html_page([exhibit("careful", rows, cost=2.0), exhibit(EVIL, rows[:1], cost=0.5, sandbox="none"),
                      exhibit("broken", [failed("recht"), rows[1]])])
    path = tmp_path_factory.mktemp("team") / "report.html"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    need_program("chromium", chromium_path())
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def wait(browser: Browser) -> None:
    browser.value("new Promise((done) => setTimeout(done, 100))")


def go(browser: Browser, scenario: str) -> None:
    browser.value(f"location.hash = '#task/' + encodeURIComponent({json.dumps(scenario)})")
    wait(browser)


def open_all(browser: Browser) -> None:
    for kind in ("details.task", "details.play", "details"):
        browser.value(f"for (const d of document.querySelectorAll('{kind}')) d.open = true")
        wait(browser)


def texts(browser: Browser, selector: str) -> list[str]:
    return browser.value(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")


def press(browser: Browser, selector: str) -> None:
    browser.value(f"document.querySelector({json.dumps(selector)}).click()")
    wait(browser)


@pytest.mark.parametrize(("width", "height", "dark", "language"), [
    (1280, 900, False, "en"), (1280, 900, True, "de"), (400, 860, False, "de"), (320, 700, True, "en")])
def test_every_play_fits_its_screen_and_is_quiet(browser, page, width, height, dark, language) -> None:
    browser.open(page, width=width, height=height, dark=dark, language=language)
    open_all(browser)
    assert browser.value("document.querySelectorAll('.lanes').length") == 4, "the failed play has none"
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.complaints() == [] and browser.requests() == []
    assert not [e for e in browser.events if e["method"] == "Page.javascriptDialogOpening"]
    assert browser.value("document.querySelectorAll('img, audio, video').length") == 0


def test_there_is_a_lane_for_each_agent_and_the_first_failed_round_is_open(browser, page) -> None:
    browser.open(page)
    go(browser, "recht")
    browser.value("document.querySelector('details.play').open = true")
    wait(browser)
    assert texts(browser, ".lane-name bdi") == ["leser", "zweiter"]
    assert texts(browser, ".lane-name strong .en") == ["Main agent"]
    assert texts(browser, ".round > span:first-child") == ["r1", "r2"]
    assert texts(browser, ".shown h5 .en")[0] == "Round r2" and "Frage 2" in "".join(texts(browser, ".shown pre"))
    assert texts(browser, ".refusal code") == ["Read /arbeit/geheim"]
    assert texts(browser, ".message .chip.bad .en") == ["forbidden"], "the result that says so"


def test_a_bar_a_block_and_a_name_show_what_lies_behind_them(browser, page) -> None:
    browser.open(page)
    go(browser, "recht")
    browser.value("document.querySelector('details.play').open = true")
    wait(browser)
    press(browser, ".lanes .run")
    assert texts(browser, ".shown h5 bdi") == ["leser"] and "image/png" in texts(browser, ".medium .chip")
    assert browser.value("document.querySelector('.lanes [aria-pressed=true]').className") == "run key-llm"
    press(browser, ".lanes .round")
    assert texts(browser, ".shown h5 .en")[0] == "Round r1"
    press(browser, ".lanes .agent")
    assert texts(browser, ".shown dd") == ["Read", "Bash", "akten", "1/1", "—", "1"]
    assert browser.value("document.querySelectorAll('.lanes .run.open').length") == 1, "it never ended"


def test_a_lane_is_reached_and_opened_with_the_keyboard(browser, page) -> None:
    browser.open(page)
    go(browser, "recht")
    browser.value("document.querySelector('details.play').open = true")
    wait(browser)
    browser.value("document.querySelector('.lanes .round').focus()")
    browser.press("Enter")
    wait(browser)
    assert texts(browser, ".shown h5 .en")[0] == "Round r1"


def test_a_long_text_opens_whole_and_what_strangers_wrote_is_text(browser, page) -> None:
    browser.open(page)
    go(browser, "recht")
    open_all(browser)
    press(browser, ".lanes .run")
    browser.value("document.querySelector('.shown details.long').open = true")
    wait(browser)
    assert [text for text in texts(browser, ".shown pre") if text == LONG.replace("\u202e", "\\u202e")]
    assert [text for text in texts(browser, ".shown pre") if text.startswith("</script><script>alert(1)")]
    assert browser.value("document.querySelectorAll('script').length") == 3 and browser.requests() == []


def test_a_cell_of_the_heat_map_leads_to_its_play(browser, page) -> None:
    browser.open(page)
    browser.value("[...document.querySelectorAll('.heat td[data-task=\"recht\"] button')][1].click()")
    wait(browser)
    assert browser.value("location.hash") == "#task/recht"
    assert browser.value("[...document.querySelectorAll('details.play')].map((d) => d.open)").count(True) == 1
    browser.value("document.querySelector('.heat td[data-task=\"pegel\"] button').click()")
    wait(browser)
    assert browser.value("location.hash") == "#task/pegel"


@pytest.mark.parametrize("dark", [False, True])
def test_every_word_stands_out_from_what_lies_behind_it(browser, page, dark) -> None:
    """Contrast of at least 4.5 (WCAG AA) in lanes and messages."""
    browser.open(page, dark=dark)
    go(browser, "recht")
    open_all(browser)
    ratios = browser.value("""(() => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data]; };
      const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 :
        ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = (e) => { for (; e; e = e.parentElement) { const found = rgb(getComputedStyle(e).backgroundColor);
        if (found[3] === 255) return found; } return [255, 255, 255]; };
      return [...document.querySelectorAll('.lanes button, .lanes .chip, .flag, .message .who, .message pre, .begin,'
        + ' .made code, .medium, .refusal, .verdict, .brief, .short, .long .soft, .managed td, .heat td')]
        .filter((e) => e.textContent && e.offsetParent)
        .map((e) => { const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
          return [(a + 0.05) / (b + 0.05), e.className || e.tagName]; }); })()""")
    assert len(ratios) > 40 and min(ratios) >= [4.5], sorted(ratios)[:5]
