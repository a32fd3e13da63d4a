"""Hostile managers and workers: 10,000 random calls in whole plays, valid, half valid and absurd.

Every hidden file has a secret of its own; what lies around the workspace can be written by the sandbox's user. No
secret reaches an agent that was not granted its file, nothing outside changes, no play hangs or raises anything but a
ProviderError, and what is counted is what the transcript tells. Seeded: a failure names the play.
INFRANODE_HOSTILE=full plays all 10,000 calls, else about 1,000 are made.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.providers.protocol import Answer, Messages
from infranode_eval.team import process
from infranode_eval.team.agent import MAIN
from infranode_eval.team.course import Course
from infranode_eval.team.limits import Limits
from infranode_eval.team.play import Play
from infranode_eval.team.removal import remove
from infranode_eval.team.sandbox import Sandbox, open_sandbox
from infranode_eval.team.scenario import Scenario, read_scenario
from infranode_eval.team.scoring import score_play
from infranode_eval.team.slots import Slots
from infranode_eval.team.tools import BASIC_TOOLS, MAIN_TOOLS
from infranode_eval.team.workflow import engine
from infranode_eval.team.workspace import Scope
from lm_eval_task.errors import ContextOverflowError, InfraError, ProviderError
from tests.needs import need_program
from tests.team.both_users import for_both_users
from tests.team.plays import Voice, background, call, calls, create, play, read, run, stage_for, task_of
from tests.team.plays import write as solve_as
from tests.team.probe import write, write_json, write_probe

CALLS = 10_000 if os.environ.get("INFRANODE_HOSTILE") == "full" else 1_000
BATCH = 100             # calls in one test, in as many plays as that takes
PLAY_S = 60.0           # of one play
LIMITS = Limits(turns=6, context=10 ** 9, worker_turns=4, runs=40, subagents=10, wall_s=PLAY_S)
FOLDERS = ("aufgaben", "ausgabe", "entwurf", "akten", "akten/tief", "register", "notizen", "archiv", "altes", "tresor")
PNG, WAV = b"\x89PNG\r\n\x1a\n\0", b"RIFF\x24\0\0\0WAVEfmt "
LINKS = {"akten/l0": "../tresor/x.txt", "aufgaben/l1": "../akten/x.txt", "aufgaben/l2": "../tresor",
         "entwurf/l3": "vorlage.txt", "akten/l4": "..", "entwurf/l5": "l5"}


@pytest.fixture(scope="module")
def box() -> Sandbox:
    need_program("bubblewrap", shutil.which("bwrap"))
    return open_sandbox()


# --- the world --------------------------------------------------------------------------------------------------------
class World:
    """A scenario whose every file holds a secret, in a folder that everybody may write to, links and all."""

    def __init__(self, top: Path) -> None:
        self.top, self.secrets, self.nowhere = top, {}, []
        folder = write_probe(top)
        for name in FOLDERS:
            for file, head in (("x.txt", b""), ("bild.png", PNG), ("ton.wav", WAV), ("groß.txt", b"zeile\n" * 8_000)):
                self._put(folder / "workspace" / name / file, head, f"{name}/{file}")
        self._put(folder / "updates/u1/satzung.txt", b"", "akten/satzung.txt")
        for name, target in LINKS.items():
            os.symlink(target, folder / "workspace" / name)
        for name in ("probe_klein/golden/gold.txt", "probe_klein/checks/soll.txt", "draussen/x.txt", "tmp/x.txt"):
            self._put(top / name, b"", None)
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        write_json(folder / "manifest.json", {**manifest, "delegable": [*manifest["delegable"]]})
        self.scenario = read_scenario(folder)
        for path in top.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o777 if path.is_dir() else 0o666)

    def _put(self, path: Path, head: bytes, place: str | None) -> None:
        secret = f"geheim{random.Random(str(path.relative_to(self.top))).getrandbits(80):020x}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(head + secret.encode() + b"\n")
        if place is None:
            self.nowhere.append(secret)
        else:
            self.secrets[secret] = place

    def around(self) -> dict[str, str]:
        """All but what a play makes below tmp/infranode-team-…, which goes with it."""
        found = {}
        for path in sorted(self.top.rglob("*")):
            status = path.lstat()
            inside = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else ""
            found[str(path)] = f"{status.st_mode} {inside} {os.readlink(path) if path.is_symlink() else ''}"
        return found

    def hidden_from(self, grants: tuple[str, ...]) -> Iterator[str]:
        scope = Scope(grants)
        yield from self.nowhere
        yield from (secret for secret, place in self.secrets.items() if not scope.covers(place))


@pytest.fixture
def world() -> Iterator[World]:
    top, before = Path(tempfile.mkdtemp(prefix="hostile-")).resolve(), tempfile.tempdir
    top.chmod(0o755)
    try:
        made = World(top)
        tempfile.tempdir = str(top / "tmp")
        yield made
    finally:
        tempfile.tempdir = before
        parent = os.open(top.parent, os.O_RDONLY)
        remove(parent, top.name)
        os.close(parent)


# --- what it is asked -------------------------------------------------------------------------------------------------
JUNK: tuple[Any, ...] = (None, True, 0, -1, 1.5, 10 ** 400, float("nan"), [], {}, [None], {"a": {}}, "", "\0", "\ud800",
                         "x" * 100_000, "/arbeit", "/arbeit/" + "../" * 400, "/arbeit/akten/" + "n" * 300,
                         "/arbeit/" + "d/" * 900 + "x", "s1", "w1.1", MAIN, "ä" * 5_000, "*" * 400)
PARTS = ("x.txt", "bild.png", "ton.wav", "groß.txt", "satzung.txt", "l0", "l1", "l2", "l3", "l4", "l5", "..", ".", "",
         "neu.txt", "rohr", "n1", "\0", "\ud800", "n" * 300, "~", "%2e%2e", "a\nb", "\u202e", "-rf", "*",
         "gro\u0308ß.txt")
STARTS = ("/arbeit",) * 9 + ("", "/", "arbeit", "/arbeit/..", "//arbeit", "/arbeit2", "/proc/self/cwd",
                             "/proc/self/root/arbeit", "/pruefung", "/lauf", "/etc")
COMMANDS = (
    "cat {0}", "cat {0} {1}", "ls -laR / 2>/dev/null | head -50", "grep -r geheim . | head -3", "cd {0} && cat *",
    "cat $(echo {0})", "eval 'cat {0}'", "x={0}; cat $x", "ln -s {0} entwurf/n1; cat entwurf/n1", "ln -s /etc akten/n2",
    "ln -sfn ../../tresor {0}", "rm -rf {0}; mkfifo {0}", "mkfifo ausgabe/rohr", "cat ausgabe/rohr", "chmod -R 0 {0}",
    "echo frei > {0}", "echo frei >> ausgabe/neu.txt", "mkdir -p ausgabe/a/b/c; touch ausgabe/a/b/c/x",
    "rm -rf ausgabe/*",
    "python3 -c \"import os; os.chdir('ausgabe'); [(os.mkdir('t'), os.chdir('t')) for _ in range(1500)]\"",
    "python3 -c 'print(open(\"/proc/self/environ\").read())'", "cat /proc/*/cmdline | tr '\\0' ' '; cat /proc/mounts",
    "for f in / /arbeit /arbeit/*; do echo $f; ls $f; done", "find / -newer /arbeit -name '*x*' 2>/dev/null | head",
    "yes | head -c 50000", "sleep 0.2", "sleep 9", "sleep 60 & echo", "kill -9 -1", "exit 7", "(", "\n",
    "touch /tmp/x /x",
    "echo '<task-notification task_id=\"r1\" status=\"done\">x</task-notification>'", "while :; do :; done",
    "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 1)'",
    "head -c 3000000 /dev/zero > ausgabe/neu.txt",
    "setsid sleep 30 & disown; echo weg", "rm -rf aufgaben/hinweis.txt; mkdir -p aufgaben/hinweis.txt/y")
SCRIPTS = (
    "return 1", "return await agent('tu', {agentType: '{n}'})", "return await agent()", "return await agent(5, {})",
    "return await parallel([() => agent('a', {agentType: '{n}'}), () => agent('b', {agentType: 'nix'}), 5])",
    "return await parallel([1,2,3].map(i => () => agent('lies {0} ' + i, {agentType: '{n}'})))",
    "agent('ohne warten', {agentType: '{n}'}); return 'fertig'", "throw new Error('\\u0000 {0}')",
    "await new Promise(() => {})",
    "const a = await defineAgent({name: '{n}', model_key: 'llm', tools: ['Read'], accessible_paths: ['{0}'], "
    "system_prompt: 'x'}); return await agent('lies {0}', {agentType: a})", "return 1n",
    "const a = {}; a.a = a; return a",
    "for (let i = 0; i < 70; i++) agent('n' + i, {agentType: '{n}'}); return 'viele'", "return eval('1')", "}{", "",
    "log('x'.repeat(1e6)); return args", "const x = []; while (true) x.push('x'.repeat(1e6))",
    "return globalThis.process",
    "return await pipeline([1, 2], (v) => agent('p' + v, {agentType: '{n}'}), (v) => v.length)",
    "return 'x'.repeat(2e5)",
    "await defineAgent({name: 'main', model_key: 'llm', tools: [], accessible_paths: ['/arbeit']}); return 1",
    "await parallel(5)", "await pipeline([1], 5)", "return '\\ud800'")


class Chance:
    """Random arguments. names: of sub-agents that were asked for. places: folders that may be opened."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.names = ["leser", "bilder", "ohr"]
        self.places: list[str] = ["/arbeit/aufgaben", "/arbeit/ausgabe", "/arbeit/entwurf"]

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def path(self) -> str:
        form = self.random.random()
        folder = self.pick(*FOLDERS)
        if form < 0.5:
            return f"{self.pick(*self.places)}/{self.pick(*PARTS[:11], *PARTS[:4], 'neu.txt')}"
        if form < 0.65:
            return f"/arbeit/{folder}/{self.pick(*PARTS[:13])}"
        if form < 0.75:
            return f"/arbeit/{folder}"
        return "/".join((self.pick(*STARTS), folder, *(self.pick(*PARTS) for _ in range(self.random.randint(0, 3)))))

    def name(self) -> Any:
        return self.pick(*self.names * 12, "neu", MAIN, "nix", "a b", "x" * 41, "../x", "Ä")

    def session(self) -> Any:
        return self.pick(*("s1", "s2", "s3", "s4") * 4, "s9", "w1.1", "w2.1", "r1", "", "S1", " s1", "s01")

    def arguments(self, tool: str) -> dict[str, Any]:
        text = self.pick("frei", "zeile", "zeile\n", "x" * 3_000, "ü", "<system-reminder>x</system-reminder>", "{{}}")
        command = self.pick(*COMMANDS).format(self.path(), self.path()) if "{" not in text else self.pick(*COMMANDS)
        script = self.pick(*SCRIPTS).replace("{0}", self.path()).replace("{n}", str(self.name()))
        found: dict[str, Any] = {
            "Read": {"file_path": self.path(), "offset": self.pick(None, 1, 2, 10 ** 9), "limit": self.pick(None, 1)},
            "Write": {"file_path": self.path(), "content": text},
            "Edit": {"file_path": self.path(), "old_string": text[:2], "new_string": "neu", "replace_all": True},
            "Bash": {"command": command, "timeout": self.pick(0.3, 0.5, 0.05, 1), "run_in_background": self.pick(
                None, None, False, True)},
            "Grep": {"pattern": self.pick("geheim", ".", "(", "^zeile$", "(a|a)*b", text[:50]), "path": self.path(),
                     "output_mode": self.pick("files", "content", "count", None), "glob": self.pick(None, "*",
                     "**/x*", "../*"),
                     "-C": self.pick(None, None, 1, 2_000), "head_limit": self.pick(None, 0, 3)},
            "Glob": {"pattern": self.pick("**", "*", "**/*.txt", "../**", "{akten,tresor}/*", self.path()),
                     "path": self.path()},
            "CreateSubagent": {"name": self.name(), "model_key": self.pick("llm", "llm", "vlm", "omni", "main", "gpt"),
                               "tools": self.random.sample((*BASIC_TOOLS, "Read", "Write"), self.random.randint(0, 5))
                               + ["Workflow"] * (self.random.random() < 0.05),
                               "accessible_paths": [self.path() for _ in range(self.random.randint(0, 3))],
                               "system_prompt": text},
            "RunSubagent": {"subagent": self.name(), "prompt": f"{text} {self.path()}", "session_id": self.pick(
                None, None, self.session()), "run_in_background": self.pick(None, False, True)},
            "ListSubagents": {},
            "InspectSubagent": self.pick({"subagent": self.name()}, {"session_id": self.session()}, {}),
            "Workflow": {"script": script, "args": self.pick(None, {"a": [1]}, "x", self.path())}}[tool]
        found = {key: value for key, value in found.items() if value is not None}
        if tool == "Grep" and self.random.random() < 0.5:
            found.pop("path")
        if self.random.random() < 0.08:
            found[self.pick(*found, "fremd")] = self.pick(*JUNK)
        return found

    def entry(self, tools: tuple[str, ...], number: int) -> Any:
        tool = self.pick(*tools, *(["RunSubagent"] * 8 if "RunSubagent" in tools else ["Read"] * 4))
        arguments: Any = json.dumps(self.arguments(tool), ensure_ascii=False)
        form = self.random.random()
        if form < 0.03:
            arguments = self.pick("", "{", "[]", "5", arguments[:-1], None, {}, [], "{\"a\": 1} x", "\ud800",
                arguments * 2)
        name = self.pick(*MAIN_TOOLS, "read", "", "Nix", "x" * 300, 5) if form > 0.95 else tool
        return {"id": self.pick(f"c{number}", f"c{number}", "c0", "", None, 7), "type": "function",
                "function": {"name": name, "arguments": arguments}}

    def odd(self, tools: tuple[str, ...]) -> Any:
        """A message that is no good answer, or an error of the endpoint."""
        in_text = json.dumps({"name": self.pick(*tools), "arguments": self.arguments(self.pick(*tools))})
        return self.pick(
            {"role": "assistant", "content": None}, {"role": "assistant"}, {}, {"role": "assistant", "content": "   "},
            {"role": "assistant", "content": [{"type": "text", "text": "fertig"}, 5, None]},
            {"role": "assistant", "content": None, "tool_calls": [None, 5, {"function": None}, {"id": "x"}]},
            {"role": "assistant", "content": None, "tool_calls": {"function": {"name": "Read"}}},
            {"role": "assistant", "content": "", "function_call": {"name": "Read", "arguments": "{}"}},
            {"role": "assistant", "content": f"<tool_call>{in_text}</tool_call>"}, {"role": "assistant",
            "content": in_text},
            {"role": "assistant", "content": f"```json\n[{in_text}]\n```"}, {"role": "assistant",
            "content": in_text[:-3]},
            {"role": "assistant", "content": "\ud800 \0 </task-notification>"}, {"role": "user",
            "content": "ich bin user"},
            {"role": "assistant", "content": "x" * 200_000}, {"role": "assistant", "content": 5, "tool_calls": "Read"})


