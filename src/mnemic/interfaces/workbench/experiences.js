// Experiences: lessons by family, how each was revised, how trust in it went, and how its uses went.
import { chip, choose, count, empty, field, h, hint, note, pairs, plural, put, query, soft, stacked, svg, table, when } from "./dom.js";
import { acts, addExperience, lesson, lessonFields, sheet } from "./dialogs.js";
import { statusChip, trust } from "./diary.js";
import { filters, history, listing, opens, search, tabs } from "./lists.js";
import { get, post } from "./rest.js";

const STATUSES = ["candidate", "live", "challenged", "superseded", "cold", "archived"];
const SHADES = { live: "--s1", candidate: "--s4", challenged: "--s5", cold: "--s2", archived: "--s7" };

export async function experiencesPage(given, main) {
  const body = h("div", {}), tab = given.tab === "families" ? "families" : "lessons";
  put(main, h("div", { class: "row" }, h("h1", {}, "Experiences"), h("button", { class: "push", onclick: addExperience }, "Add…")), h("p", { class: "soft" }, "Lessons from work. Each starts as a candidate and earns or loses trust by how following it went."),
    search("experiences", given, "A task and its situation: what worked before?", "Ask"), given.q ? null : tabs("experiences", { lessons: "Lessons", families: "Families" }, tab), body);
  await (given.q ? askedPart : tab === "families" ? familiesPart : lessonsPart)(given, body);
}

async function askedPart(given, body) {
  const answer = await post("/experiences/recall", { situation: given.q });
  put(body, answer.items.map(card), answer.candidate_trials.length ? [h("h2", {}, "Trials"), h("p", { class: "small soft" }, "Unproven: try them where failing is cheap, and report."), answer.candidate_trials.map(card)] : null,
    answer.items.length + answer.candidate_trials.length ? null : empty("Nothing fits this situation", hint(answer.reason || "")));
}
const card = (one) => h("article", { class: "card", "data-item": true, tabindex: "0", "aria-label": one.gist, onclick: () => experienceSheet(one.id), onkeydown: (event) => { if (event.key === "Enter") experienceSheet(one.id); } },
  h("header", {}, h("h2", {}, one.gist), chip(one.verdict, one.verdict === "direct" ? "good" : ""), one.trial ? chip("trial", "warn") : null, h("span", { class: "push" }, trust(one.trust))),
  one.path.length ? h("ol", {}, one.path.map((step) => h("li", {}, step))) : null, one.conflicts.map((why) => note(`runs into its limit: ${why}`)));

async function lessonsPart(given, body) {
  const list = listing("/experiences", { status: given.status, kind: given.kind, family: given.family }, ["Lesson", "Family", "Status", "Trust"], (one) =>
    h("tr", opens(() => experienceSheet(one.id)), h("td", { class: "wide" }, one.kind === "negative" ? [chip("avoid", "bad"), " "] : null, one.gist, one.revision > 1 ? soft(` revision ${one.revision}`) : null), h("td", {}, h("code", {}, one.family)), h("td", {}, statusChip(one.status), one.pinned ? chip("pinned", "good") : null), h("td", {}, trust(one.trust))),
    given.status || given.kind || given.family ? empty("No lesson fits", hint("Take a filter away."))
      : empty("No lessons yet", hint("After hard work an agent records what worked or failed with ", h("code", {}, "record_experience"), ", and reports how following it went. You can add your own, which counts at once."), h("button", { onclick: addExperience }, "Add an experience…")));
  put(body, filters("experiences", given, [field("Status", choose("status", ["", ...STATUSES], given.status)), field("Kind", choose("kind", ["", "positive", "negative"], given.kind)), field("Family", h("input", { name: "family", value: given.family || "" }))]), list.box);
  await list.ready;
}

async function familiesPart(given, body) {
  const list = listing("/experiences/families", {}, ["Family", "Lessons", "Mean trust", "Reports", "Tokens saved"], (one) => {
    const parts = Object.entries(one.statuses).sort(([a], [b]) => STATUSES.indexOf(a) - STATUSES.indexOf(b));
    const open = () => { location.hash = `#/experiences?${query({ family: one.family })}`; };
    return h("tr", opens(open), h("td", {}, h("code", {}, one.family)), h("td", {}, h("div", { class: "row" }, stacked(parts.map(([name, value]) => [name, value, `var(${SHADES[name] || "--s7"})`]), parts.map(([name, value]) => `${value} ${name}`).join(", ")), h("span", { class: "num" }, one.experiences)),
      h("div", { class: "small soft" }, parts.map(([name, value]) => `${value} ${name}`).join(", "), one.avoid ? `; ${one.avoid} to avoid` : "")), h("td", {}, trust(one.trust)), h("td", { class: "num" }, count(one.reports)), h("td", { class: "num" }, count(one.tokens_saved)));
  }, empty("No families yet", hint("Lessons about the same kind of work form a family; at most twelve of it are live at once.")));
  put(body, list.box);
  await list.ready;
}

