// The workbench. Everything it shows and does goes through REST, with the token in a header.
// What memory holds becomes text nodes and nothing else: there is no way here from a text to markup.
"use strict";

// ---- the page's own pieces

function h(tag, given, ...inner) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const one of inner.flat(3)) {
    if (one === null || one === undefined || one === false || one === "") continue;
    node.append(one instanceof Node ? one : document.createTextNode(String(one)));
  }
  return node;
}
const $ = (name) => document.getElementById(name);
const put = (node, ...inner) => { node.replaceChildren(...inner.flat(3).filter((one) => one !== null && one !== undefined && one !== false)); return node; };
const chip = (text, kind) => text ? h("span", { class: `chip ${kind || ""}` }, text) : null;
const soft = (...inner) => h("span", { class: "soft" }, ...inner);
const when = (stamp) => {
  if (!stamp) return "";
  const date = new Date(stamp);
  return Number.isNaN(date.getTime()) ? String(stamp)
    : h("time", { datetime: stamp, title: stamp }, date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }));
};
const bytes = (size) => size < 1024 ? `${size} B` : size < 1048576 ? `${(size / 1024).toFixed(1)} KB` : `${(size / 1048576).toFixed(1)} MB`;
const count = (number) => Number(number || 0).toLocaleString();
const link = (path, text) => h("a", { href: `#/tree?${new URLSearchParams({ path })}`, class: "path" }, text || path);
const fill = (part, color) => { const bar = h("div", { class: "fill" }); bar.style.width = `${Math.max(0, Math.min(1, part)) * 100}%`; if (color) bar.style.background = color; return bar; };
const track = (part, color) => h("div", { class: "track" }, fill(part, color));
const empty = (title, ...inner) => h("div", { class: "empty" }, h("h3", {}, title), ...inner);
const hint = (...inner) => h("p", {}, ...inner);
const field = (label, control) => h("label", {}, label, control);
const choose = (name, options, value) => h("select", { name }, options.map((one) => h("option", { value: one, selected: one === (value || "") }, one || "any")));

function tell(text, act, label) {
  const note = h("div", {}, text, act ? h("button", { class: "small", onclick: () => { note.remove(); act(); } }, label) : null);
  $("notes").append(note);
  setTimeout(() => note.remove(), act ? 12000 : 5000);
}

// ---- REST

const KEY = "mnemic.token";
const token = () => sessionStorage.getItem(KEY) || localStorage.getItem(KEY) || "";

class Problem extends Error {
  constructor(row, status) { super(row.detail || row.title || `status ${status}`); this.status = status; this.row = row; }
}

async function ask(method, path, body, headers) {
  let answer;
  try {
    answer = await fetch(`/api/v1${path}`, {
      method, cache: "no-store", credentials: "omit", redirect: "error",
      headers: { Authorization: `Bearer ${token()}`, ...(method === "GET" ? {} : { "Content-Type": "application/json" }), ...headers },
      body: method === "GET" ? undefined : JSON.stringify(body || {}),
    });
  } catch { throw new Problem({ detail: "mnemic does not answer: is `mnemic serve` still running?" }, 0); }
  const row = await answer.json().catch(() => ({}));
  if (answer.status === 401) { signIn(); throw new Problem(row, 401); }
  if (!answer.ok) throw new Problem(row, answer.status);
  if (answer.headers.get("etag")) Object.defineProperty(row, "etag", { value: answer.headers.get("etag") });
  return row;
}
const query = (given) => new URLSearchParams(Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined)).toString();
const get = (path, given) => ask("GET", given && query(given) ? `${path}?${query(given)}` : path);
const post = (path, body, mark) => ask("POST", path, body, mark ? { "If-Match": mark } : {});

async function long(path, told) {
  const answer = await fetch(`/api/v1${path}`, { method: "POST", body: "{}", headers: {
    Authorization: `Bearer ${token()}`, "Content-Type": "application/json", Accept: "text/event-stream" } });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", last = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/s.exec(part) || [];
      if (event === "progress") told(JSON.parse(data).done); else if (event) last = [event, JSON.parse(data)];
    }
  }
  if (!last) throw new Problem({ detail: "the work broke off: is `mnemic serve` still running?" }, 0);
  if (last[0] === "problem") throw new Problem(last[1], last[1].status);
  return last[1];
}

const failed = (error) => h("div", { class: "problem", role: "alert" }, error.message);

// ---- dialogs

function dialog(title, inner, act, label, kind) {
  const box = h("dialog", {});
  const said = h("div", {});
  const done = h("button", { class: kind === "bad" ? "bad" : "first", type: "submit" }, label);
  const form = h("form", { method: "dialog" }, h("h3", {}, title), inner, said,
    h("div", { class: "row end" }, h("button", { type: "button", onclick: () => box.close() }, "Cancel"), done));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    done.disabled = true;
    try { if (await act(Object.fromEntries(new FormData(form))) !== false) box.close(); }
    catch (error) { put(said, failed(error)); }
    finally { done.disabled = false; }
  });
  box.append(form);
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  (form.querySelector("[autofocus]") || form.querySelector("input, textarea, select"))?.focus();
  return box;
}

// Every act of a person: what is done, why, and a way back where there is one.
function human(title, about, act, { kind, fields, label } = {}) {
  dialog(title, [
    about ? h("p", { class: "soft" }, about) : null, fields || [],
    field("Why (it stands in the ledger)", h("input", { name: "reason", required: true, maxlength: 500, autocomplete: "off", autofocus: !fields })),
  ], async (given) => {
    if (!given.reason.trim()) throw new Problem({ detail: "give a reason: it stands in the ledger" }, 0);
    const done = await act(given);
    const back = done && done.seq && kind !== "forever";
    tell(`${title}: done${done && done.seq ? `, entry ${done.seq}` : ""}.`, back ? () => undo(done.seq) : null, "Undo");
    await show();
  }, label || title, kind ? "bad" : "");
}
const undo = (seq) => human(`Undo entry ${seq}`, "What the entry changed is put back; the entry stays, and a new one says that it was undone.",
  (given) => post(`/ledger/${seq}/undo`, given), { label: "Undo" });

let signing = false;
function signIn() {
  if (signing) return;
  signing = true;
  const box = dialog("Sign in", [
    h("p", {}, h("code", {}, "mnemic serve"), " has written a token into a file that only you can read, and said where: by default ", h("code", {}, "~/.mnemic/serve.token"), "."),
    field("Token", h("input", { name: "token", type: "password", required: true, autocomplete: "off", autofocus: true })),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "keep" }), "keep it in this browser"),
  ], async (given) => {
    sessionStorage.setItem(KEY, given.token.trim());
    const answer = await fetch("/api/v1/ledger?limit=1", { headers: { Authorization: `Bearer ${token()}` } });
    if (answer.status === 401) { sessionStorage.removeItem(KEY); throw new Problem({ detail: "this is not the token of this service" }, 401); }
    if (given.keep) localStorage.setItem(KEY, given.token.trim());
    setTimeout(show);
  }, "Sign in");
  box.addEventListener("close", () => { signing = false; });
}
function signOut() { sessionStorage.removeItem(KEY); localStorage.removeItem(KEY); signIn(); }

function remember() {
  dialog("Remember", [
    field("What", h("textarea", { name: "text", required: true, autofocus: true })),
    field("Title (else the first line)", h("input", { name: "title", maxlength: 200 })),
    field("When (now if empty)", h("input", { name: "at", placeholder: "2026-11-30, yesterday, …" })),
  ], async (given) => {
    const done = await post("/remember", { text: given.text, title: given.title, ...(given.at ? { at: given.at } : {}) });
    tell(`${done.status}: ${done.path || done.reason}`, done.path ? () => { location.hash = `#/tree?${query({ path: done.path })}`; } : null, "Open");
    await show();
  }, "Remember");
}

// ---- Recall

