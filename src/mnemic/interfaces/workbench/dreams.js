// Dreams: what each changed, why, what it proposes; and the way back.
import { chip, choose, count, diffed, empty, field, h, hint, link, note, put, query, soft, table, when } from "./dom.js";
import { closeSheets, dialog, sheet, tell, undoDream } from "./dialogs.js";
import { show } from "./frame.js";
import { listing, opens } from "./lists.js";
import { get, post } from "./rest.js";

export const dreamNow = () => dialog("Dream now", [h("p", { class: "soft" }, "What was said since the last dream becomes articles. A dream is one entry: it is undone as a whole."), field("Who judges", choose("judge", ["rules", "endpoint", "agent"], "rules"))],
  async (given) => { const done = await post("/dream", { judge: given.judge }); tell(done.id === null ? "Nothing new to dream of." : `Dream ${done.id}: ${done.articles.created} articles made, ${done.articles.updated} updated.`); await show(); }, "Dream");

export async function dreamsPage(given, main) {
  const list = listing("/dreams", {}, ["#", "When", "Judge", "Articles", "Proposals", ""], (one) => h("tr", opens(() => dreamSheet(one.id)), h("td", { class: "num" }, one.id), h("td", {}, when(one.at)), h("td", {}, chip(one.judge)),
    h("td", {}, `${one.articles.created} made, ${one.articles.updated} updated`, one.articles.rejected ? [" ", chip(`${one.articles.rejected} rejected`, "warn")] : null), h("td", { class: "num" }, one.signals.length), h("td", { class: "act" }, h("button", { class: "small quiet", onclick: () => undoDream(one.id) }, "Undo…"))),
  empty("No dream yet", hint("Dreams run when you ask, or every night: ", h("code", {}, "mnemic dream schedule")), h("button", { class: "first", onclick: dreamNow }, "Dream now…")));
  put(main, h("div", { class: "row" }, h("h1", {}, "Dreams"), h("button", { class: "push", onclick: dreamNow }, "Dream now…")), h("p", { class: "soft" }, "What each dream changed, why, and what it proposes. Nothing is lost in a dream, and it can be taken back."), list.box);
  await list.ready;
  if (given.id) await dreamSheet(given.id);
}

const article = (path) => /^articles\/(.+)\.md$/.exec(path)?.[1];
const where = (path) => article(path) ? h("a", { href: `#/wiki?${query({ article: article(path) })}` }, article(path)) : path.startsWith("/") ? link(path) : h("code", {}, path);

async function dreamSheet(id) {
  const one = await get(`/dreams/${id}`);
  sheet([`Dream ${one.id} `, chip(one.judge), one.conserved ? chip("nothing lost", "good") : null],
    h("p", { class: "meta" }, h("span", {}, when(one.at)), h("span", {}, `${one.articles.created} made, ${one.articles.updated} updated, ${one.articles.unchanged ?? 0} unchanged`), one.spent?.calls ? h("span", {}, `${count(one.spent.calls)} calls, ${count(one.spent.tokens)} tokens`) : null),
    h("div", { class: "row" }, h("button", { onclick: () => { closeSheets(); undoDream(id); } }, "Undo…")),
    one.signals.length ? [h("h2", {}, "What it proposes"), h("p", { class: "small soft" }, "It stands on the articles' talk pages, for a person to decide."), h("ul", { class: "plain" }, one.signals.slice(0, 200).map((row) => h("li", {}, chip(row.kind), " ", where(row.path), " ", row.why.replace(/\[\[(?:[^\]|]*\|)?([^\]]*)\]\]/g, "$1"))))] : null,
    one.rejections.length ? [h("h2", {}, "Rejected"), h("ul", {}, one.rejections.slice(0, 50).map((why) => h("li", {}, typeof why === "string" ? why : JSON.stringify(why))))] : null,
    h("h2", {}, "Stages"), table(one.stages.map((row) => h("tr", {}, h("td", {}, row.name), h("td", { class: "num" }, `${count(row.in)} in`), h("td", { class: "num" }, `${count(row.out)} out`), h("td", { class: "num" }, row.rejected ? `${count(row.rejected)} rejected` : ""), h("td", { class: "num soft" }, `${row.seconds.toFixed(2)} s`)))),
    h("h2", {}, "What it changed"), one.diff ? diffed(one.diff) : note("What stood before is not kept any more, because of an erasure or an import since."));
}
