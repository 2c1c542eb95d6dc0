// Which page is shown, and that it is shown anew when memory has changed.
import { $, empty, failed, h, loading, put, query } from "./dom.js";
import { door, head, token } from "./rest.js";

export const PAGES = new Map();  // name → { title, key, make, live }
export const place = () => {
  const [, name, rest] = /^#\/(\w+)\??(.*)$/.exec(location.hash) || [];
  return [PAGES.has(name) ? name : "recall", Object.fromEntries(new URLSearchParams(rest || ""))];
};
export const go = (name, given) => {
  const next = `#/${name}${query(given) ? `?${query(given)}` : ""}`;
  if (next === location.hash) show(); else location.hash = next;
};

const outside = () => empty("Sign in to see your memory", h("button", { class: "first", onclick: () => door.closed() }, "Sign in"));

let turn = 0;
export async function show() {
  const mine = ++turn;
  const [name, given] = place();
  document.title = `${PAGES.get(name).title} · mnemic`;
  document.querySelectorAll("#top [data-page]").forEach((one) => {
    if (one.dataset.page !== name) { one.removeAttribute("aria-current"); return; }
    one.setAttribute("aria-current", "page");
    one.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  if (!token()) { put($("main"), outside()); door.closed(); return; }
  const main = h("div", {});
  if ($("main").firstChild === null) put($("main"), loading());
  const swap = () => { if (mine === turn && main.parentNode !== $("main")) put($("main"), main); };
  const slow = setTimeout(swap, 120);
  try { await PAGES.get(name).make(given, main); }
  catch (error) { if (error.status === 401) put(main, outside()); else main.append(failed(error)); }
  clearTimeout(slow);
  swap();
  if (mine === turn) { document.body.dataset.ready = location.hash; look(false); }
}

// Live refresh: a page that shows what is latest is made anew by itself, unless somebody is at it; the others offer it.
let seen = null;
const busy = () => document.querySelector("dialog[open]") || ["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement?.tagName);
async function look(again) {
  if (!token()) return;
  try {
    const now = await head();
    if (now === null) return;
    if (!again) seen = now;
    const grown = now !== seen;
    if (grown && !busy() && PAGES.get(place()[0]).live && scrollY < 200) show();
    else $("grown").hidden = !grown;
  } catch { /* the next page says it */ }
}
export function watch() { setInterval(() => { if (document.visibilityState === "visible") look(true); }, 4000); }
