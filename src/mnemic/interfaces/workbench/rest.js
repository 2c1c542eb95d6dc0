// Everything that the workbench shows and does goes through REST, with the token in a header.
import { query } from "./dom.js";

const KEY = "mnemic.token";
export const token = () => sessionStorage.getItem(KEY) || localStorage.getItem(KEY) || "";
export function keep(text, longer) {
  sessionStorage.setItem(KEY, text);
  if (longer) localStorage.setItem(KEY, text);
}
export function drop() { sessionStorage.removeItem(KEY); localStorage.removeItem(KEY); }

// What happens when the token is none: the frame sets it.
export const door = { closed() {} };

export class Problem extends Error {
  constructor(row, status) { super(row.detail || row.title || `status ${status}`); this.status = status; this.row = row; }
}

const headers = (more) => ({ Authorization: `Bearer ${token()}`, ...more });
const JSON_BODY = { "Content-Type": "application/json" };
const gone = () => new Problem({ detail: "mnemic does not answer: is `mnemic serve` still running?" }, 0);

export async function ask(method, path, body, more) {
  let answer;
  try {
    answer = await fetch(`/api/v1${path}`, {
      method, cache: "no-store", credentials: "omit", redirect: "error",
      headers: headers({ ...(method === "GET" ? {} : JSON_BODY), ...more }),
      body: method === "GET" ? undefined : JSON.stringify(body || {}),
    });
  } catch { throw gone(); }
  const row = await answer.json().catch(() => ({}));
  if (answer.status === 401) { door.closed(); throw new Problem(row, 401); }
  if (!answer.ok) throw new Problem(row, answer.status);
  if (answer.headers.get("etag")) Object.defineProperty(row, "etag", { value: answer.headers.get("etag") });
  return row;
}
export const get = (path, given) => ask("GET", given && query(given) ? `${path}?${query(given)}` : path);
export const post = (path, body, mark) => ask("POST", path, body, mark ? { "If-Match": mark } : {});

// Whether a token is the one; and the number of the ledger's last entry, without leading to the sign-in.
export async function head(text = token()) {
  const answer = await fetch("/api/v1/ledger?limit=1", { headers: { Authorization: `Bearer ${text}` } });
  if (answer.status === 401) return null;
  return (await answer.json()).items?.[0]?.seq ?? 0;
}

// Long work that tells how far it is.
export async function long(path, told) {
  let answer;
  try { answer = await fetch(`/api/v1${path}`, { method: "POST", body: "{}", headers: headers({ ...JSON_BODY, Accept: "text/event-stream" }) }); } catch { throw gone(); }
  if (!answer.ok) throw new Problem(await answer.json().catch(() => ({})), answer.status);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", last = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/s.exec(part) || [];
      if (event === "progress") told(JSON.parse(data).done); else if (event) last = [event, JSON.parse(data)];
    }
  }
  if (!last) throw new Problem({ detail: "the work broke off: is `mnemic serve` still running?" }, 0);
  if (last[0] === "problem") throw new Problem(last[1], last[1].status);
  return last[1];
}
