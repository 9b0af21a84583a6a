// The console's pages, driven by real clicks and keys.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { MARKUP, caller, seed, until } from "./seed.js";
import { accessible, app, base, calls, heading, key, launch, open, settled, signIn, visit } from "./support.js";

const call = caller(base, key);
let browser;
let page;
let ids;

before(async () => {
  [browser, ids] = await Promise.all([launch(), seed(call, app)]);
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
const panel = () => page.locator(".panel");
const selected = () => page.getByRole("listbox").getByRole("option", { selected: true });

/** Every page of the console by its address. */
const addresses = () => ({
  overview: "#/",
  app: `#/app/${ids.app}`,
  user: `#/app/${ids.app}/user/ada`,
  thread: `#/thread/${ids.threadId}`,
  "thread of an agent": `#/thread/${ids.agent}`,
  recall: `#/recall?app=${ids.app}&user=ada&q=Pixel`,
  context: `#/context?thread=${ids.threadId}&input=Pixel`,
  memories: `#/memories?app=${ids.app}&user=ada&m=${ids.memoryId}`,
  operations: `#/operations?deletion=${ids.deletionId}`,
  error: "#/thread/00000000-0000-4000-8000-000000000000",
});

test("apps lead to users, threads and messages", async () => {
  await signIn(page);
  await page.getByText("items, up to date").waitFor();
  await page.getByRole("region", { name: "Apps" }).getByRole("link", { name: ids.app, exact: true }).click();
  await heading(page, ids.app);
  const users = page.getByRole("region", { name: "Users" });
  await users.getByRole("row").filter({ hasText: "ada" }).getByText("27").waitFor();
  await users.getByRole("link", { name: "ada", exact: true }).click();
  await heading(page, "ada");
  await page.getByLabel("Order").selectOption("oldest first");
  await settled(page);
  const threads = page.getByRole("region", { name: "Threads" }).getByRole("row");
  assert.match(await threads.nth(1).innerText(), /Moving to Lisbon/);
  await threads.getByRole("link", { name: "Order 1138" }).click();
  await heading(page, "Order 1138");
  await page.getByRole("option").filter({ hasText: "find_order(" }).click();
  await panel().getByText("calls find_order").waitFor();
  await page.getByRole("option").filter({ hasText: "I prefer messages to calls" }).click();
  await panel().getByText("Metadata").click();
  await panel().getByText('"satisfied": true').waitFor();
  await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "ada" }).click();
  await heading(page, "ada");
});

test("a thread shows its branches, its head and its ledger", async () => {
  await signIn(page);
  await visit(page, `#/app/${ids.app}/user/ada`);
  await page.getByRole("link", { name: "Moving to Lisbon" }).click();
  await heading(page, "Moving to Lisbon");
  await page.getByText("22 messages").waitFor();
  await page.getByText("2 branches").waitFor();
  const drawn = await page.locator("svg.tree").evaluate((tree) => ({
    messages: tree.querySelectorAll(".message").length, off: tree.querySelectorAll(".message.off").length,
    heads: tree.querySelectorAll("circle.head").length, edges: tree.querySelectorAll(".edge").length,
    lanes: new Set([...tree.querySelectorAll("circle.message")].map((one) => one.getAttribute("cx"))).size,
  }));
  assert.deepEqual(drawn, { messages: 22, off: 3, heads: 1, edges: 21, lanes: 2 });
  assert.match(await selected().innerText(), /Remind me: what about Pixel/);

  // Which messages a summary covers, and the text that stands for them.
  const { ranges, texts } = await call("LedgerService/ListLedger", { thread: { threadId: ids.threadId }, kind: "LEDGER_KIND_SUMMARY", includeTexts: true });
  const covered = ranges.filter((range) => range.state === "LEDGER_STATE_SUMMARIZED").reduce((sum, range) => sum + Number(range.messageCount), 0);
  assert.equal(await page.locator(".lane.summarized").count(), covered);
  await page.getByRole("group", { name: /^Summary: / }).getByRole("button", { name: /summarized/ }).first().click();
  await panel().getByText(texts[0].text.slice(0, 40)).waitFor();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("No gap, no overlap.").waitFor();

  // A message with the facts that it supports.
  await page.getByRole("option").filter({ hasText: "I am allergic to penicillin" }).click();
  await panel().getByRole("link", { name: "Ada is allergic to penicillin." }).waitFor();
  assert.match(page.url(), /[?&]m=/);

  // The other branch has its own path.
  const select = page.getByLabel("Path to");
  const other = await select.locator("option").filter({ hasText: "branch 2" }).innerText();
  await select.selectOption(other);
  await settled(page);
  assert.equal(await page.locator(".message.off").count(), 8);
  assert.match(page.url(), new RegExp(ids.side));
});

