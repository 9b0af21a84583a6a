/**
 * Chat message histories of LangChain (`@langchain/core`).
 *
 * ```ts
 * const memory = recollect.session({ app: "support", user: "ada", session: "42" });
 * const history = new RecollectChatMessageHistory(memory);
 * await history.addMessages([new HumanMessage("My dog is called Pixel.")]);
 * ```
 *
 * Messages of LangChain are messages of the conversation, so recall, contexts and long-term
 * memories have them too.
 *
 * @packageDocumentation
 */
import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import {
  AIMessage,
  HumanMessage,
  mapStoredMessagesToChatMessages,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
  type MessageContent,
  type StoredMessage,
} from "@langchain/core/messages";
import { exact, keepExact } from "./adapters/exact.js";
import { MessageParts, parsed, type NewPart } from "./adapters/parts.js";
import { RecollectError } from "./errors.js";
import { Role, type MessageInput, type Part, type ToolResult } from "./gen/recollect/v1/message_pb.js";
import type { Session } from "./session.js";
import type { StoredMessage as Message } from "./stored.js";

const KEPT = "langchain_message";
const BATCH = 256;

/** Which messages a history returns. */
export interface ChatMessageHistoryOptions {
  /**
   * The newest turns with at most this many messages, besides the system messages that the
   * conversation begins with: 1 to 500. Default: all messages.
   */
  maxMessages?: number;
  /** The newest turns of at most this many tokens: 1 to 10,000,000. Default: no limit. */
  maxTokens?: number;
}

/** A history whose messages are those of a conversation in Recollect. */
export class RecollectChatMessageHistory extends BaseListChatMessageHistory {
  lc_namespace = ["recollect", "client", "langchain"];
  /** The conversation, for recall, contexts and everything else. */
  readonly memory: Session;
  readonly #options: ChatMessageHistoryOptions;

  constructor(memory: Session, options: ChatMessageHistoryOptions = {}) {
    super();
    this.memory = memory;
    this.#options = options;
  }

  /** The messages that lead to the conversation's head, oldest first. */
  override async getMessages(): Promise<BaseMessage[]> {
    const messages = await this.#messages();
    await this.memory.inlineFiles(messages);
    return messages.map(restore);
  }

  async #messages(): Promise<Message[]> {
    const { maxMessages, maxTokens } = this.#options;
    if (maxMessages !== undefined || maxTokens !== undefined) {
      const limits = { maxMessages: maxMessages ?? 500, maxTokens: maxTokens ?? 10_000_000 };
      return (await this.memory.history(limits)).messages;
    }
    const messages: Message[] = [];
    for await (const message of this.memory.path()) messages.push(message);
    return messages.reverse();
  }

  /** Stores a message at the end. */
  override async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message]);
  }

  /** Stores messages at the end. */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    const inputs = messages.map(input);
    for (let start = 0; start < inputs.length; start += BATCH) {
      await this.memory.append(inputs.slice(start, start + BATCH));
    }
  }

  /** Deletes all messages. */
  override async clear(): Promise<void> {
    try {
      await this.memory.clear();
    } catch (error) {
      if (!(error instanceof RecollectError && error.reason === "THREAD_NOT_FOUND")) throw error;
    }
  }
}

function input(message: BaseMessage): MessageInput {
  const made = new MessageParts();
  const [role, parts] = contentOf(message, made);
  const name = ToolMessage.isInstance(message) ? "" : message.name;
  const given = { role, name, parts: parts.length > 0 ? parts : made.empty() };
  return keepExact(given, KEPT, json(message), (stored) => json(restored(stored)));
}

/** A message as JSON, as LangChain stores it. */
function json(message: BaseMessage): StoredMessage {
  return JSON.parse(JSON.stringify(message.toDict())) as StoredMessage;
}

function contentOf(message: BaseMessage, made: MessageParts): [Role, NewPart[]] {
  const parts = blocks(message.content).flatMap((block) => blockParts(block, made));
  if (ToolMessage.isInstance(message)) {
    const { tool_call_id: toolCallId, name, status } = message;
    const content = made.result(parts);
    return [
      Role.TOOL,
      [{ content: { case: "toolResult", value: { toolCallId, name, content, isError: status === "error" } } }],
    ];
  }
  if (AIMessage.isInstance(message)) return [Role.ASSISTANT, [...parts, ...calls(message, made)]];
  return [SystemMessage.isInstance(message) ? Role.SYSTEM : Role.USER, parts];
}

