// Messages of the AI SDK as messages of the contract, and back.
import { create } from "@bufbuild/protobuf";
import type { LanguageModelMiddleware } from "ai";
import { FileType } from "../gen/recollect/v1/file_pb.js";
import {
  MessageInputSchema,
  ProviderFormat,
  Role,
  type Message,
  type MessageInput,
  type Part,
  type ToolCall,
  type ToolResult,
} from "../gen/recollect/v1/message_pb.js";
import { answeredCalls, MessageParts, parsed, type NewPart } from "./parts.js";

type Transform = NonNullable<LanguageModelMiddleware["transformParams"]>;
type Generate = NonNullable<LanguageModelMiddleware["wrapGenerate"]>;

/** The parameters of one call of a model. */
export type CallParams = Parameters<Transform>[0]["params"];
export type Prompt = CallParams["prompt"];
export type PromptMessage = Prompt[number];
/** A piece of a model's answer. */
export type Content = Awaited<ReturnType<Generate>>["content"][number];

type UserMessage = Extract<PromptMessage, { role: "user" }>;
type AssistantMessage = Extract<PromptMessage, { role: "assistant" }>;
type ToolMessage = Extract<PromptMessage, { role: "tool" }>;
type UserPart = UserMessage["content"][number];
type FilePart = Extract<UserPart, { type: "file" }>;
type ResultPart = Extract<ToolMessage["content"][number], { type: "tool-result" }>;
type Output = ResultPart["output"];
type OutputPiece = Extract<Output, { type: "content" }>["value"][number];
type ProviderData = Record<string, Record<string, unknown>> | undefined;

/** What a message of the user or of a tool is stored as. None: it has nothing to store. */
export function stored(message: PromptMessage): MessageInput[] {
  if (message.role === "user") return input(Role.USER, userParts(message));
  if (message.role === "tool") return input(Role.TOOL, resultParts(message));
  return [];
}

/** What a model's answer is stored as. */
export function storedAnswer(content: readonly Content[], provider: string): MessageInput[] {
  const made = new MessageParts();
  const format = formatOf(provider);
  const parts = content.flatMap((piece): NewPart[] => {
    switch (piece.type) {
      case "text":
        return made.text(piece.text, signatureOf(piece));
      case "reasoning":
        return reasoning(piece.text, piece.providerMetadata as ProviderData, format, made);
      case "tool-call":
        return call(piece.toolCallId, piece.toolName, piece.input, made, signatureOf(piece));
      case "file":
        return made.file(fileOf(piece));
      case "tool-result":
        // The provider executed the tool: in the contract, results are in messages of their own.
        return made.json({ type: piece.type, toolCallId: piece.toolCallId, toolName: piece.toolName, result: piece.result });
      default:
        return [];
    }
  });
  return input(Role.ASSISTANT, parts);
}

/**
 * Stored messages as messages of a prompt. Calls without a result and results without a call are
 * left out, and so is reasoning, which providers require in the current turn only.
 */
export function restored(messages: readonly Pick<Message, "role" | "parts">[]): Prompt {
  const answered = answeredCalls(messages);
  return messages.flatMap((message): Prompt => {
    const parts = message.parts.filter(({ content }) => {
      const linked = content.case === "toolCall" || content.case === "toolResult";
      return !linked || answered.has(content.value.toolCallId);
    });
    if (message.role === Role.ASSISTANT) {
      const content = parts.flatMap(assistantPart);
      return content.length > 0 ? [{ role: "assistant", content }] : [];
    }
    if (message.role === Role.TOOL) {
      const content = parts.flatMap((part) => (part.content.case === "toolResult" ? [result(part.content.value)] : []));
      return content.length > 0 ? [{ role: "tool", content }] : [];
    }
    if (message.role === Role.SYSTEM) return [{ role: "system", content: parts.map(textOfPart).join("\n") }];
    const content = parts.flatMap(userPart);
    return content.length > 0 ? [{ role: "user", content }] : [];
  });
}

/** The text of user messages, which memory is searched for. */
export function questionOf(messages: Prompt): string {
  const texts = messages.flatMap((message) =>
    message.role === "user" ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
  );
  return texts.join("\n").replaceAll("\0", "\u{fffd}");
}

function input(role: Role, parts: NewPart[]): MessageInput[] {
  return parts.length > 0 ? [create(MessageInputSchema, { role, parts: parts.slice(0, 64) })] : [];
}

function userParts({ content }: UserMessage): NewPart[] {
  const made = new MessageParts();
  return content.flatMap((part) => (part.type === "text" ? made.text(part.text) : made.file(fileOf(part))));
}

function resultParts({ content }: ToolMessage): NewPart[] {
  const made = new MessageParts();
  return content.flatMap((part): NewPart[] => {
    if (part.type !== "tool-result") return [];
    const { output, toolCallId, toolName } = part;
    const isError = output.type.startsWith("error") || output.type === "execution-denied";
    const pieces = made.result(outputParts(output, made)).slice(0, 64);
    return [{ content: { case: "toolResult", value: { toolCallId, name: toolName, content: pieces, isError } } }];
  });
}

function outputParts(output: Output, made: MessageParts): NewPart[] {
  switch (output.type) {
    case "text":
    case "error-text":
      return made.text(output.value);
    case "json":
    case "error-json":
      return made.json(output.value);
    case "execution-denied":
      return made.text(output.reason ?? "The user denied the execution.");
    case "content":
      return output.value.flatMap((piece) => outputPiece(piece, made));
  }
}

