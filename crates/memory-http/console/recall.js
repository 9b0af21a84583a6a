// What recall finds for a query, and why.

import { call, Failure, together } from "./api.js";
import { bar, places } from "./charts.js";
import { h, marked } from "./dom.js";
import { count, date, name, short, textOf } from "./format.js";
import { chip, choice, degradations, empty, facts, failureNote, field, link, scopeFields, searchForm, speaker, table } from "./parts.js";
import { threadPath } from "./route.js";
import { asked, namedTimes, rangeFields } from "./times.js";

const METHODS = [["", "meaning and words"], ["SEARCH_METHOD_DENSE", "meaning only"], ["SEARCH_METHOD_LEXICAL", "words only"]];
const SCOPES = [["", "as the policy says"], ["RECALL_SCOPE_THREAD", "this thread"], ["RECALL_SCOPE_USER", "the user's threads"], ["RECALL_SCOPE_APP", "all threads of the app"]];
const REASONS = {
  RECALL_REASON_RECENT: ["recent", "recent"],
  RECALL_REASON_MATCH: ["match", "match"],
  RECALL_REASON_NEIGHBOR: ["neighbor", "neighbor"],
};
const OMISSIONS = {
  OMISSION_REASON_BUDGET: "over the budget",
  OMISSION_REASON_DUPLICATE: "a message with the same content is returned",
  OMISSION_REASON_THRESHOLD: "score below the minimum",
  OMISSION_REASON_RANK: "better matches were found",
  OMISSION_REASON_BRANCH: "on another branch",
};

/** What a request is about; undefined as long as too little was entered. */
export function target({ thread, app, user }) {
  if (thread) return { thread: { threadId: thread } };
  if (app && user) return { user: { appId: app, userId: user } };
  if (app) return { app: { appId: app } };
  return undefined;
}

export async function recallPage({ params, signal }) {
  const scope = scopeFields(params);
  const query = h("input", { id: "query", type: "search", value: params.get("q") ?? "", placeholder: "What is my dog called?", autocomplete: "off" });
  const range = rangeFields(params);
  const method = choice(METHODS, params.get("method") ?? "");
  const reach = choice(SCOPES, params.get("scope") ?? "");
  const top = h("input", { type: "number", min: "1", max: "100", value: params.get("top") ?? "", placeholder: "policy" });
  const budget = h("input", { type: "number", min: "1", value: params.get("tokens") ?? "", placeholder: "unlimited" });
  const all = h("input", { id: "all-branches", type: "checkbox", checked: params.get("all") === "1" });
  const value = () => ({
    ...scope.value(), q: query.value.trim(), ...range.value(), method: method.value, scope: reach.value, top: top.value, tokens: budget.value, all: all.checked ? "1" : "",
  });
  const form = searchForm("/recall", value,
    h("div", { class: "fields" }, scope.nodes),
    h("div", { class: "fields" }, h("div", { class: "field wide" }, h("label", { for: "query" }, "Query"), query), range.nodes, h("button", { type: "submit", class: "primary" }, "Recall")),
    h("details", { open: ["method", "scope", "top", "tokens", "all"].some((one) => params.get(one)) },
      h("summary", null, "Options"),
      h("div", { class: "fields" }, field("Match by", method), field("Search", reach), field("Matches", top), field("Token budget", budget),
        h("div", { class: "field check" }, all, h("label", { for: "all-branches" }, "Other branches too")))));
  return {
    title: "Recall",
    body: [h("h1", null, "Recall"), form, await found(params, signal)],
    onshow: params.get("q") ? undefined : () => (scope.value().app || scope.value().thread ? query : document.getElementById("field-app")).focus(),
  };
}

