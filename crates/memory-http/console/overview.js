// The overview, the users of an app, and the threads of a user.

import { call, together } from "./api.js";
import { meter } from "./charts.js";
import { h } from "./dom.js";
import { bytes, count, date, name, seconds, span, who } from "./format.js";
import { choice, crumbs, empty, failureNote, field, json, link, paged, table, threadLink, tile, when } from "./parts.js";
import { appPath, go, userPath } from "./route.js";

const FIRST_APPEND = () => `curl ${new URL("../", location.href.split("#")[0])}recollect.v1.MessageService/AppendMessages \\
  -H 'content-type: application/json' -H 'authorization: Bearer KEY' \\
  -d '{"thread": {"session": {"app_id": "support", "user_id": "ada", "session_key": "42"}},
       "messages": [{"role": "ROLE_USER", "parts": [{"text": "My dog is called Pixel."}]}]}'`;

export async function overviewPage({ signal, server }) {
  const [apps, status] = await Promise.all([
    appsList(signal),
    together({
      server: call("AdminService/GetServerInfo", {}, { signal }),
      index: call("AdminService/GetIndexStatus", {}, { signal }),
      distill: call("AdminService/GetDistillStatus", {}, { signal }),
      deletion: call("AdminService/GetDeletionStatus", {}, { signal }),
      usage: call("AdminService/GetModelUsage", { days: 1 }, { signal }),
    }),
  ]);
  const failure = Object.values(status).find((one) => one.failure)?.failure;
  return {
    title: "Overview",
    body: [
      h("h1", null, "Overview"),
      h("dl", { class: "tiles" }, tiles(status)),
      failure && failureNote(failure),
      h("section", { class: "card" }, h("h2", null, "Apps"), apps),
      h("section", { class: "card" }, h("h2", null, "Latest threads"), await threadsList(undefined, "update_time desc", signal)),
      h("p", { class: "muted" }, `Recollect ${server.version} on Postgres ${server.postgresVersion}; `,
        server.embeddingModel ? `embeddings by ${server.embeddingModel}.` : "no embedding model: recall matches by keyword."),
    ],
  };
}

function tiles({ server, index, distill, deletion, usage }) {
  const tiles = [];
  if (index.value) {
    const { state, pointCount, pendingCount, lag, deadLetterCount } = index.value;
    const ready = state === "INDEX_STATE_READY";
    const waiting = Number(pendingCount ?? 0) ? `${count(pendingCount)} waiting for ${span(lag)}` : "up to date";
    tiles.push(tile("Index", ready ? count(pointCount) : name(state, "INDEX_STATE_"), ready ? `items, ${waiting}` : waiting, ready ? "" : "bad"));
    if (Number(deadLetterCount ?? 0)) tiles.push(tile("Could not be indexed", count(deadLetterCount), link("/operations", {}, "see why"), "bad"));
  }
  if (distill.value) {
    const { waitingThreadCount, lag, failingThreadCount } = distill.value;
    const failing = Number(failingThreadCount ?? 0);
    tiles.push(tile("Distilling", count(waitingThreadCount, "thread"),
      failing ? `${count(failing)} failing` : seconds(lag) ? `waiting for ${span(lag)}` : "nothing is late", failing ? "bad" : ""));
  }
  if (deletion.value) {
    const { waitingCount, lag, failingCount } = deletion.value;
    const waits = Number(waitingCount ?? 0);
    tiles.push(tile("Deletions", count(waits), waits ? `waiting for ${span(lag)}` : "nothing is waiting", Number(failingCount ?? 0) ? "bad" : ""));
  }
  const { tokensToday = 0, dailyTokenBudget = 0 } = usage.value ?? {};
  if (Number(tokensToday) || Number(dailyTokenBudget)) tiles.push(quota("Model tokens today", count(tokensToday), tokensToday, dailyTokenBudget, count));
  const storage = server.value?.storage;
  if (storage) {
    tiles.push(quota("Messages", count(storage.messageCount), storage.messageCount, storage.maxMessageCount, count),
      quota("Stored", bytes(storage.storedBytes), storage.storedBytes, storage.maxStoredBytes, bytes));
  }
  return tiles;
}

function quota(label, shown, used, max, unit) {
  const limit = Number(max ?? 0);
  if (!limit) return tile(label, shown, "without a limit");
  return tile(label, shown, [meter(Number(used ?? 0), limit, `${shown} of ${unit(limit)}`), `of ${unit(limit)}`]);
}

function appsList(signal) {
  return paged(
    async (pageToken, first) => {
      const answer = await call("ThreadService/ListApps", { pageToken }, first && { signal });
      return { items: answer.apps ?? [], next: answer.nextPageToken };
    },
    (apps) => table("Apps", [
      ["App", (app) => link(appPath(app.appId), {}, app.appId)],
      ["Last activity", (app) => when(app.lastActivityTime)],
      ["Memories", (app) => link("/memories", { app: app.appId }, "show"), "end"],
    ], apps),
    () => empty("There is no data yet.", "Append a first message and reload this page:", h("pre", null, FIRST_APPEND())),
  );
}

