"use strict";
/* Plays of the suite team: one lane for each agent, runs as bars by the order of events, messages to be opened. Every text is set as text. */
function teamsOf(make, t, data, bodyOf) {
  function whole(value) { return [value.toLocaleString("en"), value.toLocaleString("de")]; }
  function chip(kind, ...content) { return make("span", { class: "chip " + kind }, ...content); }
  function pre(text) { return make("pre", { tabindex: "0", dir: "auto" }, text); }

  /* --- texts and messages --- */
  function text(value) {          // a short one as it is, a long one to be opened
    if (value === "") return null;
    if (typeof value === "string") return pre(value);
    const [key, size, begin] = value;
    const box = make("details", { class: "body long" }, make("summary", {}, make("span", { class: "begin", dir: "auto" }, begin + "…"), make("span", { class: "soft" }, t("js_team_whole", { n: whole(size) }))));
    box.addEventListener("toggle", () => {
      if (!box.open || box.childElementCount > 1) return;
      const body = bodyOf(key);
      if (body === null) { box.append(make("p", { class: "cut" }, t("js_body_gone"))); return; }
      box.append(pre(body[0]));
      if (body[1]) box.append(make("p", { class: "cut" }, t("js_cut", { n: whole(body[1]) })));
    });
    return box;
  }
  function call([name, given]) { return make("div", { class: "made" }, make("code", { class: "tool" }, name), text(given)); }
  function message(one, speaker) {
    const head = make("p", { class: "who" });
    if (one.role === "main") head.append(make("strong", {}, speaker()));
    else if (one.role === "tool") head.append(t("js_team_result"), " ", make("code", {}, one.name));
    else head.append(t("js_team_given"));
    if (one.bad) head.append(" ", chip("bad", t("js_team_" + one.bad)));
    const box = make("li", { class: "message of-" + one.role }, head);
    if (one.thoughts) box.append(make("details", { class: "body" }, make("summary", {}, t("js_thoughts")), text(one.thoughts)));
    if (one.text) box.append(text(one.text));
    for (const made of one.calls || []) box.append(call(made));
    for (const [path, mime, size] of one.media || []) box.append(make("p", { class: "medium" }, chip("", mime), " ", make("code", {}, path), " ", make("span", { class: "soft" }, t("js_team_medium", { n: whole(size) }))));
    return box;
  }
  function messages(list, speaker) {
    if (!list.length) return make("p", { class: "cut" }, t("js_team_no_message"));
    return make("ol", { class: "messages" }, ...list.map((one) => message(one, speaker)));
  }

  /* --- what is shown below the lanes --- */
  function roundBox(team, round) {
    const verdict = team.rounds.find(([id]) => id === round.id), box = document.createDocumentFragment();
    const head = make("h5", {}, t("js_team_round", { id: round.id }), " ");
    if (verdict) head.append(chip(verdict[1] ? "good" : "bad", t(verdict[1] ? "js_team_passed" : "js_team_failed")), " ", make("span", { class: "soft", dir: "auto" }, verdict[2]));
    box.append(head);
    for (const [where, who, tool, path] of team.refusals) if (where === round.id) box.append(make("p", { class: "refusal" }, chip("bad", t("js_team_refused")), " ", who, ": ", make("code", {}, tool + " " + path)));
    box.append(messages(round.messages, () => t("js_team_manager")));
    return box;
  }
  function runBox(run) {
    const box = document.createDocumentFragment();
    box.append(make("h5", {}, t("js_team_run", { id: run.id.replace(/^run/, "") }), " ", make("bdi", {}, run.agent), " ", make("span", { class: "soft" }, t("js_team_session", { id: run.session, n: run.number + 1, round: run.round })), run.ended ? "" : chip("bad", t("js_team_no_end"))));
    box.append(messages(run.messages, () => make("bdi", {}, run.agent)));
    return box;
  }
  function listed(names) { return names.length ? names.join(", ") : "—"; }
  function agentBox(agent) {
    const facts = make("dl", { class: "facts" });
    for (const [key, value] of [["js_team_used", listed(agent.used)], ["js_team_idle", listed(agent.idle)], ["js_team_paths", listed(agent.paths)], ["js_team_files", agent.touched + "/" + agent.files], ["js_team_media", listed(agent.media.map(([name, count]) => count + " " + name))], ["js_team_refusals", String(agent.refused)]]) facts.append(make("dt", {}, t(key)), make("dd", { dir: "auto" }, value));
    const box = document.createDocumentFragment();
    box.append(make("h5", {}, make("bdi", {}, agent.name), " ", chip("", agent.key)), facts);
    return box;
  }

  /* --- the lanes --- */
  function levels(runs) {         // runs of one agent at the same time lie below each other
    const ends = [];
    return runs.map((run) => {
      let level = ends.findIndex((end) => end <= run.from);
      if (level < 0) level = ends.length;
      ends[level] = run.to;
      return level;
    });
  }
  function at(element, row, rows, from, to) {
    element.style.gridRow = row + " / span " + rows;
    element.style.gridColumn = (from + 2) + " / " + (to + 2);
    return element;
  }
  function lanes(team) {
    const play = team.play, grid = make("div", { class: "lanes" }), shown = make("div", { class: "shown", "aria-live": "polite" });
    const ticks = Math.max(play.ticks, 1);
    grid.style.gridTemplateColumns = "var(--lane) repeat(" + ticks + ", minmax(1.5rem, 1fr))";
    let chosen = null;
    function choose(button, build) {
      if (chosen) chosen.setAttribute("aria-pressed", "false");
      chosen = button;
      button.setAttribute("aria-pressed", "true");
      shown.replaceChildren(build());
    }
    function button(kind, label, build, ...content) {
      const made = make("button", { type: "button", class: kind, "aria-pressed": "false", title: label }, ...content);
      made.addEventListener("click", () => choose(made, build));
      return made;
    }
    function name(row, rows, ...content) {
      const made = make("div", { class: "lane-name" }, ...content);
      made.style.gridRow = row + " / span " + rows;
      made.style.gridColumn = "1";
      return made;
    }
    const names = [...new Set([...team.agents.map((agent) => agent.name), ...play.runs.map((run) => run.agent)])];
    const rowsOf = names.map((one) => { const own = play.runs.filter((run) => run.agent === one); return [own, levels(own)]; });
    const all = 1 + rowsOf.reduce((sum, [, level]) => sum + Math.max(1, ...level.map((n) => n + 1)), 0);
    play.rounds.forEach((round, index) => grid.append(at(make("div", { class: index % 2 ? "band odd" : "band" }), 1, all, round.from, Math.max(round.to, round.from + 1))));
    grid.append(name(1, 1, make("strong", {}, t("js_team_manager"))));
    let first = null;
    for (const round of play.rounds) {
      const verdict = team.rounds.find(([id]) => id === round.id), passed = verdict && verdict[1];
      const refused = team.refusals.filter(([where, who]) => where === round.id && who === "main").length;
      const made = button("round " + (passed ? "passed" : "failed"), round.id, () => roundBox(team, round), make("span", {}, round.id), make("span", { class: "sign", "aria-hidden": "true" }, passed ? "✓" : "✗"), make("span", { class: "sr" }, t(passed ? "js_team_passed" : "js_team_failed")), ...(refused ? [make("span", { class: "flag" }, "!" + refused)] : []));
      grid.append(at(made, 1, 1, round.from, Math.max(round.to, round.from + 1)));
      if (first === null || (!passed && !first[2])) first = [made, round, !passed];
    }
    let row = 2;
    names.forEach((one, index) => {
      const [own, level] = rowsOf[index], deep = Math.max(1, ...level.map((n) => n + 1)), agent = team.agents.find((found) => found.name === one);
      const label = agent ? button("agent", one, () => agentBox(agent), make("bdi", {}, one), chip("", agent.key), ...(agent.refused ? [make("span", { class: "flag" }, "!" + agent.refused)] : [])) : make("bdi", {}, one);
      grid.append(name(row, deep, label));
      if (!own.length) grid.append(at(make("span", { class: "idle soft" }, t("js_team_never")), row, 1, 0, ticks));
      own.forEach((run, place) => grid.append(at(button("run" + (run.ended ? "" : " open") + (agent ? " key-" + agent.key : ""), run.agent + ", " + run.id, () => runBox(run), run.id.replace(/^run/, "")), row + level[place], 1, run.from - 1, Math.max(run.to, run.from))));
      row += deep;
    });
    if (first) choose(first[0], () => roundBox(team, first[1]));
    return [make("p", { class: "cut" }, t("js_team_lanes")), make("div", { class: "scroll lanes-scroll", tabindex: "0" }, grid), shown];
  }
  function workflow(one) {
    const box = make("details", { class: "body" }, make("summary", {}, t("js_team_workflow", { id: one.id })));
    for (const [key, value] of [["js_team_script", one.script], ["js_team_log", one.log.join("\n")], ["js_team_returned", one.result]]) if (value !== "") box.append(make("p", { class: "what" }, t(key)), text(value));
    return box;
  }

  /* --- a play --- */
  function brief(row) {
    const team = row.team, told = [];
    if (team.rounds.length) told.push(t("js_team_rounds", { k: team.rounds.filter(([, passed]) => passed).length, n: team.rounds.length }), t("js_team_agents", { n: team.agents.length }));
    if (team.refusals.length) told.push(t("js_team_forbidden", { n: team.refusals.length }));
    return make("span", { class: "brief" }, ...told.flatMap((part, index) => index ? [" · ", part] : [part]));
  }
  function play(row, open) {
    const run = data.runs[row.run], verdict = row.kind === "right" ? "yes" : row.kind === "unanswered" ? "none" : "";
    const name = make("span", { class: "name" }, make("bdi", {}, run.name));
    if (row.repeat > 1 || run.repeats > 1) name.append(" ", make("span", { class: "where" }, t("js_repeat", { n: row.repeat })));
    const box = make("details", { class: "play", open }, make("summary", {}, name, make("span", { class: "short soft", dir: "auto" }, row.why), make("span", { class: "verdict " + verdict }, t(row.kind === "right" ? "js_team_all" : "kind_" + row.kind)), brief(row)));
    const fill = () => {
      if (!box.open || box.childElementCount > 1) return;
      const inside = make("div", { class: "play-inside team" });
      if (row.error) inside.append(make("p", { class: "callout bad" }, t("js_no_play", { why: row.error })));
      else if (!row.team.play) inside.append(make("p", { class: "cut" }, t("js_no_transcript")));
      else {
        inside.append(...lanes(row.team), ...row.team.play.workflows.map(workflow));
        const told = text(row.team.play.system);
        if (told) inside.append(make("details", { class: "body" }, make("summary", {}, t("js_team_system")), told));
      }
      if (row.labels.length) inside.append(make("p", { class: "cut" }, t("js_labels"), ": ", row.labels.join(", ")));
      box.append(inside);
    };
    box.addEventListener("toggle", fill);
    fill();
    return box;
  }
  function inside(task, rows, wanted) {
    return make("div", { class: "inside" }, make("div", { class: "plays" }, ...rows.map((row) => play(row, rows.length === 1 || row.run === wanted))));
  }
  return { inside };
}