const SIGNALS = [["lexical", "words", "--s1"], ["vector", "meaning", "--s2"], ["phrase", "phrase", "--s3"], ["window", "nearby", "--s4"],
  ["session", "session", "--s5"], ["time", "time", "--s6"], ["speaker", "speaker", "--s7"], ["reply", "reply", "--s2"], ["role", "role", "--s3"]];
const shade = (name) => { const known = SIGNALS.find(([key]) => key === name); return `var(${known ? known[2] : "--s7"})`; };
const named = (name) => { const known = SIGNALS.find(([key]) => key === name); return known ? known[1] : name; };

function signals(row, largest) {
  const parts = Object.entries(row).filter(([name, value]) => value && name !== "gate").sort((a, b) => b[1] - a[1]);
  return h("div", { class: "signals" }, parts.map(([name, value]) => [
    h("span", {}, named(name)), track(value / largest, shade(name)), h("span", { class: "num" }, value.toFixed(2))]));
}
function stack(row) {
  const parts = Object.entries(row).filter(([name, value]) => value > 0 && name !== "gate");
  const whole = parts.reduce((sum, [, value]) => sum + value, 0) || 1;
  return h("span", { class: "stack", title: parts.map(([name, value]) => `${named(name)} ${value.toFixed(2)}`).join(", ") },
    parts.map(([name, value]) => { const bar = h("i"); bar.style.width = `${value / whole * 100}%`; bar.style.background = shade(name); return bar; }));
}

const MODES = { heartbeat: "what is fresh alone", normal: "what has not faded", deep: "also what has faded", creative: "a sample of what faded" };

async function recallPage(given, main) {
  const form = h("form", { role: "search" },
    h("div", { class: "row" },
      h("input", { type: "search", name: "q", class: "wide", value: given.q || "", placeholder: "Ask memory: what did we decide about …?", "aria-label": "Question", "data-search": true }),
      h("button", { class: "first" }, "Recall")),
    h("details", { open: ["within", "kinds", "since", "until", "as_of", "missing", "mode"].some((name) => given[name]) },
      h("summary", {}, "Narrow, or ask why something is missing"),
      h("div", { class: "filters" },
        field("Mode", h("select", { name: "mode" }, h("option", { value: "" }, "as set"), Object.entries(MODES).map(([name, about]) => h("option", { value: name, selected: given.mode === name }, `${name}: ${about}`)))),
        field("Below", h("input", { name: "within", value: given.within || "", placeholder: "/notes" })),
        field("Kinds", h("input", { name: "kinds", value: given.kinds || "", placeholder: "note, message, card" })),
        field("From", h("input", { name: "since", value: given.since || "", placeholder: "last month" })),
        field("Until", h("input", { name: "until", value: given.until || "" })),
        field("As known on", h("input", { name: "as_of", value: given.as_of || "", placeholder: "2026-06-01" })),
        field("Why not this path?", h("input", { name: "missing", value: given.missing || "", placeholder: "/notes/…" })))));
  form.addEventListener("submit", (event) => { event.preventDefault(); go("recall", Object.fromEntries(new FormData(form))); });
  const out = h("div", {});
  put(main, h("h1", {}, "Recall"), form, out);
  if (!given.q) {
    put(out, empty("Ask as you would ask a colleague",
      hint("Memory is searched by words, meaning and time; each hit shows the signals that put it there."),
      hint("A phrase in “quotes” must stand so. ", h("kbd", {}, "/"), " brings you back to this field, ", h("kbd", {}, "?"), " shows all keys."),
      hint("Nothing here yet? ", h("button", { class: "small", onclick: remember }, "Remember something"), " or capture a conversation: ", h("code", {}, "mnemic capture chat.jsonl"))));
    return;
  }
  put(out, h("div", { class: "loading" }));
  const began = performance.now();
  const kinds = (given.kinds || "").split(",").map((one) => one.trim()).filter(Boolean);
  const scope = Object.fromEntries([["within", given.within], ["since", given.since], ["until", given.until], ["as_of", given.as_of]].filter(([, value]) => value));
  const answer = await post("/recall", { query: given.q, scope: { ...scope, ...(kinds.length ? { kinds } : {}) }, budget: { nodes: 20, chars: 20000 },
    ...(given.mode ? { mode: given.mode } : {}), why_not: given.missing ? [given.missing] : [] });
  const largest = Math.max(1, ...answer.hits.flatMap((hit) => Object.entries(hit.signals).filter(([name]) => name !== "gate").map(([, value]) => value)));
  put(out,
    h("p", { class: "meta" }, h("span", {}, `${answer.hits.length} hits in ${Math.round(performance.now() - began)} ms`),
      answer.omitted ? h("span", {}, `${answer.omitted} more did not fit`) : null, h("span", {}, `scoring ${answer.scoring}`), answer.embedder.startsWith("hashing/") ? h("span", {}, "by words; a model adds meaning") : null),
    answer.degraded.map((why) => h("div", { class: "note" }, why)),
    (answer.why_not || []).map((one) => h("div", { class: "note" }, h("b", {}, one.path), ` fell at ${one.stage}: ${one.detail}`, Object.keys(one.signals).length ? signals(one.signals, largest) : null)),
    answer.hits.length ? null : empty("Nothing was recalled", hint(answer.reason || ""), hint("Not recorded is not the same as never happened. Try mode deep, which also asks what has faded, or fewer filters.")),
    answer.hits.map((hit, place) => hitCard(hit, largest, place === 0)));
}

function hitCard(hit, largest, first) {
  const more = h("details", { open: first }, h("summary", {}, "Why this hit"), signals(hit.signals, largest), hit.signals.gate < 1 ? h("p", { class: "small soft" }, `a gate took it down to × ${hit.signals.gate.toFixed(2)}`) : null);
  return h("article", { class: "card", "data-item": true, tabindex: "0", onkeydown: (event) => { if (event.key === "Enter" && event.target === event.currentTarget) location.hash = `#/tree?${query({ path: hit.path })}`; } },
    h("header", {}, h("h3", {}, hit.title || hit.path), chip(hit.kind), hit.tier !== "active" ? chip(hit.tier, "warn") : null, hit.origin !== "user" ? chip(hit.origin, "warn") : null,
      h("span", { class: "push row" }, stack(hit.signals), h("span", { class: "num small soft", title: "score" }, hit.score.toFixed(2)))),
    h("p", { class: "text" }, hit.text),
    h("div", { class: "meta" }, link(hit.path), h("span", {}, when(hit.created_at)), hit.speaker ? h("span", {}, hit.speaker) : null, hit.session ? h("span", {}, `session ${hit.session}`) : null),
    h("div", { class: "row" }, more, h("button", { class: "quiet small push", onclick: () => forget(hit.path) }, "Forget…")));
}

const forget = (path) => human("Forget", `${path} is hidden from recall. Nothing is deleted, and it can be undone.`, (given) => post("/forget", { path, ...given }), { kind: "bad" });
const erase = (path) => human("Erase for good", `The bytes of ${path} are removed. This cannot be undone.`, (given) => post("/forget", { path, erase: true, ...given }), { kind: "forever" });

// ---- Tree

async function treePage(given, main) {
  const side = h("div", { class: "side" }), body = h("section", { "aria-live": "polite" });
  put(main, h("h1", {}, "Tree"), h("p", { class: "soft" }, "Everything has an address: sessions, notes, files, cards, and the parts in them."), h("div", { class: "split" }, side, body));
  const roots = await branch("", given.path || "");
  put(side, roots || empty("The tree is empty", hint("Remember a note (", h("kbd", {}, "n"), ") or put Markdown files into the vault.")));
  if (given.path) await pagePart(given.path, body);
  else put(body, empty("Open a node on the left", hint("You see its text, where it belongs, and its history. Reading here counts as no use; Open does, so that what you use fades later.")));
}