function outputPiece(piece: OutputPiece, made: MessageParts): NewPart[] {
  if (piece.type === "text") return made.text(piece.text);
  if ("url" in piece) return made.file({ url: String(piece.url), mediaType: imageType(piece.type) });
  if ("data" in piece) return made.file(fileOf(piece as unknown as FilePart));
  return made.json(piece);
}

function imageType(type: string): string {
  return type.startsWith("image") ? "image/*" : "";
}

function call(toolCallId: string, name: string, args: string, made: MessageParts, signature?: string): NewPart[] {
  // Calls with arguments of more than 256 KiB cannot be repeated: they are described.
  if (!made.whole(args)) return made.text(`Called ${name} (${toolCallId}) with ${args}`);
  return [{ content: { case: "toolCall", value: { toolCallId, name, arguments: args } }, signature }];
}

function reasoning(text: string, metadata: ProviderData, provider: ProviderFormat | undefined, made: MessageParts): NewPart[] {
  if (provider === undefined) return [];
  const ofProvider = Object.assign({}, ...Object.values(metadata ?? {})) as Record<string, unknown>;
  const value = {
    provider,
    id: textField(ofProvider.itemId),
    text,
    signature: textField(ofProvider.signature),
    encryptedContent: textField(ofProvider.reasoningEncryptedContent ?? ofProvider.redactedData),
  };
  const fits = value.id.length <= 256 && made.whole(text, value.signature, value.encryptedContent);
  return fits ? [{ content: { case: "reasoning", value } }] : [];
}

function textField(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function formatOf(provider: string): ProviderFormat | undefined {
  if (provider.startsWith("anthropic")) return ProviderFormat.ANTHROPIC_MESSAGES;
  if (provider.startsWith("google")) return ProviderFormat.GEMINI;
  if (provider.endsWith(".responses")) return ProviderFormat.OPENAI_RESPONSES;
  return provider.endsWith(".chat") ? ProviderFormat.OPENAI_CHAT : undefined;
}

/** Gemini's signature of a part. */
function signatureOf({ providerMetadata }: { providerMetadata?: unknown }): string | undefined {
  const google = (providerMetadata as ProviderData)?.google;
  return textField(google?.thoughtSignature) || undefined;
}

function fileOf(part: { data: unknown; mediaType: string; filename?: string }) {
  const { mediaType, filename: name } = part;
  let { data } = part;
  // Newer releases say what kind of data it is.
  if (typeof data === "object" && data !== null && "type" in data) {
    const tagged = data as { type: string; url?: unknown; data?: unknown };
    data = tagged.type === "url" ? tagged.url : tagged.data;
    if (tagged.type === "url") return { url: String(data), mediaType, name };
  }
  if (data instanceof URL) return { url: data.href, mediaType, name };
  if (typeof data === "string" && /^https?:\/\//.test(data)) return { url: data, mediaType, name };
  return { data: data instanceof Uint8Array || typeof data === "string" ? data : undefined, mediaType, name };
}

function userPart(part: Part): UserMessage["content"] {
  const { content } = part;
  if (content.case === "file") return filePart(part);
  const text = textOfPart(part);
  return text === "" ? [] : [{ type: "text", text }];
}

function assistantPart(part: Part): AssistantMessage["content"] {
  const { content, signature } = part;
  const signed = signature ? { providerOptions: { google: { thoughtSignature: signature } } } : {};
  if (content.case === "toolCall") return [{ ...callPart(content.value), ...signed }];
  if (content.case === "file") return filePart(part);
  const text = textOfPart(part);
  return text === "" ? [] : [{ type: "text", text, ...signed }];
}

function callPart({ toolCallId, name, arguments: args }: ToolCall) {
  return { type: "tool-call" as const, toolCallId, toolName: name, input: parsed(args) };
}

function result({ toolCallId, name, content, isError }: ToolResult): ResultPart {
  return { type: "tool-result", toolCallId, toolName: name, output: outputOf(content, isError) };
}

function outputOf(pieces: ToolResult["content"], isError: boolean): Output {
  const [{ content: only } = {}, ...more] = pieces;
  if (more.length === 0 && only?.case === "json") {
    return { type: isError ? "error-json" : "json", value: parsed(only.value) as never };
  }
  const texts = pieces.map(({ content }) => {
    if (content.case === "file") return describe(content.value);
    return content.case === "opaque" ? content.value.json : content.value ?? "";
  });
  return { type: isError ? "error-text" : "text", value: texts.join(pieces.some(({ content }) => content.case !== "text") ? "\n" : "") };
}

/** A file at a URL that a model's provider can read, or else a description. */
function filePart({ content }: Part): [FilePart] | [{ type: "text"; text: string }] {
  const file = content.case === "file" ? content.value : undefined;
  const url = file?.location.case === "url" ? file.location.value : "";
  if (!file || !/^(https?|data):/.test(url)) return [{ type: "text", text: file ? describe(file) : "" }];
  const inline = /^data:([^;,]*);base64,(.*)$/s.exec(url);
  const data = inline ? { type: "data", data: inline[2]! } : { type: "url", url: new URL(url) };
  return [{ type: "file", data, mediaType: file.mimeType || inline?.[1] || anyOf(file.type), filename: file.name || undefined } as FilePart];
}

function anyOf(type: FileType): string {
  if (type === FileType.IMAGE) return "image/*";
  if (type === FileType.AUDIO) return "audio/*";
  return type === FileType.VIDEO ? "video/*" : "application/octet-stream";
}

function describe(file: { name: string; mimeType: string }): string {
  return `[file ${[file.name, file.mimeType].filter((text) => text !== "").join(", ")}]`;
}

function textOfPart({ content }: Pick<Part, "content">): string {
  return content.case === "text" || content.case === "json" ? content.value : "";
}

