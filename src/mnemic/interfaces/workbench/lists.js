// Lists that load page by page, by cursor: nothing here asks for more than a page at a time.
import { failed, h, put, query, soft, table, when } from "./dom.js";
import { go } from "./frame.js";
import { get } from "./rest.js";

export function listing(path, given, head, line, none, limit = 50) {
  const body = h("tbody", {}), more = h("div", { class: "row more" }), box = h("div", {});
  const load = async (cursor) => {
    const found = await get(path, { ...given, limit, cursor });
    if (!cursor && !found.items.length) { put(box, none); return; }
    const rows = found.items.map(line).filter(Boolean);
    // Where a screen is too narrow for the columns' heads, each cell says its own.
    for (const row of rows) [...row.children].forEach((cell, place) => { if (head[place]) cell.dataset.label = head[place]; });
    body.append(...rows);
    put(more, found.next ? h("button", { onclick: async (event) => {
      event.target.disabled = true;
      try { await load(found.next); } catch (error) { put(more, failed(error)); }
    } }, "Show more") : []);
  };
  put(box, h("div", { class: "scroll" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, head.map((name) => name ? h("th", { scope: "col" }, name) : h("td", {})))), body)), more);
  return { box, ready: load() };
}

// A row that opens something: by a click, by Enter, and reached by j and k.
export const opens = (act) => ({ class: "click", "data-item": true, tabindex: "0",
  onclick: (event) => { if (!event.target.closest("a, button")) act(); },
  onkeydown: (event) => { if (event.key === "Enter" && event.target === event.currentTarget) act(); } });

export const tabs = (page, names, on, given = {}, key = "tab") => h("nav", { class: "tabs", "aria-label": "Parts" }, Object.entries(names).map(([name, text]) =>
  h("a", { href: `#/${page}?${query({ ...given, [key]: name })}`, "aria-current": name === on ? "page" : null }, text)));

export function filters(page, given, controls) {
  const form = h("form", {}, h("div", { class: "filters" }, controls));
  const apply = () => go(page, { ...given, ...Object.fromEntries([...form.elements].filter((one) => one.name)
    .map((one) => [one.name, one.type === "checkbox" ? (one.checked ? "true" : "") : one.value.trim()])) });
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  return form;
}

export function search(page, given, label, button, ...more) {
  const form = h("form", { role: "search" }, h("div", { class: "row" },
    h("input", { type: "search", name: "q", class: "wide", value: given.q || "", placeholder: label, "aria-label": label, "data-search": true }),
    h("button", { class: "first" }, button)), more);
  form.addEventListener("submit", (event) => { event.preventDefault(); go(page, Object.fromEntries(new FormData(form))); });
  return form;
}

export const history = (rows) => rows.length ? table(rows.map((row) => h("tr", {},
  h("td", { class: "num" }, h("a", { href: `#/ledger?${query({ seq: row.seq })}` }, `#${row.seq}`)), h("td", {}, row.op), h("td", {}, row.actor),
  h("td", { class: "soft" }, when(row.at)), h("td", {}, row.reason || "")))) : h("p", {}, soft("no entries"));
