"""What a worker tells: texts by file, in order, and the dates in them."""

from __future__ import annotations

from datetime import date

import pytest

from infranode_eval.team.account import day_in, found, plain, sections, texts_of

TOLD = "session_id: s1\n\n[/arbeit/a.txt]\nalt\n[keine Datei]\n\n[/arbeit/b.txt]\n1\tx\n2\ty\n\n[/arbeit/a.txt]\nneu"


def test_sections_in_order() -> None:
    assert sections(TOLD) == [("/arbeit/a.txt", "alt\n[keine Datei]"), ("/arbeit/b.txt", "x\ny"),
                              ("/arbeit/a.txt", "neu")]


@pytest.mark.parametrize(("path", "texts"), [("/arbeit/a.txt", ["alt\n[keine Datei]", "neu"]), ("/arbeit/c.txt", [])])
def test_all_that_is_told_of_one_file(path: str, texts: list[str]) -> None:
    assert texts_of(TOLD, path) == texts


@pytest.mark.parametrize("answer", ["", "nicht wahrnehmbar", "Fehler: [/arbeit/a.txt] fehlt"])
def test_an_answer_without_files(answer: str) -> None:
    assert sections(answer) == []


@pytest.mark.parametrize(("text", "without"), [("1\ta\n2\tb", "a\nb"), ("    1\ta", "a"), ("12 a", "12 a"), ("", "")])
def test_line_numbers_go(text: str, without: str) -> None:
    assert plain(text) == without


@pytest.mark.parametrize(("text", "day"), [
    ("am 14. September 2026 und am 1. Mai 2027", date(2026, 9, 14)),
    ("31. Februar 2026, 1. März 2026", date(2026, 3, 1)),
    ("14.09.2026", None), ("", None), ("14. September", None)])
def test_a_day(text: str, day: date | None) -> None:
    assert day_in(text) == day


@pytest.mark.parametrize(("texts", "what"), [(["ab", "a1"], "1"), (["a1", "a2"], "1"), (["a"], None), ([], None)])
def test_the_first_text_with_a_match(texts: list[str], what: str | None) -> None:
    match = found(r"a(\d)", texts)
    assert (match and match[1]) == what
