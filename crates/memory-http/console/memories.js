// Long-term memories: what is known of a user, where it comes from, and how it changed.

import { call, Failure } from "./api.js";
import { bar, validity } from "./charts.js";
import { announce, h, marked, replace } from "./dom.js";
import { count, date, name, textOf, who } from "./format.js";
import { chip, confirm, degradations, empty, facts, failureNote, field, json, link, paged, scopeFields, searchForm, speaker, suggestions, when } from "./parts.js";
import { address, threadPath } from "./route.js";
import { truth, truthFields } from "./times.js";

export async function memoriesPage({ params, signal, reload }) {
  const chosen = params.get("m");
  const detail = chosen ? await memoryOf(chosen, signal) : null;
  const given = await ownerOf(params, detail?.memory, signal);
  const shown = new URLSearchParams({ app: given.app, user: given.user, q: params.get("q") ?? "" });
  const scope = scopeFields(shown, { threads: false });
  const query = h("input", { id: "query", type: "search", value: params.get("q") ?? "", placeholder: "all memories", autocomplete: "off" });
  const old = h("input", { id: "superseded", type: "checkbox", checked: params.get("old") === "1" });
  const held = truthFields(params);
  const kind = h("input", { value: params.get("kind") ?? "", placeholder: "all kinds", autocomplete: "off", spellcheck: "false" });
  const kinds = suggestions(kind, "kinds", async () => {
    const { app } = scope.value();
    return app ? (await kindsOf(app)).map((one) => [one.name, one.description]) : [];
  });
  const value = () => ({
    ...scope.value(), q: query.value.trim(), kind: kind.value.trim(), ...held.value(), old: old.checked ? "1" : "",
  });
  const form = searchForm("/memories", value,
    h("div", { class: "fields" }, scope.nodes,
      h("div", { class: "field wide" }, h("label", { for: "query" }, "Search"), query)),
    h("div", { class: "fields" }, field("Kind", kind), kinds, held.nodes,
      h("div", { class: "field check" }, old, h("label", { for: "superseded" }, "Superseded ones too")),
      h("button", { type: "submit", class: "primary" }, "Show")));
  const times = truth(params);
  const filter = { ...times, kinds: params.get("kind") ? [params.get("kind")] : [], includeSuperseded: params.get("old") === "1" };
  const page = { owner: given, query: params.get("q") ?? "", times, filter, chosen, params };
  return {
    title: "Memories",
    body: [
      h("h1", null, "Memories"),
      form,
      h("div", { class: detail ? "split even" : "" },
        h("section", { class: "card" }, await list(page, signal)),
        detail && h("section", { class: "card panel", "aria-label": "Selected memory" }, await detailOf(detail, page, signal, reload))),
    ],
    onshow: given.app ? undefined : () => document.getElementById("field-app").focus(),
  };
}

/** The kinds of memories that the policy of an app has. */
async function kindsOf(appId) {
  const { appPolicy } = await call("PolicyService/GetAppPolicy", { appId }, { quiet: true });
  return appPolicy?.policy?.memoryKinds ?? [];
}

async function memoryOf(memoryId, signal) {
  try {
    return await call("MemoryService/GetMemory", { memoryId }, { signal });
  } catch (error) {
    if (!(error instanceof Failure) || error.code === "unauthenticated") throw error;
    return { failure: error };
  }
}

/** The app and user of the address, or else those of its memory or thread. */
async function ownerOf(params, memory, signal) {
  const given = { app: params.get("app") ?? "", user: params.get("user") ?? "" };
  if (given.app) return given;
  if (memory) return { app: memory.appId, user: memory.userId ?? "" };
  if (!params.get("thread")) return given;
  const { thread } = await call("ThreadService/GetThread", { thread: { threadId: params.get("thread") } }, { signal });
  return { app: thread.appId, user: thread.userId ?? "" };
}