async function found(params, signal) {
  const about = target(Object.fromEntries(params));
  if (!about) return empty("Choose where to search.", "Enter an app, an app and a user, or a thread, and what to look for.");
  const request = {
    target: about,
    query: params.get("q") ?? "",
    method: params.get("method") || undefined,
    maxTokens: Number(params.get("tokens")) || undefined,
    allBranches: params.get("all") === "1",
    ...asked(params),
    policy: { topK: Number(params.get("top")) || undefined, scope: params.get("scope") || undefined },
    explain: true,
  };
  let answer;
  const begin = performance.now();
  try {
    answer = await call("RecallService/Recall", request, { signal });
  } catch (error) {
    if (!(error instanceof Failure) || error.code === "unauthenticated") throw error;
    return failureNote(error);
  }
  const took = performance.now() - begin;
  const messages = answer.messages ?? [];
  const threads = await threadsOf(messages, signal);
  const matches = messages.filter((one) => one.rank).sort((a, b) => a.rank - b.rank);
  const recent = messages.filter((one) => !one.rank && one.reasons?.includes("RECALL_REASON_RECENT"));
  const words = params.get("q") ?? "";
  const listed = !words && (params.get("from") || params.get("until"));
  return [
    degradations(answer.degradations),
    namedTimes(answer.namedTimes),
    h("p", { class: "line", role: "status" },
      h("strong", null, count(matches.length, "match")),
      h("span", null, count(messages.length, "message")),
      h("span", null, count(answer.totalTokens, "token")),
      answer.method && h("span", null, `by ${{ HYBRID: "meaning and words", DENSE: "meaning", LEXICAL: "words" }[answer.method.slice(14)] ?? answer.method}`),
      h("span", { class: "muted" }, `${Math.round(took)} ms`)),
    messages.length > 0 && where(messages, threads),
    listed ? saidThen(messages, threads) : h("section", { class: "card" },
      h("h2", null, "Matches"),
      h("p", { class: "muted" }, "The score combines meaning (the cosine of the embeddings) and words (BM25), with the messages around. It is comparable within one answer."),
      matches.length === 0
        ? empty(words ? "Nothing matches." : "There is no query.", words ? "Try other words, another scope, or more matches." : "Only the newest messages of a thread are returned. Enter a time to list what was said then.")
        : h("ol", { class: "hits" }, matches.map((match) => hit(match, messages, matches, words, threads)))),
    recent.length > 0 && h("section", { class: "card" }, h("h2", null, "Recent messages"),
      h("p", { class: "muted" }, "The newest messages of the thread, whatever the query is."),
      h("ol", { class: "quotes" }, recent.map((one) => quote(one, words, threads)))),
    omitted(answer, about),
    policy(answer.effectivePolicy),
  ];
}

/** What was said at the times of the filter, for a recall without a query. */
function saidThen(messages, threads) {
  const said = messages.filter((one) => one.rank).sort((a, b) => new Date(a.message.createTime) - new Date(b.message.createTime));
  return h("section", { class: "card" },
    h("h2", null, "Said then"),
    h("p", { class: "muted" }, "The newest messages of this time, oldest first. The option Matches sets how many."),
    said.length === 0
      ? empty("Nothing was said then.", "Try another time or another scope.")
      : h("ol", { class: "quotes" }, said.map((one) => quote(one, "", threads))));
}

function hit(match, messages, matches, words, threads) {
  const { message } = match;
  const lexical = Math.max(...matches.map((one) => one.lexicalScore ?? 0));
  const around = messages.filter((one) => one.neighborOf?.includes(message.messageId));
  return h("li", { class: "hit" },
    h("div", { class: "rank", "aria-label": `rank ${match.rank}` }, String(match.rank)),
    h("div", { class: "hit-text" },
      h("p", { class: "line" }, speaker(message), chips(match), place(message, threads)),
      h("p", { class: "text" }, marked(textOf(message), words)),
      around.length > 0 && h("details", null, h("summary", null, count(around.length, "neighbor")),
        h("ol", { class: "quotes" }, around.map((one) => quote(one, words, threads))))),
    h("div", { class: "bars", role: "group", "aria-label": "Scores" },
      bar("score", match.score, (match.score ?? 0).toFixed(2), "score"),
      match.denseScore === undefined ? missing("meaning") : bar("meaning", match.denseScore, match.denseScore.toFixed(2), "dense"),
      match.lexicalScore === undefined ? missing("words") : bar("words", match.lexicalScore / (lexical || 1), match.lexicalScore.toFixed(1), "lexical")));
}

