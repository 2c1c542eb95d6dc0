// Window: what the proxy did with each turn, and the summaries that stand for what no longer fits.
import { chip, count, empty, field, h, hint, link, meter, note, pairs, plural, put, soft, stacked, stats, when } from "./dom.js";
import { sheet } from "./dialogs.js";
import { filters, listing, opens, tabs } from "./lists.js";
import { get } from "./rest.js";

const PARTS = { system: "--s7", pinned: "--s3", summary: "--s4", retrieved: "--s1", recent: "--s2" };
const WORDS = { system: "instructions", pinned: "pinned", summary: "summaries", retrieved: "recalled", recent: "the talk itself" };

export async function windowPage(given, main) {
  const tab = given.tab === "summaries" ? "summaries" : "turns", body = h("div", {});
  const [row, proxy] = await Promise.all([get("/window-status"), get("/proxy")]);
  put(main, h("h1", {}, "Window"), h("p", { class: "soft" }, "When a conversation outgrows its model, older messages are replaced by summaries; every original stays in memory, and what matters now is recalled into the prompt."),
    row.sessions || proxy.serving ? stats([["Conversations", row.sessions], ["Messages summed up", row.messages], ["Tokens replaced", row.replaced_tokens], ["Archived summaries", row.archived]]) : null,
    tabs("window", { turns: "Turns of the proxy", summaries: "Summaries" }, tab), body);
  (tab === "turns" ? turnsPart : summariesPart)(proxy, row, body, given);
  await body.ready;
}

const budget = (tokens) => {
  const parts = Object.entries(tokens.by_part || {}).filter(([, value]) => value);
  return stacked(parts.map(([name, value]) => [name, value, `var(${PARTS[name] || "--s7"})`]), parts.map(([name, value]) => `${WORDS[name] || name} ${count(value)}`).join(", "));
};
const legend = () => h("p", { class: "legend small" }, Object.entries(PARTS).map(([name, color]) => { const dot = h("i"); dot.style.background = `var(${color})`; return h("span", {}, dot, WORDS[name]); }));

function turnsPart(proxy, row, body) {
  if (!proxy.serving) {
    put(body, empty("No proxy is running", hint("Let a client talk through it, and every turn stands here: its budget, what was archived, what was recalled, and why."),
      hint(h("code", {}, "mnemic proxy --upstream https://api.openai.com/v1"), " then point the base URL of the client at it."), hint("Without a proxy: ", h("code", {}, "mnemic window prepare chat.json"))));
    return;
  }
  put(body, h("p", { class: "meta" }, h("span", {}, `to ${proxy.upstream}`), h("span", {}, plural(proxy.requests, "request")), h("span", {}, plural(proxy.conversations, "conversation")), proxy.waiting ? h("span", {}, `${proxy.waiting} wait to be remembered`) : null, Object.entries(proxy.counts).map(([name, value]) => h("span", {}, `${name}: ${count(value)}`))),
    proxy.turns.length ? [legend(), h("div", { class: "scroll" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, ["#", "When", "Conversation", "Budget", "Tokens", "Archived", "Recalled", "Ended"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, proxy.turns.map(turnRow))))] : empty("No turn yet", hint("The proxy runs; the next request of a client stands here.")));
}
const turnRow = (one) => h("tr", opens(() => turnSheet(one)), h("td", { class: "num" }, one.number), h("td", { class: "small soft" }, when(one.at)), h("td", { class: "wide" }, one.session || soft("–"), h("div", { class: "small soft" }, one.model)), h("td", {}, one.tokens.by_part ? budget(one.tokens) : soft("–")),
  h("td", { class: "num" }, one.tokens.before === undefined ? "" : one.tokens.before === one.tokens.after ? count(one.tokens.after) : `${count(one.tokens.before)} → ${count(one.tokens.after)}`),
  h("td", { class: "num" }, one.compacted.length ? plural(one.compacted.reduce((sum, each) => sum + each.messages, 0), "message") : ""), h("td", { class: "num" }, one.injected.length || ""), h("td", {}, chip(one.ended, one.ended === "whole" ? "good" : "warn"), one.memory === "failed" ? chip("without memory", "bad") : one.memory === "off" ? chip("memory off") : null));

