// Wiki: what dreams made of conversations. A footnote opens the turn that it cites.
import { chip, count, empty, h, hint, pairs, put, query, soft } from "./dom.js";
import { dreamNow } from "./dreams.js";
import { go } from "./frame.js";
import { tabs } from "./lists.js";
import { get } from "./rest.js";
import { revised, turnSheet } from "./tree.js";

const toArticle = (name, text) => h("a", { href: `#/wiki?${query({ article: name })}` }, text || name);
const VIEWS = { article: "Article", talk: "Talk", history: "History" };

// An article's Markdown as nodes: footnotes open their turn, wikilinks their article, *emphasis* and list items are shown.
export function prose(text, sources) {
  const inline = (line) => line.split(/(\[\^\d+\]|\[\[[^\]\n]+\]\]|\*\*[^*\n]+\*\*|\*[^*\n]+\*|`[^`\n]+`)/).map((part) => {
    const note = /^\[(\^\d+)\]$/.exec(part), wiki = /^\[\[([^\]|#]+)(?:#[^\]|]*)?\|?([^\]]*)\]\]$/.exec(part);
    if (note) {
      const path = sources[note[1]];
      return path ? h("sup", {}, h("a", { href: `#/tree?${query({ path })}`, title: path, "aria-label": `Source ${note[1].slice(1)}`, onclick: (event) => { if (!event.ctrlKey && !event.metaKey) { event.preventDefault(); turnSheet(path); } } }, note[1].slice(1))) : h("sup", {}, note[1].slice(1));
    }
    if (wiki) return toArticle(wiki[1], wiki[2] || wiki[1]);
    if (/^\*\*.+\*\*$/.test(part)) return h("b", {}, inline(part.slice(2, -2)));
    if (/^\*.+\*$/.test(part)) return h("em", {}, inline(part.slice(1, -1)));
    if (/^`.+`$/.test(part)) return h("code", {}, part.slice(1, -1));
    return part;
  });
  return text.split(/\n{2,}/).filter((block) => block.trim()).map((block) => {
    const lines = block.split("\n");
    if (lines.every((line) => /^\s*[-*] /.test(line))) return h("ul", {}, lines.map((line) => h("li", {}, inline(line.replace(/^\s*[-*] /, "")))));
    const head = /^(#{1,6}) (.*)$/.exec(lines[0]);
    if (head) return [h("h3", {}, inline(head[2])), lines.length > 1 ? prose(lines.slice(1).join("\n"), sources) : null];
    return h("p", {}, lines.map((line, place) => [place ? h("br") : null, inline(line)]));
  });
}
// A line that has no block of its own.
export const phrase = (text, sources = {}) => prose(text, sources).flat(2).filter(Boolean).flatMap((one) => [...one.childNodes]);

export async function wikiPage(given, main) {
  const form = h("form", { role: "search" }, h("input", { type: "search", name: "q", value: given.q || "", placeholder: "Search the articles", "aria-label": "Search the articles", "data-search": true, class: "full" }));
  form.addEventListener("submit", (event) => { event.preventDefault(); go("wiki", Object.fromEntries(new FormData(form))); });
  const all = await get("/wiki");
  if (!all.articles.length) {
    put(main, h("h1", {}, "Wiki"), empty("No articles yet", hint("A dream turns what was said into articles about people, places and topics."), h("button", { class: "first", onclick: dreamNow }, "Dream now…"), hint("Every night: ", h("code", {}, "mnemic dream schedule"))));
    return;
  }
  const list = h("ul", { class: "tree" }), body = h("section", { "aria-live": "polite" });
  const add = (found) => {
    list.append(...found.articles.map((one) => h("li", {}, h("div", { class: `item ${one.title === given.article ? "on" : ""}` }, h("a", { class: "name", "data-item": true, "aria-current": one.title === given.article ? "page" : null, href: `#/wiki?${query({ article: one.title })}` }, one.title, " ", soft(one.type))))));
    if (found.next === null) return;
    const more = h("li", {}, h("button", { class: "quiet small", onclick: async () => { const rest = await get("/wiki", { start: found.next }); more.remove(); add(rest); } }, `${count(found.total - found.next)} more …`));
    list.append(more);
  };
  add(all);
  put(main, h("h1", {}, "Wiki"), h("p", { class: "soft" }, "What dreams made of conversations: articles in which every sentence is cited, and a footnote opens the turn it comes from."),
    h("div", { class: `split ${given.article || given.q ? "opened" : ""}` }, h("nav", { class: "side", "aria-label": "Articles" }, form, list), body));
  if (given.q) await foundPart(given, body);
  else if (given.article) await articlePart(given, body);
  else put(body, empty("Open an article", hint("Or search: ", h("kbd", {}, "/"))));
}