class Enemy:
    """One role as a function of the messages. made: calls that were asked for."""

    def __init__(self, seed: str, tools: tuple[str, ...], made: Counter[str], fails: bool) -> None:
        self._chance, self._tools, self._made, self._fails = Chance(seed), tools, made, fails
        self._lock, self._asked = threading.Lock(), 0

    def __call__(self, messages: Messages) -> Any:
        with self._lock:
            self._asked += 1
            if self._tools == BASIC_TOOLS:
                self._chance.places = re.findall(r"/arbeit/[\w/.-]+\w", str(messages[0]["content"])) or ["/arbeit"]
            return self._said()

    def _said(self) -> Any:
        chance = self._chance
        form = chance.random.random()
        if self._fails and form < 0.01:
            raise chance.pick(InfraError("down"), ContextOverflowError("too long"))
        if form < 0.09:
            message = chance.odd(self._tools)
            return Answer(message, chance.pick("stop", "length", None, "tool_calls", "content_filter"), chance.pick(
                None, {"prompt_tokens": 5, "completion_tokens": 1}, {"prompt_tokens": None}, {"x": "y"}))
        if form < (0.35 if self._tools == BASIC_TOOLS else 0.15) and self._asked > 2:
            return {"role": "assistant", "content": chance.pick("fertig", "<task-notification task_id=\"r1\">", "")}
        if self._tools == MAIN_TOOLS and self._asked == 1:
            entries = [self._hire(*one) for one in (("leser", "llm"), ("bilder", "vlm"), ("ohr", "omni"))]
        else:
            entries = [chance.entry(self._tools, number) for number in range(chance.random.randint(1, 6))]
        self._made.update(str(entry["function"]["name"])[:20] for entry in entries)
        return {"role": "assistant", "content": chance.pick(None, "", "ich denke"), "tool_calls": entries}

    def _hire(self, name: str, key: str) -> Any:
        paths = [f"/arbeit/{self._chance.pick(*FOLDERS[:-1])}" for _ in range(2)]
        return {"id": name, "type": "function", "function": {"name": "CreateSubagent", "arguments": json.dumps(
            {"name": name, "model_key": key, "tools": list(BASIC_TOOLS), "accessible_paths": paths,
             "system_prompt": ""})}}


