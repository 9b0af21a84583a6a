// The package against a real server: RECOLLECT_ADDR and RECOLLECT_API_KEY name it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { clone, create } from "@bufbuild/protobuf";
import { Code, jsonObject, jsonText, Recollect, RecollectError, render, roleOf, textOf } from "@recollect/client";
import { ExportCompleteness, FileType, PartSchema, RecordSchema, PlanService, Role, ThreadService, ToolResultPartSchema, type ToolResultPart } from "@recollect/client/v1";
import { Recollect as WebRecollect } from "@recollect/client/web";

const recollect = new Recollect();
after(() => recollect.close());

const newSession = (user = "ada") => ({ app: `typescript-${randomUUID()}`, user, session: "42" });

async function all<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const entry of entries) list.push(entry);
  return list;
}

test("a chat turn is a context and an append", async () => {
  const memory = recollect.session(newSession());
  assert.deepEqual(await all(memory.messages()), [], "a session without a thread");
  const first = await memory.append({ user: "My dog is called Pixel.", assistant: "A fine name!" });
  assert.ok(first.threadCreated);

  const question = "What is my dog called?";
  const context = await memory.context(question, { format: "openai", system: "You help." });
  const said = [
    ["system", "You help."],
    ["user", "My dog is called Pixel."],
    ["assistant", "A fine name!"],
    ["user", question],
  ];
  assert.deepEqual(context.messages.map(({ role, content }) => [role, content]), said);
  assert.deepEqual(JSON.parse(context.body), { messages: context.messages });
  assert.ok(context.totalTokens > 0 && context.totalTokens === context.response.totalTokens);

  await memory.append({ user: question, assistant: "Pixel." });
  const history = await memory.history({ maxTokens: 1_000 });
  const stored = history.messages.map((message) => [roleOf(message), textOf(message)]);
  assert.deepEqual(stored, [...said.slice(1), ["assistant", "Pixel."]]);
  assert.deepEqual(render(history.messages.slice(-1), "{seq} {role}: {text}"), ["4 assistant: Pixel."]);
});

test("records are exported, and imported again or with new ids", async () => {
  const named = newSession();
  await recollect.session(named).append({ user: "My dog is called Pixel.", assistant: "A fine name!" });
  const records = await all(recollect.exportRecords({ app: named.app }));
  const last = records.at(-1)!.kind;
  assert.ok(last.case === "summary" && last.value.messageCount === 2n);

  const known = await recollect.importRecords(recollect.exportRecords({ app: named.app }));
  assert.ok(known.complete);
  assert.equal(known.summary.checksum, last.value.checksum);
  assert.deepEqual([known.summary.known?.messageCount, known.summary.stored?.messageCount], [2n, 0n]);

  // A copy for another user, in which one record belongs to nothing.
  const copies = records.slice(0, -1).map((record) => clone(RecordSchema, record));
  for (const { kind } of copies) if (kind.case === "thread") kind.value.userId = "bob";
  const orphan = copies.find(({ kind }) => kind.case === "message")!;
  const copied = await recollect.importRecords([orphan, ...copies], { newIds: true });
  assert.deepEqual(copied.refused.map(({ position, error }) => [position, error?.field]), [[0n, "record.message"]]);
  assert.ok(!copied.complete && copied.summary.completeness === ExportCompleteness.INCOMPLETE);
  const texts = (await all(recollect.session({ ...named, user: "bob" }).messages())).map(textOf);
  assert.deepEqual(texts, ["My dog is called Pixel.", "A fine name!"]);
  await assert.rejects(all(recollect.exportRecords({ threadId: "no-uuid" })), RecollectError);
});

test("contexts have the fields of each format", async () => {
  const memory = recollect.session(newSession());
  const system = "You help.";
  const anthropic = await memory.context("Hello?", { format: "anthropic", system });
  assert.deepEqual(anthropic.system, system);
  assert.equal(anthropic.messages.length, 1);
  const responses = await memory.context("Hello?", { format: "openai-responses", system });
  assert.equal(responses.instructions, system);
  assert.equal(responses.input.length, 1);
  const gemini = await memory.context("Hello?", { format: "gemini", system });
  assert.equal(gemini.systemInstruction.parts[0].text, system);
  assert.equal(gemini.contents.length, 1);
  const { text } = await memory.context("Hello?", { format: "text", mode: "none" });
  assert.match(text, /Hello\?/);
});

