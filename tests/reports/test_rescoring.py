"""Stored replies judged again: which rows change, what stays, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import run_eval
from infranode_eval.reports.harness_output import verdicts_from_harness
from infranode_eval.reports.rescoring import rescore, rescore_samples, rescoring_sections
from infranode_eval.reports.tasksets import TaskSet, case_sets
from infranode_eval.results import result_bytes
from infranode_eval.tables import render
from lm_eval_task.cases import read_cases
from lm_eval_task.errors import DataError
from lm_eval_task.metrics import SCORER_VERSION, aggregate
from lm_eval_task.records import MATCHES, Reply, Score, tasks_fingerprint
from lm_eval_task.tools import read_tools
from tests.reports.test_harness_output import TASK, results, sample

WRONG = dict.fromkeys(MATCHES, False)
RIGHT = dict.fromkeys(MATCHES, True)
FIRST = "routing_named-koeln"


@pytest.fixture
def core(demo_tasks):
    return TaskSet("core", tasks_fingerprint(demo_tasks), {t.task_id: t for t in demo_tasks})


@pytest.fixture
def stored(make_result, answer, demo_tasks):
    """stored(reply, verdict): a result whose other rows are right and whose first row holds `reply` and `verdict`."""

    def make(reply=None, verdict=None, **header):
        value = make_result(lambda t: reply if t.task_id == FIRST and isinstance(reply, Reply) else
                            Reply.from_text(answer(t)), **header)
        row = value["rows"][0]
        row |= verdict.to_json() if verdict else {}
        if reply is None:
            row["reply"] = None
        pairs = [(r["category"], Score(r["outcome"], **{name: r[name] for name in MATCHES})) for r in value["rows"]]
        answered = [p for p in pairs if not p[1].failed]
        value |= {"metrics": aggregate(pairs), "answered": aggregate(answered), "complete": answered == pairs,
                  "counts": {"n": len(pairs), "scored": len(answered), "failed": len(pairs) - len(answered)}}
        return json.loads(result_bytes(value))

    return make


@pytest.fixture
def judged(core, toolset):
    return lambda value, tools=toolset: rescore(value, "r.json", [core], tools)


def text(city):
    return Reply.from_text(json.dumps({"name": "weather", "arguments": {"slug": city}}))


@pytest.mark.parametrize("reply, verdict, before, after, moved, why", [
    (text("koeln"), Score("no_call", **WRONG), "no_call", "ok", 1, "a reader that now finds the call"),
    (text("bonn"), Score("ok", **RIGHT), "ok", "wrong_args/other", -1, "a scorer that was too kind"),
    (text("köln"), Score("wrong_args", "other", **WRONG | {"parsed": True, "tool_match": True}), "wrong_args/other",
     "wrong_args/umlaut_unresolved", 0, "only the sub-code"),
    (text("bonn"), Score("wrong_args", "other", **WRONG | {"parsed": True}), "wrong_args/other: no tool_match",
     "wrong_args/other: tool_match", 0, "the same outcome with other numbers"),
    (Reply.from_text("Das weiß ich nicht."), Score.failure("empty_reply", "blank"), "empty_reply", "no_call", 0,
     "a failure whose reply holds a text"),
    (text("koeln"), Score.failure("empty_reply", "blank"), "empty_reply", "ok", 1,
     "a failure whose reply holds a call"),
    (Reply({"role": "assistant", "content": ""}), Score("abstain_ok", **RIGHT), "abstain_ok", "empty_reply", -1,
     "an empty reply was once taken for a silence"),
])
def test_a_row_changes_its_verdict(stored, judged, reply, verdict, before, after, moved, why):
    found = judged(stored(reply, verdict))
    [change] = found.changes
    assert (change.task_id, change.before, change.after, change.moved) == (FIRST, before, after, moved), why
    row = found.result["rows"][0]
    assert (row["outcome"], row["why"]) == (after.split("/")[0].split(":")[0], change.why)
    assert row["reply"]["content"] == reply.message["content"] and row["attempts"] == 1, "the answer itself stays"
    assert found.after["call_match"] == found.result["metrics"]["call_match"] == (40 if after == "ok" else 39) / 40
    failed = after == "empty_reply"
    assert found.result["counts"] == {"n": 40, "scored": 40 - failed, "failed": int(failed)}
    assert found.result["complete"] is not failed


@pytest.mark.parametrize("reply, verdict, why", [
    (None, Score.failure("infra_error", "no answer was obtained", "timeout"), "nothing was answered"),
    (None, Score.failure("not_run", "nothing was sent"), "nothing was sent"),
    (Reply({"role": "assistant", "content": " "}), Score.failure("empty_reply", "blank in other words"), "still empty"),
    (text("koeln"), None, "right then and now"),
    (text("bonn"), None, "wrong then and now"),
])
def test_what_did_not_change_is_not_written(stored, judged, reply, verdict, why):
    found = judged(stored(reply, verdict))
    assert (found.changes, found.reworded, found.result) == ((), 0, None), why


def test_another_reason_alone_is_no_changed_verdict_but_is_kept_up_to_date(stored, judged):
    value = stored(text("bonn"))
    value["rows"][0] |= {"why": "an older sentence", "labels": ["old_label"]}
    found = judged(value)
    assert found.changes == () and found.reworded == 1
    assert found.result["rows"][0]["labels"] == [] and "bonn" in found.result["rows"][0]["why"]


def test_a_new_version_alone_is_recorded_with_what_it_came_from(stored, judged):
    first = judged(stored(text("koeln"), scorer_version="0.8"))
    assert first.changes == () and first.versions == ("0.8", SCORER_VERSION)
    again = judged(json.loads(result_bytes(first.result)) | {"scorer_version": "0.9"})
    assert [entry["scorer_version"] for entry in again.result["rescored_from"]] == ["0.8", "0.9"]
    assert again.result["scorer_version"] == SCORER_VERSION
    assert set(again.result["rescored_from"][0]) == {"scorer_version", "ability", "call_match"}


def test_rows_from_before_datum_match_gain_it(stored, judged):
    value = stored(None, Score.failure("infra_error", "timeout"), scorer_version="1.0")
    for row in value["rows"]:
        del row["datum_match"]
    found = judged(value)
    assert not found.changes, "until then it is the least that it can be: request_match"
    assert all(row["datum_match"] is row["request_match"] for row in found.result["rows"])
    assert found.result["rows"][0]["datum_match"] is None, "a failure has none, but it has the key"
    assert found.result["metrics"]["datum_match"] == found.result["metrics"]["request_match"]


def test_every_other_key_stays_where_it_stands(stored, judged):
    value = stored(text("koeln"), Score("no_call", **WRONG), served="elsewhere")
    value["metrics"]["own_number"] = 0.5
    value["rows"][0]["keys"] = ["0" * 64]
    found = judged(value).result
    order = [key for key in value if key != "rows"]
    assert [key for key in found if key in order] == order
    assert found["served"] == "elsewhere" and found["metrics"]["own_number"] == 0.5
    assert found["rows"][0]["keys"] == ["0" * 64] and list(found["rows"][0])[:4] == list(value["rows"][0])[:4]
    assert found["rows"][1:] == value["rows"][1:] and found["settings"] == value["settings"]


def test_the_new_reading_also_notes_budgets_spent_on_reasoning(stored, judged):
    reply = Reply({"role": "assistant", "content": "", "reasoning": "Köln …"}, "length")
    assert judged(stored(reply, Score("no_call", **WRONG))).result["notes"] == [
        "1 reply cut inside reasoning: raise --max-tokens (it was 160)"]


@pytest.mark.parametrize("before, after", [(False, True), (None, True), (True, True)])
def test_whether_one_call_was_kept_to_follows_from_the_new_reading(stored, judged, before, after):
    value = stored(text("koeln"), Score("no_call", **WRONG))
    value["rows"][0]["parallel_obeyed"] = before
    rows = judged(value).result["rows"]
    assert rows[0]["parallel_obeyed"] is after and "parallel_obeyed" not in rows[1]


def test_infinite_numbers_and_lone_surrogates_survive(stored, judged):
    reply = Reply.from_text('{"name": "weather", "arguments": {"slug": 1e999, "x": "\ud800"}}')
    value = stored(reply)
    assert judged(value).result is None, "stored as text, compared as text"


@pytest.mark.parametrize("change, message", [
    ({"hashes": {"tasks": "0" * 64}}, "r.json: was asked other tasks (hash 000000000000, these sets have "),
    ({"hashes": {"tools": "0" * 64}}, "r.json: was asked with other tools (hash 000000000000, these have "),
    ({"hashes": {"tools": None}}, "r.json: was asked with other tools (hash unknown, "),
    ({"suite": "parcours"}, "r.json: is a run of suite parcours in mode prompt; --rescore judges single replies"),
    ({"mode": "spoken"}, "r.json: is a run of suite infranode_tools_de in mode spoken"),
    ({"rows": [{"task_id": "gone"}]}, "r.json: row gone has no task in the set core"),
    ({"rows": [{"reply": None}]}, f"r.json: row {FIRST} has a verdict but no reply to judge"),
    ({"format": 2}, "r.json: is no result"),
])
def test_what_cannot_be_judged_again_is_refused_in_one_line(stored, judged, change, message):
    value = stored(text("koeln"))
    for key, new in change.items():
        if key == "rows":
            value["rows"][0] |= new[0]
        else:
            value[key] = value[key] | new if isinstance(new, dict) else new
    with pytest.raises(DataError) as caught:
        judged(value)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_the_mode_of_the_file_decides_how_text_is_read(stored, judged, answer):
    native = judged(stored(text("koeln"), Score("ok", **RIGHT), mode="native"))
    assert native.changes[0].after == "ok_recovered" and native.changes[0].moved == 0
    assert {row["outcome"] for row in native.result["rows"]} == {"ok_recovered"}


def test_sections_name_rows_directions_numbers_and_what_became_of_the_file(stored, judged):
    better = judged(stored(text("koeln"), Score("no_call", why="silent", **WRONG), scorer_version="0.9"))
    worse = judged(stored(text("bonn"), Score("ok", **RIGHT)))
    same = judged(stored(text("koeln")))
    shown = render(rescoring_sections([better, worse, same], write=False), "text")
    for line in (f"demo, mode prompt, scorer 0.9 → {SCORER_VERSION}: 1 of 40 rows changed verdict (1 gained "
                 "call_match, 0 lost it)", "call_match 97.5 → 100.0 (up 2.5)", "call_match 100.0 → 97.5 (down 2.5)",
                 "not written; --write does", "Nothing changed",
                 f"r.json: demo, 40 rows, call_match 100.0, scorer {SCORER_VERSION}"):
        assert line in shown
    lines = [line.split(maxsplit=4) for line in shown.splitlines()]
    assert [FIRST, "gained", "no_call", "ok", "as expected"] in lines
    assert [FIRST, "lost", "ok", "wrong_args/other", worse.changes[0].why] in lines and "bonn" in worse.changes[0].why
    assert ["call_match_routing_named", "75.0", "100.0", "75.0", "100.0"] in lines
    assert "call_match_resource_key" not in shown, "numbers that stay are left out"
    assert "\nwritten\n" in render(rescoring_sections([better], write=True), "text")


# --- lm-eval ----------------------------------------------------------------------------------------------------------

@pytest.fixture
def harness_file(tmp_path, demo_tasks, toolset, answer):
    """harness_file(edit): lm-eval's output over right replies, its samples changed by `edit`."""

    def write(edit=lambda lines: None):
        lines = [sample(t, answer(t), toolset) for t in demo_tasks]
        edit(lines)
        value = results({TASK: lines}, original=40)
        path = tmp_path / "results_x.json"
        (tmp_path / f"samples_{TASK}_x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        path.write_text(json.dumps(value))
        return value, path

    return write


def forget(lines):
    lines[0] |= dict.fromkeys(MATCHES, 0.0)


def silence(lines):
    lines[0] |= {"resps": [[""]], "filtered_resps": [""]} | dict.fromkeys(MATCHES, 0.0)


@pytest.mark.parametrize("edit, rows, before, after", [
    (lambda lines: None, 0, 1.0, 1.0),
    (forget, 1, 39 / 40, 1.0),
    (silence, 0, 39 / 40, 39 / 40),
], ids=["as stored", "a verdict that this scorer does not share", "an empty reply counts 0 in both"])
def test_lm_evals_samples_are_compared_and_never_written(harness_file, toolset, edit, rows, before, after):
    [(run, pairs)] = verdicts_from_harness(*harness_file(edit), toolset)
    found = rescore_samples(run, pairs)
    assert len(found.changes) == rows and found.result is None
    assert found.before["call_match"] == pytest.approx(before) and found.after["call_match"] == after
    shown = render(rescoring_sections([found], write=True), "text")
    assert ("lm-eval's output is never written" in shown) is bool(rows)
    if rows:
        assert found.changes[0].moved == 1 and "no call_match" in found.changes[0].before


def other_prompt(lines):
    lines[0]["arguments"]["gen_args_0"]["arg_0"] = "Frage"


def other_gold(lines):
    lines[3]["doc"]["row"] = json.dumps({"task_id": "x", "question": "?", "expected": [{"name": "fax"}]})


@pytest.mark.parametrize("edit, message", [
    (other_prompt, "was asked with other tools or another prompt"),
    (other_gold, "holds no task that fits these tools"),
    (lambda lines: lines.clear() or lines.append({}), ""),
], ids=["another prompt", "a gold outside the tools", "a broken sample"])
def test_lm_evals_samples_that_cannot_be_judged_are_refused(harness_file, toolset, edit, message):
    if not message:
        value, path = harness_file()
        path.with_name(f"samples_{TASK}_x.jsonl").write_text("{}\n")
        message = 'a sample must hold a "doc"'
    else:
        value, path = harness_file(edit)
    with pytest.raises(DataError, match=message):
        verdicts_from_harness(value, path, toolset)


def test_lm_evals_numbers_without_samples_are_refused(harness_file, toolset):
    value, path = harness_file()
    path.with_name(f"samples_{TASK}_x.jsonl").unlink()
    with pytest.raises(DataError, match="--log_samples"):
        verdicts_from_harness(value, path, toolset)


# --- the suite bench --------------------------------------------------------------------------------------------------

BENCH = read_cases()
LATER = json.dumps({"name": "book_room", "arguments": {"room": "besprechung", "start": "2026-04-17T12:00Z",
                                                       "duration_min": "90"}})


@pytest.fixture
def bench_result(tmp_path, monkeypatch):
    """bench_result(flags): what the oracle's run writes."""
    monkeypatch.chdir(tmp_path)

    def make(*flags):
        assert run_eval.main(["--suite", "bench", "--model", "oracle", "--out", "o.json", "--force", *flags]) == 0
        return json.loads(Path("o.json").read_text("utf-8"))

    return make


def judged_bench(value, toolset, sets=None):
    return rescore(value, "o.json", case_sets() if sets is None else sets, toolset)


@pytest.mark.parametrize("flags", [(), ("--mode", "native"), ("--set", "paraphrase"), ("--set", "all", "--streng")])
def test_a_bench_run_of_this_scorer_keeps_its_verdicts(bench_result, toolset, flags):
    found = judged_bench(bench_result(*flags), toolset)
    assert (found.changes, found.reworded, found.result) == ((), 0, None)
    assert found.after == found.before and found.after["auftraege_gelungen"] == 1.0


@pytest.mark.parametrize("flags, leading", [((), "auftraege_gelungen"), (("--streng",), "streng")])
def test_a_bench_reply_is_judged_in_the_zone_of_its_run_and_the_headline_follows(bench_result, toolset, flags, leading):
    value = bench_result(*flags)
    row = next(row for row in value["rows"] if row["task_id"] == "S2-9")
    row["reply"]["content"] = LATER
    found = judged_bench(value, toolset)
    assert not found.changes and found.reworded == 1, "the case still succeeds, with a note on its form"
    new = next(row for row in found.result["rows"] if row["task_id"] == "S2-9")
    assert new["form_notes"] and not new["streng_match"]
    assert list(found.result["headline"]) == list(value["headline"]) and leading == next(iter(value["headline"]))
    assert found.result["metrics"]["streng_auftraege_gelungen"] == 41 / 42
    assert found.result["headline"].get("streng", 41 / 42) == 41 / 42
    value["settings"]["zone"] = "+01:00"
    [change] = judged_bench(value, toolset).changes
    assert (change.task_id, change.moved) == ("S2-9", -1)


def test_a_reply_that_turns_out_blank_loses_its_counts(bench_result, toolset):
    value = bench_result()
    value["rows"][0]["reply"]["content"] = ""
    new = judged_bench(value, toolset).result
    assert new["rows"][0]["outcome"] == "empty_reply" and "hits" not in new["rows"][0]
    assert new["counts"]["failed"] == 1 and new["headline"] == {"auftraege_gelungen": 41 / 42}


def test_bench_cases_of_ones_own_are_judged_with_their_tools(tmp_path, bench_result, toolset):
    assert run_eval.main(["--suite", "bench", "--init", "neu"]) == 0
    value = bench_result("--cases", "neu/faelle.jsonl", "--tools", "neu/werkzeuge.json")
    tools = read_tools("neu/werkzeuge.json")
    assert judged_bench(value, tools, case_sets("neu/faelle.jsonl", tools)).result is None
    with pytest.raises(DataError, match="was asked with other tools"):
        judged_bench(value, toolset)
