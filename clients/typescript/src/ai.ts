/**
 * Memory for the AI SDK (`ai`, version 7): a middleware for language models.
 *
 * ```ts
 * const memory = recollect.session({ app: "support", user: "ada", session: "42" });
 * const model = wrapLanguageModel({ model: openai("gpt-4o"), middleware: recollectMiddleware(memory) });
 * const { text } = await generateText({ model, prompt: "What is my dog called?" });
 * ```
 *
 * @packageDocumentation
 */
import type { LanguageModelMiddleware } from "ai";
import {
  questionOf,
  restored,
  stored,
  storedAnswer,
  type CallParams,
  type Content,
  type Prompt,
} from "./adapters/ai-messages.js";
import type { ContextBlock, ContextMessage } from "./gen/recollect/v1/context_service_pb.js";
import { ContextBlockKind } from "./gen/recollect/v1/context_service_pb.js";
import { Role, type MessageInput } from "./gen/recollect/v1/message_pb.js";
import { roleOf, textOf } from "./messages.js";
import type { ContextOptions, Session } from "./session.js";

/** The conversation of a call; undefined: the call has no memory. */
export type SessionOfCall = Session | ((params: CallParams) => Session | undefined);

/** How the middleware uses memory. */
export interface RecollectMiddlewareOptions {
  /** How the context is made: its budget, the kind of memory, other fields of the request. */
  context?: Omit<ContextOptions<"text">, "format" | "system" | "query" | "signal">;
  /** Whether the turn is stored. Default: true. */
  store?: boolean;
  /**
   * Called when memory fails; the call of the model then goes on without memory, or its turn is
   * not stored. Default: the call fails with the error.
   */
  onError?: (error: unknown, during: "context" | "store") => void;
}

/** The parts of a prompt. */
interface Conversation {
  /** Instructions at the beginning. */
  system: Prompt;
  /** What the caller sends of earlier turns. */
  earlier: Prompt;
  /** The last messages of the user and all that follows them. */
  turn: Prompt;
  /** The part of the turn that earlier calls have not stored. */
  unstored: Prompt;
}

/** What memory adds to the prompt of a turn. */
interface Added {
  beforeHistory: Prompt;
  history: Prompt;
  afterHistory: Prompt;
}

/** What is to be done after a call. */
interface Pending {
  session: Session;
  messages: MessageInput[];
}

/** The most stored messages among which the end of a sent history is looked for. */
const SEARCHED = 40;
/** The messages of a sent history that are compared with stored ones. */
const COMPARED = 4;
const NOTHING: Added = { beforeHistory: [], history: [], afterHistory: [] };
/** The context of a turn is kept for its later steps, of at most this many turns at a time. */
const TURNS_KEPT = 1_000;

/**
 * A middleware that gives a model the memory of a conversation and stores each turn.
 *
 * Before a call, the context is put between the instructions and the user's message: memories,
 * summaries, matches of the question, and the newest messages. If the prompt has earlier turns
 * itself, these take the place of the newest stored messages. If these end before the newest stored
 * turn, as when a user edits a question or asks for another answer, the turn becomes a branch
 * there, and the discarded one is not in the context. After the call, the messages after
 * the model's previous answer and the new answer are stored, so that each step of a tool loop is
 * stored once. An answer that ends with an error, or that is not read to its end, is not stored,
 * and neither is the question.
 */