async function branch(path, chosen, cursor) {
  const found = await get("/tree", { path, depth: 1, limit: 200, cursor });
  const rows = found.items.filter((row) => row.path !== path);
  if (!rows.length && !cursor) return null;
  const list = h("ul", { class: "tree", role: "group" });
  for (const row of rows) list.append(await twig(row, chosen));
  if (found.next) {
    const more = h("li", {}, h("button", { class: "quiet small", onclick: async () => { const rest = await branch(path, chosen, found.next); more.replaceWith(...(rest ? rest.children : [])); } }, "more …"));
    list.append(more);
  }
  return list;
}

async function twig(row, chosen) {
  const inner = h("div", {});
  const on = row.path === chosen;
  const twist = h("button", { class: "twist", "aria-label": `open ${row.title}`, "aria-expanded": "false" }, "▸");
  let opened = false;
  const toggle = async () => {
    opened = !opened;
    twist.textContent = opened ? "▾" : "▸";
    twist.setAttribute("aria-expanded", String(opened));
    put(inner, opened ? (await branch(row.path, chosen)) || h("p", { class: "small soft" }, "nothing below") : []);
  };
  twist.addEventListener("click", toggle);
  const name = h("button", { class: "name", "data-item": true, title: row.path, onclick: () => row.kind === "folder" ? toggle() : go("tree", { path: row.path }) }, row.title || row.path.split("/").pop(), " ", soft(row.kind === "folder" ? "" : row.kind));
  if (chosen && (chosen === row.path || chosen.startsWith(`${row.path}/`)) && row.path !== chosen) await toggle();
  return h("li", {}, h("div", { class: `item ${on ? "on" : ""}` }, twist, name), inner);
}

async function pagePart(path, body) {
  put(body, h("div", { class: "loading" }));
  const page = await get("/page", { path });
  const steps = path.split("/").filter(Boolean);
  put(body,
    h("div", { class: "crumbs" }, steps.map((name, place) => [place ? "/" : "", place < steps.length - 1 ? h("a", { href: `#/tree?${query({ path: `/${steps.slice(0, place + 1).join("/")}` })}` }, name) : h("b", {}, name)])),
    h("div", { class: "row" }, h("h1", {}, page.title || path), chip(page.kind), page.forgotten ? chip("forgotten", "bad") : null, chip(page.tier, page.tier === "core" ? "good" : ""), page.origin !== "user" ? chip(page.origin, "warn") : null),
    page.text ? h("pre", { class: "text long", tabindex: "0" }, page.text) : h("p", { class: "soft" }, "It has no text of its own."),
    h("div", { class: "row" },
      h("button", { onclick: async () => { await post("/open", { path }); tell("Counted as a use: it fades later."); await show(); } }, "Used"),
      page.tier === "core" ? h("button", { onclick: () => human("Let it fade", "Its use decides its tier again.", (given) => post("/tier", { path, tier: "auto", ...given })) }, "Unpin…")
        : h("button", { onclick: () => human("Pin", "It becomes core and never fades.", (given) => post("/tier", { path, tier: "core", ...given })) }, "Pin…"),
      page.forgotten ? null : h("button", { class: "bad", onclick: () => forget(path) }, "Forget…"),
      h("button", { class: "bad quiet", onclick: () => erase(path) }, "Erase for good…")),
    h("dl", {}, pairs({ Created: when(page.created_at), Recorded: when(page.recorded_at), Session: page.session, Context: page.context, Origin: page.origin,
      Importance: page.importance, Relevance: page.relevance?.toFixed?.(2), "Used": `${page.access_count}×`, "Last used": when(page.last_accessed), Shelf: page.shelf, Document: page.document !== path ? link(page.document) : null })),
    page.children.length ? [h("h2", {}, "Below"), h("ul", {}, page.children.slice(0, 100).map((one) => h("li", {}, link(one, one.slice(path.length + 1) || one)))), page.children.length > 100 ? soft(`and ${page.children.length - 100} more: see the tree`) : null] : null,
    h("h2", {}, "History"), history(page.history));
}

const pairs = (rows) => Object.entries(rows).filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
const history = (rows) => rows.length ? h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, rows.map((row) => h("tr", {}, h("td", { class: "num" }, h("a", { href: `#/ledger?${query({ seq: row.seq })}` }, `#${row.seq}`)), h("td", {}, row.op), h("td", { class: "wide-only" }, row.actor), h("td", {}, when(row.at)), h("td", {}, row.reason || "")))))) : h("p", { class: "soft" }, "no entries");

// ---- lists that load page by page

function listing(path, given, head, line, none) {
  const body = h("tbody", {}), more = h("div", { class: "row" }), box = h("div", {});
  const load = async (cursor) => {
    const found = await get(path, { ...given, limit: 50, cursor });
    if (!cursor && !found.items.length) { put(box, none); return; }
    body.append(...found.items.map(line).filter(Boolean));
    put(more, found.next ? h("button", { onclick: () => load(found.next) }, "Show more") : []);
  };
  put(box, h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))), body)), more);
  return { box, ready: load() };
}
const opens = (act) => ({ class: "click", "data-item": true, tabindex: "0", onclick: (event) => { if (!event.target.closest("a, button")) act(); }, onkeydown: (event) => { if (event.key === "Enter") act(); } });

function sheet(inner) {
  const box = h("dialog", { class: "wide" }, inner, h("div", { class: "row end" }, h("button", { onclick: () => box.close() }, "Close")));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.tabIndex = -1;
  box.showModal();
  box.focus();
  box.scrollTop = 0;
  return box;
}
const closeSheets = () => document.querySelectorAll("dialog.wide").forEach((box) => box.close());
const tabs = (page, names, on) => h("div", { class: "tabs", role: "navigation", "aria-label": "Parts" }, Object.entries(names).map(([name, text]) => h("a", { href: `#/${page}?${query({ tab: name })}`, "aria-current": name === on ? "page" : null }, text)));
const filters = (page, given, controls) => {
  const form = h("form", {}, h("div", { class: "filters" }, controls));
  form.addEventListener("change", () => go(page, { ...given, ...Object.fromEntries([...form.elements].filter((one) => one.name).map((one) => [one.name, one.type === "checkbox" ? (one.checked ? "true" : "") : one.value])) }));
  form.addEventListener("submit", (event) => event.preventDefault());
  return form;
};

// ---- Diary & facts

const WAITING = ["claimed", "conflict", "quarantined", "parked"];
const statusChip = (status) => chip(status, status === "current" || status === "live" || status === "ongoing" ? "good" : WAITING.includes(status) || status === "challenged" || status === "candidate" ? "warn" : status === "deleted" || status === "rejected" || status === "cold" ? "bad" : "");
const trust = (value) => value === null || value === undefined ? soft("–") : h("span", { class: "row" }, h("span", { class: "stack", title: `trust ${value}` }, fill(value)), h("span", { class: "num small soft" }, value.toFixed(2)));

async function diaryPage(given, main) {
  const tab = given.tab || "facts";
  const part = { facts: factsPart, concerns: concernsPart, diary: diaryPart }[tab] || factsPart;
  const body = h("div", {});
  put(main, h("div", { class: "row" }, h("h1", {}, "Diary & facts"), h("button", { class: "push", onclick: addEntry }, "Diary entry…"), h("button", { onclick: addFact }, "Fact…")),
    h("p", { class: "soft" }, "The diary keeps what was said; facts and concerns are drawn from it, each with its sources."),
    tabs("diary", { facts: "Facts", concerns: "Concerns", diary: "Diary" }, tab), body);
  await part(given, body);
}

const addEntry = () => dialog("Diary entry", [
  field("In the user's own words", h("textarea", { name: "text", required: true, autofocus: true })),
  field("Kind", choose("kind", ["said", "delegated", "promised", "happened", "preference", "other"], "said")),
  field("Session (if any)", h("input", { name: "session" })),
], async (given) => { const done = await post("/diary", { text: given.text, kind: given.kind, ...(given.session ? { session: given.session } : {}) }); tell(`Diary: ${done.status || "stored"}.`); await show(); }, "Add");

