// An app's policy, what is found among the threads of a user and of an app, and questions at a time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { RecollectError, textOf, type MemoryTimes, type Policy, type RecallResult, type ThreadOwner } from "@recollect/client";
import { ExtractionStrategy, MemoryMode, MemoryService, SensitiveKind } from "@recollect/client/v1";
import { newApp, newSession, recollect } from "./support.js";

const textsOf = ({ messages }: RecallResult) => messages.map(({ message }) => textOf(message));

async function failure(call: Promise<unknown>): Promise<RecollectError> {
  const error = await call.then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof RecollectError, String(error));
  return error;
}

test("fields of an app's policy are set and cleared", async () => {
  const app = recollect.app(newApp());
  assert.equal((await app.policy()).etag, "");
  const first = await app.setPolicy({ mode: "window", topK: 9, neverKeep: ["salary"], ttl: { seconds: 86_400n } });
  assert.deepEqual([first.policy?.mode, first.policy?.topK, first.policy?.neverKeep], [MemoryMode.WINDOW, 9, ["salary"]]);
  const kinds = [{
    name: "allergy",
    description: "A substance that the patient cannot take.",
    jsonSchema: { properties: { substance: { type: "string" } } },
    examples: [{ said: "Nuts give me a rash.", text: "The patient is allergic to nuts.", attributes: { substance: "nuts" } }],
  }];
  const changes: Policy = { topK: null, mode: undefined, extraction: "discrete", redactedKinds: ["email"], memoryKinds: kinds };
  const { policy, etag } = await app.setPolicy(changes, { etag: first.etag });
  assert.deepEqual([policy?.mode, policy?.topK, policy?.ttl?.seconds], [MemoryMode.WINDOW, undefined, 86_400n]);
  assert.deepEqual([policy?.extraction, policy?.redactedKinds], [ExtractionStrategy.DISCRETE, [SensitiveKind.EMAIL]]);
  assert.deepEqual(JSON.parse(policy!.memoryKinds[0]!.examples[0]!.attributes), { substance: "nuts" });
  assert.deepEqual((await app.policy()).etag, etag);
  assert.equal((await failure(app.setPolicy({ topK: 1 }, { etag: first.etag }))).reason, "ETAG_CHANGED");

  const { memories } = newSession({ app: app.id });
  const [stored] = await memories.remember({ text: "Ada cannot have nuts.", kind: "allergy", attributes: { substance: "nuts" } });
  assert.deepEqual(stored?.memory?.attributes, { substance: "nuts" });
  assert.equal(await app.deletePolicy(), true);
  assert.equal(await app.deletePolicy(), false);
});

test("a policy with an unknown field or name is refused", async () => {
  const app = recollect.app(newApp());
  const field = await failure(app.setPolicy({ topk: 1 } as Policy));
  assert.deepEqual([field.fields[0]?.field, /has mode, .*topK/.test(field.message)], ["topk", true]);
  const name = await failure(app.setPolicy({ mode: "windows" } as unknown as Policy));
  assert.match(name.message, /mode: "windows" is none of: none, window, hybrid/);
  assert.match((await failure(app.setPolicy({ fileTypes: ["movie"] } as unknown as Policy))).message, /"movie" is none of: image/);
});

test("messages of all threads of a user and of an app are found", async () => {
  const app = newApp();
  await newSession({ app, session: "1" }).append({ user: "The dog is called Pixel." });
  await newSession({ app, session: "2" }).append({ user: "The dog likes the lake." });
  await newSession({ app, user: "bob" }).append({ user: "The dog is called Rex." });
  const recalled = async (owner: ThreadOwner) => textsOf(await recollect.threads.recall("dog", owner)).sort();
  const ofAda = ["The dog is called Pixel.", "The dog likes the lake."];
  assert.deepEqual(await recalled({ app, user: "ada" }), ofAda);
  assert.deepEqual(await recalled({ app, allUsers: true }), [ofAda[0], "The dog is called Rex.", ofAda[1]]);
  const { matches } = await recollect.threads.search("What is the dog called?", { app, user: "bob", topK: 1 });
  assert.equal(textOf(matches[0]?.message), "The dog is called Rex.");
  // The user may come from a look-up that failed.
  assert.equal((await failure(recollect.threads.recall("dog", { app } as unknown as ThreadOwner))).fields[0]?.field, "user");
});

test("a question is asked at a time and place", async () => {
  const app = newApp();
  const memory = newSession({ app });
  const createTime = new Date("2024-03-01T20:00:00Z");
  await memory.append({ role: "user", content: "I planted tulips in the garden.", createTime });
  const question = "What did I plant yesterday?";
  const asked = { referenceTime: new Date("2024-03-02T20:00:00Z"), timeZone: "Asia/Tokyo" };
  // In Tokyo it is March 3, and yesterday began on March 1 at 15:00 UTC.
  const start = new Date("2024-03-01T15:00:00Z");
  const found = [
    await memory.recall(question, asked),
    await memory.search(question, asked),
    await memory.context(question, asked),
    await recollect.threads.recall(question, { app, user: "ada", ...asked }),
    await recollect.threads.search(question, { app, allUsers: true, ...asked }),
  ];
  for (const { namedTimes } of found) {
    assert.deepEqual(namedTimes.map(({ text, startTime }) => [text, timestampDate(startTime!)]), [["yesterday", start]]);
  }
  const { namedTimes } = await memory.recall("What did I plant?");
  assert.deepEqual(namedTimes, []);
  const listed = await memory.recall("", { filter: { startTime: createTime }, request: { policy: { recentWindow: 0 } } });
  assert.deepEqual(textsOf(listed), ["I planted tulips in the garden."]);
});

test("a profile and a context are of a time", async () => {
  const memory = newSession({ app: newApp() });
  const { memories } = memory;
  const createTime = new Date("2024-03-01T20:00:00Z");
  const said = await memory.append({ role: "user", content: "I moved here.", createTime });
  const [oslo] = await memories.remember({ text: "Ada lives in Oslo.", sourceMessageIds: [said.messages[0]!.messageId] });
  const { memoryId } = oslo!.memory!;
  await recollect.service(MemoryService).supersedeMemory({ memoryId, replacement: { text: "Ada lives in Bergen." } });
  const asOf = new Date("2024-04-01T00:00:00Z");
  assert.equal((await memories.profile()).text, "- Ada lives in Bergen.");
  assert.equal((await memories.profile({ asOf })).text, "- Ada lives in Oslo.");
  assert.equal((await memories.profile({ asOf, knownAt: asOf })).text, "", "it was stored later");
  const context = async (times: MemoryTimes) => (await memory.context("Where does Ada live?", { format: "text", ...times })).text;
  assert.match(await context({}), /Bergen/);
  assert.match(await context({ asOf }), /Oslo/);
  assert.doesNotMatch(await context({ asOf, knownAt: asOf }), /Oslo|Bergen/);
});
