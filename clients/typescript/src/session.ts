import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import {
  ContextService,
  type BuildContextRequestSchema,
  type BuildContextResponse,
} from "./gen/recollect/v1/context_service_pb.js";
import { RecollectError } from "./errors.js";
import { FileService } from "./gen/recollect/v1/file_service_pb.js";
import type { Message, Part } from "./gen/recollect/v1/message_pb.js";
import {
  MessageService,
  SortOrder,
  type AppendMessagesRequestSchema,
  type AppendMessagesResponse,
  type GetHistoryRequestSchema,
  type GetHistoryResponse,
  type ListMessagesRequestSchema,
} from "./gen/recollect/v1/message_service_pb.js";
import { MemoryMode } from "./gen/recollect/v1/policy_pb.js";
import {
  RecallService,
  type RecallRequestSchema,
  type RecallResponse,
  type SearchRequestSchema,
  type SearchResponse,
} from "./gen/recollect/v1/recall_service_pb.js";
import { ThreadService } from "./gen/recollect/v1/thread_service_pb.js";
import { FORMATS, type Bodies, type Format, type MessageFormat, type ProviderMessage } from "./formats.js";
import { Memories } from "./memories.js";
import { messagesOf, parts, providerMessagesOf, type Appendable, type Content } from "./messages.js";
import { dataUrl } from "./base64.js";
import { callOptions, type CallOptions } from "./options.js";
import { pages } from "./pages.js";

/** Your own names for a conversation. */
export interface SessionNames {
  /** The bot, flow or workflow: 1 to 128 characters. */
  app: string;
  /** The person: at most 256 characters. Default: the conversation has no user. */
  user?: string;
  /** The key of the conversation, such as `thread:42`: 1 to 512 characters. */
  session?: string;
  /** The key that an agent supplies, used if `session` is missing. */
  agentSession?: string;
}

/** How the context is made. `mode` is the kind of memory. */
export interface ContextOptions<F extends Format = "openai"> extends CallOptions {
  /** The format of the result. Default: `openai`. */
  format?: F;
  /** The system prompt, which comes first: at most 256 KiB. */
  system?: string;
  /** The token budget of the whole context. Default: that of the policy. */
  maxTokens?: number;
  /** The model whose tokenizer and window apply, such as `gpt-4o`. */
  model?: string;
  /** The text that memory is searched for. Default: the input. */
  query?: string;
  /** The kind of memory. Default: that of the policy. */
  mode?: "none" | "window" | "hybrid" | "node" | "working" | "observational";
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

/** How messages are recalled. */
export interface RecallOptions extends CallOptions {
  /** The token budget of the result. Default: none. */
  maxTokens?: number;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof RecallRequestSchema>>;
}

/** How messages are searched. */
export interface SearchOptions extends CallOptions {
  /** The number of matches: 1 to 100. Default: 10. */
  topK?: number;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof SearchRequestSchema>>;
}

/** How stored messages are listed. */
export interface MessagesOptions extends CallOptions {
  /** The newest messages first. Default: the oldest. */
  newestFirst?: boolean;
  /** The number of messages in each answer of the server: 1 to 500. Default: 50. */
  pageSize?: number;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof ListMessagesRequestSchema>>;
}

/** The part of a conversation that is given to a model. */
export interface HistoryOptions extends CallOptions {
  /** The token budget: 1 to 10,000,000. Default: 2,000. */
  maxTokens?: number;
  /** The number of messages: 1 to 500. Default: 100. */
  maxMessages?: number;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof GetHistoryRequestSchema>>;
}

const MODES = {
  none: MemoryMode.NONE,
  window: MemoryMode.WINDOW,
  hybrid: MemoryMode.HYBRID,
  node: MemoryMode.NODE,
  working: MemoryMode.WORKING,
  observational: MemoryMode.OBSERVATIONAL,
};

type ThreadName = NonNullable<MessageInitShape<typeof AppendMessagesRequestSchema>["thread"]>;

/** The memory of one conversation. The first append creates its thread. */
export class Session {
  /** What the conversation was named by. */
  readonly named: Readonly<SessionNames | { threadId: string }>;
  readonly #thread: ThreadName;
  readonly #contexts: Client<typeof ContextService>;
  readonly #service: Client<typeof MessageService>;
  readonly #recalls: Client<typeof RecallService>;
  readonly #threads: Client<typeof ThreadService>;
  readonly #files: Client<typeof FileService>;
  readonly #memories: Memories | undefined;

