import type { DescService, MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { Admin } from "./admin.js";
import { Files } from "./files.js";
import type { TargetSchema } from "./gen/recollect/v1/thread_pb.js";
import { ThreadService, type ListThreadsRequestSchema } from "./gen/recollect/v1/thread_service_pb.js";
import { jsonText, type NewJson } from "./json.js";
import { Memories, type UserNames } from "./memories.js";
import { callOptions, type CallOptions } from "./options.js";
import { pages } from "./pages.js";
import { withEndingStreams } from "./streams.js";
import { Session, type SessionNames } from "./session.js";
import { INSPECT } from "./show.js";
import { stored, type StoredThread } from "./stored.js";
import { Transfers, type ExportOptions, type ImportedRecords, type ImportOptions } from "./transfer.js";
import { userId, type User } from "./user.js";
import { wrapClient, type ModelClient, type WrappedNames } from "./wrap.js";
import type { Record } from "./gen/recollect/v1/transfer_service_pb.js";

/** Which threads are listed. */
export interface ThreadListOptions extends CallOptions {
  /** The app. Default: all threads of the tenant. */
  app?: string;
  /** The user of the app, or NO_USER: threads without a user. Default: all users. */
  user?: User;
  /** Values that the threads' metadata must have: at most 16. */
  metadata?: NewJson;
  /** The number of threads in each answer of the server: 1 to 500. Default: 50. */
  pageSize?: number;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof ListThreadsRequestSchema>>;
}

/** The threads of the tenant. */
export class Threads {
  readonly #transport: Transport;
  readonly #service: Client<typeof ThreadService>;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#service = createClient(ThreadService, transport);
  }

  /** Threads, the newest first, read in pages as they are needed. */
  list(options: ThreadListOptions = {}): AsyncGenerator<StoredThread, void, undefined> {
    const { app, user, pageSize, request } = options;
    const metadata = options.metadata && jsonText(options.metadata, "metadata");
    if (app === undefined && user !== undefined) throw new TypeError("a user belongs to an app: name it too");
    let target: MessageInitShape<typeof TargetSchema>["target"];
    if (app !== undefined) {
      target =
        user === undefined
          ? { case: "app", value: { appId: app } }
          : { case: "user", value: { appId: app, userId: userId(user) } };
    }
    return pages(async (pageToken) => {
      const page = await this.#service.listThreads(
        { target: target && { target }, metadata, pageSize, ...request, pageToken } as MessageInitShape<typeof ListThreadsRequestSchema>,
        callOptions(options),
      );
      return [page.threads.map(stored), page.nextPageToken];
    });
  }

  /** Deletes a thread with everything in it, by its id or by your own names. False if it does not exist. */
  delete(thread: string | SessionNames, options?: CallOptions): Promise<boolean> {
    const named = typeof thread === "string" ? { threadId: thread } : thread;
    return new Session(this.#transport, named).delete(options);
  }
}

/** A client over any transport. Use the class of your platform: `Recollect`. */
export class BaseClient {
  /** The transport of all calls, with key, deadlines, request ids, retries and typed errors. */
  readonly transport: Transport;
  /** The threads of the tenant. */
  readonly threads: Threads;
  /** What operators do: deleting users, and reading the audit log. */
  readonly admin: Admin;
  readonly #address: string | undefined;

  /** @param address the server's URL, which {@link BaseClient.toString} shows. */
  constructor(transport: Transport, address?: string) {
    this.transport = transport;
    this.#address = address;
    this.threads = new Threads(transport);
    this.admin = new Admin(transport);
  }

  /** The memory of one conversation, by your own names or by its threadId. */
  session(named: SessionNames | { threadId: string }): Session {
    return new Session(this.transport, named);
  }

  /** The long-term memories of a user. */
  memories(user: UserNames): Memories {
    return new Memories(this.transport, user);
  }

  /** The text files that agents keep for a user. */
  files(user: UserNames): Files {
    return new Files(this.transport, user);
  }

  /**
   * A copy of a client of the package `openai` or `@anthropic-ai/sdk` that remembers a conversation:
   *
   * ```ts
   * const openai = recollect.wrap(new OpenAI(), { app: "support", user: "ada", session: "42" });
   * await openai.responses.create({ model: "gpt-4o", input: "What is my dog called?" });
   * ```
   *
   * Chat completions, responses and Anthropic's messages, also those below `beta`, as streams, as
   * raw responses and by way of helpers such as `messages.stream`, are sent with what memory knows
   * about the newest text of the user, in one message before it (with Anthropic, as a text of the same
   * message). Texts that the request has itself are not repeated there. When the answer is complete,
   * what the user and tools have said since the model's last message is stored, and the answer, so
   * that the caller may send the whole history each time. The beginning of an answer that a request to
   * Anthropic ends with is stored as a part of the answer. Of a stream that is left or aborted, the
   * text so far is stored; nothing is stored of an answer that fails. If memory fails, the call goes
   * on without it; see `onError` and `throwOnError`. Everything else of the client is as it was. A
   * copy is made in no time: make one
   * for each conversation.
   */
  wrap<C extends ModelClient>(client: C, { app, user, session, agentSession, ...options }: WrappedNames): C {
    return wrapClient(client, this.session({ app, user, session, agentSession }), this.transport, options);
  }

  /**
   * The records of an export, for importRecords. An export that does not end with its summary is
   * incomplete. `toJsonString(RecordSchema, record)` is a line of a file of `recollect export`.
   */
  exportRecords(options: ExportOptions = {}): AsyncGenerator<Record, void, undefined> {
    return new Transfers(this.transport).export(options);
  }

  /**
   * Stores the records of an export, in its order. Importing them again stores nothing twice. A
   * refused record does not stop the others. Browsers cannot send a stream.
   */
  importRecords(
    records: Iterable<Record> | AsyncIterable<Record>,
    options: ImportOptions = {},
  ): Promise<ImportedRecords> {
    return new Transfers(this.transport).import(records, options);
  }

  /**
   * A client of a generated service, for every method of the contract:
   * `recollect.service(PlanService).putPlan({ … })`. Services and messages are exported by
   * `@recollect/client/v1`. A stream ends when its loop is left.
   */
  service<S extends DescService>(service: S): Client<S> {
    return withEndingStreams(service, createClient(service, this.transport));
  }

  /** The client with its server, without the key. */
  toString(): string {
    return `Recollect(${this.#address ?? ""})`;
  }

  /** What Node.js prints. */
  [INSPECT](): string {
    return this.toString();
  }
}
