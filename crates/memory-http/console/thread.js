// One thread: its messages as a tree of branches, and what became of each of them.

import { call, Failure, together, watch } from "./api.js";
import { tree } from "./charts.js";
import { announce, h, replace } from "./dom.js";
import { count, date, name, role, textOf, who } from "./format.js";
import { chip, choice, content, crumbs, empty, facts, failureNote, field, json, link, speaker, when, whereabouts } from "./parts.js";
import { address, threadPath } from "./route.js";

const PAGE = 200;
/** Ranges of a ledger that are shown. */
const RANGES = 1000;
/** The most pages that are read to find the head and the selected message. */
const PAGES = 10;
/** The most branches and memories that are read. */
const LISTED = 500;
/** The height of a row, as in console.css. */
const ROW = 36;
const KINDS = [
  ["summary", "Summary"],
  ["observation", "Observations"],
];
const STATES = {
  LEDGER_STATE_RAW: ["raw", "in full"],
  LEDGER_STATE_SUMMARIZED: ["summarized", "summarized"],
  LEDGER_STATE_OBSERVED: ["observed", "observed"],
  LEDGER_STATE_DELETED: ["deleted", "deleted"],
  LEDGER_STATE_SET_ASIDE: ["aside", "set aside"],
};

export async function threadPage({ groups: [threadId], params, signal, reload }) {
  const { thread } = await call("ThreadService/GetThread", { thread: { threadId } }, { signal });
  const head = params.get("head") || thread.headMessageId;
  const ledger = (kind) => ledgerOf({ thread: { threadId }, kind, headMessageId: head, includeTexts: true, pageSize: RANGES / 2 }, signal);
  const [messages, parts] = await Promise.all([
    newest(threadId, [head, params.get("m")].filter(Boolean), signal),
    together({
      branches: call("ThreadService/ListBranches", { thread: { threadId }, pageSize: LISTED }, { signal }),
      summary: ledger("LEDGER_KIND_SUMMARY"),
      observation: ledger("LEDGER_KIND_OBSERVATION"),
      memories: factsOf(thread, signal),
      policy: call("PolicyService/GetEffectivePolicy", { target: { thread: { threadId } } }, { signal }),
    }),
  ]);
  const view = new View({ thread, head, messages, parts, chosen: params.get("m") });
  const { branches = [], nextPageToken: moreBranches } = parts.branches.value ?? {};
  const mode = name(parts.policy.value?.effectivePolicy?.policy?.mode, "MEMORY_MODE_");
  const title = thread.title || thread.sessionKey;
  const scope = { thread: threadId };
  const refresh = h("button", { type: "button", onclick: reload }, "Refresh");
  return {
    title,
    body: [
      crumbs(...whereabouts(thread), title),
      h("div", { class: "head" }, h("h1", null, title),
        h("p", { class: "actions" },
          link("/recall", scope, "Recall"), link("/context", scope, "Context"),
          link("/memories", { app: thread.appId, user: thread.userId }, "Memories"),
          refresh)),
      h("p", { class: "line" },
        mode && chip(`${mode} memory`), thread.ephemeral && chip("ephemeral"),
        h("span", null, count(thread.messageCount, "message")),
        h("span", null, parts.branches.failure ? "branches could not be read" : `${moreBranches ? "more than " : ""}${count(branches.length, "branch")}`),
        h("span", null, "changed ", when(thread.updateTime)),
        h("code", null, thread.threadId)),
      Number(thread.messageCount ?? 0) === 0
        ? h("section", { class: "card" }, empty("This thread has no messages.", "Append one with its session key:", h("code", null, thread.sessionKey)))
        : view.nodes(branches),
    ],
    onshow: params.get("m") ? () => view.show() : undefined,
    start: (until) => follow(threadId, refresh, until),
  };
}

/** The facts that came from a thread: those of all who speak in it. */
async function factsOf({ threadId, appId, userId = "" }, signal) {
  const list = (target) => call("MemoryService/ListMemories", { target, filter: { thread: { threadId } }, pageSize: LISTED }, { signal });
  try {
    return await list({ app: { appId } });
  } catch (error) {
    // A key that is bound to a user may ask for those of this user alone.
    if (!(error instanceof Failure) || error.code !== "permission_denied") throw error;
    return list({ user: { appId, userId } });
  }
}