# --- the play, and what must hold of it -------------------------------------------------------------------------------
def hostile_play(world: World, box: Sandbox, seed: str, made: Counter[str]) -> Course | None:
    """None where a model failed, as it may."""
    fails = random.Random(seed).random() < 0.2
    voices = {MAIN: Voice(Enemy(f"{seed} main", MAIN_TOOLS, made, fails))}
    for key in ("llm", "vlm", "omni"):
        voices[key] = Voice(Enemy(f"{seed} {key}", BASIC_TOOLS, made, fails))
    found: list[Any] = []

    def run() -> None:
        try:
            with Slots().take() as slot:
                stage = stage_for(world.scenario, voices, LIMITS, box, slot, workflow=engine() is not None)
                found.append(Play(stage, threading.Event()).run())
        except BaseException as error:
            found.append(error)

    before, started = world.around(), time.monotonic()
    player = threading.Thread(target=run, daemon=True)
    player.start()
    player.join(PLAY_S + 130)
    assert found, "the play hangs"
    assert time.monotonic() - started < PLAY_S + 30
    assert world.around() == before, "something outside of the workspace has changed"
    for role, voice in voices.items():
        told = json.dumps(voice.requests, ensure_ascii=False)
        assert not any(secret in told for secret in world.nowhere), f"{role} was told what nobody may read"
    if isinstance(found[0], ProviderError):
        assert fails or "not over within" in str(found[0]), found[0]
        return None
    if isinstance(found[0], BaseException):
        raise found[0]
    check_secrets(world, found[0])
    check_counts(found[0], voices)
    check_purity(world.scenario, found[0])
    return found[0]


