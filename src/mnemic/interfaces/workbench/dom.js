// How a page is made. What memory holds becomes text nodes and nothing else: there is no way here from a text to markup.

export function h(tag, given, ...inner) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (["value", "checked", "selected", "disabled"].includes(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const one of inner.flat(4)) {
    if (one === null || one === undefined || one === false || one === "") continue;
    node.append(one instanceof Node ? one : document.createTextNode(String(one)));
  }
  return node;
}
export function svg(tag, given, ...inner) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) node.setAttribute(name, value);
  node.append(...inner);
  return node;
}
const ICONS = { plus: ["M12 5v14M5 12h14"], theme: ["M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z"], help: ["M9.2 9a2.9 2.9 0 1 1 4.3 2.6c-1 .6-1.5 1.1-1.5 2.4", "M12 17.6v.1"],
  leave: ["M14 4h4a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-4", "M10 16l-4-4 4-4M6 12h10"], close: ["M6 6l12 12M18 6L6 18"] };
export const icon = (name) => svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, ...ICONS[name].map((d) => svg("path", { d })));
export const $ = (name) => document.getElementById(name);
export const put = (node, ...inner) => {
  node.replaceChildren(...inner.flat(4).filter((one) => one !== null && one !== undefined && one !== false && one !== ""));
  return node;
};

export const chip = (text, kind) => text ? h("span", { class: `chip ${kind || ""}` }, text) : null;
export const soft = (...inner) => h("span", { class: "soft" }, ...inner);
export const hint = (...inner) => h("p", {}, ...inner);
export const empty = (title, ...inner) => h("div", { class: "empty" }, h("h2", {}, title), ...inner);
export const loading = () => h("div", { class: "loading", role: "status", "aria-label": "Loading" });
export const failed = (error) => h("div", { class: "problem", role: "alert" }, error.message);
export const note = (...inner) => h("div", { class: "note" }, ...inner);
export const field = (label, control) => h("label", {}, label, control);
export const choose = (name, options, value) => h("select", { name },
  options.map((one) => h("option", { value: one, selected: one === (value || "") }, one || "any")));
export const check = (name, label, on) => h("label", { class: "check" }, h("input", { type: "checkbox", name, checked: on }), label);
export const table = (...rows) => h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, ...rows)));
export const pairs = (rows) => Object.entries(rows).filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);

export const bytes = (size) => size < 1024 ? `${size} B` : size < 1048576 ? `${(size / 1024).toFixed(1)} KB` : `${(size / 1048576).toFixed(1)} MB`;
export const count = (number) => Number(number || 0).toLocaleString();
export const plural = (number, one, many) => `${count(number)} ${Number(number) === 1 ? one : many || `${one}s`}`;
export const when = (stamp) => {
  if (!stamp) return "";
  const date = new Date(stamp);
  if (Number.isNaN(date.getTime())) return String(stamp);
  const today = date.toDateString() === new Date().toDateString();
  return h("time", { datetime: stamp, title: stamp }, today ? `today, ${date.toLocaleTimeString(undefined, { timeStyle: "short" })}`
    : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }));
};

// Bars. Widths are set as properties: the policy lets no style stand in markup.
export function fill(part, color) {
  const bar = h("div", { class: "fill" });
  bar.style.width = `${Math.max(0, Math.min(1, part || 0)) * 100}%`;
  if (color) bar.style.background = color;
  return bar;
}
export const track = (part, color) => h("div", { class: "track", "aria-hidden": "true" }, fill(part, color));
export function stacked(parts, title) {
  const whole = parts.reduce((sum, [, value]) => sum + value, 0) || 1;
  return h("span", { class: "stack", role: "img", title, "aria-label": title }, parts.map(([, value, color]) => {
    const bar = h("i");
    bar.style.width = `${value / whole * 100}%`;
    bar.style.background = color;
    return bar;
  }));
}
export const meter = (name, value, limit, shown, color) => h("div", { class: "meter" }, h("span", {}, name),
  limit ? track(value / limit, color) : h("span", {}), h("span", { class: "num soft" }, shown));
export const stats = (rows) => h("div", { class: "grid" }, rows.map(([name, value]) =>
  h("div", { class: "stat" }, h("b", {}, typeof value === "number" ? count(value) : value), soft(name))));

export const query = (given) => new URLSearchParams(Object.entries(given)
  .filter(([, value]) => value !== "" && value !== null && value !== undefined)).toString();
export const link = (path, text) => h("a", { href: `#/tree?${query({ path })}`, class: text ? null : "path" }, text || path);
export const crumbs = (path, last) => {
  const steps = path.split("/").filter(Boolean);
  return h("nav", { class: "crumbs", "aria-label": "Path" }, steps.map((name, place) => [place ? h("span", { "aria-hidden": "true" }, "/") : "",
    place < steps.length - 1 || last ? h("a", { href: `#/tree?${query({ path: `/${steps.slice(0, place + 1).join("/")}` })}` }, name) : h("b", {}, name)]));
};

// A unified diff, line by line.
export function diffed(text, most = 2000) {
  const lines = (text || "").split("\n");
  const kind = (line) => /^\+(?!\+\+)/.test(line) ? "plus" : /^-(?!--)/.test(line) ? "minus" : /^(@@|---|\+\+\+)/.test(line) ? "soft" : null;
  return h("pre", { class: "text long diff", tabindex: "0", "aria-label": "What changed" },
    lines.slice(0, most).map((line) => h("div", { class: kind(line) }, line || " ")),
    lines.length > most ? soft(`and ${count(lines.length - most)} more lines`) : null);
}
