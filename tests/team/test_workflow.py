"""Scripts of a workflow: what they may ask, what comes back, and what stops each runaway."""

from __future__ import annotations

import json
import os
import random
import threading
import time

import pytest

from infranode_eval.team.workflow import (
    CANCELLED,
    IDLE,
    SCRIPT_CHARS,
    SIZES,
    AgentCall,
    Finished,
    Limits,
    engine,
    run_script,
)
from infranode_eval.team.workspace import ToolError
from tests.needs import need

need("quickjs")
SHORT = Limits(max_agents=16, deadline_s=3.0, slice_s=0.5)


class Desk:
    """Workers that answer with the prompt in capitals after `pause(number)` seconds; agent type "faul" fails.

    at_once: how many may work at the same time. events: what the host did, in order.
    """

    def __init__(self, pause=lambda number: 0.0, at_once: int = 16) -> None:
        self.pause, self.slots = pause, threading.Semaphore(at_once)
        self.events: list[tuple[str, object]] = []
        self.calls: list[AgentCall] = []
        self.specs: list[object] = []
        self.working, self.peak, self.lock = 0, 0, threading.Lock()
        self.threads: list[threading.Thread] = []

    def start(self, call, done) -> None:
        self.events.append(("start", call.number))
        self.calls.append(call)
        if call.agent_type == "unbekannt":
            raise ToolError("kein Unteragent unbekannt")
        thread = threading.Thread(target=self._work, args=(call, done), daemon=True)
        self.threads.append(thread)
        thread.start()

    def _work(self, call, done) -> None:
        with self.slots:
            with self.lock:
                self.working += 1
                self.peak = max(self.peak, self.working)
            time.sleep(self.pause(call.number))
            with self.lock:
                self.working -= 1
        done(call.number, call.prompt.upper(), call.agent_type == "faul")

    def define(self, spec) -> str:
        self.specs.append(spec)
        if spec.get("name") == "doppelt":
            raise ToolError("doppelt gibt es schon")
        return str(spec.get("name"))

    def resolved(self, number) -> None:
        self.events.append(("resolved", number))

    def waits(self, numbers) -> None:
        """Nothing: this desk hands results over as they come."""


def run(script: str, args=None, desk: Desk | None = None, limits: Limits = SHORT, **options) -> Finished:
    return run_script(script, args, desk or Desk(), limits, options.pop("cancelled", threading.Event()), **options)


def value(script: str, args=None, desk: Desk | None = None, **options):
    """What a script returns, which must not be an error."""
    finished = run(script, args, desk, **options)
    assert not finished.error, finished.text
    return json.loads(finished.text)


# --- what a script may ask (T25) --------------------------------------------------------------------------------------

def test_an_agent_gets_its_prompt_and_its_answer_comes_back() -> None:
    desk = Desk()
    assert value("return await agent('grüß', {agentType: 'leser'})", desk=desk) == "GRÜSS"
    assert desk.calls == [AgentCall(0, "grüß", "leser")]


def test_a_failed_agent_rejects_with_its_text() -> None:
    assert value("try { await agent('aus', {agentType: 'faul'}) } catch (e) { return [e instanceof Error, e.message] }"
                 ) == [True, "AUS"]
    finished = run("await agent('aus', {agentType: 'faul'})")
    assert finished.error and finished.text == "Das Skript warf einen Fehler: Error: AUS"


def test_a_desk_that_refuses_to_start_rejects_the_call() -> None:
    finished = run("await agent('a', {agentType: 'unbekannt'})")
    assert finished.error and finished.text.endswith("Fehler: kein Unteragent unbekannt")


FAILING_ITEM = "async (v) => agent(v, {agentType: v === 'c' ? 'faul' : 'leser'})"


@pytest.mark.parametrize("script", [
    f"return await parallel(args.map(v => () => ({FAILING_ITEM})(v)))", f"return await pipeline(args, {FAILING_ITEM})"])
