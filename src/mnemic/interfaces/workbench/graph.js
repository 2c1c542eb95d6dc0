// A picture of what stands around a node, up to 2,000 nodes: rings by steps, then a few rounds in which what touches pulls and
// what is close pushes. It stands still at once, the same each time; the list beside it says the same in words.
import { check, choose, count, empty, field, h, hint, note, put, query, soft } from "./dom.js";
import { go } from "./frame.js";
import { get } from "./rest.js";

const COLORS = { message: "--s2", exchange: "--s7", article: "--s1", section: "--s6", paragraph: "--s6", item: "--s6", note: "--s4", card: "--s3", talk: "--s5" };
const EDGES = { next: "said next", cites: "cites", link: "links", part: "part of", similar: "is like" };
const STROKES = { next: "--s2", cites: "--s1", link: "--s3", part: "--line", similar: "--s4" };
const SIZES = ["50", "200", "500", "2000"], STEPS = ["1", "2", "3", "4"];

export async function graph(path, box, asked = {}) {
  const steps = asked.steps || "2", limit = asked.limit || "200";
  const found = await get("/around", { path, steps, limit });
  const controls = h("form", {}, h("div", { class: "filters" }, field("Steps", choose("steps", STEPS, steps)), field("Nodes at most", choose("limit", SIZES, limit))),
    h("div", { class: "row legend" }, Object.entries(EDGES).map(([kind, text]) => check(kind, text, true))));
  controls.addEventListener("change", (event) => {
    const now = Object.fromEntries(new FormData(controls));
    if (event.target.tagName === "SELECT") graph(path, box, now); else drawing.only(new Set(Object.keys(EDGES).filter((kind) => now[kind])));
  });
  controls.addEventListener("submit", (event) => event.preventDefault());
  Object.entries(STROKES).forEach(([kind, color]) => { controls.elements[kind].parentNode.style.borderBottom = `3px solid var(${color})`; });
  if (found.nodes.length < 2) { put(box, controls, empty("It stands alone", hint("Nothing is part of it, was said next to it, is like it, cites it or links to it."))); return; }
  const canvas = h("canvas", { class: "graph", tabindex: "0", role: "img", "aria-label": `${found.nodes.length} nodes around ${path}; the list below names them` });
  const said = h("p", { class: "small graph-said", "aria-live": "polite" });
  const rows = found.nodes.slice(1);
  put(box, controls, h("p", { class: "small soft" }, `${count(found.nodes.length)} nodes, ${count(found.edges.length)} edges. Drag to move, scroll or + and − to zoom, click to go to a node.`),
    found.omitted ? note(`${count(found.omitted)} more lie within ${steps} steps: fewer steps, or more nodes.`) : null, canvas, said,
    h("details", {}, h("summary", {}, `The ${count(rows.length)} nodes as a list`), h("ul", { class: "plain columns" }, rows.map((one) => h("li", {}, h("a", { href: `#/tree?${query({ path: one.path, view: "graph" })}`, title: one.path }, one.title || one.path), " ", soft(`${one.kind}, ${one.steps === 1 ? "1 step" : `${one.steps} steps`}`))))));
  const drawing = draw(canvas, found, (one) => put(said, one ? [h("b", {}, one.title || one.path), " ", soft(`${one.kind}${one.speaker ? `, ${one.speaker}` : ""}`), " ", h("code", {}, one.path)] : " "),
    (one) => go("tree", { path: one.path, view: "graph" }));
}