export function recollectMiddleware(
  session: SessionOfCall,
  options: RecollectMiddlewareOptions = {},
): LanguageModelMiddleware {
  const { context, store = true, onError } = options;
  const pending = new WeakMap<CallParams, Pending>();
  const turns = new Map<string, Added>();

  async function attempt<T>(during: "context" | "store", action: () => Promise<T>): Promise<T | undefined> {
    try {
      return await action();
    } catch (error) {
      if (!onError) throw error;
      onError(error, during);
      return undefined;
    }
  }

  /** The context of a turn, the same in all its steps: so the prompt only grows at its end. */
  async function addedTo(
    conversation: Conversation,
    memory: Session,
    params: CallParams,
    headMessageId: string | undefined,
  ): Promise<Added> {
    const { earlier, turn, unstored } = conversation;
    const users = turn.findIndex(({ role }) => role !== "user");
    const said = users < 0 ? turn : turn.slice(0, users);
    const query = questionOf(said).slice(0, 8_192);
    const key = JSON.stringify([memory.named, earlier.length, said.length, query]);
    const isFirstStep = unstored.length === turn.length;
    const kept = isFirstStep ? undefined : turns.get(key);
    if (kept) return kept;
    const request = { headMessageId, ...context?.request };
    const asked = { ...context, query, request, format: "text" as const, signal: params.abortSignal };
    const { response } = await memory.context(undefined, asked);
    await memory.inlineFiles(response.blocks.flatMap(({ messages }) => messages), { signal: params.abortSignal });
    const blocks = response.blocks.flatMap((block) => withoutSent(block, earlier));
    const added = addedBy(blocks, isFirstStep ? undefined : said);
    if (earlier.length > 0) added.history = [];
    turns.delete(key);
    turns.set(key, added);
    if (turns.size > TURNS_KEPT) turns.delete(turns.keys().next().value!);
    return added;
  }

  async function keep(params: CallParams, content: readonly Content[], provider: string): Promise<void> {
    const todo = pending.get(params);
    if (!todo) return;
    const { session, messages } = todo;
    const appended = [...messages, ...storedAnswer(content, provider)];
    if (appended.length > 0) await attempt("store", () => session.append(appended));
  }

  return {
    specificationVersion: "v4",

    async transformParams({ params }) {
      const memory = typeof session === "function" ? session(params) : session;
      if (!memory) return params;
      const conversation = split(params.prompt);
      const { system, earlier, turn, unstored } = conversation;
      const isFirstStep = unstored.length === turn.length;
      const parent = isFirstStep ? await attempt("context", () => branchedAt(earlier, memory, params)) : undefined;
      const added = (await attempt("context", () => addedTo(conversation, memory, params, parent))) ?? NOTHING;
      const { beforeHistory, history, afterHistory } = added;
      const prompt = [...system, ...beforeHistory, ...history, ...earlier, ...afterHistory, ...turn];
      const transformed = { ...params, prompt };
      const messages = unstored.flatMap(stored);
      if (parent && messages[0]) messages[0].parent = { case: "parentMessageId", value: parent };
      if (store) pending.set(transformed, { session: memory, messages });
      return transformed;
    },

    async wrapGenerate({ doGenerate, params, model }) {
      const result = await doGenerate();
      if (result.finishReason.unified !== "error") await keep(params, result.content, model.provider);
      return result;
    },

    async wrapStream({ doStream, params, model }) {
      const result = await doStream();
      const answer = new StreamedAnswer();
      const stream = result.stream.pipeThrough(
        new TransformStream({
          transform(part, controller) {
            answer.add(part);
            controller.enqueue(part);
          },
          async flush() {
            if (answer.isComplete) await keep(params, answer.content, model.provider);
          },
        }),
      );
      return { ...result, stream };
    },
  };
}

type StreamPart = Awaited<
  ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>
>["stream"] extends ReadableStream<infer Part>
  ? Part
  : never;

/** Collects an answer from the parts of its stream. */
class StreamedAnswer {
  readonly content: Content[] = [];
  readonly #open = new Map<string, { text: string; providerMetadata?: unknown }>();
  #finished = false;
  #failed = false;

  /** Whether the model finished without an error. */
  get isComplete(): boolean {
    return this.#finished && !this.#failed;
  }

  add(part: StreamPart): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const type = part.type === "text-start" ? "text" : "reasoning";
        const block = { type, text: "", providerMetadata: part.providerMetadata } as const;
        this.content.push(block as Content);
        this.#open.set(`${type}:${part.id}`, block);
        break;
      }
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end": {
        const block = this.#open.get(`${part.type.split("-")[0]}:${part.id}`);
        if (!block) break;
        if ("delta" in part) block.text += part.delta;
        if (part.providerMetadata) block.providerMetadata = part.providerMetadata;
        break;
      }
      case "tool-call":
      case "tool-result":
      case "file":
        this.content.push(part);
        break;
      case "finish":
        this.#finished = true;
        if (part.finishReason.unified === "error") this.#failed = true;
        break;
      case "error":
        this.#failed = true;
        break;
    }
  }
}

