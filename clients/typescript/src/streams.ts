import type { DescService } from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";

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
