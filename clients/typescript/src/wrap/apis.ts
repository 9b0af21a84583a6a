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
  /** Whether the item is an answer of a tool, which must follow its call. */
  isToolResult(item: Item): boolean;
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
    isToolResult: ({ content }) => Array.isArray(content) && content.some(({ type }) => type === "tool_result"),
  },
  {
    format: "openai-responses",
    path: "/responses",
    items: ({ input }) => (typeof input === "string" ? [{ role: "user", content: input }] : Array.isArray(input) ? input : undefined),
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

/** The text of an item: its text parts, in order. */
export function itemText({ content }: Item): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap(({ text }: Item) => (typeof text === "string" ? [text] : [])).join("\n");
}

/** The newest messages of the user that follow each other: where they begin and end. */
export function newestInput(api: Api, items: Item[]): { start: number; end: number } | undefined {
  const isInput = (item: Item | undefined) => item?.role === "user" && !api.isToolResult(item);
  let end = items.length;
  while (end > 0 && !isInput(items[end - 1])) end--;
  let start = end;
  while (start > 0 && isInput(items[start - 1])) start--;
  return start < end ? { start, end } : undefined;
}

/** What the user and tools have said since the model's last answer. */
export function newInput(api: Api, items: Item[]): Item[] {
  const answered = items.map((item) => api.isOfModel(item)).lastIndexOf(true) + 1;
  return items.slice(answered).filter((item) => item.role === "user" || api.isToolResult(item));
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
