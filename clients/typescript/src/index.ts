/**
 * The client for Node.js, over gRPC.
 *
 * ```ts
 * const memory = new Recollect().session({ app: "support", user: "ada", session: "42" });
 * const context = await memory.context("What is my dog called?", { format: "openai" });
 * await memory.append({ user: question, assistant: answer });
 * ```
 *
 * @packageDocumentation
 */
import type { SecureClientSessionOptions } from "node:http2";
import type { Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { BaseClient } from "./client.js";
import { checkPlaintextKey, type CommonOptions } from "./options.js";
import { reliable } from "./transport.js";
import type { ModelClient, WrappedNames } from "./wrap.js";

export * from "./shared.js";

/** Certificates of a connection with TLS, in PEM. */
export interface TlsOptions {
  /** The authorities that may sign the server's certificate. Default: those of Node.js. */
  ca?: string | Buffer;
  /** The client's certificate, for mTLS. */
  cert?: string | Buffer;
  /** The key of the client's certificate. */
  key?: string | Buffer;
  /** The name in the server's certificate. Default: the host of the address. */
  serverName?: string;
}

/** Options of a client on Node.js. */
export interface RecollectOptions extends CommonOptions {
  /**
   * The server, as `host:port` or with a scheme: `https://` uses TLS, `http://` does not.
   * Default: the environment variable RECOLLECT_ADDR, or else `127.0.0.1:50051`.
   */
  address?: string;
  /** The API key. Default: the environment variable RECOLLECT_API_KEY. */
  apiKey?: CommonOptions["apiKey"];
  /** Whether to use TLS, or its certificates. Default: as the scheme of the address says. */
  tls?: boolean | TlsOptions;
  /** Connect's interceptors, run for each attempt of a call. */
  interceptors?: Interceptor[];
}

/** A client with one connection; share it. */
export class Recollect extends BaseClient {
  readonly #connection: Http2SessionManager;
  readonly #open: { isClosed: boolean };

  constructor(options: RecollectOptions = {}) {
    const address = options.address || process.env.RECOLLECT_ADDR || "127.0.0.1:50051";
    const baseUrl = urlOf(address, options.tls);
    const common: CommonOptions = {
      ...options,
      apiKey: options.apiKey ?? process.env.RECOLLECT_API_KEY,
      allowPlaintextKey:
        options.allowPlaintextKey ?? /^(1|true)$/i.test(process.env.RECOLLECT_ALLOW_PLAINTEXT_KEY ?? ""),
    };
    checkPlaintextKey(baseUrl, common);
    const connection = new Http2SessionManager(baseUrl, { pingIntervalMs: 60_000 }, tlsOf(options.tls));
    const transport = createGrpcTransport({ baseUrl, sessionManager: connection, interceptors: options.interceptors });
    const open = { isClosed: false };
    super(reliable(transport, common, { address: baseUrl, isClosed: () => open.isClosed }), baseUrl, options.retry);
    this.#connection = connection;
    this.#open = open;
  }

  /** Closes the connection. Calls in progress and later ones fail. */
  close(): void {
    this.#open.isClosed = true;
    this.#connection.abort();
  }

  /** Closes the connection at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.close();
  }
}

let shared: Recollect | undefined;

/**
 * {@link BaseClient.wrap} of `recollect`, by default of a client with all defaults: address and API
 * key come from the environment. Its connection is shared, and lets the process end.
 */
export function wrap<C extends ModelClient>(client: C, options: WrappedNames & { recollect?: BaseClient }): C {
  const { recollect = (shared ??= new Recollect()), ...names } = options;
  return recollect.wrap(client, names);
}

function urlOf(address: string, tls: RecollectOptions["tls"]): string {
  const scheme = /^([a-z]+):\/\//.exec(address)?.[1];
  if (scheme === undefined) return `${tls ? "https" : "http"}://${address}`;
  if (scheme !== "http" && scheme !== "https") throw new TypeError(`address: unknown scheme ${scheme}`);
  if (scheme === "http" && tls) throw new TypeError("address: TLS needs https://");
  if (scheme === "https" && tls === false) throw new TypeError("address: https:// needs TLS");
  return address.replace(/\/+$/, "");
}

function tlsOf(tls: RecollectOptions["tls"]): SecureClientSessionOptions {
  if (typeof tls !== "object") return {};
  const { ca, cert, key, serverName } = tls;
  return { ca, cert, key, ...(serverName && { servername: serverName }) };
}
