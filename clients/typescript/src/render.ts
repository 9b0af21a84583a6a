import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Message } from "./gen/recollect/v1/message_pb.js";
import { roleOf, textOf } from "./messages.js";

type Rendered = Pick<Message, "role" | "name" | "parts" | "seq" | "createTime">;

/** A stored message, or one that was recalled or found. */
export type Renderable = Rendered | { message?: Rendered };

/**
 * Messages as texts, one for each. What they contain is inserted as it is, and never evaluated.
 *
 * @param messages what `messages`, `path`, `history` or `recall` of a session returns.
 * @param template the text of one message, with the fields `{role}`, `{name}` (of the speaker, or
 * else the role), `{text}`, `{seq}` and `{createTime}`. `{{` and `}}` are braces.
 */
export function render(messages: Iterable<Renderable>, template?: string): string[];
export function render(messages: AsyncIterable<Renderable>, template?: string): AsyncGenerator<string, void, undefined>;
export function render(
  messages: Iterable<Renderable> | AsyncIterable<Renderable>,
  template = "{name}: {text}",
): string[] | AsyncGenerator<string, void, undefined> {
  const pieces = piecesOf(template);
  const text = (given: Renderable) => {
    const message = "message" in given ? given.message! : (given as Rendered);
    return pieces.map((piece) => (typeof piece === "string" ? piece : piece(message))).join("");
  };
  if (Symbol.iterator in messages) return Array.from(messages, text);
  return (async function* () {
    for await (const message of messages) yield text(message);
  })();
}

type Field = (message: Rendered) => string;

const FIELDS = new Map<string, Field>([
  ["role", roleOf],
  ["name", (message) => message.name || roleOf(message)],
  ["text", textOf],
  ["seq", ({ seq }) => String(seq)],
  ["createTime", ({ createTime }) => (createTime ? timestampDate(createTime).toISOString() : "")],
]);

/** The texts and fields of a template, in order. */
function piecesOf(template: string): (string | Field)[] {
  // Every second piece is in braces.
  return template.split(/(\{\{|\}\}|\{\w*\}|[{}])/).map((piece, index) => {
    if (index % 2 === 0) return piece;
    if (piece === "{{" || piece === "}}") return piece[0]!;
    const field = FIELDS.get(piece.slice(1, -1));
    if (field) return field;
    throw new TypeError(`the template has ${piece}; its fields are {${[...FIELDS.keys()].join("}, {")}}; {{ is a brace`);
  });
}