function missing(label) {
  return h("div", { class: "bar" }, h("span", { class: "bar-label" }, label), h("span", { class: "muted" }, "not found"), h("span", { class: "bar-value" }, "–"));
}

function chips({ reasons }) {
  return (reasons ?? []).map((reason) => chip(REASONS[reason]?.[1] ?? reason, REASONS[reason]?.[0]));
}

/** In which threads the messages are, and how far back. */
function where(messages, threads) {
  const rows = [...threads].map(([threadId, thread]) => {
    const found = messages.filter(({ message }) => message.threadId === threadId).map((one) => ({
      seq: Number(one.message.seq),
      kind: one.rank ? "match" : one.reasons?.includes("RECALL_REASON_RECENT") ? "recent" : "neighbor",
    }));
    const last = Math.max(Number(thread?.lastSeq ?? 0), ...found.map(({ seq }) => seq));
    const matches = found.filter(({ kind }) => kind === "match").length;
    return h("li", null, link(threadPath(threadId), {}, titleOf(thread) || short(threadId)),
      places(found, last, `${count(matches, "match")} and ${count(found.length - matches, "other message")} of ${count(last)}`),
      h("span", { class: "muted number" }, `${found.length} of ${count(last)}`));
  });
  return h("section", { class: "card" },
    h("div", { class: "head" }, h("h2", null, "Where"),
      h("p", { class: "legend" }, ["match", "neighbor", "recent"].map((kind) => h("span", null, h("span", { class: `swatch place-${kind}` }), kind)),
        h("span", null, "from each thread's first message to its newest"))),
    h("ol", { class: "where" }, rows));
}

const titleOf = (thread) => thread?.title || thread?.sessionKey;

function place(message, threads) {
  const title = titleOf(threads.get(message.threadId));
  return [
    link(threadPath(message.threadId), { m: message.messageId }, `message ${message.seq}`),
    title && h("span", { class: "muted" }, `in ${title}`),
    h("span", { class: "muted" }, date(message.createTime)),
  ];
}

/** The messages' threads by id, the first 20. */
async function threadsOf(messages, signal) {
  const ids = [...new Set(messages.map(({ message }) => message.threadId))].slice(0, 20);
  const found = await together(Object.fromEntries(ids.map((threadId) => [threadId, call("ThreadService/GetThread", { thread: { threadId } }, { signal })])));
  return new Map(ids.map((id) => [id, found[id].value?.thread]));
}

function quote(one, words, threads) {
  return h("li", null, h("p", { class: "line" }, speaker(one.message), chips(one), place(one.message, threads)), h("p", { class: "text" }, marked(textOf(one.message), words)));
}

function omitted(answer, about) {
  const list = answer.omitted ?? [];
  const cuts = answer.cuts ?? [];
  if (list.length === 0 && cuts.length === 0) return null;
  return h("section", { class: "card" },
    h("h2", null, "Left out"),
    cuts.map((cut) => h("p", { class: "note" }, `${count(cut.messageCount, "message")} of ${count(cut.tokenCount, "token")} (${name(cut.reason, "RECALL_REASON_")}) did not fit.`)),
    list.length > 0 && h("details", { open: list.length <= 20 }, h("summary", null, count(list.length, "candidate")),
      table("Left out", [
        ["Message", (one) => about.thread ? link(threadPath(about.thread.threadId), { m: one.messageId }, short(one.messageId)) : h("code", null, one.messageId)],
        ["Why", (one) => OMISSIONS[one.reason] ?? one.reason],
        ["Score", (one) => bar("", one.score, (one.score ?? 0).toFixed(2), "score")],
      ], list)));
}

/** The policy that applied, and where each of its fields was set. */
export function policy(effective) {
  if (!effective?.policy) return null;
  const origins = new Map((effective.origins ?? []).map((one) => [one.field.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()), one.level]));
  const shown = (value) => typeof value === "object" ? JSON.stringify(value) : String(value);
  return h("details", { class: "card" }, h("summary", null, "Policy that applied"),
    facts(Object.entries(effective.policy).map(([field, value]) => [field, [h("span", null, shown(value)), origins.get(field) && chip(name(origins.get(field), "POLICY_LEVEL_"))]])));
}
