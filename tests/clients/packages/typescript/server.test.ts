// The package against a real server: RECOLLECT_ADDR and RECOLLECT_API_KEY name it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code, Recollect, RecollectError, roleOf, textOf } from "@recollect/client";
import { FileType, PartSchema, PlanService, Role, ToolResultPartSchema, type ToolResultPart } from "@recollect/client/v1";
import { Recollect as WebRecollect } from "@recollect/client/web";

const recollect = new Recollect();
after(() => recollect.close());

const newSession = (user = "ada") => ({ app: `typescript-${randomUUID()}`, user, session: "thread:42" });

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

  const recalled = await memory.recall("Where is the spare key?", { maxTokens: 1_000 });
  assert.ok(recalled.messages.some(({ message }) => textOf(message).includes("flower pot")));
  const found = await memory.search("spare key", { topK: 1 });
  assert.match(textOf(found.matches[0]?.message), /flower pot/);
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
  for (const session of ["thread:1", "thread:2", "thread:3"]) {
    await recollect.session({ ...names, session }).append({ user: "Hello" });
  }
  const threads = await all(recollect.threads.list({ app: names.app, user: names.user, pageSize: 2 }));
  assert.deepEqual(threads.map(({ sessionKey }) => sessionKey), ["thread:3", "thread:2", "thread:1"]);
  assert.equal(await recollect.threads.delete(threads[0]!.threadId), 1);
  assert.equal(await recollect.threads.delete({ ...names, session: "thread:2" }), 1);
  const thread = recollect.session({ threadId: threads[2]!.threadId });
  assert.equal((await all(thread.messages())).length, 1);
  assert.equal(await thread.delete(), 1);
  assert.deepEqual(await all(recollect.threads.list({ app: names.app })), []);
});

test("generated services are reachable", async () => {
  const names = newSession();
  await recollect.session(names).append({ user: "Hello" });
  const session = { appId: names.app, userId: names.user, sessionKey: names.session };
  const plans = recollect.service(PlanService);
  const thread = { case: "session", value: session } as const;
  const appended = await plans.appendEvents({ thread, events: [{ type: "note", json: "{}" }] });
  assert.equal(appended.firstNumber, 1n);
  const logged = await plans.appendIteration({ thread, iteration: { task: "search", action: "looked" } });
  assert.equal(logged.iteration?.task, "search");
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

async function failure(call: Promise<unknown>): Promise<RecollectError> {
  const error = await call.then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof RecollectError, String(error));
  return error;
}
