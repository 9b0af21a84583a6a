/**
 * Storage and recall for agents of Mastra (`@mastra/core` and `@mastra/memory`).
 *
 * ```ts
 * const storage = new MastraCompositeStore({
 *   id: "recollect",
 *   domains: { memory: new RecollectMemoryStorage(recollect, { app: "support" }) },
 * });
 * const memory = new Memory({ storage, ...recollectRecall(recollect, { app: "support" }), options: { semanticRecall: true } });
 * ```
 *
 * A resource of Mastra is a user of Recollect, and a thread is a conversation of that user.
 *
 * @packageDocumentation
 */
export { RecollectMemoryStorage, type MastraOptions } from "./adapters/mastra-storage.js";
export { recollectRecall } from "./adapters/mastra-recall.js";
