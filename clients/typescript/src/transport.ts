import {
  clone,
  create,
  isMessage,
  ScalarType,
  type DescMessage,
  type DescMethodStreaming,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { RecollectError } from "./errors.js";
import type { CommonOptions, RetryOptions } from "./options.js";

/** The server of a transport, for the advice in errors. */
export interface Server {
  /** Its URL. */
  address?: string;
  /** Whether the client is closed; calls then fail. */
  isClosed?: () => boolean;
}

const MAX_BACKOFF_MS = 5_000;
/** Fields that name a state. */
const PRECONDITIONS = new Set(["precondition", "expected_head"]);

/**
 * A transport with the API key, deadlines, request ids, retries and typed errors. All
 * clients use it, those of the generated services too.
 */
export function reliable(inner: Transport, options: CommonOptions, server: Server = {}): Transport {
  const { address, isClosed } = server;
  const defaultTimeoutMs = options.timeoutMs ?? 30_000;

  async function authorized(init: HeadersInit | undefined): Promise<Headers> {
    const headers = new Headers(init);
    const key = typeof options.apiKey === "function" ? await options.apiKey() : options.apiKey;
    if (key && !headers.has("authorization")) headers.set("authorization", `Bearer ${key}`);
    return headers;
  }

  function failureOf(thrown: unknown, attempts: number, { name }: DescMethodUnary | DescMethodStreaming): RecollectError {
    return RecollectError.from(thrown, attempts, address === undefined ? undefined : { address, method: name });
  }

  function checkOpen(): void {
    if (isClosed?.()) throw new ConnectError("this client is closed: use another one, or close it later", Code.FailedPrecondition);
  }

  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const message = withRequestId(method, input);
      const timeout = timeoutMs ?? defaultTimeoutMs;
      const deadline = timeout > 0 ? Date.now() + timeout : Infinity;
      for (let attempt = 1; ; attempt++) {
        const remaining = deadline === Infinity ? 0 : Math.max(1, deadline - Date.now());
        try {
          checkOpen();
          const headers = await authorized(header);
          return await inner.unary(method, signal, remaining, headers, message, contextValues);
        } catch (thrown) {
          const error = failureOf(thrown, attempt, method);
          const delay = retryDelay(error, method, message, attempt, options.retry);
          if (delay === undefined || Date.now() + delay >= deadline || signal?.aborted) throw error;
          await sleep(delay, signal, error);
        }
      }
    },

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      // The default deadline is for calls with one answer; a stream may last.
      const typed = (thrown: unknown) => failureOf(thrown, 1, method);
      try {
        checkOpen();
        const headers = await authorized(header);
        const response = await inner.stream(method, signal, timeoutMs, headers, input, contextValues);
        return { ...response, message: withTypedErrors(response.message, typed) };
      } catch (thrown) {
        throw typed(thrown);
      }
    },
  };
}

/** The request, with a new request_id if its type has one and it is empty. */
function withRequestId<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
): MessageInitShape<I> {
  const field = requestIdField(method);
  if (!field) return input;
  const given = isMessage(input, method.input);
  const message = (given ? clone(method.input, input) : create(method.input, input)) as Message & Record<string, unknown>;
  message[field] ||= uuid();
  return message as unknown as MessageInitShape<I>;
}

function requestIdField(method: DescMethodUnary | DescMethodStreaming): string | undefined {
  const field = method.input.fields.find(({ name }) => name === "request_id");
  return field?.scalar === ScalarType.STRING ? field.localName : undefined;
}

/** The wait before the next attempt in milliseconds; undefined: there is none. */
function retryDelay<I extends DescMessage, O extends DescMessage>(
  error: RecollectError,
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
  attempt: number,
  retry: RetryOptions = {},
): number | undefined {
  // The server refused the call before it did anything.
  const refused = error.code === Code.ResourceExhausted && error.retryAfterMs !== undefined;
  // The call may have been executed.
  const unknown = error.code === Code.Unavailable && isRepeatable(method, input);
  return refused || unknown ? pause(error, attempt, retry) : undefined;
}

/**
 * The wait before a stream is opened again that an error ended, in milliseconds; undefined: the error
 * is final.
 *
 * @param failures the number of streams in a row that failed.
 */
export function resumeDelay(error: RecollectError, failures: number, retry: RetryOptions = {}): number | undefined {
  const passing = [Code.Unavailable, Code.DeadlineExceeded].includes(error.code) || error.retryAfterMs !== undefined;
  return passing ? pause(error, failures, retry) : undefined;
}

/** Whether a stream that failed after this time, in milliseconds, had worked, so that its failure does not count. */
export function hadWorked(error: RecollectError, lastedMs: number, { maxBackoffMs = MAX_BACKOFF_MS }: RetryOptions = {}): boolean {
  // Without a deadline of the client, it is the server that ends a stream which works, or a proxy.
  // A second allows for connecting.
  return error.code === Code.DeadlineExceeded || lastedMs > Math.max(maxBackoffMs, 1_000);
}

/** The wait after a failure that passes; undefined: there were enough attempts. */
function pause(
  error: RecollectError,
  attempt: number,
  { maxAttempts = 7, initialBackoffMs = 100, maxBackoffMs = MAX_BACKOFF_MS }: RetryOptions,
): number | undefined {
  if (attempt >= maxAttempts) return undefined;
  const backoff = Math.min(maxBackoffMs, initialBackoffMs * 2 ** (attempt - 1));
  return Math.max(error.retryAfterMs ?? 0, backoff / 2) + (Math.random() * backoff) / 2;
}

/** Whether executing a call twice has the effect of executing it once. */
function isRepeatable<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
): boolean {
  return (
    method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ||
    requestIdField(method) !== undefined ||
    (method.idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT && !hasPrecondition(method, input))
  );
}

/** Whether a request names a state, which the first run of the call changes. */
function hasPrecondition<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
): boolean {
  const request = reflect(method.input, isMessage(input, method.input) ? input : create(method.input, input));
  return method.input.fields.some((field) => PRECONDITIONS.has(field.name) && request.isSet(field));
}

/** Waits. It throws the error if the signal is aborted meanwhile. */
export function sleep(milliseconds: number, signal: AbortSignal | undefined, error: RecollectError): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, Math.ceil(milliseconds));
    signal?.addEventListener("abort", abort, { once: true });
  });
}

async function* withTypedErrors<T>(messages: AsyncIterable<T>, typed: (thrown: unknown) => RecollectError): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (thrown) {
    throw typed(thrown);
  }
}

/** A random UUID; crypto.randomUUID is missing on pages without TLS. */
function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
