// Storage and recall for Mastra, with a real server. The behavior of the storage is that which
// Mastra's own stores are tested for.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Agent, type MastraDBMessage } from "@mastra/core/agent";
import type { StorageThreadType } from "@mastra/core/memory";
import { MastraCompositeStore } from "@mastra/core/storage";
import { Memory } from "@mastra/memory";
import { MockLanguageModelV4 } from "ai/test";
import { textOf } from "@recollect/client";
import { recollectRecall, RecollectMemoryStorage } from "@recollect/client/mastra";
import { newApp, recollect } from "./support.js";

const newStorage = (app = newApp()) => new RecollectMemoryStorage(recollect, { app });
const START = Date.UTC(2026, 0, 1);

function newThread(fields: Partial<StorageThreadType> = {}): StorageThreadType {
  const now = new Date(START);
  return { id: randomUUID(), resourceId: "ada", title: "Travel", metadata: { color: "red" }, createdAt: now, updatedAt: now, ...fields };
}

function newMessage(thread: StorageThreadType, text: string, at: number, fields: Partial<MastraDBMessage> = {}): MastraDBMessage {
  return {
    id: randomUUID(),
    threadId: thread.id,
    resourceId: thread.resourceId,
    role: at % 2 === 0 ? "user" : "assistant",
    createdAt: new Date(START + at * 1_000),
    content: { format: 2, parts: [{ type: "text", text }] },
    ...fields,
  };
}

const textsOf = (messages: MastraDBMessage[]) => messages.map(({ content }) => content.parts.map((part) => (part.type === "text" ? part.text : part.type)).join(" "));

test("threads are saved, found, changed, listed and deleted", async () => {
  const storage = newStorage();
  const thread = newThread();
  assert.equal(await storage.getThreadById({ threadId: thread.id }), null);
  assert.deepEqual(await storage.saveThread({ thread }), thread);
  assert.deepEqual(await storage.getThreadById({ threadId: thread.id }), thread);
  assert.deepEqual(await storage.getThreadById({ threadId: thread.id, resourceId: "ada" }), thread);
  assert.equal(await storage.getThreadById({ threadId: thread.id, resourceId: "bob" }), null);

  const updated = await storage.updateThread({ id: thread.id, metadata: { size: 2, nested: { deep: [1, { a: { b: { c: {} } } }] } } });
  assert.equal(updated.title, "Travel", "what is not named stays");
  assert.deepEqual(updated.metadata, { color: "red", size: 2, nested: { deep: [1, { a: { b: { c: {} } } }] } });
  assert.deepEqual(await storage.getThreadById({ threadId: thread.id }), updated);
  await assert.rejects(storage.updateThread({ id: randomUUID(), title: "x" }), /not found/);

  const others = [
    newThread({ metadata: { color: "blue" }, createdAt: new Date(START + 1_000) }),
    newThread({ resourceId: "bob", createdAt: new Date(START + 2_000) }),
  ];
  for (const other of others) await storage.saveThread({ thread: other });
  const ids = async (args: Parameters<typeof storage.listThreads>[0]) => (await storage.listThreads(args)).threads.map(({ id }) => id);
  assert.deepEqual(await ids({ filter: { resourceId: "ada" } }), [others[0]!.id, thread.id], "newest first");
  assert.deepEqual(await ids({ filter: { metadata: { color: "red" } } }), [others[1]!.id, thread.id]);
  assert.deepEqual(await ids({ orderBy: { field: "createdAt", direction: "ASC" }, perPage: 1, page: 1 }), [others[0]!.id]);
  const page = await storage.listThreads({ perPage: 2 });
  assert.deepEqual([page.total, page.hasMore, page.threads.length], [3, true, 2]);

  await storage.deleteThread({ threadId: thread.id });
  assert.equal(await storage.getThreadById({ threadId: thread.id }), null);
  await storage.deleteThread({ threadId: thread.id });
});