test("a context leaves room for what is added, and is explained if that is wanted", async () => {
  const memory = recollect.session(newSession());
  for (let turn = 0; turn < 10; turn++) await memory.append({ user: `Chess move ${turn}: ${"pawn ".repeat(100)}` });
  const whole = await memory.context("Go on.", { maxTokens: 1_000 });
  assert.equal(whole.response.effectivePolicy, undefined);
  assert.deepEqual(whole.response.omitted, []);
  const reserved = await memory.context("Go on.", { maxTokens: 1_000, reserveTokens: 600, explain: true });
  assert.ok(reserved.totalTokens <= 400 && reserved.totalTokens < whole.totalTokens);
  assert.ok(reserved.response.effectivePolicy);
  assert.ok((await memory.recall("chess", { explain: true })).effectivePolicy);
});

test("messages of providers are stored as they are", async () => {
  const memory = recollect.session(newSession());
  const id = `chatcmpl-${randomUUID()}`;
  const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city": "Oslo"}' } };
  const completion = {
    id,
    choices: [{ index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: null, tool_calls: [call] } }],
  };
  const question = { role: "user", content: "How warm is it?" };
  const stored = await memory.append([question, completion], { format: "openai" });
  assert.equal(stored.messages[1]?.externalId, id);
  await memory.append({ role: "tool", tool_call_id: "call_1", content: "12 degrees" }, { format: "openai" });

  const { messages } = await memory.context("Thanks.", { format: "openai" });
  assert.deepEqual(messages[1].tool_calls, [call]);
  assert.equal(messages[2].content, "12 degrees");

  const other = recollect.session(newSession());
  await other.append({ role: "user", content: [{ type: "text", text: "Hi" }] }, { format: "anthropic" });
  await other.append({ contents: [{ role: "model", parts: [{ text: "Hello" }] }] }, { format: "gemini" });
  assert.deepEqual((await all(other.messages())).map(textOf), ["Hi", "Hello"]);
});

test("messages are read in pages, and recalled", async () => {
  const memory = recollect.session(newSession());
  await memory.append([
    { role: "user", content: "The spare key is under the blue flower pot.", name: "Ada", metadata: { place: "home" } },
    { role: "assistant", content: "Noted.", externalId: "note-1" },
    { role: "user", content: "And the red bicycle is in the cellar.", createTime: new Date("2024-05-01T10:00:00Z") },
  ]);
  const seqs = (await all(memory.messages({ pageSize: 1 }))).map(({ seq }) => seq);
  assert.deepEqual(seqs, [1n, 2n, 3n]);
  const newest = (await all(memory.messages({ newestFirst: true, pageSize: 2 }))).map(({ seq }) => seq);
  assert.deepEqual(newest, [3n, 2n, 1n]);

  assert.deepEqual((await all(memory.messages())).map(({ metadata }) => metadata), [{ place: "home" }, {}, {}]);

  const recalled = await memory.recall("Where is the spare key?", { maxTokens: 1_000 });
  assert.ok(recalled.messages.some(({ message }) => textOf(message).includes("flower pot")));
  const found = await memory.search("spare key", { topK: 1 });
  assert.match(textOf(found.matches[0]?.message), /flower pot/);
});

test("metadata keeps the digits of its numbers", async () => {
  const names = newSession();
  const memory = recollect.session(names);
  const orders = [1234567890123456788n, 1234567890123456789n];
  for (const order of orders) {
    await memory.append({ role: "user", content: "Where is it?", metadata: { order, price: 1.5, tags: ["a", { deep: true }] } });
  }
  await memory.append({ role: "user", content: "And this?", metadata: '{"order": 7}' });
  const stored = (await all(memory.messages())).map(({ metadata }) => metadata);
  assert.deepEqual(stored, [...orders.map((order) => ({ order, price: 1.5, tags: ["a", { deep: true }] })), { order: 7 }]);
  assert.deepEqual((await memory.history()).messages.map(({ metadata }) => metadata.order), [...orders, 7]);
  const found = await all(memory.messages({ filter: { roles: ["user"], metadata: { order: orders[1] } } }));
  assert.deepEqual(found.map(({ seq }) => seq), [2n]);
  await assert.rejects(memory.append({ role: "user", content: "?", metadata: { price: NaN } }), /metadata\.price: JSON has no NaN/);

  const [remembered] = await memory.memories.remember({ text: "Ada likes tea.", metadata: { order: orders[0] } });
  assert.deepEqual(remembered?.memory?.metadata, { order: orders[0] });
  const [known] = await all(memory.memories.list({ filter: { metadata: { order: orders[0] } } }));
  assert.deepEqual(known?.metadata, { order: orders[0] });

  const threads = recollect.service(ThreadService);
  await threads.updateThread({ thread: { ...refOf(names), metadata: jsonText({ order: orders[1] }) } });
  const [thread] = await all(recollect.threads.list({ app: names.app, metadata: { order: orders[1] } }));
  assert.deepEqual(thread?.metadata, { order: orders[1] });
  assert.deepEqual(await all(recollect.threads.list({ app: names.app, metadata: { order: orders[0] } })), []);
});

