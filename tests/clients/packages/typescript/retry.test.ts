// Retries, deadlines, request ids and TLS against a scripted server, over gRPC and over HTTP.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import * as http from "node:http";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { BaseClient, NO_USER, Recollect, RecollectError, type Appendable, type TlsOptions } from "@recollect/client";
import {
  AppendMessagesResponseSchema,
  ErrorInfoSchema,
  EventService,
  MessageService,
  RetryInfoSchema,
  ThreadService,
  type AppendMessagesRequest,
} from "@recollect/client/v1";
import { Recollect as WebRecollect } from "@recollect/client/web";

/** What the server does with one call of AppendMessages. */
type Step = "answer" | "store, then fail" | "fail" | "refuse" | "refuse for good" | "invalid" | "hang";

const DELAY_MS = 300;
const turn = { user: "My dog is called Pixel.", assistant: "A fine name!" };

/** A server that takes its steps in order, and then answers. */
class Script {
  /** Messages by request_id. */
  readonly stored = new Map<string, number>();
  readonly calls: { request: AppendMessagesRequest; time: number; key: string | null }[] = [];
  otherCalls = 0;
  /** Watches that are open. */
  watches = 0;
  constructor(readonly steps: Step[]) {}

  readonly handler = connectNodeAdapter({
    routes: (router) => {
      router.service(MessageService, {
        appendMessages: async (request, { requestHeader, signal }) => {
          this.calls.push({ request, time: Date.now(), key: requestHeader.get("authorization") });
          const step = this.steps.shift() ?? "answer";
          if (step === "fail") throw failure(Code.Unavailable, "DATABASE_UNAVAILABLE");
          if (step === "refuse") throw failure(Code.ResourceExhausted, "OVERLOADED", DELAY_MS);
          if (step === "refuse for good") throw failure(Code.ResourceExhausted, "EPHEMERAL_MEMORY_FULL");
          if (step === "invalid") throw failure(Code.InvalidArgument, "INVALID_FIELD");
          if (step === "hang") await new Promise((resolve) => signal.addEventListener("abort", resolve));
          const replayed = this.stored.has(request.requestId);
          if (!replayed) this.stored.set(request.requestId, request.messages.length);
          if (step === "store, then fail") throw failure(Code.Unavailable, "DATABASE_UNAVAILABLE");
          return create(AppendMessagesResponseSchema, { replayed });
        },
      });
      const fail = () => {
        this.otherCalls++;
        throw failure(Code.Unavailable, "DATABASE_UNAVAILABLE");
      };
      const script = this;
      router.service(ThreadService, {
        createThread: fail,
        getThread: fail,
        setHead: fail,
        updateThread: fail,
        async *watchThread(_, { signal }) {
          script.watches++;
          signal.addEventListener("abort", () => script.watches--);
          for (let cursor = 1; cursor <= 2; cursor++) yield { cursor: String(cursor) };
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
      });
      router.service(EventService, { appendEvents: fail });
    },
  });
}

function failure(code: Code, reason: string, delayMs?: number): ConnectError {
  const details: ConstructorParameters<typeof ConnectError>[3] = [
    { desc: ErrorInfoSchema, value: { reason, domain: "recollect.dev" } },
  ];
  if (delayMs) details.push({ desc: RetryInfoSchema, value: { retryDelay: { nanos: delayMs * 1e6 } } });
  return new ConnectError("scripted", code, undefined, details);
}

type Options = { timeoutMs?: number; retry?: { maxAttempts?: number } };

/** Runs the test over gRPC on Node.js, and over HTTP with JSON as in a browser. */
function everywhere(name: string, steps: Step[], run: (client: BaseClient, script: Script) => Promise<void>, options: Options = {}) {
  test(`${name}, over gRPC`, async (context) => {
    const script = new Script([...steps]);
    const address = await listen(context, http2.createServer(script.handler));
    const client = new Recollect({ address, apiKey: "secret", ...options });
    context.after(() => client.close());
    await run(client, script);
  });
  test(`${name}, over HTTP`, async (context) => {
    const script = new Script([...steps]);
    const address = await listen(context, http.createServer(script.handler));
    await run(new WebRecollect({ address: `http://${address}`, apiKey: async () => "secret", ...options }), script);
  });
}

async function listen(context: TestContext, server: http.Server | http2.Http2Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const session = (client: BaseClient) => client.session({ app: "support", user: "ada", session: "42" });

everywhere("a write that was stored before its failure is stored once", ["store, then fail", "fail"], async (client, script) => {
  const response = await session(client).append(turn);
  assert.ok(response.replayed);
  assert.equal(script.calls.length, 3);
  assert.deepEqual([...script.stored.values()], [2]);
  assert.match(script.calls[0]!.request.requestId, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(script.calls.map(({ request }) => request.requestId)).size, 1);
  assert.equal(script.calls[2]!.key, "Bearer secret");
});

everywhere("each call has a request id of its own, unless it is given", [], async (client, script) => {
  const memory = session(client);
  await memory.append(turn);
  await memory.append(turn);
  const requestId = randomUUID();
  await memory.append(turn, { requestId });
  const ids = script.calls.map(({ request }) => request.requestId);
  assert.equal(new Set(ids).size, 3);
  assert.equal(ids[2], requestId);
});

everywhere("the server's delay is respected", ["refuse", "refuse"], async (client, script) => {
  await session(client).append(turn);
  const [first, second, third] = script.calls.map(({ time }) => time);
  // Clocks of milliseconds.
  const least = DELAY_MS - 2;
  assert.ok(second! - first! >= least && third! - second! >= least, "sooner than asked");
  assert.deepEqual([...script.stored.values()], [2]);
});

everywhere("what cannot succeed is not repeated", ["invalid", "refuse for good"], async (client, script) => {
  const invalid = await rejected(session(client).append(turn));
  assert.equal(invalid.reason, "INVALID_FIELD");
  assert.equal(invalid.retryAfterMs, undefined);
  const full = await rejected(session(client).append(turn));
  assert.equal(full.reason, "EPHEMERAL_MEMORY_FULL");
  assert.equal(script.calls.length, 2);
});

everywhere("a call that may have happened is repeated only if that is safe", [], async (client, script) => {
  const threads = client.service(ThreadService);
  assert.equal((await rejected(threads.createThread({}))).attempts, 1);
  assert.equal(script.otherCalls, 1, "creating a thread");
  assert.equal((await rejected(threads.getThread({}))).attempts, 3);
  assert.equal((await rejected(client.service(EventService).appendEvents({}))).attempts, 3);
  assert.equal(script.otherCalls, 7, "reading, and a write with a request id");
}, { retry: { maxAttempts: 3 } });

everywhere("a write that names the state to change is not repeated", [], async (client) => {
  const threads = client.service(ThreadService);
  assert.equal((await rejected(threads.setHead({ headMessageId: "1" }))).attempts, 3);
  assert.equal((await rejected(threads.setHead({ headMessageId: "1", expectedHead: "" }))).attempts, 1);
  assert.equal((await rejected(threads.updateThread({ thread: { title: "A dog" } }))).attempts, 3);
  const precondition = { state: { case: "etag", value: "1" } } as const;
  assert.equal((await rejected(threads.updateThread({ thread: { title: "A dog" }, precondition }))).attempts, 1);
}, { retry: { maxAttempts: 3 } });

test("a key is sent to other machines with TLS only", () => {
  const apiKey = "secret";
  for (const address of ["localhost:1", "a.localhost:1", "127.1.2.3:1", "[::1]:1", "http://127.0.0.1:1", "https://memory.example"]) {
    new Recollect({ address, apiKey }).close();
  }
  for (const address of ["memory.example:1", "http://10.0.0.7:1", "[2001:db8::1]:1", "localhost.example:1"]) {
    assert.throws(() => new Recollect({ address, apiKey }), /in the clear/);
    assert.throws(() => new Recollect({ address, apiKey: () => "token" }), /in the clear/);
    new Recollect({ address, apiKey, allowPlaintextKey: true }).close();
    new Recollect({ address, apiKey: "" }).close();
  }
  assert.throws(() => new WebRecollect({ address: "http://memory.example", apiKey }), /in the clear/);
  new WebRecollect({ address: "http://memory.example", apiKey, allowPlaintextKey: true });
});

everywhere("attempts are limited, and the error says how many there were", Array(9).fill("fail"), async (client, script) => {
  const error = await rejected(session(client).append(turn));
  assert.equal(error.status, "UNAVAILABLE");
  assert.equal(error.reason, "DATABASE_UNAVAILABLE");
  assert.match(error.message, /UNAVAILABLE \(DATABASE_UNAVAILABLE\): scripted \(after 2 attempts\)/);
  assert.equal(script.calls.length, 2);
}, { retry: { maxAttempts: 2 } });

everywhere("a call has a deadline, its retries included", ["hang", ...Array(50).fill("fail")], async (client, script) => {
  const error = await rejected(session(client).append(turn));
  assert.equal(error.status, "DEADLINE_EXCEEDED");
  const begin = Date.now();
  const other = await rejected(session(client).append(turn));
  // The deadline may pass during an attempt, or be too close for the next one.
  assert.ok(["UNAVAILABLE", "DEADLINE_EXCEEDED"].includes(other.status), other.message);
  assert.ok(Date.now() - begin < 5_000);
  assert.ok(script.calls.length < 50);
}, { timeoutMs: 400, retry: { maxAttempts: 100 } });

everywhere("a canceled call is not repeated", ["hang"], async (client, script) => {
  const error = await rejected(session(client).append(turn, { signal: AbortSignal.timeout(200) }));
  assert.ok([Code.Canceled, Code.DeadlineExceeded].includes(error.code), error.message);
  assert.ok(script.calls.length <= 1, "repeated");
});

everywhere("a stream ends when its loop is left", [], async (client, script) => {
  const threads = client.service(ThreadService);
  for await (const event of threads.watchThread({})) {
    assert.equal(event.cursor, "1");
    assert.equal(script.watches, 1);
    break;
  }
  await until(() => script.watches === 0);

  // Also while an event is awaited, and by a signal.
  const watch = threads.watchThread({})[Symbol.asyncIterator]();
  for (const cursor of ["1", "2"]) assert.equal((await watch.next()).value?.cursor, cursor);
  const next = watch.next();
  await watch.return!();
  assert.equal((await next).done, true);
  await until(() => script.watches === 0);
  const aborting = new AbortController();
  const aborted = threads.watchThread({}, { signal: aborting.signal })[Symbol.asyncIterator]();
  for (const cursor of ["1", "2"]) assert.equal((await aborted.next()).value?.cursor, cursor);
  aborting.abort();
  assert.equal((await rejected(Promise.resolve(aborted.next()))).code, Code.Canceled);
  await until(() => script.watches === 0);
});

/** Waits at most ten seconds. */
async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !condition(); ) {
    assert.ok(Date.now() < end, "it does not come true");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("no server is UNAVAILABLE", async (context) => {
  const server = http2.createServer();
  const address = await listen(context, server);
  server.close();
  const client = new Recollect({ address, retry: { maxAttempts: 2 } });
  context.after(() => client.close());
  const error = await rejected(session(client).append(turn));
  assert.equal(error.code, Code.Unavailable);
  assert.equal(error.attempts, 2);
  const advice = `UNAVAILABLE: No Recollect server answers at http://${address}: start one (\`recollect dev\`), or set address or RECOLLECT_ADDR.`;
  assert.ok(error.message.startsWith(advice), error.message);
  const web = new WebRecollect({ address: `http://${address}`, retry: { maxAttempts: 2 } });
  assert.equal((await rejected(session(web).append(turn))).attempts, 2);
});

test("a server without TLS is named as such", async (context) => {
  const address = await listen(context, http2.createServer(new Script([]).handler));
  const client = new Recollect({ address: `https://${address}`, retry: { maxAttempts: 1 } });
  context.after(() => client.close());
  const error = await rejected(session(client).append(turn));
  assert.match(error.message, /^UNAVAILABLE: The server at https:\/\/.* does not use TLS: use http:\/\/ in the address/);
});

test("a call after close says so", async (context) => {
  const script = new Script([]);
  const client = new Recollect({ address: await listen(context, http2.createServer(script.handler)) });
  const memory = session(client);
  client.close();
  const error = await rejected(memory.append(turn));
  assert.match(error.message, /^FAILED_PRECONDITION: this client is closed/);
  assert.match((await rejected(memory.messages().next())).message, /this client is closed/);
  assert.equal(script.calls.length, 0);
});

test("an empty user and an empty text are refused", async () => {
  const client = new Recollect({ address: "127.0.0.1:1" });
  for (const user of ["", undefined, null, 3] as unknown as string[]) {
    const names = { app: "support", user, session: "42" };
    const refused = thrown(() => client.session(names));
    assert.deepEqual([refused.status, refused.reason, refused.fields[0]?.field], ["INVALID_ARGUMENT", "INVALID_FIELD", "user"]);
    assert.match(refused.message, /NO_USER/);
    thrown(() => client.memories(names));
    await rejected(client.admin.deleteUser(user, { app: "support" }));
  }
  thrown(() => client.threads.list({ app: "support", user: "" }));
  assert.equal(client.session({ app: "support", user: NO_USER, session: "42" }).ref.thread.case, "session");

  const memory = session(client);
  const fields = async (given: unknown) => (await rejected(memory.append(given as Appendable))).fields.map(({ field }) => field);
  assert.deepEqual(await fields({ user: "" }), ["user"]);
  assert.deepEqual(await fields({ user: "Hello", assistant: "" }), ["assistant"]);
  assert.deepEqual(await fields({ user: 3 }), ["user"]);
  assert.deepEqual(await fields("Hello"), ["messages"]);
  assert.deepEqual(await fields([{ role: "user", content: "Hello" }, { role: "user", content: [] }]), ["messages[1].content"]);
  client.close();
});

test("what is printed names server and conversation, and not the key", () => {
  const client = new Recollect({ address: "127.0.0.1:1", apiKey: "secret" });
  assert.equal(inspect(client), "Recollect(http://127.0.0.1:1)");
  assert.equal(inspect(session(client)), 'Session(app: "support", user: "ada", session: "42")');
  assert.equal(String(client.session({ app: "support", user: NO_USER })), 'Session(app: "support", user: NO_USER)');
});

function thrown(call: () => unknown): RecollectError {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof RecollectError, String(error));
    return error;
  }
  assert.fail("it is taken");
}