/**
 * Counts the changes since the page was read on the button that reads it again. A hidden tab has
 * no stream, because a browser allows six connections to an HTTP/1.1 server; shown again, it
 * resumes where it stopped.
 */
async function follow(threadId, button, signal) {
  const live = chip("live", "good");
  live.title = "Changes are counted as they happen";
  const seen = new Set();
  let [began, cursor, resumed] = ["", "", false];
  const onmessage = (event) => {
    cursor = event.cursor;
    if (event.started) {
      began ||= event.createTime;
      return button.before(live);
    }
    // A resumed stream may repeat events, also some from before the page was read.
    if (resumed && new Date(event.createTime) < new Date(began)) return;
    seen.add(JSON.stringify({ ...event, cursor: "" }));
    button.textContent = `Refresh (${count(seen.size, "change")})`;
    button.classList.add("primary");
  };
  let stop;
  const begin = async () => {
    const stopped = new AbortController();
    stop = stopped;
    resumed = cursor !== "";
    try {
      await watch("ThreadService/WatchThread", { thread: { threadId }, cursor }, { signal: AbortSignal.any([signal, stopped.signal]), onmessage });
    } catch (error) {
      // The button works without it.
      if (!(error instanceof Failure)) throw error;
    } finally {
      if (stop === stopped) live.remove();
    }
  };
  document.addEventListener("visibilitychange", () => {
    stop?.abort();
    live.remove();
    if (!document.hidden) begin();
  }, { signal });
  if (!document.hidden) await begin();
}

/** The newest messages, oldest first, as far back as those that are wanted, within limits. */
async function newest(threadId, wanted, signal) {
  const found = { messages: [], next: "" };
  for (let page = 0; page < PAGES; page += 1) {
    await older(threadId, found, signal);
    if (!found.next || wanted.every((id) => found.messages.some((one) => one.messageId === id))) break;
  }
  return found;
}

/** The ledger of a path: its newest ranges, and whether there are older ones. */
async function ledgerOf(request, signal) {
  const first = await call("LedgerService/ListLedger", request, { signal });
  const ranges = [...first.ranges ?? []];
  for (let pageToken = first.nextPageToken; pageToken;) {
    const page = await call("LedgerService/ListLedger", { ...request, pageToken }, { signal });
    ranges.push(...page.ranges ?? []);
    pageToken = page.nextPageToken;
  }
  return { ...first, ranges: ranges.slice(-RANGES), truncated: ranges.length > RANGES };
}

async function older(threadId, found, signal) {
  const answer = await call("MessageService/ListMessages",
    { target: { thread: { threadId } }, orderBy: "seq desc", pageSize: PAGE, pageToken: found.next }, { signal });
  found.messages.unshift(...(answer.messages ?? []).reverse());
  found.next = answer.nextPageToken ?? "";
}

class View {
  constructor({ thread, head, messages, parts, chosen }) {
    // `sought` is selected as soon as it is loaded; until then another one is `chosen`.
    Object.assign(this, { thread, head, found: messages, parts, chosen: chosen || head, sought: chosen || head });
    this.list = h("div", null);
    this.panel = h("aside", { class: "card panel", "aria-label": "Selected", "aria-live": "polite" });
  }

  nodes(branches) {
    this.draw();
    this.select(this.sought, false);
    return [
      this.ledgerCard(branches),
      h("div", { class: "split" },
        h("section", { class: "card" }, h("h2", null, "Messages"), this.legend(), this.list),
        this.panel),
    ];
  }

