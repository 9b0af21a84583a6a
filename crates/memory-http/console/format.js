// Values as people read them.

const NUMBER = new Intl.NumberFormat("en");
const DATE = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** A count with separators. 64-bit integers arrive as strings; absent ones are 0. */
export function count(value, noun) {
  const number = NUMBER.format(Number(value ?? 0));
  if (!noun) return number;
  return `${number} ${Number(value ?? 0) === 1 ? noun : plural(noun)}`;
}

function plural(noun) {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(ch|x|s)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

export function bytes(value) {
  let size = Number(value ?? 0);
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (size < 1024) return `${unit === "bytes" ? size : size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return `${size.toFixed(1)} TiB`;
}

export function date(time) {
  return time ? DATE.format(new Date(time)) : "";
}

/** A time as the value of a `datetime-local` input, to the second; "" if it is none. */
export function localTime(time) {
  const moment = new Date(time);
  if (Number.isNaN(moment.getTime())) return "";
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** How long ago a time is, such as `3 hours ago`. */
export function ago(time, now = Date.now()) {
  if (!time) return "";
  let amount = (new Date(time).getTime() - now) / 1000;
  if (Math.abs(amount) < 10) return "just now";
  for (const [unit, size] of [["second", 60], ["minute", 60], ["hour", 24], ["day", 30], ["month", 12]]) {
    if (Math.abs(amount) < size) return RELATIVE.format(Math.round(amount), unit);
    amount /= size;
  }
  return RELATIVE.format(Math.round(amount), "year");
}

/** Seconds of a protobuf duration such as `1.5s`. */
export function seconds(duration) {
  return Number.parseFloat(duration ?? "0") || 0;
}

export function span(duration) {
  const all = seconds(duration);
  if (all < 1) return `${Math.round(all * 1000)} ms`;
  if (all < 120) return `${Math.round(all)} s`;
  if (all < 7200) return `${Math.round(all / 60)} min`;
  if (all < 172800) return `${Math.round(all / 3600)} h`;
  return `${Math.round(all / 86400)} days`;
}

/** `MEMORY_MODE_HYBRID` without its prefix, as `hybrid`. */
export function name(value, prefix) {
  if (!value) return "";
  const rest = value.startsWith(prefix) ? value.slice(prefix.length) : value;
  return rest.toLowerCase().replaceAll("_", " ");
}

export const role = (value) => name(value, "ROLE_") || "unknown";

/** The text of a message's parts, for one line; other parts are described. */
export function textOf(message) {
  const texts = (message?.parts ?? []).map((part) => {
    if (part.text !== undefined) return part.text;
    if (part.json !== undefined) return part.json;
    if (part.toolCall) return `→ ${part.toolCall.name}(${part.toolCall.arguments ?? ""})`;
    if (part.toolResult) return `← ${part.toolResult.name ?? ""} ${resultText(part.toolResult)}`;
    if (part.file) return `[file ${fileName(part.file)}]`;
    if (part.reasoning) return `[reasoning] ${part.reasoning.text ?? (part.reasoning.summaries ?? []).join(" ")}`;
    if (part.opaque) return `[${part.opaque.type}]`;
    return "";
  });
  return texts.join(" ").trim();
}

function resultText(result) {
  return (result.content ?? [])
    .map((piece) => piece.text ?? piece.json ?? (piece.file ? `[file ${fileName(piece.file)}]` : `[${piece.opaque?.type ?? "data"}]`))
    .join(" ");
}

export function fileName(file) {
  return file.name || file.file?.name || file.fileId || file.url || "";
}

/** The name of a thread's owner within its app. */
export const who = (userId) => userId || "no user";

/** JSON text with line breaks, if it is JSON. */
export function pretty(text) {
  try {
    // JavaScript would round longer numbers.
    return /\d{16}/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export const short = (id) => (id ?? "").slice(0, 8);
