"""run_eval.py --suite team: real requests to four endpoints, killed and taken up again, no secret told to anybody."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import run_eval
from infranode_eval.team.__main__ import main as team_command
from tests.needs import need, need_program
from tests.stub_endpoint import React, Request, StubEndpoint, completion
from tests.team.plays import Until, background, call, calls, create, read, run, write
from tests.team.stub_team import KEYS, MODELS, Team, body, pool, role_of, worker, write_two

ROOT = Path(__file__).resolve().parent.parent
LAWS = "Lies /arbeit/akten/satzung.txt."
TIMES = ("started", "finished", "latency_s", "totals", "attempts", "base_url", "replayed", "live", "sha256", "pace")
FIRST, SECOND = '{"frist_tage": 14}', '{"frist_tage": 30, "vorher": 14, "differenz": 16}'
SCRIPT = ('const found = await parallel(["satzung", "verteiler"].map(name => () => '
          'agent("Lies /arbeit/akten/" + name + ".txt.", {agentType: "leser"}))); return found.length;')
# The orders that a manager can give, each with what its answers are counted as.
ORDERS: dict[str, list[Any]] = {
    "foreground": [calls(create(), run(LAWS), run("Lies /arbeit/akten/verteiler.txt.")),
                   calls(write("ausgabe/r1.json", FIRST)), "Fertig.", calls(run(LAWS, session_id="s1")),
                   calls(write("ausgabe/r2.json", SECOND)), "Fertig."],
    "background": [calls(create(), background(LAWS), background("Lies /arbeit/akten/verteiler.txt.")), Until(2),
                   calls(write("ausgabe/r1.json", FIRST)), "Fertig.", calls(background(LAWS, session_id="s1")),
                   calls(call("ListSubagents"), call("InspectSubagent", subagent="leser"), read("akten/x")), Until(3),
                   calls(call("InspectSubagent", subagent="leser"), write("ausgabe/r2.json", SECOND)), "Fertig."],
    "workflow": [calls(create(), call("Workflow", script=SCRIPT)), Until(1), calls(write("ausgabe/r1.json", FIRST)),
                 "Fertig.", calls(call("Workflow", script=SCRIPT), run(LAWS)), Until(2),
                 calls(call("ListSubagents"), write("ausgabe/r2.json", SECOND)), "Fertig."],
    "same words": [calls(create(), *[run("Sag etwas.")] * 3), calls(write("ausgabe/r1.json", FIRST)), "Fertig.",
                   calls(write("ausgabe/r2.json", SECOND)), "Fertig."]}
QUICK = ORDERS["foreground"]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Temporary folders of plays lie in one of the test's own, which everybody can pass through."""
    own = Path(tempfile.mkdtemp(prefix="plays-"))
    own.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    monkeypatch.setenv("TMPDIR", str(own))
    for name in ("TEAM_MODEL_JSON", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    yield
    shutil.rmtree(own)


def left() -> list[Path]:
    return list(Path(tempfile.gettempdir()).iterdir())


def flags(url: Any, *more: str, out: str = "r.json", scenarios: str = "tasks", **roles: Any) -> list[str]:
    if not Path(scenarios).exists():
        write_two(Path(scenarios).absolute())
    Path("pool.json").write_text(json.dumps(pool(url, **roles)), "utf-8")
    return ["--suite", "team", "--tasks", scenarios, "--model-json", "@pool.json", "--out", out, "--sandbox", "none",
            "--concurrency", "1", "--retries", "0", "--timeout", "5", *more]


def result(name: str = "r.json") -> dict[str, Any]:
    return json.loads(Path(name).read_text("utf-8"))


def transcripts(name: str = "r.transcripts.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_text("utf-8").splitlines()]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def answers_in(journal: Path) -> int:
    if not journal.exists():
        return 0
    return sum('"answer":' in line for line in journal.read_text("utf-8").splitlines()[1:])


# --- a whole run ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", ORDERS)
def test_a_run_is_solved_whatever_the_manager_orders(order: str) -> None:
    """T37, T43"""
    if order == "workflow":
        need("quickjs")
    team = Team({"Erste": ORDERS[order], "Zweite": ORDERS[order]})
    with StubEndpoint(team) as endpoint:
        assert run_eval.main(flags(endpoint.url)) == 0
    found = result()
    assert [(row["task_id"], row["outcome"], row["category"]) for row in found["rows"]] == [
        ("probe_klein", "solved", "law"), ("probe_zwei", "solved", "law")]
    assert found["headline"]["tcr"] == 1.0 and found["complete"] is True
    assert sum(row["team"]["live"] for row in found["rows"]) == len(team.sent)
    assert {row["team"]["replayed"] for row in found["rows"]} == {0}
    assert sorted(path.name for path in Path().iterdir()) == ["pool.json", "r.json", "r.transcripts.jsonl", "tasks"]
    assert left() == []


def test_the_first_request_offers_eleven_tools_and_tells_of_keys_alone() -> None:
    """T1, T17"""
    team = Team({"Erste": QUICK, "Zweite": QUICK})
    with StubEndpoint(team) as endpoint:
        assert run_eval.main(flags(endpoint.url, "--task", "probe_zwei")) == 0
        sent = endpoint.requests[0].body
    assert len(sent["tools"]) == 11 and sent["model"] == MODELS["main"] and sent["max_tokens"] == 4096
    text = sent["messages"][1]["content"]
    assert "llm (Text), vlm (Text, Bild), omni (Text, Ton)" in text
    assert [row["task_id"] for row in result()["rows"]] == ["probe_zwei"]


@pytest.mark.parametrize("order", ["foreground", "background"])
@pytest.mark.parametrize("broken", [False, True], ids=["well", "broken"])
def test_no_address_key_or_model_of_the_pool_is_told_to_anybody(order: str, broken: bool,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    """T17: whole files, also where an endpoint of the pool refuses or is gone"""
    team = Team({"Erste": ORDERS[order], "Zweite": ORDERS[order]}, lambda request, role: React(
        {"error": {"message": f"no such model {MODELS['llm']} for {KEYS['llm']}"}}, 500)
        if broken and role == "llm" else None)
    journals: list[str] = []

    def keep(request: Request) -> React:
        journals.append(Path("r.journal.jsonl").read_text("utf-8"))
        return team(request)

    with StubEndpoint(keep) as endpoint, StubEndpoint(keep) as workers:
        urls = {"main": endpoint.url, "llm": workers.url, "vlm": workers.url, "omni": workers.url}
        run_eval.main(flags(urls))
        said = "".join(capsys.readouterr())
        prompts = "".join(text for _, text in team.sent)
    address = workers.url.removeprefix("http://")
    files = [path.read_text("utf-8") for path in Path().glob("r.*")]
    assert len(files) >= (1 if broken else 2)
    for text in (*files, *journals, said):
        assert not [key for key in KEYS.values() if key in text]
        assert address not in text, "the pool's address"
        assert "infranode-team-" not in text and str(Path().absolute()) not in text.replace(said, "")
    told = json.dumps([one["messages"] for one in transcripts()]) if not broken else ""
    for text in (prompts.replace('"model": "modell', ""), told):
        assert not [MODELS[key] for key in ("llm", "vlm", "omni") if MODELS[key] in text]


def test_a_dead_endpoint_of_the_pool_is_a_failure_that_does_not_name_its_address() -> None:
    """T17"""
    team = Team({"Erste": QUICK, "Zweite": QUICK})
    with StubEndpoint(team) as gone:
        pass
    with StubEndpoint(team) as endpoint:
        urls = dict.fromkeys(KEYS, endpoint.url) | {"llm": gone.url}
        run_eval.main(flags(urls))
    texts = [path.read_text("utf-8") for path in Path().glob("r.*")]
    assert texts and not [text for text in texts if gone.url.rpartition(":")[2] in text]


def test_repeats_are_plays_of_their_own() -> None:
    team = Team({"Erste": QUICK, "Zweite": QUICK})
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url, "--repeats", "2")
        assert run_eval.main(gate) == 0
        sent = len(team.sent)
        assert run_eval.main([*gate, "--resume"]) == 0
        assert len(team.sent) == sent
    assert [(row["task_id"], row["repeat"]) for row in result()["rows"]] == [
        ("probe_klein", 1), ("probe_klein", 2), ("probe_zwei", 1), ("probe_zwei", 2)]
    assert [(row["task_id"], row["repeat"]) for row in transcripts()] == [
        ("probe_klein", 1), ("probe_klein", 2), ("probe_zwei", 1), ("probe_zwei", 2)]
    assert len({row["team"]["live"] for row in result()["rows"]}) == 1


# --- killed and taken up again ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", ORDERS)
def test_cut_off_at_any_request_it_goes_on_and_pays_nothing_twice(order: str) -> None:
    """T37: what the journal held when the k-th request came is all that a killed run leaves"""
    if order == "workflow":
        need("quickjs")
    lines = ORDERS[order]
    snapshots: list[bytes] = []

    def before(request: Request, role: str) -> None:
        journal = Path("r.journal.jsonl")
        if journal.exists():        # the undisturbed run
            snapshots.append(journal.read_bytes())
        if order == "same words" and role == "llm":
            number = sum(one == "llm" for one in team.roles)
            return React(completion(f"Antwort {number}"))   # other words at each request
        return None

    team = Team({"Erste": lines, "Zweite": lines}, before)
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url, "--task", "probe_klein")
        assert run_eval.main(gate) == 0
    undisturbed, needed, sent = result(), len(team.sent), set(team.sent)
    kept = transcripts()
    for number, snapshot in enumerate(snapshots[::1 if order == "foreground" else 2]):
        name = f"n{number}"
        Path(f"{name}.journal.jsonl").write_bytes(snapshot)
        stored = answers_in(Path(f"{name}.journal.jsonl"))
        team = Team({"Erste": lines, "Zweite": lines}, lambda request, role: None)
        with StubEndpoint(team) as endpoint:
            gate = flags(endpoint.url, "--task", "probe_klein", "--resume", out=f"{name}.json")
            assert run_eval.main(gate) == 0
        row = result(f"{name}.json")["rows"][0]
        assert row["outcome"] == "solved"
        assert (row["team"]["replayed"], row["team"]["live"]) == (stored, len(team.sent)), "every stored answer is used"
        if order == "background":       # how often a manager is asked in vain hangs on how fast its workers are
            continue
        assert len(team.sent) == needed - stored, (number, stored)
        if order != "same words":
            assert set(team.sent) <= sent, "byte-equal questions"
            assert without_times(result(f"{name}.json")["rows"]) == without_times(undisturbed["rows"])
            again = transcripts(f"{name}.transcripts.jsonl")
            for one in (*again, *kept):     # whose run of a script ends first is a matter of luck, unless it was stored
                one["team"]["events"].sort(key=str)
            assert without_times(again) == without_times(kept)


@pytest.mark.parametrize("order", ["foreground", "background", "workflow"])
def test_killed_in_the_second_scenario_it_sends_nothing_for_the_first(order: str) -> None:
    """T37: kill -9"""
    if order == "workflow":
        need("quickjs")
    team = Team({"Erste": ORDERS[order], "Zweite": ORDERS[order]})
    with StubEndpoint(team) as endpoint:
        assert run_eval.main(flags(endpoint.url)) == 0
    undisturbed, needed = result(), len(team.sent)
    for path in Path().glob("r.*"):
        path.unlink()
    running: list[subprocess.Popen[bytes]] = []
    in_flight: list[int] = []

    def before(request: Request, role: str) -> None:
        if running and len(team.sent) == needed * 3 // 4:
            running[0].kill()
            running[0].wait()
            in_flight.append(len(team.sent) - answers_in(Path("r.journal.jsonl")))

    team = Team({"Erste": ORDERS[order], "Zweite": ORDERS[order]}, before)
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url)
        running.append(subprocess.Popen([sys.executable, str(ROOT / "run_eval.py"), *gate], stderr=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, env={**os.environ}))
        running[0].wait(timeout=20)
        running.clear()
        killed_at = len(team.sent)
        assert run_eval.main([*gate, "--resume"]) == 0
    assert not [text for _, text in team.sent[killed_at:] if "Erste" in text]
    first, second = (row["team"] for row in result()["rows"])
    assert 1 <= in_flight[0] <= 2 and first["replayed"] == 0, "the first stays as it was"
    assert second["replayed"] == killed_at - in_flight[0] - first["live"], "every stored answer is used"
    assert second["live"] == len(team.sent) - killed_at and {row["outcome"] for row in result()["rows"]} == {"solved"}
    if order != "background":
        assert len(team.sent) == needed + in_flight[0]
        assert without_times(result()["rows"]) == without_times(undisturbed["rows"])