  /** Leads to the selected message. */
  show() {
    const row = this.rows.get(this.chosen);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "center" });
  }

  legend() {
    return h("p", { class: "legend" },
      ["user", "assistant", "system", "tool"].map((one) => h("span", { class: `who ${one}` }, h("span", { class: "mark", "aria-hidden": "true" }), one)),
      h("span", { class: "who" }, h("span", { class: "mark ring", "aria-hidden": "true" }), "head"));
  }

  /** The messages from the root to the head, as far as they are loaded. */
  path() {
    const byId = new Map(this.found.messages.map((message) => [message.messageId, message]));
    const path = [];
    for (let one = byId.get(this.head); one; one = byId.get(one.parentMessageId)) path.unshift(one);
    return path;
  }

  /** For each message on the path its range of a kind. */
  covered(kind, path) {
    const covered = new Map();
    const ranges = this.parts[kind].value?.ranges ?? [];
    const places = new Map(path.map((message, index) => [message.messageId, index]));
    // From the newest on, because older messages may not be loaded, and deleted ones are not listed.
    let end = path.length - 1;
    for (const range of [...ranges].reverse()) {
      if (range.state === "LEDGER_STATE_DELETED") continue;
      const first = places.get(range.firstMessageId) ?? Math.max(0, end - Number(range.messageCount ?? 0) + 1);
      const last = places.get(range.lastMessageId) ?? end;
      for (let index = first; index <= last; index += 1) covered.set(path[index].messageId, { range, starts: index === first, ends: index === last });
      end = first - 1;
      if (end < 0) break;
    }
    return covered;
  }

  draw() {
    const { messages } = this.found;
    const path = this.path();
    this.onPath = new Set(path.map((message) => message.messageId));
    this.lanes = KINDS
      .map(([kind, label]) => ({ kind, label, covered: this.covered(kind, path) }))
      .filter(({ covered }) => [...covered.values()].some(({ range }) => range.state !== "LEDGER_STATE_RAW"));
    this.memories = new Map();
    for (const memory of this.parts.memories.value?.memories ?? []) {
      for (const id of memory.sourceMessageIds ?? []) this.memories.set(id, [...(this.memories.get(id) ?? []), memory]);
    }
    const drawn = tree(messages, this.onPath, this.head, ROW);
    this.rows = new Map(messages.map((message) => [message.messageId, this.row(message, drawn.width)]));
    const list = h("div", { class: "messages", role: "listbox", "aria-label": "Messages, oldest first", onkeydown: (event) => this.move(event) },
      drawn.svg, [...this.rows.values()]);
    const more = h("button", { type: "button", onclick: async () => {
      more.disabled = true;
      try {
        await older(this.thread.threadId, this.found);
        this.draw();
        this.select(this.sought, false);
      } catch (error) {
        more.after(failureNote(error));
        more.disabled = false;
      }
    } }, "Load older messages");
    const columns = h("p", { class: "lane-names", "aria-hidden": "true" },
      this.lanes.map(({ label }) => h("span", null, label)), this.memories.size > 0 && h("span", null, "Facts"));
    replace(this.list, this.notes(), this.found.next && h("p", { class: "more" }, more), columns, list);
  }

  /** What the tree and the rows lack. */
  notes() {
    const { messages, next } = this.found;
    const lacks = (id) => id && !messages.some((one) => one.messageId === id);
    const where = next ? `not among the newest ${count(messages.length, "message")}: load older ones` : "not in this thread; it may have been deleted";
    return [
      lacks(this.head) && `The head is ${where}. Until it is found, no message is drawn on its path, and none has a state.`,
      this.sought !== this.head && lacks(this.sought) && `The selected message is ${where}.`,
      this.parts.memories.value?.nextPageToken && `The thread has more facts than the ${count(LISTED)} that are shown beside their messages.`,
    ].filter(Boolean).map((text) => h("p", { class: "note warn" }, text));
  }

  row(message, indent) {
    const off = !this.onPath.has(message.messageId);
    const told = [];
    const lanes = this.lanes.map(({ label, covered }) => {
      const place = covered.get(message.messageId);
      if (!place) return h("span", { class: "lane" });
      const [kind, words] = STATES[place.range.state] ?? ["raw", ""];
      told.push(`${label}: ${words}`);
      return h("span", { class: `lane ${kind}${place.starts ? " starts" : ""}${place.ends ? " ends" : ""}`, title: `${label}: ${words}` });
    });
    const memories = this.memories.get(message.messageId) ?? [];
    if (memories.length) told.push(count(memories.length, "fact"));
    const seq = h("span", { class: "seq" }, h("span", { class: "unseen" }, "message "), String(message.seq));
    seq.style.minWidth = `${String(this.thread.lastSeq).length}ch`;
    const row = h("div", {
      class: `row ${off ? "off" : ""}`, role: "option", tabindex: "-1", "aria-selected": "false", "data-id": message.messageId,
      onclick: () => this.select(message.messageId, true),
    },
      seq,
      h("span", { class: "unseen" }, message.name || message.userId || role(message.role)),
      h("span", { class: "preview" }, (message.name || message.userId) && h("b", null, `${message.name || message.userId}: `), textOf(message).slice(0, 300)),
      h("span", { class: "unseen" }, told.join(", ")),
      message.messageId === this.head && chip("head", "accent"),
      h("span", { class: "lanes", "aria-hidden": "true" }, lanes, this.memories.size > 0 && h("span", { class: "lane fact" }, memories.length > 0 && h("i", null, String(memories.length)))));
    row.style.paddingLeft = `${indent}px`;
    return row;
  }

  move(event) {
    const ids = [...this.rows.keys()];
    const at = ids.indexOf(this.chosen);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: ids.length - 1, PageDown: at + 10, PageUp: at - 10 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.select(ids[Math.max(0, Math.min(ids.length - 1, to))], true);
    this.rows.get(this.chosen)?.focus();
  }

  /** Shows a message in the panel. */
  select(id, chosenByUser) {
    this.rows.get(this.chosen)?.setAttribute("aria-selected", "false");
    this.rows.get(this.chosen)?.setAttribute("tabindex", "-1");
    const message = this.found.messages.find((one) => one.messageId === id) ?? this.found.messages.at(-1);
    if (!message) return;
    this.chosen = message.messageId;
    if (chosenByUser) this.sought = this.chosen;
    const row = this.rows.get(this.chosen);
    row.setAttribute("aria-selected", "true");
    row.setAttribute("tabindex", "0");
    if (chosenByUser) history.replaceState(null, "", address(threadPath(this.thread.threadId), { head: this.head === this.thread.headMessageId ? "" : this.head, m: this.chosen }));
    const states = this.lanes.map(({ label, kind, covered }) => {
      const range = covered.get(this.chosen)?.range;
      if (!range) return null;
      const words = STATES[range.state]?.[1];
      return [label, range.number ? h("button", { type: "button", class: "plain", onclick: () => this.showRange(kind, label, range) }, `${words} (${range.number})`) : words];
    });
    const thread = this.thread.threadId;
    replace(this.panel,
      h("h2", null, speaker(message), ` ${message.seq}`),
      h("div", { class: "content" }, content(message.parts)),
      facts([
        ["Said", h("span", null, date(message.createTime))],
        ["Said by", message.userId && h("code", null, message.userId)],
        ["Tokens", count(message.tokenCount)],
        ["Branch", `${message.branch}, depth ${message.depth}`],
        ...states.filter(Boolean),
        ["External id", message.externalId && h("code", null, message.externalId)],
        ["Id", h("code", null, message.messageId)],
      ]),
      message.metadata && h("details", null, h("summary", null, "Metadata"), json(message.metadata)),
      (this.memories.get(this.chosen) ?? []).map((memory) => h("p", { class: "note fact" },
        h("strong", null, memory.userId === this.thread.userId ? "Fact: " : `Fact of ${who(memory.userId)}: `), link("/memories", { app: memory.appId, user: memory.userId, m: memory.memoryId }, memory.text))),
      h("p", { class: "actions" },
        link("/recall", { thread, q: textOf(message).slice(0, 300) }, "Recall with this text"),
        link("/context", { thread, head: message.messageId }, "Context from here"),
        message.messageId !== this.head && link(threadPath(thread), { head: message.messageId, m: message.messageId }, "Ledger up to here")));
  }

  /** The conversation as a strip for each kind of derived text: what is in full, what is covered. */
  ledgerCard(branches) {
    const used = new Set();
    const strips = KINDS.map(([kind, label]) => {
      const { value, failure } = this.parts[kind];
      if (failure) return failureNote(failure);
      const ranges = value.ranges ?? [];
      if (!value.truncated && !ranges.some((range) => range.state !== "LEDGER_STATE_RAW")) return null;
      ranges.forEach((range) => used.add(range.state));
      const tokens = (state) => ranges.filter((range) => range.state === state).reduce((sum, range) => sum + Number(range.tokenCount ?? 0), 0);
      const instead = (value.texts ?? []).reduce((sum, text) => sum + Number(text.tokenCount ?? 0), 0);
      const said = Object.entries(STATES).reverse().map(([state, [, words]]) => {
        if (!tokens(state)) return "";
        const read = ["LEDGER_STATE_SUMMARIZED", "LEDGER_STATE_OBSERVED"].includes(state) ? `, read as ${count(instead)}` : "";
        return `${count(tokens(state), "token")} ${words}${read}`;
      }).filter(Boolean).join("; ");
      return h("div", { class: "strip-row" },
        h("h3", null, label),
        h("div", { class: "strip", role: "group", "aria-label": `${label}: ${said}` }, ranges.map((range) => {
          const [state, words] = STATES[range.state] ?? ["raw", ""];
          const text = `${count(range.messageCount, "message")} ${words}, ${count(range.tokenCount, "token")}`;
          return h("button", { type: "button", class: `segment ${state}`, grow: Math.max(1, Number(range.tokenCount ?? 0)), title: text, "aria-label": text,
            onclick: () => this.showRange(kind, label, range) });
        })),
        h("p", { class: "muted" }, said),
        value.truncated && h("p", { class: "note warn" }, `Older ranges are not shown: these are the newest ${count(ranges.length)}, and the tokens are theirs.`));
    });
    const options = branches.map((branch) => [branch.headMessageId ?? "", `branch ${branch.branch}, ${branch.depth} deep${branch.active ? " (head)" : ""}`]);
    if (!options.some(([value]) => value === this.head)) options.unshift([this.head, "the selected message"]);
    const select = choice(options, this.head, { onchange: (event) => {
      const head = event.target.value;
      location.hash = address(threadPath(this.thread.threadId), { head: head === this.thread.headMessageId ? "" : head });
    } });
    const plain = strips.every((strip) => !strip);
    return h("section", { class: "card" },
      h("div", { class: "head" },
        h("h2", null, "Ledger"),
        h("div", { class: "actions" }, this.verifyButton(), options.length > 1 && h("div", { class: "inline" }, field("Path to", select)))),
      this.parts.branches.value?.nextPageToken && h("p", { class: "note warn" }, `The thread has more branches than the oldest ${count(LISTED)}, which are listed here.`),
      plain
        ? h("p", { class: "muted" }, "Every message on the path is in full. Summaries and observations are made when the messages outgrow the policy's limits.")
        : [
          strips,
          h("p", { class: "legend" },
            Object.entries(STATES).filter(([state]) => used.has(state)).map(([, [state, words]]) => h("span", null, h("span", { class: `swatch ${state}` }), words)),
            h("span", null, "Widths are tokens, the oldest message is on the left. Select a part to read the text that stands for it.")),
        ]);
  }

  verifyButton() {
    const place = h("span", { role: "status" });
    const verify = async () => {
      try {
        const answer = await call("LedgerService/VerifyThread", { thread: { threadId: this.thread.threadId } });
        replace(place, answer.ok ? h("span", { class: "good" }, "No gap, no overlap.") : (answer.faults ?? []).map((fault) => h("span", { class: "bad" }, `${fault.message} `)));
      } catch (error) {
        replace(place, failureNote(error));
      }
    };
    return [place, h("button", { type: "button", onclick: verify }, "Verify")];
  }

  showRange(kind, label, range) {
    const [, words] = STATES[range.state] ?? ["", ""];
    const title = range.number ? `${{ summary: "Summary", observation: "Observation" }[kind]} ${range.number}` : `${label}: ${words}`;
    const texts = this.parts[kind].value?.texts ?? [];
    // A summary continues those before it: the current one stands for every summarized range.
    const text = texts.find((one) => one.number === range.number) ?? (kind === "summary" && range.state === "LEDGER_STATE_SUMMARIZED" ? texts.at(-1) : undefined);
    for (const row of this.rows.values()) row.classList.remove("marked");
    const lane = this.lanes.find((one) => one.kind === kind);
    for (const [id, place] of lane?.covered ?? []) if (place.range === range) this.rows.get(id)?.classList.add("marked");
    replace(this.panel,
      h("h2", null, title),
      facts([
        ["Messages", count(range.messageCount)],
        ["Their tokens", count(range.tokenCount)],
        ["Tokens of the text", text && count(text.tokenCount)],
        ["Written by", text && (text.madeBy || name(text.origin, "TEXT_ORIGIN_"))],
        ["Written", text && date(text.createTime)],
      ]),
      text?.text ? h("p", { class: "text" }, text.text) : h("p", { class: "muted" },
        range.state === "LEDGER_STATE_RAW" ? "These messages are in the working context in full." : "No text stands for these messages."),
      h("p", { class: "actions" },
        link(threadPath(this.thread.threadId), { m: range.firstMessageId }, "First message"), link(threadPath(this.thread.threadId), { m: range.lastMessageId }, "Last message")));
    announce(title);
    if (window.innerWidth < 1000) this.panel.scrollIntoView({ block: "nearest" });
  }
}
