// Subscriptions: their events from a scripted server, and all calls against a real one.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Recollect, RecollectError } from "@recollect/client";
import { SubscriptionService, TransactionAction, type Subscription } from "@recollect/client/v1";
import { newSession, recollect } from "./support.js";

/** What one stream does: it sends batches of these event ids, and then ends or fails. */
interface Stream {
  batches: string[][];
  /** How long it lasts after them, if it fails, in milliseconds. */
  lasts?: number;
  end?: Code;
}

/** A server whose streams are scripted, and stay open after the last one. */
class Script {
  readonly acknowledged: string[] = [];
  updated: { subscription?: Subscription; paths?: string[] } = {};
  acknowledgement: "answer" | "refuse" = "answer";
  open = 0;
  constructor(readonly streams: Stream[]) {}

  /** A client of this server. */
  async client(context: TestContext): Promise<Recollect> {
    const script = this;
    const server = http2.createServer(
      connectNodeAdapter({
        routes: (router) => {
          router.service(SubscriptionService, {
            async *streamEvents(_, { signal }) {
              script.open++;
              signal.addEventListener("abort", () => script.open--);
              const { batches, lasts, end } = script.streams.shift() ?? { batches: [] };
              for (const events of batches) {
                yield { batchId: events.join("+"), events: events.map((eventId) => ({ eventId })) };
                await until(() => script.acknowledged.includes(events.join("+")) || signal.aborted);
              }
              if (lasts !== undefined) await new Promise((resolve) => setTimeout(resolve, lasts));
              if (end !== undefined) throw new ConnectError("scripted", end);
              await until(() => signal.aborted);
            },
            acknowledgeEvents: ({ batchId }) => {
              if (script.acknowledgement === "refuse") throw new ConnectError("scripted", Code.PermissionDenied);
              script.acknowledged.push(batchId);
              return { acknowledged: true };
            },
            updateSubscription: ({ subscription, updateMask }) => {
              script.updated = { subscription, paths: updateMask?.paths };
              return { subscription };
            },
          });
        },
      }),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new Recollect({ address, apiKey: "secret", retry: { maxAttempts: 3, initialBackoffMs: 10, maxBackoffMs: 20 } });
    context.after(() => {
      client.close();
      server.close();
    });
    return client;
  }
}

/** Waits at most ten seconds. */
async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !condition(); ) {
    assert.ok(Date.now() < end, "it does not come true");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The ids of as many events. */
async function read(client: Recollect, count: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { eventId } of client.subscriptions.events("crm")) {
    ids.push(eventId);
    if (ids.length === count) break;
  }
  return ids;
}

async function failure(call: Promise<unknown>): Promise<RecollectError> {
  const error = await call.then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof RecollectError, String(error));
  return error;
}

test("a batch is acknowledged when the event after it is asked for", async (context) => {
  const script = new Script([{ batches: [["a", "b"], ["c"]] }]);
  const client = await script.client(context);
  assert.deepEqual(await read(client, 2), ["a", "b"]);
  assert.deepEqual(script.acknowledged, []);
  await until(() => script.open === 0);
  script.streams.push({ batches: [["a", "b"], ["c"]] });
  assert.deepEqual(await read(client, 3), ["a", "b", "c"]);
  assert.deepEqual(script.acknowledged, ["a+b"]);
  await until(() => script.open === 0);
});

test("a lost stream is opened again", async (context) => {
  const { Unavailable } = Code;
  const script = new Script([{ batches: [["a"]], end: Unavailable }, { batches: [], end: Unavailable }, { batches: [["b"]] }]);
  assert.deepEqual(await read(await script.client(context), 2), ["a", "b"]);
  assert.deepEqual(script.acknowledged, ["a"]);
});

test("a quiet stream is opened again however often it ends", async (context) => {
  const quiet = Array.from({ length: 5 }, () => ({ batches: [], end: Code.DeadlineExceeded }));
  const script = new Script([...quiet, { batches: [["a"]] }]);
  assert.deepEqual(await read(await script.client(context), 1), ["a"]);
});

test("a quiet stream that lasted is no failure", async (context) => {
  const lost = { batches: [], end: Code.Unavailable };
  const script = new Script([lost, lost, { ...lost, lasts: 1_100 }, lost, lost, { batches: [["a"]] }]);
  assert.deepEqual(await read(await script.client(context), 1), ["a"]);
});

test("what does not pass ends the events", async (context) => {
  const { Unavailable, NotFound } = Code;
  const script = new Script([]);
  const client = await script.client(context);
  script.streams.push({ batches: [], end: NotFound });
  assert.equal((await failure(read(client, 1))).code, NotFound);
  script.streams.push(...Array.from({ length: 3 }, () => ({ batches: [], end: Unavailable })));
  assert.equal((await failure(read(client, 1))).code, Unavailable);
  assert.equal(script.streams.length, 0);

  script.acknowledgement = "refuse";
  script.streams.push({ batches: [["a"]] });
  assert.equal((await failure(read(client, 2))).code, Code.PermissionDenied);

  const aborting = new AbortController();
  const events = client.subscriptions.events("crm", { signal: aborting.signal });
  const next = failure(events.next());
  await until(() => script.open === 1);
  aborting.abort();
  assert.equal((await next).code, Code.Canceled);
});

test("an update names what it changes", async (context) => {
  const script = new Script([]);
  const { subscriptions } = await script.client(context);
  const changed = await subscriptions.update("crm", { enabled: false, actions: ["append_messages"] });
  assert.deepEqual([changed.name, changed.enabled, changed.actions], ["crm", false, [TransactionAction.APPEND_MESSAGES]]);
  assert.deepEqual(script.updated.paths, ["enabled", "actions"]);
  await subscriptions.update("crm", { actions: [] });
  assert.deepEqual([script.updated.paths, script.updated.subscription?.actions], [["actions"], []]);
});

test("a subscription delivers changes", async () => {
  const { subscriptions } = recollect;
  const app = `typescript-${randomUUID()}`;
  const name = app.slice(0, 64);
  const made = await subscriptions.create(name, { app, actions: ["append_messages"] });
  assert.deepEqual([made.subscription?.enabled, made.subscription?.appId, made.secret], [true, app, ""]);
  const memory = newSession({ app });
  await memory.append({ user: "Hello" });
  await memory.append({ user: "Again" });
  let count = 0;
  for await (const { userId, action } of subscriptions.events(name)) {
    assert.deepEqual([userId, action], ["ada", TransactionAction.APPEND_MESSAGES]);
    if (++count === 2) break;
  }
  assert.ok((await subscriptions.list()).some((listed) => listed.name === name));
  assert.equal((await subscriptions.update(name, { enabled: false, actions: [] })).enabled, false);
  assert.deepEqual((await subscriptions.get(name)).actions, []);
  assert.equal((await failure(subscriptions.rotateSecret(name))).fields[0]?.field, "name");
  assert.equal(await subscriptions.delete(name), true);
  assert.equal(await subscriptions.delete(name), false);
});
