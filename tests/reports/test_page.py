"""The HTML page: complete without a script, closed to the network, and dead to whatever strangers wrote."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.reports.archive import run_from_json
from infranode_eval.reports.effort import Effort, effort_of
from infranode_eval.reports.exhibits import Exhibit
from infranode_eval.reports.figures import summarise
from infranode_eval.reports.page import TEMPLATES, html_page
from infranode_eval.reports.replies import evidence_of
from infranode_eval.reports.tasksets import TaskSet, known_sets
from lm_eval_task.records import Reply, Score, Task
from tests.needs import need
from tests.reports import bench_runs

ROOT = Path(__file__).parent.parent.parent


SVG = ("svg", "defs", "pattern", "line", "circle", "rect", "text")


class Outline(HTMLParser):
    """What a browser would see: tags with their attributes, the texts of scripts and styles, the visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.inside: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" not in self.open or tag in SVG, f"<{tag}> would end the picture that it stands in"
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "wbr", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> ends {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.inside.append((self.open[-1] if self.open else "", data))

    def texts(self, tag: str) -> list[str]:
        return [text for inside, text in self.inside if inside == tag]

    @property
    def text(self) -> str:
        return " ".join(text for inside, text in self.inside if inside not in ("script", "style"))


@pytest.fixture
def exhibit(make_result, demo_file: Path, demo_tasks: tuple[Task, ...], toolset) -> Callable[..., Exhibit]:
    """exhibit(replier, **header): a run over the demo tasks as the page takes it."""
    need("jinja2")
    sets = known_sets(toolset, demo_file)

    def make(replier: Callable[[Task], Reply | Score], sets: tuple[TaskSet, ...] = sets, path: str = "a.json",
             usage: dict[str, Any] | None = None, latency: float | None = None, **header: Any) -> Exhibit:
        result = make_result(replier, **header)
        for row in result["rows"]:
            row["usage"], row["latency_s"] = usage, latency
        run = run_from_json(result, path, toolset)
        return Exhibit(summarise(run, sets, toolset), run, effort_of(result["rows"]),
                       tuple(map(evidence_of, result["rows"])), {t.task_id: t for t in demo_tasks})

    return make


@pytest.fixture
def three(exhibit, answer) -> list[Exhibit]:
    """A good model, a poor one that stays silent, a baseline."""
    return [exhibit(lambda t: Reply.from_text(answer(t)), model="good"),
            exhibit(lambda t: Reply.from_text(answer(t) if "koeln" in t.task_id else "Keine Ahnung."), model="poor"),
            exhibit(lambda t: Reply.from_text("Nein."), model="never_calls", backend="baseline",
                    setup="baseline: says no")]


def test_the_page_stands_without_a_script(three) -> None:
    outline = Outline(html_page(three))
    assert outline.open == []
    for text in ("good", "poor", "never_calls", "says no", "Tier", "Stufe", "40/40", "resource_", "did not call",
                 "kein Aufruf", "no JavaScript", "What came of the rows"):
        assert text in outline.text, text
    assert sum(tag == "circle" for tag, _ in outline.tags) >= 6, "dots of three runs"


@pytest.mark.parametrize("name, prefix, shown", [
    ("robust", "robust-lower-", ["Robustness", ": other wordings", "noise floor not measured"]),
    ("abstain", "abstain-", ["Call, ask or refuse", "By category, rows", "always asks back (by definition)"]),
])
def test_sets_with_tables_of_their_own_have_no_ranks(name, prefix, shown, exhibit, answer, demo_tasks) -> None:
    asked = [replace(t, task_id=prefix + t.task_id, set=name, category="call_control") for t in demo_tasks[:4]]
    asked += [replace(t, task_id="robust-original-" + t.task_id, set=name) for t in demo_tasks[:4] if name == "robust"]
    text = Outline(html_page([exhibit(lambda t: Reply.from_text(answer(t)), model="model", tasks=tuple(asked),
                                      set=name, suite="single")])).text
    for part in (*shown, "no ranking, no tiers, and no comparison", "Ein Satz mit eigenen Tabellen"):
        assert part in text, part
    assert "Tier 1" not in text


def two_wordings(verdicts: dict[str, dict[str, Any]]) -> list[Exhibit]:
    """One run over each wording of the bench."""
    need("jinja2")
    sets = (bench_runs.known(), bench_runs.known("paraphrase"))
    shown = []
    for which, name in (("original", "a.json"), ("paraphrase", "b.json")):
        cases = tuple(bench_runs.known(which).tasks.values())
        value = bench_runs.result(verdicts, cases=cases, set=which)
        run = run_from_json(value, name)
        shown.append(Exhibit(summarise(run, sets), run, Effort(), tuple(map(evidence_of, value["rows"])),
                             {t.task_id: t for t in cases}))
    return shown


def test_a_page_says_which_suites_are_on_it(three) -> None:
    """The bench asks nothing about cities and ranks nothing; a case in two wordings is one case."""
    bench, main = two_wordings({}), Outline(html_page(three)).text
    alone, both = (Outline(html_page(runs)).text for runs in (bench, [*three, *bench]))
    assert "Test bench" in alone and "Prüfstand" in alone and "keep still where nothing fits" in alone
    assert "German city" not in alone and "a ranking of its own" not in alone
    assert "Each group has tables of its own" in alone and alone.count("Die Tabellen sind auf Englisch") == 1
    assert re.search(r"2 runs\s+2 Läufe\s+·\s+42 cases\s+42 Fälle\s+·\s+2 comparable groups", alone)
    assert " 84 " not in alone and "42 tasks" not in alone and "Case by case" in alone
    assert "German city" in main and "Test bench" not in main and "40 tasks" in main and "Task by task" in main
    assert "German city" in both and "Test bench" in both and "a ranking of its own" in both
    assert "40 tasks" in both and "42 cases" in both


def test_a_bench_shows_its_own_tables_and_its_claims_in_red() -> None:
    """Claiming that something was done is worse than a call, so it stands out; where nobody claims, nothing does."""
    claimed = {"S5-2": {**bench_runs.right(bench_runs.BY_ID["S5-2"]), "claims_done": True}}
    shown = two_wordings(claimed)
    page = html_page(shown)
    outline = Outline(page)
    for text in ("The numbers", "S5: a value is missing", "Original and paraphrase", "Original wording",
                 "never_calls (by definition)", "Erster Wortlaut", "What this set shows"):
        assert text in outline.text, text
    assert "Tier 1" not in outline.text and 'class="standings"' not in page
    assert page.count('class="num bad">1/8<') == page.count('class="num bad"') == 2, "the run in each group"
    assert 'class="num bad"' not in html_page(two_wordings({}))
    [data] = [t for t in outline.texts("script") if t.startswith("{")]
    facts = next(t for t in json.loads(data)["tasks"] if t["id"] == "S2-9")["facts"]
    assert ["tests", "prüft S2-9"] in facts and ["pitfalls", "die naheliegende Falle"] in facts


def test_tasks_that_look_broken_are_shown_from_the_rows_at_hand(exhibit, answer, demo_tasks) -> None:
    last = demo_tasks[-1].task_id
    text = Outline(html_page([exhibit(lambda t: Reply.from_text("Nein." if t.task_id == last else answer(t)), model=m)
                              for m in "abc"])).text
    assert "Tasks that look broken: 1 of 40" in text and "no call (3 of 3)" in text


def test_the_page_may_request_nothing_and_runs_only_its_own_script(three) -> None:
    page = html_page(three)
    outline = Outline(page)
    [policy] = [a["content"] for tag, a in outline.tags
                if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    [script] = [t for t in outline.texts("script") if "use strict" in t]
    [style] = outline.texts("style")
    for kind, text in (("script-src", script), ("style-src", style)):
        assert rules[kind] == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    for tag, attributes in outline.tags:
        assert tag not in ("img", "iframe", "object", "embed", "form", "base", "video", "audio"), tag
        assert not [n for n in attributes if n.startswith("on") or n in ("src", "style", "srcset", "action")], tag
        assert re.match(r"#|data:,$", attributes.get("href") or "#")
    assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttp|import\(|WebSocket|https?://", page)


def test_equal_input_gives_equal_bytes_in_any_order(three) -> None:
    assert html_page(three) == html_page(three) == html_page(three[::-1])


HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "<!--",
           "{{ 7*7 }}", "\u202egnp.exe\u2066", "\x00\x1b[31m\x85", "\ud800", "a\u2028b", "javascript:alert(1)",
           "&lt;b&gt;", "]]>", "{n} %s"]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_strangers_write_is_text(text: str, exhibit, answer, demo_tasks) -> None:
    clean = [exhibit(lambda t: Reply.from_text(answer(t)), model="plain", path="plain.json")]
    harmless = [t for t, _ in Outline(html_page([*clean, exhibit(lambda t: Reply.from_text("a"), model="b")])).tags]
    tasks = (Task("x" + text, text, (), category="c" + text), *demo_tasks)
    evil = exhibit(lambda t: Reply({"content": text, "reasoning": text, "tool_calls": [{"function": {
        "name": text, "arguments": text}}]}, text), model=text, tasks=tasks, suite=text, path=text + ".json",
        set=text, backend=text, scorer_version=text)
    page = html_page([*clean, evil], [f"{text}: broken"], price_month=text)
    page.encode("utf-8")
    outline = Outline(page)
    assert {t for t, _ in outline.tags} - set(harmless) <= {"nav", "ol", "li", "ul", "small", "a", "wbr"}
    assert sum(t == "script" for t, _ in outline.tags) == 2
    assert not [a for _, a in outline.tags if any(n.startswith("on") for n in a)]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", page)
    [data] = [t for t in outline.texts("script") if t.startswith("{")]
    assert "alert(1)" not in text or "alert(1)" in json.dumps(json.loads(data))


def test_a_reply_of_a_megabyte_is_cut_with_a_note(exhibit) -> None:
    page = html_page([exhibit(lambda t: Reply.from_text("A" * 1_000_000 if "ulm" in t.task_id else "b"))])
    assert len(page) < 400_000
    [data] = [t for t in Outline(page).texts("script") if t.startswith("{")]
    assert {r["left"] for r in json.loads(data)["rows"]} == {0, 996_000}


def test_runs_that_cannot_be_compared_stand_apart_and_the_page_says_why(exhibit, answer) -> None:
    runs = [exhibit(lambda t: Reply.from_text(answer(t)), model="a"),
            exhibit(lambda t: Reply.from_text(answer(t)), model="b", mode="native", setup="N"),
            exhibit(lambda t: Reply.from_text(answer(t)), model="c", scorer_version="0.9")]
    outline = Outline(html_page(runs))
    assert sum(a.get("class") == "group" for _, a in outline.tags) == 3
    assert "must not be compared between groups" in outline.text
    assert outline.text.count("A group of its own because of:") == 3
    for reason in ("mode", "native", "scorer version", "0.9", "set-up"):
        assert reason in outline.text
    assert "because of" not in Outline(html_page(runs[:1])).text
    assert "parcours ·" in Outline(html_page([exhibit(lambda t: Reply.from_text("x"), suite="parcours")])).text


def test_warnings_stand_beside_the_number_they_belong_to(exhibit) -> None:
    outline = Outline(html_page([exhibit(lambda t: Reply.from_text("Nein."), model="silent")]))
    [link] = [a["href"] for tag, a in outline.tags if tag == "a" and a.get("class") == "warn"]
    assert link[1:] in [a.get("id") for tag, a in outline.tags if tag == "dt"]
    assert "every row has the outcome no_call" in outline.text


def test_failures_are_counted_beside_the_number(exhibit, answer) -> None:
    outline = Outline(html_page([exhibit(lambda t: Score.failure("infra_error", "timed out") if "bonn" in t.task_id
                                         else Reply.from_text(answer(t)), model="flaky")]))
    assert "35/40" in outline.text and "incomplete" in outline.text and "no answer" in outline.text


def test_cost_and_speed_are_drawn_where_files_tell_and_else_said_to_be_missing(exhibit, answer) -> None:
    silent = exhibit(lambda t: Reply.from_text(answer(t)), model="silent")
    told = exhibit(lambda t: Reply.from_text(answer(t)), model="told", latency=0.5,
                   usage={"input_tokens": 3000, "output_tokens": 40})
    assert "nothing to draw" in Outline(html_page([silent])).text
    outline = Outline(html_page([silent, told]))
    assert sum(tag == "figure" for tag, _ in outline.tags) == 2, "tokens, since no price is known, and seconds"
    assert "the file does not tell" in outline.text and "3040" in outline.text and "Pareto" in outline.text


def test_left_out_files_are_named(three) -> None:
    assert "bad.json: is not JSON" in Outline(html_page(three, ["bad.json: is not JSON"])).text


def test_no_runs_make_an_empty_page() -> None:
    need("jinja2")
    assert Outline(html_page([])).open == []


def test_a_run_of_which_only_numbers_are_known_has_no_rank(exhibit, answer) -> None:
    found = exhibit(lambda t: Reply.from_text(answer(t)), model="numbers")
    run = replace(found.run, rows=())
    bare = Exhibit(summarise(run), run, Effort())
    assert "only numbers are stored" in Outline(html_page([bare])).text


def test_without_jinja2_one_line_says_what_to_install() -> None:
    code = ("import sys; sys.modules['jinja2'] = None\n"
            "from infranode_eval.reports.page import html_page\n"
            "try: html_page([])\n"
            "except Exception as error: print(type(error).__name__, error)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.startswith("UsageError --html needs jinja2") and "--extra report" in done.stdout
    assert not done.stderr


# --- colours ----------------------------------------------------------------------------------------------------------

def variables(theme: str) -> dict[str, str]:
    style = (TEMPLATES / "style.css.j2").read_text("utf-8")
    block = style.partition(f"macro {theme}()")[2].partition("endmacro")[0]
    return {name: value if len(value) == 7 else "#" + "".join(c * 2 for c in value[1:])
            for name, value in re.findall(r"--([\w-]+): (#\w+)", block)}


def linear(colour: str) -> list[float]:
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def contrast(one: list[float], other: list[float]) -> float:
    """WCAG 2's ratio of two colours in linear light."""
    high, low = sorted((sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), c, strict=True)) for c in (one, other)),
                       reverse=True)
    return (high + 0.05) / (low + 0.05)


