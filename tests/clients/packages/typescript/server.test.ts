// The package against a real server: RECOLLECT_ADDR and RECOLLECT_API_KEY name it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { clone, create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  Code,
  jsonObject,
  jsonText,
  NO_USER,
  Recollect,
  RecollectError,
  render,
  roleOf,
  textOf,
  type MemoryFilter,
  type TransactionListOptions,
  type UserScope,
} from "@recollect/client";
import {
  type Deletion,
  DeletionState,
  ExportCompleteness,
  ExtractionStrategy,
  FileType,
  MemoryOrigin,
  MemoryService,
  PartSchema,
  PlanService,
  RecordSchema,
  Role,
  ThreadService,
  ToolResultPartSchema,
  type ToolResultPart,
  TransactionAction,
  WorkingMemoryService,
} from "@recollect/client/v1";
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

test("a history is had in the format of a provider", async () => {
  const memory = recollect.session(newSession());
  await memory.append({ user: "My dog is called Pixel.", assistant: "A fine name!" });
  const { messages, request } = await memory.history({ format: "openai" });
  assert.deepEqual(messages.map(textOf), ["My dog is called Pixel.", "A fine name!"]);
  assert.deepEqual(request.messages, [
    { role: "user", content: "My dog is called Pixel." },
    { role: "assistant", content: "A fine name!" },
  ]);
  assert.equal((await memory.history({ format: "openai-responses" })).request.input.length, 2);
  assert.equal((await memory.history({ format: "anthropic" })).request.messages.length, 2);
  assert.equal((await memory.history({ format: "gemini" })).request.contents[1].role, "model");
  assert.match((await memory.history({ format: "text" })).request.text, /A fine name!/);
  assert.deepEqual((await memory.history()).rendered, []);
});

test("metadata of a message is replaced, and a message deleted", async () => {
  const memory = recollect.session(newSession());
  await memory.append({ role: "user", content: "Hello", externalId: "m1", metadata: { a: 1, b: 2 } });
  const changed = await memory.updateMessage("m1", { order: 1234567890123456789n });
  assert.deepEqual(changed.metadata, { order: 1234567890123456789n });
  assert.equal(textOf(changed), "Hello");
  const found = await all(memory.messages({ filter: { metadata: { order: 1234567890123456789n } } }));
  assert.deepEqual(found.map(({ messageId }) => messageId), [changed.messageId]);
  assert.deepEqual((await memory.updateMessage(changed.messageId, undefined)).metadata, {});
  assert.equal((await failure(memory.updateMessage("m2", {}))).reason, "MESSAGE_NOT_FOUND");

  assert.equal(await memory.deleteMessage("m1"), true);
  assert.equal(await memory.deleteMessage("m1"), false);
  assert.equal((await failure(recollect.session(newSession()).deleteMessage("m1"))).reason, "THREAD_NOT_FOUND");
});

test("a path is not empty while the head is deleted", async () => {
  const names = newSession();
  const memory = recollect.session(names);
  await memory.append({ user: "Hello", assistant: "Good day." });
  let deleted: boolean | undefined;
  const racing = new Recollect({
    interceptors: [
      (next) => async (call) => {
        // Between the read of the head and the list of messages.
        if (call.method.name === "ListMessages" && deleted === undefined) {
          const [newest] = await all(memory.messages({ newestFirst: true }));
          deleted = await memory.deleteMessage(newest!.messageId);
        }
        return next(call);
      },
    ],
  });
  assert.deepEqual((await all(racing.session(names).path())).map(textOf), ["Hello"]);
  assert.equal(deleted, true);
  racing.close();
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
  const profile = await memories.profile();
  assert.equal(profile.text, "games:\n- Ada plays chess.\n\n- Ada lives in Oslo.\n- Ada likes tea.");
  assert.deepEqual(profile.entries[1]?.memoryIds, [added.memory!.memoryId]);
  assert.equal((await memories.profile({ maxTokens: 1 })).omittedCount, 3n);
  assert.ok(await memories.forget(added.memory!));
  assert.equal(await memories.forget(added.memory!), false);
});

