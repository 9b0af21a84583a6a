// The commands of the memory tool, as a model may write them, against a scripted service.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport, type ServiceImpl, type Transport } from "@connectrpc/connect";
import { Files, RecollectError, type MemoryToolCommand } from "@recollect/client";
import { ErrorInfoSchema, MemoryFileService } from "@recollect/client/v1";

/** The files of a user at a service with these methods alone, with the errors of a client. */
function filesOf(methods: Partial<ServiceImpl<typeof MemoryFileService>> = {}): (command: unknown) => Promise<string> {
  const inner = createRouterTransport(({ service }) => void service(MemoryFileService, methods));
  const unary: Transport["unary"] = async (...call) => {
    try {
      return await inner.unary(...call);
    } catch (error) {
      throw RecollectError.from(error);
    }
  };
  const files = new Files({ ...inner, unary }, { app: "support", user: "ada" });
  return (command) => files.handle(command as MemoryToolCommand);
}

test("wrong input of a model is an answer that says what is wrong", async () => {
  const handle = filesOf();
  const path = "/memories/a.md";
  const wrong: [unknown, RegExp][] = [
    [null, /^Error: Unknown command: none\. It must be one of: view, create, /],
    [{ command: "erase" }, /^Error: Unknown command: erase\./],
    [{ command: "toString" }, /^Error: Unknown command: toString\./],
    [{ command: "view" }, /^Error: `path` is required and is a text$/],
    [{ command: "view", path: 7 }, /^Error: `path` is required/],
    [{ command: "create", path }, /^Error: `file_text` is required/],
    [{ command: "create", path, file_text: "\ud83d" }, /^Error: `file_text` has half of a surrogate pair$/],
    [{ command: "str_replace", path, new_str: "x" }, /^Error: `old_str` is required/],
    [{ command: "str_replace", path, old_str: "", new_str: "x" }, /old_str is empty/],
    [{ command: "str_replace", path, old_str: "x", new_str: 7 }, /^Error: `new_str` is/],
    [{ command: "insert", path, insert_line: 0 }, /^Error: `insert_text` is required/],
    [{ command: "rename", old_path: path }, /^Error: `new_path` is required/],
    [{ command: "rename", old_path: "/memories", new_path: path }, /^Error: Cannot rename/],
    [{ command: "rename", old_path: path, new_path: "/memories/" }, /^Error: The destination \/memories already exists$/],
    [{ command: "delete", path: "/memories" }, /^Error: Cannot delete/],
  ];
  for (const line of [undefined, 1.5, "x", "1", -1, 2 ** 31, true]) {
    wrong.push([{ command: "insert", path, insert_line: line, insert_text: "x" }, /^Error: Invalid `insert_line` parameter: /]);
  }
  for (const range of [[1], ["one", "two"], "1-2", [3, 2], [1, 1.5], [2, -2], [2 ** 31, -1], {}]) {
    wrong.push([{ command: "view", path, view_range: range }, /^Error: Invalid `view_range` parameter: /]);
  }
  for (const [command, said] of wrong) assert.match(await handle(command), said, JSON.stringify(command));
});

test("a path that leads elsewhere is refused, and any other character than a control is none of it", async () => {
  const created: string[] = [];
  const handle = filesOf({
    putMemoryFile({ path }) {
      created.push(path);
      return {};
    },
  });
  const put = (path: string) => handle({ command: "create", path, file_text: "" });
  for (const name of ["../a", "./a", "..\\a", "%2e%2e/x", "%2E./x", "%252e%252e/x", "a%2f..%2fb"]) {
    assert.equal(await put(`/memories/${name}`), `Error: Path /memories/${name} would escape /memories directory`);
  }
  for (const name of ["a\0b", "a\nb", "a\u0085b", "a%00b"]) {
    assert.match(await put(`/memories/${name}`), /^Error: `path` must not have control characters/);
  }
  for (const path of ["/etc/passwd", "memories/a", "/memoriesx", ""]) {
    assert.equal(await put(path), `Error: Path must start with /memories, got: ${path}`);
  }
  assert.deepEqual(created, []);
  const names = ["/a\u00a0b.md", "/\u3000.md", "/👩‍🔬.md", "/100%.md", "/%zz", "/%ff", "/..a"];
  for (const name of names) assert.equal(await put(`/memories${name}`), `File created successfully at: /memories${name}`);
  assert.deepEqual(created, names);
});

test("lines beyond the end of a file are an error", async () => {
  const handle = filesOf({
    getMemoryFile: ({ path, firstLine = 1 }) => {
      const lineCount = path === "/one.md" ? 1 : path === "/empty.md" ? 0 : 3;
      const text = ["a\n", "b\n", "c\n"].slice(0, lineCount).slice(firstLine - 1).join("");
      return { entry: { case: "file", value: { file: { path, lineCount }, lines: { firstLine, text } } } };
    },
  });
  const view = (path: string, view_range?: number[]) => handle({ command: "view", path: `/memories${path}`, view_range });
  const invalid = "Error: Invalid `view_range` parameter: ";
  assert.equal(await view("/a.md", [10, 20]), `${invalid}[10, 20]: the file has 3 lines`);
  assert.equal(await view("/one.md", [2, -1]), `${invalid}[2, -1]: the file has 1 line`);
  assert.match(await view("/a.md", [0, -1]), /:\n {5}1\ta\n {5}2\tb\n {5}3\tc$/);
  assert.match(await view("/empty.md"), /:\n {5}1\t$/);
});

test("a listing says when there is more", async () => {
  const handle = filesOf({
    getMemoryFile: () => {
      const entries = [{ path: "/a.md", sizeBytes: 1536n }];
      return { entry: { case: "directory", value: { path: "/", sizeBytes: 1536n, entries, truncated: true } } };
    },
  });
  const said = await handle({ command: "view", path: "/memories" });
  assert.ok(said.endsWith(":\n1.5K\t/memories\n1.5K\t/memories/a.md\nThere are more files; view one of the directories."), said);
});

test("an empty text is inserted as an empty line", async () => {
  const inserted: string[] = [];
  const handle = filesOf({
    insertIntoMemoryFile({ line, text }) {
      inserted.push(`${line}:${text}`);
      return {};
    },
  });
  await handle({ command: "insert", path: "/memories/a.md", insert_line: 0, insert_text: "" });
  await handle({ command: "insert", path: "/memories/a.md", insert_line: 2, insert_text: "x" });
  assert.deepEqual(inserted, ["0:\n", "2:x"]);
});

test("a model reads what it can help, and the rest is thrown", async () => {
  const failing = (code: Code, reason: string) =>
    filesOf({
      putMemoryFile() {
        const info = create(ErrorInfoSchema, { reason, domain: "recollect.dev" });
        throw new ConnectError("the tenant's storage is full", code, undefined, [{ desc: ErrorInfoSchema, value: info }]);
      },
    });
  const command = { command: "create", path: "/memories/a.md", file_text: "x" };
  const said = await failing(Code.ResourceExhausted, "QUOTA_EXCEEDED")(command);
  assert.equal(said, "Error: The memory does not take this: the tenant's storage is full");
  await assert.rejects(failing(Code.Unavailable, "OVERLOADED")(command), { reason: "OVERLOADED" });
});
