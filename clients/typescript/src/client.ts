import type { DescService } from "@bufbuild/protobuf";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { Admin } from "./admin.js";
import { App } from "./app.js";
import { Files } from "./files.js";
import { Memories, type UserNames } from "./memories.js";
import type { RetryOptions } from "./options.js";
import { withEndingStreams } from "./streams.js";
import { Session, type SessionNames } from "./session.js";
import { INSPECT } from "./show.js";
import { Subscriptions } from "./subscriptions.js";
import { Threads } from "./threads.js";
import { Transfers, type ExportOptions, type ImportedRecords, type ImportOptions } from "./transfer.js";
import { wrapClient, type ModelClient, type WrappedNames } from "./wrap.js";
import type { Record } from "./gen/recollect/v1/transfer_service_pb.js";

/** A client over any transport. Use the class of your platform: `Recollect`. */
export class BaseClient {
  /** The transport of all calls, with key, deadlines, request ids, retries and typed errors. */
  readonly transport: Transport;
  /** The threads of the tenant. */
  readonly threads: Threads;
  /** What operators do: deleting users, and reading the audit log. */
  readonly admin: Admin;
  /** Subscriptions to changes, delivered by webhooks or streams. */
  readonly subscriptions: Subscriptions;
  readonly #address: string | undefined;

  /**
   * @param address the server's URL, which {@link BaseClient.toString} shows.
   * @param retry how the stream of a subscription's events is opened again.
   */
  constructor(transport: Transport, address?: string, retry?: RetryOptions) {
    this.transport = transport;
    this.#address = address;
    this.threads = new Threads(transport);
    this.admin = new Admin(transport);
    this.subscriptions = new Subscriptions(transport, retry);
  }

  /** The memory of one conversation, by your own names or by its threadId. */
  session(named: SessionNames | { threadId: string }): Session {
    return new Session(this.transport, named);
  }

  /** A bot, flow or workflow, and its policy: 1 to 128 characters name it. */
  app(app: string): App {
    return new App(this.transport, app);
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