def test_results_of_a_workflow_enter_a_resumed_script_in_the_order_in_which_they_came() -> None:
    """T37: else its text would differ, and every later answer of the manager would be paid twice"""
    need("quickjs")
    script = """const order = [];
        await pipeline(["a", "b", "c"], async x => { await agent(x, {agentType: "leser"}); order.push(x); return x; },
                       async x => { await agent(x + x, {agentType: "leser"}); order.push(x + x); });
        return order;"""
    lines = [calls(create(), call("Workflow", script=script), run("lang")), Until(1),
             calls(call("ListSubagents"), call("InspectSubagent", session_id="w1.4")), "Fertig.", "Fertig."]
    slow = {"a": 0.3, "b": 0.0, "c": 0.15, "aa": 0.0, "bb": 0.4, "cc": 0.0, "lang": 0.0}
    snapshots: list[bytes] = []

    def before(request: Request, role: str) -> React | None:
        snapshots.append(Path("r.journal.jsonl").read_bytes() if Path("r.journal.jsonl").exists() else b"")
        if role == "main":
            return None
        prompt = request.body["messages"][-1]["content"]
        return React(completion(prompt.upper()), delay_s=slow[prompt])

    team = Team({"Erste": lines}, before)
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url, "--task", "probe_klein")
        gate[gate.index("--concurrency") + 1] = "8"
        assert run_eval.main(gate) == 0
        kept = transcripts()
        for snapshot in snapshots[-4:]:
            Path("n.journal.jsonl").write_bytes(snapshot)
            stored, sent = answers_in(Path("n.journal.jsonl")), len(team.sent)
            gate[gate.index("--out") + 1] = "n.json"
            assert run_eval.main([*gate, "--resume", "--force"]) == 0
            row = result("n.json")["rows"][0]
            assert (row["team"]["replayed"], row["team"]["live"]) == (stored, len(team.sent) - sent)
            assert without_times(transcripts("n.transcripts.jsonl")) == without_times(kept)
            Path("n.json").unlink()
    assert json.loads(kept[0]["team"]["workflows"][0]["result"]) == ["b", "c", "cc", "a", "aa", "bb"]


