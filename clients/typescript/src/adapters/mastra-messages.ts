// Messages of Mastra as messages of the contract, and back without loss.
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { MastraDBMessage } from "@mastra/core/agent";
import { MessageInputSchema, Role, type MessageInput, type Part } from "../gen/recollect/v1/message_pb.js";
import { jsonText } from "../json.js";
import type { StoredMessage } from "../stored.js";
import { MessageParts, type NewPart } from "./parts.js";

/** The entry of a message's metadata that has its id. */
export const ID = "mastra_id";
/** The entry that has the id of its thread. */
export const THREAD = "mastra_thread_id";
const REST = "mastra_message";
/** What of a message is kept in its metadata, in bytes of JSON; longer, it is a part. */
const LONGEST = 12 * 1024;

/**
 * How many parts a part of Mastra became: as text, or as JSON that is to be joined. The last
 * entry is `rest` if that is a part too.
 */
type Layout = ["text" | "json", number][];

interface Kept {
  layout: Layout;
  /** The message without its parts. Missing: it is in the parts. */
  rest?: Rest;
}

type Rest = Omit<MastraDBMessage, "createdAt" | "content"> & {
  createdAt: string;
  content: Omit<Content, "parts">;
  /** Fields of texts beside the text, by the index of the part. */
  extras: Record<number, object>;
};

type Content = MastraDBMessage["content"];

/** A message as it is stored. A message of more than 1 MiB is refused. */
export function stored(message: MastraDBMessage, externalId: string, edited: boolean): MessageInput {
  const made = new MessageParts();
  const { content, ...fields } = message;
  const { parts, ...others } = content;
  const layout: Layout = [];
  const extras: Rest["extras"] = {};
  const newParts = parts.flatMap((part, index) => {
    // NUL characters are kept in JSON alone.
    const isText = part.type === "text" && !part.text.includes("\0");
    if (isText) {
      const { type: _type, text: _text, ...others } = part;
      if (Object.keys(others).length > 0) extras[index] = others;
    }
    const pieces = isText ? made.text(part.text) : made.json(part);
    layout.push([isText ? "text" : "json", pieces.length]);
    return pieces;
  });
  const rest: Rest = { ...fields, createdAt: new Date(message.createdAt).toISOString(), content: others, extras };
  let kept: Kept = { layout, rest };
  if (new TextEncoder().encode(JSON.stringify(JSON.stringify(kept))).length > LONGEST) {
    const pieces = made.json(rest);
    kept = { layout: [...layout, ["json", pieces.length]] };
    newParts.push(...pieces);
  }
  if (made.isCut || newParts.length > 64) {
    throw new RangeError(`message ${message.id}: Recollect stores at most 1 MiB and 64 parts in a message`);
  }
  return create(MessageInputSchema, {
    externalId,
    role: roleOf(message.role),
    parts: newParts.length > 0 ? newParts : made.empty(),
    metadata: jsonText({
      [ID]: message.id,
      [THREAD]: message.threadId ?? "",
      [REST]: JSON.stringify(kept),
      ...(edited && { mastra_edited: true }),
    }),
    createTime: timestampFromDate(new Date(message.createdAt)),
  });
}

/** A stored message as Mastra's. undefined: it is not one of Mastra's. */
export function restored(message: StoredMessage): MastraDBMessage | undefined {
  const text = message.metadata[REST];
  if (typeof text !== "string") return undefined;
  const { layout, rest } = JSON.parse(text) as Kept;
  let next = 0;
  const values = layout.map(([kind, count]) => {
    const joined = message.parts.slice(next, next + count).map(textOfPart).join("");
    next += count;
    return kind === "text" ? { type: "text", text: joined } : (JSON.parse(joined) as unknown);
  });
  const { extras, ...fields } = (rest ?? values.pop()) as Rest;
  const parts = values.map((value, index) => ({ ...(value as object), ...extras[index] })) as Content["parts"];
  return { ...fields, createdAt: new Date(fields.createdAt), content: { ...fields.content, parts } };
}

/** Whether a message was changed after it was first stored, so that its place is a later one. */
export function isEdited({ metadata }: StoredMessage): boolean {
  return metadata.mastra_edited === true;
}

function roleOf(role: string): Role {
  if (role === "user") return Role.USER;
  return role === "assistant" ? Role.ASSISTANT : Role.SYSTEM;
}

function textOfPart({ content }: Pick<Part | NewPart, "content">): string {
  return content?.case === "text" || content?.case === "json" ? (content.value as string) : "";
}