const addFact = () => human("State a fact", "It replaces what stood under the same key, and is locked: nothing that is extracted changes it.",
  (given) => post("/facts", given), { fields: [
    field("Category", choose("category", ["identity", "preference", "communication", "habit", "thinking", "value", "delegation", "background", "other"], "identity")),
    field("Key", h("input", { name: "key", required: true, placeholder: "home_city" })), field("Value", h("input", { name: "value", required: true }))], label: "State it" });

async function factsPart(given, body) {
  const list = listing("/facts", { status: given.status, category: given.category, as_of: given.as_of, everything: given.everything }, ["Key", "Value", "Status", "Trust", "Said"], (fact) =>
    h("tr", opens(() => factSheet(fact.id)), h("td", {}, h("code", {}, fact.key), " ", fact.locked ? chip("locked", "good") : null, h("div", { class: "small soft" }, fact.category)), h("td", {}, fact.value),
      h("td", {}, statusChip(fact.status), fact.due ? chip("due", "warn") : null), h("td", {}, trust(fact.trust), h("div", { class: "small soft" }, fact.sources.length ? `${fact.sources.length} source${fact.sources.length > 1 ? "s" : ""}` : "stated")), h("td", { class: "small soft" }, when(fact.affirmed_at))),
    given.status || given.category || given.as_of ? empty("No fact fits", hint("Take a filter away."))
      : empty("Nothing is known about the user yet", hint("Write diary entries, then let your agent draw facts from them with ", h("code", {}, "extract"), ", or state one yourself."), h("button", { onclick: addFact }, "State a fact…")));
  put(body, filters("diary", { ...given, tab: "facts" }, [
    field("Status", choose("status", ["", "current", "provisional", ...WAITING, "superseded", "ended", "rejected", "deleted"], given.status)),
    field("Category", choose("category", ["", "identity", "preference", "communication", "habit", "thinking", "value", "delegation", "background", "other"], given.category)),
    field("As known on (time travel)", h("input", { name: "as_of", value: given.as_of || "", placeholder: "2026-06-01" })),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "everything", checked: given.everything === "true" }), "also what is past"),
  ]), given.as_of ? h("div", { class: "note" }, `What was known on ${given.as_of}.`) : null, list.box);
  await list.ready;
}

async function factSheet(number) {
  const fact = await get(`/facts/${number}`);
  const act = (verb, title, about, more) => h("button", { class: more?.kind ? "bad" : "", onclick: () => { closeSheets(); human(title, about, (given) => post(`/facts/${number}/${verb}`, { ...more?.body, ...given }, fact.etag), more); } }, `${title}…`);
  const waits = WAITING.includes(fact.status), holds = ["current", "provisional"].includes(fact.status);
  sheet([
    h("div", { class: "row" }, h("h1", {}, h("code", {}, fact.key)), statusChip(fact.status), fact.locked ? chip("locked", "good") : null, chip(fact.origin, fact.origin === "user" ? "" : "warn")),
    h("p", { class: "text" }, fact.value), fact.why ? h("div", { class: "note" }, fact.why) : null,
    h("div", { class: "row" }, trust(fact.trust), soft(fact.corroboration === 1 ? "said once" : `said ${fact.corroboration} times`)),
    h("dl", {}, pairs({ Category: fact.category, Context: fact.context, "Holds from": when(fact.valid_from), "Holds until": when(fact.valid_to), "Last affirmed": when(fact.affirmed_at), "Check by": when(fact.check_by), "Conflicts with": fact.conflicts_with ? `fact ${fact.conflicts_with}` : null })),
    h("div", { class: "row" },
      holds ? [h("button", { onclick: () => { closeSheets(); human("Edit", "What it said before stays as an earlier revision.", (given) => ask("PATCH", `/facts/${number}`, given, { "If-Match": fact.etag }), { fields: [field("Value", h("input", { name: "value", value: fact.value, required: true }))], label: "Save" }); } }, "Edit…"),
        fact.locked ? act("unlock", "Unlock", "What is extracted may replace it again.") : act("lock", "Lock", "Nothing that is extracted replaces it.")] : null,
      fact.status === "provisional" ? act("confirm", "Confirm", "It has been checked and holds.") : null,
      waits && fact.status !== "parked" ? act("approve", "Approve", "It becomes a fact; where it came from stays on record.") : null,
      waits ? act("reject", "Reject", "The same from the same kind of source does not come back.", { kind: "bad" }) : null,
      fact.status === "parked" || fact.status === "conflict" ? [act("resolve", "Take this value", "It takes the place of the fact.", { body: { take: true } }), act("resolve", "Keep the fact", "This value is settled.", { body: { take: false } })] : null,
      fact.status !== "deleted" ? act("delete", "Delete", "It is taken out; a tombstone stays.", { kind: "bad" }) : null),
    h("h2", {}, "Where it comes from"),
    fact.evidence.length ? fact.evidence.map((one) => h("div", { class: "card" }, h("p", { class: "text" }, one.content), h("div", { class: "meta" }, h("span", {}, `diary entry ${one.id}`), chip(one.origin)))) : h("p", { class: "soft" }, "stated by a person, without diary entries"),
    h("h2", {}, "Revisions"), h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, fact.revisions.map((one) => h("tr", {}, h("td", { class: "num" }, one.revision), h("td", {}, one.value), h("td", {}, statusChip(one.status)), h("td", { class: "small soft" }, when(one.recorded_at))))))),
    h("h2", {}, "History"), history(fact.history)]);
}

async function concernsPart(given, body) {
  const list = listing("/concerns", { status: given.status, everything: given.everything }, ["Concern", "Status", "Mentions", "Last spoken of"], (one) => one.parent ? null :
    h("tr", opens(() => concernSheet(one.id)), h("td", {}, h("b", {}, one.title), " ", chip(one.kind), h("div", { class: "soft" }, one.background)), h("td", {}, statusChip(one.status)), h("td", { class: "num" }, one.mentions ?? one.corroboration), h("td", { class: "small soft" }, when(one.affirmed_at))),
    empty("Nothing is open", hint("What the user has on their mind, drawn from the diary: todos, ideas, questions, decisions. The background stands beside each.")));
  put(body, filters("diary", { ...given, tab: "concerns" }, [field("Status", choose("status", ["", "ongoing", "recurring", "paused", "concluded", "claimed", "quarantined"], given.status)),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "everything", checked: given.everything === "true" }), "also mentions and what is out")]), list.box);
  await list.ready;
}

async function concernSheet(number) {
  const one = await get(`/concerns/${number}`);
  const act = (verb, title, about, more) => h("button", { class: more?.kind ? "bad" : "", onclick: () => { closeSheets(); human(title, about, (given) => post(`/concerns/${number}/${verb}`, { ...more?.body, ...given }, one.etag), more); } }, `${title}…`);
  const waits = ["claimed", "quarantined"].includes(one.status);
  sheet([h("div", { class: "row" }, h("h1", {}, one.title), statusChip(one.status), chip(one.kind), chip(one.origin, one.origin === "user" ? "" : "warn")), h("p", { class: "text" }, one.background),
    h("div", { class: "row" }, waits ? [act("approve", "Approve", "It becomes a concern."), act("reject", "Reject", "", { kind: "bad" })]
      : ["ongoing", "concluded", "recurring", "paused"].filter((status) => status !== one.status && one.status !== "deleted").map((status) => act("status", `Mark ${status}`, "", { body: { status } })),
    one.status !== "deleted" ? act("delete", "Delete", "It and its mentions are taken out; tombstones stay.", { kind: "bad" }) : null),
    h("h2", {}, "Where it comes from"), (one.evidence || []).map((entry) => h("div", { class: "card" }, h("p", { class: "text" }, entry.content), h("div", { class: "meta" }, h("span", {}, `diary entry ${entry.id}`), chip(entry.origin)))),
    one.history ? [h("h2", {}, "History"), history(one.history)] : null]);
}