@pytest.mark.parametrize("in_order", [False, True])
def test_a_failing_item_is_null_and_its_siblings_live(script: str, in_order: bool) -> None:
    finished = run(script, ["a", "b", "c", "d"], in_order=in_order)
    assert finished.text == '["A","B",null,"D"]'
    assert len(finished.log) == 1 and finished.log[0].endswith("Teil 3: Error: C"), "the log says why"


def test_a_stage_gets_value_item_and_index() -> None:
    assert value("return pipeline(args, v => v + 1, (v, item, i) => [v, item, i])", [5, 7]) == [[6, 5, 0], [8, 7, 1]]


def test_a_stage_after_a_thrown_one_is_left_out_for_that_item_only() -> None:
    script = "return pipeline([1, 2], v => { if (v === 1) throw 'nein'; return v }, v => { log('zwei', v); return v })"
    finished = run(script)
    assert finished.text == "[null,2]" and set(finished.log) == {"zwei 2", "pipeline, Teil 1: nein"}


def test_a_pipeline_has_no_barrier_between_its_stages() -> None:
    desk = Desk(pause=lambda number: 0.4 if number == 0 else 0.0)
    value("return pipeline(['langsam', 'schnell'], v => agent(v, {agentType: 'x'}), v => agent(v, {agentType: 'x'}))",
          desk=desk)
    assert desk.events.index(("start", 2)) < desk.events.index(("resolved", 0)), "the fast item did not wait"


def test_parallel_is_a_barrier() -> None:
    desk = Desk(pause=lambda number: 0.3 if number == 0 else 0.0)
    value("const ask = (p) => agent(p, {agentType: 'x'}); await parallel([0, 1].map(i => () => ask('a' + i)));"
          " return ask('b')", desk=desk)
    assert desk.events.index(("start", 2)) > desk.events.index(("resolved", 0))


def test_fourteen_calls_work_where_the_desk_lets_four_work_at_once() -> None:
    desk = Desk(pause=lambda number: 0.02, at_once=4)
    script = "return parallel(Array.from({length: 14}, (_, i) => () => agent('n' + i, {agentType: 'x'})))"
    assert value(script, desk=desk) == [f"N{i}" for i in range(14)]
    assert desk.peak == 4


def test_a_defined_agent_gives_its_name_and_the_desk_gets_all_fields() -> None:
    desk, spec = Desk(), {"name": "neu", "model_key": "llm", "tools": ["Read"], "accessible_paths": ["/arbeit/ä"]}
    assert value("return await defineAgent(args)", spec, desk) == "neu"
    assert desk.specs == [spec]
    assert value("const t = defineAgent(args); return agent('a', {agentType: t})", spec) == "A", "without an await, too"


def test_a_refused_definition_rejects() -> None:
    finished = run("await defineAgent({name: 'doppelt'})")
    assert finished.error and "doppelt gibt es schon" in finished.text


ARGS = [None, True, 0, -1.5, "", "ä\u0000\u2028\"\\", [], {}, {"a": [1, {"b": None}]}, 10**15, 1e300, "\ud800"]


@pytest.mark.parametrize("args", ARGS, ids=[ascii(a)[:20] for a in ARGS])
def test_args_of_any_json_arrive(args: object) -> None:
    assert value("return args", args) == args


@pytest.mark.parametrize("args", [float("nan"), {1, 2}, b"x"], ids=["nan", "set", "bytes"])
def test_args_that_are_no_json_are_an_error(args: object) -> None:
    assert run("return args", args) == Finished("args ist kein Wert, der als JSON darstellbar ist", True, ())


def test_deep_args_are_an_error_or_arrive_and_never_crash() -> None:
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert run("return 1", deep).text.startswith("args ist kein Wert")


