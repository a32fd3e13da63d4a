"""The arms: what each changes and what it leaves alone, and that every call finds its way back to the real names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import run_eval
from infranode_eval.arms import ARMS, LOOK_FIRST, arm_named, arm_of, offering_of
from infranode_eval.arms.choosing import shuffled
from infranode_eval.arms.descriptions import deranged
from infranode_eval.arms.naming import without_names
from infranode_eval.arms.offer import NOT_OFFERED, Offer
from infranode_eval.providers import open_provider
from infranode_eval.providers.protocol import ProviderOptions, Sampling
from infranode_eval.reports.rescoring import rescore
from infranode_eval.reports.tasksets import known_sets
from infranode_eval.retrieval import choices, key_lines
from infranode_eval.runner import Limits, Runner
from infranode_eval.suites import Setup, single
from lm_eval_task.dataset import load_tasks
from lm_eval_task.errors import UsageError
from lm_eval_task.prompt import SUBJECT, messages, prompt_prefix
from lm_eval_task.records import Call, Reply, Task
from lm_eval_task.tools import Tool, Toolset, read_tools
from tests.stub_endpoint import React, StubEndpoint, completion

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "infranode_eval/data/result.schema.json").read_text("utf-8"))
TOOLS = read_tools()
CORE = load_tasks(TOOLS, "core")
SAMPLING = Sampling(160)
WEATHER = Task("t", "Wie ist das Wetter in Köln?", (Call("weather", {"slug": "koeln"}),))


def offer(arm: str, seed: int = 1, task: Task = WEATHER, tools: Toolset = TOOLS) -> Offer:
    return ARMS[arm].offer(tools, seed).for_task(task.task_id, task.question)


def text_of(tools: Toolset) -> str:
    return json.dumps(tools.to_json(), ensure_ascii=False)


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w-]+", text))


# --- the way there and back -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("seed", (1, 2))
def test_a_gold_in_the_names_of_the_arm_is_the_gold_again(arm: str, seed: int) -> None:
    offering = ARMS[arm].offer(TOOLS, seed)
    for task in CORE:
        seen = offering.for_task(task.task_id, task.question)
        for call in (call for answer in task.alternatives for call in answer):
            offered = seen.offered_call(call)
            if offered is None:
                assert arm == "nearest_3", "only there a tool may be missing"
                continue
            assert seen.tools.by_name[offered.name].properties.keys() >= offered.arguments.keys()
            assert seen.real_call(offered) == call


VERDICTS = [
    ("anonymous", '{"name": "tool_05", "arguments": {"parameter_1": "koeln"}}', "ok", None, "the arm's own names"),
    ("anonymous", '{"name": "weather", "arguments": {"slug": "koeln"}}', "unknown_tool", None, "not offered here"),
    ("anonymous", '{"name": "weather", "arguments": {"parameter_1": "koeln"}}', "unknown_tool", None, "half of it"),
    ("anonymous", '{"name": "tool_05", "arguments": {"slug": "koeln"}}', "missing_args", None, "a real parameter"),
    ("anonymous", '{"name": "tool_05", "arguments": {"parameter_1": "koeln", "slug": "koeln"}}', "hallucinated_arg",
     None, "a real parameter beside the offered one"),
    ("anonymous", '{"name": "tool_04", "arguments": {"parameter_1": "koeln"}}', "wrong_tool", None, "air quality"),
    ("anonymous", '{"name": "tool_99", "arguments": {"parameter_1": "koeln"}}', "unknown_tool", None, "invented"),
    ("foreign_30", '{"name": "send_mail", "arguments": {"to": "a"}}', "wrong_tool", None, "a foreign tool is offered"),
    ("foreign_30", '{"name": "get_weather", "arguments": {}}', "unknown_tool", None, "an invented one is not"),
    ("order", '{"name": "weather", "arguments": {"slug": "koeln"}}', "ok", None, "nothing is renamed"),
    ("names_only", '{"name": "weather", "arguments": {"slug": "koeln"}}', "ok", None, "nothing is renamed"),
    ("permuted_descriptions", '{"name": "weather", "arguments": {"slug": "koeln"}}', "ok", None, "names decide"),
    ("anonymous", "Das weiß ich nicht.", "no_call", None, "silence stays silence"),
    ("anonymous", '{"name": "tool_05", "arguments": {"parameter_1": "koeln"', "malformed_call", None, "cut off"),
]


@pytest.mark.parametrize(("arm", "reply", "outcome", "sub", "reason"), VERDICTS)
def test_a_reply_is_judged_under_real_names(arm: str, reply: str, outcome: str, sub: str | None, reason: str) -> None:
    score = offer(arm).verdict(WEATHER, Reply.from_text(reply), "prompt")
    assert (score.outcome, score.sub) == (outcome, sub), (reason, score.why)


def test_rows_hold_real_names_and_a_mark_before_what_was_not_offered() -> None:
    seen = offer("descriptions_only")
    gold = Call("get_city_resource", {"slug": "koeln", "resource": "parking"})
    offered = seen.offered_call(gold)
    assert offered is not None and not words(str(offered)) & {"get_city_resource", "parking", "slug", "resource"}
    assert seen.real_call(offered) == gold
    name, (slug, key) = offered.name, offered.arguments
    assert seen.real_call(Call(name, {slug: "koeln", key: "parking"})).arguments["resource"] == NOT_OFFERED + "parking"
    assert seen.real_call(Call(name, {slug: "koeln", key: "garage"})).arguments["resource"] == "garage"
    assert seen.real_call(Call("compare")) == Call(NOT_OFFERED + "compare")
    assert seen.real_call(Call("find_garage", {"a": 1})) == Call("find_garage", {"a": 1})


def test_a_tool_that_is_not_among_the_nearest_cannot_be_called_though_a_description_names_it() -> None:
    task = Task("t", "Wie viele Parkhäuser und freie Plätze hat Köln?", (Call("sources"),))
    seen = offer("nearest_3", task=task)
    assert "sources" not in seen.tools and len(seen.tools.tools) == 3
    score = seen.verdict(task, Reply.from_text('{"name": "sources", "arguments": {}}'), "prompt")
    assert score.outcome == "unknown_tool" and score.calls == (Call(NOT_OFFERED + "sources"),)
    assert seen.offered_task(task).expected == ()
    accepted = Task("t", task.question, task.expected, ((Call(seen.tools.tools[0].name),),))
    assert seen.offered_task(accepted).expected == accepted.accept[0], "the first answer that can be given"


def native(name: str, arguments: str) -> Reply:
    return Reply({"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}]}, "tool_calls")


@pytest.mark.parametrize(("reply", "outcome", "tool_match", "lenient", "reason"), [
    (native("tool_05", '{"parameter_1": '), "malformed_call", True, False, "the name of a broken call is known"),
    (native("weather", '{"parameter_1": '), "malformed_call", False, False, "a name that is not offered"),
    (native("tool_05", '{"parameter_1": "koeln"}'), "ok", True, True, "a native call"),
    (Reply({"role": "assistant", "content": "", "reasoning_content":
            '<tool_call>{"name": "tool_05", "arguments": {"parameter_1": "koeln"}}</tool_call>'}, "stop"), "no_call",
     False, True, "a call in the thoughts counts in lenient_call_match"),
    (Reply({"role": "assistant", "content": ""}, "content_filter"), "infra_error", None, None, "filtered"),
    (Reply({"role": "assistant", "content": '{"name": "tool_05", "arguments": {"parameter_1": "koeln"}}'},
           "content_filter"), "ok_recovered", True, True, "filtered after the call"),
])
def test_whatever_a_reply_holds_is_mapped_back(reply: Reply, outcome: str, tool_match: bool | None,
                                               lenient: bool | None, reason: str) -> None:
    score = offer("anonymous").verdict(WEATHER, reply, "native")
    assert (score.outcome, score.tool_match, score.lenient_call_match) == (outcome, tool_match, lenient), reason


# --- what each arm changes --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", ("prompt", "native"))
@pytest.mark.parametrize("arm", ("anonymous", "descriptions_only"))
def test_no_real_name_stands_in_an_anonymous_prompt(arm: str, mode: str) -> None:
    setup = Setup.of(mode, TOOLS, SAMPLING, ARMS[arm].offer(TOOLS, 1))
    seen = json.dumps([setup.messages("?"), list(setup.tools_json)], ensure_ascii=False)
    names = {t.name for t in TOOLS.tools} | {p for t in TOOLS.tools for p in t.properties if "_" in p}
    keys = {value for tool in TOOLS.tools for value in choices(tool)}
    assert "weather" in names & keys, "the key may stand where keys stand"
    leaked = words(seen.replace("\\n", " ").replace("\\\\n", " ")) & (names | keys)
    if arm == "descriptions_only":
        assert not leaked
    else:
        assert keys - leaked == {"air-uba"} - leaked and not leaked & (names - keys)
        places = [len(re.findall(r"(?<![\w-])weather(?![\w-])", text_of(tools).replace("\\n", " ")))
                  for tools in (TOOLS, setup.tools)]
        assert places == [5, 3], "in the enum, before its line, in compare's list; not as a tool or a mention of it"
    assert SUBJECT in seen, "the rules stay those of the base"


@pytest.mark.parametrize("arm", ("anonymous", "descriptions_only"))
def test_apart_from_names_an_anonymous_description_is_the_real_one(arm: str) -> None:
    seen = offer(arm)
    for real, shown in zip(TOOLS.tools, seen.tools.tools, strict=True):
        assert seen.renamed[shown.name].real == real.name
        mask = {**dict.fromkeys(words(text_of(seen.tools)) - words(text_of(TOOLS)), "N"),
                **dict.fromkeys({t.name for t in TOOLS.tools} | {v for t in TOOLS.tools for v in choices(t)}, "N")}
        assert without_names(real.description, mask) == without_names(shown.description, mask)
        assert [s.get("type") for s in real.properties.values()] == [s.get("type") for s in shown.properties.values()]
        assert len(shown.required) == len(real.required)


def test_descriptions_only_keeps_every_line_beside_its_neutral_key() -> None:
    seen = offer("descriptions_only")
    back = seen.renamed["tool_03"].values["resource"]
    lines = key_lines(seen.tools)
    assert len(lines) == len(key_lines(TOOLS)) == 67 and {back[k] for k in lines} == set(key_lines(TOOLS))
    key, = (k for k, real in back.items() if real == "parking")
    assert lines[key] == key_lines(TOOLS)["parking"]
    assert choices(seen.tools.by_name["tool_12"]).keys() <= lines.keys(), "compare speaks of the same keys"


def test_order_is_the_mechanism_of_shuffle_tools() -> None:
    setup = Setup.of("native", TOOLS, SAMPLING, ARMS["order"].offer(TOOLS, 5))
    assert setup.for_task("a").tools == shuffled(TOOLS, 5, "a") != shuffled(TOOLS, 5, "b")
    assert offering_of({"shuffle_tools": 5}, TOOLS).for_task("a", "?").tools == setup.for_task("a").tools
    assert sorted(map(str, setup.for_task("a").tools_json)) == sorted(map(str, TOOLS.to_json()))


@pytest.mark.parametrize("mode", ("prompt", "native"))
def test_overview_first_adds_one_sentence_and_nothing_else(mode: str) -> None:
    setup = Setup.of(mode, TOOLS, SAMPLING, ARMS["overview_first"].offer(TOOLS, 1))
    base, armed = (json.dumps(m, ensure_ascii=False) for m in (messages(mode, TOOLS, "?"), setup.messages("?")))
    assert armed.replace(f" {LOOK_FIRST}", "") == base != armed and setup.tools == TOOLS
    assert "get_city_overview" in TOOLS and "get_city_overview" in LOOK_FIRST


def test_no_slug_rule_takes_the_rule_and_nothing_else() -> None:
    changed = [(t.name, p) for t in TOOLS.tools for p, s in t.properties.items()
               if s != offer("no_slug_rule").tools.by_name[t.name].properties[p]]
    assert changed == [("get_city_resource", "slug")]
    shown = text_of(offer("no_slug_rule").tools)
    assert not re.search("ä→ae|frankfurt|amtlicher Name", shown) and "Slug der Stadt" in shown


def test_names_only_leaves_names_and_what_may_be_chosen() -> None:
    tools = offer("names_only").tools
    assert not any(t.description or any(s.get("description") for s in t.properties.values()) for t in tools.tools)
    assert [(t.name, list(t.properties), t.required) for t in tools.tools] == \
        [(t.name, list(t.properties), t.required) for t in TOOLS.tools]
    for name, parameter in (("get_city_resource", "resource"), ("pois", "type"), ("compare", "resource")):
        assert set(tools.by_name[name].properties[parameter]["enum"]) == set(choices(TOOLS.by_name[name]))


@pytest.mark.parametrize("seed", (1, 2, 3))
def test_permuted_descriptions_leaves_no_text_where_it_was_and_loses_none(seed: int) -> None:
    tools = offer("permuted_descriptions", seed).tools
    assert sorted(t.description for t in tools.tools) == sorted(t.description for t in TOOLS.tools)
    assert all(t.description != TOOLS.by_name[t.name].description for t in tools.tools)
    before, after = key_lines(TOOLS), key_lines(tools)
    assert list(before) == list(after) and sorted(before.values()) == sorted(after.values())
    assert all(before[key] != after[key] for key in before)
    types = choices(tools.by_name["pois"])
    assert types.keys() == choices(TOOLS.by_name["pois"]).keys() and types["hospital"] != "Krankenhaus"
    assert tools.by_name["weather"].properties == TOOLS.by_name["weather"].properties, "how a slug is spelled stays"


def test_a_derangement_moves_everything_and_hangs_on_the_seed() -> None:
    names = [f"n{i}" for i in range(12)]
    found = deranged(names, 1)
    assert set(found) == set(found.values()) == set(names) and all(a != b for a, b in found.items())
    assert found == deranged(reversed(names), 1) != deranged(names, 2)


@pytest.mark.parametrize("question", [t.question for t in CORE[::9]])
def test_nearest_offers_three_tools_that_explain_slugs_among_themselves(question: str) -> None:
    task = Task("t", question, ())
    tools = offer("nearest_3", task=task).tools
    assert len(tools.tools) == 3 and [t.name for t in tools.tools] == [t.name for t in TOOLS.tools if t.name in tools]
    if "get_city_resource" not in tools:
        assert "wie bei get_city_resource" not in text_of(tools)
        assert all("ä→ae" in t.properties[p]["description"] for t in tools.tools
                   for p in t.properties if p in ("slug", "cities"))


def test_foreign_tools_stand_between_the_twelve_which_keep_their_order() -> None:
    tools = offer("foreign_30").tools
    names = [t.name for t in tools.tools]
    assert len(names) == 42 and [n for n in names if n in TOOLS] == [t.name for t in TOOLS.tools]
    assert names != [t.name for t in offer("foreign_30", 2).tools.tools]
    assert names[:12] != [t.name for t in TOOLS.tools] != names[-12:]


def test_no_foreign_tool_is_about_what_the_questions_ask() -> None:
    shown = [t for t in offer("foreign_30").tools.tools if t.name not in TOOLS]
    asked = re.compile("wetter|luft|bahn|haltestelle|abfahrt|statistik|einwohner|stadt|städte|apotheke|schule|"
                       "krankenhaus|strom|steuer|wahl|verkehr", re.IGNORECASE)
    for tool in shown:
        assert not asked.search(json.dumps(tool.to_json(), ensure_ascii=False)), tool.name
        assert tool.description.endswith(".") and all(s["description"] for s in tool.properties.values())


def test_english_says_the_same_things_in_the_same_places() -> None:
    tools = offer("english").tools
    assert list(key_lines(tools)) == list(key_lines(TOOLS))
    german = re.compile(r"(?<![\w-])(?:der|die|das|und|oder|einer|Stadt|Städte|nach|mit|wie)(?![\w-])")
    assert not german.search(text_of(tools)), "no German left"
    for real, shown in zip(TOOLS.tools, tools.tools, strict=True):
        assert (real.name, list(real.properties), real.required) == (shown.name, list(shown.properties), shown.required)
        german_names, english_names = ({name for name in words(text_of(Toolset.of([tool]))) if name in TOOLS}
                                       for tool in (real, shown))
        assert english_names - german_names <= {"weather"}, "in English a word like others"
        assert german_names <= english_names, real.name
        assert choices(real).keys() == choices(shown).keys()


@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_hangs_on_nothing_but_its_seed(arm: str) -> None:
    assert text_of(offer(arm).tools) == text_of(offer(arm).tools)
    if arm in ("order", "permuted_descriptions", "foreign_30"):
        assert text_of(offer(arm).tools) != text_of(offer(arm, 2).tools)
    else:
        assert text_of(offer(arm).tools) == text_of(offer(arm, 2).tools)


OWN = Toolset.of([Tool.from_json({"name": "find_note", "description": "Find a note.", "parameters": {
    "type": "object", "properties": {"user_id": {"type": "string", "description": "see list_users"}}, "required": []}}),
    Tool.from_json({"name": "list_users", "description": "Every user_id.", "parameters": {}})])


@pytest.mark.parametrize("arm", [a for a in ARMS if a != "english"])
def test_arms_work_on_a_users_own_tools(arm: str) -> None:
    call = Call("find_note", {"user_id": "7"})
    seen = offer(arm, tools=OWN)
    assert seen.real_call(seen.offered_call(call)) == call


def test_what_an_arm_cannot_change_it_refuses() -> None:
    with pytest.raises(UsageError, match="find_note has no English description"):
        offer("english", tools=OWN)
    clash = Toolset.of([Tool.from_json({"name": "send_mail", "description": "", "parameters": {}})])
    with pytest.raises(UsageError, match="send_mail is the name of a foreign tool"):
        offer("foreign_30", tools=clash)


# --- whole runs -------------------------------------------------------------------------------------------------------

def solved(program: str, arm: str | None, mode: str = "prompt") -> int:
    setup = Setup.of(mode, TOOLS, SAMPLING, ARMS[arm].offer(TOOLS, 1) if arm else None)
    provider = open_provider("baseline", ProviderOptions(program, setup.tools))
    return sum(bool(p.score.call_match) for p in Runner(single, setup, provider, Limits(1)).run(CORE))


@pytest.mark.parametrize("mode", ("prompt", "native"))
@pytest.mark.parametrize("arm", ARMS)
def test_the_oracle_is_right_wherever_its_gold_is_offered_and_silence_never(arm: str, mode: str) -> None:
    possible, count = ARMS[arm].offer(TOOLS, 1).share_possible(CORE)
    assert count == 91 and (possible == 91 or arm == "nearest_3" and 20 < possible < 91)
    assert solved("oracle", arm, mode) == possible and solved("never_calls", arm, mode) == 0


@pytest.mark.parametrize("program", ("bm25", "keyword"))
def test_programs_that_read_descriptions_collapse_where_these_lie(program: str) -> None:
    base = solved(program, None)
    assert base >= 18
    assert solved(program, "permuted_descriptions") <= 1, "it believes them"
    assert solved(program, "names_only") <= 4, "without them there is nothing to read"
    assert solved(program, "descriptions_only") > base / 2, "they are all it needs"
    for arm in ("order", "overview_first", "no_slug_rule", "foreign_30"):
        assert solved(program, arm) == base, arm


@pytest.mark.parametrize("arm", ARMS)
def test_a_stored_run_is_judged_again_as_it_was(arm: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert run_eval.main(["--arm", arm, "--model", "keyword", "--out", str(path)]) == 0
    value = json.loads(path.read_text("utf-8"))
    jsonschema.validate(value, SCHEMA)
    assert (value["settings"]["arm"], value["settings"]["arm_seed"]) == (arm, 1)
    assert value["hashes"]["tools"] == TOOLS.fingerprint
    assert ("gold_offered" in value["settings"]) is (arm == "nearest_3")
    assert not any(call["name"].startswith("tool_") for row in value["rows"] for call in row["calls"] or ())
    again = rescore(value, path, known_sets(TOOLS), TOOLS)
    assert not again.changes and again.result is None


# --- the command ------------------------------------------------------------------------------------------------------

def test_where_a_run_under_an_arm_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for flags in ([], ["--arm-seed", "3"], ["--mode", "native", "--tag", "x"]):
        assert run_eval.main(["--arm", "order", "--limit", "2", *flags]) == 0
    assert sorted(p.name for p in Path("results/arms").iterdir()) == [
        "bm25.native.order.x.json", "bm25.order-3.json", "bm25.order.json"]
    assert not list(Path("results").glob("*.json"))


@pytest.mark.parametrize(("flags", "told"), [
    (["--arm", "bogus"], ["'bogus' does not exist", *ARMS, "--arm list"]),
    (["--arm", "order", "--shuffle-tools", "2"], ["leave one of the two out"]),
    (["--arm-seed", "2"], ["--arm-seed goes with --arm"]),
])
def test_what_is_no_arm_is_one_line_with_all_that_are(flags: list[str], told: list[str],
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(flags) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and all(text in error for text in told)


def test_the_list_of_arms_is_a_result_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--arm", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(ARMS)
    assert all(arm.changes in line for arm, line in zip(ARMS.values(), lines, strict=True))


def test_a_model_is_sent_the_arm_and_its_reply_is_mapped_back(tmp_path: Path) -> None:
    tasks = tmp_path / "t.jsonl"
    tasks.write_text(json.dumps(WEATHER.to_json()) + "\n", "utf-8")
    reply = React(completion('{"name": "tool_05", "arguments": {"parameter_1": "koeln"}}'))
    with StubEndpoint([reply]) as endpoint:
        assert run_eval.main(["--base-url", endpoint.url, "--model", "m", "--tasks", str(tasks), "--arm", "anonymous",
                              "--out", str(tmp_path / "r.json")]) == 0
        sent = endpoint.requests[0].body["messages"][0]["content"]
    assert sent == prompt_prefix(offer("anonymous").tools, SUBJECT) + WEATHER.question
    row, = json.loads((tmp_path / "r.json").read_text("utf-8"))["rows"]
    assert (row["outcome"], row["calls"]) == ("ok", [{"name": "weather", "arguments": {"slug": "koeln"}}])
    assert "tool_05" in row["reply"]["content"]


def test_a_dry_run_shows_the_arm(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--base-url", "http://127.0.0.1:9", "--model", "m", "--mode", "native", "--arm", "nearest_3",
                          "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "set core, arm nearest_3" in out
    body: Any = json.loads("{" + out.partition("\n{")[2])
    assert [tool["function"]["name"] for tool in body["tools"]] == [
        t.name for t in offer("nearest_3", task=CORE[0]).tools.tools]


def test_a_stored_arm_is_known_by_its_settings() -> None:
    assert [arm_of(s) for s in ({}, {"arm": None}, {"arm": "english"}, {"shuffle_tools": 0})] == \
        [None, None, "english", "order"]
    assert offering_of({}, TOOLS) is None
    with pytest.raises(UsageError, match="does not exist"):
        arm_named("bogus")
