import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import {
  ContextService,
  type BuildContextRequestSchema,
  type BuildContextResponse,
} from "./gen/recollect/v1/context_service_pb.js";
import { RecollectError } from "./errors.js";
import {
  EventService,
  type AppendEventsResponse,
  type ListEventsRequestSchema,
} from "./gen/recollect/v1/event_service_pb.js";
import { FileService } from "./gen/recollect/v1/file_service_pb.js";
import { MemoryService, type ExtractMemoriesResponse } from "./gen/recollect/v1/memory_service_pb.js";
import type { Part } from "./gen/recollect/v1/message_pb.js";
import {
  MessageService,
  type AppendMessagesResponse,
  type GetHistoryRequestSchema,
  type ListMessagesRequestSchema,
} from "./gen/recollect/v1/message_service_pb.js";
import { MemoryMode } from "./gen/recollect/v1/policy_pb.js";
import type { NamedTime } from "./gen/recollect/v1/recall_pb.js";
import { ThreadRefSchema, type TargetSchema, type ThreadRef } from "./gen/recollect/v1/thread_pb.js";
import { ThreadService } from "./gen/recollect/v1/thread_service_pb.js";
import { FORMATS, type Bodies, type Format, type MessageFormat, type ProviderMessage } from "./formats.js";
import { jsonText, type NewJson } from "./json.js";
import { freshness, Memories, memoryTimes, type MemoryTimes } from "./memories.js";
import {
  messageFilter,
  messagesOf,
  parts,
  providerMessagesOf,
  type Appendable,
  type Content,
  type MessageFilter,
} from "./messages.js";
import { dataUrl } from "./base64.js";
import { callOptions, type CallOptions } from "./options.js";
import { pages } from "./pages.js";
import { queryTime, Recalls, type QueryTimes, type RecallOptions, type SearchOptions } from "./recalls.js";
import { INSPECT, shown } from "./show.js";
import {
  stored,
  withData,
  type FormattedHistory,
  type HistoryResult,
  type RecallResult,
  type SearchResult,
  type StoredEvent,
  type StoredMessage,
} from "./stored.js";
import { userId, type User } from "./user.js";

/** Your own names for a conversation. */
export interface SessionNames {
  /** The bot, flow or workflow: 1 to 128 characters. */
  app: string;
  /** The person: 1 to 256 characters; or NO_USER, if the conversation belongs to none. */
  user: User;
  /** The key of the conversation, such as `42`: 1 to 512 characters. */
  session?: string;
  /** The key that an agent supplies, used if `session` is missing. */
  agentSession?: string;
}

/** How the context is made. `mode` is the kind of memory. */
export interface ContextOptions<F extends Format = "openai"> extends CallOptions, QueryTimes, MemoryTimes {
  /** The format of the result. Default: `openai`. */
  format?: F;
  /** The system prompt, which comes first: at most 256 KiB. */
  system?: string;
  /** The token budget of the whole context. Default: that of the policy. */
  maxTokens?: number;
  /** The part of the budget to keep free for what you add, such as tools, and for the answer. Default: 0. */
  reserveTokens?: number;
  /** The model whose tokenizer and window apply, such as `gpt-4o`. */
  model?: string;
  /** The text that memory is searched for. Default: the input. */
  query?: string;
  /** The kind of memory. Default: that of the policy. */
  mode?: "none" | "window" | "hybrid" | "node" | "working" | "observational";
  /** Selects matches. It does not apply to the newest messages. */
  filter?: MessageFilter;
  /** The revision of a write that the search includes. Default: the newest messages. */
  atLeastAsFresh?: string;
  /** Whether `response` has the policy that applied and what was omitted. Default: false. */
  explain?: boolean;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof BuildContextRequestSchema>>;
}

/** A context with the fields of its format, such as `messages`. */
export type Context<F extends Format = "openai"> = Bodies[F] & ContextInfo;

