import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import type { Memory, MemoryInputSchema } from "./gen/recollect/v1/memory_pb.js";
import {
  MemoryService,
  type AddedMemory,
  type FoundMemory,
  type MemoryFilterSchema,
  type SearchMemoriesRequestSchema,
} from "./gen/recollect/v1/memory_service_pb.js";
import { callOptions, type CallOptions } from "./options.js";
import { pages } from "./pages.js";

/** A user of an app. */
export interface UserNames {
  /** The bot, flow or workflow: 1 to 128 characters. */
  app: string;
  /** The person: at most 256 characters. Default: what belongs to no user. */
  user?: string;
}

/** A memory to store: its text, or a text with topics, entities, a recordId and so on. */
export type NewMemory = string | MessageInitShape<typeof MemoryInputSchema>;

/** How memories are searched. */
export interface MemorySearchOptions extends CallOptions {
  /** The number of memories: 1 to 100. Default: 10. */
  topK?: number;
  /** The least score of a match: 0 to 1. Default: 0. */
  minScore?: number;
  /** Selects memories. Default: all valid ones. */
  filter?: MessageInitShape<typeof MemoryFilterSchema>;
  /** The revision of a write that the search includes. Default: the newest memories. */
  atLeastAsFresh?: string;
}

/** How memories are listed. */
export interface MemoryListOptions extends CallOptions {
  /** Selects memories. Default: all valid ones. */
  filter?: MessageInitShape<typeof MemoryFilterSchema>;
  /** The number of memories in each answer of the server: 1 to 500. Default: 50. */
  pageSize?: number;
}

/** The long-term memories of one user: facts and preferences that outlive a conversation. */
export class Memories {
  readonly #user: { appId: string; userId?: string };
  readonly #service: Client<typeof MemoryService>;

  constructor(transport: Transport, { app, user }: UserNames) {
    this.#user = { appId: app, userId: user };
    this.#service = createClient(MemoryService, transport);
  }

  /** Stores memories, all or none, and returns them. A known text is not stored again. */
  async remember(memories: NewMemory | readonly NewMemory[], options?: CallOptions): Promise<AddedMemory[]> {
    const list: readonly NewMemory[] = isList(memories) ? memories : [memories];
    const added = await this.#service.addMemories(
      { user: this.#user, memories: list.map((memory) => (typeof memory === "string" ? { text: memory } : memory)) },
      callOptions(options),
    );
    return added.memories;
  }

  /** The memories that match a query by meaning and by keyword, best first. */
  async search(query: string, options: MemorySearchOptions = {}): Promise<FoundMemory[]> {
    const { topK, minScore, filter, atLeastAsFresh } = options;
    const request: MessageInitShape<typeof SearchMemoriesRequestSchema> = { user: this.#user, query, topK, minScore, filter };
    if (atLeastAsFresh) request.freshness = { case: "atLeastAsFresh", value: atLeastAsFresh };
    return (await this.#service.searchMemories(request, callOptions(options))).memories;
  }

  /** All memories, the newest first, read in pages as they are needed. */
  list(options: MemoryListOptions = {}): AsyncGenerator<Memory, void, undefined> {
    const { filter, pageSize } = options;
    return pages(async (pageToken) => {
      const owner = { case: "user", value: this.#user } as const;
      const page = await this.#service.listMemories({ owner, filter, pageSize, pageToken }, callOptions(options));
      return [page.memories, page.nextPageToken];
    });
  }

  /** Erases a memory. False: it did not exist. */
  async forget(memory: string | Pick<Memory, "memoryId">, options?: CallOptions): Promise<boolean> {
    const memoryId = typeof memory === "string" ? memory : memory.memoryId;
    return (await this.#service.deleteMemory({ memoryId }, callOptions(options))).deleted;
  }
}

function isList(memories: NewMemory | readonly NewMemory[]): memories is readonly NewMemory[] {
  return Array.isArray(memories);
}
