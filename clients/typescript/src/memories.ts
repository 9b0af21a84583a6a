import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { MemoryOrigin, MemoryType, type Memory, type MemoryInputSchema } from "./gen/recollect/v1/memory_pb.js";
import { MemoryService, type GetProfileResponse, type MemoryFilterSchema } from "./gen/recollect/v1/memory_service_pb.js";
import type { FreshnessSchema } from "./gen/recollect/v1/recall_pb.js";
import type { TargetSchema, ThreadRefSchema } from "./gen/recollect/v1/thread_pb.js";
import { jsonText, type NewJson } from "./json.js";
import { callOptions, type CallOptions } from "./options.js";
import { pages } from "./pages.js";
import { storedMemory, withMemory, type MatchedMemory, type Remembered, type StoredMemory } from "./stored.js";
import { userId, type User } from "./user.js";

/** A user of an app. */
export interface UserNames {
  /** The bot, flow or workflow: 1 to 128 characters. */
  app: string;
  /** The person: 1 to 256 characters; or NO_USER for what belongs to none. */
  user: User;
}

/** The fields of a message of the contract, with metadata and attributes as an object or as JSON text. */
type WithObjects<T> = Omit<T, "metadata" | "attributes" | `$${string}`> & { metadata?: NewJson; attributes?: NewJson };

/** A memory to store: its text, or a text with topics, entities, an externalId, a kind and so on. */
export type NewMemory = string | WithObjects<MessageInitShape<typeof MemoryInputSchema>>;

/** The times at which memories are looked at. */
export interface MemoryTimes {
  /** The time at which they were true; memories superseded since are included. */
  asOf?: Date;
  /** The time at which they were believed, including those superseded since. With asOf: believed then to be true at asOf. */
  knownAt?: Date;
}

/** Selects memories; all conditions must hold. */
export interface MemoryFilter extends MemoryTimes {
  /** A lasting fact, or an event. */
  type?: keyof typeof TYPES;
  /** Any of these topics: at most 16. */
  topics?: string[];
  /** Any of these entities: at most 16. */
  entities?: string[];
  /** The thread that they came from, such as `session.ref`. */
  thread?: MessageInitShape<typeof ThreadRefSchema>;
  /** Any of these origins. */
  origins?: (keyof typeof ORIGINS)[];
  /** The earliest time of storing, included. */
  startTime?: Date;
  /** The latest time of storing, excluded. */
  endTime?: Date;
  /** The earliest eventTime, included. */
  eventStartTime?: Date;
  /** The latest eventTime, excluded. */
  eventEndTime?: Date;
  /** Whether superseded memories are included. Default: false. */
  includeSuperseded?: boolean;
  /** Values that the metadata must have: at most 16. */
  metadata?: NewJson;
  /** Any of these kinds of the app's policy: at most 32. */
  kinds?: string[];
}

const TYPES = { semantic: MemoryType.SEMANTIC, episodic: MemoryType.EPISODIC };

const ORIGINS = {
  caller: MemoryOrigin.CALLER,
  working_memory: MemoryOrigin.WORKING_MEMORY,
  extracted: MemoryOrigin.EXTRACTED,
};

/** How memories are searched. */
export interface MemorySearchOptions extends CallOptions {
  /** The number of memories: 1 to 100. Default: 10. */
  topK?: number;
  /** The least score of a match: 0 to 1. Default: 0. */
  minScore?: number;
  /** Selects memories. Default: all valid ones. */
  filter?: MemoryFilter;
  /** Whether those of all users of the app are searched; `userId` says whose they are. Default: false. */
  allUsers?: boolean;
  /** The revision of a write that the search includes. Default: the newest memories. */
  atLeastAsFresh?: string;
}

/** How memories are listed. */
export interface MemoryListOptions extends CallOptions {
  /** Selects memories. Default: all valid ones. */
  filter?: MemoryFilter;
  /** Whether those of all users of the app are listed; `userId` says whose they are. Default: false. */
  allUsers?: boolean;
  /** The number of memories in each answer of the server: 1 to 500. Default: 50. */
  pageSize?: number;
}

/** How a profile is read. By default it has what is true and believed now. */
export interface ProfileOptions extends CallOptions, MemoryTimes {
  /** The largest size of the page: 1 to 10,000. Default: the policy's profileTokens, or else 500. */
  maxTokens?: number;
  /** The model whose tokenizer counts. Default: o200k_base. */
  model?: string;
}

/** The long-term memories of one user: facts and preferences that outlive a conversation. */
export class Memories {
  readonly #user: { appId: string; userId: string };
  readonly #service: Client<typeof MemoryService>;

