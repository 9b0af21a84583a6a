// What both entry points export.
export { Code } from "@connectrpc/connect";
export { BaseClient, Threads, type ThreadListOptions } from "./client.js";
export { RecollectError, type FieldError } from "./errors.js";
export type { Bodies, Format, MessageFormat, ProviderMessage } from "./formats.js";
export {
  Memories,
  type MemoryListOptions,
  type MemorySearchOptions,
  type NewMemory,
  type UserNames,
} from "./memories.js";
export { roleOf, textOf, type Appendable, type Content, type NewMessage, type Turn } from "./messages.js";
export type { ApiKey, CallOptions, CommonOptions, RetryOptions } from "./options.js";
export {
  Session,
  type AppendOptions,
  type Context,
  type ContextInfo,
  type ContextOptions,
  type HistoryOptions,
  type MessagesOptions,
  type ProviderAppendOptions,
  type RecallOptions,
  type SearchOptions,
  type SessionNames,
} from "./session.js";
export { reliable } from "./transport.js";
