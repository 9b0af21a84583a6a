// The domain of Mastra's storage that has threads, messages and resources.
import type { MastraDBMessage } from "@mastra/core/agent";
import type { StorageThreadType } from "@mastra/core/memory";
import {
  calculatePagination,
  MemoryStorage,
  normalizePerPage,
  type StorageListMessagesByResourceIdInput,
  type StorageListMessagesInput,
  type StorageListMessagesOutput,
  type StorageListThreadsInput,
  type StorageListThreadsOutput,
  type StorageResourceType,
} from "@mastra/core/storage";
import type { BaseClient } from "../client.js";
import { RecollectError } from "../errors.js";
import { MessageService } from "../gen/recollect/v1/message_service_pb.js";
import { jsonText } from "../json.js";
import { stored as parsed, type StoredMessage } from "../stored.js";
import { stableJson } from "./exact.js";
import { ID, isEdited, restored, stored } from "./mastra-messages.js";
import { appTarget, orUndefined, Records, threadTarget, userTarget, type Names, type Target } from "./mastra-threads.js";
import { pages } from "../pages.js";

/** Where Mastra's data is. */
export interface MastraOptions {
  /** The app of the conversations: 1 to 120 characters. The app `APP:mastra` has their directory. */
  app: string;
}

type Update = Partial<Omit<MastraDBMessage, "createdAt">> & { id: string };
type DateRange = NonNullable<StorageListMessagesInput["filter"]>["dateRange"];

/** A message of Mastra and the one that it is stored as. */
interface Found {
  message: MastraDBMessage;
  record: StoredMessage;
}

const BATCH = 100;

/**
 * Threads, messages and resources of Mastra in Recollect. Messages are messages of
 * conversations, so recall, summaries and long-term memories have them too.
 *
 * What a message of Recollect says does not change: an updated message is deleted and stored again
 * at the end of its conversation. A message has at most 1 MiB; a thread's record, which contains its
 * working memory, and a resource's have at most 16 KiB. Observational memory of Mastra is not
 * supported: Recollect has its own.
 */
export class RecollectMemoryStorage extends MemoryStorage {
  override readonly supportsPartialThreadUpdate = true;
  readonly #client: BaseClient;
  readonly #app: string;
  readonly #records: Records;

  constructor(client: BaseClient, { app }: MastraOptions) {
    super();
    this.#client = client;
    this.#app = app;
    this.#records = new Records(client, app);
  }