PIPELINE = """const order = [];
    await pipeline(["verteiler", "satzung"], async x => {
        await agent("Lies /arbeit/akten/" + x + ".txt.", {agentType: "leser"}); order.push(x); return x; },
        async x => { order.push(await agent("Sag " + x, {agentType: "leser"})); });
    return order;"""


def random_orders(chance: random.Random) -> list[list[Any]]:
    """For each of two rounds some answers with calls of every kind, errors among them."""
    sessions = 0
    rounds: list[list[Any]] = [[calls(create(), create("b", "vlm"))], []]
    for answers in rounds:
        for _ in range(chance.randint(2, 4)):
            wanted = []
            for _ in range(chance.randint(1, 4)):
                name, kind = chance.choice(["leser", "b"]), chance.random()
                prompt = chance.choice([LAWS, "Sag etwas", "Lies /arbeit/register/x"])
                more = {"session_id": f"s{chance.randint(1, sessions)}"} if sessions and chance.random() < 0.4 else {}
                sessions += kind < 0.6 and not more
                wanted.append(run(prompt, name, **more) if kind < 0.3 else background(prompt, name, **more)
                              if kind < 0.6 else call("Workflow", script=PIPELINE) if kind < 0.7 else
                              call("ListSubagents") if kind < 0.8 else call("InspectSubagent", subagent=name)
                              if kind < 0.9 else read("akten/satzung.txt"))
            answers.append(calls(*wanted))
    return rounds


