"""Hardness: neighbours above a floor, ties by the text, flags that do not know what a database is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from infranode_eval.db_routing.build import pool_of
from infranode_eval.db_routing.hardness import FLOORS, NEIGHBOURS, Pool, Text, Verdict, band_problems
from infranode_eval.db_routing.sources import read_sources
from tests.needs import need

need("sklearn")


def text(name: str, words: str, phrasing: str = "a") -> Text:
    return Text(name, phrasing, name.partition("-")[0], f"{name} {phrasing} {words}?", tuple(words.split()))


@pytest.mark.parametrize(("foreign", "flagged"), [(4, False), (5, True), (0, False), (20, True)])
def test_five_foreign_neighbours_make_a_question_hard(foreign: int, flagged: bool) -> None:
    assert Verdict(foreign, 20).flagged is flagged


def pool(own: int, foreign: int) -> Pool:
    """A question about Zebras with so many own and foreign texts beside it, and two about something else."""
    texts = [text("zoo-000", "zebra")]
    texts += [text(f"zoo-{n:03d}", f"zebra {'abcdefgh'[n % 8] * 3}") for n in range(1, own + 1)]
    texts += [text(f"hof-{n:03d}", f"zebra {'stuvwxyz'[n % 8] * 3}") for n in range(foreign)]
    return Pool([*texts, text("amt-000", "formular"), text("amt-001", "stempel")])


@pytest.mark.parametrize(("own", "foreign", "verdict"), [
    (3, 4, Verdict(4, 7)), (3, 5, Verdict(5, 8)), (0, 0, Verdict(0, 0)), (0, 30, Verdict(20, 20))])
def test_only_the_twenty_nearest_count_and_never_the_text_itself(own: int, foreign: int, verdict: Verdict) -> None:
    found = pool(own, foreign)
    assert found.verdict(0, 0.1) == verdict
    assert 0 not in [n.place for n in found.near(0, 0.1)]


def test_a_text_without_similar_ones_is_not_filled_up() -> None:
    found = pool(3, 5)
    assert found.near(len(found.texts) - 1, 0.05) == []
    assert not found.verdict(len(found.texts) - 1, 0.05).flagged


def test_neighbours_lie_above_the_floor() -> None:
    found = pool(3, 5)
    cosines = [n.cosine for n in found.near(0, 0.0)]
    assert cosines == sorted(cosines, reverse=True)
    assert len(found.near(0, cosines[2])) == sum(cosine > cosines[2] for cosine in cosines), "at the floor is not above"


def test_ties_are_ordered_by_the_text() -> None:
    found = pool(0, 30)
    near = found.near(0, 0.1)
    same = [found.texts[n.place].tie for n in near if n.cosine == near[0].cosine]
    assert len(same) > 1 and same == sorted(same)


def renamed(texts: tuple[Text, ...], names: Mapping[str, str]) -> list[Text]:
    """The same texts under other names, in the order of their new ids."""
    found = [replace(t, database=names[t.database], intent=t.intent.replace(t.database, names[t.database]))
             for t in texts]
    return sorted(found, key=lambda t: (t.intent, t.phrasing))


@pytest.fixture(scope="module")
def shipped() -> Pool:
    """The pool of the databases that came first."""
    sources = read_sources().only(["onlineshop", "filialhandel", "luftguete"])
    return pool_of(sources.with_panel_frame())


def test_renaming_all_databases_changes_no_flag(shipped: Pool) -> None:
    names = {name: f"{letter}_{name[::-1]}" for letter, name in zip(
        "zyx", sorted({t.database for t in shipped.texts}), strict=True)}
    other = Pool(renamed(shipped.texts, names))
    for floor in (0.05, 0.11, 0.2):
        flags = {t.text: shipped.verdict(place, floor) for place, t in enumerate(shipped.texts)}
        assert {t.text: other.verdict(place, floor) for place, t in enumerate(other.texts)} == flags


def test_the_rule_picks_the_smallest_floor_that_keeps_the_isolated_free(shipped: Pool) -> None:
    floor = shipped.floor(["luftguete", "not_written_yet"])
    assert floor is not None
    assert shipped.shares(floor)["luftguete"] <= 0.05
    assert all(shipped.shares(lower)["luftguete"] > 0.05 for lower in FLOORS if lower < floor)
    assert shipped.floor(["onlineshop"]) is None, "two alike databases are never that free"


def test_flags_mean_something(shipped: Pool) -> None:
    """A router by neighbours is right more often where the flag is not set, and both phrasings mostly agree."""
    right = shipped.router(0.11)
    assert right["unflagged"] > right["flagged"]
    assert shipped.agreement(0.11) > 0.7
    assert max(len(shipped.near(place, 0.05)) for place in range(len(shipped.texts))) == NEIGHBOURS


def test_bands_name_what_is_not_accepted() -> None:
    found = pool(3, 5)
    levels = {text.intent: "own" for text in found.texts}
    problems = list(band_problems(found, 0.1, {"zoo": "tiere", "hof": None, "amt": None}, levels))
    assert "hof: 0% flagged, expected" not in " ".join(problems), "an isolated one may have none"
    assert any(problem.startswith("1 flagged questions of 1 databases") or "flagged questions of" in problem
               for problem in problems)
    zoo = found.shares(0.1)["zoo"]
    assert any(problem.startswith("zoo: ") for problem in problems) is not (0.3 <= zoo <= 0.7)