async function diaryPart(given, body) {
  const list = listing("/diary", { pending: given.pending, kind: given.kind, session: given.session }, ["Entry", "Kind", "Extracted", "When"], (one) =>
    h("tr", { "data-item": true, tabindex: "0" }, h("td", {}, h("div", { class: "text" }, one.content), h("div", { class: "meta" }, h("span", {}, `#${one.id}`), one.session ? h("span", {}, `session ${one.session}`) : null, one.origin !== "user" ? chip(one.origin, "warn") : null)),
      h("td", {}, chip(one.kind)), h("td", {}, one.extracted ? soft("yes") : h("button", { class: "small", onclick: () => human("Clear entry", "Nothing is to be drawn from it.", (said) => post(`/diary/${one.id}/ack`, said), { label: "Clear" }) }, "Clear…")), h("td", { class: "small soft" }, when(one.at))),
    empty("The diary is empty", hint("One statement an entry, in the user's own words. Agents write here with the tool ", h("code", {}, "diary"), "."), h("button", { onclick: addEntry }, "Write an entry…")));
  put(body, filters("diary", { ...given, tab: "diary" }, [field("Kind", choose("kind", ["", "said", "delegated", "promised", "happened", "preference", "other"], given.kind)), field("Session", h("input", { name: "session", value: given.session || "" })),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "pending", checked: given.pending === "true" }), "only what is pending")]), list.box);
  await list.ready;
}

// ---- Experiences

async function experiencesPage(given, main) {
  const form = h("form", { role: "search" }, h("div", { class: "row" }, h("input", { type: "search", name: "q", class: "wide", value: given.q || "", placeholder: "A task and its situation: what worked before?", "aria-label": "Situation", "data-search": true }), h("button", { class: "first" }, "Ask")));
  form.addEventListener("submit", (event) => { event.preventDefault(); go("experiences", Object.fromEntries(new FormData(form))); });
  const body = h("div", {});
  put(main, h("div", { class: "row" }, h("h1", {}, "Experiences"), h("button", { class: "push", onclick: addExperience }, "Add…")), h("p", { class: "soft" }, "Lessons from work. Each starts as a candidate and earns or loses trust by how following it went."), form, body);
  if (given.q) {
    const answer = await post("/experiences/recall", { situation: given.q });
    put(body, [...answer.items, ...answer.candidate_trials].map((one) => experienceCard(one)), answer.items.length + answer.candidate_trials.length ? null : empty("Nothing fits this situation", hint(answer.reason || "")));
    return;
  }
  const list = listing("/experiences", { status: given.status, kind: given.kind, family: given.family }, ["Lesson", "Family", "Status", "Trust"], (one) =>
    h("tr", opens(() => experienceSheet(one.id)), h("td", {}, one.kind === "negative" ? chip("avoid", "bad") : null, " ", one.gist, one.revision > 1 ? soft(` revision ${one.revision}`) : null), h("td", {}, h("code", {}, one.family)), h("td", {}, statusChip(one.status), one.pinned ? chip("pinned", "good") : null), h("td", {}, trust(one.trust))),
    empty("No lessons yet", hint("After hard work an agent records what worked or failed with ", h("code", {}, "record_experience"), ", and reports how following it went. You can add your own, which counts at once.")));
  put(body, filters("experiences", given, [field("Status", choose("status", ["", "candidate", "live", "challenged", "superseded", "cold", "archived"], given.status)), field("Kind", choose("kind", ["", "positive", "negative"], given.kind)), field("Family", h("input", { name: "family", value: given.family || "" }))]), list.box);
  await list.ready;
}
const experienceCard = (one) => h("article", { class: "card", "data-item": true, tabindex: "0", onclick: () => experienceSheet(one.id), onkeydown: (event) => { if (event.key === "Enter") experienceSheet(one.id); } },
  h("header", {}, h("h3", {}, one.gist), chip(one.verdict, one.verdict === "direct" ? "good" : ""), one.trial ? chip("trial", "warn") : null, h("span", { class: "push" }, trust(one.trust))),
  one.path.length ? h("ol", {}, one.path.map((step) => h("li", {}, step))) : null, one.conflicts.map((why) => h("div", { class: "note" }, `runs into its limit: ${why}`)));

const addExperience = () => human("Add an experience", "A person's own counts at once.", (given) => post("/experiences", { reason: given.reason, document: {
  kind: given.kind, family: given.family, gist: given.gist, situation: [given.situation], path: given.path.split("\n").map((one) => one.trim()).filter(Boolean), reasoning: given.reasoning, evidence: { note: given.note },
  ...(given.kind === "negative" ? { failure_reason: given.reasoning } : {}) } }), { label: "Add", fields: [
  field("Kind", choose("kind", ["positive", "negative"], "positive")), field("Family", h("input", { name: "family", required: true, placeholder: "site-deploy" })), field("The lesson in one sentence", h("input", { name: "gist", required: true })),
  field("When it applies", h("input", { name: "situation", required: true })), field("Steps, one a line", h("textarea", { name: "path", required: true })), field("Why it works, or fails", h("input", { name: "reasoning", required: true })), field("What shows it", h("input", { name: "note", required: true }))] });

async function experienceSheet(number) {
  const one = await get(`/experiences/${encodeURIComponent(number)}`);
  const act = (verb, title, about, more) => h("button", { class: more?.kind ? "bad" : "", onclick: () => { closeSheets(); human(title, about, (given) => post(`/experiences/${encodeURIComponent(number)}/${verb}`, { ...more?.body, ...given }, one.etag), more); } }, `${title}…`);
  const is = (...states) => states.includes(one.status);
  sheet([h("div", { class: "row" }, h("h1", {}, one.gist), statusChip(one.status), one.kind === "negative" ? chip("avoid", "bad") : chip("works", "good"), one.pinned ? chip("pinned", "good") : null, chip(one.origin, one.origin === "user" ? "" : "warn")),
    h("div", { class: "row" }, trust(one.trust), soft(`${one.alpha} for, ${one.beta} against`), one.tokens_saved ? soft(`${count(one.tokens_saved)} tokens saved`) : null),
    one.path.length ? [h("h2", {}, "Steps"), h("ol", {}, one.path.map((step) => h("li", {}, step)))] : null,
    h("dl", {}, pairs({ Family: one.family, "When": one.situation.join("; "), "Because": one.reasoning, "Not when": one.limits.join("; "), "It fails because": one.failure_reason, Sources: one.sources.join(", "), "Verified": one.verified })),
    h("div", { class: "row" }, is("candidate") ? act("promote", "Promote", "It is live at once, on your word, bound to the text as you see it.", { body: { seen: one.seal } }) : null, is("candidate", "live") ? act("demote", "Demote", "Trust is taken away.", { kind: "bad" }) : null,
      is("cold") ? act("release", "Release", "It gets another trial.") : null, is("candidate", "live", "challenged") ? (one.pinned ? act("unpin", "Unpin", "") : act("pin", "Pin", "It is not archived, and its rank does not sink.")) : null,
      is("candidate", "live", "challenged", "cold") ? act("archive", "Archive", "Only deep recall asks the archive.") : null, act("delete", "Delete", "It is taken out with all its revisions; undo brings it back.", { kind: "bad" })),
    h("h2", {}, "Revisions"), h("table", {}, h("tbody", {}, one.revisions.map((row) => h("tr", {}, h("td", { class: "num" }, row.revision), h("td", {}, row.gist), h("td", {}, statusChip(row.status)), h("td", {}, trust(row.trust)))))),
    h("h2", {}, "Uses"), one.reports.length ? h("table", {}, h("tbody", {}, one.reports.map((row) => h("tr", {}, h("td", {}, chip(row.outcome, row.outcome === "success" ? "good" : "bad")), h("td", {}, row.attribution || ""), h("td", { class: "small soft" }, when(row.at)))))) : h("p", { class: "soft" }, "nobody reported a use yet"),
    h("h2", {}, "History"), history(one.history)]);
}

