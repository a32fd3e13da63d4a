"""Grep: what it finds, how it shows it, what it never shows, and that no pattern holds anybody up."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infranode_eval.team import search
from infranode_eval.team.agent import Agent
from infranode_eval.team.search import grep
from infranode_eval.team.workspace import Forbidden, Scope, ToolError, Workspace

FILES = {
    "akten/a.txt": "Satzung\nFrist 14 Tage\nOrt Köln\nSchluss\n",
    "akten/b.csv": "ort;wert\nköln;3\r\nbonn;4\n",
    "akten/tief/c.txt": "eins\nzwei\nFrist drei\nvier\nfünf\nsechs\nsieben\nFrist acht\n",
    "akten/bild.png": "\x89PNG\0Frist\n",
    "ausgabe/leer.txt": "",
    "geheim/x.txt": "Frist GEHEIMNIS\n",
    "register/offen.txt": "Frist offen\n",
    "register/zu.txt": "Frist GEHEIMNIS\n",
}
AGENT = Agent("main", "main", Scope(("akten", "ausgabe", "register/offen.txt")), tools=("Grep",))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    top = tmp_path_factory.mktemp("ws") / "arbeit"
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(text.encode("utf-8"))
    (top / "akten" / "nach_geheim").symlink_to("../geheim")
    (top / "akten" / "nach_geheim.txt").symlink_to("../geheim/x.txt")
    (top / "akten" / "nach_aussen.txt").symlink_to("/etc/passwd")
    os.mkfifo(top / "akten" / "rohr.txt")
    return Workspace(top)


A, B, C, O = "/arbeit/akten/a.txt", "/arbeit/akten/b.csv", "/arbeit/akten/tief/c.txt", "/arbeit/register/offen.txt"  # noqa: E741
FOUND: list[tuple[dict[str, Any], str]] = [
    ({"pattern": "Frist"}, f"{A}\n{C}\n{O}"),
    ({"pattern": "frist"}, "Kein Treffer."),
    ({"pattern": "frist", "-i": True, "path": "/arbeit/register"}, O),
    ({"pattern": "KÖLN", "-i": True}, f"{A}\n{B}"),
    ({"pattern": "Frist", "output_mode": "count"}, f"{A}:1\n{C}:2\n{O}:1"),
    ({"pattern": "Frist", "output_mode": "content", "path": A}, f"{A}:Frist 14 Tage"),
    ({"pattern": "Frist", "output_mode": "content", "path": A, "-n": True}, f"{A}:2:Frist 14 Tage"),
    ({"pattern": "Frist", "output_mode": "content", "path": A, "-n": True, "-A": 1},
     f"{A}:2:Frist 14 Tage\n{A}-3-Ort Köln"),
    ({"pattern": "Frist", "output_mode": "content", "path": A, "-n": True, "-B": 1},
     f"{A}-1-Satzung\n{A}:2:Frist 14 Tage"),
    ({"pattern": "Frist", "output_mode": "content", "path": C, "-C": 1},
     f"{C}-zwei\n{C}:Frist drei\n{C}-vier\n--\n{C}-sieben\n{C}:Frist acht"),
    ({"pattern": "Frist", "output_mode": "content", "path": C, "-C": 1, "-A": 0},
     f"{C}-zwei\n{C}:Frist drei\n--\n{C}-sieben\n{C}:Frist acht"),
    ({"pattern": "Frist", "output_mode": "content", "path": C, "-C": 2, "-n": True, "head_limit": 2},
     f"{C}-1-eins\n{C}-2-zwei\n[Hinweis: nach head_limit 2 gekürzt]"),
    ({"pattern": "Frist", "head_limit": 3}, f"{A}\n{C}\n{O}"),
    ({"pattern": "Frist", "head_limit": 1}, f"{A}\n[Hinweis: nach head_limit 1 gekürzt]"),
    ({"pattern": "Frist", "glob": "*.txt", "path": "/arbeit/akten"}, f"{A}\n{C}"),
    ({"pattern": "o", "glob": "*.{csv,md}"}, B),
    ({"pattern": "Frist", "glob": "tief/*.txt", "path": "/arbeit/akten"}, C),
    ({"pattern": "Frist", "glob": "akten/**/*.txt"}, f"{A}\n{C}"),
    ({"pattern": "Frist", "glob": "/arbeit/akten/*.txt"}, A),
    ({"pattern": "^köln;3$", "output_mode": "content"}, f"{B}:köln;3"),
    ({"pattern": "Frist", "path": "/arbeit/akten/tief/"}, C),
    ({"pattern": "Frist", "path": "/arbeit/register"}, O),
    ({"pattern": "Frist", "path": None, "glob": None, "-A": None}, f"{A}\n{C}\n{O}"),
    ({"pattern": "root"}, "Kein Treffer."),
    ({"pattern": "PNG"}, "Kein Treffer."),
    ({"pattern": ".", "path": "/arbeit/ausgabe/leer.txt"}, "Kein Treffer."),
]


@pytest.mark.parametrize(("arguments", "text"), FOUND, ids=range(len(FOUND)))
def test_finds(workspace: Workspace, arguments: dict[str, Any], text: str) -> None:
    result = grep(AGENT, workspace, arguments)
    assert (result.text, result.error, result.touched) == (text, False, None)


@pytest.mark.parametrize("mode", ["files", "content", "count"])
def test_no_hidden_line_is_shown(workspace: Workspace, mode: str) -> None:
    shown = grep(AGENT, workspace, {"pattern": ".*", "output_mode": mode, "-C": 3}).text
    assert "GEHEIM" not in shown and "geheim/" not in shown and "zu.txt" not in shown and "passwd" not in shown
    assert "nach_" not in shown, "links are passed over: what they may lead to is found where it lies"
    assert os.fspath(workspace.real) not in shown


@pytest.mark.parametrize("path", ["/arbeit/geheim", "/arbeit/geheim/x.txt", "/arbeit/gibtsnicht", "/etc", "/",
                                  "/arbeit/register/zu.txt", "/arbeit/akten/../geheim", "/arbeit/akten/nach_geheim",
                                  "/arbeit/akten/nach_aussen.txt"])
def test_a_path_outside_the_scope_counts(workspace: Workspace, path: str) -> None:
    with pytest.raises(Forbidden) as raised:
        grep(AGENT, workspace, {"pattern": "x", "path": path})
    assert raised.value.path == path


WRONG: list[tuple[Any, str]] = [
    ({}, "pattern fehlt"), ({"pattern": ""}, "leer"), ({"pattern": 3}, "Text"), ({"pattern": "\0"}, "NUL"),
    ({"pattern": "\ud800"}, "Ersatzzeichenpaar"), ({"pattern": "a" * 10_000_000}, "länger als"),
    ({"pattern": "("}, "gültiger regulärer"), ({"pattern": "a{99999999999}"}, "gültiger regulärer"),
    ({"pattern": "[z-a]"}, "gültiger regulärer"), ({"pattern": "(?P<a>x)(?P<a>y)"}, "gültiger regulärer"),
    ({"pattern": "x", "path": "akten"}, "absolut"), ({"pattern": "x", "path": 3}, "Text"),
    ({"pattern": "x", "path": "/arbeit/akten/nichts"}, "gibt es nicht"),
    ({"pattern": "x", "output_mode": "zeilen"}, "files, content, count"), ({"pattern": "x", "output_mode": 1}, "files"),
    ({"pattern": "x", "-i": 1}, "true oder false"), ({"pattern": "x", "-n": "ja"}, "true oder false"),
    ({"pattern": "x", "-A": True}, "ganze Zahl"), ({"pattern": "x", "-A": 1.5}, "ganze Zahl"),
    ({"pattern": "x", "-B": -1}, "von 0"), ({"pattern": "x", "-C": 10 ** 30}, "von 0"),
    ({"pattern": "x", "head_limit": "5"}, "ganze Zahl"), ({"pattern": "x", "glob": "../*"}, r"\.\."),
    ({"pattern": "x", "glob": 5}, "Text"), ({"pattern": "x", "type": "py"}, '"type" gibt es nicht'),
    (["x"], "JSON-Objekt"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_told_and_count_nothing(workspace: Workspace, arguments: Any, words: str) -> None:
    with pytest.raises(ToolError, match=words) as raised:
        grep(AGENT, workspace, arguments)
    assert not isinstance(raised.value, Forbidden)


def test_a_pattern_without_end_ends_at_the_limit_and_blocks_nobody(tmp_path: Path) -> None:
    (tmp_path / "akten").mkdir()
    (tmp_path / "akten" / "a").write_text("a" * 40 + "b\n")
    workspace, ticks = Workspace(tmp_path), []

    def tick() -> None:
        while not done.is_set():
            with workspace.lock:
                ticks.append(time.monotonic())
            time.sleep(0.01)

    done = threading.Event()
    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.monotonic()
    with pytest.raises(ToolError, match="nach 1 s beendet"):
        grep(AGENT, workspace, {"pattern": "(a+)+$"}, limit_s=1)
    took = time.monotonic() - began
    done.set()
    ticker.join()
    assert 1 <= took < 2
    assert max(b - a for a, b in zip(ticks, ticks[1:], strict=False)) < 0.5, "others went on"


def test_a_search_can_be_cancelled(tmp_path: Path) -> None:
    (tmp_path / "akten").mkdir()
    (tmp_path / "akten" / "a").write_text("a" * 40 + "b\n")
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    began = time.monotonic()
    with pytest.raises(ToolError, match="abgebrochen"):
        grep(AGENT, Workspace(tmp_path), {"pattern": "(a+)+$"}, cancel=cancel)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("lines", [["x" * 99] * 1_000, ["x" * 5_000_000], ["x"] * 200_000])
def test_the_output_is_cut(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "akten").mkdir()
    (tmp_path / "akten" / "a").write_text("\n".join(lines))
    shown = grep(AGENT, Workspace(tmp_path), {"pattern": "x", "output_mode": "content"}).text
    assert len(shown) <= search.CAP
    assert shown.endswith("suche genauer]" if len(lines) > 1 else "…")


def test_a_file_that_is_swapped_for_a_link_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the host's look and the child's, a command of the same agent may run."""
    workspace = Workspace(tmp_path)
    for name in ("akten/teil", "geheim"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x").write_text("GEHEIMNIS\n" if name == "geheim" else "offen\n")
    answer = search._answer

    def swapped(*given: Any) -> str:
        (tmp_path / "akten" / "teil").rename(tmp_path / "akten" / "weg")
        (tmp_path / "akten" / "teil").symlink_to("../geheim")
        return answer(*given)

    monkeypatch.setattr(search, "_answer", swapped)
    assert grep(AGENT, workspace, {"pattern": ".", "output_mode": "content"}).text == "Kein Treffer."


def test_names_that_are_no_utf8_are_shown_and_searched(tmp_path: Path) -> None:
    (tmp_path / "akten").mkdir()
    with open(os.fsencode(tmp_path) + b"/akten/\xff.txt", "w", encoding="utf-8") as file:
        file.write("da\n")
    assert grep(AGENT, Workspace(tmp_path), {"pattern": "da"}).text == "/arbeit/akten/\ufffd.txt"


def test_a_search_takes_well_below_a_second(workspace: Workspace) -> None:
    def took() -> float:
        began = time.perf_counter()
        grep(AGENT, workspace, {"pattern": "Frist"})
        return time.perf_counter() - began

    assert min(took() for _ in range(3)) < 0.3


@pytest.mark.parametrize("pattern", ["(" * 490 + ")" * 490, "(?:a{1000}){1000}", "[" * 500, "a" * 1_000, "(?i)(?s)."])
def test_a_pattern_that_is_hard_to_read_is_no_other_exception(workspace: Workspace, pattern: str) -> None:
    try:
        assert grep(AGENT, workspace, {"pattern": pattern}, limit_s=1).text
    except ToolError as error:
        assert str(error).startswith("Fehler: ")


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.just([]), st.just({}))
NAMES = ("pattern", "path", "glob", "output_mode", "-i", "-n", "-A", "-B", "-C", "head_limit")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from((*NAMES, "x")), VALUES))
def test_no_arguments_are_an_exception(workspace: Workspace, arguments: dict[str, Any]) -> None:
    try:
        assert grep(AGENT, workspace, arguments).text
    except ToolError as error:
        assert str(error)
