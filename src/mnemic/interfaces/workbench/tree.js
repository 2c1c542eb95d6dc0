// Tree: everything has an address. A node with its text, what stands around it, and what became of it.
import { chip, count, crumbs, diffed, empty, failed, h, hint, link, loading, note, pairs, put, query, soft, when } from "./dom.js";
import { acts, erase, forget, sheet, tell } from "./dialogs.js";
import { go, show } from "./frame.js";
import { graph } from "./graph.js";
import { history, listing, opens, tabs } from "./lists.js";
import { get, post } from "./rest.js";

const VIEWS = { text: "Text", near: "Neighbours", graph: "Graph", history: "History" };

export async function treePage(given, main) {
  const side = h("nav", { class: "side", "aria-label": "Addresses" }), body = h("section", { "aria-live": "polite" });
  put(main, h("h1", {}, "Tree"), h("p", { class: "soft" }, "Everything has an address: sessions, notes, files, cards, and the parts in them."), h("div", { class: `split ${given.path ? "opened" : ""}` }, side, body));
  const roots = await branch("", given.path || "");
  put(side, roots || empty("The tree is empty", hint("Remember a note (", h("kbd", {}, "n"), ") or put Markdown files into the vault.")));
  if (given.path) await pagePart(given, body);
  else put(body, empty("Open a node", hint("You see its text, where it belongs, what is near it, and its history. Reading here counts as no use; “Used” does, so that what you use fades later.")));
}

async function branch(path, chosen, cursor) {
  const found = await get("/tree", { path, depth: 1, limit: 100, cursor });
  const rows = found.items.filter((row) => row.path !== path);
  if (!rows.length && !cursor) return null;
  const list = h("ul", { class: "tree" });
  for (const row of rows) list.append(await twig(row, chosen));
  if (found.next) {
    const more = h("li", {}, h("button", { class: "quiet small", onclick: async () => { const rest = await branch(path, chosen, found.next); more.replaceWith(...(rest ? rest.children : [])); } }, "more …"));
    list.append(more);
  }
  return list;
}

async function twig(row, chosen) {
  const inner = h("div", {}), name = row.title || row.path.split("/").pop();
  const twist = h("button", { class: "twist", "aria-label": `Unfold ${name}`, "aria-expanded": "false" }, "▸");
  let unfolded = false;
  const toggle = async () => {
    unfolded = !unfolded;
    twist.textContent = unfolded ? "▾" : "▸";
    twist.setAttribute("aria-expanded", String(unfolded));
    try { put(inner, unfolded ? (await branch(row.path, chosen)) || h("p", { class: "small soft leaf" }, "nothing below") : []); }
    catch (error) { put(inner, failed(error)); }
  };
  twist.addEventListener("click", toggle);
  const open = h("button", { class: "name", "data-item": true, title: row.path, "aria-current": row.path === chosen ? "true" : null,
    onclick: () => row.kind === "folder" ? toggle() : go("tree", { path: row.path }) }, name, " ", soft(row.kind === "folder" ? "" : row.kind));
  if (chosen.startsWith(`${row.path}/`)) await toggle();
  return h("li", {}, h("div", { class: `item ${row.path === chosen ? "on" : ""}` }, twist, open), inner);
}

// A title that is only how the text begins says nothing that the text does not.
const headed = (page) => page.text.startsWith(page.title.replace(/…$/, "")) ? "" : page.title;

async function pagePart(given, body) {
  const path = given.path, view = VIEWS[given.view] ? given.view : "text";
  put(body, loading());
  const page = await get("/page", { path });
  const inner = h("div", {});
  put(body, crumbs(path),
    h("div", { class: "row" }, headed(page) ? h("h2", { class: "big" }, page.title) : null, chip(page.kind), page.forgotten ? chip("forgotten", "bad") : null, chip(page.tier, page.tier === "core" ? "good" : ""), page.origin !== "user" ? chip(page.origin, "warn") : null),
    tabs("tree", VIEWS, view, { path }, "view"), inner);
  await { text: textPart, near: nearPart, graph: graphPart, history: historyPart }[view](page, inner);
}