test("files of an agent have versions, and answer the commands of the memory tool", async () => {
  const files = recollect.files(newSession());
  const created = await files.put("/projects/garden.md", "# Garden\n\n- Plant tulips.\n");
  assert.deepEqual([created.version, created.lineCount], [1n, 3]);
  const edited = await files.replace("/projects/garden.md", "tulips", "roses", { etag: created.etag });
  assert.equal(edited.version, 2n);
  await assert.rejects(files.insert("/projects/garden.md", 0, "x", { etag: created.etag }), { reason: "ETAG_CHANGED" });
  await files.insert("/projects/garden.md", 3, "- Order compost.");
  assert.equal(await files.read("/projects/garden.md", { firstLine: 4 }), "- Order compost.\n");
  assert.match(await files.diff("/projects/garden.md", { from: 1, to: 2 }), /\n-- Plant tulips.\n\+- Plant roses.\n/);
  assert.deepEqual((await files.search("compost"))[0]?.lines.map(({ firstLine }) => firstLine), [4]);
  assert.equal(await files.rename("/projects", "/archive"), 1n);
  assert.equal((await files.view("/")).directory?.fileCount, 1n);
  assert.equal(await files.delete("/archive/garden.md"), 1n);
  assert.equal((await files.versions("/archive/garden.md")).length, 3);
  assert.equal((await files.restore("/archive/garden.md", 1)).version, 4n);

  const path = "/memories/archive/garden.md";
  assert.match(await files.handle({ command: "view", path: "/memories" }), /26B\t\/memories\/archive\/garden.md$/);
  assert.match(await files.handle({ command: "view", path, view_range: [3, -1] }), /:\n {5}3\t- Plant tulips\.$/);
  assert.equal(await files.handle({ command: "create", path, file_text: "" }), `Error: File ${path} already exists`);
  const twice = await files.handle({ command: "str_replace", path, old_str: "a", new_str: "" });
  assert.match(twice, /Multiple occurrences of old_str `a` in lines: 1, 3\. Please ensure it is unique$/);
  const beyond = await files.handle({ command: "insert", path, insert_line: 9, insert_text: "x" });
  assert.match(beyond, /Invalid `insert_line` parameter: 9\. .*: \[0, 3\]$/);
  assert.match(await files.handle({ command: "delete", path: "/etc/passwd" }), /^Error: Path must start with \/memories/);
  assert.equal(await files.handle({ command: "delete", path }), `Successfully deleted ${path}`);
  assert.match(await files.handle({ command: "view", path }), /does not exist\. Please provide a valid path\.$/);
});

