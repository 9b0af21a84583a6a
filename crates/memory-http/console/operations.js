// Queues, models and their cost, dead letters, subscriptions, deletions and the audit log.

import { call, Failure, together } from "./api.js";
import { columns, sparkline } from "./charts.js";
import { h, replace } from "./dom.js";
import { count, date, name, seconds, short, span } from "./format.js";
import { chip, empty, facts, failureNote, field, link, paged, table, when } from "./parts.js";
import { go, threadPath } from "./route.js";

const PERIOD = 5_000;
/** Half an hour of readings. */
const KEPT = 360;

/** Up to this number the server counts the waiting events of a subscription. */
const COUNTED_EVENTS = 10_000;

/** For each queue `[time, waiting, seconds of lag]` since sign-in; the server keeps no history. */
const readings = new Map();

export function forgetReadings() {
  readings.clear();
}

const QUEUES = [
  { id: "index", label: "Changes to index", detail: "messages and memories that searches match by word until then",
    read: ({ index }) => index && [index.pendingCount, index.lag, index.lastError] },
  { id: "distill", label: "Threads to distill", detail: "summaries, observations and facts to make",
    read: ({ distill }) => distill && [distill.waitingThreadCount, distill.lag, Number(distill.failingThreadCount ?? 0) ? distill.lastError : ""] },
  { id: "nodes", label: "Node turns to flush", detail: "turns of nodes that are not in object storage yet",
    read: ({ nodes }) => nodes && [nodes.waitingTurnCount, nodes.lag, nodes.lastError] },
  { id: "deletion", label: "Deletions", detail: "deleted threads, users and apps whose rows are still to be deleted; they cannot be read",
    read: ({ deletion }) => deletion && [deletion.waitingCount, deletion.lag, deletion.lastError] },
  { id: "dead", label: "Could not be indexed", detail: "changes that failed all attempts",
    read: ({ index }) => index && [index.deadLetterCount, undefined, ""] },
];

export async function operationsPage({ params, signal }) {
  const queues = h("div", { class: "queues" });
  const models = h("div", null);
  const state = await status(signal, false);
  const draw = (read) => {
    replace(queues, QUEUES.map((queue) => queueCard(queue, read)));
    replace(models, modelsTable(read.distill));
  };
  draw(state);
  const [usage, letters, subscriptions, log, receipt] = await Promise.all([
    usageCard(signal), lettersCard(signal), subscriptionsCard(signal), logCard(signal), receiptCard(params, signal)]);
  const live = h("span", { class: "muted", role: "status" }, `read every ${PERIOD / 1000} seconds`);
  return {
    title: "Operations",
    body: [
      h("div", { class: "head" }, h("h1", null, "Operations"), live),
      queues,
      h("section", { class: "card" }, h("h2", null, "Model cost"), usage),
      h("section", { class: "card" }, h("h2", null, "Models"), models),
      h("section", { class: "card" }, h("h2", null, "Could not be indexed"), letters),
      h("section", { class: "card" }, h("h2", null, "Subscriptions"), subscriptions),
      h("section", { class: "card" }, h("h2", null, "Receipts of deletions"), receipt),
      h("section", { class: "card" }, h("h2", null, "Audit log"), log),
    ],
    start: (until) => {
      const timer = setInterval(async () => {
        if (document.hidden) return;
        try {
          draw(await status(until, true));
          replace(live, `read every ${PERIOD / 1000} seconds`);
        } catch (error) {
          if (!until.aborted) replace(live, h("span", { class: "bad" }, error instanceof Failure ? error.message : "The page failed."));
        }
      }, PERIOD);
      until.addEventListener("abort", () => clearInterval(timer));
    },
  };
}

async function status(signal, quiet) {
  const options = { signal, quiet };
  const settled = await together({
    index: call("AdminService/GetIndexStatus", {}, options),
    distill: call("AdminService/GetDistillStatus", {}, options),
    nodes: call("AdminService/GetNodeMemoryStatus", {}, options),
    deletion: call("AdminService/GetDeletionStatus", {}, options),
  });
  const read = Object.fromEntries(Object.entries(settled).map(([one, { value }]) => [one, value]));
  const now = Date.now();
  for (const queue of QUEUES) {
    const found = queue.read(read);
    if (!found) continue;
    const points = readings.get(queue.id) ?? [];
    points.push([now, Number(found[0] ?? 0), seconds(found[1])]);
    readings.set(queue.id, points.slice(-KEPT));
  }
  return read;
}