  constructor(transport: Transport, named: SessionNames | { threadId: string }) {
    this.named = { ...named };
    if ("threadId" in named) {
      this.#thread = { case: "threadId", value: named.threadId };
    } else {
      const { app, user, session, agentSession } = named;
      const names = { appId: app, userId: user, sessionKey: session, agentSessionKey: agentSession };
      this.#thread = { case: "session", value: names };
      this.#memories = new Memories(transport, { app, user });
    }
    this.#contexts = createClient(ContextService, transport);
    this.#service = createClient(MessageService, transport);
    this.#recalls = createClient(RecallService, transport);
    this.#threads = createClient(ThreadService, transport);
    this.#files = createClient(FileService, transport);
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
    const format: Format = options.format ?? "openai";
    const { policy, ...request } = options.request ?? {};
    const response = await this.#contexts.buildContext(
      {
        thread: this.#thread,
        input: parts(input),
        systemPrompt: options.system,
        maxTokens: options.maxTokens,
        model: options.model,
        query: options.query,
        policy: options.mode ? { ...policy, mode: MODES[options.mode] } : policy,
        ...request,
        formats: [FORMATS[format]],
      } as MessageInitShape<typeof BuildContextRequestSchema>,
      callOptions(options),
    );
    const body = response.rendered[0]?.body ?? "";
    const info: ContextInfo = { body, totalTokens: response.totalTokens, response };
    const fields = format === "text" ? { text: body } : JSON.parse(body);
    return { ...fields, ...info } as Context<F>;
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
      { thread: this.#thread, requestId, expectedHead, ...content },
      callOptions(options),
    );
  }

  /** The newest messages and the best matches with their neighbors, in conversation order. */
  async recall(query: string, options: RecallOptions = {}): Promise<RecallResponse> {
    const { maxTokens, request } = options;
    const budget = maxTokens === undefined ? undefined : ({ case: "maxTokens", value: maxTokens } as const);
    return this.#recalls.recall(
      { target: this.#thread, query, budget, ...request } as MessageInitShape<typeof RecallRequestSchema>,
      callOptions(options),
    );
  }

  /** The best matches only, best first. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResponse> {
    const { topK, request } = options;
    return this.#recalls.search(
      { target: this.#thread, query, topK, ...request } as MessageInitShape<typeof SearchRequestSchema>,
      callOptions(options),
    );
  }

  /** All stored messages on all branches, read in pages as they are needed. A session without a thread has none. */
  async *messages(options: MessagesOptions = {}): AsyncGenerator<Message, void, undefined> {
    const { newestFirst, pageSize, request } = options;
    const order = newestFirst ? SortOrder.DESCENDING : SortOrder.ASCENDING;
    try {
      yield* pages(async (pageToken) => {
        const page = await this.#service.listMessages(
          { target: this.#thread, order, pageSize, ...request, pageToken } as MessageInitShape<
            typeof ListMessagesRequestSchema
          >,
          callOptions(options),
        );
        return [page.messages, page.nextPageToken];
      });
    } catch (error) {
      if (!isUnborn(error) || this.#thread.case !== "session") throw error;
    }
  }

  /**
   * The messages that lead to the head, newest first, read in pages as they are needed. Other
   * branches are left out. It ends early where a branch starts at an erased message. A session
   * without a thread has none.
   */
  async *path(options: Pick<MessagesOptions, "pageSize" | "timeoutMs" | "signal"> = {}): AsyncGenerator<Message, void, undefined> {
    const call = { timeoutMs: options.timeoutMs, signal: options.signal };
    let wanted: string;
    try {
      wanted = (await this.#threads.getThread({ thread: this.#thread }, callOptions(call))).thread?.headMessageId ?? "";
    } catch (error) {
      if (isUnborn(error) && this.#thread.case === "session") return;
      throw error;
    }
    let last: Message | undefined;
    for await (const message of this.messages({ newestFirst: true, pageSize: options.pageSize ?? 100, ...call })) {
      // What is deeper on the same branch comes after it, and its parent may be erased.
      if (message.messageId !== wanted && message.branch !== last?.branch) continue;
      last = message;
      wanted = message.parentMessageId;
      yield message;
    }
  }

  /** The conversation that ends at the head, or at another message: whole turns within a token budget. */
  async history(options: HistoryOptions = {}): Promise<GetHistoryResponse> {
    const { maxTokens, maxMessages, request } = options;
    return this.#service.getHistory(
      { thread: this.#thread, maxTokens, maxMessages, ...request } as MessageInitShape<typeof GetHistoryRequestSchema>,
      callOptions(options),
    );
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
      // It was erased with the last message that had it.
      if (error instanceof RecollectError && error.reason === "FILE_NOT_FOUND") return undefined;
      throw error;
    }
  }

  /** Erases all messages and what was derived from them, keeps the thread, and returns their number. */
  async clear(options?: CallOptions): Promise<number> {
    const { deletedMessageCount } = await this.#threads.clearThread({ thread: this.#thread }, callOptions(options));
    return Number(deletedMessageCount);
  }

  /** Erases the thread with everything in it, and returns the number of its messages. */
  async delete(options?: CallOptions): Promise<number> {
    const { deletedMessageCount } = await this.#threads.deleteThread({ thread: this.#thread }, callOptions(options));
    return Number(deletedMessageCount);
  }
}

/** Whether a session has no thread yet. */
function isUnborn(error: unknown): boolean {
  return error instanceof RecollectError && error.reason === "THREAD_NOT_FOUND";
}
