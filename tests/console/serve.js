// Serves the console's files as they are in the source tree, and passes calls on to a server:
// `node tests/console/serve.js http://127.0.0.1:50051 8080`, then open /console/ on that port.

import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";

const FILES = fileURLToPath(new URL("../../crates/memory-http/console/", import.meta.url));
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };
// The policy of the server, from its source.
const source = await readFile(new URL("../../crates/memory-http/src/console.rs", import.meta.url), "utf8");
const policy = /"(default-src[^"]*)"/.exec(source)[1].replaceAll(/\\\s+/g, "");

const [target, port = "8080"] = process.argv.slice(2);
createServer(async (incoming, outgoing) => {
  const path = incoming.url.split("?")[0];
  if (path === "/console") return outgoing.writeHead(308, { location: "console/" }).end();
  const name = path === "/console/" ? "index.html" : /^\/console\/([a-z.]+)$/.exec(path)?.[1];
  if (name) {
    try {
      const text = await readFile(FILES + name);
      const type = `${TYPES[name.split(".").pop()]}; charset=utf-8`;
      return outgoing.writeHead(200, { "content-type": type, "content-security-policy": policy, "cache-control": "no-store" }).end(text);
    } catch {
      return outgoing.writeHead(404).end();
    }
  }
  const passed = request(new URL(incoming.url, target), { method: incoming.method, headers: incoming.headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  passed.on("error", () => outgoing.destroy());
  outgoing.on("close", () => passed.destroy());
  incoming.pipe(passed);
}).listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/console/`));