function turnSheet(one) {
  const parts = Object.entries(one.tokens.by_part || {}), most = Math.max(1, one.tokens.before || 0, one.tokens.after || 0);
  sheet(`Turn ${one.number}`, h("p", { class: "meta" }, h("span", {}, when(one.at)), h("span", {}, one.path), h("span", {}, one.model), one.streamed ? h("span", {}, "streamed") : null, h("span", {}, `answered ${one.status || "–"}`), h("span", {}, one.ended)),
    one.why.map((why) => note(why)),
    h("h2", {}, "Budget"), parts.length ? [parts.map(([name, value]) => meter(WORDS[name] || name, value, most, `${count(value)} tokens`, `var(${PARTS[name] || "--s7"})`)), meter("beside the messages", one.tokens.beside, most, `${count(one.tokens.beside)} tokens`, "var(--soft)"), h("p", { class: "soft" }, `${count(one.tokens.before)} tokens came in, ${count(one.tokens.after)} went out.`)] : h("p", { class: "soft" }, `the messages went on as they came (${one.memory})`),
    h("h2", {}, "Archived"), one.compacted.length ? one.compacted.map((each) => h("p", {}, `${plural(each.messages, "message")} of ${count(each.tokens)} tokens became a summary of ${count(each.summary_tokens)}, by ${each.judge}.`)) : h("p", { class: "soft" }, "nothing in this turn"),
    h("h2", {}, "Recalled"), one.injected.length ? h("ul", { class: "plain" }, one.injected.map((each) => h("li", {}, each.path.startsWith("/") ? link(each.path) : h("code", {}, each.path), " ", each.again ? chip("as before") : each.score === null || each.score === undefined ? chip("known") : soft(each.score.toFixed(2))))) : h("p", { class: "soft" }, "nothing"),
    h("h2", {}, "Remembered"), h("p", {}, one.remembered || "not yet"), h("dl", {}, pairs(Object.fromEntries(Object.entries(one.ms).map(([name, value]) => [name.replace("_", " "), `${value.toFixed(1)} ms`])))));
}

function summariesPart(proxy, row, body, given) {
  const list = listing("/window/summaries", { session: given.session }, ["Conversation", "Level", "Stands for", "By", "When"], (one) => h("tr", opens(() => summarySheet(one)), h("td", { class: "wide" }, one.session, h("div", { class: "small soft clamp" }, one.text)), h("td", {}, chip(one.level), one.tier === "archive" ? chip("archived", "warn") : null),
    h("td", { class: "num" }, `${plural(one.messages, "message")}, ${count(one.replaced)} tokens`), h("td", { class: "small" }, one.judge), h("td", { class: "small soft" }, when(one.created_at))),
  given.session ? empty("No conversation of this name was cut", hint("Take the filter away.")) : empty("No conversation was cut yet", hint("Let a client talk through the proxy, or prepare its messages: ", h("code", {}, "mnemic window prepare chat.json"))));
  put(body, Object.entries(row.summaries).map(([name, value]) => meter(name, value, row.cap, `${count(value)} of ${count(row.cap)}`)), h("p", { class: "small soft" }, `${count(row.never_below_floor)} can never fall below the floor of forgetting (${row.floor}).`, row.awaiting_agent ? ` ${count(row.awaiting_agent)} wait for the agent.` : ""),
    filters("window", { ...given, tab: "summaries" }, [field("Conversation", h("input", { name: "session", value: given.session || "" }))]), list.box);
  body.ready = list.ready;
}
function summarySheet(one) {
  sheet([`Summary ${one.id} `, chip(one.level), one.tier === "archive" ? chip("archived", "warn") : null], h("p", { class: "meta" }, h("span", {}, `conversation ${one.session}`), h("span", {}, plural(one.messages, "message")), h("span", {}, `${count(one.replaced)} tokens`), h("span", {}, `by ${one.judge}`), h("span", {}, when(one.created_at))),
    h("pre", { class: "text long prose", tabindex: "0" }, one.text), one.merged_from.length ? h("p", { class: "soft" }, `merged from ${one.merged_from.map((each) => `summary ${each}`).join(", ")}`) : null,
    h("h2", {}, "The originals"), one.sources.length ? h("ul", { class: "plain" }, one.sources.slice(0, 100).map((path) => h("li", {}, link(path)))) : h("p", { class: "soft" }, "none is kept"));
}
