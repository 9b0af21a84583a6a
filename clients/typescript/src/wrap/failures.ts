// What becomes of the failures of memory, and when a server that does not answer is called again.
import type { Transport } from "@connectrpc/connect";
import { RecollectError } from "../errors.js";
import type { WrapOptions } from "../wrap.js";

/** What fails: recalling, or storing. */
type Step = "context" | "store";

/** A server that does not answer. */
interface Outage {
  error: RecollectError;
  /** When it is called again, in milliseconds since the epoch. */
  until: number;
  /** What was warned of since it last answered. */
  readonly warned: Set<Step>;
}

/** The milliseconds for which a server that did not answer is not called. */
const PAUSE_MS = 5_000;

const outages = new WeakMap<Transport, Outage>();

/** What becomes of the failures of a wrapped client. */
export class Failures {
  readonly #server: Transport;
  readonly #options: WrapOptions;

  constructor(server: Transport, options: WrapOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** Notes that the server has answered. */
  answered(): void {
    outages.delete(this.#server);
  }

  /** Whether the server is not called, because it has not answered just now. That is reported. */
  isAway(during: Step): boolean {
    const outage = outages.get(this.#server);
    if (this.#options.throwOnError || !outage || Date.now() >= outage.until) return false;
    this.#report(outage.error, during, outage);
    return true;
  }

  /** Whether the caller is to have a failure; else it is reported. */
  isThrown(error: unknown, during: Step, isLeft = false): boolean {
    if (this.#options.throwOnError && !isLeft) return true;
    let outage: Outage | undefined;
    if (error instanceof RecollectError && (error.status === "UNAVAILABLE" || error.status === "DEADLINE_EXCEEDED")) {
      const warned = outages.get(this.#server)?.warned ?? new Set();
      outage = { error, until: Date.now() + PAUSE_MS, warned };
      outages.set(this.#server, outage);
    }
    this.#report(error, during, outage);
    return false;
  }

  #report(error: unknown, during: Step, outage: Outage | undefined): void {
    const { onError } = this.#options;
    if (onError) return onError(error, during);
    if (!outage?.warned.has(during)) warn(error, during);
    outage?.warned.add(during);
  }
}

function warn(error: unknown, during: Step): void {
  // Messages of other errors may quote what they failed on.
  const kind = error instanceof Error ? error.name : typeof error;
  const what = error instanceof RecollectError ? error.message : kind;
  const done = during === "context" ? "A model was called without memory" : "A turn was not stored";
  console.warn(`Recollect: ${done}: ${what}`);
}