async function list({ owner, query, times, filter, chosen, params }, signal) {
  if (!owner.app) return empty("Choose an app.", "Enter an app, and a user to see the memories of one.");
  const then = Boolean(times.asOf || times.knownAt);
  const entry = (memory, score) => h("li", { class: memory.validUntil && !then ? "memory ended" : "memory" },
    link("/memories", { ...Object.fromEntries(params), ...owner, m: memory.memoryId }, marked(memory.text, query), { "aria-current": memory.memoryId === chosen && "true" }),
    h("p", { class: "line" },
      memory.pinned && chip("pinned", "accent"),
      memory.validUntil && chip(then ? "superseded since" : "superseded"),
      chip(name(memory.type, "MEMORY_TYPE_") || "semantic"),
      memory.kind && chip(memory.kind, "accent"),
      (memory.topics ?? []).map((topic) => chip(topic)),
      h("span", { class: "muted" }, name(memory.origin, "MEMORY_ORIGIN_"), " · ", when(memory.createTime)),
      score !== undefined && bar("score", score, score.toFixed(2), "score")));
  const narrowed = query || then || filter.kinds.length > 0;
  const nothing = () => empty(narrowed ? "No memory matches." : `Nothing is remembered of ${owner.user || "this app"}.`,
    narrowed ? "Try other words, another kind or another time." : "Memories are extracted from conversations in the background (policy field extraction), or added with AddMemories.");
  const heading = h("h2", null, owner.user ? `What is known of ${owner.user}` : `All memories of ${owner.app}`);
  try {
    if (query && owner.user) {
      const answer = await call("MemoryService/SearchMemories", { target: { user: { appId: owner.app, userId: owner.user } }, query, topK: 50, filter }, { signal });
      const found = answer.memories ?? [];
      return [heading, degradations(answer.degradations), found.length === 0 ? nothing() : h("ul", { class: "memories" }, found.map((one) => entry(one.memory, one.score ?? 0)))];
    }
    const scope = owner.user ? { user: { appId: owner.app, userId: owner.user } } : { app: { appId: owner.app } };
    return [
      heading,
      owner.user && await profileOf(owner, times, signal),
      owner.user && await filesOf(owner, signal),
      query && h("p", { class: "note" }, "Only the memories of one user can be searched; enter a user."),
      await paged(
        async (pageToken, first) => {
          const answer = await call("MemoryService/ListMemories", { target: scope, filter, pageToken }, first && { signal });
          return { items: answer.memories ?? [], next: answer.nextPageToken };
        },
        (items) => h("ul", { class: "memories" }, items.map((memory) => entry(memory))),
        nothing),
    ];
  } catch (error) {
    if (!(error instanceof Failure) || error.code === "unauthenticated") throw error;
    return failureNote(error);
  }
}

/** What contexts may say of a user, behind a heading. */
async function profileOf(owner, times, signal) {
  const { entries = [], totalTokens = 0, omittedCount = 0 } = await call("MemoryService/GetProfile", { user: { appId: owner.app, userId: owner.user }, ...times }, { signal });
  if (entries.length === 0) return null;
  const left = Number(omittedCount);
  return h("details", { class: "profile" },
    h("summary", null, `Profile: ${count(entries.length, "fact")} in ${count(totalTokens, "token")}${left ? `, ${count(left)} left out` : ""}`),
    h("ul", { class: "quotes" }, entries.map((entry) => h("li", null,
      h("p", { class: "text" }, entry.text),
      h("p", { class: "line" },
        entry.pinned && chip("pinned", "accent"),
        entry.topic && chip(entry.topic),
        (entry.memoryIds ?? []).map((memoryId) => link("/memories", { ...owner, m: memoryId }, "memory")))))));
}

/** The text files that agents keep for a user, behind a heading; each with its text and versions when it is opened. */
async function filesOf(owner, signal) {
  const user = { appId: owner.app, userId: owner.user };
  const { directory = {} } = await call("MemoryFileService/GetMemoryFile", { user, path: "/", depth: 15 }, { signal });
  const files = (directory.entries ?? []).filter((entry) => !entry.isDirectory);
  if (files.length === 0) return null;
  const versionsOf = async (path) => {
    const [{ file }, { versions = [] }] = await Promise.all([
      call("MemoryFileService/GetMemoryFile", { user, path }, { signal }),
      call("MemoryFileService/ListMemoryFileVersions", { user, path }, { signal }),
    ]);
    return [
      h("pre", { class: "text" }, file?.lines?.text ?? ""),
      h("ol", { class: "quotes", reversed: true }, versions.map((one) => h("li", { value: one.version },
        h("p", null, name(one.change, "MEMORY_FILE_CHANGE_"), ` · ${count(one.sizeBytes ?? 0)} bytes · `, when(one.createTime)),
        opened(`Changes of version ${one.version}`, () => changesOf(path, one.version), signal)))),
    ];
  };
  const changesOf = async (path, toVersion) => {
    const { diff = "" } = await call("MemoryFileService/CompareMemoryFileVersions", { user, path, toVersion }, { signal });
    return diff ? h("pre", { class: "text" }, diff) : h("p", { class: "muted" }, "The text is that of the version before.");
  };
  return h("details", { class: "files" },
    h("summary", null, `Files of agents: ${count(files.length)}`),
    files.map(({ path, sizeBytes = 0, updateTime }) => opened(
      [path, " ", h("span", { class: "muted" }, `${count(sizeBytes)} bytes · `, when(updateTime))], () => versionsOf(path), signal)));
}

