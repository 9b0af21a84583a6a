/**
 * Checkpoints of LangGraph (`@langchain/langgraph-checkpoint`).
 *
 * ```ts
 * const checkpointer = new RecollectSaver(recollect, { app: "support", user: "ada" });
 * const graph = workflow.compile({ checkpointer });
 * await graph.invoke(input, { configurable: { thread_id: "42" } });
 * ```
 *
 * @packageDocumentation
 */
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  getCheckpointId,
  maxChannelVersion,
  TASKS,
  WRITES_IDX_MAP,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { create, toBinary, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type { BaseClient } from "./client.js";
import {
  CheckpointValueSchema,
  CheckpointWriteSchema,
  type Checkpoint as StoredCheckpoint,
  type CheckpointValue,
  type CheckpointWrite,
} from "./gen/recollect/v1/checkpoint_pb.js";
import { CheckpointService } from "./gen/recollect/v1/checkpoint_service_pb.js";
import { RecollectError } from "./errors.js";
import type { UserNames } from "./memories.js";
import { pages } from "./pages.js";
import { userId } from "./user.js";

const THREAD = "thread:";
/** Bytes of values in one request; the transport takes 4 MiB. */
const LARGEST_REQUEST = 3_500_000;
const MOST_ENTRIES = 1_000;
/**
 * Milliseconds between attempts to store writes in a thread that does not exist: LangGraph stores the
 * first checkpoint, which creates it, and the first writes at the same time.
 */
const FIRST_CHECKPOINT_WAITS = [20, 50, 100, 200, 500, 1_000, 2_000];

/**
 * A checkpointer whose checkpoints belong to the conversations of one user: a thread of LangGraph
 * is the session `thread:ID`. A value that has not changed since the parent is stored once, and
 * of one that grows, what is new.
 */
export class RecollectSaver extends BaseCheckpointSaver {
  readonly #service: Client<typeof CheckpointService>;
  readonly #user: { appId: string; userId: string };

  constructor(client: BaseClient, { app, user }: UserNames, serde?: SerializerProtocol) {
    super(serde);
    this.#service = client.service(CheckpointService);
    this.#user = { appId: app, userId: userId(user) };
  }

  /** The version that follows. Its fraction is random and keeps the versions of branches apart. */
  override getNextVersion(current: number | undefined): number {
    return Math.floor(current ?? 0) + 1 + Math.random();
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.thread_id === undefined) return undefined;
    const { checkpoint } = await this.#service.getCheckpoint({ ...this.#place(config), checkpointId: getCheckpointId(config) });
    return checkpoint && this.#tuple(checkpoint);
  }

  /** Checkpoints, the newest first; without a thread_id those of all threads of the user. */
  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { limit, before, filter } = options;
    if (limit === 0) return;
    const { thread_id, checkpoint_ns } = config.configurable ?? {};
    const thread = thread_id === undefined ? undefined : this.#thread(thread_id);
    const checkpoints = pages(async (pageToken) => {
      const page = await this.#service.listCheckpoints({
        target: { target: thread ? { case: "thread", value: thread } : { case: "user", value: this.#user } },
        namespace: checkpoint_ns as string | undefined,
        checkpointId: getCheckpointId(config),
        before: before && getCheckpointId(before),
        metadata: filter && Object.keys(filter).length > 0 ? JSON.stringify(filter) : "",
        pageSize: Math.min(limit ?? 50, 50),
        pageToken,
      });
      return [page.checkpoints, page.nextPageToken];
    });
    let count = 0;
    for await (const checkpoint of checkpoints) {
      yield await this.#tuple(checkpoint);
      if (++count === limit) return;
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { channel_values: values, channel_versions: versions, id } = checkpoint;
    const inline: Record<string, unknown> = {};
    const known: CheckpointValue[] = [];
    const added: CheckpointValue[] = [];
    for (const [channel, value] of Object.entries(values)) {
      const version = versions[channel];
      if (version === undefined) {
        inline[channel] = value;
      } else if (channel in newVersions) {
        const [type, data] = await this.serde.dumpsTyped(value);
        added.push(create(CheckpointValueSchema, { channel, version: String(version), type, data }));
      } else {
        known.push(create(CheckpointValueSchema, { channel, version: String(version) }));
      }
    }
    const [type, data] = await this.serde.dumpsTyped({ ...checkpoint, channel_values: inline });
    const place = this.#place(config);
    // Several requests if there are many new values.
    for (const batch of batches(CheckpointValueSchema, added)) {
      await this.#service.putCheckpoint({
        ...place,
        checkpointId: id,
        parentCheckpointId: getCheckpointId(config),
        type,
        data,
        metadata: JSON.stringify(metadata),
        values: [...known, ...batch],
      });
      known.push(...batch.map(({ channel, version }) => create(CheckpointValueSchema, { channel, version })));
    }
    return { configurable: { ...namesOf(config), checkpoint_id: id } };
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const made = new Map<number, CheckpointWrite>();
    for (const [position, [channel, value]] of writes.entries()) {
      const [type, data] = await this.serde.dumpsTyped(value);
      const index = WRITES_IDX_MAP[channel] ?? position;
      made.set(index, create(CheckpointWriteSchema, { taskId, taskPath, index, channel, type, data }));
    }
    const replace = writes.every(([channel]) => channel in WRITES_IDX_MAP);
    const place = { ...this.#place(config), checkpointId: getCheckpointId(config), replace };
    for (const batch of batches(CheckpointWriteSchema, [...made.values()])) {
      if (batch.length > 0) await afterFirst(() => this.#service.putCheckpointWrites({ ...place, writes: batch }));
    }
  }

  /** Deletes the checkpoints of a thread; its messages stay. */
  override async deleteThread(threadId: string): Promise<void> {
    await this.#service.deleteCheckpoints({ threads: [this.#thread(threadId)] });
  }

  /** Older checkpoints have the tasks that were sent as writes of their parent, not as a channel. */
  async #addPendingSends(checkpoint: Checkpoint, parent: RunnableConfig): Promise<void> {
    const { checkpoint: stored } = await this.#service.getCheckpoint({ ...this.#place(parent), checkpointId: getCheckpointId(parent) });
    const sends = (stored?.writes ?? []).filter(({ channel }) => channel === TASKS);
    const { channel_values: values, channel_versions: versions } = checkpoint;
    values[TASKS] = await Promise.all(sends.map(({ type, data }) => this.serde.loadsTyped(type, data as never)));
    const known = Object.values(versions);
    versions[TASKS] = known.length > 0 ? maxChannelVersion(...known) : this.getNextVersion(undefined);
  }

  #thread(threadId: unknown) {
    const session = { ...this.#user, sessionKey: `${THREAD}${String(threadId)}` };
    return { thread: { case: "session", value: session } } as const;
  }

  #place(config: RunnableConfig) {
    const { thread_id, checkpoint_ns } = namesOf(config);
    return { thread: this.#thread(thread_id), namespace: checkpoint_ns };
  }

  async #tuple(stored: StoredCheckpoint): Promise<CheckpointTuple> {
    const { sessionKey, namespace: checkpoint_ns, checkpointId, parentCheckpointId } = stored;
    const checkpoint = (await this.serde.loadsTyped(stored.type, stored.data as never)) as Checkpoint;
    for (const { channel, type, data } of stored.values) {
      checkpoint.channel_values[channel] = await this.serde.loadsTyped(type, data as never);
    }
    const pendingWrites: [string, string, unknown][] = [];
    for (const { taskId, channel, type, data } of stored.writes) {
      pendingWrites.push([taskId, channel, await this.serde.loadsTyped(type, data as never)]);
    }
    const names = { thread_id: sessionKey.slice(THREAD.length), checkpoint_ns };
    const parent = { configurable: { ...names, checkpoint_id: parentCheckpointId } };
    if (checkpoint.v < 4 && parentCheckpointId !== "") await this.#addPendingSends(checkpoint, parent);
    return {
      config: { configurable: { ...names, checkpoint_id: checkpointId } },
      checkpoint,
      metadata: JSON.parse(stored.metadata) as CheckpointMetadata,
      ...(parentCheckpointId !== "" && { parentConfig: parent }),
      pendingWrites,
    };
  }
}

function namesOf({ configurable }: RunnableConfig): { thread_id: string; checkpoint_ns: string } {
  const { thread_id, checkpoint_ns = "" } = configurable ?? {};
  if (thread_id === undefined) throw new Error('the config lacks "configurable.thread_id"');
  return { thread_id: String(thread_id), checkpoint_ns: String(checkpoint_ns) };
}

/** The entries in requests that the transport takes; one empty batch if there are none. */
function* batches<T extends DescMessage>(schema: T, entries: MessageShape<T>[]): Generator<MessageShape<T>[]> {
  let batch: MessageShape<T>[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = toBinary(schema, entry).length;
    if (batch.length > 0 && (bytes + size > LARGEST_REQUEST || batch.length >= MOST_ENTRIES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += size;
  }
  yield batch;
}

/** Makes a call again while its thread does not exist. */
async function afterFirst<T>(call: () => Promise<T>): Promise<T> {
  for (const wait of FIRST_CHECKPOINT_WAITS) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof RecollectError && error.reason === "THREAD_NOT_FOUND")) throw error;
      await new Promise((resume) => setTimeout(resume, wait));
    }
  }
  return call();
}