test("messages come back as they were, whatever is in them", async () => {
  const storage = newStorage();
  const thread = newThread();
  await storage.saveThread({ thread });
  const invocation = { state: "result" as const, toolCallId: "call_1", toolName: "read", args: { n: 1.5 }, result: { text: "x".repeat(300_000), nul: "a\0b" } };
  const messages = [
    newMessage(thread, "Read it.", 0),
    newMessage(thread, "", 1, {
      content: {
        format: 2,
        content: "Done.",
        metadata: { seen: true, deep: { a: { b: { c: { d: { e: 1 } } } } } },
        parts: [
          { type: "step-start" },
          { type: "reasoning", reasoning: "Hm.", details: [{ type: "text", text: "Hm.", signature: "c2ln" }] },
          { type: "tool-invocation", toolInvocation: invocation },
          { type: "text", text: "Done.", providerMetadata: { openai: { itemId: "msg_1" } } },
        ],
      },
    }),
    newMessage(thread, "t".repeat(200_000), 2),
    newMessage(thread, "a\0b", 2),
    newMessage(thread, "", 3, { content: { format: 2, parts: [] } }),
    newMessage(thread, "Long", 4, { content: { format: 2, parts: [{ type: "text", text: "Long" }], metadata: { note: "n".repeat(50_000) } } }),
  ] as MastraDBMessage[];
  await storage.saveMessages({ messages });
  const listed = await storage.listMessages({ threadId: thread.id, perPage: false });
  assert.deepEqual(listed.messages, messages);
  const large = newMessage(thread, "x".repeat(2_000_000), 5);
  await assert.rejects(storage.saveMessages({ messages: [large] }), /at most 1 MiB/);
  const unknown = newMessage(newThread(), "Lost.", 6);
  await assert.rejects(storage.saveMessages({ messages: [unknown] }), /not found/);
});

test("messages are listed in pages, by time, with their neighbors", async () => {
  const storage = newStorage();
  const thread = newThread();
  const other = newThread();
  for (const one of [thread, other]) await storage.saveThread({ thread: one });
  const messages = Array.from({ length: 6 }, (_, at) => newMessage(thread, `Message ${at}`, at));
  const elsewhere = newMessage(other, "Elsewhere", 9);
  await storage.saveMessages({ messages: [...messages].reverse() });
  await storage.saveMessages({ messages: [elsewhere] });
  const list = async (args: Omit<Parameters<typeof storage.listMessages>[0], "threadId">) => {
    const { messages, total, hasMore } = await storage.listMessages({ threadId: thread.id, ...args });
    return [textsOf(messages), total, hasMore];
  };
  assert.deepEqual(await list({ perPage: 2, page: 1 }), [["Message 2", "Message 3"], 6, true]);
  const newest = { field: "createdAt" as const, direction: "DESC" as const };
  assert.deepEqual(await list({ perPage: 2, orderBy: newest }), [["Message 5", "Message 4"], 6, true]);
  assert.deepEqual(await list({ perPage: 0 }), [[], 6, true]);
  const range = { start: new Date(START + 2_000), end: new Date(START + 4_000), endExclusive: true };
  assert.deepEqual(await list({ filter: { dateRange: range } }), [["Message 2", "Message 3"], 2, false]);
  assert.deepEqual(await list({ resourceId: "bob" }), [[], 0, false]);
  const include = [{ id: messages[2]!.id, withPreviousMessages: 1, withNextMessages: 1 }, { id: elsewhere.id }];
  const [included] = await list({ perPage: 1, orderBy: newest, include });
  assert.deepEqual(included, ["Elsewhere", "Message 5", "Message 3", "Message 2", "Message 1"]);
  await assert.rejects(storage.listMessages({ threadId: " " }), /non-empty/);
  const { messages: byId } = await storage.listMessagesById({ messageIds: [messages[3]!.id, randomUUID(), elsewhere.id] });
  assert.deepEqual(textsOf(byId), ["Message 3", "Elsewhere"]);
  const ofAda = await storage.listMessagesByResourceId({ resourceId: "ada", perPage: 3 });
  assert.deepEqual([textsOf(ofAda.messages), ofAda.total], [["Message 0", "Message 1", "Message 2"], 7]);
});

test("a message is saved again, changed and deleted by its id", async () => {
  const storage = newStorage();
  const thread = newThread();
  await storage.saveThread({ thread });
  const [question, answer, later] = ["Hello", "Hel", "Thanks."].map((text, at) => newMessage(thread, text, at));
  await storage.saveMessages({ messages: [question!, answer!] });
  // An answer grows while its tools run.
  const grown = { ...answer!, content: { format: 2 as const, parts: [{ type: "text" as const, text: "Hello Ada." }] } };
  await storage.saveMessages({ messages: [question!, grown, later!] });
  await storage.saveMessages({ messages: [question!, grown, later!] });
  const texts = async () => textsOf((await storage.listMessages({ threadId: thread.id })).messages);
  assert.deepEqual(await texts(), ["Hello", "Hello Ada.", "Thanks."]);

  const [updated] = await storage.updateMessages({ messages: [{ id: answer!.id, content: { metadata: { liked: true } } as unknown as MastraDBMessage["content"] }] });
  assert.deepEqual([updated!.content.metadata, textsOf([updated!])], [{ liked: true }, ["Hello Ada."]]);
  assert.deepEqual(await texts(), ["Hello", "Hello Ada.", "Thanks."], "it keeps its place");
  const newest = await storage.listMessages({ threadId: thread.id, perPage: 1, orderBy: { field: "createdAt", direction: "DESC" } });
  assert.deepEqual([textsOf(newest.messages), newest.total], [["Thanks."], 3]);

  await storage.deleteMessages([question!.id, randomUUID()]);
  assert.deepEqual(await texts(), ["Hello Ada.", "Thanks."]);
  assert.deepEqual(await storage.updateMessages({ messages: [{ id: question!.id }] }), []);
});