test("a head far from the newest messages is found", async () => {
  const say = (text) => ({ role: "ROLE_USER", parts: [{ text }] });
  const append = (first, target) => call("MessageService/AppendMessages",
    { ...target, messages: Array.from({ length: 50 }, (_, index) => say(`Line ${first + index}.`)) });
  const { threadId, messages } = await append(1, { thread: { session: { appId: ids.app, userId: "eve", sessionKey: "many" } } });
  for (let first = 51; first < 301; first += 50) await append(first, { thread: { threadId } });
  await call("ThreadService/SetHead", { thread: { threadId }, headMessageId: messages[4].messageId });
  await signIn(page);
  // Also where a message is selected that is newer than the head.
  const { messages: newest } = await call("MessageService/ListMessages", { target: { thread: { threadId } }, orderBy: "seq desc", pageSize: 1 });
  for (const query of ["", `?m=${newest[0].messageId}`]) {
    await visit(page, `#/thread/${threadId}${query}`);
    assert.equal(await page.locator("svg.tree circle.head").count(), 1);
    assert.equal(await page.locator("svg.tree .message.on").count(), 5);
    assert.equal(await page.locator("svg.tree .message.off").count(), 295);
    assert.match(await selected().innerText(), query ? /Line 300\./ : /Line 5\./);
    assert.equal(await main().locator(".note.warn").count(), 0);
  }

  // Where it is farther away than the page reads, the page says so until it is loaded.
  let pages = 0;
  await page.route("**/recollect.v1.MessageService/ListMessages", (route) => {
    pages += 1;
    const last = { messages: [{ ...newest[0], ...messages[4], parts: say("Line 5.").parts }], nextPageToken: "" };
    const other = { messages: [{ ...newest[0], messageId: `other-${pages}`, seq: String(400 - pages), parentMessageId: "" }], nextPageToken: "more" };
    return route.fulfill({ json: pages > 10 ? last : other });
  });
  await visit(page, `#/thread/${threadId}`);
  await page.getByText("The head is not among the newest 10 messages").waitFor();
  assert.equal(pages, 10);
  assert.equal(await page.locator("svg.tree circle.head").count(), 0);
  await page.getByRole("button", { name: "Load older messages" }).click();
  await page.locator("svg.tree circle.head").waitFor();
  assert.match(await selected().innerText(), /Line 5\./);
  assert.equal(await main().locator(".note.warn").count(), 0);
});

test("a thread says what it does not list", async () => {
  for (const [method, more] of [
    ["LedgerService/ListLedger", (answer) => ({ ranges: Array(1001).fill(answer.ranges[0]) })],
    ["ThreadService/ListBranches", () => ({ nextPageToken: "more" })],
    ["MemoryService/ListMemories", () => ({ nextPageToken: "more" })],
  ]) {
    await page.route(`**/recollect.v1.${method}`, async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      await route.fulfill({ response, json: { ...answer, ...more(answer) } });
    });
  }
  await signIn(page);
  await visit(page, `#/thread/${ids.threadId}`);
  await page.getByText("more than 2 branches").waitFor();
  await page.getByText("The thread has more branches than").waitFor();
  await page.getByText("The thread has more facts than").waitFor();
  await page.getByText("Older ranges are not shown").first().waitFor();
});

