import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import type { QueryTimeSchema } from "./gen/recollect/v1/recall_pb.js";
import { RecallService, type RecallRequestSchema, type SearchRequestSchema } from "./gen/recollect/v1/recall_service_pb.js";
import type { TargetSchema } from "./gen/recollect/v1/thread_pb.js";
import { freshness } from "./memories.js";
import { messageFilter, type MessageFilter } from "./messages.js";
import { callOptions, type CallOptions } from "./options.js";
import { withMessage, type RecallResult, type SearchResult } from "./stored.js";

/** When and where a query is asked, for times in it such as "yesterday". */
export interface QueryTimes {
  /** When it is asked. Default: now. */
  referenceTime?: Date;
  /** The user's time zone, such as `Europe/Berlin`. Default: UTC. */
  timeZone?: string;
}

/** How messages are recalled. */
export interface RecallOptions extends CallOptions, QueryTimes {
  /** The token budget of the result. Default: none. */
  maxTokens?: number;
  /** Selects matches. It does not apply to the newest messages and to neighbors. */
  filter?: MessageFilter;
  /** The revision of a write that the search includes. Default: the newest messages. */
  atLeastAsFresh?: string;
  /** Whether the result has the policy that applied and what was omitted. Default: false. */
  explain?: boolean;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof RecallRequestSchema>>;
}

/** How messages are searched. */
export interface SearchOptions extends CallOptions, QueryTimes {
  /** The number of matches: 1 to 100. Default: 10. */
  topK?: number;
  /** Selects matches. */
  filter?: MessageFilter;
  /** The revision of a write that the search includes. Default: the newest messages. */
  atLeastAsFresh?: string;
  /** Other fields of the request. */
  request?: Partial<MessageInitShape<typeof SearchRequestSchema>>;
}

type Target = MessageInitShape<typeof TargetSchema>;

/** Recall and search of the messages of a thread, of a user or of an app. */
export class Recalls {
  readonly #service: Client<typeof RecallService>;

  constructor(transport: Transport) {
    this.#service = createClient(RecallService, transport);
  }

  async recall(target: Target, query: string, options: RecallOptions): Promise<RecallResult> {
    const { maxTokens, filter, atLeastAsFresh, explain, request } = options;
    const budget = maxTokens === undefined ? undefined : ({ case: "maxTokens", value: maxTokens } as const);
    const response = await this.#service.recall(
      {
        target,
        query,
        budget,
        filter: messageFilter(filter),
        freshness: freshness(atLeastAsFresh),
        explain,
        queryTime: queryTime(options),
        ...request,
      } as MessageInitShape<typeof RecallRequestSchema>,
      callOptions(options),
    );
    return Object.assign(response, { messages: response.messages.map(withMessage) });
  }

  async search(target: Target, query: string, options: SearchOptions): Promise<SearchResult> {
    const { topK, filter, atLeastAsFresh, request } = options;
    const response = await this.#service.search(
      {
        target,
        query,
        topK,
        filter: messageFilter(filter),
        freshness: freshness(atLeastAsFresh),
        queryTime: queryTime(options),
        ...request,
      } as MessageInitShape<typeof SearchRequestSchema>,
      callOptions(options),
    );
    return Object.assign(response, { matches: response.matches.map(withMessage) });
  }
}

/** When and where a query of a request is asked. Undefined: now, in UTC. */
export function queryTime({ referenceTime, timeZone }: QueryTimes): MessageInitShape<typeof QueryTimeSchema> | undefined {
  if (referenceTime === undefined && !timeZone) return undefined;
  return { referenceTime: referenceTime && timestampFromDate(referenceTime), timeZone };
}