/** What is known about a context in any format. */
export interface ContextInfo {
  /** The context in its format, byte for byte: JSON, or text in the format `text`. */
  readonly body: string;
  /** Its size in tokens. */
  readonly totalTokens: number;
  /** The past times that the query names, such as `last week`: at most 4. */
  readonly namedTimes: NamedTime[];
  /** The whole response: blocks with their sources, what was left out, degradations. */
  readonly response: BuildContextResponse;
}

/** How messages are stored. */
export interface AppendOptions extends CallOptions {
  /** A UUID that makes a repetition safe. Default: a new one, which the retries of the call share. */
  requestId?: string;
  /** The messageId or externalId of the expected head; another head fails with ABORTED. */
  expectedHead?: string;
}

/** How messages in a provider's format are stored. */
export interface ProviderAppendOptions extends AppendOptions {
  /** The format of the messages. */
  format: MessageFormat;
}

/** How stored messages are listed. */
export interface MessagesOptions extends CallOptions {
  /** The newest messages first. Default: the oldest. */
  newestFirst?: boolean;
  /** Selects messages. Default: all. */
  filter?: MessageFilter;
  /** The number of messages in each answer of the server: 1 to 500. Default: 50. */
  pageSize?: number;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof ListMessagesRequestSchema>>;
}

/** The part of a conversation that is given to a model. */
export interface HistoryOptions extends CallOptions {
  /** The token budget: 1 to 10,000,000. Default: 2,000. */
  maxTokens?: number;
  /** The most messages, besides the system messages that the conversation begins with: 1 to 500. Default: 100. */
  maxMessages?: number;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof GetHistoryRequestSchema>>;
}

/** The part of a conversation that is given to a model, in its format. */
export interface FormattedHistoryOptions<F extends Format> extends HistoryOptions {
  /** The format that the result has the messages in as well. */
  format: F;
}

/** How memories are extracted. */
export interface ExtractOptions extends CallOptions {
  /** The longest wait for the extraction in milliseconds: 0 to 30,000. Default: the call does not wait. */
  maxWaitMs?: number;
}

/** An event of an agent to log. */
export interface NewEvent {
  /** The kind of event, in your own words, such as `execution_failed`: 1 to 128 characters. */
  type: string;
  /** What belongs to it: a value to store as JSON, or JSON text, which is stored as it is. At most 256 KiB. */
  data?: unknown;
  /** When it happened. Default: now. */
  createTime?: Date;
  /** The message that it belongs to, by messageId or externalId; empty: none. Default: the thread's head. */
  messageId?: string;
}

/** How events are logged. */
export interface AppendEventsOptions extends CallOptions {
  /** A UUID that makes a repetition safe. Default: a new one, which the retries of the call share. */
  requestId?: string;
}

/** Which events are listed. */
export interface EventsOptions extends CallOptions {
  /** Any of these types: at most 32. Default: all. */
  types?: string[];
  /** The earliest time of an event, included. */
  startTime?: Date;
  /** The latest time of an event, excluded. */
  endTime?: Date;
  /** The newest events first. Default: the oldest. */
  newestFirst?: boolean;
  /** The number of events in each answer of the server: 1 to 500. Default: 50. */
  pageSize?: number;
}

const MODES = {
  none: MemoryMode.NONE,
  window: MemoryMode.WINDOW,
  hybrid: MemoryMode.HYBRID,
  node: MemoryMode.NODE,
  working: MemoryMode.WORKING,
  observational: MemoryMode.OBSERVATIONAL,
};

/** The memory of one conversation. The first append creates its thread. */
export class Session {
  /** What the conversation was named by. */
  readonly named: Readonly<SessionNames | { threadId: string }>;
  /** The name of the thread, for requests of the generated services. */
  readonly ref: ThreadRef;
  readonly #target: MessageInitShape<typeof TargetSchema>;
  readonly #contexts: Client<typeof ContextService>;
  readonly #service: Client<typeof MessageService>;
  readonly #recalls: Recalls;
  readonly #threads: Client<typeof ThreadService>;
  readonly #events: Client<typeof EventService>;
  readonly #files: Client<typeof FileService>;
  readonly #extractions: Client<typeof MemoryService>;
  readonly #memories: Memories | undefined;

