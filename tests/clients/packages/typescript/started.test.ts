// Servers of their own: a stand-in for the program, and the program that RECOLLECT_SERVER names.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { RecollectError, textOf } from "@recollect/client";
import { server } from "@recollect/client/server";

/** A program of these lines of JavaScript. `said` is where it may write to. */
function program(context: TestContext, ...lines: string[]): { path: string; said: string } {
  const directory = newDirectory(context);
  const said = join(directory, "said");
  const head = ['const fs = require("node:fs");', `const say = (text) => fs.writeFileSync(${JSON.stringify(said)}, text);`];
  return { path: executable(directory, [`#!${process.execPath}`, ...head, ...lines]), said };
}

function newDirectory(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "recollect-test-"));
  context.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

function executable(directory: string, lines: string[]): string {
  const path = join(directory, "recollect");
  writeFileSync(path, lines.join("\n"));
  chmodSync(path, 0o755);
  return path;
}

const announce = 'console.log(JSON.stringify({ addr: "127.0.0.1:1", state: "ready" }));';
const stay = "setInterval(() => {}, 1000);";
const leftovers = () => readdirSync(tmpdir()).filter((name) => /^recollect-[^t]/.test(name) && existsSync(join(tmpdir(), name, "fake")));

test("a server is started with its data in a directory that is deleted when it is closed", async (context) => {
  const { path, said } = program(
    context,
    "const data = process.argv[process.argv.indexOf('--data-dir') + 1];",
    "fs.mkdirSync(data); fs.writeFileSync(require('node:path').join(data, '..', 'fake'), '');",
    "const { DATABASE_URL: url, RECOLLECT_DATABASE__URL: setting } = process.env;",
    "say(process.argv.slice(2).join(' ') + ' with ' + [url, setting]);",
    "process.on('SIGTERM', () => { say('stopped ' + data); process.exit(0); });",
    'console.error("starting");',
    announce,
    stay,
  );
  // The database of the caller is not this server's.
  const foreign = ["DATABASE_URL", "RECOLLECT_DATABASE__URL"];
  for (const name of foreign) process.env[name] = "postgresql://localhost/production";
  const started = await server({ program: path });
  for (const name of foreign) delete process.env[name];
  assert.equal(started.address, "127.0.0.1:1");
  assert.match(readFileSync(said, "utf8"), /^dev --json --stop-with-stdin --listen 127\.0\.0\.1:0 --data-dir \/\S+ with ,$/);
  assert.equal(String(started.client), "Recollect(http://127.0.0.1:1)");
  await Promise.all([started.close(), started[Symbol.asyncDispose]()]);
  const [, data] = readFileSync(said, "utf8").split("stopped ");
  assert.ok(data && !existsSync(data));
  assert.deepEqual(leftovers(), []);
  await assert.rejects(started.client.session({ threadId: "x" }).clear(), /client is closed/);
});

test("a server that does not stop is killed", async (context) => {
  const { path } = program(context, "process.on('SIGTERM', () => {});", announce, stay);
  await (await server({ program: path, stopTimeoutMs: 50 })).close();
});

test("a server that fails to start says why", async (context) => {
  const lines = ["for (let line = 1; line <= 30; line++) console.error('line ' + line);", "process.exitCode = 3;"];
  const failing = program(context, ...lines);
  const error = await server({ program: failing.path }).then(
    () => assert.fail("it started"),
    (thrown: Error) => thrown,
  );
  assert.match(error.message, /recollect dev ended with exit code 3:\nline 11\n(.*\n)+line 30$/);
  const slow = executable(newDirectory(context), ["#!/bin/sh", 'echo "the disk is slow" >&2', "exec sleep 60"]);
  await assert.rejects(server({ program: slow, startTimeoutMs: 1_000 }), /was not ready after 1000 ms:\nthe disk is slow/);
});

test("without a program the error says how to install one", async () => {
  const path = process.env.PATH;
  const program = process.env.RECOLLECT_PROGRAM;
  delete process.env.RECOLLECT_PROGRAM;
  process.env.PATH = "/nowhere";
  try {
    await assert.rejects(server(), /no program recollect\. Install it: npm install @recollect\/server/);
    process.env.RECOLLECT_PROGRAM = "/nowhere/recollect";
    await assert.rejects(server(), /no program \/nowhere\/recollect/);
  } finally {
    process.env.PATH = path;
    delete process.env.RECOLLECT_PROGRAM;
    if (program !== undefined) process.env.RECOLLECT_PROGRAM = program;
  }
});

test("a server that is not closed lets its process end, and then stops", async (context) => {
  const { path, said } = program(
    context,
    "process.stdin.resume().on('end', () => { say('ended'); process.exit(0); });",
    announce,
    stay,
  );
  const script = `import { server } from "@recollect/client/server"; await server({ program: ${JSON.stringify(path)} });`;
  // Where the package is found.
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], { cwd, encoding: "utf8", timeout: 30_000 });
  assert.equal(run.status, 0, run.stderr);
  for (const end = Date.now() + 10_000; !existsSync(said); ) {
    assert.ok(Date.now() < end, "it goes on");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

const real = process.env.RECOLLECT_SERVER;

test("the program itself stores and reads", { skip: !real && "RECOLLECT_SERVER names no program" }, async () => {
  await using started = await server({ program: real });
  const memory = started.client.session({ app: "support", user: "ada", session: "42" });
  await memory.append({ user: "My dog is called Pixel." });
  assert.deepEqual((await memory.history()).messages.map(textOf), ["My dog is called Pixel."]);
  await assert.rejects(started.client.session({ threadId: "no-uuid" }).clear(), RecollectError);
});