test("TLS with client certificates", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "recollect-"));
  context.after(() => rmSync(directory, { recursive: true }));
  if (spawnSync("openssl", ["version"]).status !== 0) return context.skip("no openssl");
  const server = certificate(directory, "server");
  const user = certificate(directory, "client");
  const script = new Script([]);
  const trusting = { ...server, ca: user.cert, requestCert: true, rejectUnauthorized: true };
  const address = await listen(context, http2.createSecureServer(trusting, script.handler));
  const connect = (tls: TlsOptions) => {
    const client = new Recollect({ address: `https://${address}`, tls, retry: { maxAttempts: 1 } });
    context.after(() => client.close());
    return session(client);
  };
  await connect({ ca: server.cert, ...user }).append(turn);
  await rejected(connect({ ca: server.cert }).append(turn));
  await rejected(connect({ ca: user.cert, ...user }).append(turn));
  assert.equal(script.calls.length, 1);
  assert.throws(() => new Recollect({ address: `http://${address}`, tls: true }), TypeError);
});

/** A certificate for 127.0.0.1 that signs itself. */
function certificate(directory: string, name: string): { cert: string; key: string } {
  const [cert, key] = [join(directory, `${name}.pem`), join(directory, `${name}.key`)];
  const kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${name}`];
  const made = spawnSync("openssl", ["req", ...kind, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert]);
  assert.equal(made.status, 0, String(made.stderr));
  return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
}

async function rejected(call: Promise<unknown>): Promise<RecollectError> {
  const error = await call.then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof RecollectError, String(error));
  return error;
}
