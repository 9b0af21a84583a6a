// Messages of a model's API as far as the server stores them.

/** The bytes of a part (Part in docs/api.md). */
const LONGEST = 256 * 1024;
/** The fields whose texts become parts. */
const TEXTS = new Set(["text", "content", "output", "arguments", "thinking", "refusal"]);

/** The text without what the server refuses: NUL characters and halves of surrogate pairs. */
export function wellFormed(text: string): string {
  return text.replaceAll("\0", "\u{fffd}").replace(/\p{Surrogate}/gu, "\u{fffd}");
}

/**
 * A value of JSON whose texts are well formed. Those that are longer than a part may be end with a note
 * that says so.
 */
export function storable(value: unknown, field = ""): unknown {
  if (typeof value === "string") return TEXTS.has(field) ? cut(wellFormed(value)) : wellFormed(value);
  if (Array.isArray(value)) return value.map((entry) => storable(entry, field));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [wellFormed(name), storable(entry, name)]));
}

function cut(text: string): string {
  // A unit of UTF-16 has at most 3 bytes.
  if (text.length * 3 <= LONGEST) return text;
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= LONGEST) return text;
  const note = `\n[The end is not stored: the text has ${bytes.length} bytes.]`;
  let end = LONGEST - note.length;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return new TextDecoder().decode(bytes.subarray(0, end)) + note;
}