LMS = ((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
       (0.0883024619, 0.2817188376, 0.6299787005))
BACK = ((4.0767416621, -3.3077115913, 0.2309699292), (-1.2684380046, 2.6097574011, -0.3413193965),
        (-0.0041960863, -0.7034186147, 1.7076147010))


def mixed(one: str, other: str, share: float) -> list[float]:
    """CSS's color-mix in oklab, in linear light: oklab is linear in the cube roots of LMS, so those are mixed."""
    def roots(colour: str) -> list[float]:
        return [sum(m * c for m, c in zip(row, linear(colour), strict=True)) ** (1 / 3) for row in LMS]

    lms = [(a * share + b * (1 - share)) ** 3 for a, b in zip(roots(one), roots(other), strict=True)]
    return [min(1.0, max(0.0, sum(m * c for m, c in zip(row, lms, strict=True)))) for row in BACK]


PAIRS = [("ink", "paper", 7), ("ink", "card", 7), ("soft", "paper", 4.5), ("soft", "card", 4.5), ("soft", "faint", 4.5),
         ("accent", "paper", 4.5), ("warn", "paper", 4.5), ("warn", "warn-soft", 4.5), ("ink", "warn-soft", 7),
         ("good", "good-soft", 4.5), ("bad", "bad-soft", 4.5), ("ink", "bad-soft", 7)]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_on_every_ground(theme: str) -> None:
    colours = variables(theme)
    filled = ("right", "tool", "args", "count", "silent", "unreadable", "truncated", "unknown")
    kinds = [(f"on-{k}", k, 4.5) for k in filled]
    for ink, ground, least in [*PAIRS, *kinds]:
        assert contrast(linear(colours[ink]), linear(colours[ground])) >= least, (theme, ink, ground)
    for step in range(11):
        ground = mixed(colours["heat-high"], colours["heat-low"], step / 10)
        ink = colours["heat-ink-high" if step > 6 else "heat-ink-low" if step < 6 else "heat-ink-6"]
        assert contrast(linear(ink), ground) >= 4.5, (theme, step)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_neighbours_in_the_heat_map_differ_in_lightness_alone(theme: str) -> None:
    """One hue from dark to light can be read with any kind of colour blindness."""
    colours = variables(theme)
    steps = [mixed(colours["heat-high"], colours["heat-low"], s / 10) for s in range(11)]
    lightness = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in steps]
    assert lightness == sorted(lightness, reverse=theme == "light")


