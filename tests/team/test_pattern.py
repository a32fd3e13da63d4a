"""Which files a glob pattern means."""

import time

import pytest

from infranode_eval.team.pattern import MAX_PATTERN, Pattern, is_magic
from infranode_eval.team.workspace import Forbidden, ToolError

PATHS = ("a.txt", "b.csv", ".c.txt", "x/a.txt", "x/y/a.txt", "x/y/b.csv", "ä b/c.txt", "x/[1].txt")
TABLE = (
    ("*.txt", "a.txt .c.txt", "one name, and a dot in front is a name like any other"),
    ("**/*.txt", "a.txt .c.txt x/a.txt x/y/a.txt ä b/c.txt x/[1].txt", "any number of folders, none among them"),
    ("**", " ".join(PATHS), "everything"),
    ("x/**", "x/a.txt x/y/a.txt x/y/b.csv x/[1].txt", "all below"),
    ("x/*", "x/a.txt x/[1].txt", "a star stops at a slash"),
    ("x/**/b.csv", "x/y/b.csv", "in between"),
    ("**/y/**/*.csv", "x/y/b.csv", "twice"), ("**/**/a.txt", "a.txt x/a.txt x/y/a.txt", "in a row"),
    ("?.txt", "a.txt", "one character"), ("[ab].*", "a.txt b.csv", "one of these"),
    ("[!a]*.csv", "b.csv", "none of these"),
    ("x/[[]1].txt", "x/[1].txt", "a bracket itself"), ("x/[1.txt", "", "a bracket that is never closed is a character"),
    ("*.{txt,csv}", "a.txt b.csv .c.txt", "either"), ("{x,ä b}/*.txt", "x/a.txt ä b/c.txt x/[1].txt", "folders, too"),
    ("{a,b}.{txt,csv}", "a.txt b.csv", "two braces"), ("{x/y,x}/a.txt", "x/a.txt x/y/a.txt", "a slash in braces"),
    ("{a", "", "a brace that is never closed is a character"), ("a{,.txt}", "a.txt", "nothing is a choice"),
    ("./x//a.txt", "x/a.txt", "dots and empty names mean nothing"), ("A.TXT", "", "case matters"), ("", "", "nothing"),
    ("*/*/*", "x/y/a.txt x/y/b.csv", "so many levels"), ("***", "a.txt b.csv .c.txt", "three stars are one"),
)


@pytest.mark.parametrize(("text", "expected", "why"), TABLE, ids=[row[0] or "empty" for row in TABLE])
def test_a_pattern_means_these_files(text, expected, why):
    pattern = Pattern.of(text)
    found = [path for path in PATHS if pattern.matches(path)]
    assert " ".join(found) == expected, why


REFUSED = (("../x", "climbs"), ("x/../y", "climbs"), ("{..,x}/y", "climbs in braces"),
           ("a" * (MAX_PATTERN + 1), "long"), ("{a,b}" * 6, "64 patterns in one"), ("a/" * 40, "too many levels"))


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_a_pattern_that_climbs_or_grows_is_an_error(text, why):
    with pytest.raises(ToolError) as caught:
        Pattern.of(text)
    assert not isinstance(caught.value, Forbidden), why


@pytest.mark.parametrize("text", ["*a" * 149 + "b", "**/a/" * 15 + "b", "{*a,*b}" * 5 + "*c*d*e", "[" * 300, "?" * 300])
def test_no_pattern_takes_long(text):
    pattern = Pattern.of(text)
    started = time.perf_counter()
    for _ in range(20):
        assert not pattern.matches("/".join(["a" * 250] * 15))
    assert time.perf_counter() - started < 1


def test_what_stands_for_other_characters_is_known():
    assert all(is_magic(text) for text in ("a*", "a?", "[a", "{a", "**"))
    assert not any(is_magic(text) for text in ("a.txt", "a]", "ä-b_c", ""))
