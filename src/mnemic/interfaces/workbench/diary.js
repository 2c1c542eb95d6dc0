// Diary & facts: what was said, and what is known by it, with where it comes from and what was known when.
import { check, chip, choose, empty, field, fill, h, hint, note, pairs, plural, soft, table, when } from "./dom.js";
import { acts, addEntry, addFact, CATEGORIES, sheet } from "./dialogs.js";
import { filters, history, listing, opens, tabs } from "./lists.js";
import { ask, get, post } from "./rest.js";

export const WAITING = ["claimed", "conflict", "quarantined", "parked"];
const KINDS = { current: "good", live: "good", ongoing: "good", challenged: "warn", candidate: "warn", provisional: "warn", deleted: "bad", rejected: "bad", cold: "bad" };
export const statusChip = (status) => chip(status, WAITING.includes(status) ? "warn" : KINDS[status]);
export const trust = (value) => value === null || value === undefined ? soft("–") : h("span", { class: "trust" },
  h("span", { class: "stack", role: "img", "aria-label": `trust ${value.toFixed(2)}` }, fill(value)), h("span", { class: "num small soft" }, value.toFixed(2)));
const evidence = (rows, none) => rows.length ? rows.map((one) => h("div", { class: "card" }, h("p", { class: "text" }, one.content),
  h("div", { class: "meta" }, h("span", {}, `diary entry ${one.id}`), h("span", {}, when(one.at)), one.session ? h("span", {}, `session ${one.session}`) : null, chip(one.origin)))) : h("p", { class: "soft" }, none);

export async function diaryPage(given, main) {
  const parts = { facts: factsPart, concerns: concernsPart, diary: diaryPart }, tab = parts[given.tab] ? given.tab : "facts";
  const body = h("div", {});
  main.append(h("div", { class: "row" }, h("h1", {}, "Diary & facts"), h("div", { class: "row push" }, h("button", { onclick: addEntry }, "Diary entry…"), h("button", { onclick: addFact }, "Fact…"))),
    h("p", { class: "soft" }, "The diary keeps what was said; facts and concerns are drawn from it, each with its sources."),
    tabs("diary", { facts: "Facts", concerns: "Concerns", diary: "Diary" }, tab), body);
  await parts[tab](given, body);
}

async function factsPart(given, body) {
  const narrowed = given.status || given.category || given.as_of || given.valid_at;
  const list = listing("/facts", { status: given.status, category: given.category, as_of: given.as_of, valid_at: given.valid_at, everything: given.everything }, ["Key", "Value", "Status", "Trust", "Said"], (fact) =>
    h("tr", opens(() => factSheet(fact.id, given.as_of)), h("td", {}, h("code", {}, fact.key), " ", fact.locked ? chip("locked", "good") : null, h("div", { class: "small soft" }, fact.category)), h("td", { class: "wide" }, fact.value),
      h("td", {}, statusChip(fact.status), fact.due ? chip("due", "warn") : null), h("td", {}, trust(fact.trust), h("div", { class: "small soft" }, fact.sources.length ? plural(fact.sources.length, "source") : "stated")), h("td", { class: "small soft" }, when(fact.affirmed_at))),
    narrowed ? empty("No fact fits", hint("Take a filter away."))
      : empty("Nothing is known about the user yet", hint("Write diary entries, then let your agent draw facts from them with ", h("code", {}, "extract"), ", or state one yourself."), h("button", { onclick: addFact }, "State a fact…")));
  body.append(filters("diary", { ...given, tab: "facts" }, [
    field("Status", choose("status", ["", "current", "provisional", ...WAITING, "superseded", "ended", "rejected", "deleted"], given.status)),
    field("Category", choose("category", ["", ...CATEGORIES], given.category)),
    field("As known on", h("input", { name: "as_of", value: given.as_of || "", placeholder: "2026-06-01" })),
    field("As it was on", h("input", { name: "valid_at", value: given.valid_at || "", placeholder: "last year" })),
    check("everything", "also what is past", given.everything === "true"),
  ]));
  if (given.as_of) body.append(note(`Time travel: what was known on ${given.as_of}.`));
  if (given.valid_at) body.append(note(`What held on ${given.valid_at}, by what is known${given.as_of ? " then" : " now"}.`));
  body.append(list.box);
  await list.ready;
}

