// The workbench: its pages, its keys, and what stands above them.
import { $, h, icon, put } from "./dom.js";
import { closeSheets, remember, sheet, signOut, tell } from "./dialogs.js";
import { diaryPage } from "./diary.js";
import { dreamsPage } from "./dreams.js";
import { experiencesPage } from "./experiences.js";
import { PAGES, place, show, watch } from "./frame.js";
import { healthPage } from "./health.js";
import { ledgerPage } from "./ledger.js";
import { opsPage } from "./ops.js";
import { recallPage } from "./recall.js";
import { Problem } from "./rest.js";
import { treePage } from "./tree.js";
import { wikiPage } from "./wiki.js";
import { windowPage } from "./window.js";

const page = (name, title, key, make, live = false) => PAGES.set(name, { title, key, make, live });
page("recall", "Recall", "r", recallPage);
page("tree", "Tree", "t", treePage);
page("diary", "Diary & facts", "d", diaryPage, true);
page("experiences", "Experiences", "e", experiencesPage, true);
page("wiki", "Wiki", "i", wikiPage);
page("dreams", "Dreams", "m", dreamsPage, true);
page("ledger", "Ledger", "l", ledgerPage, true);
page("health", "Vault health", "h", healthPage);
page("window", "Window", "w", windowPage, true);
page("ops", "Human ops", "o", opsPage, true);

function theme(next) {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (next) { root.dataset.theme = dark ? "light" : "dark"; localStorage.setItem("mnemic.theme", root.dataset.theme); }
}
if (["dark", "light"].includes(localStorage.getItem("mnemic.theme"))) document.documentElement.dataset.theme = localStorage.getItem("mnemic.theme");

const KEYS = [["/", "search"], ["j  k", "next, previous item"], ["Enter", "open it"], ["n", "remember something"], ["Esc", "close"], ["r", "show the page anew"], ["x", "dark or light"], ["?", "these keys"]];
const keys = () => sheet("Keys", h("div", { class: "two" }, [KEYS, [...PAGES.values()].map((one) => [`g ${one.key}`, one.title])].map((rows) =>
  h("table", {}, h("tbody", {}, rows.map(([key, about]) => h("tr", {}, h("td", {}, key.split(" ").filter(Boolean).map((one) => [h("kbd", {}, one), " "])), h("td", {}, about))))))));

let leader = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog, canvas")) { if (event.key === "Escape") event.target.blur(); return; }
  const after = Date.now() - leader < 1500;
  leader = 0;
  if (after) {
    const found = [...PAGES].find(([, one]) => one.key === event.key);
    if (found) { event.preventDefault(); location.hash = `#/${found[0]}`; }
    return;
  }
  const items = [...document.querySelectorAll("main [data-item]")], at = items.indexOf(document.activeElement);
  const acts = {
    "/": () => { const box = document.querySelector("[data-search]"); if (box) { box.focus(); box.select(); } else location.hash = "#/recall"; },
    j: () => items[Math.min(at + 1, items.length - 1)]?.focus(), k: () => items[Math.max(at - 1, 0)]?.focus(),
    g: () => { leader = Date.now(); }, n: remember, r: show, x: () => theme(true), "?": keys,
  };
  if (Object.hasOwn(acts, event.key)) { event.preventDefault(); acts[event.key](); }
});

put($("top"), h("div", { class: "bar" },
  h("a", { class: "brand", href: "#/recall" }, h("img", { src: "/icon.svg", alt: "" }), "mnemic"),
  h("nav", { class: "pages", "aria-label": "Pages" }, [...PAGES].map(([name, one]) => h("a", { href: `#/${name}`, "data-page": name, title: `g ${one.key}` }, one.title))),
  h("button", { id: "grown", class: "small first", hidden: true, onclick: () => { $("grown").hidden = true; show(); } }, "New: refresh"),
  h("div", { class: "tools push" },
    h("button", { class: "quiet", onclick: remember, title: "Remember (n)", "aria-label": "Remember" }, icon("plus")),
    h("button", { class: "quiet", onclick: () => theme(true), title: "Dark or light (x)", "aria-label": "Dark or light" }, icon("theme")),
    h("button", { class: "quiet", onclick: keys, title: "Keys (?)", "aria-label": "Keys" }, icon("help")),
    h("button", { class: "quiet", onclick: signOut, title: "Sign out", "aria-label": "Sign out" }, icon("leave")))));
// What fails where nobody waits for it, e.g. a sheet whose thing is gone, is said.
addEventListener("unhandledrejection", (event) => { if (event.reason instanceof Problem) { event.preventDefault(); tell(event.reason.message); } });
addEventListener("hashchange", () => { closeSheets(); scrollTo(0, 0); show(); });
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
if (!location.hash) history.replaceState(null, "", `#/${place()[0]}`);
show();
watch();