RETURNS = [
    ("", "null", "nothing returned"), ("return undefined", "null", "undefined"), ("return null", "null", "null"),
    ("return {a: [1, 'ü']}", '{"a":[1,"ü"]}', "letters as they are"),
    ("return '\\ud800'", '"\\ud800"', "half a pair stays JSON"),
    ("return NaN", "null", "as JSON.stringify has it"),
    ("return 1 // kein Ende", "1", "a comment does not swallow the end"),
    ("'use strict'; return this === undefined", "false", "any function body may begin so"),
    ("const log = 3, args = 4; return log + args", "7", "names may be used again"),
]


@pytest.mark.parametrize(("script", "text", "why"), RETURNS, ids=[r[2] for r in RETURNS])
def test_the_result_is_the_json_of_what_is_returned(script: str, text: str, why: str) -> None:
    finished = run(script)
    assert not finished.error and (why == "any function body may begin so" or finished.text == text)


def test_log_lines_are_kept_in_order_as_text() -> None:
    assert run("log('ä', 1, {a: 2}, undefined, null); log(); log(1n, Symbol('s'))").log == (
        'ä 1 {"a":2} undefined null', "", "1 Symbol(s)")


def test_a_log_is_cut() -> None:
    finished = run("log('y'.repeat(5000)); for (let i = 0; i < 3000; i++) log(i); return 1")
    assert not finished.error
    assert len(finished.log) == SIZES["lines"] + 1 and finished.log[-1] == "[weitere Zeilen entfallen]"
    assert len(finished.log[0]) < SIZES["line"] + 10 and finished.log[1] == "0"


def test_halves_of_pairs_reach_neither_the_desk_nor_the_log() -> None:
    desk = Desk()
    finished = run("log('\\ud800'); return agent('a\\udc00', {agentType: 'x\\ud800'})", desk=desk)
    (finished.text + "".join(finished.log) + desk.calls[0].prompt + desk.calls[0].agent_type).encode("utf-8")
    assert desk.calls[0].prompt == "a\ufffd"


def test_an_answer_of_any_text_arrives() -> None:
    text = "ß\u0000\ud800\n\u2028\U0001f600'\"`${1}"

    class Odd(Desk):
        def start(self, call, done) -> None:
            done(call.number, text, False)
            done(call.number, "zweimal", True)       # a desk that reports twice does not confuse the next call

    assert value("return [await agent('a', {agentType: 'x'}), await agent('b', {agentType: 'x'})]", desk=Odd()
                 ) == [text, text]


# --- errors -----------------------------------------------------------------------------------------------------------