function queueCard({ id, label, detail, read }, status) {
  const found = read(status);
  if (!found) return h("section", { class: "card queue" }, h("h2", null, label), h("p", { class: "muted" }, "The server did not say."));
  const [waiting, lag, error] = found;
  const points = readings.get(id) ?? [];
  const period = points.length > 1 ? ` over the last ${span(`${(points.at(-1)[0] - points[0][0]) / 1000}s`)}` : "";
  const lags = id !== "dead";
  const waits = seconds(lag) > 0 ? `the oldest waits ${span(lag)}` : "no lag";
  const longest = span(`${Math.max(0, ...points.map((point) => point[2]))}s`);
  return h("section", { class: `card queue ${error || (id === "dead" && Number(waiting ?? 0)) ? "bad" : ""}` },
    h("h2", null, label),
    h("p", { class: "line" }, h("span", { class: "value" }, count(waiting)),
      lags && h("span", { class: "legend" }, h("span", null, h("span", { class: "swatch lag" }), waits))),
    sparkline(points, `${label}${period}: now ${count(waiting)}${lags ? `, ${waits}; the longest lag was ${longest}` : ""}`, { lags }),
    h("p", { class: "muted" }, detail),
    error && h("p", { class: "bad" }, error));
}

function modelsTable(distill) {
  const models = distill?.models ?? [];
  if (models.length === 0) return empty("The server did not say.");
  return table("Models", [
    ["For", (model) => name(model.purpose, "MODEL_PURPOSE_")],
    ["Provider", (model) => name(model.provider, "MODEL_PROVIDER_")],
    ["Model", (model) => model.model || h("span", { class: "muted" }, "built in, without a model")],
    ["State", (model) => chip({ BREAKER_STATE_OPEN: "paused after failures", BREAKER_STATE_HALF_OPEN: "being tried again" }[model.breaker] ?? "in use", model.breaker === "BREAKER_STATE_OPEN" ? "bad" : "good")],
    ["Last error", (model) => model.lastError ?? ""],
  ], models);
}

/** Runs a part of the page; what fails is said in its place. */
async function part(make) {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof Failure) || error.code === "unauthenticated") throw error;
    return failureNote(error);
  }
}

function subscriptionsCard(signal) {
  return part(async () => {
    const { subscriptions = [] } = await call("SubscriptionService/ListSubscriptions", {}, { signal });
    if (subscriptions.length === 0) return empty("There are no subscriptions: changes are delivered to no other system.", "The command “recollect subscription create” makes a subscription.");
    return table("Subscriptions", [
      ["Name", (one) => one.name],
      ["Of", (one) => [one.appId && `app ${one.appId}`, one.userId && `user ${one.userId}`].filter(Boolean).join(", ") || "the tenant"],
      ["Sent to", (one) => one.url || h("span", { class: "muted" }, "streams")],
      ["State", (one) => chip(one.enabled ? (one.failedAttempts ? "tried again" : "in use") : "disabled", one.enabled && !one.failedAttempts ? "good" : "bad")],
      ["Waiting", (one) => `${count(one.waitingCount)}${Number(one.waitingCount ?? 0) < COUNTED_EVENTS ? "" : " or more"}`],
      ["Lag", (one) => (seconds(one.lag) > 0 ? span(one.lag) : "none")],
      ["Lost", (one) => count(one.droppedCount)],
      ["Last error", (one) => one.lastError ?? ""],
    ], subscriptions);
  });
}

function usageCard(signal) {
  return part(async () => {
    const answer = await call("AdminService/GetModelUsage", { days: 30 }, { signal });
    const usage = answer.usage ?? [];
    const budget = Number(answer.dailyTokenBudget ?? 0);
    const today = Number(answer.tokensToday ?? 0);
    if (usage.length === 0) {
      return empty("No model was called in the last 30 days.", "Without a configured language model, the built-in algorithm distills; it costs nothing.");
    }
    const days = new Map();
    for (let back = 29; back >= 0; back -= 1) days.set(new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10), { parts: [0, 0], calls: 0, failed: 0 });
    for (const one of usage) {
      const day = days.get(one.day);
      if (!day || one.kind !== "MODEL_KIND_LANGUAGE") continue;
      day.parts[0] += Number(one.inputTokens ?? 0);
      day.parts[1] += Number(one.outputTokens ?? 0);
      day.calls += Number(one.callCount ?? 0);
      day.failed += Number(one.failedCount ?? 0);
    }
    const data = [...days].map(([day, { parts, calls, failed }]) => ({
      label: day.slice(5), parts, title: `${day}: ${count(parts[0])} tokens in, ${count(parts[1])} out, ${count(calls, "call")}, ${count(failed)} failed`,
    }));
    return [
      h("p", { class: "line" }, h("strong", null, `${count(today, "token")} today`), h("span", { class: "muted" }, budget ? `of ${count(budget)}; beyond it the built-in algorithm does the work` : "no daily budget")),
      columns(data, ["prompt tokens", "answer tokens"], budget, "Tokens of language models a day, over 30 days"),
      h("details", null, h("summary", null, "By day and model"), table("Model usage", [
        ["Day", (one) => one.day],
        ["Kind", (one) => name(one.kind, "MODEL_KIND_")],
        ["Model", (one) => one.model],
        ["Calls", (one) => count(one.callCount), "number"],
        ["Failed", (one) => count(one.failedCount), "number"],
        ["Tokens in", (one) => count(one.inputTokens), "number"],
        ["Tokens out", (one) => count(one.outputTokens), "number"],
      ], usage)),
    ];
  });
}

