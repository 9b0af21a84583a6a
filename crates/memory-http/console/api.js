// Calls of the JSON API (docs/http.md), with the key that the user entered.

const ROOT = new URL("../", import.meta.url);
const KEY = "recollect.key";

export const session = {
  get key() {
    return sessionStorage.getItem(KEY) ?? "";
  },
  set key(key) {
    if (key) sessionStorage.setItem(KEY, key);
    else sessionStorage.removeItem(KEY);
  },
};

/** A call that failed: what the server says, and what to do about it. */
export class Failure extends Error {
  constructor(code, message, details = [], retryAfter = "") {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
    const info = details.find((detail) => detail.type === "google.rpc.ErrorInfo");
    this.reason = info?.debug?.reason ?? "";
    const fields = details.find((detail) => detail.type === "google.rpc.BadRequest");
    this.fields = fields?.debug?.fieldViolations ?? [];
  }

  get advice() {
    if (this.retryAfter) return `Try again in ${this.retryAfter} s.`;
    return ADVICE[this.reason] ?? ADVICE[this.code] ?? "";
  }
}

const ADVICE = {
  LONG_TERM_MEMORY_OFF: "Switch long-term memory on in the server's configuration.",
  deadline_exceeded: "Try again, or ask for less.",
  invalid_argument: "Change the value and try again.",
  network: "Check that the server is running and reachable, then try again.",
  not_found: "It may have been deleted or have expired, or it belongs to another tenant.",
  permission_denied: "Sign in with a key that has the scope, or ask whoever manages the keys.",
  resource_exhausted: "Wait a moment and try again.",
  unauthenticated: "Sign in with a valid key.",
  unavailable: "The server or its database is starting or overloaded. Try again in a moment.",
};

/** The number of calls in progress, for the loading indicator. */
export const activity = new EventTarget();
let running = 0;

function count(change) {
  running += change;
  activity.dispatchEvent(new CustomEvent("change", { detail: running }));
}

/**
 * Calls a method, such as `ThreadService/GetThread`.
 *
 * `quiet` calls do not show the loading indicator.
 */
export async function call(method, request = {}, { signal, quiet = false } = {}) {
  if (!quiet) count(+1);
  try {
    return await send(method, request, signal);
  } finally {
    if (!quiet) count(-1);
  }
}

async function send(method, request, signal) {
  let response;
  let answer;
  try {
    response = await post(method, "application/json", JSON.stringify(request), signal);
    answer = await response.json();
  } catch (error) {
    throw unanswered(error, signal);
  }
  if (response.ok) return answer;
  throw refused(answer, response);
}

function post(method, type, body, signal) {
  const headers = { "content-type": type };
  if (session.key) {
    if (/[^\x21-\x7e]/.test(session.key)) throw new Failure("unauthenticated", "it has characters that no key has");
    headers.authorization = `Bearer ${session.key}`;
  }
  const url = new URL(`recollect.v1.${method}`, ROOT);
  return fetch(url, { method: "POST", headers, body, cache: "no-store", credentials: "omit", redirect: "error", signal });
}

function unanswered(error, signal) {
  if (signal?.aborted || error instanceof Failure) return error;
  return new Failure("network", "The server did not answer.");
}

function refused(answer, response) {
  const { code = "unknown", message = response.statusText, details = [] } = answer ?? {};
  return new Failure(code, message, details, response.headers.get("retry-after") ?? "");
}

/** The flag of a stream's last envelope, which has the error, if there is one. */
const END = 2;

/** Reads the stream of a method until it ends or `signal` is aborted. */
export async function watch(method, request, { signal, onmessage }) {
  const text = new TextEncoder().encode(JSON.stringify(request));
  const body = new Uint8Array(5 + text.length);
  new DataView(body.buffer).setUint32(1, text.length);
  body.set(text, 5);
  try {
    const response = await post(method, "application/connect+json", body, signal);
    if (!response.ok) throw refused(await response.json(), response);
    let rest = new Uint8Array();
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const joined = new Uint8Array(rest.length + value.length);
      joined.set(rest);
      joined.set(value, rest.length);
      rest = joined;
      while (rest.length >= 5) {
        const end = 5 + new DataView(rest.buffer, rest.byteOffset).getUint32(1);
        if (rest.length < end) break;
        const message = JSON.parse(new TextDecoder().decode(rest.subarray(5, end)));
        if (rest[0] & END) {
          if (message.error) throw refused(message.error, response);
          return;
        }
        onmessage(message);
        rest = rest.slice(end);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw unanswered(error, signal);
  }
}

/** All settled: each result is `{ value }` or `{ failure }`. An abort is thrown. */
export async function together(calls) {
  const names = Object.keys(calls);
  const settled = await Promise.allSettled(Object.values(calls));
  return Object.fromEntries(
    settled.map((one, index) => {
      if (one.status === "fulfilled") return [names[index], { value: one.value }];
      if (!(one.reason instanceof Failure) || one.reason.code === "unauthenticated") throw one.reason;
      return [names[index], { failure: one.reason }];
    }),
  );
}
