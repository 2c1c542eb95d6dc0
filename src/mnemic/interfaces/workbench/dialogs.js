// What opens over a page: forms, above all those of a person's acts, and sheets that show one thing.
import { $, check, choose, failed, field, h, hint, icon, put } from "./dom.js";
import { go, show } from "./frame.js";
import { door, drop, head, keep, post, Problem } from "./rest.js";

export function tell(text, act, label) {
  const said = h("div", {}, text, act ? h("button", { class: "small", onclick: () => { said.remove(); act(); } }, label) : null);
  $("notes").append(said);
  setTimeout(() => said.remove(), act ? 12000 : 5000);
}

let titles = 0;
function opened(kind, title, ...inner) {
  const before = document.activeElement;
  const name = `dialog-${++titles}`;
  title.id = name;
  const box = h("dialog", { class: kind, "aria-labelledby": name }, inner);
  box.addEventListener("close", () => { box.remove(); if (before?.isConnected) before.focus(); });
  document.body.append(box);
  box.showModal();
  return box;
}

export function dialog(title, inner, act, label, kind) {
  const head = h("h2", {}, title), said = h("div", {});
  const done = h("button", { class: kind === "bad" || kind === "forever" ? "bad first" : "first", type: "submit" }, label);
  const form = h("form", { method: "dialog" }, head, inner, said,
    h("div", { class: "row end" }, h("button", { type: "button", onclick: () => box.close() }, "Cancel"), done));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    done.disabled = true;
    try { if (await act(Object.fromEntries(new FormData(form))) !== false) box.close(); }
    catch (error) { put(said, failed(error)); }
    finally { done.disabled = false; }
  });
  const box = opened("", head, form);
  (form.querySelector("[autofocus]") || form.querySelector("input, textarea, select"))?.focus();
  return box;
}

export function sheet(title, ...inner) {
  const head = h("h1", { tabindex: "-1" }, title);
  const box = opened("wide", head, h("div", { class: "row top" }, head, h("button", { class: "quiet push", "aria-label": "Close", title: "Close (Esc)", onclick: () => box.close() }, icon("close"))), inner);
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  box.scrollTop = 0;
  head.focus();
  return box;
}
export const closeSheets = () => document.querySelectorAll("dialog.wide").forEach((box) => box.close());

// ---- what a person does: what is done, why, and a way back where there is one

export function human(title, about, act, { kind, fields, label } = {}) {
  return dialog(title, [
    about ? h("p", { class: "soft" }, about) : null, fields || [],
    field("Why (it stands in the ledger)", h("input", { name: "reason", required: true, maxlength: 500, autocomplete: "off", autofocus: !fields })),
  ], async (given) => {
    if (!given.reason.trim()) throw new Problem({ detail: "give a reason: it stands in the ledger" }, 0);
    const done = await act(given);
    const back = done && done.seq && kind !== "forever";
    tell(`${title}: done${done && done.seq ? `, entry ${done.seq}` : ""}.`, back ? () => undo(done.seq) : null, "Undo");
    await show();
  }, label || title, kind);
}
// A button that opens such a form, from a sheet or a page.
export const acts = (title, about, act, more) => h("button", { class: more?.kind ? "bad" : more?.first ? "first" : "", onclick: () => { closeSheets(); human(title, about, act, more); } }, `${title}…`);

export const undo = (seq) => human(`Undo entry ${seq}`, "What the entry changed is put back; the entry stays, and a new one says that it was undone.",
  (given) => post(`/ledger/${seq}/undo`, given), { label: "Undo" });
export const undoDream = (id) => human(`Undo dream ${id}`, "Every article is put back as it was before, byte for byte.",
  (given) => post(`/ledger/dream:${id}/undo`, given), { label: "Undo", kind: "forever" });
export const forget = (path) => human("Forget", `${path} is hidden from recall. Nothing is deleted, and it can be undone.`,
  (given) => post("/forget", { path, ...given }), { kind: "bad" });
export const erase = (path) => human("Erase for good", `The bytes of ${path} are removed. This cannot be undone.`,
  (given) => post("/forget", { path, erase: true, ...given }), { kind: "forever" });

