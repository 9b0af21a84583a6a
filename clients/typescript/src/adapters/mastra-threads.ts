// Threads and resources of Mastra as threads of the contract.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { StorageThreadType } from "@mastra/core/memory";
import type { StorageResourceType } from "@mastra/core/storage";
import type { BaseClient } from "../client.js";
import { RecollectError } from "../errors.js";
import { ThreadSchema, type TargetSchema, type ThreadRefSchema } from "../gen/recollect/v1/thread_pb.js";
import { ThreadService } from "../gen/recollect/v1/thread_service_pb.js";
import { jsonText } from "../json.js";
import { stored, type StoredThread } from "../stored.js";
import { NO_USER, userId, type User } from "../user.js";

const THREAD = "mastra_thread";
const RESOURCE = "mastra_resource";
const OWNER = "mastra_owner";

/** What messages are listed of. */
export type Target = MessageInitShape<typeof TargetSchema> & { target: { case: string } };

/** The names of a thread of the contract. */
export interface Names {
  app: string;
  user: User;
  session: string;
}

/**
 * The records of threads and resources, each the metadata of a thread of the contract.
 *
 * Mastra names a thread by its id alone, the contract also by its user. So a second app, the
 * directory, has a thread without messages for each thread of Mastra, which names its owner,
 * and one for each resource.
 */
export class Records {
  readonly #client: BaseClient;
  readonly #app: string;
  readonly #directory: string;
  readonly #owners = new Map<string, string>();

  constructor(client: BaseClient, app: string) {
    this.#client = client;
    this.#app = app;
    this.#directory = `${app}:mastra`;
  }

  /** The conversation of a thread. */
  names(threadId: string, resourceId: string): Names {
    return { app: this.#app, user: resourceId, session: `thread:${threadId}` };
  }

  /** The resource that a thread belongs to. undefined: there is no such thread. */
  async owner(threadId: string): Promise<string | undefined> {
    const known = this.#owners.get(threadId);
    if (known !== undefined) return known;
    const entry = await this.#read(this.#entry(threadId));
    const owner = entry?.metadata[OWNER];
    if (typeof owner !== "string") return undefined;
    this.#remember(threadId, owner);
    return owner;
  }

  async thread(threadId: string, resourceId?: string): Promise<StorageThreadType | null> {
    const remembered = resourceId === undefined && this.#owners.has(threadId);
    const owner = resourceId ?? (await this.owner(threadId));
    if (owner === undefined) return null;
    const found = await this.#read(this.names(threadId, owner));
    if (found) return threadOf(found) ?? null;
    // Another process may have deleted it or given it to another resource.
    this.#owners.delete(threadId);
    return remembered ? this.thread(threadId) : null;
  }

  async saveThread(thread: StorageThreadType): Promise<void> {
    await this.#write(this.#entry(thread.id), { [OWNER]: thread.resourceId });
    this.#remember(thread.id, thread.resourceId);
    await this.#write(this.names(thread.id, thread.resourceId), { [THREAD]: JSON.stringify(thread) }, thread.title ?? "");
  }

  /** Deletes a thread with its messages. */
  async deleteThread(threadId: string): Promise<void> {
    const owner = await this.owner(threadId);
    if (owner !== undefined) await this.#client.threads.delete(this.names(threadId, owner));
    await this.#client.threads.delete(this.#entry(threadId));
    this.#owners.delete(threadId);
  }

  /** All threads, or those of a resource. */
  async threads(resourceId: string | undefined): Promise<StorageThreadType[]> {
    const threads: StorageThreadType[] = [];
    for await (const thread of this.#client.threads.list({ app: this.#app, user: resourceId, pageSize: 500 })) {
      const made = threadOf(thread);
      if (made) threads.push(made);
    }
    return threads;
  }

  /** The number of messages of a thread. */
  async messageCount(names: Names): Promise<number> {
    return Number((await this.#read(names))?.messageCount ?? 0);
  }

  /** Forgets what it knows of threads, after all have been deleted. */
  forget(): void {
    this.#owners.clear();
  }

  async resource(resourceId: string): Promise<StorageResourceType | null> {
    const found = await this.#read(this.#resource(resourceId));
    const text = found?.metadata[RESOURCE];
    return typeof text === "string" ? dated(JSON.parse(text) as StorageResourceType) : null;
  }

  async saveResource(resource: StorageResourceType): Promise<void> {
    await this.#write(this.#resource(resource.id), { [RESOURCE]: JSON.stringify(resource) });
  }

  #entry(threadId: string): Names {
    return { app: this.#directory, user: NO_USER, session: `thread:${threadId}` };
  }

  #resource(resourceId: string): Names {
    return { app: this.#directory, user: resourceId, session: "thread:resource" };
  }

  #remember(threadId: string, owner: string): void {
    this.#owners.delete(threadId);
    this.#owners.set(threadId, owner);
    if (this.#owners.size > 10_000) this.#owners.delete(this.#owners.keys().next().value!);
  }

  async #read(names: Names): Promise<StoredThread | undefined> {
    const threads = this.#client.service(ThreadService);
    const found = await orUndefined(threads.getThread({ thread: threadRef(names) }));
    return found?.thread && stored(found.thread);
  }

  async #write(names: Names, record: Record<string, string>, title = ""): Promise<void> {
    const threads = this.#client.service(ThreadService);
    const named = sessionRef(names);
    const metadata = jsonText(record);
    const { created } = await threads.resolveThread({ session: named, metadata, title });
    if (created) return;
    const thread = create(ThreadSchema, { ...named, metadata, title });
    await threads.updateThread({ thread, updateMask: { paths: ["metadata", "title"] } });
  }
}

export function threadTarget(names: Names): Target {
  return { target: { case: "thread", value: threadRef(names) } };
}

export function userTarget(appId: string, userId: string): Target {
  return { target: { case: "user", value: { appId, userId } } };
}

export function appTarget(appId: string): Target {
  return { target: { case: "app", value: { appId } } };
}

function threadRef(names: Names): MessageInitShape<typeof ThreadRefSchema> {
  return { thread: { case: "session", value: sessionRef(names) } };
}

function sessionRef({ app, user, session }: Names) {
  return { appId: app, userId: userId(user), sessionKey: session };
}

/** The result of a call, or undefined if its thread does not exist. */
export async function orUndefined<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof RecollectError && error.reason === "THREAD_NOT_FOUND") return undefined;
    throw error;
  }
}

function threadOf({ metadata, lastSeq, updateTime }: StoredThread): StorageThreadType | undefined {
  const text = metadata[THREAD];
  if (typeof text !== "string") return undefined;
  const record = dated(JSON.parse(text) as StorageThreadType);
  // Messages change the thread without changing its record.
  const changed = lastSeq > 0n && updateTime ? timestampDate(updateTime) : record.updatedAt;
  return { ...record, updatedAt: changed > record.updatedAt ? changed : record.updatedAt };
}

function dated<T extends { createdAt: Date; updatedAt: Date }>(record: T): T {
  return { ...record, createdAt: new Date(record.createdAt), updatedAt: new Date(record.updatedAt) };
}
