// Human ops: what a person does here, what waits for one, and what persons did; each with its reason, and each can be undone.
import { empty, h, hint, put, query, soft } from "./dom.js";
import { addEntry, addExperience, addFact, remember } from "./dialogs.js";
import { concernSheet, factSheet, statusChip, trust, WAITING } from "./diary.js";
import { experienceSheet } from "./experiences.js";
import { HEAD, ledgerRow } from "./ledger.js";
import { listing, opens } from "./lists.js";
import { get } from "./rest.js";

const FEW = 10;
const WAITS = [
  ["Facts", "/facts", WAITING, (one) => h("tr", opens(() => factSheet(one.id)), h("td", {}, h("code", {}, one.key)), h("td", { class: "wide" }, one.value), h("td", {}, statusChip(one.status)), h("td", { class: "small soft" }, one.why || "")),
    (status) => `#/diary?${query({ status })}`, "approve, reject, resolve"],
  ["Concerns", "/concerns", ["claimed", "quarantined"], (one) => h("tr", opens(() => concernSheet(one.id)), h("td", {}, h("b", {}, one.title)), h("td", { class: "wide" }, one.background), h("td", {}, statusChip(one.status))),
    (status) => `#/diary?${query({ tab: "concerns", status })}`, "approve, reject"],
  ["Experiences", "/experiences", ["candidate", "challenged", "cold"], (one) => h("tr", opens(() => experienceSheet(one.id)), h("td", { class: "wide" }, one.gist), h("td", {}, h("code", {}, one.family)), h("td", {}, statusChip(one.status)), h("td", {}, trust(one.trust))),
    (status) => `#/experiences?${query({ status })}`, "promote, demote, revise, release"],
];

export async function opsPage(given, main) {
  const found = await Promise.all(WAITS.map(async ([title, path, states, line, all, verbs]) => {
    const lists = await Promise.all(states.map(async (status) => [status, await get(path, { status, limit: FEW })]));
    return { title, verbs, line, all, lists: lists.filter(([, list]) => list.items.length) };
  }));
  const waiting = found.filter((one) => one.lists.length);
  const done = listing("/ledger", { actor: "user" }, HEAD, ledgerRow, empty("Nobody did anything by hand yet", hint("What you add, edit, pin, promote, demote, release, forget or delete stands here with your reason, and can be taken back.")), 20);
  put(main, h("h1", {}, "Human ops"), h("p", { class: "soft" }, "What only a person decides. Every act asks for a reason, stands in the ledger with it, and can be undone; erasing alone cannot."),
    h("div", { class: "row" }, h("button", { class: "first", onclick: remember }, "Remember…"), h("button", { onclick: addEntry }, "Diary entry…"), h("button", { onclick: addFact }, "Fact…"), h("button", { onclick: addExperience }, "Experience…")),
    h("p", { class: "small soft" }, "Pin, forget and erase stand at a node of the ", h("a", { href: "#/tree" }, "tree"), "; edit, lock and delete at a ", h("a", { href: "#/diary" }, "fact"), "; promote, demote, pin, release and archive at an ", h("a", { href: "#/experiences" }, "experience"), "."),
    h("h2", {}, "What waits for you"), waiting.length ? waiting.map((one) => [h("h3", {}, one.title, " ", soft(one.verbs)), one.lists.map(([status, list]) => [
      h("div", { class: "scroll" }, h("table", { class: "list" }, h("tbody", {}, list.items.map(one.line)))), list.next ? h("p", {}, h("a", { href: one.all(status) }, `All that are ${status}`)) : null])])
      : empty("Nothing waits for you", hint("Claims from outside, conflicts between what was said, and lessons that ask for your word come here.")),
    h("h2", {}, "What was done by hand"), done.box);
  await done.ready;
}