test("memories are found by time and thread, and over an app", async () => {
  const names = newSession();
  const memory = recollect.session(names);
  await memory.append({ user: "Hello" });
  const { memories } = memory;
  const days = [1, 2, 3].map((month) => new Date(`2026-0${month}-01T00:00:00Z`));
  const texts = ["Ada went to Oslo.", "Ada went to Rome.", "Ada went to Lima."];
  for (const [index, text] of texts.entries()) await memories.remember({ text, eventTime: timestampFromDate(days[index]!) });
  await recollect.memories({ app: names.app, user: "bob" }).remember("Bob went to Oslo.");

  const listed = async (filter: MemoryFilter) => (await all(memories.list({ filter }))).map(({ text }) => text);
  assert.deepEqual(await listed({ eventStartTime: days[1] }), [texts[2], texts[1]]);
  assert.deepEqual(await listed({ eventEndTime: days[1], type: "semantic", origins: ["caller"] }), [texts[0]]);
  const found = await memories.search("went", { filter: { eventStartTime: days[2] } });
  assert.deepEqual(found.map((match) => match.memory?.text), [texts[2]]);
  assert.deepEqual(await listed({ startTime: new Date(Date.now() + 3_600_000) }), []);

  const [oslo] = await all(memories.list({ filter: { eventEndTime: days[1] } }));
  const service = recollect.service(MemoryService);
  await service.supersedeMemory({ memoryId: oslo!.memoryId, replacement: { text: "Ada went to Bergen." } });
  const ended = timestampDate((await service.getMemory({ memoryId: oslo!.memoryId })).memory!.validUntil!);
  assert.ok((await listed({ asOf: new Date(ended.getTime() - 1) })).includes(texts[0]!));
  const later = await listed({ asOf: new Date(Date.now() + 3_600_000) });
  assert.ok(later.includes("Ada went to Bergen.") && !later.includes(texts[0]!));
  assert.ok((await listed({ knownAt: new Date(ended.getTime() - 1) })).includes(texts[0]!));
  assert.ok(!(await listed({ knownAt: new Date(ended.getTime() + 3_600_000) })).includes(texts[0]!));
  assert.ok((await listed({ includeSuperseded: true })).includes(texts[0]!));

  assert.deepEqual(await listed({ thread: memory.ref }), []);
  await recollect.service(WorkingMemoryService).putWorkingMemory({ thread: memory.ref, memories: [{ text: "Ada collects maps." }] });
  assert.deepEqual(await listed({ thread: memory.ref, origins: ["working_memory"] }), ["Ada collects maps."]);

  const users = (await all(memories.list({ allUsers: true, pageSize: 2 }))).map(({ userId }) => userId);
  assert.deepEqual([...new Set(users)].sort(), ["ada", "bob"]);
  const everyone = await memories.search("went to Oslo", { allUsers: true });
  assert.ok(everyone.some((match) => match.memory?.userId === "bob"));
  assert.ok(!(await memories.search("went to Oslo")).some((match) => match.memory?.userId === "bob"));
});

test("memories are extracted on request", async () => {
  const names = newSession();
  const memory = recollect.session(names);
  const session = { appId: names.app, userId: names.user, sessionKey: names.session };
  const policy = { extraction: ExtractionStrategy.DISCRETE };
  await recollect.service(ThreadService).resolveThread({ session, policy });
  assert.ok((await memory.extractMemories()).complete);
  await memory.append({ user: "My name is Ada and I live in Oslo.", assistant: "Good to know." });
  const done = await memory.extractMemories({ maxWaitMs: 20_000 });
  assert.deepEqual([done.complete, done.waitingMessageCount, done.lastError], [true, 0, ""]);
  for await (const { origin } of memory.memories.list()) assert.equal(origin, MemoryOrigin.EXTRACTED);
  const nobody = recollect.session({ app: names.app, user: NO_USER, session: "42" });
  await nobody.append({ user: "Hello" });
  assert.equal((await failure(nobody.extractMemories({ maxWaitMs: 0 }))).reason, "EXTRACTION_OFF");
});

test("users are deleted with a receipt", async () => {
  const user = `ada-${randomUUID()}`;
  const names = newSession(user);
  const apps = [names.app, `${names.app}-2`, `${names.app}-3`];
  for (const app of apps) await recollect.session({ ...names, app }).append({ user: "Hello" });
  const { admin } = recollect;
  const started = await admin.deleteUser(user, { app: names.app });
  assert.deepEqual([started.appId, started.userId], [names.app, user]);
  assert.ok((await finished(started.deletionId)).places.length > 0);
  assert.equal((await all(recollect.threads.list({ app: apps[1], user }))).length, 1);

  const everywhere = await admin.deleteUser(user, { allApps: true });
  assert.deepEqual([everywhere.appId, everywhere.userId], ["", user]);
  const messages = (await finished(everywhere.deletionId)).places.find(({ name }) => name === "messages");
  assert.deepEqual([messages?.deletedCount, messages?.remainingCount], [2n, 0n]);
  for (const app of apps) assert.deepEqual(await all(recollect.threads.list({ app, user })), []);

  const ids = (await all(admin.deletions({ pageSize: 1 }))).map(({ deletionId }) => deletionId);
  assert.ok(ids.indexOf(everywhere.deletionId) < ids.indexOf(started.deletionId));
  assert.equal((await failure(admin.deletion(randomUUID()))).reason, "DELETION_NOT_FOUND");
  await assert.rejects(admin.deleteUser(user, {} as UserScope), /allApps: true/);
});