test("a thread shows that it was changed while it is open", async () => {
  const { threadId } = await call("MessageService/AppendMessages", { thread: { session: { appId: ids.app, userId: "eve", sessionKey: "changes" } }, messages: [{ role: "ROLE_USER", parts: [{ text: "First." }] }] });
  await signIn(page);
  await visit(page, `#/thread/${threadId}`);
  await page.getByText("live", { exact: true }).waitFor();
  await call("MessageService/AppendMessages", { thread: { threadId }, messages: [{ role: "ROLE_ASSISTANT", parts: [{ text: "Second." }] }] });
  await page.getByRole("button", { name: /^Refresh \(\d change/ }).click();
  await page.getByRole("option").filter({ hasText: "Second." }).waitFor();
  await page.getByText("2 messages").waitFor();

  // A hidden tab has no stream; shown again, it tells what it missed.
  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await page.getByText("live", { exact: true }).waitFor();
  const ended = page.waitForEvent("requestfailed", calls("ThreadService/WatchThread"));
  await hide(true);
  await ended;
  await page.getByText("live", { exact: true }).waitFor({ state: "detached" });
  await call("MessageService/AppendMessages", { thread: { threadId }, messages: [{ role: "ROLE_USER", parts: [{ text: "Third." }] }] });
  assert.equal(await page.getByRole("button", { name: "Refresh", exact: true }).count(), 1);
  await hide(false);
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByRole("button", { name: /^Refresh \(\d change/ }).click();
  await page.getByRole("option").filter({ hasText: "Third." }).waitFor();
});

test("observations are drawn over the messages that they cover", async () => {
  await signIn(page);
  await visit(page, `#/thread/${ids.agent}`);
  await heading(page, "Nightly report");
  const { texts } = await call("LedgerService/ListLedger", { thread: { threadId: ids.agent }, kind: "LEDGER_KIND_OBSERVATION", includeTexts: true });
  await page.getByRole("group", { name: /^Observations: / }).getByRole("button", { name: /observed/ }).first().click();
  await panel().getByText(texts[0].text.split("\n")[0].slice(0, 30)).first().waitFor();
  assert.ok(await page.locator(".row.marked .lane.observed").count() > 0);
});

test("recall shows the scores of its matches, their neighbors and what was left out", async () => {
  await signIn(page);
  await page.getByRole("link", { name: "Recall" }).click();
  await heading(page, "Recall");
  await page.getByText("Choose where to search.").waitFor();
  await page.getByLabel("App").fill(ids.app);
  await page.getByLabel("User").fill("ada");
  await page.getByLabel("Query").fill("What hates cars?");
  // What the page received: weights of words change while other messages are indexed.
  const received = page.waitForResponse((response) => response.url().endsWith("RecallService/Recall"));
  await page.getByRole("button", { name: "Recall" }).click();
  const answer = await (await received).json();
  const hits = page.locator(".hit");
  await hits.first().waitFor();
  await settled(page);
  const best = answer.messages.filter((one) => one.rank).sort((a, b) => a.rank - b.rank);
  assert.equal(await hits.count(), best.length);
  assert.equal(await page.locator(".places .match").count(), best.length);
  assert.equal(await page.locator(".places path").count(), answer.messages.length);
  const values = await hits.first().locator(".bar-value").allInnerTexts();
  assert.deepEqual(values, [best[0].score.toFixed(2), best[0].denseScore.toFixed(2), best[0].lexicalScore.toFixed(1)]);
  const width = await hits.first().locator(".bar-track.score .filled").getAttribute("width");
  assert.ok(Math.abs(Number(width) - 100 * best[0].score) < 0.01, `${width} for ${best[0].score}`);
  assert.ok((await page.locator("mark").allInnerTexts()).includes("cars"));
  await hits.first().getByText(/\d neighbors?/).first().click();
  await hits.first().locator(".quotes li").first().waitFor();
  await page.getByRole("heading", { name: "Left out" }).waitFor();
  await page.getByText("better matches were found").first().waitFor();

  await page.getByText("Options").click();
  await page.getByLabel("Match by").selectOption("words only");
  await page.getByLabel("Matches", { exact: true }).fill("1");
  await page.getByRole("button", { name: "Recall" }).click();
  await page.getByText("by words").waitFor();
  await settled(page);
  assert.equal(await hits.count(), 1);
  await hits.first().getByText("meaning").waitFor();
  assert.match(await hits.first().locator(".bars").innerText(), /meaning\s+not found/);
  await hits.first().getByRole("link", { name: /^message / }).click();
  await heading(page, "Moving to Lisbon");
  await page.goBack();
  await heading(page, "Recall");
  assert.equal(await page.getByLabel("Matches", { exact: true }).inputValue(), "1");
});

test("a context is drawn as blocks against its budget", async () => {
  await signIn(page);
  await visit(page, `#/thread/${ids.threadId}`);
  await page.getByRole("main").getByRole("link", { name: "Context", exact: true }).click();
  await heading(page, "Context");
  await page.getByLabel("Input").fill("What about Pixel?");
  await page.getByLabel("System prompt").fill("You help with moves.");
  const received = page.waitForResponse((response) => response.url().endsWith("ContextService/BuildContext"));
  await page.getByRole("button", { name: "Build" }).click();
  const built = await (await received).json();
  await page.getByRole("button", { name: /^System prompt/ }).first().waitFor();
  await settled(page);
  assert.deepEqual([built.blocks[0].kind, built.blocks.at(-1).kind], ["CONTEXT_BLOCK_KIND_SYSTEM", "CONTEXT_BLOCK_KIND_INPUT"]);
  const entries = await page.locator(".entry .number").allInnerTexts();
  assert.deepEqual(entries.map((text) => Number(text.replace(",", ""))), built.blocks.map((block) => block.tokenCount));
  const strip = await page.locator(".strip.tall").evaluate((one) => [...one.children].map((part) => Number(part.style.flexGrow)));
  assert.equal(strip.reduce((sum, part) => sum + part), built.maxTokens);
  await page.locator(".entry").filter({ hasText: "Recent messages" }).click();
  await panel().getByText("What have I forgotten?").waitFor();
  await page.locator(".segment").first().click();
  await panel().getByText("You help with moves.").waitFor();

  // A smaller budget is drawn at once, and says what it leaves out.
  await page.getByLabel("Token budget", { exact: true }).fill("300");
  await page.getByRole("heading", { name: /of 300 tokens/ }).waitFor();
  await page.getByText(/did not fit/).first().waitFor();
  assert.match(page.url(), /tokens=300/);
  const slider = page.getByLabel("Token budget, slider");
  await slider.focus();
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("heading", { name: /of 2\d\d tokens/ }).waitFor();
  await page.getByLabel("Mode", { exact: true }).selectOption("window");
  await page.getByText("window memory").waitFor();
  await page.getByLabel("Format").selectOption("OpenAI chat");
  await page.getByText("As OpenAI chat").click();
  await page.getByText('"content": "You help with moves."').waitFor();
});

test("memories show their sources and history, and are forgotten after a confirmation", async () => {
  await signIn(page);
  await visit(page, `#/memories?app=${ids.app}&user=ada`);
  await page.getByText(/^Profile: \d+ facts in \d+ tokens/).click();
  await page.locator(".profile").getByText("Ada lives in Lisbon, in Campo de Ourique.").waitFor();
  await page.getByText(/^Profile: /).click();
  const owner = { appId: ids.app, userId: "ada" };
  await call("MemoryFileService/PutMemoryFile", { user: owner, path: "/trips/lisbon.md", text: `# Lisbon\n\n- ${MARKUP}\n` });
  await call("MemoryFileService/ReplaceInMemoryFile", { user: owner, path: "/trips/lisbon.md", oldText: "# Lisbon", newText: "# Lisbon in May" });
  await page.reload();
  await page.getByText("Files of agents: 1").click();
  await page.getByText("/trips/lisbon.md").click();
  await page.locator(".files pre").getByText("# Lisbon in May").waitFor();
  assert.equal(await page.locator(".files ol li").count(), 2);
  await page.getByText("Changes of version 2").click();
  await page.locator(".files li pre").getByText("-# Lisbon\n+# Lisbon in May").waitFor();
  await page.getByText("Files of agents: 1").click();
  await page.getByRole("link", { name: "Ada lives in Lisbon, in Campo de Ourique." }).click();
  await panel().getByText("We found a flat in Campo de Ourique").waitFor();
  await panel().getByRole("link", { name: "Ada lives in Hamburg." }).waitFor();
  assert.equal(await panel().locator("svg.validity rect").count(), 2);
  await panel().getByRole("link", { name: "message 9" }).click();
  await heading(page, "Moving to Lisbon");
  assert.match(await selected().innerText(), /We found a flat/);

  const { memories } = await call("MemoryService/AddMemories", { user: { appId: ids.app, userId: "ada" }, memories: [{ text: "Ada wants a balcony." }] });
  const { memoryId } = memories[0].memory;
  await page.getByRole("main").getByRole("link", { name: "Memories" }).click();
  await heading(page, "Memories");
  await page.getByLabel("Search").fill("balcony");
  await page.getByRole("button", { name: "Show" }).click();
  await settled(page);
  await page.locator(".memory").first().getByRole("link", { name: "Ada wants a balcony." }).click();
  const exists = async () => (await call("MemoryService/ListMemories", { target: { user: { appId: ids.app, userId: "ada" } } })).memories.some((one) => one.memoryId === memoryId);
  await page.getByRole("button", { name: "Forget…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(await exists());
  await page.getByRole("button", { name: "Forget…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Forget" }).click();
  await panel().waitFor({ state: "detached" });
  assert.ok(!(await exists()));
});

test("operations show queues, receipts and the audit log", async () => {
  await signIn(page);
  await page.getByRole("link", { name: "Operations" }).click();
  await heading(page, "Operations");
  for (const name of ["Changes to index", "Threads to distill", "Node turns to flush", "Deletions", "Could not be indexed"]) {
    await page.locator(".queue").filter({ hasText: name }).locator("svg.sparkline").waitFor();
  }
  // A second line for the lag, where there is one.
  assert.equal(await page.locator(".sparkline .line.waiting").count(), 5);
  assert.equal(await page.locator(".sparkline .line.lag").count(), 4);
  // It goes on reading.
  await page.waitForFunction(() => /L\d/.test(document.querySelector(".sparkline .line")?.getAttribute("d") ?? ""));
  await page.getByText("No model was called in the last 30 days.").waitFor();
  await page.getByRole("region", { name: "Models" }).getByText("extractive").first().waitFor();
  await page.getByLabel("Deletion id").fill(ids.deletionId);
  await page.getByRole("button", { name: "Show the receipt" }).click();
  const places = page.getByRole("region", { name: "Places" });
  await places.getByRole("row").filter({ hasText: "messages" }).first().waitFor();
  await page.getByText(`${ids.app} › bob`).waitFor();
  // Page by page, back to the deletion.
  const log = page.getByRole("region", { name: "Audit log" });
  for (let entries = 20; entries === 20 || !(await log.innerText()).includes("delete user"); entries += 20) {
    assert.equal(await log.getByRole("row").count(), entries + 1);
    await page.getByRole("button", { name: "Load more" }).click();
    await page.waitForFunction((count) => document.querySelectorAll("[aria-label='Audit log'] tr").length > count, entries + 1);
  }
});

test("subscriptions show what waits, what was lost and what failed", async () => {
  await signIn(page);
  await visit(page, "#/operations");
  await page.getByText("There are no subscriptions").waitFor();
  const [waiting, failing] = [`${ids.app}-waiting`, `${ids.app}-failing`];
  await call("SubscriptionService/CreateSubscription", { name: waiting, appId: ids.app, userId: "eve" });
  try {
    await call("MessageService/AppendMessages", { thread: { session: { appId: ids.app, userId: "eve", sessionKey: "events" } }, messages: [{ role: "ROLE_USER", parts: [{ text: "Tell others." }] }] });
    await until("the event", async () => Number((await call("SubscriptionService/GetSubscription", { name: waiting })).subscription.waitingCount ?? 0) > 0);
    // One that no test can have: its receiver fails, and more events wait than the server counts.
    await page.route("**/recollect.v1.SubscriptionService/ListSubscriptions", async (route) => {
      const response = await route.fetch();
      const { subscriptions } = await response.json();
      subscriptions.push({ name: failing, url: "https://example.com/events", enabled: true, waitingCount: "10000", lag: "7200s", droppedCount: "3", failedAttempts: 2, lastError: MARKUP });
      subscriptions.push({ name: `${failing}-gone`, url: "https://example.com/gone" });
      await route.fulfill({ response, json: { subscriptions } });
    });
    await page.reload();
    await settled(page);
    const rows = page.getByRole("region", { name: "Subscriptions" }).getByRole("row");
    const cells = async (name) => (await rows.filter({ has: page.getByText(name, { exact: true }) }).getByRole("cell").allInnerTexts());
    const [name, of, sentTo, state, count] = await cells(waiting);
    assert.deepEqual([name, of, sentTo, state], [waiting, `app ${ids.app}, user eve`, "streams", "in use"]);
    assert.match(count, /^[1-9]\d*$/);
    assert.deepEqual(await cells(failing), [failing, "the tenant", "https://example.com/events", "tried again", "10,000 or more", "2 h", "3", MARKUP]);
    assert.deepEqual(await cells(`${failing}-gone`), [`${failing}-gone`, "the tenant", "https://example.com/gone", "disabled", "0", "none", "0", ""]);
  } finally {
    await call("SubscriptionService/DeleteSubscription", { name: waiting });
  }
});

test("the cost of models is drawn by day, against the daily budget", async () => {
  const day = (back) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10);
  const usage = [0, 1, 3].map((back) => ({ day: day(back), kind: "MODEL_KIND_LANGUAGE", model: "small", callCount: "7", failedCount: "1", inputTokens: String(9000 - back * 1000), outputTokens: "1000" }));
  await page.route("**/recollect.v1.AdminService/GetModelUsage", (route) => route.fulfill({ json: { usage, dailyTokenBudget: "12000", tokensToday: "10000" } }));
  await signIn(page);
  await visit(page, "#/operations");
  await page.getByText("10,000 tokens today").waitFor();
  const chart = page.getByRole("img", { name: /^Tokens of language models a day/ });
  assert.equal(await chart.locator("rect.series-0").count(), 3);
  const heights = await chart.locator("rect.series-0").evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute("height"))));
  assert.ok(Math.abs(heights[2] / heights[0] - 9 / 6) < 0.01, String(heights));
  assert.equal(await chart.locator("line.limit").count(), 1);
  await page.getByText("By day and model").click();
  await page.getByRole("region", { name: "Model usage" }).getByRole("row").filter({ hasText: day(3) }).getByText("6,000").waitFor();
});

