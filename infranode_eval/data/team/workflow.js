// What a workflow's script finds in its context. The value of this file is the host's control function: the host holds
// it, no name reaches it. A script may change every global object, so all that is needed later is taken here first, and
// what leaves for the host is put together from strings, never read back from objects that a script could bend.
(() => {
  "use strict";
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { defineProperty, getPrototypeOf } = Object;
  const P = Promise, Fault = Error, asText = String;
  const unbound = Function.prototype.call.bind.bind(Function.prototype.call);
  const slice = unbound(String.prototype.slice), source = unbound(Function.prototype.toString);

  const most = { __proto__: null };       // limits, set once by "open"
  const waiting = { __proto__: null };    // id of a request -> how its promise ends
  let asked = 0, called = 0, defined = 0, logged = 0, outbox = "";

  const put = (line) => { outbox += line + "\n"; };
  const kind = (value) => value === null ? "null" : isArray(value) ? "array" : typeof value;

  const ask = (fields) => {
    const id = asked++;
    return new P((resolve, reject) => {
      waiting[id] = { __proto__: null, resolve, reject };
      put(`{"id":${id},${fields}}`);
    });
  };

  const described = (thrown) => {
    try {
      if ((typeof thrown === "object" && thrown !== null) || typeof thrown === "function") {
        const { name, message, stack } = thrown;
        if (typeof message === "string") {
          const title = typeof name === "string" && name !== "" ? name + ": " : "";
          return { __proto__: null, text: title + message, stack: typeof stack === "string" ? stack : "" };
        }
        const json = stringify(thrown);
        if (typeof json === "string") return { __proto__: null, text: json, stack: "" };
      }
      return { __proto__: null, text: asText(thrown), stack: "" };
    } catch {
      return { __proto__: null, text: "nicht darstellbar", stack: "" };
    }
  };

  const shown = (value) => {
    try {
      if ((typeof value !== "object" && typeof value !== "function") || value === null) return asText(value);
      const json = stringify(value);
      return typeof json === "string" ? json : asText(value);
    } catch {
      return "nicht darstellbar";
    }
  };

  const note = (line) => {
    if (logged > most.lines) return;
    const text = logged === most.lines ? "[weitere Zeilen entfallen]"
      : line.length > most.line ? slice(line, 0, most.line) + " […]" : line;
    logged++;
    put(`{"op":"log","text":${stringify(text)}}`);
  };

  const log = (...parts) => {
    let line = "";
    for (let i = 0; i < parts.length && line.length <= most.line; i++) line += (i ? " " : "") + shown(parts[i]);
    note(line);
  };

  const agent = async (prompt, options) => {
    if (typeof prompt !== "string") throw new Fault(`agent: prompt muss ein Text sein, ist aber ${kind(prompt)}`);
    if (prompt.length > most.text) throw new Fault(`agent: prompt ist länger als ${most.text} Zeichen`);
    let type = options === null || options === undefined ? undefined : options.agentType;
    if (typeof type === "object" && type !== null) type = await type;    // defineAgent without an await
    if (typeof type !== "string" || type === "" || type.length > most.text) {
      throw new Fault("agent: agentType fehlt, verlangt ist der Name eines Unteragenten: agent(prompt, {agentType: \"…\"})");
    }
    if (called >= most.agents) throw new Fault(`agent: höchstens ${most.agents} Aufrufe je Workflow`);
    const number = called++;
    return await ask(`"op":"agent","number":${number},"prompt":${stringify(prompt)},"type":${stringify(type)}`);
  };

  const defineAgent = async (spec) => {
    if (typeof spec !== "object" || spec === null || isArray(spec)) {
      throw new Fault(`defineAgent: verlangt ist ein Objekt, nicht ${kind(spec)}`);
    }
    const json = stringify(spec);
    if (typeof json !== "string" || json.length > most.text) {
      throw new Fault(`defineAgent: die Angaben sind kein JSON von höchstens ${most.text} Zeichen`);
    }
    if (defined >= most.agents) throw new Fault(`defineAgent: höchstens ${most.agents} Aufrufe je Workflow`);
    defined++;
    return await ask(`"op":"define","spec":${stringify(json)}`);
  };

  const spared = async (part, i, title) => {
    try {
      return await part(i);
    } catch (thrown) {
      note(`${title}, Teil ${i + 1}: ${described(thrown).text}`);
      return null;
    }
  };

  const together = async (count, part, title) => {
    const runs = { __proto__: null }, results = [];
    for (let i = 0; i < count; i++) runs[i] = spared(part, i, title);
    for (let i = 0; i < count; i++) results[i] = await runs[i];
    return results;
  };

  const parallel = async (thunks) => {
    if (!isArray(thunks)) throw new Fault(`parallel: verlangt ist ein Array von Funktionen, nicht ${kind(thunks)}`);
    for (let i = 0; i < thunks.length; i++) {
      if (typeof thunks[i] !== "function") throw new Fault(`parallel: Teil ${i + 1} ist keine Funktion: () => agent(…)`);
    }
    return await together(thunks.length, (i) => thunks[i](), "parallel");
  };

  const pipeline = async (items, ...stages) => {
    if (!isArray(items)) throw new Fault(`pipeline: verlangt ist ein Array, nicht ${kind(items)}`);
    for (let s = 0; s < stages.length; s++) {
      if (typeof stages[s] !== "function") throw new Fault(`pipeline: Stufe ${s + 1} ist keine Funktion`);
    }
    const part = async (i) => {
      const item = items[i];
      let value = item;
      for (let s = 0; s < stages.length; s++) value = await stages[s](value, item, i);
      return value;
    };
    return await together(items.length, part, "pipeline");
  };

  const returned = (value) => {
    let json;
    try {
      json = value === undefined ? "null" : stringify(value);
    } catch (thrown) {
      return unreturned(`ist kein JSON: ${described(thrown).text}`);
    }
    if (typeof json !== "string") return unreturned(`ist kein JSON, sondern ${kind(value)}`);
    if (json.length > most.result) return unreturned(`hat ${json.length} Zeichen, höchstens ${most.result} sind erlaubt`);
    return `{"op":"end","text":${stringify(json)}}`;
  };
  const unreturned = (why) => `{"op":"unreturned","text":${stringify(slice(why, 0, most.line))}}`;

  const main = async (script) => {
    await null;                           // from here on no frame of the control function lies below the script
    let line;
    try {
      line = returned(await script());
    } catch (thrown) {
      const { text, stack } = described(thrown);
      line = `{"op":"thrown","text":${stringify(slice(text, 0, most.line))},"stack":${stringify(slice(stack, 0, 2000))}}`;
    }
    put(line);
  };

  // --- the context: what is gone, what is there ----------------------------------------------------------------------
  // The clock and chance, since a replayed run must ask the same questions; text as code; what runs jobs whose errors
  // nobody catches. A stack's call sites would hand out functions, the host's among them.
  for (const name of ["Date", "performance", "eval", "queueMicrotask", "WeakRef", "FinalizationRegistry"]) {
    delete globalThis[name];
  }
  delete Math.random;
  defineProperty(Error, "prepareStackTrace", { value: undefined, writable: false, configurable: false });
  const NoCode = function () { throw new Fault("Code aus Text ist hier nicht verfügbar"); };
  NoCode.prototype = Function.prototype;
  for (const made of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    defineProperty(getPrototypeOf(made), "constructor", { value: NoCode, writable: false, configurable: false });
  }
  globalThis.Function = NoCode;

  const give = (name, value) => {
    defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  };

  return (op, first, second, third) => {
    if (op === "open") {
      const limits = parse(first);
      for (const name of ["agents", "lines", "line", "text", "result"]) most[name] = limits[name];
      give("agent", agent);
      give("parallel", parallel);
      give("pipeline", pipeline);
      give("defineAgent", defineAgent);
      give("log", log);
      give("args", parse(second));
    } else if (op === "run") {            // first: the script as a function, second: its text as the host put it together
      if (typeof first !== "function" || source(first) !== second) return "broken";
      main(first);
    } else if (op === "settle") {         // first: id, second: whether it failed, third: its text as JSON
      const { resolve, reject } = waiting[first];
      delete waiting[first];
      if (second) reject(new Fault(parse(third)));
      else resolve(parse(third));
    } else if (op === "take") {
      const lines = slice(outbox, 0);     // one piece: Python cannot take a text that is still a rope of pieces
      outbox = "";
      return lines;
    }
    return "";
  };
})()
