import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import {
  AdminService,
  type Deletion,
  type DeleteUserRequestSchema,
  type ListTransactionsRequestSchema,
} from "./gen/recollect/v1/admin_service_pb.js";
import type { ThreadRefSchema } from "./gen/recollect/v1/thread_pb.js";
import { TransactionAction, type Transaction } from "./gen/recollect/v1/transaction_pb.js";
import { callOptions, type CallOptions } from "./options.js";
import { pages } from "./pages.js";
import { userId, type User } from "./user.js";

/** Where a user is deleted: in one app, or in all. */
export type UserScope = { app: string; allApps?: false } | { allApps: true; app?: undefined };

/** Which deletions are listed. */
export interface DeletionListOptions extends CallOptions {
  /** The number of deletions in each answer of the server: 1 to 500. Default: 50. */
  pageSize?: number;
}

/** A kind of change, such as `delete_message`. */
export type Action = Lowercase<Exclude<keyof typeof TransactionAction, "UNSPECIFIED">>;

/** Which changes are listed. */
export interface TransactionListOptions extends CallOptions {
  /** The changed thread, such as `session.ref`. Default: all. */
  thread?: MessageInitShape<typeof ThreadRefSchema>;
  /** Who made the change, such as an API key's name: at most 128 characters. Default: all. */
  actor?: string;
  /** Any of these kinds of changes: at most 32. Default: all. */
  actions?: Action[];
  /** The earliest time of a change, included. */
  startTime?: Date;
  /** The latest time of a change, excluded. */
  endTime?: Date;
  /** The number of changes in each answer of the server: 1 to 500. Default: 50. */
  pageSize?: number;
}

/** What operators do in a tenant. */
export class Admin {
  readonly #service: Client<typeof AdminService>;

  constructor(transport: Transport) {
    this.#service = createClient(AdminService, transport);
  }

  /**
   * Deletes everything of a user, in one app or in all: `deleteUser("ada", { app: "support" })`.
   * The user's data can no longer be read when it returns, or within moments; `deletion` says
   * when all of it is deleted. A second call returns the deletion in progress.
   *
   * @param user the user, or NO_USER: what belongs to no user of the app.
   */
  async deleteUser(user: User, scope: UserScope, options?: CallOptions): Promise<Deletion> {
    const { app, allApps = false } = scope;
    if (allApps === (app !== undefined)) throw new TypeError("name the user's app, or all of them with allApps: true");
    const target: MessageInitShape<typeof DeleteUserRequestSchema>["target"] =
      app === undefined
        ? { case: "userOfAllApps", value: userId(user) }
        : { case: "user", value: { appId: app, userId: userId(user) } };
    return (await this.#service.deleteUser({ target }, callOptions(options))).deletion!;
  }

  /** The deletions of users, of apps and of the tenant, the newest first and without `places`, read in pages. */
  deletions(options: DeletionListOptions = {}): AsyncGenerator<Deletion, void, undefined> {
    const { pageSize } = options;
    return pages(async (pageToken) => {
      const page = await this.#service.listDeletions({ pageSize, pageToken }, callOptions(options));
      return [page.deletions, page.nextPageToken];
    });
  }

  /** The receipt of a deletion, with what is left counted again. */
  async deletion(deletionId: string, options?: CallOptions): Promise<Deletion> {
    return (await this.#service.getDeletion({ deletionId }, callOptions(options))).deletion!;
  }

  /**
   * The audit log, the newest first, read in pages as they are needed: committed changes, and
   * refused calls that would have made one. It needs a key with the scope `admin`.
   */
  transactions(options: TransactionListOptions = {}): AsyncGenerator<Transaction, void, undefined> {
    const { thread, actor, actions, startTime, endTime, pageSize } = options;
    const request: MessageInitShape<typeof ListTransactionsRequestSchema> = {
      thread,
      actor,
      actions: actionsOf(actions),
      startTime: startTime && timestampFromDate(startTime),
      endTime: endTime && timestampFromDate(endTime),
      pageSize,
    };
    return pages(async (pageToken) => {
      const page = await this.#service.listTransactions({ ...request, pageToken }, callOptions(options));
      return [page.transactions, page.nextPageToken];
    });
  }
}

/** The actions of a request. */
export function actionsOf(names: readonly Action[] | undefined): TransactionAction[] | undefined {
  return names?.map((name) => TransactionAction[name.toUpperCase() as Uppercase<Action>]);
}
