
"use strict";
/* Everything that was said in the run goes into the page as text (textContent), never as markup. */
const data = JSON.parse(document.getElementById("data").textContent);
const CUT = 4000;
const MARKS = {loop: "\u25CF", request: "?", call: "\u0192", fork: "\u22D4", join: "\u22C8", handoff: "\u21E2", note: "\u00B7"};
const GOOD = ["ok", "answered", "finished"], BAD = ["error", "failed", "cancelled", "stopped", "declined", "cut off"];
const HUES = [212, 28, 275, 158, 340, 95, 188, 48];

const make = (tag, kind, ...inside) => {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  for (const each of inside) if (each !== null && each !== undefined && each !== "") made.append(each);
  return made;
};
const $ = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en-US");
const things = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
const time = (s) => s === null ? "" : s < 100 ? `${s.toFixed(1)} s` : `${count(Math.round(s))} s`;

/* -- agents have colours, in the order in which they appear */
const hues = new Map();
const hue = (agent) => {
  if (!hues.has(agent)) hues.set(agent, HUES[hues.size % HUES.length]);
  return hues.get(agent);
};
const chip = (agent) => {
  const made = make("span", "agent", agent);
  made.style.setProperty("--hue", hue(agent.split(" \u2192 ")[0]));
  made.title = agent;
  return made;
};

/* -- the tree */
const rows = data.rows, byName = new Map(rows.map((row, at) => [row.name, at]));
const parents = rows.map((row) => row.parent === null ? -1 : byName.get(row.parent) ?? -1);
const children = rows.map(() => []);
parents.forEach((parent, at) => { if (parent >= 0) children[parent].push(at); });
const open = rows.map(() => true), elements = [];
let picked = 0;
const total = data.seconds || 0;

/* whose a row is: its loop's agent, until another one owns a row of that loop */
const loops = [], control = new Map(), owners = [];
rows.forEach((row, at) => {
  loops[at] = row.kind === "loop" ? at : parents[at] < 0 ? -1 : loops[parents[at]];
  const named = row.kind === "loop" ? row.facts[0].split(" \u2192 ")[0] : row.agent;
  if (named) control.set(loops[at], named);
  owners[at] = control.get(loops[at]) ?? null;
});

const badge = (state) => state && make("span", `state ${GOOD.includes(state) ? "good" : BAD.some((bad) => state.startsWith(bad)) ? "bad" : ""}`, state);

rows.forEach((row, at) => {
  const line = make("div", `row ${row.kind}${row.slowest ? " slowest" : ""}`);
  line.id = `row${at}`;
  line.setAttribute("role", "treeitem");
  line.setAttribute("aria-level", row.depth + 1);
  line.setAttribute("aria-selected", "false");
  if (children[at].length) line.setAttribute("aria-expanded", "true");
  if (owners[at]) line.style.setProperty("--hue", hue(owners[at]));
  const indent = make("span", "indent");
  indent.style.setProperty("--depth", row.depth <= 12 ? row.depth : 12 + Math.min(row.depth - 12, 40) * 0.2);
  const said = make("span", "said", row.text);
  said.dir = "auto";
  const agent = row.kind === "loop" ? row.facts[0] : row.agent;
  const mark = make("span", "mark", MARKS[row.kind]);
  mark.setAttribute("aria-hidden", "true");
  line.append(
    make("span", "what", indent, make("span", "twisty"), mark, make("span", "label", row.label),
      agent ? chip(agent) : null, said, row.slowest ? make("span", "state slow", "slowest") : null, badge(row.state)),
    make("span", "time", time(row.seconds)),
    make("span", "track"));
  if (total && row.start !== null && row.seconds !== null) {
    const bar = make("span", "bar");
    bar.style.left = `${100 * row.start / total}%`;
    bar.style.width = `${Math.min(100 * row.seconds / total, 100 - 100 * row.start / total)}%`;
    line.lastChild.append(bar);
  }
  line.addEventListener("click", (event) => {
    if (event.target.classList.contains("twisty") && children[at].length) toggle(at, !open[at]);
    else pick(at);
  });
  line.addEventListener("dblclick", () => { if (children[at].length) toggle(at, !open[at]); });
  elements.push(line);
});

