import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { actionsOf, type Action } from "./admin.js";
import {
  SubscriptionService,
  type CreateSubscriptionResponse,
  type Subscription,
  type SubscriptionEvent,
} from "./gen/recollect/v1/subscription_service_pb.js";
import { callOptions, type CallOptions, type RetryOptions } from "./options.js";
import { resumed, withEndingStreams } from "./streams.js";

/** Which changes are delivered, and where. */
export interface SubscriptionOptions extends CallOptions {
  /** Only changes of this app. Default: of all. */
  app?: string;
  /** Only changes of this user. Default: of all. */
  user?: string;
  /** Only these kinds of changes, such as `append_messages`: at most 32. Default: all. */
  actions?: Action[];
  /** Where events are sent as webhooks: at most 2,048 characters. Default: they are only streamed. */
  url?: string;
}

/** What is changed of a subscription; what is missing stays as it is. */
export interface SubscriptionChanges {
  /** Whether changes become events, and events are sent. */
  enabled?: boolean;
  /** Another URL, of a subscription that has one. */
  url?: string;
  /** All kinds of changes from now on. Empty: every kind. */
  actions?: Action[];
}

/**
 * The subscriptions of a tenant. Changing them needs a key with the scope `admin`, and so do the events
 * of one with a URL.
 */
export class Subscriptions {
  readonly #service: Client<typeof SubscriptionService>;
  readonly #retry: RetryOptions | undefined;

  constructor(transport: Transport, retry?: RetryOptions) {
    this.#service = withEndingStreams(SubscriptionService, createClient(SubscriptionService, transport));
    this.#retry = retry;
  }

  /**
   * Creates a subscription to the changes that begin from now on. With a URL, the answer has the
   * `secret` that `verifyWebhook` takes; it cannot be read again.
   *
   * @param name 1 to 64 characters of a-z, A-Z, 0-9, `.`, `_` and `-`.
   */
  async create(name: string, options: SubscriptionOptions = {}): Promise<CreateSubscriptionResponse> {
    const { app, user, actions, url } = options;
    const request = { name, appId: app, userId: user, actions: actionsOf(actions), url };
    return this.#service.createSubscription(request, callOptions(options));
  }

  /** A subscription with what waits in it, and what was lost. */
  async get(name: string, options?: CallOptions): Promise<Subscription> {
    return (await this.#service.getSubscription({ name }, callOptions(options))).subscription!;
  }

  /** All subscriptions, by name, with what waits in them: at most 32. */
  async list(options?: CallOptions): Promise<Subscription[]> {
    return (await this.#service.listSubscriptions({}, callOptions(options))).subscriptions;
  }

  /** Changes a subscription. A webhook that waits after a failure is sent again at once. */
  async update(name: string, changes: SubscriptionChanges, options?: CallOptions): Promise<Subscription> {
    const { enabled, url, actions } = changes;
    const paths = Object.entries({ enabled, url, actions }).flatMap(([path, value]) => (value === undefined ? [] : [path]));
    const subscription = { name, enabled, url, actions: actionsOf(actions) };
    const request = { subscription, updateMask: { paths } };
    return (await this.#service.updateSubscription(request, callOptions(options))).subscription!;
  }

  /** Replaces the secret of a subscription with a URL. For 24 hours webhooks have the signature of the former one too. */
  async rotateSecret(name: string, options?: CallOptions): Promise<string> {
    return (await this.#service.rotateSubscriptionSecret({ name }, callOptions(options))).secret;
  }

  /** Deletes a subscription with the events that wait in it. False: there was none. */
  async delete(name: string, options?: CallOptions): Promise<boolean> {
    return (await this.#service.deleteSubscription({ name }, callOptions(options))).deleted;
  }

  /**
   * The events of a subscription, from the first that was not acknowledged on. A batch is acknowledged
   * when the event after it is asked for: one that was not finished comes again, with the same
   * `eventId`. A lost connection is made again. It ends when its loop is left, or by the signal. `get`
   * counts the events that were lost (`droppedCount`).
   */
  async *events(name: string, options: Pick<CallOptions, "signal"> = {}): AsyncGenerator<SubscriptionEvent, void, undefined> {
    const { signal } = options;
    const batches = resumed(() => this.#service.streamEvents({ name }, { signal }), this.#retry, signal);
    for await (const { batchId, events } of batches) {
      yield* events;
      await this.#service.acknowledgeEvents({ name, batchId }, { signal });
    }
  }
}