type Block = { type?: string; [field: string]: unknown };

function blocks(content: BaseMessage["content"]): Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : (content as Block[]);
}

/** Kinds of blocks that `tool_calls` has too, and thoughts, which are only for their model. */
const ELSEWHERE = /^(tool_use|tool_call|function_call|thinking|redacted_thinking|reasoning.*)$/;

function blockParts(block: Block, made: MessageParts): NewPart[] {
  const { type = "", text, mime_type, mimeType } = block;
  if (type === "text" && typeof text === "string") return made.text(text);
  if (ELSEWHERE.test(type)) return [];
  const mediaType = String(mimeType ?? mime_type ?? (type.startsWith("image") ? "image/*" : ""));
  const image = block.image_url as string | { url?: string } | undefined;
  const url = (typeof image === "object" ? image.url : image) ?? block.url;
  if (typeof url === "string") return made.file({ url, mediaType });
  if (typeof block.data === "string" && mediaType !== "") return made.file({ data: block.data, mediaType });
  return made.json(block);
}

function calls(message: AIMessage, made: MessageParts): NewPart[] {
  const valid = (message.tool_calls ?? []).map(({ id, name, args }) => [id, name, JSON.stringify(args)] as const);
  const invalid = (message.invalid_tool_calls ?? []).map(({ id, name, args }) => [id, name, args ?? ""] as const);
  return [...valid, ...invalid].flatMap(([id, name, args], index): NewPart[] => {
    if (!made.whole(args)) return made.text(`Called ${name} with ${args}`);
    const call = { toolCallId: id || `call_${index}`, name: name || "unknown", arguments: args };
    return [{ content: { case: "toolCall", value: call } }];
  });
}

/** A stored message as the one of LangChain that it was made of. */
function restore(message: Message): BaseMessage {
  const kept = exact<StoredMessage>(message, KEPT);
  return kept ? mapStoredMessagesToChatMessages([kept])[0]! : restored(message);
}

function restored(message: Pick<Message, "role" | "name" | "parts">): BaseMessage {
  const { role, parts, name = "" } = message;
  const first = parts[0]?.content;
  if (role === Role.TOOL && first?.case === "toolResult") return resultMessage(first.value);
  const content = contentBlocks(parts);
  const fields = { content, ...(name && { name }) };
  if (role === Role.SYSTEM) return new SystemMessage(fields);
  if (role !== Role.ASSISTANT) return new HumanMessage(fields);
  const tool_calls = [];
  const invalid_tool_calls = [];
  for (const { content } of parts) {
    if (content.case !== "toolCall") continue;
    const { toolCallId: id, name, arguments: text } = content.value;
    const args = parsed(text);
    if (typeof args === "object" && args !== null && !Array.isArray(args)) {
      tool_calls.push({ type: "tool_call" as const, id, name, args: args as Record<string, unknown> });
    } else {
      invalid_tool_calls.push({ type: "invalid_tool_call" as const, id, name, args: text });
    }
  }
  return new AIMessage({ ...fields, tool_calls, invalid_tool_calls });
}

function resultMessage({ toolCallId, name, content, isError }: ToolResult): ToolMessage {
  return new ToolMessage({
    content: contentBlocks(content),
    tool_call_id: toolCallId,
    ...(name && { name }),
    status: isError ? "error" : "success",
  });
}

/** One text as a string, everything else as blocks. */
function contentBlocks(parts: readonly Pick<Part | ToolResult["content"][number], "content">[]): MessageContent {
  const made = parts.flatMap(({ content }): Block[] => {
    if (content.case === "text") return [{ type: "text", text: content.value }];
    if (content.case === "json") {
      const value = parsed(content.value);
      return typeof value === "object" && value !== null ? [value as Block] : [];
    }
    const url = content.case === "file" && content.value.location.case === "url" ? content.value.location.value : "";
    return url ? [{ type: "image_url", image_url: { url } }] : [];
  });
  const only = made[0];
  if (made.length === 0) return "";
  return made.length === 1 && only?.type === "text" ? String(only.text) : (made as MessageContent);
}