export async function appPage({ groups: [app], signal }) {
  const [users, { appPolicy }] = await Promise.all([usersList(app, signal), call("PolicyService/GetAppPolicy", { appId: app }, { signal })]);
  return {
    title: app,
    body: [
      crumbs(link("/", {}, "Apps"), app),
      h("h1", null, app),
      h("p", { class: "actions" }, link("/recall", { app }, "Search all its messages"), link("/memories", { app }, "Memories of all users")),
      h("section", { class: "card" }, h("h2", null, "Users"), users),
      remembered(app, appPolicy?.policy),
    ],
  };
}

/** What the policy of an app says about its memories: their kinds, and what extraction never keeps. */
function remembered(app, { memoryKinds = [], neverKeep = [] } = {}) {
  return [
    memoryKinds.length > 0 && h("section", { class: "card" }, h("h2", null, "Kinds of memories"), table("Kinds of memories", [
      ["Kind", (kind) => link("/memories", { app, kind: kind.name }, kind.name)],
      ["Description", (kind) => kind.description],
      ["Examples", (kind) => count(kind.examples?.length), "number"],
      ["Attributes", (kind) => kind.jsonSchema ? h("details", null, h("summary", null, "Schema"), json(kind.jsonSchema)) : h("span", { class: "muted" }, "none")],
    ], memoryKinds)),
    neverKeep.length > 0 && h("section", { class: "card" }, h("h2", null, "Never kept"),
      h("p", { class: "muted" }, "Extraction makes no memory of these."),
      h("ul", null, neverKeep.map((one) => h("li", { class: "text" }, one)))),
  ];
}

function usersList(app, signal) {
  return paged(
    async (pageToken, first) => {
      const answer = await call("ThreadService/ListUsers", { appId: app, pageToken }, first && { signal });
      return { items: answer.users ?? [], next: answer.nextPageToken };
    },
    (items) => table("Users", [
      ["User", (user) => link(userPath(app, user.userId ?? ""), {}, who(user.userId))],
      ["Threads", (user) => count(user.threadCount), "number"],
      ["Messages", (user) => count(user.messageCount), "number"],
      ["Memories", (user) => link("/memories", { app, user: user.userId }, count(user.memoryCount)), "number"],
      ["Last activity", (user) => when(user.lastActivityTime)],
    ], items),
    () => empty(`The app ${app} has no threads and no memories.`, link("/", {}, "See all apps")),
  );
}

const ORDERS = [
  ["update_time desc", "last changed first"],
  ["create_time desc", "newest first"],
  ["create_time", "oldest first"],
];

export async function userPage({ groups: [app, user], params, signal }) {
  const order = params.get("order") || ORDERS[0][0];
  const list = await threadsList({ user: { appId: app, userId: user } }, order, signal);
  const select = choice(ORDERS, order, { onchange: (event) => go(userPath(app, user), { order: event.target.value }) });
  return {
    title: `${who(user)} in ${app}`,
    body: [
      crumbs(link("/", {}, "Apps"), link(appPath(app), {}, app), who(user)),
      h("h1", null, who(user)),
      h("p", { class: "actions" },
        user && link("/recall", { app, user }, "Search the user's messages"),
        link("/memories", { app, user }, "Memories")),
      h("section", { class: "card" },
        h("div", { class: "head" }, h("h2", null, "Threads"), field("Order", select)),
        list),
    ],
  };
}

function threadsList(scope, orderBy, signal) {
  return paged(
    async (pageToken, first) => {
      const answer = await call("ThreadService/ListThreads", { target: scope, orderBy, pageToken, pageSize: 20 }, first && { signal });
      return { items: answer.threads ?? [], next: answer.nextPageToken };
    },
    (threads) => table("Threads", [
      ["Thread", (thread) => [threadLink(thread), thread.ephemeral && h("span", { class: "chip" }, "ephemeral")]],
      ...(scope?.user ? [] : [["User", (thread) => link(userPath(thread.appId, thread.userId ?? ""), {}, `${thread.appId} › ${who(thread.userId)}`)]]),
      ["Messages", (thread) => count(thread.messageCount), "number"],
      ["Changed", (thread) => when(thread.updateTime)],
      ["Expires", (thread) => thread.expireTime ? h("time", { datetime: thread.expireTime, title: date(thread.expireTime) }, date(thread.expireTime)) : h("span", { class: "muted" }, "never")],
    ], threads),
    () => empty("There are no threads.", "The first append of a session creates its thread."),
  );
}