ERRORS = [
    ("\n\nlet x = ;", "Das Skript ist kein gültiges JavaScript (Zeile 3): ", "no JavaScript"),
    ("das ist kein Skript", "Das Skript ist kein gültiges JavaScript (Zeile 1): ", "prose"),
    ("}, globalThis.x = 1, async function () {", "Das Skript ist kein gültiges JavaScript: eine Klammer", "breaks out"),
    ("return 1\0", "Das Skript ist kein gültiges JavaScript: es enthält das Zeichen NUL", "NUL"),
    ("/" + "/" * SCRIPT_CHARS, "Das Skript hat 200001 Zeichen, höchstens", "too long"),
    ("\n\nthrow new Error('weg')", "Das Skript warf einen Fehler (Zeile 3): Error: weg", "thrown"),
    ("await null\nnull.x", "Das Skript warf einen Fehler (Zeile 2): TypeError: ", "thrown by the engine"),
    ("throw 5", "Das Skript warf einen Fehler: 5", "a number"),
    ("throw 'aus'", "Das Skript warf einen Fehler: aus", "a text"),
    ("throw null", "Das Skript warf einen Fehler: null", "null"),
    ("throw undefined", "Das Skript warf einen Fehler: undefined", "undefined"),
    ("throw {a: 1}", 'Das Skript warf einen Fehler: {"a":1}', "an object"),
    ("throw Symbol('s')", "Das Skript warf einen Fehler: Symbol(s)", "a symbol"),
    ("throw new Proxy({}, {get() { throw 1 }})", "Das Skript warf einen Fehler: nicht darstellbar", "a proxy"),
    ("throw {message: '\\ud800', name: 3, stack: 4}", "Das Skript warf einen Fehler: \ufffd", "odd fields"),
    ("throw new Error('x'.repeat(1e6))", "Das Skript warf einen Fehler (Zeile 1): Error: xxx", "a long one"),
    ("return 1n", "Der Rückgabewert ist kein JSON: TypeError", "BigInt"),
    ("const a = {}; a.a = a; return a", "Der Rückgabewert ist kein JSON: TypeError", "cycle"),
    ("return () => 1", "Der Rückgabewert ist kein JSON, sondern function", "function"),
    ("return {toJSON() { throw 'nie' }}", "Der Rückgabewert ist kein JSON: nie", "toJSON throws"),
    ("return 'x'.repeat(1e6)", "Der Rückgabewert hat 1000002 Zeichen, höchstens 100000", "huge"),
    ("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a", "Der Rückgabewert ist kein JSON: RangeError",
     "deep"),
    ("const f = () => f(); f()", "Das Skript warf einen Fehler (Zeile 1): RangeError", "endless recursion"),
    ("await agent()", "Das Skript warf einen Fehler (Zeile 1): Error: agent: prompt muss ein Text sein, ist aber undef",
     "no prompt"),
    ("await agent(['a'], {agentType: 'x'})", "Das Skript warf einen Fehler (Zeile 1): Error: agent: prompt muss ein",
     "a prompt that is no text"),
    ("await agent('x'.repeat(2e5), {agentType: 'x'})",
     "Das Skript warf einen Fehler (Zeile 1): Error: agent: prompt ist länger", "a huge prompt"),
    ("await agent('a')", "Das Skript warf einen Fehler (Zeile 1): Error: agent: agentType fehlt", "no options"),
    ("await agent('a', null)", "Das Skript warf einen Fehler (Zeile 1): Error: agent: agentType fehlt", "null"),
    ("await agent('a', {agentType: 7})", "Das Skript warf einen Fehler (Zeile 1): Error: agent: agentType fehlt", "7"),
    ("await parallel([agent('a', {agentType: 'x'})])",
     "Das Skript warf einen Fehler (Zeile 1): Error: parallel: Teil 1 ist keine Funktion", "promises for functions"),
    ("await parallel('ab')", "Das Skript warf einen Fehler (Zeile 1): Error: parallel: verlangt ist ein Array", "text"),
    ("await pipeline(1)", "Das Skript warf einen Fehler (Zeile 1): Error: pipeline: verlangt ist ein Array", "number"),
    ("await pipeline([1], 2)", "Das Skript warf einen Fehler (Zeile 1): Error: pipeline: Stufe 1", "no stage"),
    ("await defineAgent('a')", "Das Skript warf einen Fehler (Zeile 1): Error: defineAgent: verlangt", "no fields"),
    *((f"let a = {{}}; for (let i = 0; i < {deep}; i++) a = {{a}}; await defineAgent(a)",
       "Das Skript warf einen Fehler: Error: defineAgent: die Angaben sind zu tief", f"fields {deep} deep")
      for deep in (200, 1500)),
]


@pytest.mark.parametrize(("script", "text", "why"), ERRORS, ids=[e[2] for e in ERRORS])
def test_an_error_says_what_and_where(script: str, text: str, why: str) -> None:
    finished = run(script)
    assert finished.error and finished.text.startswith(text), finished.text
    assert len(finished.text) < 2_200 and finished.text.encode("utf-8")


# --- runaways (T27): every row of the table in 5.2 -----------------------------------------------------------------

