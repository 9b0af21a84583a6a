// Writes the pictures of docs/console.md into a directory.

import { seed, caller } from "./seed.js";
import { app, base, key, launch, open, signIn, visit } from "./support.js";

const [directory] = process.argv.slice(2);
const ids = await seed(caller(base, key), app);
const browser = await launch();
const query = (text) => encodeURIComponent(text);
const PICTURES = {
  thread: [`#/thread/${ids.threadId}`, 1290, async (page) => {
    await page.getByRole("group", { name: /^Summary/ }).getByRole("button", { name: /summarized/ }).first().click();
  }],
  agent: [`#/thread/${ids.agent}`, 900, async (page) => {
    await page.getByRole("group", { name: /^Observations/ }).getByRole("button", { name: /observed/ }).nth(1).click();
  }, "dark"],
  recall: [`#/recall?app=${ids.app}&user=ada&q=${query("How will the dog travel?")}`, 860],
  context: [`#/context?thread=${ids.threadId}&input=${query("What about Pixel?")}&system=${query("You help with moves.")}`, 860, async (page) => {
    await page.locator(".entry").filter({ hasText: "Memories" }).click();
  }, "dark"],
  memories: [`#/memories?app=${ids.app}&user=ada&old=1&m=${ids.memoryId}`, 830],
  operations: ["#/operations", 720, async (page) => {
    const call = caller(base, key);
    for (let burst = 0; burst < 8; burst += 1) {
      const messages = Array.from({ length: 60 }, (_, index) => ({ role: "ROLE_USER", parts: [{ text: `Reading ${burst * 60 + index} of the thermometer in the cellar: ${(12 + Math.sin(index)).toFixed(1)} degrees, and the humidity was ${40 + index} percent.` }] }));
      await call("MessageService/AppendMessages", { thread: { session: { appId: `${app}-sensors`, sessionKey: "global" } }, messages: messages.slice(0, 8 + ((burst * 37) % 50)) });
      await new Promise((done) => setTimeout(done, 4_600));
    }
  }],
};

for (const [name, [address, height, act, colorScheme = "light"]] of Object.entries(PICTURES)) {
  const page = await open(browser, { viewport: { width: 1200, height }, colorScheme });
  await signIn(page);
  await visit(page, address);
  await act?.(page);
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement.blur());
  await page.screenshot({ path: `${directory}/${name}.png` });
  if (page.wrong.length > 0) throw new Error(`${name}: ${page.wrong.join("\n")}`);
  await page.context().close();
}
await browser.close();