// ---- Wiki

const toArticle = (name, text) => h("a", { href: `#/wiki?${query({ article: name })}` }, text || name);

// An article's Markdown as nodes: footnotes open their turn, wikilinks their article, *emphasis* and list items are shown.
function prose(text, sources, offset) {
  const inline = (line) => line.split(/(\[\^\d+\]|\[\[[^\]\n]+\]\]|\*\*[^*\n]+\*\*|\*[^*\n]+\*)/).map((part) => {
    const note = /^\[(\^\d+)\]$/.exec(part), wiki = /^\[\[([^\]|]+)\|?([^\]]*)\]\]$/.exec(part);
    if (note) return sources[note[1]] ? h("sup", {}, h("a", { href: `#/tree?${query({ path: sources[note[1]] })}`, title: sources[note[1]] }, note[1].slice(1))) : part;
    if (wiki) return toArticle(wiki[1], wiki[2] || wiki[1]);
    if (/^\*\*.+\*\*$/.test(part)) return h("b", {}, part.slice(2, -2));
    if (/^\*.+\*$/.test(part)) return h("em", {}, part.slice(1, -1));
    return part;
  });
  return text.split(/\n{2,}/).map((block) => {
    const lines = block.split("\n");
    if (lines.every((line) => /^\s*[-*] /.test(line))) return h("ul", {}, lines.map((line) => h("li", {}, inline(line.replace(/^\s*[-*] /, "")))));
    if (/^#{1,6} /.test(block)) return h("h3", {}, inline(block.replace(/^#+ /, "")));
    return h("p", {}, lines.map((line, place) => [place ? h("br") : null, inline(line)]));
  });
}

async function wikiPage(given, main) {
  const form = h("form", { role: "search" }, h("input", { type: "search", name: "q", value: given.q || "", placeholder: "Search the articles", "aria-label": "Search the articles", "data-search": true, class: "full" }));
  form.addEventListener("submit", (event) => { event.preventDefault(); go("wiki", Object.fromEntries(new FormData(form))); });
  const side = h("div", {}), body = h("section", {});
  put(main, h("h1", {}, "Wiki"), h("p", { class: "soft" }, "What dreams made of conversations: articles in which every sentence is cited, and a footnote opens the turn it comes from."), h("div", { class: "split" }, h("div", { class: "side" }, form, side), body));
  const all = await get("/wiki");
  if (!all.articles.length) {
    put(main, h("h1", {}, "Wiki"), empty("No articles yet", hint("A dream turns what was said into articles about people, places and topics."), h("button", { class: "first", onclick: dreamNow }, "Dream now"), hint("Every night: ", h("code", {}, "mnemic dream schedule"))));
    return;
  }
  put(side, h("ul", { class: "tree" }, all.articles.map((one) => h("li", {}, h("div", { class: `item ${one.title === given.article ? "on" : ""}` }, h("a", { class: "name", "data-item": true, href: `#/wiki?${query({ article: one.title })}` }, one.title, " ", soft(one.type)))))),
    all.articles.length < all.total ? soft(`${count(all.total - all.articles.length)} more: search for them`) : null);
  if (given.q) {
    const found = await get("/wiki/search", { query: given.q });
    put(body, found.hits.map((hit) => h("article", { class: "card" }, h("h3", {}, toArticle(hit.article)), hit.passage ? h("p", {}, prose(hit.passage.text, {})) : null)), found.hits.length ? null : empty("No article says that", hint("Recall asks everything that was said: ", h("a", { href: `#/recall?${query({ q: given.q })}` }, "recall it"))));
  } else if (given.article) await articlePart(given.article, body);
  else put(body, empty("Open an article on the left", hint("Or search: ", h("kbd", {}, "/"))));
}

async function articlePart(name, body) {
  const [toc, box, links] = await Promise.all(["toc", "infobox", "links"].map((part) => get(`/wiki/${part}`, { name })));
  const anchors = ["__lead__", ...toc.sections.map((one) => one.anchor)];
  const sections = await Promise.all(anchors.slice(0, 40).map((anchor) => get("/wiki/section", { name, anchor }).catch(() => null)));
  const piece = (one) => {
    const box = h("div", {}, prose(one.text, one.sources));
    const more = (next) => next === null ? null : h("button", { class: "small", onclick: async (event) => { const rest = await get("/wiki/section", { name, anchor: one.anchor, offset: next }); event.target.replaceWith(...[prose(rest.text, rest.sources), more(rest.next)].flat(2).filter(Boolean)); } }, "Read on");
    if (one.next !== null) box.append(more(one.next));
    return box;
  };
  const jump = (anchor) => document.getElementById(`section-${anchor}`)?.scrollIntoView({ block: "start" });
  put(body, h("div", { class: "row" }, h("h1", {}, toc.article), chip(box.infobox.type)),
    h("aside", { class: "infobox card" }, h("dl", {}, pairs(Object.fromEntries(Object.entries(box.infobox).map(([key, value]) => [key, typeof value === "string" ? prose(value, {}).flatMap((one) => [...one.childNodes]) : Array.isArray(value) ? value.join(", ") : JSON.stringify(value)])))),
      toc.sections.length ? h("ol", {}, toc.sections.map((one) => h("li", {}, h("button", { class: "quiet small", onclick: () => jump(one.anchor) }, one.heading)))) : null),
    sections.map((one, place) => one ? h("section", { id: `section-${one.anchor}` }, place ? h("h2", {}, one.heading) : null, piece(one)) : null),
    links.backlinks.length ? [h("h2", {}, "What links here"), h("p", {}, links.backlinks.map((one, place) => [place ? ", " : "", toArticle(one)]))] : null,
    h("p", { class: "small soft" }, h("code", {}, toc.path), " in the vault; edit it there, and your words stay yours."));
}

// ---- Dreams

const dreamNow = () => dialog("Dream now", [h("p", { class: "soft" }, "What was said since the last dream becomes articles. A dream is one entry: it is undone as a whole."), field("Who judges", choose("judge", ["rules", "endpoint", "agent"], "rules"))],
  async (given) => { const done = await post("/dream", { judge: given.judge }); tell(done.id === null ? "Nothing new to dream of." : `Dream ${done.id}: ${done.articles.created} articles made, ${done.articles.updated} updated.`); await show(); }, "Dream");

async function dreamsPage(given, main) {
  const list = listing("/dreams", {}, ["#", "When", "Judge", "Articles", "Signals", ""], (one) => h("tr", opens(() => dreamSheet(one.id)), h("td", { class: "num" }, one.id), h("td", {}, when(one.at)), h("td", {}, chip(one.judge)),
    h("td", {}, `${one.articles.created} made, ${one.articles.updated} updated`, one.articles.rejected ? [" ", chip(`${one.articles.rejected} rejected`, "warn")] : null), h("td", { class: "num" }, one.signals.length), h("td", { class: "act" }, h("button", { class: "small quiet", onclick: () => undoDream(one.id) }, "Undo…"))),
  empty("No dream yet", hint("Dreams run when you ask, or every night: ", h("code", {}, "mnemic dream schedule")), h("button", { class: "first", onclick: dreamNow }, "Dream now")));
  put(main, h("div", { class: "row" }, h("h1", {}, "Dreams"), h("button", { class: "push", onclick: dreamNow }, "Dream now…")), h("p", { class: "soft" }, "What each dream changed, why, and what it proposes. Nothing is lost in a dream, and it can be taken back."), list.box);
  await list.ready;
}
const undoDream = (id) => human(`Undo dream ${id}`, "Every article is put back as it was before, byte for byte.", (given) => post(`/ledger/dream:${id}/undo`, given), { label: "Undo", kind: "forever" });