SLICE, DEADLINE = "Zeitgrenze: ein Abschnitt des Skripts rechnete", "Zeitgrenze: der Workflow dauerte länger als 1 s"
MEMORY = "Speichergrenze: das Skript brauchte mehr als 64 MiB"
RUNAWAYS = [
    ("while (true) {}", SLICE, "at once"),
    ("await null; try { while (true) {} } catch { return 'gefangen' } finally { return 'doch' }", SLICE, "uncaught"),
    ("return /(a+)+$/.test('a'.repeat(40) + 'b')", SLICE, "catastrophic regex"),
    ("return {toJSON() { while (true) {} }}", SLICE, "while the result is written"),
    ("await agent('a', {agentType: 'x'}); while (true) {}", SLICE, "after an answer"),
    ("while (true) await null", DEADLINE, "endless jobs"),
    ("const f = () => { Promise.resolve().then(f) }; f(); return 1", DEADLINE, "endless jobs behind a result"),
    ("const a = []; while (true) a.push('x'.repeat(10000) + a.length)", MEMORY, "strings for ever"),
    ("return 'x'.repeat(2 ** 29)", MEMORY, "one giant string"),
    ("await new Promise(() => {})", IDLE, "waits for nothing"),
    ("await {then() {}}", IDLE, "waits for nothing, by a thenable"),
    ("await agent('a', {agentType: 'x'}); await new Promise(() => {})", IDLE, "waits for nothing after an answer"),
]


@pytest.mark.parametrize(("script", "text", "why"), RUNAWAYS, ids=[r[2] for r in RUNAWAYS])
def test_a_runaway_is_stopped(script: str, text: str, why: str) -> None:
    finished = run(script, limits=Limits(deadline_s=1.0 if text is DEADLINE else 6.0, slice_s=0.3))
    assert finished.error and finished.text.startswith(text), finished.text


def test_what_looks_at_no_limit_is_ended_by_the_kernel() -> None:
    """The engine's own loops over lengths know no interrupt: reversing this took 161 s in a thread."""
    finished = run("[].reverse.call({length: 2 ** 53 - 1})", limits=Limits(deadline_s=60.0, slice_s=0.2))
    assert finished.error and finished.text.startswith(SLICE), finished.text


def test_eighty_agents_are_sixty_four_and_the_rest_reject() -> None:
    script = """const all = Array.from({length: 80}, (_, i) => agent('n' + i, {agentType: 'x'}));
        return (await Promise.allSettled(all)).map(one => one.value ?? one.reason.message)"""
    desk = Desk()
    results = value(script, desk=desk, limits=Limits(deadline_s=5.0))
    assert results[:64] == [f"N{i}" for i in range(64)] and len(desk.calls) == 64
    assert results[64:] == ["agent: höchstens 64 Aufrufe je Workflow"] * 16


def test_calls_that_are_wrong_count_for_nothing() -> None:
    script = "for (let i = 0; i < 9; i++) await agent(i).catch(() => 0); return agent('a', {agentType: 'x'})"
    desk = Desk()
    assert value(script, desk=desk, limits=Limits(max_agents=1)) == "A" and desk.calls[0].number == 0


def test_a_worker_that_hangs_meets_the_deadline() -> None:
    began = time.monotonic()
    finished = run("return agent('a', {agentType: 'x'})", desk=Desk(pause=lambda n: 9.0), limits=Limits(deadline_s=1.0))
    assert finished.text == DEADLINE and finished.error and time.monotonic() - began < 2.0


def test_the_deadline_leaves_pauses_out() -> None:
    began = time.monotonic()
    desk = Desk(pause=lambda number: 0.8)
    assert value("return agent('a', {agentType: 'x'})", desk=desk, limits=Limits(deadline_s=0.4),
                 paused_s=lambda: 100.0 + time.monotonic() - began) == "A"