  /** Deletes all threads, messages and resources of the app. */
  override async dangerouslyClearAll(): Promise<void> {
    for (const app of [this.#app, `${this.#app}:mastra`]) {
      for await (const { threadId } of this.#client.threads.list({ app })) {
        await this.#client.threads.delete(threadId);
      }
    }
    this.#records.forget();
  }

  override getThreadById(args: { threadId: string; resourceId?: string }): Promise<StorageThreadType | null> {
    return this.#records.thread(args.threadId, args.resourceId);
  }

  override async saveThread({ thread }: { thread: StorageThreadType }): Promise<StorageThreadType> {
    const owner = await this.#records.owner(thread.id);
    if (owner !== undefined && owner !== thread.resourceId) await this.#move(thread.id, owner, thread.resourceId);
    await this.#records.saveThread(thread);
    return thread;
  }

  override async updateThread(args: {
    id: string;
    title?: string;
    metadata?: Record<string, unknown>;
  }): Promise<StorageThreadType> {
    const thread = await this.#records.thread(args.id);
    if (!thread) throw new Error(`Thread with id ${args.id} not found`);
    const updated = {
      ...thread,
      ...(args.title !== undefined && { title: args.title }),
      metadata: { ...thread.metadata, ...args.metadata },
      updatedAt: new Date(),
    };
    await this.#records.saveThread(updated);
    return updated;
  }

  override async deleteThread({ threadId }: { threadId: string }): Promise<void> {
    await this.#records.deleteThread(threadId);
  }

  /** Gives a thread with all its messages to another resource. */
  override async updateThreadResourceId(args: { threadId: string; resourceId: string }): Promise<StorageThreadType> {
    const thread = await this.#records.thread(args.threadId);
    if (!thread) throw new Error(`Thread "${args.threadId}" not found`);
    if (thread.resourceId === args.resourceId) return thread;
    return this.saveThread({ thread: { ...thread, resourceId: args.resourceId, updatedAt: new Date() } });
  }

  override async listThreads(args: StorageListThreadsInput): Promise<StorageListThreadsOutput> {
    const { page = 0, perPage: wanted, filter } = args;
    this.validatePaginationInput(page, wanted ?? 100);
    this.validateMetadataKeys(filter?.metadata);
    const { field, direction } = this.parseOrderBy(args.orderBy);
    const entries = Object.entries(filter?.metadata ?? {});
    const all = await this.#records.threads(filter?.resourceId);
    const threads = all.filter(({ metadata }) =>
      entries.every(([key, value]) => stableJson(metadata?.[key] ?? null) === stableJson(value ?? null)),
    );
    threads.sort((a, b) => a[field].getTime() - b[field].getTime());
    if (direction === "DESC") threads.reverse();
    const { shown, ...about } = paginate(threads, page, wanted, 100);
    return { threads: shown, ...about };
  }

  override async listMessages(args: StorageListMessagesInput): Promise<StorageListMessagesOutput> {
    const { threadId, resourceId, include = [], filter, perPage: wanted, page = 0 } = args;
    const threadIds = [threadId].flat();
    if (threadIds.length === 0 || threadIds.some((id) => !id.trim())) {
      throw new Error("threadId must be a non-empty string or array of non-empty strings");
    }
    this.validatePaginationInput(page, wanted ?? 40);
    const { direction } = this.parseOrderBy(args.orderBy, "ASC");
    const isPlain = threadIds.length === 1 && include.length === 0 && !filter && resourceId === undefined;
    if (isPlain && direction === "DESC" && page === 0 && typeof wanted === "number") {
      return this.#newest(threadIds[0]!, wanted);
    }
    const threads = new Map<string, Found[]>();
    for (const id of new Set([...threadIds, ...include.flatMap((item) => item.threadId ?? [])])) {
      threads.set(id, await this.#messages(id));
    }
    const all = threadIds.flatMap((id) => threads.get(id) ?? []).map(({ message }) => message);
    const selected = all.filter(
      (message) => (resourceId === undefined || message.resourceId === resourceId) && inRange(message, filter?.dateRange),
    );
    selected.sort(byTime);
    if (direction === "DESC") selected.reverse();
    const { shown, ...about } = paginate(selected, page, wanted, 40);

    const messages = new Map(shown.map((message) => [message.id, message]));
    for (const item of include) {
      const inThread = [...threads.values()].find((found) => found.some(({ message }) => message.id === item.id));
      const context = inThread ?? (await this.#threadWith(item.id));
      const at = context.findIndex(({ message }) => message.id === item.id);
      if (at < 0) continue;
      const { withPreviousMessages = 0, withNextMessages = 0 } = item;
      for (const { message } of context.slice(Math.max(0, at - withPreviousMessages), at + withNextMessages + 1)) {
        if (resourceId === undefined || message.resourceId === resourceId) messages.set(message.id, message);
      }
    }
    const listed = [...messages.values()].sort(byTime);
    if (direction === "DESC") listed.reverse();
    const hasMore = include.length > 0 ? selected.some(({ id }) => !messages.has(id)) : about.hasMore;
    return { messages: listed, ...about, hasMore };
  }

  override async listMessagesByResourceId(args: StorageListMessagesByResourceIdInput): Promise<StorageListMessagesOutput> {
    const { resourceId, filter, perPage, page = 0, orderBy } = args;
    this.validatePaginationInput(page, perPage ?? 40);
    const found = (await this.#list(userTarget(this.#app, resourceId))).map(({ message }) => message);
    const messages = found.filter((message) => inRange(message, filter?.dateRange)).sort(byTime);
    if (this.parseOrderBy(orderBy, "ASC").direction === "DESC") messages.reverse();
    const { shown, ...about } = paginate(messages, page, perPage, 40);
    return { messages: shown, ...about };
  }

  override async listMessagesById({ messageIds }: { messageIds: string[] }): Promise<{ messages: MastraDBMessage[] }> {
    const found = await Promise.all(messageIds.map((id) => this.#find(id)));
    return { messages: found.flatMap((one) => (one ? [one.message] : [])).sort(byTime) };
  }

  /** Stores messages; one whose id is known replaces the stored one. */
  override async saveMessages({ messages }: { messages: MastraDBMessage[] }): Promise<{ messages: MastraDBMessage[] }> {
    for (const threadId of new Set(messages.map((message) => message.threadId))) {
      const some = messages.filter((message) => message.threadId === threadId).sort(byTime);
      if (!threadId) throw new Error("Expected to find a threadId for message, but couldn't find one.");
      const owner = await this.#records.owner(threadId);
      if (owner === undefined) throw new Error(`Thread ${threadId} not found`);
      await this.#save(this.#records.names(threadId, owner), some);
    }
    return { messages };
  }

  override async updateMessages({ messages }: { messages: Update[] }): Promise<MastraDBMessage[]> {
    const updated: MastraDBMessage[] = [];
    for (const { id, content, ...fields } of messages) {
      const found = await this.#find(id);
      if (!found) continue;
      const { message, record } = found;
      const metadata = { ...message.content.metadata, ...content?.metadata };
      const changed = { ...message, ...fields, content: { ...message.content, ...content } } as MastraDBMessage;
      if (Object.keys(metadata).length > 0) changed.content.metadata = metadata;
      if (changed.threadId !== message.threadId) await this.#delete(record);
      await this.saveMessages({ messages: [changed] });
      updated.push(changed);
    }
    return updated;
  }

  override async deleteMessages(messageIds: string[]): Promise<void> {
    for (const id of messageIds) {
      const found = await this.#find(id);
      if (found) await this.#delete(found.record);
    }
  }

  override getResourceById({ resourceId }: { resourceId: string }): Promise<StorageResourceType | null> {
    return this.#records.resource(resourceId);
  }

  override async saveResource({ resource }: { resource: StorageResourceType }): Promise<StorageResourceType> {
    await this.#records.saveResource(resource);
    return resource;
  }

  override async updateResource(args: {
    resourceId: string;
    workingMemory?: string;
    metadata?: Record<string, unknown>;
  }): Promise<StorageResourceType> {
    const { resourceId, workingMemory, metadata } = args;
    const known = await this.#records.resource(resourceId);
    const now = new Date();
    const resource: StorageResourceType = {
      id: resourceId,
      createdAt: now,
      ...known,
      ...(workingMemory !== undefined && { workingMemory }),
      metadata: { ...known?.metadata, ...metadata },
      updatedAt: now,
    };
    return this.saveResource({ resource });
  }

  /** The messages of a thread, by their time. */
  async #messages(threadId: string): Promise<Found[]> {
    const owner = await this.#records.owner(threadId);
    if (owner === undefined) return [];
    return (await orUndefined(this.#list(threadTarget(this.#records.names(threadId, owner))))) ?? [];
  }

  /** The newest messages of a thread, newest first; messages before them are not read. */
  async #newest(threadId: string, count: number): Promise<StorageListMessagesOutput> {
    const owner = (await this.#records.owner(threadId)) ?? "";
    const names = this.#records.names(threadId, owner);
    const messages: MastraDBMessage[] = [];
    // An edited message is later in the conversation than its time tells.
    let inOrder = 0;
    for await (const record of this.#client.session(names).messages({ newestFirst: true, pageSize: Math.min(count + 1, 500) })) {
      if (inOrder >= count) break;
      const message = restored(record);
      if (!message) continue;
      messages.push(message);
      if (!isEdited(record)) inOrder++;
    }
    const total = await this.#records.messageCount(names);
    const shown = messages.sort(byTime).reverse().slice(0, count);
    return { messages: shown, total, page: 0, perPage: count, hasMore: shown.length < total };
  }

  async #list(target: Target, id?: string): Promise<Found[]> {
    const service = this.#client.service(MessageService);
    const filter = id === undefined ? undefined : { metadata: jsonText({ [ID]: id }) };
    const orderBy = target.target.case === "thread" ? "seq" : "create_time";
    const records = pages(async (pageToken) => {
      const page = await service.listMessages({ target, filter, orderBy, pageSize: 500, pageToken });
      return [page.messages.map(parsed), page.nextPageToken];
    });
    const found: Found[] = [];
    for await (const record of records) {
      const message = restored(record);
      if (message) found.push({ message, record });
    }
    return found.sort((a, b) => byTime(a.message, b.message));
  }

  /** A message by its id alone, which Mastra does not name the thread with. */
  async #find(id: string): Promise<Found | undefined> {
    return (await this.#list(appTarget(this.#app), id))[0];
  }

  async #threadWith(id: string): Promise<Found[]> {
    const threadId = (await this.#find(id))?.message.threadId;
    return threadId ? this.#messages(threadId) : [];
  }

  async #save(names: Names, messages: MastraDBMessage[]): Promise<void> {
    const memory = this.#client.session(names);
    for (let start = 0; start < messages.length; start += BATCH) {
      const batch = messages.slice(start, start + BATCH);
      try {
        // Usually all are new.
        await memory.append(batch.map((message) => stored(message, message.id, false)));
      } catch (error) {
        if (!(error instanceof RecollectError && error.reason === "MESSAGE_ALREADY_EXISTS")) throw error;
        for (const message of batch) await this.#replace(names, message);
      }
    }
  }

  /** Stores a message, in the place of one with its id. */
  async #replace(names: Names, message: MastraDBMessage): Promise<void> {
    const memory = this.#client.session(names);
    const known = await this.#list(threadTarget(names), message.id);
    if (known.some((one) => stableJson(one.message) === stableJson(message))) return;
    // An external_id stays taken when its message is deleted.
    const externalId = `${message.id}~${crypto.randomUUID()}`.slice(-128);
    await memory.append([stored(message, externalId, true)]);
    for (const { record } of known) await this.#delete(record);
  }

  async #delete({ threadId, messageId }: StoredMessage): Promise<void> {
    await orUndefined(this.#client.session({ threadId }).deleteMessage(messageId));
  }

  async #move(threadId: string, from: string, to: string): Promise<void> {
    const messages = (await this.#messages(threadId)).map(({ message }) => ({ ...message, resourceId: to }));
    await this.#save(this.#records.names(threadId, to), messages);
    await this.#client.threads.delete(this.#records.names(threadId, from));
  }
}

function byTime(a: MastraDBMessage, b: MastraDBMessage): number {
  return new Date(a.createdAt).getTime() - new Date(b.createdAt).getTime();
}

function inRange({ createdAt }: MastraDBMessage, range: DateRange): boolean {
  if (!range) return true;
  const time = new Date(createdAt).getTime();
  const { start, end, startExclusive, endExclusive } = range;
  const from = start ? new Date(start).getTime() : -Infinity;
  const to = end ? new Date(end).getTime() : Infinity;
  return (startExclusive ? time > from : time >= from) && (endExclusive ? time < to : time <= to);
}

function paginate<T>(entries: T[], page: number, wanted: number | false | undefined, byDefault: number) {
  const size = normalizePerPage(wanted, byDefault);
  const { offset, perPage } = calculatePagination(page, wanted, size);
  const shown = entries.slice(offset, offset + size);
  return { shown, total: entries.length, page, perPage, hasMore: offset + size < entries.length };
}
