// What the adapters of frameworks share: messages that come back as they were given.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { MessageInputSchema, MessageSchema, type Message, type MessageInput } from "../gen/recollect/v1/message_pb.js";
import { jsonObject, jsonText, type JsonObject } from "../json.js";

/** Bytes of JSON that are kept beside a message; its metadata has at most 16 KiB. */
const LONGEST = 12 * 1024;

/**
 * A message to store, with the original in its metadata if it cannot be restored from the
 * message. Larger originals come back as they are restored.
 *
 * @param name the entry of the metadata.
 * @param original the framework's message, as JSON.
 * @param restore what becomes of a stored message.
 */
export function keepExact(
  given: MessageInitShape<typeof MessageInputSchema>,
  name: string,
  original: unknown,
  restore: (stored: Message) => unknown,
): MessageInput {
  const input = create(MessageInputSchema, given);
  const { role, parts } = input;
  const isRestored = stableJson(original) === stableJson(restore(create(MessageSchema, { role, name: input.name, parts })));
  const text = JSON.stringify(original);
  if (!isRestored && new TextEncoder().encode(JSON.stringify(text)).length <= LONGEST) {
    input.metadata = jsonText({ ...jsonObject(input.metadata), [name]: text });
  }
  return input;
}

/** The original that was kept beside a message; undefined: it is restored from the message. */
export function exact<T>({ metadata }: { metadata: JsonObject }, name: string): T | undefined {
  const text = metadata[name];
  return typeof text === "string" ? (JSON.parse(text) as T) : undefined;
}

/** JSON with sorted keys and without undefined values. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) => {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return entry;
    return Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