const shown = (at) => { for (let up = parents[at]; up >= 0; up = parents[up]) if (!open[up]) return false; return true; };
const refresh = () => {
  const visible = [];
  rows.forEach((_, at) => {
    visible[at] = parents[at] < 0 || (visible[parents[at]] && open[parents[at]]);
    elements[at].hidden = !visible[at];
  });
};
const toggle = (at, now) => {
  open[at] = now;
  elements[at].setAttribute("aria-expanded", String(now));
  refresh();
  if (!shown(picked)) pick(at);
};
const step = (at, by) => {
  let next = at + by;
  while (next >= 0 && next < rows.length && elements[next].hidden) next += by;
  return next >= 0 && next < rows.length ? next : at;
};
const pick = (at, {quiet = false} = {}) => {
  elements[picked].setAttribute("aria-selected", "false");
  picked = at;
  for (let up = parents[at]; up >= 0; up = parents[up]) if (!open[up]) toggle(up, true);
  elements[at].setAttribute("aria-selected", "true");
  $("tree").setAttribute("aria-activedescendant", elements[at].id);
  elements[at].scrollIntoView({block: "nearest"});
  if (!quiet) try { history.replaceState(null, "", `#${encodeURIComponent(rows[at].name)}`); } catch { /* a page without an address */ }
  detail(at);
};
const go = (name) => { if (byName.has(name)) { pick(byName.get(name)); $("tree").focus(); } };

$("tree").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = picked;
  const keys = {
    ArrowDown: () => pick(step(at, 1)),
    ArrowUp: () => pick(step(at, -1)),
    ArrowRight: () => { if (children[at].length) { if (!open[at]) toggle(at, true); else pick(children[at][0]); } },
    ArrowLeft: () => { if (children[at].length && open[at]) toggle(at, false); else if (parents[at] >= 0) pick(parents[at]); },
    Home: () => pick(0),
    End: () => pick(step(rows.length, -1)),
    PageDown: () => { let to = at; for (let n = 0; n < 10; n++) to = step(to, 1); pick(to); },
    PageUp: () => { let to = at; for (let n = 0; n < 10; n++) to = step(to, -1); pick(to); },
    Enter: () => { $("detail").focus(); },
    " ": () => { $("detail").focus(); },
    "*": () => { rows.forEach((_, each) => { if (children[each].length) { open[each] = true; elements[each].setAttribute("aria-expanded", "true"); } }); refresh(); },
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
$("detail").addEventListener("keydown", (event) => { if (event.key === "Escape") $("tree").focus(); });
window.addEventListener("hashchange", () => { const name = decoded(); if (byName.has(name)) pick(byName.get(name), {quiet: true}); });
const decoded = () => { try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; } };