  constructor(transport: Transport, named: SessionNames | { threadId: string }) {
    this.named = { ...named };
    if ("threadId" in named) {
      this.ref = create(ThreadRefSchema, { thread: { case: "threadId", value: named.threadId } });
    } else {
      const { app, user, session, agentSession } = named;
      const names = { appId: app, userId: userId(user), sessionKey: session, agentSessionKey: agentSession };
      this.ref = create(ThreadRefSchema, { thread: { case: "session", value: names } });
      this.#memories = new Memories(transport, { app, user });
    }
    this.#target = { target: { case: "thread", value: this.ref } };
    this.#contexts = createClient(ContextService, transport);
    this.#service = createClient(MessageService, transport);
    this.#recalls = new Recalls(transport);
    this.#threads = createClient(ThreadService, transport);
    this.#events = createClient(EventService, transport);
    this.#files = createClient(FileService, transport);
    this.#extractions = createClient(MemoryService, transport);
  }

  /** The long-term memories of the session's user. Not for a session that was named by its threadId. */
  get memories(): Memories {
    if (!this.#memories) throw new TypeError("name the user: recollect.memories({ app, user })");
    return this.#memories;
  }

  /**
   * What the model is to be sent: system prompt, memory and the input, within a token budget.
   * It stores nothing; `append` stores the input afterwards, together with the answer.
   *
   * @param input the user's new message. Missing, if it has been appended already.
   */
  async context<F extends Format = "openai">(input?: Content, options: ContextOptions<F> = {}): Promise<Context<F>> {
    const format = (options.format ?? "openai") as F;
    const { policy, ...request } = options.request ?? {};
    const response = await this.#contexts.buildContext(
      {
        thread: this.ref,
        input: parts(input),
        systemPrompt: options.system,
        maxTokens: options.maxTokens,
        reserveTokens: options.reserveTokens,
        model: options.model,
        query: options.query,
        policy: options.mode ? { ...policy, mode: MODES[options.mode] } : policy,
        filter: messageFilter(options.filter),
        freshness: freshness(options.atLeastAsFresh),
        explain: options.explain,
        queryTime: queryTime(options),
        ...memoryTimes(options),
        ...request,
        formats: [FORMATS[format]],
      } as MessageInitShape<typeof BuildContextRequestSchema>,
      callOptions(options),
    );
    const body = response.rendered[0]?.body ?? "";
    const info: ContextInfo = { body, totalTokens: response.totalTokens, namedTimes: response.namedTimes, response };
    return { ...fieldsOf(format, body), ...info };
  }

