// What was said, true and known at a time; the kinds of an app's memories; facts of several speakers.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { MARKUP, caller } from "./seed.js";
import { accessible, app as prefix, base, calls, heading, key, launch, open, settled, signIn, visit } from "./support.js";

const app = `${prefix}-filters`;
const call = caller(base, key);
const BERLIN = { timezoneId: "Europe/Berlin" };
const [OSLO, ROME] = ["Ada lives in Oslo.", "Ada lives in Rome."];
let browser;
let page;
let threadId;

before(async () => {
  browser = await launch();
  const home = {
    name: "home", description: `Where a user lives. ${MARKUP}`, examples: [{ said: "I live in Oslo.", text: OSLO, attributes: "{\"city\": \"Oslo\"}" }],
    jsonSchema: "{\"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}",
  };
  const policy = { extraction: "EXTRACTION_STRATEGY_NONE", memoryKinds: [home, { name: "allergy", description: "What a user cannot take." }], neverKeep: [`salary ${MARKUP}`] };
  await call("PolicyService/UpdateAppPolicy", { appPolicy: { appId: app, policy } });
  const user = (text, createTime, userId = "") => ({ role: "ROLE_USER", parts: [{ text }], createTime, userId });
  const stored = await call("MessageService/AppendMessages", {
    thread: { session: { appId: app, userId: "ada", sessionKey: "moves" } },
    messages: [user("I live in Oslo.", "2024-03-01T10:00:00Z"), user("I moved to Rome.", "2025-03-01T10:00:00Z"), user("I am allergic to nuts.", "2025-03-01T11:00:00Z", "bob")],
  });
  threadId = stored.threadId;
  const remember = async (userId, memory) => (await call("MemoryService/AddMemories", { user: { appId: app, userId }, memories: [memory] })).memories[0].memory;
  const source = (index) => [stored.messages[index].messageId];
  const oslo = await remember("ada", { text: OSLO, kind: "home", attributes: "{\"city\": \"Oslo\"}", sourceMessageIds: source(0) });
  await call("MemoryService/SupersedeMemory", { memoryId: oslo.memoryId, replacement: { text: ROME, kind: "home", attributes: "{\"city\": \"Rome\"}", sourceMessageIds: source(1) } });
  await remember("ada", { text: "Ada likes trains." });
  await remember("bob", { text: "Bob is allergic to nuts.", kind: "allergy", sourceMessageIds: source(2) });
});
after(() => browser?.close());
afterEach(async () => {
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

/** Opens a page of the console in Berlin. */
async function start(hash) {
  page = await open(browser, BERLIN);
  await signIn(page);
  await visit(page, hash);
}

/** Presses a button, and returns what was asked and answered by a method. */
async function press(name, method) {
  const received = page.waitForResponse((response) => calls(method)(response.request()));
  await page.getByRole("button", { name, exact: true }).click();
  const response = await received;
  const answer = await response.json();
  await settled(page);
  return [response.request().postDataJSON(), answer];
}

const said = () => page.locator(".quotes .text").allInnerTexts();
const listed = () => page.locator(".memory > a").allInnerTexts();

test("recall without a question lists what was said between two times", async () => {
  await start(`#/recall?app=${app}&user=ada`);
  await page.getByText("There is no query.").waitFor();
  await page.getByLabel("From").fill("2025-02-01T00:00");
  const [request] = await press("Recall", "RecallService/Recall");
  // Midnight in Berlin.
  assert.deepEqual(request.filter, { startTime: "2025-01-31T23:00:00.000Z" });
  assert.deepEqual(request.queryTime, { timeZone: "Europe/Berlin" });
  await page.getByRole("heading", { name: "Said then" }).waitFor();
  assert.deepEqual(await said(), ["I moved to Rome.", "I am allergic to nuts."]);
  await accessible(page, "what was said");

  // The address has the time, whatever the time zone is.
  await page.reload();
  await settled(page);
  assert.equal(await page.getByLabel("From").inputValue(), "2025-02-01T00:00");
  await page.getByLabel("Until").fill("2025-03-01T11:30");
  await press("Recall", "RecallService/Recall");
  assert.deepEqual(await said(), ["I moved to Rome."]);
  await page.getByLabel("Until").fill("2025-02-02T00:00");
  await press("Recall", "RecallService/Recall");
  await page.getByText("Nothing was said then.").waitFor();
});

test("the times that a question names are shown as they were read", async () => {
  const read = (one) => page.evaluate(({ startTime, endTime }) => {
    const [start, end] = [startTime, endTime].map((time) => new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" }).format(new Date(time)));
    return `yesterday: ${start} to ${end}`;
  }, one);
  await start(`#/recall?app=${app}&user=ada`);
  await page.getByLabel("Query").fill("Where did I live yesterday?");
  const [, recalled] = await press("Recall", "RecallService/Recall");
  await page.getByText(await read(recalled.namedTimes[0]), { exact: true }).waitFor();

  await visit(page, `#/context?thread=${threadId}`);
  await page.getByLabel("Input", { exact: true }).fill("Where did I live yesterday?");
  await page.getByLabel("From").fill("2024-03-01T00:00");
  await page.getByLabel("Until").fill("2024-04-01T00:00");
  await page.getByLabel("As of").fill("2024-06-01T00:00");
  const [request, built] = await press("Build", "ContextService/BuildContext");
  assert.equal(request.asOf, "2024-05-31T22:00:00.000Z");
  assert.deepEqual(request.filter, { startTime: "2024-02-29T23:00:00.000Z", endTime: "2024-03-31T22:00:00.000Z" });
  assert.deepEqual(request.queryTime, { timeZone: "Europe/Berlin" });
  await page.getByText(await read(built.namedTimes[0]), { exact: true }).waitFor();
  await accessible(page, "a context with times");
});

test("memories are those that were true at a time, or known at one", async () => {
  await start(`#/memories?app=${app}&user=ada`);
  assert.deepEqual(await listed(), ["Ada likes trains.", ROME]);
  await page.getByLabel("As of").fill("2024-06-01T00:00");
  const [request] = await press("Show", "MemoryService/GetProfile");
  assert.equal(request.asOf, "2024-05-31T22:00:00.000Z");
  assert.deepEqual(await listed(), [OSLO]);
  await page.getByText("superseded since").waitFor();
  await page.getByText(/^Profile: 1 fact in/).click();
  await page.locator(".profile").getByText(OSLO).waitFor();
  await page.getByLabel("Search").fill("Where does Ada live?");
  await press("Show", "MemoryService/SearchMemories");
  assert.deepEqual(await listed(), [OSLO]);

  // Nothing was known before it was stored.
  await page.getByLabel("Search").fill("");
  await page.getByLabel("Known at").fill("2024-06-01T00:00");
  await press("Show", "MemoryService/ListMemories");
  await page.getByText("No memory matches.").waitFor();
});

test("an app lists the kinds of its memories, by which they are selected", async () => {
  await start(`#/app/${app}`);
  const kinds = page.getByRole("region", { name: "Kinds of memories" }).getByRole("row");
  assert.equal(await kinds.count(), 3);
  const home = kinds.filter({ hasText: "Where a user lives." });
  assert.match(await home.innerText(), /onerror[^]*\t1\t/);
  await home.getByText("Schema").click();
  await home.getByText('"required"').waitFor();
  await page.getByText(`salary ${MARKUP}`).waitFor();
  await accessible(page, "kinds");
  await home.getByRole("link", { name: "home" }).click();
  await heading(page, "Memories");
  assert.deepEqual(await listed(), [ROME]);

  const kind = page.getByLabel("Kind");
  await kind.fill("allergy");
  await page.locator("#kinds option[value=allergy]").waitFor({ state: "attached" });
  await press("Show", "MemoryService/ListMemories");
  assert.deepEqual(await listed(), ["Bob is allergic to nuts."]);
  await accessible(page, "memories of a kind");
  await kind.fill("");
  await press("Show", "MemoryService/ListMemories");
  assert.equal((await listed()).length, 3);
});

test("a thread shows the facts of all who speak in it", async () => {
  await start(`#/thread/${threadId}`);
  const panel = page.locator(".panel");
  await page.getByRole("option").filter({ hasText: "I am allergic to nuts." }).click();
  await panel.getByText("Fact of bob: ").waitFor();
  await panel.getByRole("link", { name: "Bob is allergic to nuts." }).waitFor();
  await page.getByRole("option").filter({ hasText: "I moved to Rome." }).click();
  await panel.getByText("Fact: ").waitFor();
  await panel.getByRole("link", { name: ROME }).waitFor();

  // A key of one user may not ask for those of the app.
  page.expected.push("403 MemoryService/ListMemories");
  await page.route("**/recollect.v1.MemoryService/ListMemories", (route) => {
    if (!route.request().postDataJSON().target.app) return route.continue();
    return route.fulfill({ status: 403, json: { code: "permission_denied", message: "the API key is bound to other users" } });
  });
  await page.reload();
  await settled(page);
  await page.getByRole("option").filter({ hasText: "I moved to Rome." }).click();
  await panel.getByRole("link", { name: ROME }).waitFor();
});