GONE = [
    ("Date.now()", "Date is not defined"), ("performance.now()", "performance is not defined"),
    ("Math.random()", "not a function"), ("eval('1')", "eval is not defined"), ("(0, globalThis.eval)('1')", "not a"),
    ("require('fs')", "require is not defined"), ("await import('os')", "could not load module 'os'"),
    ("await import('std')", "could not load module 'std'"), ("await import('qjs:os')", "could not load module"),
    ("await import('/etc/hosts')", "could not load module"), ("setTimeout(() => 1)", "setTimeout is not defined"),
    ("new Function('return 1')()", "Code aus Text"), ("(() => 1).constructor('return 1')()", "Code aus Text"),
    ("(async () => 1).constructor('return 1')()", "Code aus Text"),
    ("(function* () {}).constructor('yield 1')()", "Code aus Text"),
    ("(async function* () {}).constructor('yield 1')()", "Code aus Text"),
    ("queueMicrotask(() => 1)", "queueMicrotask is not defined"), ("new WeakRef({})", "WeakRef is not defined"),
    ("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", "cannot block"),
    ("std.exit(0)", "std is not defined"), ("os.exec(['ls'])", "os is not defined"),
]


@pytest.mark.parametrize(("script", "text"), GONE, ids=[g[0] for g in GONE])
def test_the_clock_chance_code_from_text_and_the_machine_are_out_of_reach(script: str, text: str) -> None:
    finished = run(script)
    assert finished.error and text in finished.text


def test_a_cancelled_script_ends_at_once_whatever_it_does() -> None:
    for script in ("while (true) {}", "while (true) await null", "return agent('a', {agentType: 'x'})",
                   "[].reverse.call({length: 2 ** 53 - 1})"):
        cancelled = threading.Event()
        ends: list[float] = []
        timer = threading.Timer(0.3, lambda: (ends.append(time.monotonic()), cancelled.set()))  # noqa: B023
        timer.start()
        finished = run(script, desk=Desk(pause=lambda n: 30.0), limits=Limits(deadline_s=20, slice_s=10),
                       cancelled=cancelled)
        late = time.monotonic() - ends[0]
        assert finished == Finished(CANCELLED, True, ()) and late < 0.4, (script, late)


def test_a_log_survives_what_stops_the_script() -> None:
    assert run("log('vorher'); await null; while (true) {}", limits=Limits(slice_s=0.2)).log == ("vorher",)


# --- runs that nobody awaits ------------------------------------------------------------------------------------------

def test_a_returned_value_comes_after_runs_that_nobody_awaited() -> None:
    desk = Desk(pause=lambda number: 0.2)
    assert value("agent('a', {agentType: 'x'}).then(() => { log('danach') }); return 3", desk=desk) == 3
    assert desk.events == [("start", 0), ("resolved", 0)] and not any(t.is_alive() for t in desk.threads)


def test_an_error_does_not_wait_for_what_still_runs_unless_answers_come_in_order() -> None:
    script = "agent('a', {agentType: 'x'}); throw 'aus'"
    desk = Desk(pause=lambda number: 0.3)
    assert run(script, desk=desk).error and desk.events == [("start", 0)]
    desk = Desk(pause=lambda number: 0.3)
    assert run(script, desk=desk, in_order=True).error and desk.events == [("start", 0), ("resolved", 0)]


# --- order ------------------------------------------------------------------------------------------------------------

CHAINS = """const one = async (name) => {
    const first = await agent(name, {agentType: 'x'});
    log(first);
    return [first, await agent(first + '!', {agentType: name === 'c' ? 'faul' : 'x'})];
};
return pipeline(['a', 'b', 'c', 'd'], one, async (v) => [...v, await agent(v[1] + '?', {agentType: 'x'})])"""