function draw(canvas, found, told, opened) {
  const nodes = laid(found), by = new Map(nodes.map((one) => [one.path, one]));
  const edges = found.edges.map((one) => ({ ...one, a: by.get(one.from), b: by.get(one.to) }));
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let zoom = 1, x = 0, y = 0, over = null, kinds = new Set(Object.keys(EDGES)), wide = 0, high = 0;

  function paint() {
    const pen = canvas.getContext("2d"), dots = devicePixelRatio || 1;
    canvas.width = wide * dots; canvas.height = high * dots;
    pen.setTransform(dots * zoom, 0, 0, dots * zoom, dots * (wide / 2 + x), dots * (high / 2 + y));
    const touched = over && new Set(edges.filter((one) => kinds.has(one.kind) && (one.a === over || one.b === over)).flatMap((one) => [one.a, one.b]));
    for (const kind of Object.keys(EDGES)) {
      if (!kinds.has(kind)) continue;
      for (const near of over ? [false, true] : [false]) {
        pen.beginPath();
        for (const one of edges) {
          if (one.kind !== kind || (over && (one.a === over || one.b === over) !== near)) continue;
          pen.moveTo(one.a.x, one.a.y); pen.lineTo(one.b.x, one.b.y);
        }
        pen.strokeStyle = style(STROKES[kind]);
        pen.globalAlpha = near ? 1 : over ? .15 : edges.length > 1500 ? .3 : .6;
        pen.lineWidth = (near ? 2 : 1) / zoom;
        pen.stroke();
      }
    }
    for (const one of nodes) {
      pen.globalAlpha = !over || one === over || touched.has(one) ? 1 : .35;
      pen.beginPath();
      pen.arc(one.x, one.y, one.r, 0, 7);
      pen.fillStyle = style(COLORS[one.kind] || "--s7");
      pen.fill();
      if (one.steps === 0 || one === over) { pen.lineWidth = 2.5 / zoom; pen.strokeStyle = style("--ink"); pen.stroke(); }
    }
    // Words where there is room for them: the center, what the pointer is on and its neighbours, and all when few are seen.
    pen.font = `${12 / zoom}px ${style("--sans")}`;
    pen.textAlign = "center";
    const taken = [];
    const first = [...nodes].sort((a, b) => (b === over) - (a === over) || a.steps - b.steps || b.degree - a.degree);
    for (const one of first.slice(0, 400)) {
      if (over && one !== over && !touched.has(one) && one.steps) continue;
      const text = (one.title || one.path.split("/").pop()).slice(0, 28), size = pen.measureText(text).width * zoom;
      const at = [one.x * zoom - size / 2 - 3, (one.y + one.r) * zoom + 1, one.x * zoom + size / 2 + 3, (one.y + one.r) * zoom + 16];
      if (taken.some((other) => at[0] < other[2] && at[2] > other[0] && at[1] < other[3] && at[3] > other[1])) continue;
      taken.push(at);
      pen.globalAlpha = one.steps === 0 || one === over ? 1 : .85;
      pen.lineWidth = 3 / zoom; pen.lineJoin = "round"; pen.strokeStyle = style("--card"); pen.strokeText(text, one.x, one.y + one.r + 13 / zoom);
      pen.fillStyle = style("--ink"); pen.fillText(text, one.x, one.y + one.r + 13 / zoom);
    }
    pen.globalAlpha = 1;
  }
  function fit() {
    wide = canvas.clientWidth; high = canvas.clientHeight;
    const reach = Math.max(...nodes.map((one) => Math.hypot(one.x, one.y))) + 40;
    zoom = Math.max(.05, Math.min(1.6, Math.min(wide, high) / 2 / reach));
    x = y = 0;
    paint();
  }
  const hit = (event) => {
    const area = canvas.getBoundingClientRect(), px = (event.clientX - area.left - wide / 2 - x) / zoom, py = (event.clientY - area.top - high / 2 - y) / zoom;
    let best = null, least = 12 / zoom;
    for (const one of nodes) { const far = Math.hypot(one.x - px, one.y - py) - one.r; if (far < least) { best = one; least = far; } }
    return best;
  };
  const scale = (by, cx = 0, cy = 0) => { const now = Math.max(.05, Math.min(8, zoom * by)); x = cx - (cx - x) * now / zoom; y = cy - (cy - y) * now / zoom; zoom = now; paint(); };
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX - x, y: event.clientY - y, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) { const nx = event.clientX - drag.x, ny = event.clientY - drag.y; drag.moved ||= Math.abs(nx - x) + Math.abs(ny - y) > 3; if (drag.moved) { x = nx; y = ny; paint(); } return; }
    const one = hit(event);
    if (one !== over) { over = one; told(one); canvas.classList.toggle("on", Boolean(one)); paint(); }
  });
  canvas.addEventListener("pointerup", (event) => { const one = drag && !drag.moved ? hit(event) : null; drag = null; if (one && one.steps) opened(one); });
  canvas.addEventListener("pointerleave", () => { if (over) { over = null; told(null); paint(); } });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); const area = canvas.getBoundingClientRect(); scale(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - area.left - wide / 2, event.clientY - area.top - high / 2); }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
    if (step) { x += step[0]; y += step[1]; paint(); } else if (event.key === "+" || event.key === "=") scale(1.25); else if (event.key === "-") scale(.8); else if (event.key === "0") fit(); else return;
    event.preventDefault();
  });
  new ResizeObserver(fit).observe(canvas);
  return { only(next) { kinds = next; paint(); } };
}

