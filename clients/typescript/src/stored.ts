// What calls return of stored objects: their metadata as an object instead of JSON text.
import type { AgentEvent } from "./gen/recollect/v1/event_pb.js";
import type { Memory } from "./gen/recollect/v1/memory_pb.js";
import type { AddedMemory, FoundMemory } from "./gen/recollect/v1/memory_service_pb.js";
import type { Message } from "./gen/recollect/v1/message_pb.js";
import type { GetHistoryResponse } from "./gen/recollect/v1/message_service_pb.js";
import type { RecalledMessage, RecallResponse, SearchResponse } from "./gen/recollect/v1/recall_service_pb.js";
import type { Thread } from "./gen/recollect/v1/thread_pb.js";
import type { Bodies, Format } from "./formats.js";
import { jsonObject, jsonValue, type JsonObject, type JsonValue } from "./json.js";

type Stored<T extends { metadata: string }> = Omit<T, "metadata"> & {
  /** Your own data. Integers beyond 2^53 are bigint. */
  metadata: JsonObject;
};

/** A stored message. */
export type StoredMessage = Stored<Message>;
/** A stored thread. */
export type StoredThread = Stored<Thread>;
/** A stored long-term memory. */
export type StoredMemory = Omit<Stored<Memory>, "attributes"> & {
  /** The values of its kind. Integers beyond 2^53 are bigint. */
  attributes: JsonObject;
};

/** A message that was recalled or found, with the reasons. */
export type Recalled = Omit<RecalledMessage, "message"> & { message?: StoredMessage };
/** What `recall` returns. */
export type RecallResult = Omit<RecallResponse, "messages"> & { messages: Recalled[] };
/** What `search` returns. */
export type SearchResult = Omit<SearchResponse, "matches"> & { matches: Recalled[] };
/** What `history` returns. */
export type HistoryResult = Omit<GetHistoryResponse, "messages"> & { messages: StoredMessage[] };
/** What `history` returns with a format. */
export type FormattedHistory<F extends Format> = HistoryResult & {
  /** The fields of the provider's request that hold the conversation. */
  readonly request: Bodies[F];
};
/** The result of remembering one memory. */
export type Remembered = Omit<AddedMemory, "memory"> & { memory?: StoredMemory };
/** A memory that matches a query. */
export type MatchedMemory = Omit<FoundMemory, "memory"> & { memory?: StoredMemory };

/** An entry of a conversation's event log. */
export type StoredEvent = AgentEvent & {
  /** The value of `json`. Undefined: the event has no data. Integers beyond 2^53 are bigint. */
  data: JsonValue | undefined;
};

/** The object itself, with its metadata parsed. */
export function stored<T extends { metadata: string }>(object: T): Stored<T> {
  return Object.assign(object as Omit<T, "metadata">, { metadata: jsonObject(object.metadata) });
}

/** The memory itself, with its metadata and its attributes parsed. */
export function storedMemory(memory: Memory): StoredMemory {
  return Object.assign(stored(memory), { attributes: jsonObject(memory.attributes) });
}

/** An entry itself, with the metadata of its message parsed. */
export function withMessage<T extends { message?: Message }>(entry: T): Omit<T, "message"> & { message?: StoredMessage } {
  if (entry.message) stored(entry.message);
  return entry as Omit<T, "message"> & { message?: StoredMessage };
}

/** An entry itself, with the metadata and the attributes of its memory parsed. */
export function withMemory<T extends { memory?: Memory }>(entry: T): Omit<T, "memory"> & { memory?: StoredMemory } {
  if (entry.memory) storedMemory(entry.memory);
  return entry as Omit<T, "memory"> & { memory?: StoredMemory };
}

/** The event itself, with its data. */
export function withData(event: AgentEvent): StoredEvent {
  return Object.assign(event, { data: event.json === "" ? undefined : jsonValue(event.json) });
}