/* -- what can be read about a row */
const block = (text, kind = "") => {
  const made = make("pre", `block ${kind}`);
  made.dir = "auto";
  if (text.length <= CUT * 1.25) { made.textContent = text; return made; }
  made.textContent = `${text.slice(0, CUT)}\u2026`;
  const more = make("button", "more", `Show all ${count(text.length)} characters`);
  more.type = "button";
  more.addEventListener("click", () => { made.textContent = text; more.remove(); made.tabIndex = -1; made.focus(); });
  return make("div", "", made, more);
};
const title = (text, small) => make("h3", "", text, small ? make("small", "", small) : null);
const facts = (pairs) => {
  const made = make("dl");
  for (const [name, value] of pairs || []) made.append(make("dt", "", name), make("dd", "", value));
  return made;
};
const link = (text, name) => {
  if (name === null || !byName.has(name)) return document.createTextNode(text);
  const made = make("button", "link", text);
  made.type = "button";
  made.addEventListener("click", () => go(name));
  return made;
};
const HEADS = {call: "calls", result: "result of", error: "error from", thinking: "thinking", refusal: "declined", media: "shows", summary: "summary", elsewhere: "history held elsewhere", data: "item"};
const part = (each) => {
  const made = make("div", `part ${each.kind}`);
  if (HEADS[each.kind]) made.append(make("div", "head", `${HEADS[each.kind]} `, each.head ? make("b", "", each.head) : null, each.id ? ` ${each.id}` : null));
  made.append(block(each.text));
  return made;
};
const ROLES = ["user", "assistant", "tool", "system", "developer"];
const message = (number, from) => {
  const each = data.messages[number];
  const made = make("div", `message ${ROLES.includes(each.role) ? each.role : ""}`);
  made.append(make("div", "who", each.name ? `${each.role} \u00B7 ${each.name}` : each.role,
    from && from.has(number) ? make("span", "state", "inherited") : null, make("small", "", each.id)));
  if (!each.parts.length) made.append(block(""));
  for (const one of each.parts) made.append(part(one));
  return made;
};
const tool = (number) => {
  const spec = data.specs[number], made = make("details");
  made.append(make("summary", "", make("code", "", spec.name), make("span", "", ` ${spec.description.split("\n")[0].slice(0, 90)}`)));
  made.append(make("p", "words", spec.description), block(JSON.stringify(spec.parameters, null, 2)));
  return made;
};
const numbered = (ranges) => ranges.flatMap(([from, to]) => Array.from({length: to - from + 1}, (_, n) => from + n));
const messages = (numbers, from) => {
  const list = make("div"), FIRST = 60;
  const all = () => list.replaceChildren(...numbers.map((number) => message(number, from)));
  if (numbers.length <= FIRST) { all(); return list; }
  const more = make("button", "more", `Show ${things(numbers.length - FIRST, "message")} in between`);
  more.type = "button";
  more.addEventListener("click", all);
  list.append(...numbers.slice(0, FIRST / 2).map((number) => message(number, from)), more,
    ...numbers.slice(-FIRST / 2).map((number) => message(number, from)));
  return list;
};
const heirloom = (at) => {
  const given = loops[at] < 0 ? null : (rows[loops[at]].about || {}).inherited;
  return new Set(given ? given.layers.flatMap((layer) => numbered(layer.passed)) : []);
};
const sent = (request, into, from) => {
  into.append(title("Instructions"));
  if (data.unknown.includes("instructions") && !request.system) into.append(make("p", "none", "The file does not say."));
  else into.append(block(request.system));
  if (request.section) into.append(title("Inherited conversation", "a section of the instructions"), block(request.section, "section"));
  if (request.after.trim()) into.append(title("Instructions", "behind the section"), block(request.after));
  const numbers = numbered(request.messages);
  into.append(title("Messages", things(numbers.length, "message")), messages(numbers, from));
  into.append(title("Tools", data.unknown.includes("tools") ? "the file does not say" : things(request.tools.length, "tool")));
  for (const number of request.tools) into.append(tool(number));
  if (request.tail) into.append(title("At the tail", "true only then"), block(request.tail));
};
const inherited = (given, into, heading = "Inherited") => {
  into.append(title(heading, given.path || ""));
  const said = [["choice", given.choice], ["by", given.chooser]];
  if (given.requested) said.push(["asked for", given.requested]);
  if (given.offered.length) said.push(["on offer", given.offered.join(", ")]);
  said.push(["passed on", given.layers.length ? `${things(given.messages, "message")}, about ${count(given.tokens)} tokens` : "nothing: it started cold"]);
  if (given.nothing) said.push(["but", given.nothing]);
  into.append(facts(said));
  if (!given.layers.length) return;
  const table = make("table"), head = make("tr");
  head.append(make("th", "", "conversation of"), make("th", "n", "messages"), make("th", "n", "left out"), make("th", "n", "tokens"));
  table.append(head);
  for (const layer of given.layers) {
    const row = make("tr");
    row.append(make("td", "", layer.agent || "the person"), make("td", "n", count(layer.messages)), make("td", "n", layer.leftOut ? count(layer.leftOut) : ""), make("td", "n", count(layer.tokens)));
    table.append(row);
  }
  into.append(table);
  for (const layer of given.layers) {
    const made = make("details"), numbers = numbered(layer.passed);
    if (!numbers.length) continue;
    made.append(make("summary", "", `what was said in the conversation of ${layer.agent || "the person"}`));
    made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) made.append(messages(numbers)); });
    into.append(made);
  }
};
const branches = (about, into) => {
  into.append(title("Branches", `${about.context} context`));
  const table = make("table"), head = make("tr");
  for (const [name, kind] of [["branch", ""], ["agent", ""], ["status", ""], ["time", "n"]]) head.append(make("th", kind, name));
  table.append(head);
  for (const each of about.branches) {
    const row = make("tr");
    row.append(make("td", "", link(each.name, each.loop)), make("td", "", chip(each.agent)),
      make("td", "", badge(each.status), each.slowest ? make("span", "state slow", "slowest") : null), make("td", "n", time(each.seconds)));
    table.append(row);
  }
  into.append(table);
};
const detail = (at) => {
  const row = rows[at], about = row.about || {}, into = $("detail");
  into.replaceChildren();
  into.scrollTop = 0;
  const agent = row.kind === "loop" ? row.facts[0] : owners[at];
  into.append(make("h2", "", row.label, agent ? chip(agent) : null, badge(row.state), row.slowest ? make("span", "state slow", "slowest") : null));
  const pairs = [...about.facts || []];
  if (row.seconds !== null) pairs.push(["time", time(row.seconds)]);
  into.append(facts(pairs));
  if (about.request !== undefined) into.append(title(row.label.startsWith("branch") ? "Its assignment" : "What it was asked"), block(about.request));
  if (about.inherited) inherited(about.inherited, into);
  if (about.branches) branches(about, into);
  if (row.kind === "fork") for (const each of about.branches) into.append(title(`Instructions of ${each.name}`), block(each.instructions));
  if (row.kind === "join") for (const each of about.branches) into.append(title(`${each.name} (${each.status})`), block(each.text));
  if (about.arguments !== undefined && row.kind !== "fork") into.append(title("Arguments"), block(about.arguments));
  for (const each of about.delegations || []) inherited(each, into, "Delegated");
  if (about.result !== undefined && about.result !== null) into.append(title(about.failed ? "Error" : "Result", row.kind === "fork" ? "as the agent reads it" : ""), block(about.result));
  if (about.answer !== undefined && about.answer !== null) into.append(title("What it ended with"), block(about.answer));
  if (row.kind === "loop" && about.sentIn) into.append(make("hr"), title("What it was sent first"), link("see the request in its place", about.sentIn));
  if (about.reply) { into.append(title("Reply")); const made = make("div", "message assistant"); if (!about.reply.length) made.append(block("")); for (const one of about.reply) made.append(part(one)); into.append(made); }
  if (about.sent) sent(about.sent, into, heirloom(at));
  else if (about.sent === null) into.append(make("p", "none", "What was sent is not in the file."));
  if (about.said) into.append(title("Said"), block(about.said));
};

