// A browser that reports everything that a page must not do.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const key = process.env.RECOLLECT_API_KEY ?? "";
export const base = `http://${process.env.RECOLLECT_ADDR}`;
export const app = process.env.RECOLLECT_APP ?? "support";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function launch() {
  // Without its sandbox it also runs as root and in containers; it loads our own pages alone.
  return chromium.launch({ executablePath: process.env.RECOLLECT_CHROMIUM, args: ["--no-sandbox"], timeout: 60_000 });
}

/**
 * A page in a window of its own. `page.wrong` has what it did wrong: requests to other origins,
 * violations of the content security policy, errors in the browser's log, and calls that failed.
 * A test adds to `page.expected` which calls may: their status, or `failed` for one without an
 * answer, and the method, such as `404 ThreadService/GetThread`.
 */
export async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.wrong = [];
  page.expected = [];
  context.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(base).origin) page.wrong.push(`request to ${request.url()}`);
  });
  page.on("console", (message) => {
    // Failed calls are in the log too; they are checked below, where their methods are known.
    const failed = message.text().startsWith("Failed to load resource") && methodOf(message.location().url);
    if (["error", "warning"].includes(message.type()) && !failed) page.wrong.push(`${message.type()}: ${message.text()}`);
  });
  const failed = (what) => {
    if (!page.expected.includes(what)) page.wrong.push(`call: ${what}`);
  };
  page.on("response", (response) => {
    const method = methodOf(response.url());
    if (!method || response.ok()) return;
    // Before sign-in, a call tells whether the server has keys.
    const signedIn = response.request().headers().authorization === `Bearer ${key}`;
    if (response.status() !== 401 || signedIn) failed(`${response.status()} ${method}`);
  });
  page.on("requestfailed", (request) => {
    const method = methodOf(request.url());
    // A page that is left ends its calls.
    if (method && request.failure().errorText !== "net::ERR_ABORTED") failed(`failed ${method}`);
  });
  page.on("pageerror", (error) => page.wrong.push(String(error.stack)));
  await page.exposeFunction("reportViolation", (text) => page.wrong.push(`policy: ${text}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => window.reportViolation(`${event.violatedDirective} ${event.blockedURI}`));
  });
  return page;
}

/** The method that an address calls, such as `ThreadService/GetThread`. */
function methodOf(url) {
  return /\/recollect\.v1\.(\w+\/\w+)$/.exec(url)?.[1];
}

/** Whether a request calls a method. */
export const calls = (method) => (request) => methodOf(request.url()) === method;

/** Opens a page of the console by its address, and waits until it is shown. */
export async function visit(page, hash) {
  await page.goto(`${base}/console/${hash}`);
  await settled(page);
}

/** Waits until no page is being loaded. */
export async function settled(page) {
  // A changed address is noticed in a task of its own.
  await page.evaluate(() => new Promise((done) => setTimeout(done)));
  await page.waitForFunction(() => !document.querySelector("main[aria-busy]") && document.querySelector("main h1"));
}

export async function signIn(page) {
  await page.goto(`${base}/console/`);
  await page.getByLabel("API key or token").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await heading(page, "Overview");
}

/** Waits for the page with this heading. */
export async function heading(page, text) {
  await page.getByRole("heading", { level: 1, name: text, exact: true }).waitFor();
  await settled(page);
}

/** Checks the page by the rules of axe: names and roles, WCAG's contrast, keyboard access. */
export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
  assert.deepEqual(found, [], what);
}
