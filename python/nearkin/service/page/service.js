// Calls of the service: the token, problems (RFC 9457), and integers that stay exact.
//
// Ids are strings or integers of 64 bits. An integer beyond 2^53 is a BigInt here, so that what is shown and sent back is
// the id that the store gave.

const KEPT = "nearkin.token";
let memory = "";

// The token lives in sessionStorage: of this tab, until it is closed. Where that is blocked it lives in this page.
export const token = {
  get() {
    try {
      return sessionStorage.getItem(KEPT) ?? memory;
    } catch {
      return memory;
    }
  },
  set(value) {
    memory = value;
    try {
      if (value) sessionStorage.setItem(KEPT, value);
      else sessionStorage.removeItem(KEPT);
    } catch {
      // This page's memory is enough.
    }
  },
};

// What went wrong, in the words of the service or of this page.
export class Problem extends Error {
  constructor(title, detail = "", fields = {}) {
    super(detail ? `${title}: ${detail}` : title);
    this.title = title;
    this.detail = detail;
    this.status = fields.status ?? 0;
    this.slug = String(fields.type ?? "").replace("urn:nearkin:problem:", "");
    this.fields = fields;
  }
}

// JSON with integers of any size: BigInt where a number of this language would round.
export function parseJson(text) {
  return JSON.parse(text, (key, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || !Number.isInteger(value)) return value;
    const source = context?.source;
    if (source !== undefined) return /^-?\d+$/.test(source) ? BigInt(source) : value;
    if (key === "id" || key === "match") {
      throw new Problem("This browser is too old", "It would round the ids of this store. Use a newer one.");
    }
    return value;
  });
}

export function toJson(value) {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(toJson).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const pairs = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}:${toJson(item)}`);
    return `{${pairs.join(",")}}`;
  }
  return JSON.stringify(value);
}

// The answer to one call, as an object or, of /metrics, as text. `body` is JSON that is ready to be sent.
export async function ask(path, { body, headers = {}, signal, plain = false } = {}) {
  const sent = { Accept: plain ? "text/plain" : "application/json", ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  if (token.get()) sent.Authorization = `Bearer ${token.get()}`;
  const options = { method: body === undefined ? "GET" : "POST", body, headers: sent, signal };
  let response;
  let text;
  try {
    response = await fetch(path, { ...options, cache: "no-store", credentials: "omit", redirect: "error" });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The service does not answer", "It was stopped, or the network is down. Try again.");
  }
  if (!response.ok) throw problemOf(response, text);
  return plain ? text : parseJson(text);
}

function problemOf(response, text) {
  let fields = {};
  try {
    fields = parseJson(text);
  } catch {
    // Not the service itself: something before it, such as a proxy.
  }
  if (fields === null || typeof fields !== "object" || Array.isArray(fields)) fields = {};
  const title = String(fields.title ?? response.statusText ?? "") || `Status ${response.status}`;
  const wait = Number(response.headers.get("Retry-After"));
  let detail = String(fields.detail ?? "");
  if (wait > 0) detail = `${detail} Try again in ${wait} ${wait === 1 ? "second" : "seconds"}.`.trim();
  return new Problem(title, detail, { ...fields, status: response.status });
}