function textPart(page, box) {
  const path = page.path, below = page.children;
  put(box,
    page.text ? h("pre", { class: "text long prose", tabindex: "0" }, page.text) : h("p", { class: "soft" }, "It has no text of its own."),
    h("div", { class: "row" },
      h("button", { onclick: async () => { await post("/open", { path }); tell("Counted as a use: it fades later."); await show(); } }, "Used"),
      page.tier === "core" ? acts("Unpin", "Its use decides its tier again.", (given) => post("/tier", { path, tier: "auto", ...given }))
        : acts("Pin", "It becomes core and never fades.", (given) => post("/tier", { path, tier: "core", ...given })),
      page.forgotten ? null : h("button", { class: "bad", onclick: () => forget(path) }, "Forget…"),
      h("button", { class: "bad quiet", onclick: () => erase(path) }, "Erase for good…")),
    page.forgotten ? note("It was forgotten: hidden from recall, not deleted. ", h("a", { href: `#/tree?${query({ path, view: "history" })}` }, "Undo it in its history"), ".") : null,
    h("dl", {}, pairs({ Created: when(page.created_at), Recorded: page.recorded_at === page.created_at ? null : when(page.recorded_at), Session: page.session, Context: page.context, Origin: page.origin,
      Importance: page.importance, Relevance: page.relevance?.toFixed?.(2), Used: page.access_count ? [`${page.access_count}×, last `, when(page.last_accessed)] : "not yet",
      Shelf: page.shelf, Document: page.document !== path ? link(page.document) : null })),
    below.length ? [h("h3", {}, "Below"), h("ul", { class: "plain" }, below.slice(0, 100).map((one) => h("li", {}, link(one, one.slice(path.length + 1) || one)))), below.length > 100 ? soft(`and ${count(below.length - 100)} more: see the tree`) : null] : null);
}

const NEAR = { next: "Said before and after", cites: "Cites, and is cited by", link: "Links", part: "Belongs to, and consists of", similar: "Is like" };
async function nearPart(page, box) {
  put(box, loading());
  const found = await get("/around", { path: page.path, steps: 1, limit: 200 });
  const by = new Map(found.nodes.map((one) => [one.path, one]));
  const groups = Object.entries(NEAR).map(([kind, title]) => {
    const rows = found.edges.filter((edge) => edge.kind === kind && (edge.from === page.path || edge.to === page.path));
    return rows.length ? [h("h3", {}, title), h("ul", { class: "plain" }, rows.map((edge) => {
      const one = by.get(edge.from === page.path ? edge.to : edge.from), out = edge.from === page.path;
      return h("li", {}, h("span", { class: "arrow", title: out ? "from here" : "to here" }, kind === "similar" ? "≈" : out ? "→" : "←"), " ",
        h("a", { href: `#/tree?${query({ path: one.path, view: "near" })}` }, one.title || one.path.split("/").pop()), " ", soft(one.kind), kind === "similar" ? soft(` ${edge.weight.toFixed(2)}`) : null,
        h("div", { class: "small soft path" }, one.path));
    }))] : null;
  });
  put(box, groups.some(Boolean) ? groups : empty("It stands alone", hint("Neighbours are the parts it has, what was said next to it, what is like it, and what cites or links to it.")));
}

async function graphPart(page, box) {
  put(box, loading());
  await graph(page.path, box);
}

async function historyPart(page, box) {
  const document = page.document;
  put(box, h("h3", {}, "What it said before"), await revised(document),
    h("h3", {}, "Every entry about it"), page.history.length ? h("p", { class: "small soft" }, "An entry is taken back in the ledger, with a reason.") : null, history(page.history));
}

// The revisions of a document, or of a file of the vault; each opens what it changed.
export async function revised(path) {
  const list = listing("/revisions", { path }, ["#", "What", "Who", "When", "Why"], (row) => h("tr", opens(() => revisionSheet(path, row.seq)),
    h("td", { class: "num" }, row.seq), h("td", {}, row.gone ? "taken out" : row.op), h("td", {}, row.actor, row.origin !== "user" && row.origin !== row.actor ? [" ", chip(row.origin)] : null), h("td", { class: "soft" }, when(row.at)), h("td", {}, row.reason || "")),
  h("p", { class: "soft" }, "It says what it always said."));
  await list.ready;
  return list.box;
}
async function revisionSheet(path, seq) {
  const one = await get(`/revisions/${seq}`, { path });
  sheet(`What entry ${seq} changed`, h("p", { class: "meta" }, h("span", {}, `${one.op} by ${one.actor}`), h("span", {}, when(one.at)), one.reason ? h("span", {}, one.reason) : null, h("a", { href: `#/ledger?${query({ seq })}` }, "the entry")),
    one.erased ? note("A text that it is about was erased; what can be shown is left of it.") : null, diffed(one.diff),
    one.text ? h("details", {}, h("summary", {}, "All of it as it stood then"), h("pre", { class: "text long prose", tabindex: "0" }, one.text)) : null);
}

// A turn over the page that cites it.
export async function turnSheet(path) {
  const page = await get("/page", { path });
  sheet([soft(`${page.kind} `), page.session ? `in session ${page.session}` : page.document], crumbs(path, true), h("p", { class: "meta" }, h("span", {}, when(page.created_at)), page.context ? h("span", {}, page.context) : null),
    h("pre", { class: "text long prose", tabindex: "0" }, page.text || "It has no text of its own."),
    h("div", { class: "row" }, link(path, "Open it in the tree"), page.document !== path ? link(page.document, "The whole exchange") : null, h("a", { href: `#/tree?${query({ path, view: "near" })}` }, "What is near it")));
}
