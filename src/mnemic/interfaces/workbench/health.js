// Vault health: how memory stands, what every session loads, and what a vault should not have.
import { bytes, chip, count, empty, failed, h, hint, loading, meter, note, pairs, put, soft, stats, table } from "./dom.js";
import { sheet, tell } from "./dialogs.js";
import { show } from "./frame.js";
import { get, long, post } from "./rest.js";

const TIERS = { core: "--s1", active: "--s2", warm: "--s4", faded: "--s5", cold: "--s7", archive: "--s7" };

export async function healthPage(given, main) {
  const work = h("div", { "aria-live": "polite" }), audit = h("div", { "aria-live": "polite" }, loading()), vault = h("div", {}, loading());
  const run = (label, act, shown) => h("button", { onclick: async (event) => {
    event.target.disabled = true;
    put(work, note(`${label} …`));
    try { const done = await act((number) => put(work, note(`${label}: ${count(number)} …`))); tell(`${label}: ${shown(done)}`); await show(); }
    catch (error) { put(work, failed(error)); }
    event.target.disabled = false;
  } }, label);
  const [status, stat, budget] = await Promise.all([get("/status"), get("/stats"), get("/budget")]);
  const whole = Object.values(stat.tiers).reduce((sum, value) => sum + value, 0) || 1;
  const loaded = (name, part) => meter(name, part.bytes, part.limit, part.limit ? `${bytes(part.bytes)} of ${bytes(part.limit)}` : bytes(part.bytes), part.over ? "var(--bad)" : part.bytes > part.limit * .8 ? "var(--warn)" : "");
  put(main, h("h1", {}, "Vault health"), h("p", { class: "soft" }, "How memory stands, what every session loads, and what a vault should not have."),
    h("div", { class: "row" }, run("Sync the vault", () => post("/vault/sync"), (done) => `${done.new.length} new, ${done.edited.length} edited, ${done.deleted.length} gone`), run("Decay", () => post("/decay"), () => "tiers are written"), run("Reindex", (told) => long("/reindex", told), (done) => `${count(done.documents)} documents`),
      run("Check everything", () => get("/doctor"), (done) => { sheet(done.ok ? "All is well" : "Something is wrong", h("ul", {}, [...done.problems, ...done.notes].map((one) => h("li", {}, one))), done.problems.length + done.notes.length ? null : hint("Every file, row, text and entry is what it should be.")); return done.ok ? "all is well" : `${done.problems.length} problems`; })), work,
    stats([["Documents", status.documents], ["Sessions", status.sessions], ["Nodes", status.nodes], ["Facts", status.facts], ["Diary entries", status.diary], ["Experiences", status.experiences], ["Ledger entries", status.ledger], ["Waiting for vectors", status.pending + status.failed]]),
    h("h2", {}, "Tiers"), h("p", { class: "small soft" }, "What is used stays active; what is not fades, and recall asks less of it. Nothing is lost."),
    Object.entries(stat.tiers).map(([name, value]) => meter(name, value, whole, count(value), `var(${TIERS[name] || "--s7"})`)),
    h("h2", {}, "What every session loads"), budget.parts.length ? [budget.parts.map((part) => loaded(part.path, part)), loaded("together", budget.total)] : empty("Nothing is loaded yet", hint("The state of your work (", h("code", {}, "state.md"), "), the profile and the daily notes will stand here, each against its budget.")),
    h("h2", {}, "Audit"), audit, h("h2", {}, "The vault"), vault,
    h("h2", {}, "Files"), h("dl", {}, pairs(Object.fromEntries(Object.entries(status.bytes).filter(([, value]) => value > 0).map(([name, value]) => [name, bytes(value)])))), h("p", { class: "small soft" }, `home ${status.home}, namespace ${status.namespace}, ${status.embedder}`));
  // These two read the vault's files, all of them: what is known at once does not wait for them.
  const later = (path, box, shown) => get(path).then((found) => put(box, shown(found)), (error) => put(box, failed(error)));
  main.dataset.later = "audit";
  Promise.all([later("/audit", audit, audited), later("/vault", vault, vaulted)]).then(() => { main.dataset.later = ""; });
}

const audited = (found) => {
  const box = h("div", {}), add = (from) => {
    const rows = found.violations.slice(from, from + 50), left = found.violations.length - from - rows.length;
    box.append(table(rows.map((row) => h("tr", {}, h("td", {}, chip(row.rule, "warn")), h("td", {}, h("code", {}, row.path)), h("td", { class: "wide" }, row.message)))));
    if (left > 0) { const more = h("button", { onclick: () => { more.remove(); add(from + 50); } }, `Show more of ${count(left)}`); box.append(more); }
  };
  if (!found.violations.length) return h("p", { class: "soft" }, `No violations in ${count(found.checked.files)} files.`);
  add(0);
  return [h("p", { class: "soft" }, `${count(found.violations.length)} violations in ${count(found.checked.files)} files.`), box];
};
const vaulted = (vault) => h("dl", {}, pairs({ Folder: h("code", {}, vault.folder), Notes: count(vault.notes), Links: count(vault.links), Changed: count(vault.changed), Git: vault.git,
  "Broken links": vault.broken_links.length ? [vault.broken_links.slice(0, 20).map((one) => typeof one === "string" ? one : JSON.stringify(one)).join(", "), vault.broken_links.length > 20 ? soft(` and ${count(vault.broken_links.length - 20)} more`) : null] : null, "Held deletions": vault.held.join(", ") }));
