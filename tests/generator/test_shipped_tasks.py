"""The shipped tasks: counts, wording, pairs, stations, and a decision for every ambiguous neighbourhood."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

import pytest

from infranode_eval.generator.abstain import ASK, CONTROL, REFUSE
from infranode_eval.generator.build import NAMED, SWITCHED_OFF, servable_keys
from infranode_eval.generator.robust import VARIANTS
from infranode_eval.generator.rows import check_rows
from infranode_eval.generator.templates import city_forms, core_version, phrasings
from infranode_eval.infranode import facts
from infranode_eval.retrieval import find_slugs
from lm_eval_task.dataset import load_tasks
from lm_eval_task.records import SETS, Call, Task
from lm_eval_task.tools import COMPARE_RESOURCES, POI_TYPES, data_file, read_tools

TOOLS = read_tools()
EVERY = load_tasks(TOOLS, "all")
TASKS = [task for task in EVERY if task.set in ("core", "extended")]
CORE = [task for task in TASKS if task.set == "core"]
EXTENDED = [task for task in TASKS if task.set == "extended"]
BY_ID = {task.task_id: task for task in TASKS}


def of(tasks: list[Task], category: str) -> list[Task]:
    return [task for task in tasks if task.category == category]


def key_of(task: Task) -> str:
    return str(task.expected[0].arguments["resource"])


def slugs_of(task: Task) -> set[str]:
    listed = [call.arguments.get("cities", call.arguments.get("slug", "")) for call in task.expected]
    return {slug for text in listed for slug in text.split(",") if slug}


def proofs(task: Task) -> list[dict[str, object]]:
    return [task.extra["verified"]] if isinstance(task.extra["verified"], dict) else task.extra["verified"]


# --- counts -----------------------------------------------------------------------------------------------------------

def test_the_core_has_91_tasks_in_eight_categories() -> None:
    assert Counter(t.category for t in CORE) == {
        "routing_broad": 12, "routing_named": 12, "resource_key": 24, "slug_resolution": 8, "poi_type": 12,
        "compare_multi": 5, "not_covered": 12, "two_step": 6}
    assert core_version() == "core-2026-12"


@pytest.mark.parametrize(("category", "least"), [
    ("not_covered", 80), ("slug_resolution", 55), ("routing_named", 60), ("routing_broad", 40), ("two_step", 30),
    ("two_calls", 50), ("availability", 40), ("compare_multi", 120), ("poi_type", 130), ("routing_rest", 60),
    ("source_off", 24)])
def test_the_extended_set_is_large_enough(category: str, least: int) -> None:
    assert len(of(EXTENDED, category)) >= least
    assert len(EXTENDED) >= 2000


def test_every_servable_key_is_asked_eight_times_in_six_phrasings() -> None:
    asked = Counter(key_of(t) for t in of(TASKS, "resource_key"))
    worded = {key: {t.extra["phrasing"] for t in of(TASKS, "resource_key") if key_of(t) == key} for key in asked}
    assert set(asked) == set(servable_keys())
    assert len(servable_keys()) == 60
    assert min(asked.values()) >= 8
    assert min(map(len, worded.values())) >= 6
    off = Counter(key_of(t) for t in of(EXTENDED, "source_off"))
    assert off == dict.fromkeys(SWITCHED_OFF, 8), "the keys that production serves nothing for"


def test_every_city_is_asked_about() -> None:
    asked = Counter(slug for task in EXTENDED for slug in slugs_of(task))
    assert set(asked) == {city.slug for city in facts.cities()}
    assert max(asked.values()) <= 3 * min(asked.values()), "held-out cities fill the test split"


def test_types_resources_and_other_tools_are_spread() -> None:
    types = Counter(t.expected[0].arguments["type"] for t in of(EXTENDED, "poi_type"))
    resources = Counter(key_of(t) for t in of(EXTENDED, "compare_multi"))
    rest = Counter(t.expected[0].name for t in of(EXTENDED, "routing_rest"))
    assert set(types) == POI_TYPES and min(types.values()) >= 8
    assert set(resources) == COMPARE_RESOURCES and min(resources.values()) >= 5
    assert set(rest) == {"get_city", "list_cities", "sources", "station_board_departures", "station_board_arrivals",
                         "transit_departures"} and min(rest.values()) >= 8
    assert Counter(Counter(t.expected[0].arguments["type"] for t in of(CORE, "poi_type")).values()) == {2: 6}
    assert len({key_of(t) for t in of(CORE, "compare_multi")}) == 5
    assert Counter(t.expected[0].name for t in of(CORE, "routing_named")) == {"weather": 6, "air_quality": 6}


def test_core_keys_vary_and_are_served() -> None:
    keys = {key_of(t) for t in of(CORE, "resource_key")}
    assert len(keys) >= 22
    assert not keys & (SWITCHED_OFF | NAMED)
    assert not {key_of(t) for t in TASKS if t.category in ("resource_key", "not_covered")} & (SWITCHED_OFF | NAMED)


def test_core_cities_vary_and_most_need_the_slug_rule() -> None:
    asked = Counter(slug for task in CORE for slug in slugs_of(task))
    assert max(asked.values()) <= 4
    shaped = [t for t in CORE if any(city_forms()[s].name.lower() != s for s in slugs_of(t))
              or phrasings()[t.extra["phrasing"]].slots & {"gen", "adj"}]
    assert len(shaped) >= 60


# --- rows -------------------------------------------------------------------------------------------------------------

def test_every_row_fits_the_schema_and_every_gold_the_tools() -> None:
    check_rows([task.to_json() for task in EVERY])    # load_tasks has checked golds and accepts against tools.json


def test_rows_are_sorted_and_no_question_occurs_twice() -> None:
    order = [(SETS.index(t.set), t.task_id) for t in EVERY]
    assert order == sorted(order)
    assert [q for q, n in Counter(t.question for t in TASKS).items() if n > 1] == []


def test_no_core_phrasing_meets_its_city_again() -> None:
    used = {(t.extra["phrasing"], *sorted(slugs_of(t))) for t in CORE}
    assert [t.task_id for t in EXTENDED if (t.extra["phrasing"], *sorted(slugs_of(t))) in used] == []


def test_the_shipped_rows_claim_no_more_than_the_meta_file_says() -> None:
    meta = json.loads(data_file("tasks.meta.json").read_text("utf-8"))
    checked = [task for task in EVERY if "verified" in task.extra]
    assert {proof["level"] for task in checked for proof in proofs(task)} == {meta["source"]["level"]}
    assert all(len(proofs(task)) == len(task.expected) for task in checked if task.expected)
    assert all("verified" in task.extra for task in EVERY if task.expected)
    assert set(meta["tasks"]) == {task.task_id for task in EVERY}
    assert meta["hashes"]["core"] == "c16f9cc7779344e328399a2ee38239613a39a7bf6ef38a6b5d19a0b22947678b"


def test_status_of_the_proof_fits_the_category() -> None:
    for task in TASKS:
        allowed = {"not_covered"} if task.category == "not_covered" else {"ok", None}
        if task.expected[0].name in ("station_board_departures", "station_board_arrivals", "transit_departures"):
            allowed = {"ok", "no_data"}
        if task.category == "source_off":
            allowed = {"disabled", "no_data"}
        assert {proof["source_status"] for proof in proofs(task)} <= allowed, task.task_id


# --- wording ----------------------------------------------------------------------------------------------------------

def test_a_question_names_its_city_in_a_form_a_reader_resolves() -> None:
    for task in TASKS:
        if task.category in ("two_step", "routing_rest"):   # a station may name it: Warnemünde, EVA numbers
            continue
        assert slugs_of(task) <= set(find_slugs(task.question)), task.task_id


def test_no_resource_question_names_its_key() -> None:
    for task in TASKS:
        if task.category in ("resource_key", "not_covered"):
            words = key_of(task).replace("-", r"[\s\-]*")
            assert not re.search(rf"\b{words}\b", task.question, re.IGNORECASE), task.task_id


def test_no_question_names_a_tool_or_a_slug_with_a_hyphen() -> None:
    for task in TASKS:
        assert "_" not in task.question
        assert not any("-" in slug and slug in task.question for slug in slugs_of(task)), task.task_id


def test_only_availability_questions_ask_whether_data_exist() -> None:
    for task in TASKS:
        if task.category in ("resource_key", "not_covered"):
            found = re.search(r"Gibt es Daten|abgedeckt|verfügbar|Datensatz|Datenart|Datenbestand", task.question)
            assert not found, task.task_id


def test_questions_are_sentences_of_reasonable_length() -> None:
    for task in TASKS:
        assert 4 <= len(task.question.split()) <= 32, task.task_id
        assert not re.search(r"\s{2,}|\s[,.?!:]|[{}]", task.question), task.task_id


def test_no_station_number_of_a_task_stands_in_a_tool_text() -> None:
    text = json.dumps(TOOLS.to_json(), ensure_ascii=False)
    for task in TASKS:
        calls = [*task.expected, *map(Call.from_json, task.extra.get("then", ()))]
        for eva in (call.arguments["eva"] for call in calls if "eva" in call.arguments):
            assert eva not in text


# --- twins and steps --------------------------------------------------------------------------------------------------

def test_every_not_covered_task_has_a_twin_of_the_same_wording_in_its_set() -> None:
    for task in of(list(TASKS), "not_covered"):
        twin = BY_ID[task.extra["pair"]]
        assert (twin.category, twin.set, twin.extra["pair"]) == ("resource_key", task.set, task.task_id)
        assert (twin.extra["phrasing"], key_of(twin)) == (task.extra["phrasing"], key_of(task))
        assert facts.is_covered(facts.DEFAULT_STATE, key_of(twin), twin.expected[0].arguments["slug"])
        assert not facts.is_covered(facts.DEFAULT_STATE, key_of(task), task.expected[0].arguments["slug"])


def test_core_twins_use_every_partial_key() -> None:
    assert len({key_of(t) for t in of(CORE, "not_covered")}) == 11


def test_a_two_step_station_is_small_and_its_number_is_not_in_the_question() -> None:
    for task in of(list(TASKS), "two_step"):
        if key_of(task) == "transit":
            continue
        slug = task.expected[0].arguments["slug"]
        evas = {call["arguments"]["eva"] for call in task.extra["then"]}
        main = facts.main_station(slug)
        assert main is not None
        assert not evas & {*main.evas, *facts.board_evas(slug)}, task.task_id
        assert "Hauptbahnhof" not in task.question and "Hbf" not in task.question
        assert not any(eva in task.question for eva in evas)


def test_the_number_or_id_of_a_board_question_stands_in_it() -> None:
    for task in of(EXTENDED, "routing_rest"):
        for name in ("eva", "stop_id"):
            if name in task.expected[0].arguments:
                assert task.expected[0].arguments[name] in task.question


# --- ambiguous neighbours: each pair is decided by a word in the question, or both calls are right --------------------

def resource(slug: str, key: str) -> Call:
    return Call("get_city_resource", {"slug": slug, "resource": key})


def says(pattern: str) -> Callable[[Task], bool]:
    return lambda task: bool(re.search(pattern, task.question, re.IGNORECASE))


def accepts(*keys: str) -> Callable[[Task], bool]:
    def check(task: Task) -> bool:
        slug = task.expected[0].arguments["slug"]
        return all((resource(slug, key),) in task.accept for key in keys)

    return check


def is_gold(name: str, detail: str | None = None) -> Callable[[Task], bool]:
    def check(task: Task) -> bool:
        first = task.expected[0]
        return len(task.expected) == 1 and first.name == name and (
            detail is None or detail in (first.arguments.get("resource"), first.arguments.get("type")))

    return check


DECISIONS = [
    ("air_quality against air", is_gold("air_quality"), says("amtlich|behördlich|offiziell|Umweltbundesamt"),
     accepts("air")),
    ("air against air_quality", is_gold("get_city_resource", "air"), says("(nicht|statt|abseits).*(amtlich|offiziell)|"
     "(amtlich|offiziell).*(nicht|keine)"), None),
    ("pois hospital against health", is_gold("pois", "hospital"), says("OpenStreetMap|Karte"),
     accepts("health", "hospitals-atlas")),
    ("health against pois hospital", is_gold("get_city_resource", "health"), says("amtlich"),
     lambda t: (Call("pois", {"slug": t.expected[0].arguments["slug"], "type": "hospital"}),) in t.accept),
    ("energy against solar-roofs", is_gold("get_city_resource", "energy"),
     says("Windr|Windkraft|Biogas|Batteriespeicher|Marktstammdatenregister"), accepts("solar-roofs")),
    ("solar against solar-roofs", is_gold("get_city_resource", "solar"), lambda t: not says("Dach|Dächer")(t), None),
    ("solar-roofs against energy", is_gold("get_city_resource", "solar-roofs"),
     says("Dach|Dächer|Gebäude|Häuser"), None),
    ("traffic against road-events", is_gold("get_city_resource", "traffic"), says("Autobahn"), None),
    ("road-events against traffic", is_gold("get_city_resource", "road-events"),
     says("Stadtgebiet|Innenstadt|innerört|innerstädt|mitten in der Stadt|Autobahnen interessieren mich nicht"), None),
    ("station boards against stations", lambda t: is_gold("get_city_resource", "station-departures")(t)
     or is_gold("get_city_resource", "station-arrivals")(t), says("Hauptbahnhof|Hbf"), None),
    ("stations in two steps", lambda t: t.category == "two_step" and is_gold("get_city_resource", "stations")(t),
     lambda t: "then" in t.extra, None),
    ("charging-status against charging", is_gold("get_city_resource", "charging-status"),
     says("belegt|unbesetzt|frei\\b|Belegung|unbenutzt|in Benutzung"), accepts("charging")),
    ("charging against charging-status", is_gold("get_city_resource", "charging"),
     lambda t: not says("gerade|frei\\b|belegt|im Moment|jetzt")(t), accepts("charging-status")),
    ("water-level against flood", is_gold("get_city_resource", "water-level"),
     lambda t: not says("Hochwasser|Stufe|Alarm")(t), None),
    ("flood against civil-protection-warnings", is_gold("get_city_resource", "flood"),
     says("stufe|Alarmstufe"), accepts("civil-protection-warnings")),
    ("weather-warnings against civil protection", is_gold("get_city_resource", "weather-warnings"),
     says("Wetterdienst|DWD|Unwetter|Hitze|Sturm|Starkregen|Frost|Glätte|Gewitter"), None),
    ("civil protection against weather-warnings", is_gold("get_city_resource", "civil-protection-warnings"),
     says("Bevölkerungsschutz|Sirenen|NINA|Gefahrstoff|Katastrophenschutz|Großbrand|Bombenfund|giftig"), None),
    ("education against pois school", is_gold("get_city_resource", "education"),
     says("Hochschul|Uni|Bildungseinrichtungen"), None),
    ("pois school against education", is_gold("pois", "school"), lambda t: not says("Hochschul|Universität|Kita")(t),
     accepts("education")),
    ("get_city against geo", is_gold("get_city"), says("Stammdaten|Steckbrief|Einwohner|Grunddaten|Bevölkerung"),
     accepts("geo")),
    ("geo against get_city", is_gold("get_city_resource", "geo"), says("amtlich|Verwaltungsgrenze"),
     lambda t: (Call("get_city", {"slug": t.expected[0].arguments["slug"]}),) in t.accept),
    ("population-density against indicators", is_gold("get_city_resource", "population-density"),
     says("Zensus|bewohnt"), None),
    ("post-boxes against parcel-lockers", is_gold("get_city_resource", "post-boxes"), says("Brief|Karten|Umschlag"),
     None),
    ("post-offices against parcel-lockers", is_gold("get_city_resource", "post-offices"),
     lambda t: not says("Paket")(t), accepts("parcel-lockers")),
    ("overview against single topics", lambda t: t.category == "routing_broad",
     says("alles|Übersicht|Überblick|Gesamt|Rundumblick|große Ganze|volle Programm|alle[nrs]? (Bereiche|Themen)|"
          "komplett"), None),
]


@pytest.mark.parametrize(("name", "concerns", "decides", "accepted"), DECISIONS, ids=[d[0] for d in DECISIONS])
def test_ambiguous_neighbours_are_decided(name: str, concerns: Callable[[Task], bool], decides: Callable[[Task], bool],
                                          accepted: Callable[[Task], bool] | None) -> None:
    concerned = [task for task in TASKS if concerns(task) and task.category != "slug_resolution"]
    assert concerned, name
    open_ones = [t.question for t in concerned if not decides(t) and not (accepted and accepted(t))]
    assert open_ones == [], name


def test_the_four_pairs_of_one_url_never_stand_in_accept() -> None:
    for task in TASKS:
        for call in (call for alternative in task.accept for call in alternative):
            assert call.arguments.get("resource") not in NAMED, task.task_id


# --- robustness and abstention ----------------------------------------------------------------------------------------

ROBUST = [task for task in EVERY if task.set == "robust"]
ABSTAIN = [task for task in EVERY if task.set == "abstain"]


def test_every_variant_has_thirty_pairs_and_two_hundred_tasks_are_asked_otherwise() -> None:
    counts = Counter(task.extra["variant"] for task in ROBUST)
    assert set(counts) == set(VARIANTS) and min(counts.values()) >= 30
    assert len({task.extra["base"] for task in ROBUST}) >= 200


def test_a_variant_keeps_everything_but_the_question() -> None:
    originals = {t.extra["base"] for t in ROBUST if t.extra["variant"] == "original"}
    for task in ROBUST:
        base = BY_ID[task.extra["base"]]
        assert (task.expected, task.accept, task.category) == (base.expected, base.accept, base.category)
        assert task.extra.get("then") == base.extra.get("then") and task.extra["phrasing"] == base.extra["phrasing"]
        assert (task.question == base.question) == (task.extra["variant"] == "original"), task.task_id
        assert task.extra["base"] in originals, "both sides of a pair stand in one run"


def test_the_whole_core_is_paraphrased_by_rule_and_by_hand() -> None:
    for variant in ("reframed", "paraphrase"):
        assert {t.extra["base"] for t in ROBUST if t.extra["variant"] == variant} == {t.task_id for t in CORE}


def test_a_paraphrase_shares_no_five_words_in_a_row_with_its_base() -> None:
    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[i:i + 5]) for i in range(len(words) - 4)}

    for task in ROBUST:
        if task.extra["variant"] == "paraphrase":
            assert not runs(task.question) & runs(BY_ID[task.extra["base"]].question), task.task_id


def test_digits_of_the_base_stay_in_every_variant() -> None:
    for task in ROBUST:
        missing = set(re.findall(r"\d{4,}", BY_ID[task.extra["base"]].question)) \
            - set(re.findall(r"\d{4,}", task.question))
        assert not missing, task.task_id


def test_the_abstention_set_holds_every_kind_and_its_twins() -> None:
    counts = Counter(task.category for task in ABSTAIN)
    assert set(counts) == {*REFUSE, *ASK, CONTROL} and min(counts.values()) >= 20
    by_id = {task.task_id: task for task in ABSTAIN}
    for task in ABSTAIN:
        if "twin" in task.extra:
            twin = by_id[task.extra["twin"]]
            assert bool(twin.expected) != bool(task.expected) and twin.extra["twin"] == task.task_id


def test_a_place_outside_the_registry_is_checked_and_may_be_looked_up_first() -> None:
    for task in of(ABSTAIN, "city_outside"):
        assert task.extra["absent"] not in city_forms()
        assert task.extra["verified"]["request"] == "/cities?limit=200"
        assert (Call("list_cities"),) in task.accept


def test_no_city_of_the_registry_stands_where_none_may() -> None:
    for task in ABSTAIN:
        if task.category in ("city_missing", "city_outside", "abroad"):
            assert find_slugs(task.question) == [], task.task_id


def test_a_control_names_its_city_and_is_covered() -> None:
    for task in of(ABSTAIN, CONTROL):
        assert slugs_of(task) <= set(find_slugs(task.question)), task.task_id
        for call in task.expected:
            if call.name == "get_city_resource":
                assert facts.is_covered(facts.DEFAULT_STATE, call.arguments["resource"], call.arguments["slug"])


def test_abstention_rows_claim_a_check_only_where_something_could_be_asked() -> None:
    for task in ABSTAIN:
        assert ("verified" in task.extra) == bool(task.expected or "absent" in task.extra), task.task_id
