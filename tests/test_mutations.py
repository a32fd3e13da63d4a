"""The self-test's replies: every kind of mutation and equivalence that the specification names is really made."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.equivalences import RIGHT, equivalences
from infranode_eval.mutations import GERMAN, Variant, meaning, mutations, with_umlauts
from lm_eval_task.metrics import score_reply
from lm_eval_task.records import Call, Task
from lm_eval_task.tools import COMPARE_RESOURCES, POI_TYPES, read_tools

TOOLS = read_tools()
OWN = read_tools(Path(__file__).parent / "data" / "reply_tools.json")   # typed parameters that the twelve do not have


def task(*expected: Call, accept: Sequence[Sequence[Call]] = ()) -> Task:
    return Task("t", "Frage?", expected, tuple(map(tuple, accept)))


CHARGING = Call("get_city_resource", {"slug": "muelheim-an-der-ruhr", "resource": "charging"})
COMPARE = Call("compare", {"resource": "air", "cities": "koeln,bonn"})
POIS = Call("pois", {"slug": "essen", "type": "pharmacy"})
BOARD = Call("station_board_arrivals", {"eva": "8000152"})
STOP = Call("transit_departures", {"slug": "koeln", "stop_id": "de:05315:11201"})
CITIES = Call("list_cities", {})
TYPED = Call("nearby", {"slug": "koeln", "radius_km": 2.5, "limit": 3, "open_only": True, "tags": ["a"],
                        "area": {"a": 1}})

KINDS = [
    # (kind that must be made, task, why)
    ("tool swapped", task(CHARGING), "tool swapped"),
    ("tool swapped for an unknown one", task(CITIES), "a name that is not offered"),
    ("argument changed", task(CHARGING), "each argument changed"),
    ("argument changed", task(BOARD), "each argument changed"),
    ("argument changed", task(STOP), "each argument changed"),
    ("argument dropped", task(COMPARE), "dropped"),
    ("argument null", task(POIS), "null = missing"),
    ("argument added", task(CITIES), "added"),
    ("type changed", task(STOP), "type changed"),
    ("umlaut put back", task(CHARGING), "umlaut put back"),
    ("umlaut put back", task(COMPARE), "in a list of cities too"),
    ("value translated", task(CHARGING), "value translated"),
    ("value translated", task(POIS), "value translated"),
    ("case of a key changed", task(POIS), "resource and type are exact"),
    ("city doubled", task(COMPARE), "duplicates are not equal"),
    ("city dropped", task(COMPARE), "another list"),
    ("name shortened", task(CHARGING), "short forms are not credited"),
    ("name lengthened", task(POIS), "long forms are not credited"),
    ("argument not executable", task(POIS), "blanks and slashes"),
    ("call doubled", task(BOARD), "call doubled"),
    ("call added", task(BOARD), "more calls than expected"),
    ("call left out", task(BOARD, POIS), "fewer calls than expected"),
    ("call cut at every byte", task(CITIES), "cut"),
    ("arguments cut at every byte", task(BOARD), "cut inside a native entry"),
    ("call where none is right", task(), "any readable call where none was expected"),
]


@pytest.mark.parametrize(("kind", "subject", "why"), KINDS, ids=[f"{k}-{i}" for i, (k, _, _) in enumerate(KINDS)])
def test_mutation_is_made(kind: str, subject: Task, why: str) -> None:
    assert any(variant.kind == kind for variant in mutations(subject, TOOLS)), why


SAME = [
    ("slug in capitals", task(CHARGING)), ("slug capitalised", task(STOP)), ("arguments in another order", task(POIS)),
    ("cities in another order", task(COMPARE)), ("blanks around commas", task(COMPARE)), ("fence", task(BOARD)),
    ("cities in capitals", task(COMPARE)), ("prose", task(BOARD)), ("keys name, parameters", task(BOARD)),
    ("optional argument null", task(Call("transit_departures", {"slug": "koeln"}))),
    ("default spelled out", task(Call("transit_departures", {"slug": "koeln"}))),
    ("no arguments key", task(CITIES)), ("calls in another order", task(BOARD, POIS)), ("silence", task()),
    ("identical objects", task(BOARD)), ("closed thought", task(BOARD)), ("arguments as an object", task(BOARD)),
    ("arguments encoded twice", task(BOARD)), ("trailing comma", task(BOARD, POIS)), ("single quotes", task(BOARD)),
]


@pytest.mark.parametrize(("kind", "subject"), SAME, ids=[k for k, _ in SAME])
def test_equivalence_is_made(kind: str, subject: Task) -> None:
    assert any(variant.kind == kind for variant in equivalences(subject, TOOLS))


SUBJECTS = {
    "resource": task(CHARGING), "compare": task(COMPARE), "pois": task(POIS), "board": task(BOARD), "stop": task(STOP),
    "no arguments": task(CITIES), "no call": task(), "two calls": task(POIS, BOARD), "same tool twice": task(
        Call("weather", {"slug": "koeln"}), Call("weather", {"slug": "bonn"})),
    "accepted": task(Call("get_city_resource", {"slug": "koeln", "resource": "air"}),
                     accept=[[Call("air_quality", {"slug": "koeln"})], [POIS, BOARD]]),
    "optional left out": task(Call("transit_departures", {"slug": "koeln"})),
    "all poi types": task(*(Call("pois", {"slug": "koeln", "type": t}) for t in sorted(POI_TYPES))),
}


def surprises(subject: Task, tools: Any = TOOLS) -> list[tuple[str, Variant, Any]]:
    found = []
    for made, right in ((equivalences(subject, tools), True), (mutations(subject, tools), False)):
        for variant in made:
            score = score_reply(subject, variant.reply, tools, variant.mode)
            if bool(score.call_match) is not right or score.outcome not in variant.outcomes \
                    or variant.sub not in (None, score.sub):
                found.append((variant.kind, variant, score))
    return found


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_scorer_gives_every_variant_its_verdict(subject: Task) -> None:
    assert surprises(subject) == []


def test_tools_of_a_user_are_mutated_by_type() -> None:
    assert surprises(task(TYPED), OWN) == []
    changed = [v.calls[0].arguments for v in mutations(task(TYPED), OWN) if v.kind == "argument changed"]
    for name, value in TYPED.arguments.items():
        assert any(arguments[name] != value for arguments in changed), name


@pytest.mark.parametrize("key", sorted({*TOOLS.by_name["get_city_resource"].properties["resource"]["enum"], *POI_TYPES,
                                        *COMPARE_RESOURCES}))
def test_every_key_and_type_has_a_german_name(key: str) -> None:
    assert GERMAN[key].casefold() != key, "a name that differs by case only is enum_case"


@pytest.mark.parametrize("key", sorted(TOOLS.by_name["get_city_resource"].properties["resource"]["enum"]))
def test_every_key_has_its_mutations(key: str) -> None:
    assert surprises(task(Call("get_city_resource", {"slug": "bonn", "resource": key}))) == []


@pytest.mark.parametrize("resource", sorted(COMPARE_RESOURCES))
def test_every_compared_resource_has_its_mutations(resource: str) -> None:
    assert surprises(task(Call("compare", {"resource": resource, "cities": "koeln,muenchen,frankfurt-am-main"}))) == []


def test_a_mutation_that_hits_an_accepted_answer_is_left_out() -> None:
    swapped = Call("air_quality", {"slug": "koeln"})
    subject = task(Call("weather", {"slug": "koeln"}), accept=[[swapped]])
    assert all(variant.calls != (swapped,) for variant in mutations(subject, TOOLS))
    assert any(variant.calls == (swapped,) for variant in mutations(task(Call("weather", {"slug": "koeln"})), TOOLS))
    assert any(v.calls == (swapped,) and v.outcomes == {"ok"} for v in equivalences(subject, TOOLS))


def test_every_cut_is_made_once() -> None:
    cuts = [v for v in mutations(task(BOARD), TOOLS) if v.kind == "call cut at every byte" and v.mode == "prompt"]
    texts = [v.reply.message["content"] for v in cuts if v.reply.finish_reason == "stop"]
    assert [len(t) for t in texts] == list(range(len(texts)))
    assert texts[-1] + "}" == '{"name": "station_board_arrivals", "arguments": {"eva": "8000152"}}'


UMLAUTS = [
    ("koeln", {"köln", "Köln", "KÖLN", " köln "}, "one place"),
    ("duesseldorf", {"düsseldorf", "dueßeldorf", "Düßeldorf"}, "two places: each alone, and all"),
    ("essen", {"eßen"}, "ß"),
    ("bonn", set(), "nothing to put back"),
]


@pytest.mark.parametrize(("slug", "some", "why"), UMLAUTS, ids=[u[0] for u in UMLAUTS])
def test_umlauts_are_put_back(slug: str, some: set[str], why: str) -> None:
    made = set(with_umlauts(slug))
    assert some <= made, why
    assert bool(made) is bool(some)
    assert slug not in made


def test_umlauts_come_decomposed_too() -> None:
    assert unicodedata.normalize("NFD", "köln") in set(with_umlauts("koeln"))


EQUAL = [
    (Call("weather", {"slug": "KOELN"}), Call("weather", {"slug": "koeln"}), True, "ASCII case"),
    (Call("weather", {"slug": "Köln"}), Call("weather", {"slug": "koeln"}), False, "umlaut"),
    (Call("compare", {"resource": "air", "cities": "Bonn , koeln"}), COMPARE, True, "order, blanks, case"),
    (Call("compare", {"resource": "air", "cities": "bonn,koeln,koeln"}), COMPARE, False, "duplicates"),
    (Call("transit_departures", {"slug": "koeln", "stop_id": None}), Call("transit_departures", {"slug": "koeln"}),
     True, "null = omitted"),
    (Call("pois", {"slug": "essen", "type": "Pharmacy"}), POIS, False, "types are exact"),
    (Call("station_board_arrivals", {"eva": 8000152}), BOARD, False, "number and text"),
    (Call("get_city_resource", {"slug": "koeln", "resource": "weather"}), Call("weather", {"slug": "koeln"}), False,
     "the pairs of the same URL are not equal"),
]


@pytest.mark.parametrize(("a", "b", "equal", "why"), EQUAL, ids=[e[3] for e in EQUAL])
def test_meaning(a: Call, b: Call, equal: bool, why: str) -> None:
    assert (meaning(TOOLS, [a]) == meaning(TOOLS, [b])) is equal


def test_meaning_counts_calls_and_ignores_their_order() -> None:
    assert meaning(TOOLS, [POIS, BOARD]) == meaning(TOOLS, [BOARD, POIS])
    assert meaning(TOOLS, [POIS, POIS]) != meaning(TOOLS, [POIS])
    own = [Call("nearby", {"slug": "bonn", "limit": 3}), Call("nearby", {"slug": "bonn", "limit": 3.0, "radius_km": 5})]
    assert meaning(OWN, own[:1]) == meaning(OWN, own[1:]), "3 = 3.0, and an explicit default = omitted"
    assert meaning(OWN, [Call("nearby", {"slug": "k", "open_only": 1})]) != meaning(
        OWN, [Call("nearby", {"slug": "k", "open_only": True})])


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_no_mutation_may_count_as_right(subject: Task) -> None:
    right = {meaning(TOOLS, a) for a in subject.alternatives}
    for variant in mutations(subject, TOOLS):
        assert not variant.outcomes & RIGHT
        assert not variant.calls or meaning(TOOLS, variant.calls) not in right