@pytest.mark.parametrize("seed", [1, 3])
def test_whatever_is_ordered_and_however_long_it_takes_every_stored_answer_is_used_again(seed: int) -> None:
    """T37: workers that answer otherwise each time, and now sooner, now later"""
    need("quickjs")
    chance, snapshots = random.Random(seed), []
    rounds = random_orders(chance)

    def manager(messages: list[Any]) -> Any:
        begun = sum(message["role"] == "user" and "Erste: " in str(message["content"]) for message in messages)
        used = sum(bool(message.get("tool_calls")) for message in messages)
        before = sum(map(len, rounds[:begun - 1]))
        return rounds[begun - 1][used - before] if used - before < len(rounds[begun - 1]) else "Fertig."

    def before(request: Request, role: str) -> React:
        if Path("r.journal.jsonl").exists():
            snapshots.append(Path("r.journal.jsonl").read_bytes())
        messages, delay_s = request.body["messages"], chance.choice([0, 0, 0.02, 0.05])
        if role == "main":
            return React(body(manager(messages)))
        if messages[-1]["role"] == "user" and "Sag" in messages[-1]["content"]:
            return React(completion(f"Antwort {chance.random()}"), delay_s=delay_s)
        return React(body(worker(messages)), delay_s=delay_s)

    team = Team({}, before)
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url, "--task", "probe_klein")
        gate[gate.index("--concurrency") + 1] = "4"
        assert run_eval.main(gate) == 0
        for number, snapshot in enumerate(random.Random(seed).sample(snapshots, 2)):
            Path(f"n{number}.journal.jsonl").write_bytes(snapshot)
            stored = answers_in(Path(f"n{number}.journal.jsonl"))
            gate[gate.index("--out") + 1] = f"n{number}.json"
            assert run_eval.main([*gate, "--resume"]) == 0
            assert result(f"n{number}.json")["rows"][0]["team"]["replayed"] == stored


