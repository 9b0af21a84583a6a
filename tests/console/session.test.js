// Signing in and out.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { caller } from "./seed.js";
import { app, base, calls, heading, key, launch, open, signIn, visit } from "./support.js";

const session = { appId: `${app}-session`, userId: "ada", sessionKey: "thread:1" };
let browser;
let page;
let threadId;

before(async () => {
  browser = await launch();
  const messages = [{ role: "ROLE_USER", parts: [{ text: "Hello." }] }];
  ({ threadId } = await caller(base, key)("MessageService/AppendMessages", { thread: { session }, messages }));
});
after(() => browser?.close());
beforeEach(async () => {
  page = await open(browser);
});
afterEach(async () => {
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

const main = () => page.locator("main");

/** Enters the key on the page that asks for it, without loading the page again. */
async function enterKey() {
  await page.getByLabel("API key or token").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function signOut() {
  await page.getByRole("button", { name: "Sign out" }).click();
  await heading(page, "Sign in");
}

test("a wrong key is refused, and the right one is kept in the tab alone", async () => {
  await page.goto(`${base}/console/`);
  await page.getByLabel("API key or token").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").filter({ hasText: "The server refused the key" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await enterKey();
  await heading(page, "Overview");
  await page.getByText("acme", { exact: true }).waitFor();
  const stored = await page.evaluate(() => [Object.values(sessionStorage), Object.values(localStorage), document.cookie, location.href]);
  assert.deepEqual(stored[0], [key]);
  assert.ok(!JSON.stringify(stored.slice(1)).includes(key));
  await page.reload();
  await heading(page, "Overview");
  await signOut();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test("signing out ends a page that is being loaded", async () => {
  await signIn(page);
  await visit(page, "#/recall");
  let answer;
  const held = new Promise((done) => (answer = done));
  await page.route("**/recollect.v1.ThreadService/ListApps", async (route) => {
    const response = await route.fetch();
    await held;
    await route.fulfill({ response }).catch(() => {});
  });
  const asked = page.waitForRequest(calls("ThreadService/ListApps"));
  await page.getByRole("link", { name: "Overview" }).click();
  await asked;
  const ended = page.waitForEvent("requestfailed", calls("ThreadService/ListApps"));
  await signOut();
  await ended;
  answer();
  await page.unroute("**/recollect.v1.ThreadService/ListApps", { behavior: "wait" });
  await heading(page, "Sign in");
  assert.ok(!(await main().innerText()).includes(session.appId));
  assert.equal(await page.getByRole("navigation", { name: "Pages" }).count(), 0);
});

test("signing out ends the stream of a thread and the readings of queues", async () => {
  await page.clock.install();
  await signIn(page);
  await visit(page, `#/thread/${threadId}`);
  await page.getByText("live", { exact: true }).waitFor();
  const ended = page.waitForEvent("requestfailed", calls("ThreadService/WatchThread"));
  await signOut();
  await ended;

  await signIn(page);
  await visit(page, "#/operations");
  const readings = () => page.locator(".sparkline .line.waiting").first().evaluate((line) => line.getAttribute("d").match(/[ML]/g).length);
  await page.clock.runFor(60_000);
  await page.waitForFunction(() => document.querySelector(".sparkline .line.waiting").getAttribute("d").match(/[ML]/g).length > 10);
  await signOut();
  let asked = 0;
  page.on("request", (request) => (asked += calls("AdminService/GetIndexStatus")(request) ? 1 : 0));
  await page.clock.runFor(60_000);
  // Requests are reported in their order.
  const sentinel = page.waitForRequest("**/icon.svg?sentinel");
  await page.evaluate(() => fetch("icon.svg?sentinel").then(() => {}));
  await sentinel;
  assert.equal(asked, 0);

  // The lines of the next key begin anew.
  await enterKey();
  await heading(page, "Operations");
  assert.ok(await readings() < 10);
});
