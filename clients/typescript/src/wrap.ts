import { jsonText } from "./json.js";
import { RecollectError } from "./errors.js";
import type { ContextOptions, Session, SessionNames } from "./session.js";
import { answerOf, type Answer } from "./wrap/answers.js";
import { itemText, modelRequest, newestInput, newInput, type Api, type Body, type Item } from "./wrap/apis.js";
import { quoted } from "./wrap/quotes.js";

type Fetch = typeof globalThis.fetch;

/** A client of the package `openai` or `@anthropic-ai/sdk`. */
export interface ModelClient {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  withOptions(options: any): any;
}

/** How a wrapped client uses memory. */
export interface WrapOptions {
  /** How the context is made: its budget, the kind of memory, other fields of the request. */
  context?: Omit<ContextOptions<"text">, "format" | "system" | "query" | "signal" | "timeoutMs">;
  /** Whether turns are stored. Default: true. */
  store?: boolean;
  /** The most time that recalling, and then storing, may take, in milliseconds. Default: 5,000. 0: no limit. */
  timeoutMs?: number;
  /**
   * Called when memory fails; the call then goes on without memory, or its turn is not stored.
   * Default: one `console.warn` for each call, without the text of messages.
   */
  onError?: (error: unknown, during: "context" | "store") => void;
  /**
   * Whether the call fails with the error of memory. It is thrown by the call, or by the loop over its
   * stream. Default: false.
   */
  throwOnError?: boolean;
}

/** The conversation of a wrapped client, and how it uses memory. */
export type WrappedNames = SessionNames & WrapOptions;

/**
 * A copy of a model's client with the memory of a conversation, as `BaseClient.wrap` describes it.
 * It works on the requests and responses of the copy, so the client's own methods, retries and
 * streams are as before.
 */
export function wrapClient<C extends ModelClient>(client: C, memory: Session, options: WrapOptions): C {
  if (typeof client?.withOptions !== "function") {
    throw new TypeError("wrap takes a client of the package openai or @anthropic-ai/sdk");
  }
  const { fetch } = client as { fetch?: Fetch };
  return client.withOptions({ fetch: new Remembering(fetch ?? globalThis.fetch, memory, options).fetch }) as C;
}

/** The context of one turn, which its later steps have too. */
interface Recalled {
  input: string;
  block: string;
}

/** Adds memory to requests for a model, and stores their turns. */
class Remembering {
  readonly #fetch: Fetch;
  readonly #memory: Session;
  readonly #options: WrapOptions;
  #newest: Recalled | undefined;

  constructor(fetch: Fetch, memory: Session, options: WrapOptions) {
    this.#fetch = fetch;
    this.#memory = memory;
    this.#options = options;
  }