function lettersCard(signal) {
  return part(() => paged(
    async (pageToken, first) => {
      const answer = await call("AdminService/ListDeadLetters", { pageToken }, first && { signal });
      return { items: answer.deadLetters ?? [], next: answer.nextPageToken };
    },
    (letters) => table("Dead letters", [
      ["What", (one) => one.memoryId ? link("/memories", { m: one.memoryId }, "memory") : link(threadPath(one.threadId), { m: one.messageId }, one.messageId ? "message" : "thread")],
      ["Failed", (one) => when(one.failTime)],
      ["Attempts", (one) => count(one.attempts), "number"],
      ["Error", (one) => one.lastError],
    ], letters),
    () => empty("Everything could be indexed.")));
}

function receiptCard(params, signal) {
  const id = h("input", { value: params.get("deletion") ?? "", autocomplete: "off", spellcheck: "false", required: true });
  const submit = (event) => {
    event.preventDefault();
    go("/operations", { deletion: id.value.trim() });
  };
  return part(async () => [
    h("p", { class: "muted" }, "DeleteUser, DeleteApp and DeleteTenant return a deletion's id; its receipt counts what was deleted, and what is left, now."),
    h("form", { class: "fields", onsubmit: submit }, field("Deletion id", id), h("button", { type: "submit" }, "Show the receipt")),
    params.get("deletion") && (await part(() => receipt(params.get("deletion"), signal))),
  ]);
}

function whose({ appId, userId }) {
  if (userId === undefined) return appId || "the tenant";
  return `${appId || "all apps"} › ${userId || "no user"}`;
}

async function receipt(deletionId, signal) {
  const { deletion } = await call("AdminService/GetDeletion", { deletionId }, { signal });
  const finished = deletion.state === "DELETION_STATE_FINISHED";
  const places = (deletion.places ?? []).filter((place) => Number(place.deletedCount ?? 0) || Number(place.remainingCount ?? 0));
  return [
    h("p", { class: "line" }, chip(finished ? "finished" : `running: ${deletion.step}`, finished ? "good" : "accent"),
      h("span", null, whose(deletion))),
    facts([["Began", date(deletion.createTime)], ["Finished", date(deletion.finishTime)], ["Last error", deletion.lastError]]),
    table("Places", [
      ["Place", (place) => place.name],
      ["Deleted", (place) => count(place.deletedCount), "number"],
      ["Left", (place) => h("span", { class: Number(place.remainingCount ?? 0) ? "bad" : "" }, count(place.remainingCount)), "number"],
    ], places),
    h("p", { class: "muted" }, `All ${count((deletion.places ?? []).length, "place")} were counted; those where nothing was are not shown.`),
  ];
}

function logCard(signal) {
  return part(() => paged(
    async (pageToken, first) => {
      const answer = await call("AdminService/ListTransactions", { pageToken, pageSize: 20 }, first && { signal });
      return { items: answer.transactions ?? [], next: answer.nextPageToken };
    },
    (entries) => table("Audit log", [
      ["When", (one) => when(one.createTime)],
      ["Who", (one) => one.actor],
      ["What", (one) => name(one.action, "TRANSACTION_ACTION_")],
      ["Items", (one) => count(one.itemCount), "number"],
      ["Thread", (one) => one.threadId ? link(threadPath(one.threadId), {}, short(one.threadId)) : ""],
      ["Result", (one) => one.result === "TRANSACTION_RESULT_REFUSED" ? chip(name(one.errorReason, "ERROR_REASON_") || "refused", "bad") : name(one.result, "TRANSACTION_RESULT_")],
    ], entries),
    () => empty("Nothing has changed yet.")));
}