function split(prompt: Prompt): Conversation {
  let start = 0;
  while (prompt[start]?.role === "system") start++;
  const system = prompt.slice(0, start);
  const rest = prompt.slice(start);
  let first = rest.map(({ role }) => role).lastIndexOf("user");
  while (first > 0 && rest[first - 1]!.role === "user") first--;
  const turn = rest.slice(Math.max(first, 0));
  const answered = turn.map(({ role }) => role).lastIndexOf("assistant") + 1;
  return { system, earlier: rest.slice(0, Math.max(first, 0)), turn, unstored: turn.slice(answered) };
}

/**
 * The stored message that the sent history ends with, if the conversation has gone on after it. The
 * turn is then another try of a later one. Undefined: it is a new turn, or the history is not the
 * stored one.
 */
async function branchedAt(earlier: Prompt, memory: Session, params: CallParams): Promise<string | undefined> {
  const sent = spoken(earlier.map(({ role, content }) => ({ role, text: promptText(content) }))).reverse();
  if (sent.length === 0) return undefined;
  const path = [];
  for await (const message of memory.path({ pageSize: SEARCHED, signal: params.abortSignal })) {
    path.push({ role: roleOf(message), text: textOf(message), id: message.messageId });
    if (path.length === SEARCHED) break;
  }
  const newest = spoken(path);
  const compared = sent.slice(0, COMPARED);
  const at = newest.findIndex((_, place) =>
    compared.every(({ role, text }, back) => newest[place + back]?.role === role && newest[place + back]?.text === text),
  );
  // What follows may also be a message that only the server has, such as a notice.
  return at > 0 && newest[at - 1]!.role === "user" ? newest[at]!.id : undefined;
}

/** The messages of users and models with a text. */
function spoken<M extends { role: string; text: string }>(messages: M[]): M[] {
  return messages.filter(({ role, text }) => (role === "user" || role === "assistant") && text.trim() !== "");
}

function promptText(content: Prompt[number]["content"]): string {
  if (typeof content === "string") return content;
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.join("\n").replaceAll("\0", "\u{fffd}");
}

/** The messages of a context; `said` is stored already and begins the current turn. */
function addedBy(blocks: ContextBlock[], said: Prompt | undefined): Added {
  const at = blocks.findIndex(({ kind }) => kind === ContextBlockKind.RECENT);
  const messages = (some: ContextBlock[]) => restored(some.flatMap((block) => block.messages));
  if (at < 0) return { beforeHistory: messages(blocks), history: [], afterHistory: [] };
  const recent = said ? withoutTurn(blocks[at]!.messages, said) : blocks[at]!.messages;
  return {
    beforeHistory: messages(blocks.slice(0, at)),
    history: restored(recent),
    afterHistory: messages(blocks.slice(at + 1)),
  };
}

/** The block without the quotations of messages that the caller sends; none if nothing is left. */
function withoutSent(block: ContextBlock, earlier: Prompt): ContextBlock[] {
  if (block.kind !== ContextBlockKind.RECALLED || earlier.length === 0) return [block];
  const sent = new Set(earlier.map(({ content }) => promptText(content)));
  const [title, ...lines] = textOf(block.messages[0]).split("\n");
  const others = lines.filter((line) => !sent.has((JSON.parse(line) as { text?: string }).text ?? ""));
  if (others.length === 0) return [];
  const parts = block.messages[0]!.parts.slice(0, 1);
  const content = { case: "text" as const, value: [title, ...others].join("\n") };
  return [{ ...block, messages: [{ ...block.messages[0]!, parts: parts.map((part) => ({ ...part, content })) }] }];
}

function withoutTurn(recent: ContextMessage[], said: Prompt): ContextMessage[] {
  const last = recent.map(({ role }) => role).lastIndexOf(Role.USER);
  const first = last - said.length + 1;
  if (first < 0) return recent;
  const isTurn = questionOf(restored(recent.slice(first, last + 1))) === questionOf(said);
  return isTurn ? recent.slice(0, first) : recent;
}