# --- the command ------------------------------------------------------------------------------------------------------

@pytest.fixture
def results(tmp_path: Path, make_result, answer) -> Path:
    (tmp_path / "results").mkdir()
    for name in ("good", "also"):
        (tmp_path / "results" / f"{name}.json").write_text(json.dumps(
            make_result(lambda t: Reply.from_text(answer(t)), model=name)))
    return tmp_path


def report(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "report.py"), *arguments], capture_output=True, text=True,
                          encoding="utf-8", cwd=folder)


def test_the_command_writes_the_page_and_says_where(results: Path) -> None:
    need("jinja2")
    done = report(results, "--html", "report.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "report.html\n", "")
    assert "good" in Outline((results / "report.html").read_text("utf-8")).text


def test_page_and_pictures_may_be_asked_for_together_and_broken_files_are_named_in_the_page(results: Path) -> None:
    need("jinja2")
    need("matplotlib")
    (results / "results" / "bad.json").write_text("{")
    done = report(results, "--html", "report.html", "--plots", "plots")
    assert done.returncode == 1 and "left out: results/bad.json" in done.stderr
    assert len(done.stdout.splitlines()) == 7 and len(list((results / "plots").iterdir())) == 6
    assert "results/bad.json: is not JSON" in Outline((results / "report.html").read_text("utf-8")).text


@pytest.mark.parametrize(("arguments", "complaint"), [
    (["--html", "results/good.json"], "expected the name of a page to write"),
    (["--html", "no/where.html"], "cannot be written"),
    (["--html", "report.html", "--task", "x"], "--task does not go with --html"),
    (["--html", "report.html", "--published"], "--html does not go with --published"),
    (["--html", "report.html", "--set", "robust"], "no result file holds a run over the set robust"),
    (["--html", "report.html", "--format", "csv"], "--format csv does not go with --html"),
])
def test_what_cannot_be_meant_is_refused_in_one_line_and_no_file_changes(results: Path, arguments: list[str],
                                                                        complaint: str) -> None:
    need("jinja2")
    before = {p: p.read_bytes() for p in results.rglob("*") if p.is_file()}
    done = report(results, *arguments)
    assert done.returncode == 2 and complaint in done.stderr and len(done.stderr.splitlines()) == 1
    assert {p: p.read_bytes() for p in results.rglob("*") if p.is_file()} == before


def test_of_more_runs_than_a_page_holds_the_best_keep_their_replies(results: Path, monkeypatch) -> None:
    need("jinja2")
    command = import_module("report")
    monkeypatch.chdir(results)
    monkeypatch.setattr(command, "MOST_RUNS", 1)
    assert command.main(["--html", "report.html"]) == 0
    outline = Outline((results / "report.html").read_text("utf-8"))
    [data] = [t for t in outline.texts("script") if t.startswith("{")]
    assert [r["name"] for r in json.loads(data)["runs"]] == ["also"]
    assert "replies of 1 of 2 runs" in outline.text and outline.text.count("40/40") > 2


def test_a_set_with_tables_of_its_own_shows_them_instead_of_a_ranking(tmp_path):
    """On the abstention set never_calls has the highest ability: as a ranking that would fool everybody."""
    out = tmp_path / "page.html"
    done = subprocess.run([sys.executable, "report.py", "results", "--html", str(out)], cwd=ROOT, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    groups = re.split(r'<section class="group"', out.read_text("utf-8"))[1:]
    by_title = {re.search(r"<h2[^>]*>(.*?)</h2>", group, re.DOTALL)[1]: group for group in groups}
    core, = (group for title, group in by_title.items() if title.startswith('<span class="en" lang="en">Core set'))
    for name in ("Abstention set", "Robustness set"):
        group, = (group for title, group in by_title.items() if name in title)
        assert 'class="standings"' not in group and 'class="own"' in group
    assert 'class="standings"' in core and 'class="own"' not in core
