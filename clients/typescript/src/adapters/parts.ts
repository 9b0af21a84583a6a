// What the adapters of frameworks share: parts of messages within the limits of the contract.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { dataUrl } from "../base64.js";
import { FileType } from "../gen/recollect/v1/file_pb.js";
import type { Message, PartSchema, ToolResultPartSchema } from "../gen/recollect/v1/message_pb.js";

/** A part of a message to store. */
export type NewPart = MessageInitShape<typeof PartSchema>;

/** A piece of a tool's result to store. */
export type NewResultPart = MessageInitShape<typeof ToolResultPartSchema>;

/** A file of a framework's message. */
export interface File {
  /** Its URL. Missing: `data` has its content. */
  url?: string;
  /** Its content, in base64 if it is a text. */
  data?: Uint8Array | string;
  mediaType?: string;
  name?: string;
}

/** The size of all parts of a message: 1 MiB, less a reserve for names and ids. */
const MESSAGE_BYTES = 1_000_000;
/** A piece of text has at most 256 KiB, in characters of at most 3 bytes. */
const PIECE_LENGTH = 80_000;
const JSON_BYTES = 256 * 1024;
const FILE_BYTES = 600_000;
const FEWEST_BYTES = 4_096;

/**
 * Makes parts that fit one message together. What does not fit is cut at its end, which says so:
 * a store that fails because of one long output would lose the turn.
 */
export class MessageParts {
  #left = MESSAGE_BYTES;
  /** Whether something did not fit. */
  isCut = false;

  /** The pieces of a text. NUL characters, which the contract has not, become U+FFFD. */
  texts(text: string): string[] {
    const clean = text.replaceAll("\0", "\u{fffd}");
    const pieces: string[] = [];
    for (let start = 0; start < clean.length; ) {
      const piece = clean.slice(start, endOfPiece(clean, start));
      if (!this.#take(byteLength(piece))) {
        this.isCut = true;
        pieces.push(`[${clean.length - start} characters are not stored]`);
        break;
      }
      pieces.push(piece);
      start += piece.length;
    }
    return pieces;
  }

  /** A text as parts, each with the signature if there is one. */
  text(text: string, signature?: string): NewPart[] {
    return this.texts(text).map((value) => ({ content: { case: "text", value }, signature }));
  }

  /** The part of a message without content; the contract requires one. */
  empty(): NewPart[] {
    return [{ content: { case: "text", value: "" } }];
  }

  /** A value as a part of JSON, or as text if it is too long for one. */
  json(value: unknown): NewPart[] {
    const json = JSON.stringify(value) ?? "null";
    if (byteLength(json) > JSON_BYTES || !this.#take(byteLength(json))) return this.text(json);
    return [{ content: { case: "json", value: json } }];
  }

  /** A file as a part, or its description if it is too large to be stored in a message. */
  file(file: File): NewPart[] {
    const { name = "" } = file;
    const url = file.url ?? dataUrl(file.data ?? "", file.mediaType ?? "");
    const mediaType = /^data:([^;,]+)/.exec(url)?.[1] ?? file.mediaType ?? "";
    if (url === "" || url.length > FILE_BYTES || !this.#take(url.length)) {
      return this.json({ type: "file", name, mediaType, length: url.length, stored: false });
    }
    const location = { case: "url", value: url } as const;
    // Frameworks write image/* if they do not know which.
    const mimeType = mediaType.includes("*") ? "" : mediaType;
    return [{ content: { case: "file", value: { type: fileType(mediaType), location, mimeType, name } } }];
  }

  /** The pieces of a tool's result. */
  result(parts: NewPart[]): NewResultPart[] {
    return parts.flatMap(({ content }) =>
      content?.case === "text" || content?.case === "json" || content?.case === "file" ? [{ content }] : [],
    ) as NewResultPart[];
  }

  /** Whether a value of this size fits. */
  #take(bytes: number): boolean {
    if (bytes + FEWEST_BYTES > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  /** Whether these texts, which are of no use if they are cut, fit. */
  whole(...texts: string[]): boolean {
    const fits = texts.every((text) => byteLength(text) <= JSON_BYTES && !text.includes("\0"));
    return fits && this.#take(texts.reduce((bytes, text) => bytes + byteLength(text), 0));
  }
}

/** Text that was stored as JSON, as a value; text that is not JSON, unchanged. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/**
 * The calls of tools, by id, that have a result among these messages. APIs of models refuse
 * calls without results and results without calls.
 */
export function answeredCalls(messages: Iterable<Pick<Message, "parts">>): Set<string> {
  const called = new Set<string>();
  const answered = new Set<string>();
  for (const { parts } of messages) {
    for (const { content } of parts) {
      if (content.case === "toolCall") called.add(content.value.toolCallId);
      if (content.case === "toolResult" && called.has(content.value.toolCallId)) answered.add(content.value.toolCallId);
    }
  }
  return answered;
}

function endOfPiece(text: string, start: number): number {
  const end = Math.min(start + PIECE_LENGTH, text.length);
  const splitsPair = end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!);
  return splitsPair ? end - 1 : end;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function fileType(mediaType: string): FileType {
  const kind = mediaType.split("/")[0];
  if (kind === "image") return FileType.IMAGE;
  if (kind === "audio") return FileType.AUDIO;
  if (kind === "video") return FileType.VIDEO;
  return kind === "text" || kind === "application" ? FileType.DOCUMENT : FileType.CUSTOM;
}