test("events are logged and listed", async () => {
  const memory = recollect.session(newSession());
  assert.deepEqual(await all(memory.events()), [], "a session without a thread");
  await memory.append({ user: "Hello" });
  const first = await memory.appendEvents({ type: "started" });
  assert.equal(first.firstNumber, 1n);
  const createTime = new Date("2024-05-01T10:00:00Z");
  await memory.appendEvents([
    { type: "failed", data: { code: 401, id: 1234567890123456789n }, createTime },
    { type: "failed", data: '{"code":  500}', messageId: "" },
  ]);
  const events = await all(memory.events({ pageSize: 1 }));
  assert.deepEqual(events.map(({ number, type, data }) => [number, type, data]), [
    [1n, "started", undefined],
    [2n, "failed", { code: 401, id: 1234567890123456789n }],
    [3n, "failed", { code: 500 }],
  ]);
  assert.equal(events[2]!.json, '{"code":  500}');
  const newest = await all(memory.events({ types: ["failed"], startTime: new Date("2025-01-01T00:00:00Z"), newestFirst: true }));
  assert.deepEqual(newest.map(({ number }) => number), [3n]);
  const requestId = randomUUID();
  const again = [await memory.appendEvents({ type: "ended" }, { requestId }), await memory.appendEvents({ type: "ended" }, { requestId })];
  assert.deepEqual(again.map(({ replayed }) => replayed), [false, true]);
  assert.equal((await all(memory.events())).length, 4);
});

test("the path leads to the head, without other branches, and can be cleared", async () => {
  const memory = recollect.session(newSession());
  assert.deepEqual(await all(memory.path()), [], "a session without a thread");
  await memory.append([{ role: "user", content: "Hello", externalId: "hello" }, { role: "assistant", content: "Good day." }]);
  await memory.append({ role: "assistant", content: "Hi!", parentMessageId: "hello" });
  await memory.append({ user: "How are you?" });
  assert.deepEqual((await all(memory.path({ pageSize: 1 }))).map(textOf), ["How are you?", "Hi!", "Hello"]);
  assert.equal((await all(memory.messages())).length, 4);
  assert.equal(await memory.clear(), 4);
  assert.deepEqual(await all(memory.path()), []);
  await assert.rejects(recollect.session(newSession()).clear(), /THREAD_NOT_FOUND/);
});

test("files that were stored inline can be had inline again", async () => {
  const memory = recollect.session(newSession());
  const value = "data:text/plain;base64,SGVsbG8=";
  const file = create(PartSchema, { content: { case: "file", value: { type: FileType.DOCUMENT, location: { case: "url", value } } } });
  const call = create(PartSchema, { content: { case: "toolCall", value: { toolCallId: "call_1", name: "read", arguments: "{}" } } });
  const piece = create(ToolResultPartSchema, { content: file.content as ToolResultPart["content"] });
  const result = create(PartSchema, { content: { case: "toolResult", value: { toolCallId: "call_1", content: [piece] } } });
  await memory.append([
    { role: "user", content: [file] },
    { role: "assistant", content: [call] },
    { role: "tool", content: [result] },
  ]);
  const messages = await all(memory.messages());
  await memory.inlineFiles(messages);
  const found = [messages[0]!.parts[0]!.content, messages[2]!.parts[0]!.content].map((content) =>
    content.case === "toolResult" ? content.value.content[0]!.content : content,
  );
  assert.deepEqual(found.map((content) => (content.case === "file" ? content.value.location.value : undefined)), [value, value]);
});

test("memories are remembered, found, listed and forgotten", async () => {
  const { memories } = recollect.session(newSession());
  const [added] = await memories.remember("Ada lives in Oslo.");
  assert.ok(added?.created);
  await memories.remember(["Ada likes tea.", { text: "Ada plays chess.", topics: ["games"] }]);
  assert.equal((await memories.remember("Ada lives in Oslo."))[0]?.created, false, "known");
  const found = await memories.search("Where does Ada live?", { topK: 1 });
  assert.equal(found[0]?.memory?.text, "Ada lives in Oslo.");
  const games = await all(memories.list({ filter: { topics: ["games"] } }));
  assert.deepEqual(games.map(({ text }) => text), ["Ada plays chess."]);
  assert.equal((await all(memories.list({ pageSize: 1 }))).length, 3);
  assert.ok(await memories.forget(added.memory!));
  assert.equal(await memories.forget(added.memory!), false);
});