export async function factSheet(number, asOf) {
  const fact = await get(`/facts/${number}`, { as_of: asOf });
  const act = (verb, title, about, more) => acts(title, about, (given) => post(`/facts/${number}/${verb}`, { ...more?.body, ...given }, fact.etag), more);
  const waits = WAITING.includes(fact.status), holds = ["current", "provisional"].includes(fact.status);
  sheet([h("code", {}, fact.key), " ", statusChip(fact.status), fact.locked ? chip("locked", "good") : null, chip(fact.origin, fact.origin === "user" ? "" : "warn")],
    asOf ? note(`As it was known on ${asOf}.`) : null,
    h("p", { class: "text big" }, fact.value), fact.why ? note(fact.why) : null,
    h("div", { class: "row" }, trust(fact.trust), soft(fact.corroboration === 1 ? "said once" : `said ${fact.corroboration} times`)),
    h("dl", {}, pairs({ Category: fact.category, Context: fact.context, "Holds from": when(fact.valid_from), "Holds until": when(fact.valid_to), "Last affirmed": when(fact.affirmed_at), "Check by": when(fact.check_by), "Conflicts with": fact.conflicts_with ? `fact ${fact.conflicts_with}` : null })),
    asOf ? null : h("div", { class: "row" },
      holds ? [acts("Edit", "What it said before stays as an earlier revision.", (given) => ask("PATCH", `/facts/${number}`, given, { "If-Match": fact.etag }), { fields: [field("Value", h("input", { name: "value", value: fact.value, required: true, autofocus: true }))], label: "Save" }),
        fact.locked ? act("unlock", "Unlock", "What is extracted may replace it again.") : act("lock", "Lock", "Nothing that is extracted replaces it.")] : null,
      fact.status === "provisional" ? act("confirm", "Confirm", "It has been checked and holds.") : null,
      waits && fact.status !== "parked" ? act("approve", "Approve", "It becomes a fact; where it came from stays on record.", { first: true }) : null,
      waits ? act("reject", "Reject", "The same from the same kind of source does not come back.", { kind: "bad" }) : null,
      fact.status === "parked" || fact.status === "conflict" ? [act("resolve", "Take this value", "It takes the place of the fact.", { body: { take: true } }), act("resolve", "Keep the fact", "This value is settled.", { body: { take: false } })] : null,
      fact.status !== "deleted" ? act("delete", "Delete", "It is taken out; a tombstone stays.", { kind: "bad" }) : null),
    h("h2", {}, "Where it comes from"), evidence(fact.evidence, "stated by a person, without diary entries"),
    h("h2", {}, "Revisions"), table(fact.revisions.map((one) => h("tr", {}, h("td", { class: "num" }, one.revision), h("td", {}, one.value), h("td", {}, statusChip(one.status)), h("td", { class: "small soft" }, when(one.recorded_at))))),
    h("h2", {}, "History"), history(fact.history));
}

async function concernsPart(given, body) {
  const list = listing("/concerns", { status: given.status, everything: given.everything, as_of: given.as_of }, ["Concern, and its background", "Status", "Mentions", "Last spoken of"], (one) => one.parent ? null :
    h("tr", opens(() => concernSheet(one.id, given.as_of)), h("td", { class: "wide" }, h("b", {}, one.title), " ", chip(one.kind), h("div", { class: "soft clamp" }, one.background)), h("td", {}, statusChip(one.status)), h("td", { class: "num" }, one.mentions ?? one.corroboration), h("td", { class: "small soft" }, when(one.affirmed_at))),
    given.status || given.as_of ? empty("No concern fits", hint("Take a filter away."))
      : empty("Nothing is open", hint("What the user has on their mind, drawn from the diary: todos, ideas, questions, decisions. The background stands beside each.")));
  body.append(filters("diary", { ...given, tab: "concerns" }, [field("Status", choose("status", ["", "ongoing", "recurring", "paused", "concluded", "claimed", "quarantined"], given.status)),
    field("As known on", h("input", { name: "as_of", value: given.as_of || "", placeholder: "2026-06-01" })),
    check("everything", "also mentions and what is out", given.everything === "true")]));
  if (given.as_of) body.append(note(`Time travel: what was known on ${given.as_of}.`));
  body.append(list.box);
  await list.ready;
}

export async function concernSheet(number, asOf) {
  const one = await get(`/concerns/${number}`, { as_of: asOf });
  const act = (verb, title, about, more) => acts(title, about, (given) => post(`/concerns/${number}/${verb}`, { ...more?.body, ...given }, one.etag), more);
  const waits = ["claimed", "quarantined"].includes(one.status);
  sheet([one.title, " ", statusChip(one.status), chip(one.kind), chip(one.origin, one.origin === "user" ? "" : "warn")], asOf ? note(`As it was known on ${asOf}.`) : null, h("p", { class: "text" }, one.background), one.why ? note(one.why) : null,
    asOf ? null : h("div", { class: "row" }, waits ? [act("approve", "Approve", "It becomes a concern.", { first: true }), act("reject", "Reject", "The same does not come back from the same kind of source.", { kind: "bad" })]
      : ["ongoing", "concluded", "recurring", "paused"].filter((status) => status !== one.status && one.status !== "deleted").map((status) => act("status", `Mark ${status}`, "", { body: { status } })),
    one.status !== "deleted" ? act("delete", "Delete", "It and its mentions are taken out; tombstones stay.", { kind: "bad" }) : null),
    h("h2", {}, "Where it comes from"), evidence(one.evidence || [], "no diary entries are left of it"),
    one.history ? [h("h2", {}, "History"), history(one.history)] : null);
}

async function diaryPart(given, body) {
  const list = listing("/diary", { pending: given.pending, kind: given.kind, session: given.session }, ["Entry", "Kind", "Extracted", "When"], (one) =>
    h("tr", { "data-item": true, tabindex: "0" }, h("td", { class: "wide" }, h("div", { class: "text" }, one.content), h("div", { class: "meta" }, h("span", {}, `#${one.id}`), one.session ? h("span", {}, `session ${one.session}`) : null, one.origin !== "user" ? chip(one.origin, "warn") : null)),
      h("td", {}, chip(one.kind)), h("td", {}, one.extracted ? soft("yes") : acts("Clear", "Nothing is to be drawn from this entry.", (said) => post(`/diary/${one.id}/ack`, said))), h("td", { class: "small soft" }, when(one.at))),
    given.kind || given.session || given.pending ? empty("No entry fits", hint("Take a filter away."))
      : empty("The diary is empty", hint("One statement an entry, in the user's own words. Agents write here with the tool ", h("code", {}, "diary"), "."), h("button", { onclick: addEntry }, "Write an entry…")));
  body.append(filters("diary", { ...given, tab: "diary" }, [field("Kind", choose("kind", ["", "said", "delegated", "promised", "happened", "preference", "other"], given.kind)), field("Session", h("input", { name: "session", value: given.session || "" })),
    check("pending", "only what is pending", given.pending === "true")]), list.box);
  await list.ready;
}
