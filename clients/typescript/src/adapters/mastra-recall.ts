// Semantic recall of Mastra by Recollect's search.
import { MastraVector, type QueryResult } from "@mastra/core/vector";
import type { BaseClient } from "../client.js";
import { RecallService } from "../gen/recollect/v1/recall_service_pb.js";
import { RecallScope } from "../gen/recollect/v1/policy_pb.js";
import { jsonObject } from "../json.js";
import { ID, THREAD } from "./mastra-messages.js";
import type { MastraOptions } from "./mastra-storage.js";
import { Records, threadTarget, userTarget } from "./mastra-threads.js";

/**
 * The `vector` and the `embedder` of a `Memory` whose storage is `RecollectMemoryStorage`:
 * semantic recall then is Recollect's search, by meaning and by keyword, over the messages that
 * the storage has. Nothing else is embedded or stored. They fit nothing but each other.
 */
export function recollectRecall(client: BaseClient, options: MastraOptions) {
  return { vector: new RecollectVector(client, options), embedder: textAsVector };
}

/** The server has the embedding model: a "vector" is the text itself, as code points. */
const textAsVector = {
  specificationVersion: "v3" as const,
  provider: "recollect",
  modelId: "text",
  maxEmbeddingsPerCall: 1_000,
  supportsParallelCalls: true,
  async doEmbed({ values }: { values: string[] }) {
    const embeddings = values.map((value) => Array.from(value, (character) => character.codePointAt(0)!));
    return { embeddings, warnings: [] };
  },
};

class RecollectVector extends MastraVector {
  readonly #client: BaseClient;
  readonly #app: string;
  readonly #records: Records;

  constructor(client: BaseClient, { app }: MastraOptions) {
    super({ id: "recollect" });
    this.#client = client;
    this.#app = app;
    this.#records = new Records(client, app);
  }

  override async query({ queryVector, topK = 10, filter }: { queryVector?: number[]; topK?: number; filter?: unknown }): Promise<QueryResult[]> {
    const { thread_id: threadId, resource_id: resource } = (filter ?? {}) as Record<string, string | undefined>;
    const resourceId = resource ?? (threadId && (await this.#records.owner(threadId)));
    // Without a resource, messages of all users would be searched.
    if (!resourceId) return [];
    const query = String.fromCodePoint(...(queryVector ?? []).slice(0, 8_192)).slice(0, 8_192);
    if (query.trim() === "") return [];
    const { matches } = await this.#client.service(RecallService).search({
      target: threadId ? threadTarget(this.#records.names(threadId, resourceId)) : userTarget(this.#app, resourceId),
      ...(threadId && { scope: RecallScope.THREAD }),
      query,
      topK: Math.min(topK, 100),
    });
    return matches.flatMap(({ message, score }) => {
      const { [ID]: id, [THREAD]: thread_id } = jsonObject(message?.metadata ?? "");
      return typeof id === "string" ? [{ id, score, metadata: { message_id: id, thread_id, resource_id: resourceId } }] : [];
    });
  }

  // The storage has the messages already, and Recollect indexes them.
  override async upsert({ vectors, ids }: { vectors: number[][]; ids?: string[] }): Promise<string[]> {
    return ids ?? vectors.map(() => crypto.randomUUID());
  }
  override async createIndex(): Promise<void> {}
  override async listIndexes(): Promise<string[]> {
    return [];
  }
  override async describeIndex() {
    return { dimension: 0, count: 0, metric: "cosine" as const };
  }
  override async deleteIndex(): Promise<void> {}
  override async updateVector(): Promise<void> {}
  override async deleteVector(): Promise<void> {}
  override async deleteVectors(): Promise<void> {}
}
