import type { Transport } from "@connectrpc/connect";
import { jsonText } from "./json.js";
import type { ContextOptions, Session, SessionNames } from "./session.js";
import { answerOf, type Answer } from "./wrap/answers.js";
import { allTexts, isAnswered, itemText, modelRequest, newestInput, turnOf, withText, type Api, type Item } from "./wrap/apis.js";
import { Failures } from "./wrap/failures.js";
import { quoted } from "./wrap/quotes.js";
import { storable, wellFormed } from "./wrap/storable.js";

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
   * Default: `console.warn`, without the text of messages, and of a server that does not answer once
   * until it does.
   */
  onError?: (error: unknown, during: "context" | "store") => void;
  /**
   * Whether the call fails with the error of memory. It is thrown by the call, or by the loop over its
   * stream; that of a stream that was left is reported. Default: false. A server that did not answer
   * is then called each time, and else not in the next 5 seconds.
   */
  throwOnError?: boolean;
}

/** The conversation of a wrapped client, and how it uses memory. */
export type WrappedNames = SessionNames & WrapOptions;

/** What the requests of wrapped clients were sent with before, by their `fetch`. */
const ORIGINALS = new WeakMap<Fetch, Fetch>();

/**
 * A copy of a model's client with the memory of a conversation, as `BaseClient.wrap` describes it.
 * It works on the requests and responses of the copy, so the client's own methods, retries and
 * streams are as before. A copy of a wrapped client has another conversation.
 *
 * @param server the transport to Recollect, whose outages are remembered.
 */
export function wrapClient<C extends ModelClient>(client: C, memory: Session, server: Transport, options: WrapOptions): C {
  if (typeof client?.withOptions !== "function") {
    throw new TypeError("wrap takes a client of the package openai or @anthropic-ai/sdk");
  }
  const given = (client as { fetch?: Fetch }).fetch ?? globalThis.fetch;
  const original = ORIGINALS.get(given) ?? given;
  const { fetch } = new Remembering(original, memory, new Failures(server, options), options);
  ORIGINALS.set(fetch, original);
  return client.withOptions({ fetch }) as C;
}

/** The context of one turn, which its later steps have too. */
interface Recalled {
  query: string;
  block: string;
}

/** Adds memory to requests for a model, and stores their turns. */
class Remembering {
  readonly #fetch: Fetch;
  readonly #memory: Session;
  readonly #failures: Failures;
  readonly #options: WrapOptions;
  #newest: Recalled | undefined;
  #said = "";

  constructor(fetch: Fetch, memory: Session, failures: Failures, options: WrapOptions) {
    this.#fetch = fetch;
    this.#memory = memory;
    this.#failures = failures;
    this.#options = options;
  }

  readonly fetch: Fetch = async (input, init) => {
    const request = modelRequest(input instanceof Request ? input.url : String(input), init);
    if (!request) return this.#fetch.call(undefined, input, init);
    const { api, body } = request;
    const items = api.items(body)!;
    const signal = init?.signal ?? undefined;
    let sent = init;
    try {
      const remembered = await this.#withMemory(api, items, isRepeated(init), signal);
      if (remembered) sent = { ...init, body: JSON.stringify(api.withItems(body, remembered)) };
    } catch (error) {
      // The client would repeat a request that fails here, and hide the error in its own.
      if (!signal?.aborted && this.#failures.isThrown(error, "context")) return failed(error, body.stream === true);
    }
    const response = await this.#fetch.call(undefined, input, sent);
    if (!response.ok || !response.body || this.#options.store === false) return response;
    return this.#storing(response, api, items, signal);
  };

  /** The conversation with what memory knows about the newest input; undefined: it knows nothing. */
  async #withMemory(api: Api, items: Item[], repeated: boolean, signal: AbortSignal | undefined): Promise<Item[] | undefined> {
    const place = newestInput(items);
    const query = place < 0 ? "" : itemText(items[place]!);
    if (query.trim() === "") return undefined;
    // The same block in all steps of a turn, so that the prompt only grows at its end.
    const isKnown = this.#newest?.query === query && (repeated || isAnswered(api, items, place));
    const block = isKnown ? this.#newest!.block : await this.#recall(query, allTexts(items).map(wellFormed), signal);
    if (block === undefined) return undefined;
    this.#newest = { query, block };
    return block === "" ? undefined : withText(api, items, place, block);
  }

  async #recall(query: string, sent: string[], signal: AbortSignal | undefined): Promise<string | undefined> {
    if (this.#failures.isAway("context")) return undefined;
    const { context, timeoutMs = 5_000 } = this.#options;
    const asked = { ...context, query: wellFormed(query.slice(0, 8_192)), format: "text" as const, signal, timeoutMs };
    const { response } = await this.#memory.context(undefined, asked);
    this.#failures.answered();
    return quoted(response, sent);
  }

  /** The same response; its turn is stored before its reader sees the end, or when the reader leaves. */
  #storing(response: Response, api: Api, items: Item[], signal: AbortSignal | undefined): Response {
    const answer = answerOf(api, response);
    const reader = response.body!.getReader();
    let ending: Promise<void> | undefined;
    const end = (isLeft: boolean) => (ending ??= this.#end(api, items, answer, isLeft));
    const passing: UnderlyingDefaultSource<Uint8Array> = {
      pull: async (controller) => {
        const read = await reader.read().catch(async (error: unknown) => {
          // The packages stop a stream that is left by aborting it.
          if (signal?.aborted) await end(true);
          throw error;
        });
        if (read.done) {
          await end(false);
          return controller.close();
        }
        // A reader may leave after the last event.
        if (answer.add(read.value)) await end(false);
        controller.enqueue(read.value);
      },
      cancel: async (reason) => {
        // It fails with the abort of a stream that was aborted.
        await Promise.all([reader.cancel(reason).catch(() => undefined), end(true)]);
      },
    };
    const { status, statusText, headers, url } = response;
    const body = new ReadableStream(passing, { highWaterMark: 0 });
    return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: url });
  }

  async #end(api: Api, items: Item[], answer: Answer, isLeft: boolean): Promise<void> {
    if (!answer.isComplete && !(isLeft && answer.isPartial)) return;
    try {
      await this.#store(api, items, answer);
    } catch (error) {
      // A stream that its reader has left goes no further.
      if (this.#failures.isThrown(error, "store", isLeft)) throw error;
    }
  }

  async #store(api: Api, items: Item[], answer: Answer): Promise<void> {
    const turn = turnOf(api, items, answer.content(), this.#said);
    if (turn.items.length === 0 || this.#failures.isAway("store")) return;
    const { timeoutMs = 5_000 } = this.#options;
    const messages = turn.items.map((item) => jsonText(storable(item)));
    await this.#memory.append(messages, { format: api.format, timeoutMs });
    this.#failures.answered();
    this.#said = turn.said;
  }
}

/** Whether the client makes a request again because it failed. */
function isRepeated(init: RequestInit | undefined): boolean {
  return Number(new Headers(init?.headers).get("x-stainless-retry-count") ?? 0) > 0;
}

/** A response that fails with an error as it is when it is read. */
function failed(error: unknown, isStream: boolean): Response {
  const body = new ReadableStream({ start: (controller) => controller.error(error) });
  return new Response(body, { headers: { "content-type": isStream ? "text/event-stream" : "application/json" } });
}