test("the audit log is filtered", async () => {
  const memory = recollect.session(newSession());
  const { messages } = await memory.append({ user: "Hello", assistant: "Good day." });
  await memory.deleteMessage(messages[0]!.messageId);
  await memory.updateMessage(messages[1]!.messageId, { a: 1 });
  const { admin } = recollect;
  const listed = async (options: TransactionListOptions = {}) =>
    (await all(admin.transactions({ thread: memory.ref, ...options }))).map(({ action }) => action);
  const { UPDATE_MESSAGE, DELETE_MESSAGE, APPEND_MESSAGES, CREATE_THREAD } = TransactionAction;
  assert.deepEqual(await listed({ pageSize: 1 }), [UPDATE_MESSAGE, DELETE_MESSAGE, APPEND_MESSAGES, CREATE_THREAD]);
  assert.deepEqual(await listed({ actions: ["delete_message", "append_messages"] }), [DELETE_MESSAGE, APPEND_MESSAGES]);
  assert.deepEqual(await listed({ actor: "nobody" }), []);
  const hour = 3_600_000;
  assert.equal((await listed({ startTime: new Date(Date.now() - hour), endTime: new Date(Date.now() + hour) })).length, 4);
  assert.deepEqual(await listed({ endTime: new Date(Date.now() - hour) }), []);
});

test("threads are listed and deleted", async () => {
  const names = newSession();
  for (const session of ["1", "2", "3"]) {
    await recollect.session({ ...names, session }).append({ user: "Hello" });
  }
  const threads = await all(recollect.threads.list({ app: names.app, user: names.user, pageSize: 2 }));
  assert.deepEqual(threads.map(({ sessionKey }) => sessionKey), ["3", "2", "1"]);
  assert.equal(await recollect.threads.delete(threads[0]!.threadId), true);
  assert.equal(await recollect.threads.delete(threads[0]!.threadId), false);
  assert.equal(await recollect.threads.delete({ ...names, session: "2" }), true);
  const thread = recollect.session({ threadId: threads[2]!.threadId });
  assert.equal((await all(thread.messages())).length, 1);
  assert.equal(await thread.delete(), true);
  assert.equal(await thread.delete(), false);
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
  const missing = await failure(recollect.session({ threadId: randomUUID() }).clear());
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
  assert.equal((await failure(web.session({ threadId: randomUUID() }).clear())).reason, "THREAD_NOT_FOUND");
  assert.equal(await web.threads.delete(randomUUID()), false);
  const log = await all(web.admin.transactions({ thread: memory.ref }));
  assert.deepEqual(log.map(({ action }) => action), [TransactionAction.APPEND_MESSAGES, TransactionAction.CREATE_THREAD]);
});

const refOf = ({ app, user, session }: { app: string; user: string; session: string }) => ({ appId: app, userId: user, sessionKey: session });

/** The receipt once everything is erased. */
async function finished(deletionId: string): Promise<Deletion> {
  for (const end = Date.now() + 60_000; ; ) {
    const deletion = await recollect.admin.deletion(deletionId);
    if (deletion.state === DeletionState.FINISHED) return deletion;
    assert.ok(Date.now() < end, deletion.step);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function failure(call: Promise<unknown>): Promise<RecollectError> {
  const error = await call.then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof RecollectError, String(error));
  return error;
}
