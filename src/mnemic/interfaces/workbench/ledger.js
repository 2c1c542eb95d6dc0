// Ledger: every change, what it was, whether it is whole, and the way back.
import { chip, choose, count, crumbs, empty, failed, field, h, hint, link, loading, note, pairs, put, query, soft, table, when } from "./dom.js";
import { closeSheets, sheet, undo } from "./dialogs.js";
import { filters, listing, opens } from "./lists.js";
import { get } from "./rest.js";

const OPS = ["remember", "revise", "capture", "forget", "restore", "erase", "undo", "touch", "tier", "diary", "extract", "fact-add", "fact-edit", "refine", "add", "use", "promote", "demote", "pin", "delete", "summarise", "dream", "rotate", "accept"];
const FINAL = ["erase", "restate", "rotate"];  // what cannot be taken back
const ACTORS = ["", "user", "human", "agent", "system"];
const about = (row) => row.path ? (row.path.startsWith("/") ? link(row.path) : h("code", {}, row.path)) : h("code", { class: "soft" }, row.object);

export const ledgerRow = (row) => h("tr", opens(() => entrySheet(row.seq)), h("td", { class: "num" }, row.seq), h("td", {}, row.op, row.erased ? chip("erased", "bad") : null), h("td", { class: "wide" }, about(row)),
  h("td", {}, row.actor, row.origin !== "user" && row.origin !== row.actor ? [" ", chip(row.origin)] : null), h("td", { class: "small soft" }, when(row.at)), h("td", {}, row.reason || ""),
  h("td", { class: "act" }, FINAL.includes(row.op) ? null : h("button", { class: "small quiet", "aria-label": `Undo entry ${row.seq}`, onclick: () => undo(row.seq) }, "Undo…")));
export const HEAD = ["#", "What", "Where", "Who", "When", "Why", ""];

export async function ledgerPage(given, main) {
  const said = h("div", { "aria-live": "polite" }), narrowed = given.op || given.actor || given.about;
  const list = listing("/ledger", { op: given.op, actor: given.actor, about: given.about }, HEAD, ledgerRow, narrowed ? empty("No entry fits", hint("Take a filter away."))
    : empty("The ledger is empty", hint("Every change of memory will stand here: who did what, when and why, each entry chained to the one before, so that nothing is changed unseen.")));
  const verify = async () => {
    put(said, loading());
    try {
      const verdict = await get("/verify");
      put(said, verdict.ok ? h("div", { class: "note good" }, `Whole: ${count(verdict.checked)} entries checked, and memory is what they say.`, verdict.notes.map((one) => h("div", { class: "small" }, one))) : failed(new Error(`Broken at ${verdict.broken_at}: ${verdict.problem}`)));
    } catch (error) { put(said, failed(error)); }
  };
  put(main, h("div", { class: "row" }, h("h1", {}, "Ledger"), h("button", { class: "push", onclick: verify }, "Verify")), h("p", { class: "soft" }, "Every change, newest first. An entry is taken back with a reason, and that is an entry too."), said,
    filters("ledger", { ...given, seq: "" }, [field("What", h("input", { name: "op", value: given.op || "", placeholder: "remember", list: "ops" })), h("datalist", { id: "ops" }, OPS.map((one) => h("option", { value: one }))), field("Who", choose("actor", ACTORS, given.actor)),
      field("Where", h("input", { name: "about", value: given.about || "", placeholder: "/notes, fact:3, experience:" }))]), list.box);
  await list.ready;
  if (given.seq) await entrySheet(given.seq);
}

const changed = (one) => {
  const [kind, key, before, after] = one;
  const names = [...new Set([...Object.keys(before || {}), ...Object.keys(after || {})])].filter((name) => JSON.stringify((before || {})[name]) !== JSON.stringify((after || {})[name]));
  const shown = (value) => value === null || value === undefined ? soft("–") : typeof value === "string" ? value.slice(0, 400) : JSON.stringify(value);
  return h("div", { class: "card" }, h("header", {}, h("h3", {}, kind), h("code", { class: "soft" }, key.join(", ")), chip(before ? after ? "changed" : "taken out" : "new", before && !after ? "bad" : "")),
    table(names.map((name) => h("tr", {}, h("td", { class: "soft" }, name), before ? h("td", { class: "minus" }, shown(before[name])) : null, after ? h("td", { class: "plus" }, shown(after[name])) : null))));
};

async function entrySheet(seq) {
  const row = await get(`/ledger/${encodeURIComponent(seq)}`), changes = row.payload?.changes || [];
  sheet([`#${row.seq} ${row.op} `, chip(row.actor), chip(row.origin)], row.path?.startsWith("/") ? crumbs(row.path, true) : null,
    h("dl", {}, pairs({ When: when(row.at), Where: row.path?.startsWith("/") ? null : row.path || row.object, Why: row.reason, Hash: h("code", {}, row.hash), Before: row.previous ? h("code", {}, row.previous) : null, "Of the same": h("a", { href: `#/ledger?${query({ about: row.object })}` }, row.object) })),
    FINAL.includes(row.op) ? null : h("div", { class: "row" }, h("button", { onclick: () => { closeSheets(); undo(row.seq); } }, "Undo…")),
    h("h2", {}, "What it changed"), row.payload ? [changes.slice(0, 30).map(changed), changes.length > 30 ? soft(`and ${count(changes.length - 30)} more rows`) : null, changes.length ? null : h("p", { class: "soft" }, "no row: it tells of something that was done"),
      h("details", {}, h("summary", {}, "As it is chained"), h("pre", { class: "text long", tabindex: "0" }, JSON.stringify(row.payload, null, 2).slice(0, 100000)))] : note("Its content was erased; that it was there, and its place in the chain, stay."));
}