test("the keyboard is enough", async () => {
  const press = (name) => page.keyboard.press(name);
  const focused = () => page.evaluate(() => `${document.activeElement.tagName} ${document.activeElement.getAttribute("aria-label") ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent}`.slice(0, 80));
  /** Tabs until something has the focus, which must be visible. */
  const tabTo = async (wanted) => {
    for (let tabs = 0; tabs < 80; tabs += 1) {
      await press("Tab");
      if (wanted.test(await focused())) {
        const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
        assert.notEqual(outline, "none", String(wanted));
        return;
      }
    }
    throw new Error(`no Tab leads to ${wanted}; the focus is on ${await focused()}`);
  };
  await page.goto(`${base}/console/`);
  await heading(page, "Sign in");
  assert.match(await focused(), /^INPUT API key/);
  await page.keyboard.type(key);
  await press("Enter");
  await heading(page, "Overview");
  await tabTo(/^A Skip to content/);
  await press("Enter");
  assert.match(await focused(), /^MAIN/);
  await tabTo(/^A Moving to Lisbon/);
  await press("Enter");
  await heading(page, "Moving to Lisbon");
  await tabTo(/^DIV message 22/);
  await press("Home");
  assert.match(await focused(), /^DIV message 1user/);
  await press("ArrowDown");
  await press("ArrowDown");
  assert.match(await focused(), /^DIV message 3user/);
  await panel().getByText("my husband Tomás is Portuguese").waitFor();
  await tabTo(/^A Recall with this text/);
  await press("Enter");
  await heading(page, "Recall");
  await page.locator(".hit").first().waitFor();
  await tabTo(/^INPUT Query/);
  await press("Control+a");
  await page.keyboard.type("rabies");
  await press("Enter");
  await page.getByText("rabies", { exact: true }).first().waitFor();
  await visit(page, `#/memories?app=${ids.app}&user=ada&m=${ids.memoryId}`);
  await tabTo(/^BUTTON Forget/);
  await press("Enter");
  await page.getByRole("dialog").waitFor();
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await tabTo(/^BUTTON Theme: auto/);
  await press("Enter");
  assert.match(await focused(), /^BUTTON Theme: light/);
  await press("Enter");
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).colorScheme), "dark");
});

