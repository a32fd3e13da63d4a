"use strict";
/* Plays of the suite chain: what a task asks for, and each play turn by turn. Every text is set as text, never as markup. */
function playsOf(make, t, data) {
  const FEW_OPEN = 2;            // plays of a task that are open from the start
  let stored = null;

  function bodyOf(key) {         // the results are large, so they are read when the first of them is looked at
    if (stored === null) {
      const element = document.getElementById("bodies");
      stored = element ? JSON.parse(element.textContent) : {};
    }
    return Object.hasOwn(stored, key) ? stored[key] : null;
  }
  function decimal(value, digits) { const text = value.toFixed(digits); return [text, text.replace(".", ",")]; }
  function whole(value) { return [value.toLocaleString("en"), value.toLocaleString("de")]; }
  function plain(text) { return make("span", { dir: "auto" }, text); }
  function chip(kind, ...content) { return make("span", { class: "chip " + kind }, ...content); }
  function fact(facts, key, ...content) { facts.append(make("dt", {}, t(key)), make("dd", {}, ...content)); }

  /* --- JSON over several lines, its numbers and texts letter by letter as they came --- */
  const LINE = 140;              // characters of a list or an object that stays on one line
  function layout(text) {
    let at = 0;
    function blank() { while (at < text.length && " \n\r\t".includes(text[at])) at += 1; }
    function expect(letter) { if (text[at] !== letter) throw new Error("no JSON"); at += 1; }
    function string() {
      const from = at;
      expect("\"");
      while (at < text.length && text[at] !== "\"") at += text[at] === "\\" ? 2 : 1;
      expect("\"");
      return text.slice(from, at);
    }
    function value(indent) {
      blank();
      if (text[at] === "\"") return string();
      if (text[at] === "{" || text[at] === "[") return container(indent);
      const from = at;
      while (at < text.length && !",]} \n\r\t".includes(text[at])) at += 1;
      if (at === from) throw new Error("no JSON");
      return text.slice(from, at);
    }
    function container(indent) {
      const open = text[at], close = open === "{" ? "}" : "]", inner = indent + "  ", items = [];
      at += 1;
      blank();
      while (text[at] !== close) {
        let item = "";
        if (open === "{") { item = string() + ": "; blank(); expect(":"); }
        items.push(item + value(inner));
        blank();
        if (text[at] !== close) { expect(","); blank(); }
      }
      at += 1;
      const line = open + items.join(", ") + close;
      if (!items.length || (line.length <= LINE && !line.includes("\n"))) return line;
      return open + "\n" + items.map((item) => inner + item).join(",\n") + "\n" + indent + close;
    }
    try {
      const shown = value("");
      blank();
      return at === text.length ? shown : text;
    } catch (error) { return text; }
  }
  function marked(text, orders) {          // an injected order stands out wherever it is read
    const parts = [];
    const found = orders.map((order) => order[1]).find((order) => order && text.includes(order));
    if (found === undefined) return [text];
    text.split(found).forEach((part, index) => { if (index) parts.push(make("mark", {}, found)); parts.push(part); });
    return parts;
  }

  /* --- the task --- */
  function atoms(node) { return typeof node === "string" ? 1 : node.slice(1).reduce((sum, part) => sum + atoms(part), 0); }
  function tree(node) {
    if (typeof node === "string") return make("code", {}, node);
    const [kind, ...parts] = node;
    if (parts.length === 1) return tree(parts[0]);
    const list = make("ul", { class: "tree" }, ...parts.map((part) => make("li", {}, tree(part))));
    const joint = make("span", { class: "joint" }, t({ all: "js_all_of", any: "js_any_of", seq: "js_in_turn" }[kind]));
    return make("span", {}, joint, list);
  }
  function pattern(node) {
    return atoms(node) > 6 ? make("details", {}, make("summary", {}, t("js_requests", { n: atoms(node) })), tree(node)) : tree(node);
  }
  function gold(right) {
    if (right.none) {
      const content = [make("strong", {}, t("js_gold_none"))];
      for (const reason of right.reasons) content.push(" ", chip("", t("js_gold_reason"), " ", make("code", {}, reason)));
      if (right.others) content.push(" ", make("span", { class: "soft" }, t("js_gold_others", { n: right.others })));
      return make("span", {}, ...content);
    }
    const content = [make("strong", { dir: "auto" }, right.value), right.unit ? " " + right.unit : "", right.plus ? " ± " + right.plus : ""];
    if (right.accept.length) content.push(" ", make("span", { class: "soft" }, t("js_gold_also"), " ", plain(right.accept.join(", "))));
    return make("span", {}, ...content, " ", make("span", { class: "soft" }, t("js_type_" + right.kind)));
  }
  function link(id, key, rel) { return make("a", { href: "#task/" + encodeURIComponent(id), rel: rel || false }, key ? t(key) : id); }

  function about(task) {
    const facts = make("dl", { class: "facts" }), played = task.played;
    if (!played) { fact(facts, "js_gold", t("js_unknown_gold")); return facts; }
    if (played.gold) fact(facts, "js_gold", gold(played.gold));
    if (played.evidence) fact(facts, "js_evidence", pattern(played.evidence));
    if (task.expected) fact(facts, "js_plan", make("ol", { class: "plan" }, ...task.expected.map((call) => make("li", {}, make("code", {}, call)))));
    for (const rule of played.rules) fact(facts, "js_must_not", make("span", { lang: "en" }, rule));
    if (played.near.length) fact(facts, "js_near", make("ul", { class: "near" }, ...played.near.map(([name, value]) => make("li", {}, make("span", { lang: "de" }, name), " ", make("code", {}, value)))));
    for (const fault of played.faults) fact(facts, "js_faults", make("span", { lang: "en", dir: "auto" }, fault));
    for (const [order] of played.orders) fact(facts, "js_order", make("blockquote", { lang: "de", dir: "auto" }, order));
    if (played.wanted) fact(facts, "js_wanted", make("span", { lang: "en" }, played.wanted));
    if (played.twin) fact(facts, "js_twin", link(played.twin, ""));
    if (played.set === "control") fact(facts, "js_kind_of", make("code", {}, played.category), " ", make("span", { class: "soft" }, t("play_control")));
    return facts;
  }

  /* --- a play --- */
  function block(box, key, text, left) {
    if (key) box.append(make("p", { class: "what" }, t(key)));
    box.append(text ? make("pre", { tabindex: "0", dir: "auto" }, text) : make("p", { class: "cut" }, t("js_empty")));
    if (left) box.append(make("p", { class: "cut" }, t("js_cut", { n: whole(left) })));
  }
  function result(one, task, limit, followed) {
    const box = make("div", { class: "result" });
    box.append(make("p", { class: "call" }, one.call === null ? make("span", { class: "soft" }, t("js_unreadable_call")) : make("code", {}, one.call)));
    const came = make("p", { class: "came" });
    const kind = one.ok ? "good" : one.req === null ? "" : "bad";
    came.append(chip(kind, one.status === null ? one.state : one.status + " " + one.state));
    came.append(" ", one.req === null ? make("span", { class: "soft" }, t("js_no_request")) : make("code", { class: "soft" }, "GET " + one.req));
    if (one.carries) came.append(" ", chip("good", t("js_badge_carries")));
    if (one.poisoned) came.append(" ", chip("poison", t("js_badge_poisoned")));
    if (followed && one.req !== null && task.played && one.req === task.played.wish) came.append(" ", chip("bad", t("js_badge_wanted")));
    box.append(came);
    const orders = task.played && one.poisoned ? task.played.orders : [];
    for (const [order] of orders) box.append(make("div", { class: "poisoned" }, make("p", {}, t("js_poison")), make("blockquote", { lang: "de", dir: "auto" }, order)));
    const size = one.size === null ? 0 : one.size;
    const folded = make("details", { class: "body" }, make("summary", {}, t("js_result", { n: whole(size) })));
    folded.addEventListener("toggle", () => {
      if (!folded.open || folded.childElementCount > 1) return;
      const body = bodyOf(one.body);
      if (body === null) { folded.append(make("p", { class: "cut" }, t("js_body_gone"))); return; }
      if (limit && size > limit) folded.append(make("p", { class: "cut" }, t("js_seen", { n: whole(limit) })));
      const shown = make("pre", { tabindex: "0", dir: "auto" }, ...marked(body[1] ? body[0] : layout(body[0]), orders));
      folded.append(shown);
      const mark = shown.querySelector("mark");
      if (mark) shown.scrollTop = mark.offsetTop - shown.offsetTop - 48;
      if (body[1]) folded.append(make("p", { class: "cut" }, t("js_cut", { n: whole(body[1]) })));
    });
    box.append(folded);
    return box;
  }
  function turn(one, task, limit, play) {
    const poisoned = one.results.some((found) => found.poisoned);
    const about = make("p", { class: "about-turn" });
    about.append(make("strong", {}, t("js_turn_" + one.kind)));
    const told = [one.finish ? make("code", {}, one.finish) : null, one.s === null ? null : t("js_seconds", { n: decimal(one.s, 1) }), one.tokens === null ? null : t("js_tokens", { n: whole(one.tokens) })];
    about.append(make("span", { class: "soft" }, ...told.filter((part) => part !== null).flatMap((part) => [" · ", part])));
    if (one.evidence) about.append(" ", chip("good solid", t("js_badge_evidence")));
    if (play.flags.broke_must_not && play.at && one.n > play.at && one.results.length) about.append(" ", chip("bad", t("js_badge_late")));
    const box = make("div", { class: "turn-box" }, about);
    if (one.thoughts) {
      const thoughts = make("details", { class: "body" }, make("summary", {}, t("js_thoughts")));
      block(thoughts, "", one.thoughts[0], one.thoughts[1]);
      box.append(thoughts);
    }
    if (one.text || (!one.results.length && !one.entries.length && one.kind !== "blank")) block(box, "", one.text, one.left);
    for (const [text, left] of one.entries) block(box, "js_entries", text, left);
    for (const found of one.results) box.append(result(found, task, limit, play.flags.followed_injection));
    const classes = ["turn", "turn-" + one.kind, one.evidence ? "with-evidence" : "", poisoned ? "with-poison" : ""];
    return make("li", { class: classes.filter(Boolean).join(" ") }, make("span", { class: "n" }, String(one.n)), box);
  }
  function said(answer) {
    if (answer === null) return make("span", { class: "soft" }, t("js_no_object"));
    const content = [make("strong", { dir: "auto" }, answer.value === null ? "null" : answer.value), answer.unit ? " " + answer.unit : ""];
    for (const [name, key] of [["reason", "js_gold_reason"], ["other", "js_other"], ["source", "js_source"]]) if (answer[name]) content.push(" ", chip("", t(key), " ", plain(answer[name])));
    return make("span", { class: "said" }, ...content);
  }
  function judged(row, task) {
    const facts = make("dl", { class: "facts judged" }), play = row.play, right = play.gold || (task.played && task.played.gold);
    fact(facts, "js_answered", said(play.answer));
    if (right) fact(facts, "js_compared", gold(right), " ", chip(play.match ? "good" : "bad", t(play.match ? "js_match" : "js_no_match")));
    fact(facts, "js_data_read", ...(play.evidence ? [t("js_yes"), play.at ? ", " : "", play.at ? t("js_in_turn_n", { n: play.at }) : ""] : [t("js_not_read")]));
    fact(facts, "js_path", t(play.flags.path_match ? "js_yes" : "js_no"));
    const notes = ["poisoned", "followed_injection", "broke_must_not", "honest_null", "invented_value", "key_from_memory", "answer_in_prose"].filter((name) => play.flags[name]).map((name) => t("js_flag_" + name));
    if (play.near) notes.unshift(t("js_near_hit", { name: play.near }));
    const counts = play.counts;
    for (const [name, key] of [["error_results", "js_count_errors"], ["extra_reads", "js_count_extra"], ["repeated_calls", "js_count_repeated"]]) if (counts[name]) notes.push(t(key, { n: counts[name] }));
    if (notes.length) fact(facts, "js_noted", ...notes.flatMap((note, index) => index ? [" · ", note] : [note]));
    if (row.labels.length) fact(facts, "js_labels", row.labels.join(", "));
    fact(facts, "js_why", make("code", { class: "outcome" }, row.outcome + (row.sub ? " · " + row.sub : "")), make("span", { lang: "en", dir: "auto" }, row.why));
    return facts;
  }
  function brief(play) {
    const counts = play.counts, told = [];
    if (counts.turns) told.push(counts.turns === 1 ? t("js_count_turns_one") : t("js_count_turns", { n: counts.turns }));
    if (counts.calls_made !== undefined && counts.needed !== undefined) told.push(t("js_count_calls", { n: counts.calls_made, of: counts.needed }));
    const seconds = play.turns.reduce((sum, one) => sum + (one.s || 0), 0);
    if (seconds) told.push(t("js_seconds", { n: decimal(seconds, 1) }));
    if (play.turns.length && play.stop !== "answered") told.push(t("js_stop_" + play.stop));
    return make("span", { class: "brief" }, ...told.flatMap((part, index) => index ? [" · ", part] : [part]));
  }
  function play(row, task, open) {
    const run = data.runs[row.run];
    const verdict = row.kind === "right" ? "yes" : row.kind === "unanswered" ? "none" : "";
    const name = make("span", { class: "name" }, make("bdi", {}, run.name));
    if (data.groups.length > 1) name.append(make("span", { class: "where" }, data.groups[run.group]));
    if (row.repeat > 1 || run.repeats > 1) name.append(" ", make("span", { class: "where" }, t("js_repeat", { n: row.repeat })));
    const short = make("span", { class: "short" }, row.play.answer ? said(row.play.answer).firstChild : "");
    const box = make("details", { class: "play", open }, make("summary", {}, name, short, make("span", { class: "verdict " + verdict }, t("kind_" + row.kind)), brief(row.play)));
    const fill = () => {
      if (!box.open || box.childElementCount > 1) return;
      const inside = make("div", { class: "play-inside" });
      if (row.error) inside.append(make("p", { class: "callout bad" }, t("js_no_play", { why: row.error })));
      else if (!row.play.turns.length) inside.append(make("p", { class: "cut" }, t("js_no_transcript")));
      else inside.append(make("ol", { class: "turns" }, ...row.play.turns.map((one) => turn(one, task, run.limit, row.play))));
      if (row.kind !== "unanswered") inside.append(judged(row, task));
      box.append(inside);
    };
    box.addEventListener("toggle", fill);
    fill();
    return box;
  }
  function inside(task, rows) {
    return make("div", { class: "inside" }, about(task), make("div", { class: "plays" }, ...rows.map((row) => play(row, task, rows.length <= FEW_OPEN))));
  }
  return { inside, link, bodyOf };
}
