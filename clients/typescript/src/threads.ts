import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import type { TargetSchema } from "./gen/recollect/v1/thread_pb.js";
import { ThreadService, type ListThreadsRequestSchema } from "./gen/recollect/v1/thread_service_pb.js";
import { jsonText, type NewJson } from "./json.js";
import { callOptions, type CallOptions } from "./options.js";
import { pages } from "./pages.js";
import { Recalls, type RecallOptions, type SearchOptions } from "./recalls.js";
import { Session, type SessionNames } from "./session.js";
import { stored, type RecallResult, type SearchResult, type StoredThread } from "./stored.js";
import { ownerTarget, userId, type User } from "./user.js";

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

/** Whose threads are searched: those of one user of the app, or of all. */
export type ThreadOwner = { app: string; user: string; allUsers?: false } | { app: string; allUsers: true; user?: undefined };

/** The threads of the tenant. */
export class Threads {
  readonly #transport: Transport;
  readonly #service: Client<typeof ThreadService>;
  readonly #recalls: Recalls;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#service = createClient(ThreadService, transport);
    this.#recalls = new Recalls(transport);
  }

  /** Threads, the newest first, read in pages as they are needed. */
  list(options: ThreadListOptions = {}): AsyncGenerator<StoredThread, void, undefined> {
    const { app, user, pageSize, request } = options;
    const metadata = options.metadata && jsonText(options.metadata, "metadata");
    const target = ownerTarget(app, user);
    return pages(async (pageToken) => {
      const page = await this.#service.listThreads(
        { target, metadata, pageSize, ...request, pageToken } as MessageInitShape<typeof ListThreadsRequestSchema>,
        callOptions(options),
      );
      return [page.threads.map(stored), page.nextPageToken];
    });
  }

  /**
   * The best matches among the messages of all threads of a user or of an app, with their neighbors:
   * `recall("dog", { app: "support", user: "ada" })`.
   *
   * @param query the text to match. Empty: the newest messages of the time in the filter match.
   */
  async recall(query: string, options: ThreadOwner & RecallOptions): Promise<RecallResult> {
    return this.#recalls.recall(targetOf(options), query, options);
  }

  /** Only the best matches among these messages, best first. */
  async search(query: string, options: ThreadOwner & SearchOptions): Promise<SearchResult> {
    return this.#recalls.search(targetOf(options), query, options);
  }

  /** Deletes a thread with everything in it, by its id or by your own names. False if it does not exist. */
  delete(thread: string | SessionNames, options?: CallOptions): Promise<boolean> {
    const named = typeof thread === "string" ? { threadId: thread } : thread;
    return new Session(this.#transport, named).delete(options);
  }
}

/** The threads to search. It throws if the user is missing. */
function targetOf({ app, user, allUsers }: ThreadOwner): MessageInitShape<typeof TargetSchema> {
  if (allUsers) return { target: { case: "app", value: { appId: app } } };
  return { target: { case: "user", value: { appId: app, userId: userId(user) } } };
}