async function dreamSheet(id) {
  const one = await get(`/dreams/${id}`);
  const shade = (line) => /^\+(?!\+\+)/.test(line) ? "plus" : /^-(?!--)/.test(line) ? "minus" : /^@@/.test(line) ? "soft" : null;
  const lines = (one.diff || "").split("\n");
  sheet([h("div", { class: "row" }, h("h1", {}, `Dream ${one.id}`), chip(one.judge), one.conserved ? chip("nothing lost", "good") : null, soft(when(one.at))),
    h("div", { class: "row" }, h("button", { onclick: () => { closeSheets(); undoDream(id); } }, "Undo…")),
    one.signals.length ? [h("h2", {}, "What it proposes"), h("ul", {}, one.signals.map((row) => h("li", {}, chip(row.kind), " ", h("code", {}, row.path), " ", prose(row.why, {}).flatMap((part) => [...part.childNodes]))))] : null,
    one.rejections.length ? [h("h2", {}, "Rejected"), h("ul", {}, one.rejections.slice(0, 50).map((why) => h("li", {}, typeof why === "string" ? why : JSON.stringify(why))))] : null,
    h("h2", {}, "Stages"), h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, one.stages.map((row) => h("tr", {}, h("td", {}, row.name), h("td", { class: "num" }, `${count(row.in)} in`), h("td", { class: "num" }, `${count(row.out)} out`), h("td", { class: "num" }, row.rejected ? `${count(row.rejected)} rejected` : ""), h("td", { class: "num soft" }, `${row.seconds.toFixed(2)} s`)))))),
    h("h2", {}, "What it changed"), h("pre", { class: "text long", tabindex: "0" }, lines.slice(0, 2000).map((line) => h("div", { class: shade(line) }, line || " ")), lines.length > 2000 ? soft(`and ${count(lines.length - 2000)} more lines`) : null)]);
}

// ---- Ledger

async function ledgerPage(given, main) {
  const said = h("div", {});
  const fits = (row) => ["op", "actor", "path"].every((name) => !given[name] || String(row[name] || row.object).toLowerCase().includes(given[name].toLowerCase()));
  const list = listing("/ledger", {}, ["#", "What", "Where", "Who", "When", "Why", ""], (row) => fits(row) ? h("tr", opens(() => entrySheet(row.seq)), h("td", { class: "num" }, row.seq), h("td", {}, row.op, row.erased ? chip("erased", "bad") : null),
    h("td", {}, row.path ? (row.path.startsWith("/") ? link(row.path) : h("code", {}, row.path)) : h("code", { class: "soft" }, row.object)), h("td", {}, row.actor, row.origin !== "user" ? [" ", chip(row.origin)] : null), h("td", { class: "small soft" }, when(row.at)), h("td", {}, row.reason || ""),
    h("td", { class: "act" }, h("button", { class: "small quiet", onclick: () => undo(row.seq) }, "Undo…"))) : null,
  empty("The ledger is empty", hint("Every change of memory will stand here: who did what, when and why, each entry chained to the one before, so that nothing is changed unseen.")));
  put(main, h("div", { class: "row" }, h("h1", {}, "Ledger"), h("button", { class: "push", onclick: async () => {
    put(said, h("div", { class: "loading" }));
    try { const verdict = await get("/verify"); put(said, verdict.ok ? h("div", { class: "note" }, `Whole: ${count(verdict.checked)} entries checked, and memory is what they say.`, verdict.notes.map((one) => h("div", { class: "small" }, one))) : failed(new Error(`Broken at ${verdict.broken_at}: ${verdict.problem}`))); }
    catch (error) { put(said, failed(error)); }
  } }, "Verify")), h("p", { class: "soft" }, "Every change, newest first. An entry is taken back with a reason, and that is an entry too."), said,
  filters("ledger", given, [field("What", h("input", { name: "op", value: given.op || "", placeholder: "remember" })), field("Who", h("input", { name: "actor", value: given.actor || "", placeholder: "user" })), field("Where", h("input", { name: "path", value: given.path || "", placeholder: "/notes" }))]),
  given.op || given.actor || given.path ? h("p", { class: "small soft" }, "Filtered among the entries that are loaded; Show more looks further back.") : null, list.box);
  await list.ready;
  if (given.seq) await entrySheet(given.seq);
}
async function entrySheet(seq) {
  const row = await get(`/ledger/${seq}`);
  sheet([h("div", { class: "row" }, h("h1", {}, `#${row.seq} ${row.op}`), chip(row.actor), chip(row.origin)),
    h("dl", {}, pairs({ When: when(row.at), Where: row.path ? (row.path.startsWith("/") ? link(row.path) : row.path) : row.object, Why: row.reason, Hash: h("code", {}, row.hash), Before: row.previous ? h("code", {}, row.previous) : null })),
    h("div", { class: "row" }, h("button", { onclick: () => { closeSheets(); undo(row.seq); } }, "Undo…")), h("h2", {}, "What it changed"), h("pre", { class: "text long" }, row.payload ? JSON.stringify(row.payload, null, 2) : "its content was erased")]);
}

// ---- Vault health

async function healthPage(given, main) {
  put(main, h("h1", {}, "Vault health"), h("div", { class: "loading" }));
  const [status, stats, vault, audit, budget] = await Promise.all([get("/status"), get("/stats"), get("/vault"), get("/audit"), get("/budget")]);
  const whole = Object.values(stats.tiers).reduce((sum, value) => sum + value, 0) || 1;
  const work = h("div", {});
  const run = (label, act, shown) => h("button", { onclick: async (event) => {
    event.target.disabled = true;
    put(work, h("div", { class: "note" }, `${label} …`));
    try { const done = await act((number) => put(work, h("div", { class: "note" }, `${label}: ${count(number)} …`))); tell(`${label}: ${shown(done)}`); await show(); }
    catch (error) { put(work, failed(error)); event.target.disabled = false; }
  } }, label);
  const meter = (name, value, limit, over, unit) => h("div", { class: "meter" }, h("span", {}, name), limit ? track(value / limit, over ? "var(--bad)" : value > limit * .8 ? "var(--warn)" : "") : h("span", {}), h("span", { class: `num ${over ? "" : "soft"}` }, limit ? `${unit(value)} of ${unit(limit)}` : unit(value)));
  put(main, h("h1", {}, "Vault health"), h("p", { class: "soft" }, "How memory stands, what every session loads, and what a vault should not have."),
    h("div", { class: "row" }, run("Sync the vault", () => post("/vault/sync"), (done) => `${done.new.length} new, ${done.edited.length} edited, ${done.deleted.length} gone`), run("Decay", () => post("/decay"), () => "tiers are written"), run("Reindex", (told) => long("/reindex", told), (done) => `${count(done.documents)} documents`),
      run("Check everything", () => get("/doctor"), (done) => { dialog(done.ok ? "All is well" : "Something is wrong", h("ul", {}, [...done.problems, ...done.notes].map((one) => h("li", {}, one))), async () => {}, "Good"); return done.ok ? "all is well" : `${done.problems.length} problems`; })), work,
    h("div", { class: "grid" }, [["Documents", status.documents], ["Sessions", status.sessions], ["Nodes", status.nodes], ["Facts", status.facts], ["Diary entries", status.diary], ["Experiences", status.experiences], ["Ledger entries", status.ledger], ["Waiting for vectors", status.pending + status.failed]].map(([name, value]) => h("div", { class: "stat" }, h("b", {}, count(value)), soft(name)))),
    h("h2", {}, "Tiers"), h("p", { class: "small soft" }, "What is used stays active; what is not fades, and recall asks less of it. Nothing is lost."),
    Object.entries(stats.tiers).map(([name, value], place) => h("div", { class: "meter" }, h("span", {}, name), track(value / whole, `var(--s${place % 7 + 1})`), h("span", { class: "num soft" }, count(value)))),
    h("h2", {}, "What every session loads"), budget.parts.length ? budget.parts.map((part) => meter(part.path, part.bytes, part.limit, part.over, bytes)) : h("p", { class: "soft" }, "nothing yet: state.md, the profile and the daily notes will stand here"),
    budget.parts.length ? meter("together", budget.total.bytes, budget.total.limit, budget.total.over, bytes) : null,
    h("h2", {}, "Audit"), audit.violations.length ? h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, audit.violations.slice(0, 200).map((row) => h("tr", {}, h("td", {}, chip(row.rule, "warn")), h("td", {}, h("code", {}, row.path)), h("td", {}, row.message)))))) : h("p", { class: "soft" }, `No violations in ${count(audit.checked.files)} files.`),
    h("h2", {}, "The vault"), h("dl", {}, pairs({ Folder: h("code", {}, vault.folder), Notes: count(vault.notes), Links: count(vault.links), Changed: count(vault.changed), Git: vault.git, "Broken links": vault.broken_links.length ? vault.broken_links.slice(0, 20).map((one) => typeof one === "string" ? one : JSON.stringify(one)).join(", ") : null, "Held deletions": vault.held.join(", ") })),
    h("h2", {}, "Files"), h("dl", {}, pairs(Object.fromEntries(Object.entries(status.bytes).filter(([, value]) => value > 0).map(([name, value]) => [name, bytes(value)])))), h("p", { class: "small soft" }, `home ${status.home}, namespace ${status.namespace}, ${status.embedder}`));
}

