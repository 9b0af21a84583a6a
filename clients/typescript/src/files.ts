import { createClient, type Client, type Transport } from "@connectrpc/connect";
import {
  MemoryFileService,
  type FoundMemoryFile,
  type MemoryDirectory,
  type MemoryFile,
  type MemoryFileContent,
  type MemoryFileVersion,
} from "./gen/recollect/v1/memory_file_service_pb.js";
import type { UserNames } from "./memories.js";
import { handled, type MemoryToolCommand } from "./memory-tool.js";
import { callOptions, type CallOptions } from "./options.js";
import { precondition } from "./precondition.js";
import { userId } from "./user.js";

/** How a file or a directory is read. */
export interface ViewOptions extends CallOptions {
  /** The first line: 1 or more. Default: 1. */
  firstLine?: number;
  /** The last line. Default: the last of the file. */
  lastLine?: number;
  /** The version of the file. Default: the current one. */
  version?: number | bigint;
  /** How many levels below a directory are listed: 1 to 15. Default: 2. */
  depth?: number;
}

/** How a file is changed. */
export interface FileChangeOptions extends CallOptions {
  /** The etag that the file must have, or the call is ABORTED. `*`: it must exist. Default: any. */
  etag?: string;
}

/** How a file is stored. */
export interface PutFileOptions extends FileChangeOptions {
  /** Whether the file must not exist yet. Default: false. */
  absent?: boolean;
}

/** How files are searched. */
export interface FileSearchOptions extends CallOptions {
  /** The directory that is searched. Default: `/`. */
  path?: string;
  /** The number of files: 1 to 100. Default: 10. */
  topK?: number;
}

/** What is at a path: one of both. */
export interface FileOrDirectory {
  file?: MemoryFileContent;
  directory?: MemoryDirectory;
}

/** The text files that agents keep for one user. Paths are absolute, such as `/projects/garden.md`. */
export class Files {
  readonly #user: { appId: string; userId: string };
  readonly #service: Client<typeof MemoryFileService>;

  constructor(transport: Transport, { app, user }: UserNames) {
    this.#user = { appId: app, userId: userId(user) };
    this.#service = createClient(MemoryFileService, transport);
  }

  /** A file with its text, or what is in a directory; `/` is the directory of all files. */
  async view(path: string, options: ViewOptions = {}): Promise<FileOrDirectory> {
    const { firstLine, lastLine, version = 0, depth } = options;
    const request = { user: this.#user, path, firstLine, lastLine, version: BigInt(version), depth };
    const { entry } = await this.#service.getMemoryFile(request, callOptions(options));
    if (entry.case === "directory") return { directory: entry.value };
    if (entry.case === "file") return { file: entry.value };
    throw new TypeError("the server answered with neither a file nor a directory");
  }

  /** The text of a file. */
  async read(path: string, options: ViewOptions = {}): Promise<string> {
    const { file } = await this.view(path, options);
    if (!file) throw new TypeError(`${path} is a directory`);
    return file.lines?.text ?? "";
  }

  /** Creates a file or replaces its text. */
  async put(path: string, text: string, options: PutFileOptions = {}): Promise<MemoryFile> {
    const request = { user: this.#user, path, text, precondition: precondition(options.etag, options.absent) };
    return described(await this.#service.putMemoryFile(request, callOptions(options)));
  }

  /** Replaces a text that occurs exactly once. */
  async replace(path: string, oldText: string, newText: string, options: FileChangeOptions = {}): Promise<MemoryFile> {
    const request = { user: this.#user, path, oldText, newText, precondition: precondition(options.etag) };
    return described(await this.#service.replaceInMemoryFile(request, callOptions(options)));
  }

  /** Inserts lines after a line; 0 is the beginning. */
  async insert(path: string, line: number, text: string, options: FileChangeOptions = {}): Promise<MemoryFile> {
    const request = { user: this.#user, path, line, text, precondition: precondition(options.etag) };
    return described(await this.#service.insertIntoMemoryFile(request, callOptions(options)));
  }

  /** Deletes a file, or a directory with all files in it, and returns how many there were. */
  async delete(path: string, options: FileChangeOptions & { eraseVersions?: boolean } = {}): Promise<bigint> {
    const { eraseVersions = false } = options;
    const request = { user: this.#user, path, eraseVersions, precondition: precondition(options.etag) };
    return (await this.#service.deleteMemoryFile(request, callOptions(options))).deletedCount;
  }

  /** Gives a file or a directory another path, and returns how many files have a new one. */
  async rename(path: string, newPath: string, options: FileChangeOptions = {}): Promise<bigint> {
    const request = { user: this.#user, path, newPath, precondition: precondition(options.etag) };
    return (await this.#service.renameMemoryFile(request, callOptions(options))).renamedCount;
  }

  /** The files whose texts match a query by word and by meaning, best first. */
  async search(query: string, options: FileSearchOptions = {}): Promise<FoundMemoryFile[]> {
    const { path, topK } = options;
    return (await this.#service.searchMemoryFiles({ user: this.#user, query, path, topK }, callOptions(options))).files;
  }

  /** The versions of a file, the newest first; also of a file that was deleted in the last 30 days. */
  async versions(path: string, options?: CallOptions): Promise<MemoryFileVersion[]> {
    return (await this.#service.listMemoryFileVersions({ user: this.#user, path }, callOptions(options))).versions;
  }

  /** What changed between two versions, as a unified diff. Default: the newest and the one before. */
  async diff(path: string, options: CallOptions & { from?: number | bigint; to?: number | bigint } = {}): Promise<string> {
    const { from = 0, to = 0 } = options;
    const request = { user: this.#user, path, fromVersion: BigInt(from), toVersion: BigInt(to) };
    return (await this.#service.compareMemoryFileVersions(request, callOptions(options))).diff;
  }

  /** Gives a file the text of a version; by default the newest, which brings a deleted file back. */
  async restore(path: string, version: number | bigint = 0, options: FileChangeOptions = {}): Promise<MemoryFile> {
    const request = { user: this.#user, path, version: BigInt(version), precondition: precondition(options.etag) };
    return described(await this.#service.restoreMemoryFile(request, callOptions(options)));
  }

  /**
   * Carries out a command of Anthropic's memory tool, and returns what the model reads, for an error
   * too: the input of a `tool_use` block needs no check before. Paths are below `/memories`. Errors
   * that the model cannot help, such as a server that is away, are thrown.
   */
  handle(command: MemoryToolCommand): Promise<string> {
    return handled(command, this.#service, this.#user);
  }
}

function described({ file }: { file?: MemoryFile }): MemoryFile {
  if (!file) throw new TypeError("the server answered without a file");
  return file;
}
