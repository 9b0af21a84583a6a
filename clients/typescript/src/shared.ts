// What both entry points export.
export { Code } from "@connectrpc/connect";
export {
  Admin,
  type Action,
  type DeletionListOptions,
  type TransactionListOptions,
  type UserScope,
} from "./admin.js";
export { App, type NewMemoryKind, type Policy, type PolicyOptions } from "./app.js";
export { BaseClient } from "./client.js";
export { RecollectError, type FieldError } from "./errors.js";
export {
  Files,
  type FileChangeOptions,
  type FileOrDirectory,
  type FileSearchOptions,
  type PutFileOptions,
  type ViewOptions,
} from "./files.js";
export type { Bodies, Format, MessageFormat, ProviderMessage } from "./formats.js";
export { jsonObject, jsonText, jsonValue, type JsonObject, type JsonValue, type NewJson } from "./json.js";
export {
  Memories,
  type MemoryFilter,
  type MemoryListOptions,
  type MemorySearchOptions,
  type MemoryTimes,
  type NewMemory,
  type ProfileOptions,
  type UserNames,
} from "./memories.js";
export type { MemoryToolCommand } from "./memory-tool.js";
export {
  roleOf,
  textOf,
  type Appendable,
  type Content,
  type MessageFilter,
  type NewMessage,
  type Turn,
} from "./messages.js";
export type { ExportOptions, ImportedRecords, ImportOptions } from "./transfer.js";
export type { ApiKey, CallOptions, CommonOptions, RetryOptions } from "./options.js";
export type { QueryTimes, RecallOptions, SearchOptions } from "./recalls.js";
export { render, type Renderable } from "./render.js";
export {
  Session,
  type AppendEventsOptions,
  type AppendOptions,
  type Context,
  type ContextInfo,
  type ContextOptions,
  type EventsOptions,
  type ExtractOptions,
  type FormattedHistoryOptions,
  type HistoryOptions,
  type MessagesOptions,
  type NewEvent,
  type ProviderAppendOptions,
  type SessionNames,
} from "./session.js";
export type {
  FormattedHistory,
  HistoryResult,
  MatchedMemory,
  Recalled,
  RecallResult,
  Remembered,
  SearchResult,
  StoredEvent,
  StoredMemory,
  StoredMessage,
  StoredThread,
} from "./stored.js";
export { Subscriptions, type SubscriptionChanges, type SubscriptionOptions } from "./subscriptions.js";
export { Threads, type ThreadListOptions, type ThreadOwner } from "./threads.js";
export { reliable } from "./transport.js";
export { NO_USER, type NoUser, type User } from "./user.js";
export type { ModelClient, WrapOptions, WrappedNames } from "./wrap.js";
export { verifyWebhook, type WebhookBatch, type WebhookEvent } from "./webhooks.js";