  readonly fetch: Fetch = async (input, init) => {
    const request = modelRequest(input instanceof Request ? input.url : String(input), init);
    if (!request) return this.#fetch.call(undefined, input, init);
    const { api, body } = request;
    const items = api.items(body)!;
    const failures = new Failures(this.#options);
    let sent = init;
    try {
      const remembered = await this.#withMemory(api, items, init?.signal ?? undefined);
      if (remembered) sent = { ...init, body: JSON.stringify(api.withItems(body, remembered)) };
    } catch (error) {
      // The client would repeat a request that fails here, and hide the error in its own.
      if (!init?.signal?.aborted && failures.isThrown(error, "context")) return failed(error, body.stream === true);
    }
    const response = await this.#fetch.call(undefined, input, sent);
    if (!response.ok || !response.body || this.#options.store === false) return response;
    return this.#storing(response, api, newInput(api, items), failures);
  };

  /** The conversation with what memory knows about the newest input; undefined: it knows nothing. */
  async #withMemory(api: Api, items: Item[], signal: AbortSignal | undefined): Promise<Item[] | undefined> {
    const place = newestInput(api, items);
    if (!place) return undefined;
    const { start, end } = place;
    const texts = items.map((item) => wellFormed(itemText(item)));
    const query = texts.slice(start, end).join("\n");
    if (query.trim() === "") return undefined;
    // The same block in all steps of a turn, so that the prompt only grows at its end.
    const isLaterStep = items.slice(end).some((item) => api.isOfModel(item));
    const known = isLaterStep && this.#newest?.input === query ? this.#newest.block : undefined;
    const block = known ?? (await this.#recall(query, texts, signal));
    this.#newest = { input: query, block };
    if (block === "") return undefined;
    return [...items.slice(0, start), { role: "user", content: block }, ...items.slice(start)];
  }

  async #recall(query: string, sent: string[], signal: AbortSignal | undefined): Promise<string> {
    const { context, timeoutMs = 5_000 } = this.#options;
    const asked = { ...context, query: wellFormed(query.slice(0, 8_192)), format: "text" as const, signal, timeoutMs };
    return quoted((await this.#memory.context(undefined, asked)).response, sent);
  }

  /** The same response; its turn is stored before its reader sees the end. */
  #storing(response: Response, api: Api, input: Item[], failures: Failures): Response {
    const answer = answerOf(api, response);
    let stored = false;
    const store = async (): Promise<void> => {
      if (stored || !answer.isComplete) return;
      stored = true;
      try {
        await this.#store(api, input, answer);
      } catch (error) {
        if (failures.isThrown(error, "store")) throw error;
      }
    };
    const passing = new TransformStream<Uint8Array, Uint8Array>({
      async transform(bytes, controller) {
        // A reader may leave after the last event.
        if (answer.add(bytes)) await store();
        controller.enqueue(bytes);
      },
      flush: store,
    });
    const { status, statusText, headers, url } = response;
    const passed = new Response(response.body!.pipeThrough(passing), { status, statusText, headers });
    return Object.defineProperty(passed, "url", { value: url });
  }

  async #store(api: Api, input: Item[], answer: Answer): Promise<void> {
    const json = answer.json();
    const messages = [...input.map((item) => jsonText(item)), ...(json === undefined ? [] : [json])];
    if (messages.length === 0) return;
    const { timeoutMs = 5_000 } = this.#options;
    await this.#memory.append(messages.map(storable), { format: api.format, timeoutMs });
  }
}

/** What becomes of the failures of one call. */
class Failures {
  readonly #options: WrapOptions;
  #warned = false;

  constructor(options: WrapOptions) {
    this.#options = options;
  }

  /** Whether the caller is to have a failure; else it is reported. */
  isThrown(error: unknown, during: "context" | "store"): boolean {
    const { onError, throwOnError } = this.#options;
    if (throwOnError) return true;
    if (onError) onError(error, during);
    else if (!this.#warned) warn(error, during);
    this.#warned = true;
    return false;
  }
}

function warn(error: unknown, during: "context" | "store"): void {
  // Messages of other errors may quote what they failed on.
  const kind = error instanceof Error ? error.name : typeof error;
  const what = error instanceof RecollectError ? error.message : kind;
  const done = during === "context" ? "A model was called without memory" : "A turn was not stored";
  console.warn(`Recollect: ${done}: ${what}`);
}

/** A response that fails with an error as it is when it is read. */
function failed(error: unknown, isStream: boolean): Response {
  const body = new ReadableStream({ start: (controller) => controller.error(error) });
  return new Response(body, { headers: { "content-type": isStream ? "text/event-stream" : "application/json" } });
}

/** The text without what the server refuses: NUL characters and halves of surrogate pairs. */
function wellFormed(text: string): string {
  return text.replaceAll("\0", "\u{fffd}").replace(/\p{Surrogate}/gu, "\u{fffd}");
}

/** {@link wellFormed} for the texts in a JSON text. */
function storable(json: string): string {
  const escapes = /(\\+)u(d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|d[89a-f][0-9a-f]{2}|0000)/gi;
  const escaped = json.replace(escapes, (found, slashes: string, code: string) =>
    // An even number is backslashes of the text; a longer code is a whole pair.
    slashes.length % 2 === 0 || code.length > 4 ? found : `${slashes.slice(1)}\u{fffd}`,
  );
  return escaped.replace(/\p{Surrogate}/gu, "\u{fffd}");
}
