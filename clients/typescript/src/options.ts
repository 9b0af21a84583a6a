/** How calls are repeated that failed for a passing reason. */
export interface RetryOptions {
  /** The number of attempts, the first one included. Default: 7. 1 never retries. */
  maxAttempts?: number;
  /** The longest wait before the second attempt, in milliseconds; it doubles with each attempt. Default: 100. */
  initialBackoffMs?: number;
  /** The longest wait between two attempts, in milliseconds. Default: 5,000. */
  maxBackoffMs?: number;
}

/** An API key or a token (JWT), or a function that returns the current one. */
export type ApiKey = string | (() => string | Promise<string>);

/** Options of a client on every platform. */
export interface CommonOptions {
  /** The API key. A function is asked before each attempt of a call. Empty: none is sent. */
  apiKey?: ApiKey;
  /**
   * Whether the key may be sent without TLS to another machine, as on a private network. Default:
   * false, and on Node.js the environment variable RECOLLECT_ALLOW_PLAINTEXT_KEY.
   */
  allowPlaintextKey?: boolean;
  /** The deadline of a call, all its attempts included, in milliseconds. Default: 30,000. 0: none. */
  timeoutMs?: number;
  /** How calls are repeated that failed for a passing reason. */
  retry?: RetryOptions;
}

/** Options of one call. */
export interface CallOptions {
  /** The deadline of the call, all its attempts included, in milliseconds. 0: none. */
  timeoutMs?: number;
  /** Cancels the call. */
  signal?: AbortSignal;
}

/** The options of a call that Connect takes. */
export function callOptions(options: CallOptions | undefined): CallOptions {
  return { timeoutMs: options?.timeoutMs, signal: options?.signal };
}

/** Throws if the key would be sent to another machine in the clear. */
export function checkPlaintextKey(baseUrl: string, { apiKey, allowPlaintextKey }: CommonOptions): void {
  if (!apiKey || allowPlaintextKey) return;
  const { protocol, hostname } = new URL(baseUrl);
  const isLocal = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol !== "http:" || isLocal) return;
  throw new TypeError(
    `the API key would be sent to ${hostname} in the clear: use https://, or on a private network ` +
      "allowPlaintextKey (RECOLLECT_ALLOW_PLAINTEXT_KEY=1)",
  );
}
