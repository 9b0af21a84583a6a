// The APIs of models that a wrapped client calls: where a request has its conversation, and which of
// its items the caller, the user or the model made.
import type { MessageFormat } from "../formats.js";

/** The body of a request or of a response. */
export type Body = Record<string, unknown>;

/** A message or another entry of a conversation. */
export type Item = Body;

/** What the requests of an API look like. */
export interface Api {
  /** The format of its messages in the contract. */
  readonly format: Exclude<MessageFormat, "gemini">;
  /** The end of its path. */
  readonly path: string;
  /** The conversation of a request; undefined: it has none. */
  items(body: Body): Item[] | undefined;
  /** The request with another conversation. */
  withItems(body: Body, items: Item[]): Body;
  /** Whether the model made the item. */
  isOfModel(item: Item): boolean;
  /** Whether the item is an answer of a tool. */
  isToolResult(item: Item): boolean;
  /** Whether roles take turns, and the model goes on with a last message of its own. */
  readonly takesTurns?: boolean;
}

const messages: Pick<Api, "items" | "withItems" | "isOfModel"> = {
  items: (body) => (Array.isArray(body.messages) ? (body.messages as Item[]) : undefined),
  withItems: (body, items) => ({ ...body, messages: items }),
  isOfModel: ({ role }) => role === "assistant",
};

const APIS: readonly Api[] = [
  {
    ...messages,
    format: "openai",
    path: "/chat/completions",
    isToolResult: ({ role }) => role === "tool" || role === "function",
  },
  {
    ...messages,
    format: "anthropic",
    path: "/messages",
    takesTurns: true,
    isToolResult: ({ content }) => Array.isArray(content) && content.some(({ type }) => type === "tool_result"),
  },
  {
    format: "openai-responses",
    path: "/responses",
    // A request may have a stored prompt instead.
    items: ({ input = [] }) => (typeof input === "string" ? [{ role: "user", content: input }] : Array.isArray(input) ? input : undefined),
    withItems: (body, items) => ({ ...body, input: items }),
    isOfModel: (item) => item.role === "assistant" || (item.role === undefined && !isOutput(item) && !isPointer(item)),
    isToolResult: isOutput,
  },
];

/** The API that a request is for, and its body; undefined: it is not for a model. */
export function modelRequest(url: string, init: RequestInit | undefined): { api: Api; body: Body } | undefined {
  if (init?.method?.toUpperCase() !== "POST" || typeof init.body !== "string") return undefined;
  const { pathname } = new URL(url);
  const api = APIS.find(({ path }) => pathname.endsWith(path));
  const body = api && parsed(init.body);
  return api && body && api.items(body) ? { api, body } : undefined;
}

const TEXTS = new Set<unknown>(["text", "input_text", "output_text"]);

/** The text of an item: its text parts, in order. */
export function itemText({ content }: Item): string {
  if (typeof content === "string") return content;
  return partsOf(content).flatMap(({ type, text }) => (TEXTS.has(type) && typeof text === "string" && text ? [text] : [])).join("\n");
}

/** The texts of a conversation: of its messages, and of the results of tools. */
export function allTexts(items: readonly Item[]): string[] {
  return items.flatMap((item) => {
    const results = partsOf(item.content).filter(({ type }) => type === "tool_result");
    return [item, { content: item.output }, ...results].map(itemText).filter((text) => text !== "");
  });
}

/** The place of the newest message of the user that has a text, or -1. */
export function newestInput(items: readonly Item[]): number {
  return items.map((item) => item.role === "user" && itemText(item) !== "").lastIndexOf(true);
}

/** Whether the model has spoken since an item, as in a loop of tools. The beginning of an answer does not count. */
export function isAnswered(api: Api, items: readonly Item[], place: number): boolean {
  return !isBegun(api, items) && items.slice(place + 1).some((item) => api.isOfModel(item));
}

/** The conversation with a text before the message of the user at a place. */
export function withText(api: Api, items: readonly Item[], place: number, text: string): Item[] {
  const message = items[place]!;
  if (!api.takesTurns) return [...items.slice(0, place), { role: "user", content: text }, ...items.slice(place)];
  // A part of the same message, after the results of tools in it, which come first.
  const { content } = message;
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : partsOf(content);
  const first = parts.findIndex(({ type }) => type === "text");
  const more = [...parts.slice(0, first), { type: "text", text }, ...parts.slice(first)];
  return items.map((item) => (item === message ? { ...message, content: more } : item));
}

/** What is stored of a turn, and what the model has said in it. */
export interface Turn {
  items: Item[];
  /** The text with which the model could go on. */
  said: string;
}

/**
 * What the user and tools have said since the model's last answer, and the answer. The beginning of an
 * answer in the request is a part of the answer.
 *
 * @param known what the model said in the turn that was stored before.
 */
export function turnOf(api: Api, items: readonly Item[], answer: Body | undefined, known: string): Turn {
  const answers = answer ? [answer] : [];
  const text = api.takesTurns && answer ? itemText(answer) : "";
  if (!isBegun(api, items)) return { items: [...newInput(api, items), ...answers], said: text };
  const begun = itemText(items.at(-1)!);
  const said = begun + text;
  // The model goes on with an answer that was stored, with what is before it.
  if (begun.trimEnd() === known.trimEnd()) return { items: answers, said };
  const [first, ...more] = partsOf(answer?.content);
  const joined = first?.type === "text" ? [{ ...first, text: begun + String(first.text) }] : [{ type: "text", text: begun }, ...(first ? [first] : [])];
  const whole = { ...answer, role: "assistant", content: [...joined, ...more] };
  return { items: [...newInput(api, items.slice(0, -1)), whole], said };
}

function newInput(api: Api, items: readonly Item[]): Item[] {
  const answered = items.map((item) => api.isOfModel(item)).lastIndexOf(true) + 1;
  return items.slice(answered).filter((item) => item.role === "user" || api.isToolResult(item));
}

/** Whether the last message is the beginning of the answer: one of the model's with a text alone. */
function isBegun(api: Api, items: readonly Item[]): boolean {
  const last = items.at(-1);
  if (!api.takesTurns || !last || !api.isOfModel(last)) return false;
  return itemText(last) !== "" && partsOf(last.content).every(({ type }) => type === "text");
}

function partsOf(content: unknown): Item[] {
  return Array.isArray(content) ? (content as Item[]) : [];
}

/** The object of a JSON text. */
export function parsed(json: string): Body | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Body) : undefined;
  } catch {
    return undefined;
  }
}

function isOutput({ type }: Item): boolean {
  return typeof type === "string" && (type.endsWith("_output") || type === "mcp_approval_response");
}

/** Names a stored item by its id, and may stand for one of the user. */
function isPointer({ type }: Item): boolean {
  return type === "item_reference";
}