  /**
   * Stores messages: all of them or none. A call that is repeated after a lost connection
   * stores them once.
   *
   * With a `format`, the messages are in the format of a provider's API: one message, request
   * or response, or a list of these, such as `[question, completion]`.
   */
  append(messages: ProviderMessage, options: ProviderAppendOptions): Promise<AppendMessagesResponse>;
  append(messages: Appendable, options?: AppendOptions): Promise<AppendMessagesResponse>;
  async append(
    messages: Appendable | ProviderMessage,
    options: AppendOptions & { format?: MessageFormat } = {},
  ): Promise<AppendMessagesResponse> {
    const { requestId, expectedHead, format } = options;
    const content = format
      ? { providerMessages: providerMessagesOf(messages, format) }
      : { messages: messagesOf(messages) };
    return this.#service.appendMessages(
      { thread: this.ref, requestId, expectedHead, ...content },
      callOptions(options),
    );
  }

  /**
   * The newest messages and the best matches with their neighbors, in conversation order.
   *
   * @param query the text to match. Empty: the newest messages of the time in the filter match; without
   *   such a time only the newest messages of the conversation are returned.
   */
  recall(query: string, options: RecallOptions = {}): Promise<RecallResult> {
    return this.#recalls.recall(this.#target, query, options);
  }

  /** The best matches only, best first. */
  search(query: string, options: SearchOptions = {}): Promise<SearchResult> {
    return this.#recalls.search(this.#target, query, options);
  }

  /** All stored messages on all branches, read in pages as they are needed. A session without a thread has none. */
  async *messages(options: MessagesOptions = {}): AsyncGenerator<StoredMessage, void, undefined> {
    const { newestFirst, pageSize, request } = options;
    const orderBy = newestFirst ? "seq desc" : "seq";
    const filter = messageFilter(options.filter);
    try {
      yield* pages(async (pageToken) => {
        const page = await this.#service.listMessages(
          { target: this.#target, filter, orderBy, pageSize, ...request, pageToken } as MessageInitShape<
            typeof ListMessagesRequestSchema
          >,
          callOptions(options),
        );
        return [page.messages.map(stored), page.nextPageToken];
      });
    } catch (error) {
      if (!this.#isUnborn(error)) throw error;
    }
  }

  /**
   * The messages that lead to the head, newest first, without other branches, read in pages as they
   * are needed. All are of the path that the first page found, also if messages are stored or
   * deleted meanwhile. A session without a thread has none.
   */
  async *path(options: Pick<MessagesOptions, "pageSize" | "timeoutMs" | "signal"> = {}): AsyncGenerator<StoredMessage, void, undefined> {
    const { pageSize = 100, ...call } = options;
    yield* this.messages({ newestFirst: true, pageSize, ...call, request: { path: {} } });
  }

  /**
   * The conversation that ends at the head, or at another message: whole turns within a token
   * budget. With a `format`, `request` has the fields of the provider's request that hold it, such
   * as `request.messages`.
   */
  history<F extends Format>(options: FormattedHistoryOptions<F>): Promise<FormattedHistory<F>>;
  history(options?: HistoryOptions): Promise<HistoryResult>;
  async history(options: HistoryOptions & { format?: Format } = {}): Promise<HistoryResult> {
    const { maxTokens, maxMessages, format, request } = options;
    const formats = format && [FORMATS[format]];
    const response = await this.#service.getHistory(
      { thread: this.ref, maxTokens, maxMessages, ...request, ...(formats && { formats }) } as MessageInitShape<
        typeof GetHistoryRequestSchema
      >,
      callOptions(options),
    );
    const history = Object.assign(response, { messages: response.messages.map(stored) });
    return format ? Object.assign(history, { request: fieldsOf(format, response.rendered[0]?.body ?? "") }) : history;
  }

  /** Replaces the metadata of a message, by its messageId or externalId. Undefined clears it. */
  async updateMessage(messageId: string, metadata: NewJson | undefined, options?: CallOptions): Promise<StoredMessage> {
    const text = metadata === undefined ? "" : jsonText(metadata, "metadata");
    const request = { thread: this.ref, messageId, metadata: text };
    return stored((await this.#service.updateMessage(request, callOptions(options))).message!);
  }

  /**
   * Deletes a message, by its messageId or externalId, what was derived from it, and memories that
   * nothing else supports. False: the conversation has no such message.
   */
  async deleteMessage(messageId: string, options?: CallOptions): Promise<boolean> {
    return (await this.#service.deleteMessage({ thread: this.ref, messageId }, callOptions(options))).deleted;
  }

  /**
   * Extracts long-term memories of the user from the newest messages now, and says whether that is
   * complete and how many messages wait. Without it they are extracted too, when the thread has
   * been quiet for some seconds, or when many messages wait.
   */
  async extractMemories(options: ExtractOptions = {}): Promise<ExtractMemoriesResponse> {
    const maxWait = options.maxWaitMs === undefined ? undefined : durationFromMs(options.maxWaitMs);
    return this.#extractions.extractMemories({ thread: this.ref, maxWait }, callOptions(options));
  }

  /**
   * Adds events of an agent to the conversation's event log: all of them or none. Events are no
   * messages: no history, search, context or memory contains them. The thread must exist.
   */
  async appendEvents(events: NewEvent | readonly NewEvent[], options: AppendEventsOptions = {}): Promise<AppendEventsResponse> {
    const list: readonly NewEvent[] = isList(events) ? events : [events];
    const inputs = list.map(({ type, data, createTime, messageId }) => ({
      type,
      json: data === undefined ? "" : jsonText(data, "data"),
      createTime: createTime && timestampFromDate(createTime),
      messageId,
    }));
    const request = { thread: this.ref, events: inputs, requestId: options.requestId };
    return this.#events.appendEvents(request, callOptions(options));
  }

  /** The event log, read in pages as they are needed. A session without a thread has no events. */
  async *events(options: EventsOptions = {}): AsyncGenerator<StoredEvent, void, undefined> {
    const { types, startTime, endTime, newestFirst, pageSize } = options;
    const request: MessageInitShape<typeof ListEventsRequestSchema> = {
      thread: this.ref,
      types,
      startTime: startTime && timestampFromDate(startTime),
      endTime: endTime && timestampFromDate(endTime),
      orderBy: newestFirst ? "number desc" : "number",
      pageSize,
    };
    try {
      yield* pages(async (pageToken) => {
        const page = await this.#events.listEvents({ ...request, pageToken }, callOptions(options));
        return [page.events.map(withData), page.nextPageToken];
      });
    } catch (error) {
      if (!this.#isUnborn(error)) throw error;
    }
  }

  /**
   * Gives files their content again: a file that was stored with a `data:` URL comes back with an
   * `ni:` URL if the server keeps such content in object storage. Changes the messages.
   */
  async inlineFiles(messages: readonly { parts: Part[] }[], options?: CallOptions): Promise<void> {
    const files = messages
      .flatMap(({ parts }) => parts.flatMap(({ content }) => (content.case === "toolResult" ? content.value.content : [{ content }])))
      .flatMap(({ content }) => (content.case === "file" ? [content.value] : []));
    const contents = new Map<string, Promise<Uint8Array | undefined>>();
    for (const { location } of files) {
      if (location.case !== "url" || !location.value.startsWith("ni:") || contents.has(location.value)) continue;
      contents.set(location.value, this.#fileContent(location.value, options));
    }
    for (const file of files) {
      const content = file.location.case === "url" ? await contents.get(file.location.value) : undefined;
      if (content) file.location = { case: "url", value: dataUrl(content, file.mimeType) };
    }
  }

  async #fileContent(url: string, options: CallOptions | undefined): Promise<Uint8Array | undefined> {
    try {
      return (await this.#files.getFileContent({ url }, callOptions(options))).content;
    } catch (error) {
      // It was deleted with the last message that had it.
      if (error instanceof RecollectError && error.reason === "FILE_NOT_FOUND") return undefined;
      throw error;
    }
  }

  /** Deletes all messages and what was derived from them, keeps the thread, and returns their number. */
  async clear(options?: CallOptions): Promise<number> {
    const { deletedMessageCount } = await this.#threads.clearThread({ thread: this.ref }, callOptions(options));
    return Number(deletedMessageCount);
  }

  /** Deletes the thread with everything in it. False if it does not exist. */
  async delete(options?: CallOptions): Promise<boolean> {
    return (await this.#threads.deleteThread({ thread: this.ref }, callOptions(options))).deleted;
  }

  /** The session with its names. */
  toString(): string {
    return `Session(${shown(this.named)})`;
  }

  /** What Node.js prints. */
  [INSPECT](): string {
    return this.toString();
  }

  /** Whether a call failed because the session has no thread yet. */
  #isUnborn(error: unknown): boolean {
    return !("threadId" in this.named) && error instanceof RecollectError && error.reason === "THREAD_NOT_FOUND";
  }
}

/** What a body in a format is made of. */
function fieldsOf<F extends Format>(format: F, body: string): Bodies[F] {
  return format === "text" ? ({ text: body } as Bodies[F]) : (JSON.parse(body) as Bodies[F]);
}

function isList(events: NewEvent | readonly NewEvent[]): events is readonly NewEvent[] {
  return Array.isArray(events);
}
