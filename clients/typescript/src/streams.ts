import type { DescService } from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";
import { RecollectError } from "./errors.js";
import type { RetryOptions } from "./options.js";
import { hadWorked, resumeDelay, sleep } from "./transport.js";

type Stream = (input: unknown, options?: CallOptions) => AsyncIterable<unknown>;

/**
 * A client whose streams end when their loop is left, as by `break`. Those of Connect go on, and
 * keep their connection open, until their signal is aborted.
 */
export function withEndingStreams<S extends DescService>(service: S, client: Client<S>): Client<S> {
  const methods = { ...client } as Record<string, Stream>;
  for (const { localName, methodKind } of service.methods) {
    if (methodKind !== "server_streaming" && methodKind !== "bidi_streaming") continue;
    const open = methods[localName]!;
    methods[localName] = (input, options) => {
      const ending = new AbortController();
      const given = options?.signal;
      const abort = () => ending.abort(given?.reason);
      if (given?.aborted) abort();
      given?.addEventListener("abort", abort, { once: true });
      const end = () => {
        given?.removeEventListener("abort", abort);
        ending.abort();
      };
      return ended(open(input, { ...options, signal: ending.signal }), end);
    };
  }
  return methods as Client<S>;
}

/** The messages of a stream, which calls `end` when it has ended or is left. */
function ended<T>(messages: AsyncIterable<T>, end: () => void): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = messages[Symbol.asyncIterator]();
      let left = false;
      return {
        async next() {
          try {
            const next = left ? { done: true as const, value: undefined } : await iterator.next();
            if (next.done) end();
            return next;
          } catch (thrown) {
            end();
            if (left) return { done: true, value: undefined };
            throw thrown;
          }
        },
        async return() {
          left = true;
          end();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** The messages of a stream that is opened again when its connection is lost, or when it has lasted as long as it may. */
export async function* resumed<T>(
  open: () => AsyncIterable<T>,
  retry: RetryOptions | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  for (let failures = 0; ; ) {
    const opened = Date.now();
    try {
      for await (const message of open()) {
        failures = 0;
        yield message;
      }
      return;
    } catch (error) {
      if (!(error instanceof RecollectError) || signal?.aborted) throw error;
      failures = hadWorked(error, Date.now() - opened, retry) ? 0 : failures + 1;
      const delay = resumeDelay(error, failures, retry);
      if (delay === undefined) throw error;
      await sleep(delay, signal, error);
    }
  }
}