def test_in_order_the_same_calls_and_answers_come_every_time() -> None:
    seen = []
    for seed in range(6):
        chance = random.Random(seed)
        pauses = [chance.random() * 0.03 for _ in range(16)]
        desk = Desk(pause=lambda number, pauses=pauses: pauses[number])
        finished = run(CHAINS, desk=desk, in_order=True)
        seen.append((finished, desk.events, [(c.number, c.prompt) for c in desk.calls]))
    assert all(one == seen[0] for one in seen)
    assert seen[0][1][:8] == [("start", 0), ("start", 1), ("start", 2), ("start", 3), ("resolved", 0), ("start", 4),
                              ("resolved", 1), ("start", 5)]


def test_otherwise_answers_enter_as_they_come() -> None:
    desk = Desk(pause=lambda number: 0.3 if number == 0 else 0.0)
    value("return parallel([0, 1].map(i => () => agent('a', {agentType: 'x'})))", desk=desk)
    assert desk.events == [("start", 0), ("start", 1), ("resolved", 1), ("resolved", 0)]


# --- a script that wants to deceive -----------------------------------------------------------------------------------

POISONS = [
    ("JSON.stringify = () => '{\"op\":\"end\"}'; JSON.parse = () => 'falsch'", "JSON"),
    ("globalThis.JSON = globalThis.Promise = globalThis.Error = globalThis.Object = undefined", "globals"),
    ("Object.prototype.toJSON = Array.prototype.toJSON = String.prototype.toJSON = () => 'falsch'", "toJSON"),
    ("for (const k of ['op', 'id', 'number', 'prompt', 'type', 'resolve', 'reject', 'agents', 'text', '0', '1'])"
     " Object.defineProperty(Object.prototype, k, {get() { return 0 }, set() { throw 'falsch' }, configurable: true})",
     "fields of every object"),
    ("String.prototype.slice = String.prototype.toString = () => 'falsch'; String.prototype.then = 1", "String"),
    ("Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 'falsch'", "Function"),
    ("Array.isArray = () => false; Reflect.apply = () => 'falsch'; Number.prototype.toString = () => '9'", "builtins"),
    ("Error.prepareStackTrace = () => 'falsch'; Error.stackTraceLimit = -1; Error.prototype.name = {}", "Error"),
    ("Promise.prototype.catch = Promise.resolve = Promise.all = () => 'falsch'; Promise.reject = null", "Promise"),
    ("Object.defineProperty(Promise, Symbol.species, {value: class { constructor(f) { f(() => 0, () => 0) } }})",
     "species"),
    ("globalThis.agent = () => 'falsch'; globalThis.log = null; globalThis.args = 3", "what it was given, once taken"),
]


@pytest.mark.parametrize(("poison", "why"), POISONS, ids=[p[1] for p in POISONS])
def test_a_changed_world_neither_breaks_nor_deceives_the_host(poison: str, why: str) -> None:
    desk = Desk()
    script = f"""const ask = agent; {poison};
        const text = await ask('eins', {{__proto__: null, agentType: 'x'}});
        let why; try {{ await ask(7) }} catch (e) {{ why = e.message }}
        let told; try {{ await ask('zwei', {{__proto__: null, agentType: 'faul'}}) }} catch (e) {{ told = e.message }}
        return `${{text}} ${{told}} ${{why}}`"""
    finished = run(script, desk=desk)
    assert (finished.text, finished.error) == ('"EINS ZWEI agent: prompt muss ein Text sein, ist aber number"', False)
    assert desk.calls == [AgentCall(0, "eins", "x"), AgentCall(1, "zwei", "faul")]
    assert desk.events == [("start", 0), ("resolved", 0), ("start", 1), ("resolved", 1)]


def test_a_thenable_array_spoils_only_the_scripts_own_result() -> None:
    desk = Desk()
    finished = run("Array.prototype.then = function (ok) { ok('selbst') }; "
                   "return parallel([() => agent('a', {agentType: 'x'})])", desk=desk)
    assert (finished.text, len(desk.calls)) == ('"selbst"', 1)