test("stored text stays text", async () => {
  await signIn(page);
  const hostile = encodeURIComponent(`mallory ${MARKUP}`);
  for (const address of [
    "#/",
    `#/app/${ids.app}`,
    `#/app/${ids.app}/user/${hostile}`,
    `#/thread/${ids.hostile}`,
    `#/recall?thread=${ids.hostile}&q=${encodeURIComponent(MARKUP)}`,
    `#/context?thread=${ids.hostile}&input=${encodeURIComponent(MARKUP)}&system=${encodeURIComponent(MARKUP)}&format=PROVIDER_FORMAT_TEXT`,
    `#/memories?app=${ids.app}&user=${hostile}`,
    "#/operations",
    `#/${encodeURIComponent(MARKUP)}`,
  ]) {
    await visit(page, address);
    assert.equal(await page.evaluate(() => document.querySelectorAll("img, main script, iframe, b i, i b").length), 0, address);
    assert.match(await page.title(), / · Recollect$/, address);
    if (address !== "#/operations") assert.ok((await main().innerText()).includes("onerror"), address);
  }
  await visit(page, `#/thread/${ids.hostile}`);
  await page.getByRole("option").last().click();
  await panel().getByText("<b>tool</b>").waitFor();
  await visit(page, `#/memories?app=${ids.app}&user=${hostile}`);
  await page.locator(".memory a").first().click();
  await panel().getByText("<i>x</i>").waitFor();
});