test("resources have a working memory, and threads move between them", async () => {
  const app = newApp();
  const storage = newStorage(app);
  assert.equal(await storage.getResourceById({ resourceId: "ada" }), null);
  await storage.updateResource({ resourceId: "ada", workingMemory: "# Ada", metadata: { a: 1 } });
  const resource = await storage.updateResource({ resourceId: "ada", metadata: { b: 2 } });
  assert.deepEqual([resource.workingMemory, resource.metadata], ["# Ada", { a: 1, b: 2 }]);
  assert.deepEqual(await storage.getResourceById({ resourceId: "ada" }), resource);
  assert.equal(await storage.getResourceById({ resourceId: "bob" }), null);

  const thread = newThread();
  await storage.saveThread({ thread });
  await storage.saveMessages({ messages: [newMessage(thread, "Mine.", 0)] });
  // This one knows the thread's first owner.
  const elsewhere = newStorage(app);
  await elsewhere.getThreadById({ threadId: thread.id });
  await storage.updateThreadResourceId({ threadId: thread.id, resourceId: "bob" });
  for (const one of [storage, elsewhere]) assert.equal((await one.getThreadById({ threadId: thread.id }))?.resourceId, "bob");
  const { messages } = await storage.listMessages({ threadId: thread.id });
  assert.deepEqual(messages.map(({ resourceId }) => resourceId), ["bob"]);
  assert.deepEqual((await storage.listThreads({ filter: { resourceId: "ada" } })).threads, []);

  await storage.dangerouslyClearAll();
  assert.equal(await storage.getThreadById({ threadId: thread.id }), null);
  assert.equal(await storage.getResourceById({ resourceId: "ada" }), null);
});

test("an agent remembers and recalls, and users do not see each other's messages", async () => {
  const app = newApp();
  const memory = new Memory({
    storage: new MastraCompositeStore({ id: "recollect", domains: { memory: newStorage(app) } }),
    ...recollectRecall(recollect, { app }),
    options: { lastMessages: 2, semanticRecall: { topK: 3, messageRange: 0, scope: "resource" } },
  });
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const mock = new MockLanguageModelV4({
    doStream: async () => ({
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "stream-start", warnings: [] });
          controller.enqueue({ type: "text-start", id: "1" });
          controller.enqueue({ type: "text-delta", id: "1", delta: "Noted." });
          controller.enqueue({ type: "text-end", id: "1" });
          controller.enqueue({ type: "finish", finishReason: { unified: "stop", raw: undefined }, usage });
          controller.close();
        },
      }),
    }),
  });
  const agent = new Agent({ id: "helper", name: "Helper", instructions: "You help.", model: mock as never, memory });
  const ask = async (resource: string, thread: string, text: string) => {
    const { text: answer } = await agent.stream(text, { memory: { resource, thread } });
    assert.equal(await answer, "Noted.");
    return JSON.stringify(mock.doStreamCalls.at(-1)!.prompt);
  };
  await ask("ada", "one", "The spare key is under the blue flower pot.");
  await ask("ada", "one", "Chess is fun.");
  assert.match(await ask("ada", "one", "Is tea?"), /Chess is fun/, "the newest messages");
  assert.match(await ask("ada", "two", "Where is the spare key?"), /blue flower pot/, "recall over the user's threads");
  assert.doesNotMatch(await ask("bob", "three", "Where is the spare key?"), /blue flower pot/);

  const thread = recollect.session({ app, user: "ada", session: "thread:one" });
  const { matches } = await thread.search("spare key");
  assert.ok(matches.some(({ message }) => textOf(message).includes("flower pot")), "they are messages of Recollect");
});