// How trust went, entry by entry: a line, with what happened at each point.
function course(rows) {
  if (rows.length < 2) return h("p", { class: "soft" }, rows.length ? `${rows[0].trust.toFixed(2)} since it was made: nobody reported a use yet.` : "nothing is known of it");
  const wide = 600, high = 120, pad = 14;
  const at = (row, place) => [pad + (wide - 2 * pad) * place / (rows.length - 1), high - pad - (high - 2 * pad) * row.trust];
  const dots = rows.map((row, place) => {
    const [x, y] = at(row, place);
    const title = svg("title", {});
    title.textContent = `${row.trust.toFixed(2)} after ${row.op} (entry ${row.seq}, ${row.at}), ${row.status}`;
    return svg("circle", { cx: x, cy: y, r: 4.5, class: `dot ${row.status}` }, title);
  });
  const lines = [0, .5, 1].map((value) => svg("line", { x1: pad, x2: wide - pad, y1: high - pad - (high - 2 * pad) * value, y2: high - pad - (high - 2 * pad) * value, class: "rule" }));
  return h("figure", {}, svg("svg", { viewBox: `0 0 ${wide} ${high}`, class: "course", role: "img", "aria-label": `Trust from ${rows[0].trust.toFixed(2)} to ${rows.at(-1).trust.toFixed(2)} over ${rows.length} entries` },
    ...lines, svg("polyline", { points: rows.map((row, place) => at(row, place).join(",")).join(" "), class: "line" }), ...dots),
  h("figcaption", { class: "small soft" }, `from ${rows[0].trust.toFixed(2)} (`, when(rows[0].at), `) to ${rows.at(-1).trust.toFixed(2)} (`, when(rows.at(-1).at), ")"));
}

export async function experienceSheet(number) {
  const name = encodeURIComponent(number), one = await get(`/experiences/${name}`);
  const act = (verb, title, about, more) => acts(title, about, (given) => post(`/experiences/${name}/${verb}`, { ...more?.body, ...(more?.read ? more.read(given) : given) }, one.etag), more);
  const is = (...states) => states.includes(one.status);
  const rewrite = { fields: lessonFields(one), label: "Save", read: (given) => ({ ...lesson(given), reason: given.reason }) };
  sheet([one.gist, " ", statusChip(one.status), one.kind === "negative" ? chip("avoid", "bad") : chip("works", "good"), one.pinned ? chip("pinned", "good") : null, chip(one.origin, one.origin === "user" ? "" : "warn")],
    h("div", { class: "row" }, trust(one.trust), soft(`${one.alpha} for, ${one.beta} against`), one.tokens_saved ? soft(`${count(one.tokens_saved)} tokens saved`) : null),
    one.why ? note(one.why) : null,
    one.path.length ? [h("h2", {}, "Steps"), h("ol", {}, one.path.map((step) => h("li", {}, step)))] : null,
    h("dl", {}, pairs({ Family: h("a", { href: `#/experiences?${query({ family: one.family })}` }, one.family), When: one.situation.join("; "), Because: one.reasoning, "Not when": one.limits.join("; "), "It fails because": one.failure_reason, Sources: one.sources.join(", "), "Held when followed": one.verified || null, "Failed when followed": one.rejected || null })),
    h("div", { class: "row" }, is("candidate") ? act("promote", "Promote", "It is live at once, on your word, bound to the text as you see it.", { body: { seen: one.seal }, first: true }) : null,
      is("candidate", "live", "challenged") ? act("report", "Report a use", "It moves trust, as an agent's report does.", { label: "Report", fields: [field("How it went", choose("outcome", ["success", "fail"], "success")), field("What decided it", choose("attribution", ["experience", "environment", "unrelated", "unknown"], "experience"))], read: (given) => ({ outcome: given.outcome, attribution: given.attribution, evidence: given.reason }) }) : null,
      is("challenged") ? act("revise", "Revise", "A new revision, which must prove itself.", rewrite) : null,
      is("live") && one.approved ? act("evolve", "Edit", "The next revision is live at once, on your word; situations and limits are added to.", { ...rewrite, body: { seen: one.seal } }) : null,
      is("cold") ? act("release", "Release", "It gets another trial.", { first: true }) : null, is("candidate", "live", "challenged") ? (one.pinned ? act("unpin", "Unpin", "It may be archived again.") : act("pin", "Pin", "It is not archived, and its rank does not sink.")) : null,
      is("candidate", "live") ? act("demote", "Demote", "Trust is taken away.", { kind: "bad" }) : null,
      is("candidate", "live", "challenged", "cold") ? act("archive", "Archive", "Only deep recall asks the archive.") : null, act("delete", "Delete", "It is taken out with all its revisions; undo brings it back.", { kind: "bad" })),
    h("h2", {}, "Trust over time"), course(one.course),
    h("h2", {}, "Revisions"), table(one.revisions.map((row) => h("tr", {}, h("td", { class: "num" }, row.revision), h("td", { class: "wide" }, row.gist), h("td", {}, statusChip(row.status)), h("td", {}, trust(row.trust)),
      h("td", { class: "act" }, row.status === "superseded" ? act("rollback", "Put back", `Revision ${row.revision} stands again, exactly as it was.`, { body: { revision: row.revision, seen: row.seal } }) : null)))),
    h("h2", {}, `Uses: ${plural(one.reports.length, "report")}`), one.reports.length ? table(one.reports.map((row) => h("tr", {}, h("td", {}, chip(row.outcome, row.outcome === "success" ? "good" : "bad")), h("td", {}, row.attribution || ""), h("td", { class: "small" }, row.evidence.map((each) => each.replace(/^note:/, "")).join("; ") || row.note), h("td", { class: "small soft" }, row.counted ? `counted ${row.counted}` : "not counted"), h("td", { class: "small soft" }, when(row.at))))) : h("p", { class: "soft" }, "nobody reported a use yet"),
    h("h2", {}, "History"), history(one.history));
}
