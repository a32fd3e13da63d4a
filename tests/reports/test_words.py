"""The page's words: both languages say the same things, each word is used, values are escaped."""

from __future__ import annotations

import json
import re

import pytest

from infranode_eval.reports.charts import ALL_KINDS
from infranode_eval.reports.sections import Group
from infranode_eval.reports.standings import OUTSIDE
from infranode_eval.reports.tasksets import NAMES
from infranode_eval.reports.words import WORDS, Words
from infranode_eval.statistics import Interval
from tests.needs import need

TEXTS = json.loads(WORDS.read_text("utf-8"))


@pytest.fixture
def words() -> Words:
    need("markupsafe")
    return Words.shipped()


@pytest.mark.parametrize("key", TEXTS)
def test_both_languages_fill_in_the_same_values(key: str) -> None:
    english, german = TEXTS[key]
    assert set(re.findall(r"{(\w+)}", english)) == set(re.findall(r"{(\w+)}", german))
    assert german


def test_every_word_is_used() -> None:
    sources = [*WORDS.parent.glob("*.j2"), WORDS.parent / "script.js",
               *(WORDS.parents[2] / "reports" / f"{name}.py" for name in ("page", "panels", "planes", "team_panel"))]
    source = "\n".join(path.read_text("utf-8") for path in sources)
    built = ("field_", "set_", "mode_", "cat_", "play_", "kind_", "why_", "effort_", "js_")   # ends come from the data
    assert [k for k in TEXTS if f'"{k}"' not in source and not k.startswith(built)] == []


@pytest.mark.parametrize("key", [*(f"field_{f}" for f in Group._fields), *(f"set_{n}" for n in NAMES),
                                 *(f"kind_{k}" for k in ALL_KINDS), *(f"why_{o}" for o in OUTSIDE if o != "baseline")])
def test_what_the_data_may_ask_for_is_there(key: str) -> None:
    assert key in TEXTS


def test_values_are_escaped_and_made_visible(words: Words) -> None:
    assert "<b>" not in words("n_tasks", n="<b>\u202e") and "&lt;b&gt;\\u202e" in words("n_tasks", n="<b>\u202e")
    assert words.same("<i>\x00") == "&lt;i&gt;\\x00"


def test_numbers_have_the_mark_of_their_language(words: Words) -> None:
    assert words.percent(0.857) == '<span class="en" lang="en">85.7</span><span class="de" lang="de">85,7</span>'
    assert words.percent(None) == "—"
    assert "77,0–91,5" in words.limits(Interval(0.857, 0.77, 0.915))