/* -- the head, the ruler, and the first row */
const fact = (value, what) => value ? make("span", "fact", make("b", "", value), what ? ` ${what}` : null) : null;
$("head").append(
  make("h1", "", data.source),
  ...[fact(time(data.seconds), ""), fact(data.tokens, "tokens"), fact(count(rows.filter((row) => row.kind === "loop").length), "loops"),
    fact(Object.entries(data.tools).slice(0, 6).map(([name, n]) => `${name} \u00D7${n}`).join(" \u00B7 "), ""),
    data.unknown.length ? make("span", "fact", `not in the file: ${data.unknown.join(", ")}`) : null].filter(Boolean),
  make("span", "keys", make("kbd", "", "\u2191\u2193"), " move ", make("kbd", "", "\u2190\u2192"), " fold ", make("kbd", "", "Enter"), " read ", make("kbd", "", "Esc"), " back"));
const ticks = make("span", "ticks");
if (total) for (let n = 0; n <= 2; n++) {
  const tick = make("span", "", time(total * n / 2));
  tick.style.left = `${50 * n}%`;
  ticks.append(tick);
}
$("ruler").append(make("span", "", ""), make("span", "right", total ? "took" : ""), ticks);
$("tree").append(...elements);
$("main").hidden = false;
if (rows.length) pick(byName.get(decoded()) ?? 0, {quiet: true});
else $("detail").append(make("p", "none", "The file holds no loop."));
$("tree").focus({preventScroll: true});