// Where everything stands: around the center by steps, each near what led to it, then moved apart.
function laid(found) {
  const nodes = found.nodes.map((one) => ({ ...one, degree: 0, x: 0, y: 0, inner: [] })), by = new Map(nodes.map((one) => [one.path, one]));
  const edges = found.edges.map((one) => [by.get(one.from), by.get(one.to), one.kind]);
  for (const [a, b] of edges) { a.degree++; b.degree++; }
  for (const [a, b] of edges) for (const [near, far] of [[a, b], [b, a]]) if (far.steps === near.steps + 1 && !far.from) { far.from = near; near.inner.push(far); }
  for (const one of nodes) { one.r = one.steps ? Math.min(9, 3.5 + Math.sqrt(one.degree)) : 11; if (one.steps && !one.from) { one.from = nodes[0]; nodes[0].inner.push(one); } }
  const leaves = (one) => { let sum = 0; for (const each of one.inner) sum += leaves(each); return (one.leaves = Math.max(1, sum)); };
  leaves(nodes[0]);
  const ring = Math.max(90, Math.sqrt(nodes.length) * 14);
  const spread = (one, begin, end) => {
    let at = begin;
    for (const each of one.inner) {
      const next = at + (end - begin) * each.leaves / one.leaves, angle = (at + next) / 2;
      each.x = Math.cos(angle) * ring * each.steps; each.y = Math.sin(angle) * ring * each.steps;
      spread(each, at, next);
      at = next;
    }
  };
  spread(nodes[0], 0, Math.PI * 2);
  const cell = 46, rounds = nodes.length > 800 ? 25 : 70;
  for (let round = 0; round < rounds; round++) {
    const heat = 1 - round / rounds, grid = new Map();
    for (const one of nodes) { const key = `${Math.round(one.x / cell)},${Math.round(one.y / cell)}`; (grid.get(key) || grid.set(key, []).get(key)).push(one); }
    for (const one of nodes) {
      const cx = Math.round(one.x / cell), cy = Math.round(one.y / cell);
      for (let dx = -1; dx < 2; dx++) for (let dy = -1; dy < 2; dy++) for (const other of grid.get(`${cx + dx},${cy + dy}`) || []) {
        if (other === one) continue;
        const wx = one.x - other.x || .1, wy = one.y - other.y || .1, far = Math.hypot(wx, wy);
        if (far < cell) { one.x += wx / far * (cell - far) * .35 * heat; one.y += wy / far * (cell - far) * .35 * heat; }
      }
    }
    for (const [a, b] of edges) {
      const wx = b.x - a.x, wy = b.y - a.y, far = Math.hypot(wx, wy) || 1, pull = (far - ring * .8) / far * .04 * heat / Math.max(1, Math.log2(Math.min(a.degree, b.degree) + 1));
      a.x += wx * pull; a.y += wy * pull; b.x -= wx * pull; b.y -= wy * pull;
    }
    nodes[0].x = nodes[0].y = 0;
  }
  return nodes;
}