def test_a_finished_file_is_taken_up_without_a_request() -> None:
    team = Team({"Erste": ORDERS["background"], "Zweite": ORDERS["background"]})
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url)
        assert run_eval.main(gate) == 0
        sent, before, kept = len(team.sent), result(), transcripts()
        assert run_eval.main([*gate, "--resume"]) == 0
        assert len(team.sent) == sent
    assert result()["rows"] == before["rows"] and transcripts() == kept


def test_a_failed_scenario_is_repeated_and_what_was_answered_is_not_asked_again() -> None:
    broken = [True]
    team = Team({"Erste": QUICK, "Zweite": QUICK}, lambda request, role: React({"error": "weg"}, 500)
                if broken[0] and role == "llm" and "Zweite" not in str(request.body) and len(
                    request.body["messages"]) > 2 else None)
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url, "--task", "probe_klein")
        assert run_eval.main(gate) == 3
        failed = len(team.sent)
        broken[0] = False
        assert run_eval.main([*gate, "--resume"]) == 0
    assert result()["rows"][0]["outcome"] == "solved"
    assert len(set(team.sent[:failed]) & set(team.sent[failed:])) <= 2, "only what was refused"


def test_a_failure_has_null_scores_and_its_rounds_count_as_lost() -> None:
    team = Team({"Erste": QUICK, "Zweite": QUICK}, lambda request, role: React({"error": "weg"}, 500)
                if role == "llm" and "Erste" in team.sent[0][1] and "Zweite" not in str(team.sent) else None)
    with StubEndpoint(team) as endpoint:
        assert run_eval.main(flags(endpoint.url)) == 3
    first, second = result()["rows"]
    assert first["outcome"] == "infra_error" and first["team"] is None and second["outcome"] == "solved"
    assert result()["metrics"]["tcr"] == 0.5 and result()["answered"]["tcr"] == 1.0
    assert left() == []


# --- the run ends early -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["foreground", "background"])
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_and_leaves_no_folder(order: str, stop: signal.Signals) -> None:
    running: list[subprocess.Popen[bytes]] = []

    def before(request: Request, role: str) -> React | None:
        if running and role == "llm":
            if team.roles.count("llm") == 1:
                running[0].send_signal(stop)
            return React(completion("spät"), delay_s=0.5)
        return None

    team = Team({"Erste": ORDERS[order], "Zweite": ORDERS[order]}, before)
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url)
        running.append(subprocess.Popen([sys.executable, str(ROOT / "run_eval.py"), *gate], stderr=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL))
        began = time.monotonic()
        said = running[0].communicate(timeout=20)[1].decode()
        assert time.monotonic() - began < 8 and running[0].returncode == 3, said
    assert left() == [], (said, [list(p.rglob('*')) for p in left()])
    assert len(team.sent) <= 4, "nothing is asked any more"