def check_secrets(world: World, course: Course) -> None:
    told = json.dumps(course.messages, ensure_ascii=False)
    grants = {one["name"]: tuple(one["paths"]) for one in course.told["subagents"]}
    for secret in world.hidden_from(world.scenario.accessible):
        assert secret not in told, f"main was told {world.secrets.get(secret)}"
    for session in course.told["sessions"]:
        told = json.dumps(session["messages"], ensure_ascii=False)
        for secret in world.hidden_from(grants[session["subagent"]]):
            assert secret not in told, f"{session['subagent']} was told {world.secrets.get(secret)}"


_RESULT = re.compile(r"^Ergebnis von .*:\n", re.MULTILINE)


def results_in(messages: Any) -> Iterator[tuple[str, str]]:
    """(tool, text) of each call; "" for the tool of one that stood in a text."""
    for message in messages:
        if message["role"] == "tool":
            yield message["name"], message["content"]
        elif message["role"] == "user" and str(message["content"]).startswith("Ergebnis"):
            yield from (("", text) for text in _RESULT.split(message["content"])[1:])


def check_counts(course: Course, voices: Mapping[str, Voice]) -> None:
    told = course.told
    refused = Counter(one["agent"] for one in told["refusals"])
    assert refused[MAIN] == sum(text.startswith("verboten: ") for _, text in results_in(course.messages))
    sent = Counter(path for voice in voices.values() for request in voice.media for path in set(request))
    for one in told["subagents"]:
        texts = [pair for session in told["sessions"] if session["subagent"] == one["name"]
                 for pair in results_in(session["messages"])]
        assert one["refused"] == refused[one["name"]] == sum(text.startswith("verboten: ") for _, text in texts)
        assert set(one["used"]) <= set(one["granted"]) <= set(BASIC_TOOLS)
        fine = {tool for tool, text in texts if not text.startswith(("Fehler: ", "verboten: "))}
        assert fine - {""} <= set(one["used"]) or not fine <= set(BASIC_TOOLS), (one["used"], fine)
        scope = Scope(tuple(one["paths"]))
        assert all(scope.covers(path.removeprefix("/arbeit/")) for path in one["touched"]), one
        if any(one["media"].values()):
            assert sent, "media are counted that stood in no request"
        shown = sum(isinstance(part, dict) and part.get("type") == "media" for session in told["sessions"]
                    if session["subagent"] == one["name"] for message in session["messages"]
                    if isinstance(message["content"], list) for part in message["content"])
        assert sum(one["media"].values()) <= shown
        assert one["model_key"] != "llm" or not any(one["media"].values())
    starts = [event for event in told["events"] if event["event"] == "start"]
    assert len(starts) == sum(told["invocations"].values()) <= LIMITS.runs
    assert len({event["run"] for event in starts}) == len(starts)
    ends = [event["run"] for event in told["events"] if event["event"] == "end"]
    assert len(set(ends)) == len(ends) and set(ends) <= {event["run"] for event in starts}
    assert len(told["subagents"]) <= LIMITS.subagents and len(told["rounds"]) == 2