// ---- Window

async function windowPage(given, main) {
  const row = await get("/window-status");
  put(main, h("h1", {}, "Window"), h("p", { class: "soft" }, "When a conversation outgrows its model, older messages are replaced by summaries; every original stays in memory."),
    row.sessions ? [h("div", { class: "grid" }, [["Conversations", row.sessions], ["Messages summed up", row.messages], ["Tokens replaced", row.replaced_tokens], ["Archived", row.archived], ["Never forgotten", row.never_below_floor]].map(([name, value]) => h("div", { class: "stat" }, h("b", {}, count(value)), soft(name)))),
      h("h2", {}, "Summaries"), Object.entries(row.summaries).map(([name, value]) => h("div", { class: "meter" }, h("span", {}, name), track(value / row.cap), h("span", { class: "num soft" }, `${count(value)} of ${count(row.cap)}`)))]
      : empty("No conversation was cut yet", hint("Let a client talk through the proxy, or prepare its messages: ", h("code", {}, "mnemic window prepare chat.json"))));
}

// ---- frame

const PAGES = { recall: ["Recall", recallPage, "r"], tree: ["Tree", treePage, "t"], diary: ["Diary & facts", diaryPage, "d"], experiences: ["Experiences", experiencesPage, "e"], wiki: ["Wiki", wikiPage, "i"], dreams: ["Dreams", dreamsPage, "m"], ledger: ["Ledger", ledgerPage, "l"], health: ["Vault health", healthPage, "h"], window: ["Window", windowPage, "w"] };
const place = () => { const [, name, rest] = /^#\/(\w+)\??(.*)$/.exec(location.hash) || []; return [Object.hasOwn(PAGES, name || "") ? name : "recall", Object.fromEntries(new URLSearchParams(rest || ""))]; };
const go = (name, given) => { const next = `#/${name}${query(given) ? `?${query(given)}` : ""}`; if (next === location.hash) show(); else location.hash = next; };

let turn = 0;
async function show() {
  const mine = ++turn;
  const [name, given] = place();
  document.title = `${PAGES[name][0]} · mnemic`;
  document.querySelectorAll("nav a").forEach((one) => { if (one.dataset.page === name) { one.setAttribute("aria-current", "page"); one.scrollIntoView({ block: "nearest", inline: "nearest" }); } else one.removeAttribute("aria-current"); });
  if (!token()) { put($("main"), empty("Sign in to see your memory", h("button", { class: "first", onclick: signIn }, "Sign in"))); signIn(); return; }
  const main = h("div", {});
  const began = $("main").firstChild === null;
  if (began) put($("main"), h("div", { class: "loading" }));
  const swap = () => { if (mine === turn && main.parentNode !== $("main")) put($("main"), main); };
  const slow = setTimeout(swap, 120);
  try { await PAGES[name][1](given, main); }
  catch (error) { if (error.status !== 401) main.append(failed(error)); else put(main, empty("Sign in to see your memory", h("button", { class: "first", onclick: signIn }, "Sign in"))); }
  clearTimeout(slow);
  swap();
  if (mine === turn) { document.body.dataset.ready = location.hash; fresh(); }
}

// Live refresh: whether the ledger has grown since the page was made.
let head = null;
async function fresh(look) {
  if (!token()) return;
  try {
    const answer = await fetch("/api/v1/ledger?limit=1", { headers: { Authorization: `Bearer ${token()}` } });
    const now = (await answer.json()).items?.[0]?.seq ?? 0;
    const grown = look && head !== null && now !== head;
    if (!look) head = now;
    const busy = document.querySelector("dialog[open]") || ["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement?.tagName);
    if (grown && !busy && ["ledger", "health", "diary", "experiences"].includes(place()[0]) && scrollY < 200) show();
    else $("grown").hidden = !grown;
  } catch { /* the next page says it */ }
}
setInterval(() => { if (document.visibilityState === "visible") fresh(true); }, 4000);

function theme(next) {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (next) { root.dataset.theme = dark ? "light" : "dark"; localStorage.setItem("mnemic.theme", root.dataset.theme); }
}
if (["dark", "light"].includes(localStorage.getItem("mnemic.theme"))) document.documentElement.dataset.theme = localStorage.getItem("mnemic.theme");

function keys() {
  const rows = [["/", "search"], ["j  k", "next, previous item"], ["Enter", "open it"], ["n", "remember something"], ["Esc", "close"], ["x", "dark or light"], ...Object.values(PAGES).map(([name, , key]) => [`g ${key}`, name]), ["?", "these keys"]];
  sheet([h("h1", {}, "Keys"), h("table", {}, h("tbody", {}, rows.map(([key, about]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, about)))))]);
}

let leader = 0;
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing) { if (event.key === "Escape") event.target.blur(); return; }
  const after = Date.now() - leader < 1500;
  leader = 0;
  if (after) { const found = Object.entries(PAGES).find(([, [, , key]]) => key === event.key); if (found) { event.preventDefault(); location.hash = `#/${found[0]}`; } return; }
  const items = [...document.querySelectorAll("main [data-item]")];
  const at = items.indexOf(document.activeElement);
  const acts = { "/": () => { const box = document.querySelector("[data-search]"); if (box) { box.focus(); box.select(); } else location.hash = "#/recall"; }, j: () => items[Math.min(at + 1, items.length - 1)]?.focus(), k: () => items[Math.max(at - 1, 0)]?.focus(),
    g: () => { leader = Date.now(); }, n: remember, x: () => theme(true), "?": keys };
  if (Object.hasOwn(acts, event.key)) { event.preventDefault(); acts[event.key](); }
});

put($("top"), h("div", { class: "bar" },
  h("a", { class: "brand", href: "#/recall" }, h("img", { src: "/icon.svg", alt: "" }), "mnemic"),
  h("nav", { "aria-label": "Pages" }, Object.entries(PAGES).map(([name, [text]]) => h("a", { href: `#/${name}`, "data-page": name }, text))),
  h("button", { id: "grown", class: "small", hidden: true, onclick: () => { $("grown").hidden = true; show(); } }, "New: refresh"),
  h("button", { class: "quiet push", onclick: remember, title: "Remember (n)", "aria-label": "Remember" }, "+"),
  h("button", { class: "quiet", onclick: () => theme(true), title: "Dark or light (x)", "aria-label": "Dark or light" }, "◐"),
  h("button", { class: "quiet", onclick: keys, title: "Keys (?)", "aria-label": "Keys" }, "?"),
  h("button", { class: "quiet", onclick: signOut, title: "Sign out" }, "Sign out")));
addEventListener("hashchange", () => { closeSheets(); scrollTo(0, 0); show(); });
show();