# --- limits of endpoints ----------------------------------------------------------------------------------------------
def test_a_429_of_one_endpoint_stops_it_for_all_and_nobody_else() -> None:
    """T36"""
    refused: list[float] = []
    looks = [calls(create("leser"), create("seher", "vlm"), *[background("Sag etwas.", "seher")] * 3),
             *[calls(run("Sag etwas."))] * 12, Until(3), calls(write("ausgabe/r1.json", FIRST)), "Fertig.",
             calls(write("ausgabe/r2.json", SECOND)), "Fertig."]

    def before(request: Request, role: str) -> React | None:
        if role == "vlm" and not refused:
            refused.append(time.monotonic())
            return React({"error": "zu viel"}, 429, {"Retry-After": "1"})
        return React(completion("gut"), delay_s=0.05) if role != "main" else None

    team = Team({"Erste": looks, "Zweite": looks}, before)
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url)
        gate[gate.index("--concurrency") + 1] = "4"
        assert run_eval.main(gate) == 0
        roles = [(role_of(request), request.at) for request in endpoint.requests]
    began = refused[0]
    meanwhile = [role for role, at in roles if began + 0.1 < at < began + 0.95]
    assert meanwhile.count("vlm") == 0 and meanwhile.count("llm") > 5 and meanwhile.count("main") > 5
    assert sum(role == "vlm" for role, _ in roles) == 7
    assert [row["outcome"] for row in result()["rows"]] == ["solved"] * 2


# --- what is refused before the first request -------------------------------------------------------------------------
@pytest.mark.parametrize("roles, says", [
    ({"vlm": {"modalities": {"text": True}}}, "image"), ({"omni": {"modalities": {"text": True, "image": 2}}}, "audio"),
    ({"omni": {"provider": "anthropic"}}, "audio"), ({"omni": {"provider": "responses"}}, "audio"),
    ({"llm": {"model_id": ""}}, "model_id"), ({"llm": {"provider": "gibtsnicht"}}, "gibtsnicht"),
    ({"llm": {"api_key": None, "api_key_env": "GIBTSNICHT_KEY"}}, "GIBTSNICHT_KEY")])
def test_a_pool_that_cannot_be_is_refused_before_the_first_request(roles: dict, says: str,
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    """T16, T47"""
    team = Team({"Erste": QUICK, "Zweite": QUICK})
    with StubEndpoint(team) as endpoint:
        assert run_eval.main(flags(endpoint.url, **roles)) == 2
    said = capsys.readouterr().err
    assert says in said and team.sent == [] and not [key for key in KEYS.values() if key in said]


def test_what_a_key_may_not_have_is_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    """T16"""
    team = Team({"Erste": QUICK, "Zweite": QUICK})
    with StubEndpoint(team) as endpoint:
        assert run_eval.main(flags(endpoint.url, vlm={"modalities": {"text": True, "image": 3, "audio": 1}})) == 0
    assert "audio" in capsys.readouterr().err
    assert result()["settings"]["pool"]["vlm"]["modalities"] == {"text": True, "image": 3}


def test_a_key_on_the_command_line_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """T47"""
    gate = flags("http://127.0.0.1:9")
    gate[gate.index("@pool.json")] = Path("pool.json").read_text("utf-8")
    assert run_eval.main(gate) == 2
    said = capsys.readouterr().err
    assert "api_key" in said and not [key for key in KEYS.values() if key in said]


def test_the_environment_may_hold_the_pool_and_flags_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """T47"""
    team = Team({"Erste": QUICK, "Zweite": QUICK})
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url)
        place = gate.index("--model-json")
        del gate[place:place + 2]
        monkeypatch.setenv("TEAM_MODEL_JSON", Path("pool.json").read_text("utf-8"))
        assert run_eval.main(gate) == 0
        assert result()["model"] == MODELS["main"]
        monkeypatch.setenv("OPENAI_API_KEY", KEYS["main"])
        assert run_eval.main([*gate, "--model", "anders", "--base-url", endpoint.url, "--force"]) == 0
    assert result()["model"] == "anders" and json.loads(team.sent[-1][1])["model"] == "anders"


