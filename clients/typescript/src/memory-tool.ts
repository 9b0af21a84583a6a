// The commands of Anthropic's memory tool (`memory_20250818`) as calls of MemoryFileService, and the
// answers that the model reads, as Anthropic describes them:
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
import type { Client } from "@connectrpc/connect";
import type { MemoryDirectory, MemoryFileLines, MemoryFileService } from "./gen/recollect/v1/memory_file_service_pb.js";
import { RecollectError } from "./errors.js";

/** A command of Anthropic's memory tool (`memory_20250818`). */
export type MemoryToolCommand =
  | { command: "view"; path: string; view_range?: number[] | null }
  | { command: "create"; path: string; file_text: string }
  | { command: "str_replace"; path: string; old_str: string; new_str?: string | null }
  | { command: "insert"; path: string; insert_line: number; insert_text: string }
  | { command: "delete"; path: string }
  | { command: "rename"; old_path: string; new_path: string };

/** A command as a model wrote it, which nothing checked. */
type Given = Readonly<Record<string, unknown>>;

/** A command that is refused: what the model reads. */
class Refused extends Error {}

const ROOT = "/memories";
/** The largest number of a line. */
const LAST_LINE = 2 ** 31 - 1;
/** Other errors whose messages say what the model can do. */
const HELPED = ["NOT_A_MEMORY_FILE", "MEMORY_FILES_FULL", "TEXT_REFUSED", "INVALID_FIELD", "QUOTA_EXCEEDED"];

/**
 * Carries out a command for a user, and returns what the model reads, for an error too. What the
 * model cannot help, such as a server that is away, is thrown.
 */
export async function handled(
  command: unknown,
  service: Client<typeof MemoryFileService>,
  user: { appId: string; userId: string },
): Promise<string> {
  const given: Given = Object(command);
  try {
    return await carriedOut(given, service, user);
  } catch (error) {
    if (error instanceof Refused) return error.message;
    const said = error instanceof RecollectError && refusal(given, error);
    if (!said) throw error;
    return said;
  }
}

async function carriedOut(
  given: Given,
  service: Client<typeof MemoryFileService>,
  user: { appId: string; userId: string },
): Promise<string> {
  switch (given.command) {
    case "view": {
      const path = pathOf(given, "path");
      const shown = text(given, "path").replace(/\/+$/, "");
      const { entry } = await service.getMemoryFile({ user, path, ...range(given.view_range) });
      if (entry.case === "directory") return listing(shown, entry.value);
      const lines = entry.value?.lines;
      if (lines && !lines.text && lines.firstLine > 1) {
        const count = entry.value?.file?.lineCount ?? 0;
        throw invalid("view_range", given.view_range, `: the file has ${count} line${count === 1 ? "" : "s"}`);
      }
      return `Here's the content of ${shown} with line numbers:\n${numbered(lines)}`;
    }
    case "create": {
      const path = pathOf(given, "path");
      const precondition = { state: { case: "absent" as const, value: {} } };
      await service.putMemoryFile({ user, path, text: text(given, "file_text"), precondition });
      return `File created successfully at: ${given.path}`;
    }
    case "str_replace": {
      const path = pathOf(given, "path");
      const oldText = text(given, "old_str");
      const newText = given.new_str === undefined || given.new_str === null ? "" : text(given, "new_str");
      if (!oldText) throw new Refused("No replacement was performed: old_str is empty.");
      const { lines } = await service.replaceInMemoryFile({ user, path, oldText, newText });
      return (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" +
        numbered(lines)
      );
    }
    case "insert": {
      const path = pathOf(given, "path");
      const inserted = text(given, "insert_text");
      const line = given.insert_line;
      if (!isWhole(line) || line < 0 || line > LAST_LINE) {
        throw invalid("insert_line", line, ". It takes the number of a line of the file, or 0");
      }
      // An empty text is an empty line, as the SDK's own tool inserts it.
      await service.insertIntoMemoryFile({ user, path, line, text: inserted || "\n" });
      return `The file ${given.path} has been edited.`;
    }
    case "delete": {
      const path = pathOf(given, "path");
      if (path === "/") throw new Refused("Error: Cannot delete the /memories directory itself");
      await service.deleteMemoryFile({ user, path });
      return `Successfully deleted ${given.path}`;
    }
    case "rename": {
      const path = pathOf(given, "old_path");
      const newPath = pathOf(given, "new_path");
      if (path === "/") throw new Refused("Error: Cannot rename the /memories directory itself");
      if (newPath === "/") throw new Refused("Error: The destination /memories already exists");
      await service.renameMemoryFile({ user, path, newPath });
      return `Successfully renamed ${given.old_path} to ${given.new_path}`;
    }
    default:
      throw new Refused(
        `Error: Unknown command: ${shownValue(given.command)}. It must be one of: ` +
          "view, create, str_replace, insert, delete, rename",
      );
  }
}

/** A text of a command. */
function text(given: Given, name: string): string {
  const value = given[name];
  if (typeof value !== "string") throw new Refused(`Error: \`${name}\` is required and is a text`);
  if (/\p{Surrogate}/u.test(value)) throw new Refused(`Error: \`${name}\` has half of a surrogate pair`);
  return value;
}