test("threads are listed and deleted", async () => {
  const names = newSession();
  for (const session of ["1", "2", "3"]) {
    await recollect.session({ ...names, session }).append({ user: "Hello" });
  }
  const threads = await all(recollect.threads.list({ app: names.app, user: names.user, pageSize: 2 }));
  assert.deepEqual(threads.map(({ sessionKey }) => sessionKey), ["3", "2", "1"]);
  assert.equal(await recollect.threads.delete(threads[0]!.threadId), 1);
  assert.equal(await recollect.threads.delete({ ...names, session: "2" }), 1);
  const thread = recollect.session({ threadId: threads[2]!.threadId });
  assert.equal((await all(thread.messages())).length, 1);
  assert.equal(await thread.delete(), 1);
  assert.deepEqual(await all(recollect.threads.list({ app: names.app })), []);
});

test("generated services are reachable", async () => {
  const memory = recollect.session(newSession());
  await memory.append({ user: "Hello" });
  const plans = recollect.service(PlanService);
  const logged = await plans.appendAttempt({ thread: memory.ref, attempt: { task: "search", action: "looked" } });
  assert.equal(logged.attempt?.task, "search");
  const data = { id: 1234567890123456789n };
  const { plan } = await plans.putPlan({ thread: memory.ref, plan: { goal: "Find it", data: jsonText(data) } });
  assert.deepEqual(jsonObject(plan!.data), data);
  assert.equal(Role.USER, 1);
});

test("errors are typed and readable", async () => {
  const memory = recollect.session(newSession());
  const invalid = await failure(memory.append({ user: "a\0b" }));
  assert.equal(invalid.code, Code.InvalidArgument);
  assert.equal(invalid.status, "INVALID_ARGUMENT");
  assert.equal(invalid.reason, "INVALID_FIELD");
  assert.equal(invalid.fields[0]?.field, "messages[0].parts[0].text");
  assert.match(invalid.message, /^INVALID_ARGUMENT \(INVALID_FIELD\): .*messages\[0\]/);

  await memory.append({ user: "Hello" });
  const moved = await failure(memory.append({ user: "Hello" }, { expectedHead: "" }));
  assert.equal(moved.reason, "HEAD_MOVED");
  assert.ok(moved.metadata.head);
  const missing = await failure(recollect.threads.delete(randomUUID()));
  assert.equal(missing.status, "NOT_FOUND");
  assert.equal(missing.reason, "THREAD_NOT_FOUND");
});

test("a request id makes a repetition safe", async () => {
  const memory = recollect.session(newSession());
  const requestId = randomUUID();
  const first = await memory.append({ user: "Hello" }, { requestId });
  const second = await memory.append({ user: "Hello" }, { requestId });
  assert.ok(second.replayed);
  assert.equal(second.messages[0]?.messageId, first.messages[0]?.messageId);
  assert.equal((await all(memory.messages())).length, 1);
});

test("over HTTP it is the same, as in a browser", async () => {
  const web = new WebRecollect({
    address: `http://${process.env.RECOLLECT_ADDR}`,
    apiKey: () => process.env.RECOLLECT_API_KEY ?? "",
  });
  const memory = web.session(newSession());
  await memory.append({ user: "My dog is called Pixel.", assistant: "A fine name!" });
  const context = await memory.context("What is my dog called?", { format: "openai" });
  assert.deepEqual(context.messages.map(({ content }) => content), [
    "My dog is called Pixel.",
    "A fine name!",
    "What is my dog called?",
  ]);
  assert.deepEqual((await all(memory.messages({ pageSize: 1 }))).map(({ seq }) => seq), [1n, 2n]);
  const invalid = await failure(memory.append({ user: "a\0b" }));
  assert.equal(invalid.code, Code.InvalidArgument);
  assert.equal(invalid.reason, "INVALID_FIELD");
  assert.equal(invalid.fields[0]?.field, "messages[0].parts[0].text");
  assert.equal((await failure(web.threads.delete(randomUUID()))).reason, "THREAD_NOT_FOUND");
});

const refOf = ({ app, user, session }: { app: string; user: string; session: string }) => ({ appId: app, userId: user, sessionKey: session });

async function failure(call: Promise<unknown>): Promise<RecollectError> {
  const error = await call.then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof RecollectError, String(error));
  return error;
}