def test_a_role_that_is_null_is_not_offered() -> None:
    team = Team({"Erste": QUICK, "Zweite": QUICK})
    with StubEndpoint(team) as endpoint:
        gate = flags(endpoint.url)
        Path("pool.json").write_text(json.dumps({**pool(endpoint.url), "omni": None}), "utf-8")
        assert run_eval.main(gate) == 0
    text = json.loads(team.sent[0][1])["messages"][1]["content"]
    assert "omni" not in text and "vlm (" in text and result()["settings"]["pool"]["omni"] is None


def test_scenarios_that_are_none_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(flags("http://127.0.0.1:9", "--task", "probe_klein,gibtsnicht")) == 2
    assert "gibtsnicht" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ("neu", "mit Leerzeichen/tief"))
def test_the_starter_is_fit_and_runs_at_once(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    need_program("bwrap", shutil.which("bwrap"))
    assert run_eval.main(["--suite", "team", "--init", folder]) == 0
    shown = capsys.readouterr().out.splitlines()[-1]
    guide = Path(folder, "LIESMICH.md").read_text("utf-8")
    check, play = shown.removeprefix("next: ").split(", then ")
    assert "@" not in guide and check in guide and play in guide
    assert team_command(shlex.split(check)[3:]) == 0
    assert capsys.readouterr().out.startswith("fundbuero: 0 errors, 1 warning (")
    assert run_eval.main([*shlex.split(play)[2:], "--out", "o.json"]) == 0
    assert json.loads(Path("o.json").read_text("utf-8"))["metrics"]["sms"] == 1.0


def test_the_starter_says_why_an_answer_fails(capsys: pytest.CaptureFixture[str]) -> None:
    need_program("bwrap", shutil.which("bwrap"))
    assert run_eval.main(["--suite", "team", "--init", "neu"]) == 0
    answer = Path("neu/fundbuero/golden/r2/ausgabe/r2.json")
    answer.write_text(answer.read_text("utf-8").replace("3}", "4}"), "utf-8")
    assert team_command(["check", "-d", "neu"]) == 2
    assert "fundbuero/golden/r2: r2: found exit 1, falsch: offen, expected the check" in capsys.readouterr().out


def test_a_move_of_the_golden_run_that_fails_is_told_with_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    need_program("bwrap", shutil.which("bwrap"))
    assert run_eval.main(["--suite", "team", "--init", "neu"]) == 0
    moves = Path("neu/fundbuero/golden/play.json")
    moves.write_text(moves.read_text("utf-8").replace('"tools": ["Read"]', '"tools": ["Reed"]'), "utf-8")
    capsys.readouterr()
    assert team_command(["check", "-d", "neu", "--strict"]) == 1
    shown = capsys.readouterr().out
    assert "fundbuero/rounds.json: r1: the golden run calls CreateSubagent in vain: Fehler: " in shown
    assert "Reed" in shown


def test_scenarios_may_be_named_with_spaces_and_an_empty_pool_is_none(monkeypatch: pytest.MonkeyPatch,
                                                                       tmp_path: Path) -> None:
    monkeypatch.setenv("TEAM_MODEL_JSON", "")
    out = tmp_path / "o.json"
    assert run_eval.main(["--suite", "team", "--out", str(out), "--sandbox", "none",
                          "--task", " recht_satzung , "]) == 0
    assert json.loads(out.read_text("utf-8"))["settings"]["scenarios"] == ["recht_satzung"]


def test_without_a_wall_a_note_says_what_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(["--suite", "team", "--out", str(tmp_path / "o.json"), "--sandbox", "none",
                          "--task", "recht_satzung"]) == 0
    assert "note: sandbox none: checks run without a wall" in capsys.readouterr().err


def test_it_plays_with_native_tools_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_eval.main(flags("http://127.0.0.1:9", "--mode", "prompt")) == 2
    assert "prompt" in capsys.readouterr().err


def test_another_pool_is_another_run(capsys: pytest.CaptureFixture[str]) -> None:
    team = Team({"Erste": QUICK, "Zweite": QUICK})
    with StubEndpoint(team) as endpoint:
        assert run_eval.main(flags(endpoint.url)) == 0
        assert run_eval.main([*flags(endpoint.url, llm={"model_id": "anders"}), "--resume"]) == 2
    assert "pool" in capsys.readouterr().err