async function foundPart(given, body) {
  const found = await get("/wiki/search", { query: given.q });
  put(body, found.hits.map((hit) => h("article", { class: "card" }, h("h2", {}, toArticle(hit.article)), hit.passage ? prose(hit.passage.text, {}) : null)),
    found.others?.length ? h("p", {}, soft("Also in "), found.others.map((one, place) => [place ? ", " : "", toArticle(one)])) : null,
    found.hits.length ? null : empty("No article says that", hint("Recall asks everything that was said: ", h("a", { href: `#/recall?${query({ q: given.q })}` }, "recall it"))));
}

async function articlePart(given, body) {
  const view = VIEWS[given.view] ? given.view : "article", inner = h("div", {});
  const one = await get("/wiki/read", { name: given.article });
  put(body, h("div", { class: "row" }, h("h2", { class: "big" }, one.article), chip(one.infobox.type)), tabs("wiki", { ...VIEWS, talk: one.talk ? "Talk •" : "Talk" }, view, { article: given.article }, "view"), inner);
  await { article: textPart, talk: talkPart, history: historyPart }[view](one, inner);
}

function textPart(one, box) {
  const jump = (anchor) => document.getElementById(`section-${anchor}`)?.scrollIntoView({ block: "start" });
  const section = (row) => h("section", { id: `section-${row.anchor}` }, row.heading ? h("h3", {}, row.heading) : null, prose(row.text, row.sources));
  const more = h("div", {});
  const rest = (next) => put(more, next ? h("button", { onclick: async () => { const found = await get("/wiki/read", { name: one.article, anchor: next }); more.before(...found.sections.map(section)); rest(found.next); } }, "Read on") : []);
  rest(one.next);
  put(box, h("aside", { class: "infobox card", "aria-label": "At a glance" }, h("dl", {}, pairs(Object.fromEntries(Object.entries(one.infobox).map(([key, value]) => [key.replace(/_/g, " "), phrase(String(value))])))),
    one.contents.length ? [h("h3", {}, "Contents"), h("ol", {}, one.contents.map((row) => h("li", {}, h("button", { class: "plain", onclick: () => jump(row.anchor) }, row.heading))))] : null),
  one.sections.map(section), more,
  one.backlinks.length ? [h("h3", {}, "What links here"), h("p", {}, one.backlinks.map((each, place) => [place ? ", " : "", toArticle(each)]), one.more.backlinks ? soft(` and ${count(one.more.backlinks)} more`) : null)] : null,
  one.categories.length ? h("p", { class: "small soft" }, `Categories: ${one.categories.join(", ")}`) : null,
  h("p", { class: "small soft" }, h("code", {}, one.path), " in the vault; edit it there, and your words stay yours."));
}

async function talkPart(one, box) {
  const found = await get("/wiki/talk", { name: one.article });
  const text = found.text.replace(/^# Talk:.*\n+/, "");
  put(box, text.trim() ? [prose(text, {}), found.next === null ? null : h("p", { class: "soft" }, "It goes on in the vault: ", h("code", {}, found.path)), h("p", { class: "small soft" }, "Dreams propose here, nobody obeys by machine: what is to be done, a person does in ", h("code", {}, one.path), ".")]
    : empty("Nothing is to be decided", hint("Dreams raise here that an article should be split or merged, that it contradicts itself, or that it drifts. You can write here too: ", h("code", {}, found.path))));
}

async function historyPart(one, box) {
  put(box, h("p", { class: "soft" }, "Each entry opens what it changed, a dream's and a person's alike."), await revised(one.path),
    h("p", { class: "small soft" }, "A whole dream is taken back under ", h("a", { href: "#/dreams" }, "Dreams"), "."));
}
