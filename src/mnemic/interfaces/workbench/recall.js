// Recall: what comes up for a question, the signals that put it there, and why something did not.
import { chip, count, empty, field, h, hint, link, loading, note, put, query, soft, stacked, track, when } from "./dom.js";
import { forget, remember } from "./dialogs.js";
import { search } from "./lists.js";
import { post } from "./rest.js";

const SIGNALS = { lexical: ["words", "--s1"], vector: ["meaning", "--s2"], phrase: ["phrase", "--s3"], window: ["nearby", "--s4"], session: ["session", "--s5"],
  time: ["time", "--s6"], speaker: ["speaker", "--s7"], reply: ["reply", "--s2"], role: ["role", "--s3"] };
const shade = (name) => `var(${SIGNALS[name]?.[1] || "--s7"})`;
const named = (name) => SIGNALS[name]?.[0] || name;
const MODES = { heartbeat: "what is fresh alone", normal: "what has not faded", deep: "also what has faded", creative: "a sample of what faded" };
const NARROW = ["within", "kinds", "since", "until", "as_of", "missing", "mode"];

const parts = (row) => Object.entries(row).filter(([name, value]) => value && name !== "gate").sort((a, b) => b[1] - a[1]);
const bars = (row, largest) => h("div", { class: "signals" }, parts(row).map(([name, value]) => [
  h("span", {}, named(name)), track(value / largest, shade(name)), h("span", { class: "num" }, value.toFixed(2))]));
const stack = (row) => stacked(parts(row).filter(([, value]) => value > 0).map(([name, value]) => [name, value, shade(name)]),
  parts(row).map(([name, value]) => `${named(name)} ${value.toFixed(2)}`).join(", "));

// What a hit says, without the marks of an article.
const plain = (text) => text.replace(/\[\^\d+\]/g, "").replace(/\[\[(?:[^\]|\n]*\|)?([^\]\n]+)\]\]/g, "$1").replace(/\*\*([^*\n]+)\*\*/g, "$1");

// A title that is only how the text begins says nothing that the text does not: then where it stands is said.
function headed(hit) {
  const title = plain(hit.title || "").replace(/…$/, "");
  if (title && !plain(hit.text).startsWith(title)) return title;
  return hit.path.split("/").filter(Boolean).join(" › ");
}

function hitCard(hit, largest, first) {
  const why = h("details", { open: first }, h("summary", {}, "Why this came up"), bars(hit.signals, largest),
    hit.signals.gate < 1 ? h("p", { class: "small soft" }, `a gate took it down to × ${hit.signals.gate.toFixed(2)}`) : null);
  const where = `#/tree?${query({ path: hit.path })}`;
  return h("article", { class: "card hit", "data-item": true, tabindex: "0", "aria-label": headed(hit),
    onkeydown: (event) => { if (event.key === "Enter" && event.target === event.currentTarget) location.hash = where; } },
  h("header", {}, h("h2", {}, h("a", { href: where }, headed(hit))), chip(hit.kind), hit.tier !== "active" ? chip(hit.tier, "warn") : null, hit.origin !== "user" ? chip(hit.origin, "warn") : null,
    h("span", { class: "push row score" }, stack(hit.signals), h("span", { class: "num small soft", title: "score" }, hit.score.toFixed(2)))),
  h("p", { class: "text" }, plain(hit.text)),
  h("div", { class: "meta" }, link(hit.path), h("span", {}, when(hit.created_at)), hit.speaker ? h("span", {}, hit.speaker) : null, hit.session ? h("span", {}, `session ${hit.session}`) : null),
  h("div", { class: "row top" }, why, h("button", { class: "quiet small push", onclick: () => forget(hit.path) }, "Forget…")));
}

const fate = (one, largest) => note(h("b", {}, h("code", {}, one.path)), one.stage === "returned" ? " is among the hits." : [" fell at ", h("b", {}, one.stage), `: ${one.detail}`],
  Object.keys(one.signals).length ? bars(one.signals, largest) : null);

export async function recallPage(given, main) {
  const text = (name, label, hintText) => field(label, h("input", { name, value: given[name] || "", placeholder: hintText || "" }));
  const form = search("recall", given, "Ask memory: what did we decide about …?", "Recall",
    h("details", { open: NARROW.some((name) => given[name]) }, h("summary", {}, "Narrow, or ask why something is missing"), h("div", { class: "filters" },
      field("Mode", h("select", { name: "mode" }, h("option", { value: "" }, "as set"), Object.entries(MODES).map(([name, about]) => h("option", { value: name, selected: given.mode === name }, `${name}: ${about}`)))),
      text("within", "Below", "/notes"), text("kinds", "Kinds", "note, message"), text("since", "From", "last month"), text("until", "Until", "yesterday"),
      text("as_of", "As known on", "2026-06-01"), text("missing", "Why not this path?", "/notes/…"))));
  const out = h("div", { "aria-live": "polite" });
  put(main, h("h1", {}, "Recall"), form, out);
  if (!given.q) {
    put(out, empty("Ask as you would ask a colleague",
      hint("Memory is searched by words, meaning and time; each hit shows the signals that put it there."),
      hint("A phrase in “quotes” must stand so. ", h("kbd", {}, "/"), " brings you back to this field, ", h("kbd", {}, "?"), " shows all keys."),
      hint("Nothing here yet? ", h("button", { class: "small", onclick: remember }, "Remember something"), " or capture a conversation: ", h("code", {}, "mnemic capture chat.jsonl"))));
    return;
  }
  put(out, loading());
  const began = performance.now();
  const kinds = (given.kinds || "").split(",").map((one) => one.trim()).filter(Boolean);
  const scope = Object.fromEntries(["within", "since", "until", "as_of"].filter((name) => given[name]).map((name) => [name, given[name]]));
  const answer = await post("/recall", { query: given.q, scope: { ...scope, ...(kinds.length ? { kinds } : {}) }, budget: { nodes: 20, chars: 20000 },
    ...(given.mode ? { mode: given.mode } : {}), why_not: given.missing ? [given.missing] : [] });
  const largest = Math.max(1, ...[...answer.hits, ...(answer.why_not || [])].flatMap((one) => parts(one.signals).map(([, value]) => value)));
  put(out,
    h("p", { class: "meta" }, h("span", {}, `${answer.hits.length} hits in ${Math.round(performance.now() - began)} ms`),
      answer.omitted ? h("span", {}, `${count(answer.omitted)} more did not fit`) : null, h("span", {}, `scoring ${answer.scoring}`), answer.embedder.startsWith("hashing/") ? h("span", {}, "by words; a model adds meaning") : null),
    answer.degraded.map((why) => note(why)),
    (answer.why_not || []).map((one) => fate(one, largest)),
    answer.hits.length ? null : empty("Nothing was recalled", hint(answer.reason || ""), hint("Not recorded is not the same as never happened. Try mode deep, which also asks what has faded, or fewer filters.")),
    answer.hits.map((hit, place) => hitCard(hit, largest, place === 0)), soft());
}
