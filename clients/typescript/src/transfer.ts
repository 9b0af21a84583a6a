import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import type { TargetSchema } from "./gen/recollect/v1/thread_pb.js";
import {
  ExportCompleteness,
  TransferService,
  type ImportRecordsRequestSchema,
  type ImportSummary,
  type Record,
  type RefusedRecord,
} from "./gen/recollect/v1/transfer_service_pb.js";
import { callOptions, type CallOptions } from "./options.js";
import { withEndingStreams } from "./streams.js";
import { ownerTarget, type User } from "./user.js";

/** What is exported. Default: all data of the tenant. */
export interface ExportOptions extends CallOptions {
  /** The app. */
  app?: string;
  /** The user of the app, or NO_USER: the data that belongs to none. Default: all users. */
  user?: User;
  /** The thread, without memories and documents. */
  threadId?: string;
  /** Continues an export that ended early, after this thread. */
  afterThreadId?: string;
}

/** How records are imported. */
export interface ImportOptions extends CallOptions {
  /** Overwrites policies, files, plans, checkpoints and documents that exist with other content. */
  replace?: boolean;
  /** Stores everything as new, also what an earlier import stored. */
  newIds?: boolean;
}

/** The result of an import. */
export interface ImportedRecords {
  /** What was stored, what was known, and whether the export was complete. */
  summary: ImportSummary;
  /** The records that were not stored, by their positions, from 0, with the reasons. */
  refused: RefusedRecord[];
  /** Whether the records were those of a whole export, and all are stored. */
  complete: boolean;
}

/** Exports and imports. */
export class Transfers {
  readonly #service: Client<typeof TransferService>;

  constructor(transport: Transport) {
    this.#service = withEndingStreams(TransferService, createClient(TransferService, transport));
  }

  async *export(options: ExportOptions): AsyncGenerator<Record, void, undefined> {
    const request = { target: target(options), afterThreadId: options.afterThreadId };
    for await (const { record } of this.#service.exportRecords(request, callOptions(options))) {
      if (record) yield record;
    }
  }

  async import(records: Iterable<Record> | AsyncIterable<Record>, options: ImportOptions): Promise<ImportedRecords> {
    const refused: RefusedRecord[] = [];
    let summary: ImportSummary | undefined;
    for await (const { answer } of this.#service.importRecords(requests(records, options), callOptions(options))) {
      if (answer.case === "refused") refused.push(answer.value);
      if (answer.case === "summary") summary = answer.value;
    }
    if (!summary) throw new Error("the server ended the import without a summary");
    return {
      summary,
      refused,
      complete: refused.length === 0 && summary.completeness === ExportCompleteness.COMPLETE,
    };
  }
}

async function* requests(
  records: Iterable<Record> | AsyncIterable<Record>,
  { replace, newIds }: ImportOptions,
): AsyncGenerator<MessageInitShape<typeof ImportRecordsRequestSchema>> {
  let options: MessageInitShape<typeof ImportRecordsRequestSchema>["options"] = { replace, newIds };
  for await (const record of records) {
    yield { options, record };
    options = undefined;
  }
}

function target({ app, user, threadId }: ExportOptions): MessageInitShape<typeof TargetSchema> | undefined {
  if (threadId !== undefined) {
    return { target: { case: "thread", value: { thread: { case: "threadId", value: threadId } } } };
  }
  return ownerTarget(app, user);
}
