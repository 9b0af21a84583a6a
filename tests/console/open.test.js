// A server without keys: the console needs no sign-in, and the first page says what to do next.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, heading, launch, open } from "./support.js";

test("without keys there is nothing to sign in to", async () => {
  const browser = await launch();
  try {
    const page = await open(browser);
    await page.goto(`${base}/console`);
    await heading(page, "Overview");
    await page.getByText("There is no data yet.").waitFor();
    await page.getByText("MessageService/AppendMessages").waitFor();
    assert.equal(await page.getByRole("button", { name: "Sign out" }).count(), 0);
    assert.equal(page.url(), `${base}/console/`);
    assert.deepEqual(page.wrong, []);
  } finally {
    await browser.close();
  }
});
