import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  MessageFilterSchema,
  MessageInputSchema,
  PartSchema,
  ProviderMessagesSchema,
  Role,
  type Message,
  type MessageInput,
  type Part,
} from "./gen/recollect/v1/message_pb.js";
import type { AppendMessagesRequestSchema } from "./gen/recollect/v1/message_service_pb.js";
import { invalid } from "./errors.js";
import { FORMATS, type MessageFormat, type ProviderMessage } from "./formats.js";
import { jsonText, type NewJson } from "./json.js";

/** Text, or the parts of a message. */
export type Content = string | MessageInitShape<typeof PartSchema>[];

/** A message to store. */
export interface NewMessage {
  role: "user" | "assistant" | "system" | "tool";
  content: Content;
  /** The speaker's name: at most 256 characters. */
  name?: string;
  /** The user who said it, where several take part: only of role `user`. Facts in it belong to this user. Default: the session's user. */
  saidBy?: string;
  /** Your own data: at most 16 KiB as JSON, 5 levels deep. */
  metadata?: NewJson;
  /** Your own id of the message, unique in the thread: 1 to 128 characters. */
  externalId?: string;
  /** When it was said, for imports. Default: now. */
  createTime?: Date;
  /** The message that this one follows, by messageId or externalId. Default: the one before, or the head. */
  parentMessageId?: string;
}

/** Selects messages; all conditions must hold. */
export interface MessageFilter {
  /** Any of these roles. */
  roles?: NewMessage["role"][];
  /** Any of these names of speakers: at most 32. */
  names?: string[];
  /** Any of these users who said them, as the messages themselves name them: at most 32. */
  userIds?: string[];
  /** The earliest time of a message, included. */
  startTime?: Date;
  /** The latest time of a message, excluded. */
  endTime?: Date;
  /** Values that the metadata must have: at most 16. */
  metadata?: NewJson;
}

/** A question and its answer; either may be missing. */
export interface Turn {
  user?: Content;
  /** The user who said it, where several take part. Default: the session's user. */
  saidBy?: string;
  assistant?: Content;
}

/** What `append` stores: a turn, messages, or messages as the contract has them. */
export type Appendable = Turn | NewMessage | readonly (NewMessage | MessageInput)[];

const ROLES = { user: Role.USER, assistant: Role.ASSISTANT, system: Role.SYSTEM, tool: Role.TOOL };

/** The parts of a message. */
export function parts(content: Content | undefined): MessageInitShape<typeof PartSchema>[] {
  if (content === undefined || content === "") return [];
  return typeof content === "string" ? [{ content: { case: "text", value: content } }] : content;
}

/** The text of a stored or recalled message: its text parts, in order. */
export function textOf(message: { parts: Part[] } | undefined): string {
  const texts = message?.parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : []));
  return texts?.join("\n") ?? "";
}

/** The role of a stored message, as in {@link NewMessage}. */
export function roleOf(message: Pick<Message, "role">): NewMessage["role"] {
  return (Role[message.role] ?? "user").toLowerCase() as NewMessage["role"];
}

/** The filter of a request. */
export function messageFilter(filter: MessageFilter | undefined): MessageInitShape<typeof MessageFilterSchema> | undefined {
  if (!filter) return undefined;
  const { roles, names, userIds, startTime, endTime, metadata } = filter;
  return {
    roles: roles?.map((role) => ROLES[role]),
    names,
    userIds,
    startTime: startTime && timestampFromDate(startTime),
    endTime: endTime && timestampFromDate(endTime),
    metadata: metadata && jsonText(metadata, "metadata"),
  };
}

/** The messages of an append. It throws if one of them is empty. */
export function messagesOf(given: Appendable): MessageInput[] {
  if (isList(given)) {
    return given.map((message, place) => ("$typeName" in message ? message : input(message, `messages[${place}].content`)));
  }
  if (typeof given !== "object" || given === null) throw invalid("messages", "must be an object, such as { user: question, assistant: answer }");
  if ("role" in given) return [input(given, "content")];
  const { user, saidBy, assistant } = given;
  const turn: MessageInput[] = [];
  if (user !== undefined) turn.push(input({ role: "user", content: user, saidBy }, "user"));
  if (assistant !== undefined) turn.push(input({ role: "assistant", content: assistant }, "assistant"));
  return turn;
}

function isList(given: Appendable): given is readonly (NewMessage | MessageInput)[] {
  return Array.isArray(given);
}

/** @param field what an error calls the content. */
function input(message: NewMessage, field: string): MessageInput {
  const { content } = message;
  if (typeof content !== "string" && !Array.isArray(content)) throw invalid(field, "must be a text or a list of parts");
  if (content.length === 0) throw invalid(field, "is empty");
  return create(MessageInputSchema, {
    role: ROLES[message.role],
    name: message.name,
    userId: message.saidBy,
    parts: parts(message.content),
    metadata: message.metadata && jsonText(message.metadata, "metadata"),
    externalId: message.externalId,
    createTime: message.createTime && timestampFromDate(message.createTime),
    parent:
      message.parentMessageId === undefined
        ? undefined
        : { case: "parentMessageId", value: message.parentMessageId },
  });
}

/** Messages, requests or responses of a provider's API, each as it is. */
export function providerMessagesOf(
  given: ProviderMessage | readonly ProviderMessage[],
  format: MessageFormat,
): MessageInitShape<typeof AppendMessagesRequestSchema>["providerMessages"] {
  const list: readonly ProviderMessage[] = Array.isArray(given) ? given : [given];
  return list.map((value) =>
    create(ProviderMessagesSchema, {
      format: FORMATS[format],
      json: typeof value === "string" ? value : JSON.stringify(value),
    }),
  );
}