export const remember = () => human("Remember", "", async (given) => {
  const done = await post("/remember", { text: given.text, title: given.title, reason: given.reason, ...(given.at ? { at: given.at } : {}) });
  if (done.path) tell(`${done.status}: ${done.path}`, () => go("tree", { path: done.path }), "Open");
  return done;
}, { fields: [
  field("What", h("textarea", { name: "text", required: true, autofocus: true })),
  field("Title (else the first line)", h("input", { name: "title", maxlength: 200 })),
  field("When (now if empty)", h("input", { name: "at", placeholder: "2026-11-30, yesterday, …" })),
] });

export const addEntry = () => human("Diary entry", "One statement, in the user's own words: facts are drawn from it.",
  (given) => post("/diary", { text: given.text, kind: given.kind, reason: given.reason, ...(given.session ? { session: given.session } : {}) }), { label: "Add", fields: [
    field("In the user's own words", h("textarea", { name: "text", required: true, autofocus: true })),
    field("Kind", choose("kind", ["said", "delegated", "promised", "happened", "preference", "other"], "said")),
    field("Session (if any)", h("input", { name: "session" }))] });

export const CATEGORIES = ["identity", "preference", "communication", "habit", "thinking", "value", "delegation", "background", "other"];
export const addFact = () => human("State a fact", "It replaces what stood under the same key, and is locked: nothing that is extracted changes it.",
  (given) => post("/facts", given), { label: "State it", fields: [
    field("Category", choose("category", CATEGORIES, "identity")),
    field("Key", h("input", { name: "key", required: true, placeholder: "home_city" })), field("Value", h("input", { name: "value", required: true }))] });

const lines = (text) => text.split("\n").map((one) => one.trim()).filter(Boolean);
export const lessonFields = (one = {}) => [
  field("The lesson in one sentence", h("input", { name: "gist", required: true, value: one.gist || "" })),
  field("When it applies, one a line", h("textarea", { name: "situation", required: true, value: (one.situation || []).join("\n") })),
  field("Steps, one a line", h("textarea", { name: "path", value: (one.path || []).join("\n") })),
  field("Why it works, or fails", h("input", { name: "reasoning", required: true, value: one.reasoning || "" })),
  field("Not when, one a line", h("textarea", { name: "limits", value: (one.limits || []).join("\n") })),
];
export const lesson = (given) => ({ gist: given.gist, situation: lines(given.situation), path: lines(given.path), reasoning: given.reasoning, limits: lines(given.limits) });
export const addExperience = () => human("Add an experience", "A person's own counts at once.", (given) => post("/experiences", { reason: given.reason, document: {
  kind: given.kind, family: given.family, ...lesson(given), evidence: { note: given.note }, ...(given.kind === "negative" ? { failure_reason: given.reasoning } : {}) } }), { label: "Add", fields: [
  field("Kind", choose("kind", ["positive", "negative"], "positive")), field("Family", h("input", { name: "family", required: true, placeholder: "site-deploy", autofocus: true })),
  ...lessonFields(), field("What shows it", h("input", { name: "note", required: true }))] });

// ---- who may come in

let signing = false;
function signIn() {
  if (signing) return;
  signing = true;
  const box = dialog("Sign in", [
    hint(h("code", {}, "mnemic serve"), " has written a token into a file that only you can read, and said where: by default ", h("code", {}, "~/.mnemic/serve.token"), "."),
    field("Token", h("input", { name: "token", type: "password", required: true, autocomplete: "off", autofocus: true })),
    check("keep", "keep it in this browser"),
  ], async (given) => {
    const text = given.token.trim();
    // A header holds Latin letters alone; the token does too.
    if (!/^[\x21-\x7e]+$/.test(text) || await head(text) === null) throw new Problem({ detail: "this is not the token of this service" }, 401);
    keep(text, given.keep);
    setTimeout(show);
  }, "Sign in");
  box.addEventListener("close", () => { signing = false; });
}
export function signOut() { drop(); signIn(); }
door.closed = signIn;
