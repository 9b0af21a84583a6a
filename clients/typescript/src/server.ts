/**
 * A server of its own for a test, a script or a notebook on Node.js, with its data in a temporary
 * directory. Settings of this process, such as DATABASE_URL and recollect.toml, do not reach it:
 *
 * ```ts
 * await using memory = await server();
 * await memory.client.session({ app: "support", user: "ada", session: "42" }).append({ user: "Hello" });
 * ```
 *
 * @packageDocumentation
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { Recollect, type RecollectOptions } from "./index.js";

/** How a server is started. */
export interface ServerOptions {
  /**
   * The program `recollect`. Default: the environment variable RECOLLECT_PROGRAM, or the program of the
   * package `@recollect/server`, or the one on the PATH.
   */
  program?: string;
  /** The longest wait until it is ready, in milliseconds. Default: 60,000. */
  startTimeoutMs?: number;
  /** The longest wait for it to stop before it is killed, in milliseconds. Default: 10,000. */
  stopTimeoutMs?: number;
  /** Options of its client. */
  client?: Omit<RecollectOptions, "address" | "tls">;
}

/** A running server. It also stops when this process ends, but its directory then stays. */
export interface Server extends AsyncDisposable {
  /** A client of it, which `close` closes too. */
  readonly client: Recollect;
  /** Its address, as `host:port`. */
  readonly address: string;
  /** Stops it and deletes its data. */
  close(): Promise<void>;
}

const INSTALL = "npm install @recollect/server";
/** The lines of its log that an error has. */
const LOG_LINES = 20;

/** Starts a server on a free port. It is ready when the promise is fulfilled. */
export async function server(options: ServerOptions = {}): Promise<Server> {
  const { startTimeoutMs = 60_000, stopTimeoutMs = 10_000 } = options;
  const program = options.program || process.env.RECOLLECT_PROGRAM || (await packagedProgram()) || "recollect";
  const directory = await mkdtemp(join(tmpdir(), "recollect-"));
  const started = new Program(program, directory);
  let client: Recollect | undefined;
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    client?.close();
    await started.stop(stopTimeoutMs);
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const address = await started.ready(startTimeoutMs);
    // The server has no keys.
    client = new Recollect({ apiKey: "", ...options.client, address });
    const stop = () => (closing ??= close());
    return { client, address, close: stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The program of the package `@recollect/server`, if it is installed. */
async function packagedProgram(): Promise<string | undefined> {
  // Not a literal, because the package need not be there when this one is compiled.
  const name: string = "@recollect/server";
  try {
    return ((await import(name)) as { program(): string }).program();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/** Variables of this process that would lead the server to the caller's database, files or traces. */
const FOREIGN =
  /^(DATABASE_URL|RUST_LOG|OTEL_EXPORTER_OTLP_(TRACES_)?ENDPOINT|RECOLLECT_(CONFIG|DATA_DIR|\w+?__\w+))$/;

function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !FOREIGN.test(name)));
}

/** `recollect dev` with its data in a directory. */
class Program {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #log: string[] = [];
  readonly #exit: Promise<unknown>;

  constructor(name: string, directory: string) {
    this.#name = name;
    // With its standard input it also stops when this process is killed.
    const args = ["dev", "--json", "--stop-with-stdin", "--listen", "127.0.0.1:0", "--data-dir", join(directory, "data")];
    // In its own directory, without a configuration file of the caller's.
    const program = name.includes("/") ? resolve(name) : name;
    this.#child = spawn(program, args, { cwd: directory, env: environment(), stdio: ["pipe", "pipe", "pipe"] });
    this.#exit = once(this.#child, "close").catch(() => undefined);
    this.#child.stdin!.on("error", () => {});
  }

  /** Waits until it is ready, and returns its address. */
  async ready(timeoutMs: number): Promise<string> {
    const timeout = new AbortController();
    try {
      const address = await Promise.race([
        this.#announced(),
        this.#failed(),
        wait(timeoutMs, undefined, { signal: timeout.signal }).then(() => {
          throw new Error(`${this.#name} dev was not ready after ${timeoutMs} ms${this.#lastLines()}`);
        }),
      ]);
      this.#letProcessEnd();
      return address;
    } finally {
      timeout.abort();
    }
  }

  /** The address in its line of JSON. */
  async #announced(): Promise<string> {
    const errors = createInterface({ input: this.#child.stderr! });
    errors.on("line", (line) => this.#keep(line));
    const lines = createInterface({ input: this.#child.stdout! });
    return new Promise((resolve) => {
      lines.on("line", (line) => {
        const address = addressIn(line);
        if (address === undefined) this.#keep(line);
        else resolve(address);
      });
    });
  }

  async #failed(): Promise<never> {
    const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      this.#child.once("error", resolve);
      this.#child.once("close", () => resolve(undefined));
    });
    if (failure?.code === "ENOENT") {
      throw new Error(`There is no program ${this.#name}. Install it: ${INSTALL}`, { cause: failure });
    }
    if (failure) throw new Error(`${this.#name} does not start: ${failure.message}`, { cause: failure });
    const { exitCode, signalCode } = this.#child;
    throw new Error(`${this.#name} dev ended with ${signalCode ?? `exit code ${exitCode}`}${this.#lastLines()}`);
  }

  #keep(line: string): void {
    this.#log.push(line);
    if (this.#log.length > LOG_LINES) this.#log.shift();
  }

  #lastLines(): string {
    return this.#log.length > 0 ? `:\n${this.#log.join("\n")}` : "";
  }

  /** A server that is not closed does not keep this process. */
  #letProcessEnd(): void {
    const { stdin, stdout, stderr } = this.#child;
    this.#child.unref();
    for (const pipe of [stdin, stdout, stderr] as (Readable | null)[]) (pipe as Socket | null)?.unref?.();
  }

  /** Stops it; kills it if that takes longer. */
  async stop(timeoutMs: number): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    this.#child.ref();
    this.#child.kill("SIGTERM");
    const timeout = new AbortController();
    const late = wait(timeoutMs, "late", { signal: timeout.signal }).catch(() => undefined);
    if ((await Promise.race([this.#exit, late])) === "late") this.#child.kill("SIGKILL");
    timeout.abort();
    await this.#exit;
  }
}

/** The address in the line that says that the server is ready. */
function addressIn(line: string): string | undefined {
  try {
    const { addr } = JSON.parse(line) as { addr?: unknown };
    return typeof addr === "string" ? addr : undefined;
  } catch {
    return undefined;
  }
}
