/** An event of a webhook: a change, without content. */
export interface WebhookEvent {
  event_id: string;
  /** Such as `append_messages`. */
  action: string;
  thread_id: string;
  app_id: string;
  user_id: string;
  subject: string;
  item_count: number;
  actor: string;
  create_time: string;
}

/** What a webhook sends. */
export interface WebhookBatch {
  subscription: string;
  events: WebhookEvent[];
  /** Events that were lost before these. */
  dropped_count: number;
}

/**
 * Checks that a request is a webhook of this server, by Standard Webhooks, and returns its JSON.
 * Throws if it is not signed with the secret (`whsec_…`), or if its time differs by more than
 * `tolerance` seconds. `body` is the body as it was received.
 */
export async function verifyWebhook(headers: Headers, body: string, secret: string, tolerance = 300): Promise<WebhookBatch> {
  const id = headers.get("webhook-id") ?? "";
  const timestamp = headers.get("webhook-timestamp") ?? "";
  const age = Math.abs(Date.now() / 1000 - Number(timestamp || Number.NaN));
  if (!(age <= tolerance)) throw new Error("the webhook is too old, or a clock is wrong");
  const bytes = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret.replace(/^whsec_/, "")), algorithm, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const signature of (headers.get("webhook-signature") ?? "").split(" ")) {
    if (!/^v1,[A-Za-z0-9+/]+=*$/.test(signature)) continue;
    if (await crypto.subtle.verify("HMAC", key, bytes(signature.slice(3)), signed)) return JSON.parse(body) as WebhookBatch;
  }
  throw new Error("the webhook is not signed with this secret");
}
