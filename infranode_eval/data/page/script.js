"use strict";
/* The page works without this script; it adds the language and theme switches and the list of tasks. It loads nothing. */
(function () {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const KINDS = ["right", "part", "lost", "tool", "args", "count", "silent", "value", "unseen", "wenton", "injected", "noanswer", "unreadable", "truncated", "unanswered", "unknown"];
  const PAGE = 40;

  function kept(key, value) {          // a page opened from a file may not have a storage
    try {
      if (value === undefined) return window.localStorage.getItem(key);
      window.localStorage.setItem(key, value);
    } catch (error) { /* then nothing is kept */ }
    return null;
  }

  /* --- elements and words --- */
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === true) element.setAttribute(key, "");
      else if (value !== false && value !== null) element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  function word(key, language, values) {
    const text = data.words[key][language === "de" ? 1 : 0];
    return text.replace(/\{(\w+)\}/g, (_, name) => String(Array.isArray(values[name]) ? values[name][language === "de" ? 1 : 0] : values[name]));
  }
  function t(key, values) {            // both languages; the style sheet shows one
    const both = document.createDocumentFragment();
    for (const language of ["en", "de"]) both.append(make("span", { class: language, lang: language }, word(key, language, values || {})));
    return both;
  }

  const plays = playsOf(make, t, data);
  const teams = teamsOf(make, t, data, plays.bodyOf);
  let opening = null;                  // the run whose play is to be open

  /* --- language and theme --- */
  const relabelled = [];
  function speak(language) {
    root.lang = language;
    for (const [element, key] of relabelled) element.textContent = word(key, language, {});
  }
  function label(element, key) { relabelled.push([element, key]); element.textContent = word(key, root.lang, {}); return element; }
  const wanted = kept("language") || (String(navigator.language || "en").toLowerCase().startsWith("de") ? "de" : "en");
  speak(wanted === "de" ? "de" : "en");
  document.getElementById("language").addEventListener("click", () => {
    const next = root.lang === "de" ? "en" : "de";
    kept("language", next); speak(next);
  });
  const theme = kept("theme");
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    kept("theme", root.dataset.theme);
  });
  document.getElementById("switches").hidden = false;

  /* --- the list of tasks --- */
  const explorer = document.getElementById("explorer");
  if (!data.tasks.length) return;
  for (const task of data.tasks) task.rows = [];
  for (const row of data.rows) data.tasks[row.task].rows.push(row);
  const haystack = new Map();
  function textOf(task) {
    if (!haystack.has(task)) {
      const parts = [task.id, task.question, ...(task.expected || [])];
      for (const row of task.rows) for (const turn of row.play ? row.play.turns : []) parts.push(turn.text, ...turn.results.map((one) => one.req || ""));
      for (const row of task.rows) parts.push(row.why, row.text || "", ...(row.calls || []), ...(row.entries || []).map((e) => e[0]), row.outcome, row.sub || "", ...row.labels);
      haystack.set(task, parts.join("\n").toLowerCase());
    }
    return haystack.get(task);
  }

  const filters = make("form", { class: "filters", role: "search" });
  filters.addEventListener("submit", (event) => event.preventDefault());
  function select(key, options) {
    const element = make("select", { name: key });
    element.append(label(make("option", { value: "" }), "js_any"));
    for (const [value, text, translated] of options) element.append(translated ? label(make("option", { value }), text) : make("option", { value }, text));
    if (options.length > 1) filters.append(make("label", {}, t("js_" + key), element));
    element.addEventListener("change", show);
    return element;
  }
  const groups = select("group", data.groups.map((name, index) => [String(index), name]));
  const categories = select("category", [...new Set(data.tasks.map((task) => task.category))].map((name) => [name, name || "—"]));
  const outcomes = select("outcome", KINDS.filter((kind) => data.rows.some((row) => row.kind === kind)).map((kind) => [kind, "kind_" + kind, true]));
  const models = select("model", data.runs.map((run, index) => [String(index), data.groups.length > 1 ? run.name + " · " + data.groups[run.group] : run.name]));
  const search = make("input", { type: "search", name: "text", autocomplete: "off", spellcheck: "false" });
  filters.append(make("label", { class: "wide" }, t("js_search"), search));
  let waiting = 0;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(show, 120); });
  const differ = make("input", { type: "checkbox", name: "differ" });
  differ.addEventListener("change", show);
  if (data.runs.length > 1) filters.append(make("label", { class: "check" }, differ, make("span", {}, t("js_differ"))));
  const reset = make("button", { type: "button" }, t("js_reset"));
  reset.addEventListener("click", () => { filters.reset(); show(); });
  filters.append(reset);

  const found = make("p", { class: "found", role: "status", "aria-live": "polite" });
  const list = make("div", { class: "list" });
  const more = make("button", { type: "button", class: "more-tasks", hidden: true });
  const alone = make("nav", { class: "alone", hidden: true });
  explorer.append(filters, alone, found, list, more);

  function inView(row) { return groups.value === "" || data.runs[row.run].group === Number(groups.value); }
  function differs(rows) {
    const models = rows.filter((row) => !data.runs[row.run].baseline);
    const judged = new Set((models.length > 1 ? models : rows).map((row) => row.kind === "right"));
    return judged.size > 1;
  }
  function fits(task, text) {
    if (categories.value !== "" || categories.selectedIndex > 0) { if (task.category !== categories.value) return false; }
    let rows = task.rows.filter(inView);
    if (!rows.length) return false;
    if (differ.checked && !differs(rows)) return false;
    if (models.value !== "") rows = rows.filter((row) => row.run === Number(models.value));
    if (outcomes.value !== "") rows = rows.filter((row) => row.kind === outcomes.value);
    return rows.length > 0 && (text === "" || textOf(task).includes(text));
  }

  let matching = [];
  let shown = 0;
  function show() {
    for (const element of [filters, alone]) element.hidden = element === alone;
    explorer.classList.remove("single");
    const text = search.value.trim().toLowerCase();
    matching = data.tasks.filter((task) => fits(task, text));
    list.replaceChildren();
    shown = 0;
    found.replaceChildren(matching.length ? t("js_found", { n: matching.length, all: data.tasks.length }) : t("js_none"));
    next();
  }
  function next() {
    const end = Math.min(matching.length, shown + PAGE);
    for (; shown < end; shown += 1) list.append(entry(matching[shown]));
    more.hidden = shown >= matching.length;
    more.replaceChildren(t("js_more", { n: Math.min(PAGE, matching.length - shown) }));
  }
  more.addEventListener("click", next);

  /* --- one task alone: #task/ID, which can be sent to somebody --- */
  function taskInAddress() {
    if (!window.location.hash.startsWith("#task/")) return null;
    try { return decodeURIComponent(window.location.hash.slice(6)); } catch (error) { return ""; }
  }
  function route() {
    const id = taskInAddress();
    if (id === null) { if (filters.hidden) show(); return; }
    filters.hidden = true;
    alone.hidden = false;
    explorer.classList.add("single");
    matching = data.tasks.filter((task) => task.id === id);
    shown = 0;
    list.replaceChildren();
    found.replaceChildren(matching.length ? "" : t("js_gone", { id }));
    next();
    for (const details of list.children) details.open = true;
    const ids = [...new Set(data.tasks.map((task) => task.id))], at = ids.indexOf(id);
    const back = make("a", { href: "#tasks" }, t("js_all_tasks"));
    alone.replaceChildren(back, ...(at > 0 ? [plays.link(ids[at - 1], "js_previous", "prev")] : []), ...(at >= 0 && at < ids.length - 1 ? [plays.link(ids[at + 1], "js_next", "next")] : []));
    document.getElementById("tasks").scrollIntoView();
    back.focus({ preventScroll: true });
  }
  window.addEventListener("hashchange", route);

  function entry(task) {
    const rows = task.rows.filter(inView);
    const dots = make("span", { class: "dots" });
    for (const row of rows) dots.append(make("i", { class: "c-" + row.kind, title: data.runs[row.run].name + ": " + row.outcome }));
    const right = rows.filter((row) => row.kind === "right").length;
    dots.append(make("span", { class: "sr" }, t("js_right_of", { k: right, n: rows.length })));
    const details = make("details", { class: "task" }, make("summary", {},
      make("span", { class: "ask" }, make("span", { lang: "de", dir: "auto" }, task.question || task.id), make("span", { class: "id" }, task.question ? task.id : "")), dots));
    details.addEventListener("toggle", () => { if (details.open && details.childElementCount === 1) details.append(inside(task, rows)); });
    return details;
  }

  function codes(calls) { return calls.map((call) => make("code", {}, call)); }
  function fact(facts, key, ...content) { facts.append(make("dt", {}, t(key)), make("dd", {}, ...content)); }
  function inside(task, rows) {
    const own = make("p", { class: "own-page" }, plays.link(task.id, "js_own_page"));
    const shown = task.rows.some((row) => row.team) ? teams.inside(task, rows, opening) : task.rows.some((row) => row.play) ? plays.inside(task, rows) : replies(task, rows);
    shown.prepend(own);
    return shown;
  }
  function replies(task, rows) {
    const facts = make("dl", { class: "facts" });
    if (task.question) fact(facts, "js_question", make("span", { lang: "de", dir: "auto" }, task.question));
    if (task.expected === null) fact(facts, "js_expected", t("js_unknown_gold"));
    else fact(facts, "js_expected", ...(task.expected.length ? codes(task.expected) : [t("js_no_call")]));
    for (const alternative of task.accept) fact(facts, "js_accept", ...(alternative.length ? codes(alternative) : [t("js_no_call")]));
    for (const [name, text] of task.facts) facts.append(make("dt", {}, name), make("dd", { lang: "de", dir: "auto" }, text));
    const cards = make("div", { class: "replies" });
    for (const row of rows) cards.append(reply(row));
    return make("div", { class: "inside" }, facts, cards);
  }

  function block(box, key, cut) {
    const [text, left] = cut;
    box.append(make("p", { class: "what" }, t(key)));
    box.append(text ? make("pre", { tabindex: "0", dir: "auto" }, text) : make("p", { class: "cut" }, t("js_empty")));
    if (left) box.append(make("p", { class: "cut" }, t("js_cut", { n: left.toLocaleString(root.lang) })));
  }
  function reply(row) {
    const run = data.runs[row.run];
    const verdict = row.kind === "right" ? "yes" : row.kind === "unanswered" ? "none" : "";
    const title = make("h4", {}, make("bdi", {}, run.name), make("span", { class: "verdict " + verdict }, t("kind_" + row.kind)));
    if (data.groups.length > 1) title.append(make("span", { class: "where" }, data.groups[run.group]));
    if (row.repeat > 1 || run.repeats > 1) title.append(make("span", { class: "where" }, t("js_repeat", { n: row.repeat })));
    const facts = make("dl", { class: "facts" });
    fact(facts, "js_why", make("code", { class: "outcome" }, row.outcome + (row.sub ? " · " + row.sub : "")), make("span", { lang: "en", dir: "auto" }, row.why));
    if (row.error) fact(facts, "kind_unanswered", make("span", { dir: "auto" }, row.error));
    else fact(facts, "js_read", ...(row.calls === null ? [t("js_read_none")] : row.calls.length ? codes(row.calls) : [t("js_read_silence")]));
    if (row.labels.length) fact(facts, "js_labels", row.labels.join(", "));
    if (row.finish) fact(facts, "js_finish", make("code", { class: "outcome" }, row.finish), row.attempts > 1 ? t("js_attempts", { n: row.attempts }) : "");
    const box = make("article", { class: "reply" }, title, facts);
    if (row.text === undefined) { if (row.kind !== "unanswered") box.append(make("p", { class: "cut" }, t("js_unstored"))); return box; }
    for (const cut of row.entries) block(box, "js_entries", cut);
    if (row.text || (!row.entries.length && row.kind !== "unanswered")) block(box, "js_reply", [row.text, row.left]);
    if (row.thoughts) {
      const thoughts = make("details", {}, make("summary", { class: "what" }, t("js_thoughts")));
      block(thoughts, "js_thoughts", row.thoughts);
      box.append(thoughts);
    }
    return box;
  }

  /* --- a cell of the heat map leads to its tasks --- */
  for (const cell of document.querySelectorAll(".heat td[data-run]")) {
    if (!data.runs[Number(cell.dataset.run)]) continue;
    const button = make("button", { type: "button" }, ...cell.childNodes);
    if (cell.dataset.task) {
      button.addEventListener("click", () => {
        opening = Number(cell.dataset.run);
        const address = "#task/" + encodeURIComponent(cell.dataset.task);
        if (window.location.hash === address) route(); else window.location.hash = address;
      });
      cell.append(button);
      continue;
    }
    button.addEventListener("click", () => {
      filters.reset();
      if (taskInAddress() !== null) window.history.replaceState(null, "", "#tasks");
      models.value = cell.dataset.run;
      categories.value = cell.dataset.category;
      show();
      document.getElementById("tasks").scrollIntoView();
      filters.querySelector("select").focus({ preventScroll: true });
    });
    cell.append(button);
  }
  show();
  route();
})();
