/**
 * The client for browsers and other platforms with `fetch`, over HTTP with JSON.
 *
 * Whoever can open the page can read its API key. Give pages tokens that expire soon and name
 * one tenant with few scopes (`auth.jwt` of the server), or call Recollect in your backend.
 *
 * @packageDocumentation
 */
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { BaseClient } from "./client.js";
import { checkPlaintextKey, type CommonOptions } from "./options.js";
import { reliable } from "./transport.js";

export * from "./shared.js";

/** Options of a client with `fetch`. */
export interface RecollectOptions extends CommonOptions {
  /** The URL of the server, such as `https://memory.example.com`. */
  address: string;
  /** The function that sends requests. Default: the platform's `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Connect's interceptors, run for each attempt of a call. */
  interceptors?: Interceptor[];
}

/** A client that sends each call as an HTTP request. */
export class Recollect extends BaseClient {
  constructor(options: RecollectOptions) {
    const { address, fetch, interceptors } = options;
    const baseUrl = address.replace(/\/+$/, "");
    checkPlaintextKey(baseUrl, options);
    const transport = createConnectTransport({ baseUrl, fetch, interceptors, useBinaryFormat: false });
    super(reliable(transport, options, { address: baseUrl }), baseUrl, options.retry);
  }
}