def test_a_changed_then_sees_no_more_than_the_script_does() -> None:
    desk = Desk()
    script = """const seen = []; Promise.prototype.constructor = null;
        Promise.prototype.then = function (ok, bad) { seen.push(typeof ok); ok('falsch') };
        return [await agent('a', {agentType: 'x'}), seen]"""
    finished = run(script, desk=desk)
    assert finished.text in ('"falsch"', '["A",[]]') or finished.error, "its own result is all that it can spoil"
    assert [c.number for c in desk.calls] == [0], "no call that it did not make"


WALK = """const seen = new Set(), found = [];
const walk = (x) => {
    if ((typeof x !== 'object' && typeof x !== 'function') || x === null || seen.has(x)) return;
    seen.add(x);
    if (typeof x === 'function' && /outbox|waiting/.test(Function.prototype.toString.call(x))) found.push(x.name);
    walk(Object.getPrototypeOf(x));
    for (const key of Reflect.ownKeys(x)) {
        const d = Object.getOwnPropertyDescriptor(x, key);
        walk(d.value); walk(d.get); walk(d.set);
    }
};
walk(globalThis); walk(agent('a', {agentType: 'x'})); walk((function () { return arguments })());
return [found, seen.size > 500]"""


def test_no_name_leads_to_the_hosts_function() -> None:
    assert value(WALK) == [[], True]


def test_no_stack_hands_out_the_hosts_functions() -> None:
    script = """const got = [];
        Error.prepareStackTrace = (e, sites) => { for (const s of sites) got.push(typeof s.getFunction()); return '' };
        try { Object.defineProperty(Error, 'prepareStackTrace', {value: Error.prepareStackTrace}) } catch {}
        const look = () => { new Error('x').stack; const o = {}; Error.captureStackTrace?.(o); o.stack; return 1 };
        look(); await parallel([look]); await agent('a', {get agentType() { look(); return 'x' }});
        return {toJSON() { look(); return got.length }}"""
    assert value(script) == 0
    assert value("return await parallel([function f() { return f.caller }])") == [None]


def test_limits_cannot_be_raised_from_within() -> None:
    script = """Object.prototype.agents = 999; Object.prototype.lines = 1e9;
        for (let i = 0; i < 500; i++) log(i);
        return (await Promise.allSettled([1, 2, 3].map(i => agent('a', {agentType: 'x'})))).map(r => r.status)"""
    finished = run(script, limits=Limits(max_agents=1))
    assert json.loads(finished.text) == ["fulfilled", "rejected", "rejected"]
    assert len(finished.log) == SIZES["lines"] + 1


def test_scripts_share_nothing() -> None:
    value("globalThis.spur = 1; Array.prototype.spur = 2; return 0")
    assert value("return [typeof spur, [].spur === undefined]") == ["undefined", True]


# --- what is left behind ----------------------------------------------------------------------------------------------

def resident_kib() -> int:
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="reads /proc")
def test_a_hundred_workflows_leave_no_thread_no_file_no_process_and_no_memory() -> None:
    script = "return parallel([1, 2].map(i => () => agent('x'.repeat(9e4), {agentType: 'x'}).then(t => t.length)))"

    def state() -> tuple[int, str]:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:
            return len(os.listdir("/proc/self/fd")), children.read()

    for _ in range(10):
        value(script)
    before, threads, memory = state(), threading.active_count(), resident_kib()
    for _ in range(90):
        value(script)
    time.sleep(0.05)             # the last worker's thread ends after its report
    assert state() == before
    assert threading.active_count() <= threads, "workers of earlier tests may end meanwhile"
    assert resident_kib() - memory < 4 * 1024


def test_workflows_run_beside_each_other() -> None:
    results: list[object] = []
    threads = [threading.Thread(target=lambda i=i: results.append(value(f"return agent('n{i}', {{agentType: 'x'}})")))
               for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert sorted(results) == [f"N{i}" for i in range(6)]


def test_the_engine_has_a_name() -> None:
    assert engine() == "quickjs"