/** What is read when it is first opened, behind a heading. */
function opened(heading, read, signal) {
  const body = h("div", null);
  const open = async () => {
    if (body.hasChildNodes()) return;
    try {
      replace(body, await read());
    } catch (error) {
      if (!signal.aborted) replace(body, failureNote(error));
    }
  };
  return h("details", { ontoggle: (event) => event.currentTarget.open && open() }, h("summary", null, heading), body);
}

async function detailOf({ memory, superseded = [], failure }, page, signal, reload) {
  if (failure) return failureNote(failure);
  const problem = h("div", null);
  const back = address("/memories", { ...Object.fromEntries(page.params), ...page.owner, thread: "", m: "" });
  const forget = async () => {
    const sure = await confirm("Forget this memory?", `“${memory.text}” will be deleted, also from the index. This cannot be undone.`, "Forget");
    if (!sure) return;
    try {
      await call("MemoryService/DeleteMemory", { memoryId: memory.memoryId });
      announce("The memory is deleted.");
      if (location.hash === back) reload();
      else location.hash = back;
    } catch (error) {
      replace(problem, failureNote(error));
    }
  };
  return [
    h("h2", null, "Memory"),
    h("p", { class: "text lead" }, memory.text),
    facts([
      ["Of", `${memory.appId} › ${who(memory.userId)}`],
      ["Origin", name(memory.origin, "MEMORY_ORIGIN_")],
      ["Made by", memory.madeBy || (memory.origin === "MEMORY_ORIGIN_EXTRACTED" && "the built-in algorithm")],
      ["Kind", memory.kind],
      ["Topics", (memory.topics ?? []).join(", ")],
      ["Entities", (memory.entities ?? []).join(", ")],
      ["Happened", date(memory.eventTime)],
      ["Stored", date(memory.createTime)],
      ["Superseded", date(memory.knownUntil)],
      ["Changed", memory.updateTime !== memory.createTime && date(memory.updateTime)],
      ["Last used", memory.lastUseTime && memory.lastUseTime.slice(0, 10)],
      ["External id", memory.externalId && h("code", null, memory.externalId)],
      ["Id", h("code", null, memory.memoryId)],
    ]),
    memory.attributes && h("details", { open: true }, h("summary", null, "Attributes"), json(memory.attributes)),
    memory.metadata && h("details", null, h("summary", null, "Metadata"), json(memory.metadata)),
    h("h3", null, "Sources"),
    await sources(memory, signal),
    h("h3", null, "History"),
    historyOf(memory, superseded),
    problem,
    h("p", { class: "actions" }, h("button", { type: "button", class: "danger", onclick: forget }, "Forget…")),
  ];
}

async function sources(memory, signal) {
  const ids = memory.sourceMessageIds ?? [];
  if (ids.length === 0) return h("p", { class: "muted" }, memory.origin === "MEMORY_ORIGIN_EXTRACTED" ? "Its sources were deleted; it is kept because it is pinned." : "No messages support it; a caller added it.");
  const found = await Promise.all(ids.map(async (messageId) => {
    if (!memory.threadId) return { messageId };
    try {
      return (await call("MessageService/GetMessage", { thread: { threadId: memory.threadId }, messageId }, { signal })).message;
    } catch (error) {
      if (!(error instanceof Failure) || error.code === "unauthenticated") throw error;
      return { messageId };
    }
  }));
  return h("ol", { class: "quotes" }, found.map((message) => message.parts
    ? h("li", null,
      h("p", { class: "line" }, speaker(message), link(threadPath(message.threadId), { m: message.messageId }, `message ${message.seq}`)),
      h("p", { class: "text" }, textOf(message)))
    : h("li", null, h("p", { class: "muted" }, "a message of another thread of this user: ", h("code", null, message.messageId)))));
}

function historyOf(memory, superseded) {
  const line = [...superseded].reverse().concat(memory);
  const spans = line.map((one) => ({
    label: `${one.text} (from ${date(one.validFrom ?? one.createTime)}${one.validUntil ? ` until ${date(one.validUntil)}` : ""})`,
    from: new Date(one.validFrom ?? one.createTime).getTime(),
    until: one.validUntil && new Date(one.validUntil).getTime(),
  }));
  const entry = (one) => h("li", null,
    h("span", { class: "muted" }, `${date(one.validFrom ?? one.createTime)} – ${one.validUntil ? date(one.validUntil) : "now"}`), " ",
    one.memoryId === memory.memoryId ? h("strong", null, one.text) : link("/memories", { m: one.memoryId }, one.text));
  return [
    line.length > 1 && validity(spans, `${count(line.length)} versions over time`),
    h("ol", { class: "history" }, line.map(entry)),
    memory.supersededBy && h("p", null, "Superseded by ", link("/memories", { m: memory.supersededBy }, "a newer memory"), "."),
    line.length === 1 && !memory.supersededBy && h("p", { class: "muted" }, "It has superseded nothing."),
  ];
}