test("every page has names, roles and contrast, light and dark, wide and narrow", async () => {
  const missing = "404 ThreadService/GetThread";
  for (const options of [{ colorScheme: "light" }, { colorScheme: "dark", viewport: { width: 420, height: 800 } }]) {
    const window = await open(browser, options);
    window.expected.push(missing);
    await window.goto(`${base}/console/`);
    await heading(window, "Sign in");
    await accessible(window, "sign in");
    await signIn(window);
    for (const [name, address] of Object.entries(addresses())) {
      await visit(window, address);
      await accessible(window, `${name}, ${options.colorScheme}`);
      const wider = await window.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wider <= 0, `${name} is ${wider} pixels wider than the window`);
    }
    const page = await window.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = Number(/\d+/.exec(page)[0]) < 128;
    assert.equal(dark, options.colorScheme === "dark", page);
    assert.deepEqual(window.wrong, []);
    await window.context().close();
  }
});

test("a failed call says why and what to do, and is tried again", async () => {
  page.expected.push("404 ThreadService/GetThread", "400 ContextService/BuildContext", "failed ThreadService/ListUsers");
  await signIn(page);
  await visit(page, "#/thread/00000000-0000-4000-8000-000000000000");
  await page.getByRole("alert").getByText("It may have been deleted").waitFor();
  await page.getByRole("alert").getByText("Reason: THREAD_NOT_FOUND").waitFor();
  await visit(page, `#/context?thread=${ids.threadId}&input=Pixel&tokens=1`);
  await page.getByRole("alert").filter({ hasText: /tokens/ }).waitFor();

  await page.route("**/recollect.v1.ThreadService/ListUsers", (route) => route.abort());
  await visit(page, `#/app/${ids.app}`);
  await page.getByRole("alert").getByText("The server did not answer.").waitFor();
  await page.unroute("**/recollect.v1.ThreadService/ListUsers");
  await page.getByRole("button", { name: "Try again" }).click();
  await heading(page, ids.app);

  // A slow call shows that something is going on, a fast one does not.
  assert.ok(!(await page.locator("#progress").isVisible()));
  let go;
  const held = new Promise((done) => (go = done));
  await page.route("**/recollect.v1.ThreadService/ListApps", async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("link", { name: "Overview" }).click();
  await page.locator("#progress").waitFor();
  go();
  await heading(page, "Overview");
  await page.locator("#progress").waitFor({ state: "hidden" });
});