  constructor(transport: Transport, { app, user }: UserNames) {
    this.#user = { appId: app, userId: userId(user) };
    this.#service = createClient(MemoryService, transport);
  }

  /** Stores memories, all or none, and returns them. A known text is not stored again. */
  async remember(memories: NewMemory | readonly NewMemory[], options?: CallOptions): Promise<Remembered[]> {
    const list: readonly NewMemory[] = isList(memories) ? memories : [memories];
    const inputs = list.map((memory) => (typeof memory === "string" ? { text: memory } : withText(memory)));
    const added = await this.#service.addMemories({ user: this.#user, memories: inputs }, callOptions(options));
    return added.memories.map(withMemory);
  }

  /** The memories that match a query by meaning and by keyword, best first. */
  async search(query: string, options: MemorySearchOptions = {}): Promise<MatchedMemory[]> {
    const { topK, minScore, allUsers, atLeastAsFresh } = options;
    const found = await this.#service.searchMemories(
      {
        target: this.#target(allUsers),
        query,
        topK,
        minScore,
        filter: memoryFilter(options.filter),
        freshness: freshness(atLeastAsFresh),
      },
      callOptions(options),
    );
    return found.memories.map(withMemory);
  }

  /** All memories, the newest first, read in pages as they are needed. */
  list(options: MemoryListOptions = {}): AsyncGenerator<StoredMemory, void, undefined> {
    const { pageSize } = options;
    const target = this.#target(options.allUsers);
    const filter = memoryFilter(options.filter);
    return pages(async (pageToken) => {
      const request = { target, filter, pageSize, pageToken };
      const page = await this.#service.listMemories(request, callOptions(options));
      return [page.memories.map(storedMemory), page.nextPageToken];
    });
  }

  /** What is known of the user, by default today, on one page. Its text is stored text: give it to a model as data. */
  async profile(options: ProfileOptions = {}): Promise<GetProfileResponse> {
    const { maxTokens, model } = options;
    const request = { user: this.#user, maxTokens, model, ...memoryTimes(options) };
    return this.#service.getProfile(request, callOptions(options));
  }

  /** Deletes a memory. False: it did not exist. */
  async forget(memory: string | Pick<Memory, "memoryId">, options?: CallOptions): Promise<boolean> {
    const memoryId = typeof memory === "string" ? memory : memory.memoryId;
    return (await this.#service.deleteMemory({ memoryId }, callOptions(options))).deleted;
  }

  #target(allUsers = false): MessageInitShape<typeof TargetSchema> {
    if (!allUsers) return { target: { case: "user", value: this.#user } };
    return { target: { case: "app", value: { appId: this.#user.appId } } };
  }
}

/** The filter of a request. */
function memoryFilter(filter: MemoryFilter | undefined): MessageInitShape<typeof MemoryFilterSchema> | undefined {
  if (!filter) return undefined;
  const { type, topics, entities, thread, origins, includeSuperseded, metadata, kinds } = filter;
  const time = (given: Date | undefined) => given && timestampFromDate(given);
  return {
    type: type && TYPES[type],
    topics,
    entities,
    thread,
    origins: origins?.map((origin) => ORIGINS[origin]),
    startTime: time(filter.startTime),
    endTime: time(filter.endTime),
    eventStartTime: time(filter.eventStartTime),
    eventEndTime: time(filter.eventEndTime),
    ...memoryTimes(filter),
    includeSuperseded,
    metadata: metadata && jsonText(metadata, "metadata"),
    kinds,
  };
}

/** The times of a request. */
export function memoryTimes({ asOf, knownAt }: MemoryTimes) {
  return { asOf: asOf && timestampFromDate(asOf), knownAt: knownAt && timestampFromDate(knownAt) };
}

/** The freshness that includes a write. */
export function freshness(atLeastAsFresh: string | undefined): MessageInitShape<typeof FreshnessSchema> | undefined {
  return atLeastAsFresh ? { requirement: { case: "atLeastAsFresh", value: atLeastAsFresh } } : undefined;
}

function withText<T extends { metadata?: NewJson; attributes?: NewJson }>(
  given: T,
): Omit<T, "metadata" | "attributes"> & { metadata?: string; attributes?: string } {
  const { metadata, attributes } = given;
  return {
    ...given,
    metadata: metadata && jsonText(metadata, "metadata"),
    attributes: attributes && jsonText(attributes, "attributes"),
  };
}

function isList(memories: NewMemory | readonly NewMemory[]): memories is readonly NewMemory[] {
  return Array.isArray(memories);
}