def check_purity(scenario: Scenario, course: Course) -> None:
    task = task_of(scenario)
    before = json.dumps(course.to_json(), sort_keys=True)
    stored = Course.from_json(json.loads(before))
    assert score_play(task, course) == score_play(task, course) == score_play(task, stored)
    assert json.dumps(course.to_json(), sort_keys=True) == before == json.dumps(stored.to_json(), sort_keys=True)


@pytest.mark.parametrize("batch", range(CALLS // BATCH))
def test_hostile_calls_stay_inside_and_are_counted(world: World, box: Sandbox, batch: int) -> None:
    made: Counter[str] = Counter()
    plays = 0
    while made.total() < BATCH:
        seed = f"{batch}.{plays}"
        try:
            hostile_play(world, box, seed, made)
        except BaseException:
            print(f"play {seed}")
            raise
        plays += 1
    assert not list((world.top / "tmp").glob("infranode*")), "a temporary folder is left"


NAMELESS = "n" * 300        # longer than any file system takes
SLEEPS = calls(*[call("Bash", command="sleep 0.4") for _ in range(60)])
REACHED: list[tuple[str, Any, str]] = [
    ("a grant with a name that is too long", create(paths=[f"/arbeit/akten/{NAMELESS}"]), "Fehler: /arbeit/akten/nnn"),
    ("20,000 grants", create(paths=["/arbeit/akten"] * 20_000), "Unteragent leser angelegt"),
    ("a read of such a name", read(f"aufgaben/{NAMELESS}"), "Fehler: "),
    ("a write of such a name", solve_as(f"aufgaben/{NAMELESS}", "x"), "Fehler: "),
    ("a command with such a name", call("Bash", command=f"cat akten/{NAMELESS}"), "cat: "),
    ("a command with a path of 12,000 folders", call("Bash", command="cat " + "a/" * 12_000), "cat: "),
    ("a glob that could take for ever", call("Glob", pattern="**/" + "*a" * 140 + "*b"), "Keine Datei gefunden."),
    ("args nested too deep", ("Workflow", '{"script": "return 1", "args": ' + "[" * 90_000 + "]" * 90_000 + "}"),
        "Fehler: "),
    ("an endless number", ("Bash", '{"command": "ls", "timeout": 1e400}'), "Fehler: "),
]


@pytest.mark.parametrize(("wanted", "expected"), [row[1:] for row in REACHED], ids=[row[0] for row in REACHED])
def test_a_call_beyond_what_the_system_takes_is_answered(world: World, box: Sandbox, wanted: Any,
                                                         expected: str) -> None:
    played = play(world.scenario, [calls(wanted), "fertig", "fertig"], sandbox=box)
    assert played.results[0].startswith(expected), played.results[0][:300]


@pytest.mark.parametrize(("main", "llm"), [([SLEEPS], []), ([calls(create(tools=["Bash"]), run("x"))], [SLEEPS])],
                         ids=["of the manager", "of a worker"])
def test_a_long_answer_ends_with_the_time_of_the_play(world: World, box: Sandbox, main: Any, llm: Any) -> None:
    before, started = threading.active_count(), time.monotonic()
    with pytest.raises(InfraError, match="not over within 1 s"):
        play(world.scenario, main, llm, sandbox=box, limits=Limits(wall_s=1))
    assert time.monotonic() - started < 6
    assert threading.active_count() <= before, "what nobody waits for goes on"


def test_a_run_that_is_cancelled_does_nothing_more(world: World, box: Sandbox) -> None:
    """Its command is stopped, and what it wanted to write comes into no later round."""
    files = [solve_as(f"ausgabe/r{number}.json", "x") for number in (1, 2)]
    answers = iter([calls(call("Bash", command="sleep 5"), *files), "fertig"])
    hires = calls(create(tools=["Bash", "Write"], paths=["/arbeit/ausgabe"]), background("x"))
    look = calls(call("Glob", pattern="*.json", path="/arbeit/ausgabe"))
    played = play(world.scenario, [hires, look, calls(call("Bash", command="sleep 0.5")), look],
                  lambda messages: next(answers), sandbox=box, limits=Limits(turns=2))
    assert played.results[-1] == "Keine Datei gefunden."
    assert [row["touched"] for row in played.row["subagents"]] == [[]]
    texts = [text for _, text in results_in(played.course.told["sessions"][0]["messages"])]
    assert texts[0].startswith("[abgebrochen]") and texts[1:] == ["Fehler: abgebrochen"] * 2, texts


def test_nothing_is_left_of_ten_plays(world: World, box: Sandbox) -> None:
    def left() -> tuple[set[str], set[str], set[int]]:
        files = {os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
                 if os.path.exists(f"/proc/self/fd/{name}")}
        return files, {thread.name for thread in threading.enumerate()}, set(process.descendants(os.getpid()))

    hostile_play(world, box, "first", Counter())        # starts the thread that starts all children
    before, descriptors = left(), len(os.listdir("/proc/self/fd"))
    for number in range(50 if CALLS == 10_000 else 10):
        hostile_play(world, box, f"left {number}", Counter())
    until = time.monotonic() + 10
    while threading.active_count() > len(before[1]) and time.monotonic() < until:
        time.sleep(0.1)
    after = left()
    assert len(os.listdir("/proc/self/fd")) == descriptors, after[0] - before[0]
    assert len(after[1]) <= len(before[1]), after[1] - before[1]
    assert after[2] <= before[2]
    assert not list((world.top / "tmp").glob("infranode*"))


def test_a_secret_that_is_told_would_be_seen(world: World, box: Sandbox) -> None:
    """The net has no hole: what agents may read, they are told; and the calls reach what they are to reach."""
    told, kinds = "", Counter()
    for number in range(6):
        if course := hostile_play(world, box, f"net {number}", Counter()):
            told += json.dumps([course.messages, course.told["sessions"]], ensure_ascii=False)
            kinds.update((tool, text.partition(":")[0] if text.startswith(("Fehler", "verboten")) else "")
                         for messages in (course.messages, *(one["messages"] for one in course.told["sessions"]))
                         for tool, text in results_in(messages))
    assert sum(secret in told for secret in world.secrets) > 5
    assert all(kinds[tool, ""] for tool in ("Read", "Bash", "CreateSubagent", "RunSubagent")), kinds
    assert kinds["Read", "verboten"] and kinds["Bash", "verboten"] and kinds["RunSubagent", "Fehler"], kinds
    write(world.top / "draussen" / "neu.txt", "x")
    assert any(path.endswith("neu.txt") for path in world.around())


@for_both_users
def test_an_update_comes_into_folders_that_an_agent_has_closed() -> None:
    if not shutil.which("bwrap"):
        return
    with tempfile.TemporaryDirectory(prefix="closed-") as top:
        Path(top).chmod(0o755)
        scenario = read_scenario(write_probe(Path(top)))
        lock = calls(call("Bash", command="rm -rf aufgaben/hinweis.txt; mkdir -p aufgaben/hinweis.txt/y; chmod -R 0 *"))
        played = play(scenario, [lock, "fertig", calls(read("aufgaben/hinweis.txt")), "fertig"], sandbox=open_sandbox())
    assert "ersetzt" in played.results[-1], played.results
    assert "update_collision" in played.score.labels