/** The path of the API for one of a command. A path that leads elsewhere is refused. */
function pathOf(given: Given, name: string): string {
  const shown = text(given, name);
  let plain = shown;
  // Also what another program would decode to the names of other directories.
  for (let times = 0; times < 3; times += 1) {
    if (/\p{Control}/u.test(plain)) {
      throw new Refused(`Error: \`${name}\` must not have control characters, percent-encoded ones included`);
    }
    if (plain.split(/[/\\]/).some((one) => one === "." || one === "..")) {
      throw new Refused(`Error: Path ${shown} would escape /memories directory`);
    }
    plain = decoded(plain);
  }
  if (shown !== ROOT && !shown.startsWith(`${ROOT}/`)) {
    throw new Refused(`Error: Path must start with /memories, got: ${shown}`);
  }
  return shown.slice(ROOT.length).replace(/\/$/, "") || "/";
}

/** A text without percent-encoding; what encodes nothing stays, where `decodeURIComponent` throws. */
function decoded(encoded: string): string {
  return encoded.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => {
    const numbers = bytes.slice(1).split("%").map((byte) => Number.parseInt(byte, 16));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(numbers));
  });
}

/** The first and the last line to show. */
function range(value: unknown): { firstLine?: number; lastLine?: number } {
  if (value === undefined || value === null) return {};
  if (Array.isArray(value) && value.length === 2) {
    const [from, lastLine] = value as unknown[];
    if (isWhole(from) && isWhole(lastLine)) {
      const firstLine = Math.max(from, 1);
      if (lastLine === -1 && firstLine <= LAST_LINE) return { firstLine };
      if (firstLine <= lastLine && lastLine <= LAST_LINE) return { firstLine, lastLine };
    }
  }
  const form = ". It takes the numbers of the first and the last line, and -1 for the end: [first, last]";
  throw invalid("view_range", value, form);
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}

function invalid(name: string, value: unknown, problem: string): Refused {
  return new Refused(`Error: Invalid \`${name}\` parameter: ${shownValue(value)}${problem}`);
}

/** A value of a command, for its error. */
function shownValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value)?.replaceAll(",", ", ") ?? "none");
}

/** What an error of the server says to the model; undefined: it is none of a command. */
function refusal(given: Given, error: RecollectError): string | undefined {
  const { command, old_str: oldText } = given;
  const path = command === "rename" ? given.old_path : given.path;
  const { reason, metadata } = error;
  // A directory is no file that could be edited.
  const isEdit = command === "str_replace" || command === "insert";
  if (reason === "MEMORY_FILE_NOT_FOUND" || (reason === "NOT_A_MEMORY_FILE" && isEdit)) {
    const hint = command === "view" || command === "str_replace" ? ". Please provide a valid path." : "";
    return `${command === "view" ? "" : "Error: "}The path ${path} does not exist${hint}`;
  }
  if (reason === "ETAG_CHANGED") return `Error: File ${path} already exists`;
  if (reason === "MEMORY_FILE_ALREADY_EXISTS") return `Error: The destination ${given.new_path} already exists`;
  if (reason === "TEXT_NOT_FOUND") {
    return `No replacement was performed, old_str \`${oldText}\` did not appear verbatim in ${path}.`;
  }
  if (reason === "TEXT_NOT_UNIQUE") {
    return (
      `No replacement was performed. Multiple occurrences of old_str \`${oldText}\` in lines: ` +
      `${(metadata.lines ?? "").replaceAll(",", ", ")}. Please ensure it is unique`
    );
  }
  if (metadata.line_count !== undefined) {
    return (
      `Error: Invalid \`insert_line\` parameter: ${given.insert_line}. It should be within the range of lines ` +
      `of the file: [0, ${metadata.line_count}]`
    );
  }
  return HELPED.includes(reason) ? `Error: The memory does not take this: ${error.cause.rawMessage}` : undefined;
}

/** Lines with their numbers, which are six characters wide. */
function numbered(lines: MemoryFileLines | undefined): string {
  const first = lines?.firstLine || 1;
  // What follows the last line break is no line.
  const texts = (lines?.text ?? "").replace(/\n$/, "").split("\n");
  return texts.map((line, at) => `${String(first + at).padStart(6)}\t${line}`).join("\n");
}

/** The files and directories in a directory, of two levels, with their sizes. */
function listing(shown: string, directory: MemoryDirectory): string {
  const outer = directory.path === "/" ? 0 : directory.path.length;
  const isHidden = (name: string) => name.startsWith(".") || name === "node_modules";
  const entries = directory.entries.filter(({ path }) => !path.slice(outer).split("/").some(isHidden));
  return [
    `Here're the files and directories up to 2 levels deep in ${shown}, excluding hidden items and node_modules:`,
    `${size(directory.sizeBytes)}\t${shown}`,
    ...entries.map((one) => `${size(one.sizeBytes)}\t${ROOT}${one.path}${one.isDirectory ? "/" : ""}`),
    ...(directory.truncated ? ["There are more files; view one of the directories."] : []),
  ].join("\n");
}

/** A number of bytes as people read it, such as 5.5K. */
function size(bytes: bigint): string {
  let amount = Number(bytes);
  let unit = "B";
  for (const larger of ["K", "M", "G"]) {
    if (amount < 1024) break;
    amount /= 1024;
    unit = larger;
  }
  return Number.isInteger(amount) ? `${amount}${unit}` : `${amount.toFixed(1)}${unit}`;
}
