// A context as its blocks, against the token budget.

import { call, Failure } from "./api.js";
import { h, replace } from "./dom.js";
import { count, name, short } from "./format.js";
import { chip, choice, content, degradations, empty, facts, failureNote, field, json, link, scopeFields, searchForm, speaker, table } from "./parts.js";
import { policy } from "./recall.js";
import { address, threadPath } from "./route.js";
import { asked, namedTimes, rangeFields, truth, truthFields } from "./times.js";

const MODES = [
  ["", "as the policy says"], ["MEMORY_MODE_NONE", "none"], ["MEMORY_MODE_WINDOW", "window"], ["MEMORY_MODE_HYBRID", "hybrid"],
  ["MEMORY_MODE_WORKING", "working"], ["MEMORY_MODE_OBSERVATIONAL", "observational"],
];
const FORMATS = [
  ["", "none"], ["PROVIDER_FORMAT_OPENAI_CHAT", "OpenAI chat"], ["PROVIDER_FORMAT_OPENAI_RESPONSES", "OpenAI responses"],
  ["PROVIDER_FORMAT_ANTHROPIC_MESSAGES", "Anthropic"], ["PROVIDER_FORMAT_GEMINI", "Gemini"], ["PROVIDER_FORMAT_TEXT", "text"],
];
const KINDS = {
  SYSTEM: "System prompt", INSTRUCTIONS: "Instructions", PROFILE: "Profile", DISTILLED: "Summary or observations", MEMORIES: "Memories", RECALLED: "Recalled", RECENT: "Recent messages",
  NODE: "Node", INPUT: "Input", PLAN: "Plan",
};
const kindOf = (block) => block.kind.slice("CONTEXT_BLOCK_KIND_".length);
const OMISSIONS = {
  OMISSION_REASON_BUDGET: "over the budget",
  OMISSION_REASON_DUPLICATE: "another block has the same content",
  OMISSION_REASON_THRESHOLD: "score below the minimum",
  OMISSION_REASON_RANK: "better matches were found",
  OMISSION_REASON_BRANCH: "on another branch",
};
/** The budgets of the slider are powers of two between these. */
const [LEAST, MOST] = [6, 17];
const PAUSE = 250;

export async function contextPage({ params, signal }) {
  const scope = scopeFields(params, {});
  const input = h("input", { value: params.get("input") ?? "", placeholder: "What is my dog called?", autocomplete: "off" });
  const system = h("input", { value: params.get("system") ?? "", placeholder: "You help.", autocomplete: "off" });
  const [range, held] = [rangeFields(params), truthFields(params)];
  const mode = choice(MODES, params.get("mode") ?? "");
  const format = choice(FORMATS, params.get("format") ?? "");
  const model = h("input", { value: params.get("model") ?? "", placeholder: "gpt-4o", autocomplete: "off" });
  const tokens = h("input", { type: "number", min: "1", value: params.get("tokens") ?? "", placeholder: "policy" });
  const slider = h("input", { type: "range", min: LEAST, max: MOST, step: "0.25", value: Math.log2(Number(params.get("tokens")) || 4096), "aria-label": "Token budget, slider" });
  const head = params.get("head") ?? "";
  const value = () => ({
    thread: scope.value().thread, head, input: input.value, system: system.value, ...range.value(), ...held.value(), mode: mode.value, format: format.value, model: model.value.trim(), tokens: tokens.value,
  });
  const result = h("div", { class: "stack" });
  // The slider stands at the policy's budget as long as there is no other.
  const follow = (budget) => {
    if (tokens.value) return;
    tokens.placeholder = `${count(budget)} (policy)`;
    slider.value = String(Math.log2(budget));
  };
  let running = signal;
  let stop = new AbortController();
  const refresh = async () => {
    // The page may have been left since the slider moved.
    if (signal.aborted) return;
    stop.abort();
    stop = new AbortController();
    running = AbortSignal.any([signal, stop.signal]);
    history.replaceState(null, "", address("/context", value()));
    const shown = await built(new URLSearchParams(address("/context", value()).split("?")[1]), running, follow).catch((error) => {
      if (signal.aborted || error.name === "AbortError") return null;
      return failureNote(error);
    });
    if (shown) replace(result, shown);
  };
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, PAUSE);
  };
  slider.addEventListener("input", () => {
    tokens.value = String(Math.round(2 ** Number(slider.value)));
    later();
  });
  tokens.addEventListener("input", () => {
    if (Number(tokens.value) > 0) slider.value = String(Math.log2(Number(tokens.value)));
    later();
  });
  mode.addEventListener("change", later);
  format.addEventListener("change", later);
  const thread = scope.nodes[2];
  const form = searchForm("/context", value,
    h("div", { class: "fields" }, thread, field("Input", input), field("System prompt", system), h("button", { type: "submit", class: "primary" }, "Build")),
    h("div", { class: "fields" }, field("Mode", mode), field("Token budget", tokens), h("div", { class: "field grow" }, slider),
      field("Model", model, "Its tokenizer counts."), field("Format", format)),
    h("div", { class: "fields" }, range.nodes, held.nodes),
    head && h("p", { class: "muted" }, "Up to the message ", h("code", null, head), " ", link("/context", { ...value(), head: "" }, "to the thread's head instead")),
    scope.nodes.at(-1));
  replace(result, await built(params, signal, follow));
  return {
    title: "Context",
    body: [h("h1", null, "Context"), form, result],
    onshow: params.get("thread") ? undefined : () => document.getElementById("field-thread").focus(),
  };
}

async function built(params, signal, onbudget) {
  const threadId = params.get("thread");
  if (!threadId && params.get("mode") !== "MEMORY_MODE_NONE") {
    return empty("Choose a thread.", ["Enter its id, or open one from the ", link("/", {}, "overview"), "."]);
  }
  const request = {
    thread: threadId ? { threadId } : undefined,
    explain: true,
    headMessageId: params.get("head") ?? "",
    systemPrompt: params.get("system") ?? "",
    input: params.get("input") ? [{ text: params.get("input") }] : [],
    maxTokens: Number(params.get("tokens")) || undefined,
    model: params.get("model") ?? "",
    policy: { mode: params.get("mode") || undefined },
    formats: params.get("format") ? [params.get("format")] : [],
    ...asked(params),
    ...truth(params),
  };
  let answer;
  try {
    answer = await call("ContextService/BuildContext", request, { signal });
  } catch (error) {
    if (!(error instanceof Failure) || error.code === "unauthenticated") throw error;
    return failureNote(error);
  }
  const blocks = answer.blocks ?? [];
  const panel = h("section", { class: "card panel", "aria-live": "polite" });
  const budget = Number(answer.maxTokens ?? 0);
  const used = Number(answer.totalTokens ?? 0);
  onbudget(budget);
  const buttons = [];
  const select = (index) => {
    buttons.forEach((pair, at) => pair.forEach((button) => button.setAttribute("aria-pressed", String(at === index))));
    replace(panel, blockOf(blocks[index], threadId));
  };
  const pressable = (index, properties, ...inside) => h("button", { type: "button", "aria-pressed": "false", onclick: () => select(index), ...properties }, inside);
  blocks.forEach((block, index) => {
    const kind = kindOf(block);
    const label = `${KINDS[kind] ?? kind}, ${count(block.tokenCount, "token")}`;
    buttons.push([
      pressable(index, { class: `segment block-${kind.toLowerCase()}`, grow: block.tokenCount, title: label, "aria-label": label, tabindex: "-1" }),
      pressable(index, { class: "entry" }, h("span", { class: `swatch block-${kind.toLowerCase()}` }), h("span", { class: "entry-name" }, KINDS[kind] ?? kind),
        (block.truncated || block.contentTruncated) && chip(block.truncated ? "older turns left out" : "shortened"),
        h("span", { class: "number" }, count(block.tokenCount))),
    ]);
  });
  const rest = Math.max(0, budget - used);
  const body = [
    degradations(answer.degradations),
    namedTimes(answer.namedTimes),
    h("section", { class: "card" },
      h("div", { class: "head" }, h("h2", null, `${count(used)} of ${count(budget)} tokens`),
        h("p", { class: "line" }, chip(`${name(answer.effectivePolicy?.policy?.mode, "MEMORY_MODE_")} memory`), h("span", { class: "muted" }, `counted with ${answer.tokenizer}`))),
      h("div", { class: "strip tall", role: "group", "aria-label": `${count(used)} of ${count(budget)} tokens are used` },
        buttons.map(([segment]) => segment),
        rest > 0 && h("span", { class: "segment free", grow: rest, title: `${count(rest)} tokens are free` })),
      h("p", { class: "scale muted" }, h("span", null, "0"), h("span", null, count(budget)))),
    blocks.length === 0
      ? h("section", { class: "card" }, empty("The context is empty.", "Give it an input or a larger budget, or append messages to the thread."), leftOut(answer, threadId))
      : h("div", { class: "split even" },
        h("section", { class: "card" }, h("h2", null, "Blocks"), h("div", { class: "entries" }, buttons.map(([, entry]) => entry)), leftOut(answer, threadId)),
        panel),
    (answer.rendered ?? []).map((one) => h("details", { class: "card" },
      h("summary", null, `As ${FORMATS.find(([format]) => format === one.format)?.[1] ?? one.format}`), json(one.body))),
    policy(answer.effectivePolicy),
  ];
  if (blocks.length > 0) select(widest(blocks));
  return body;
}

const widest = (blocks) => blocks.reduce((best, block, index) => (Number(block.tokenCount) > Number(blocks[best].tokenCount) ? index : best), 0);

function blockOf(block, threadId) {
  const kind = kindOf(block);
  const sources = block.sources ?? [];
  return [
    h("h2", null, h("span", { class: `swatch block-${kind.toLowerCase()}` }), KINDS[kind] ?? kind),
    facts([
      ["Tokens", count(block.tokenCount)],
      ["Hash", h("code", { title: block.hash }, short(block.hash))],
      ["Sources", sources.length > 0 && count(sources.length)],
    ]),
    h("ol", { class: "quotes" }, (block.messages ?? []).map((message) => h("li", null,
      h("p", { class: "line" }, speaker(message), h("span", { class: "muted" }, count(message.tokenCount, "token")),
        message.messageId && threadId && link(threadPath(threadId), { m: message.messageId }, "in the thread")),
      content(message.parts)))),
    sources.some((one) => one.rank || one.memoryId || one.number) && h("details", null, h("summary", null, "Sources"),
      table("Sources", [
        ["Source", (one) => one.memoryId ? link("/memories", { m: one.memoryId }, "memory") : one.messageId ? link(threadPath(one.threadId || threadId), { m: one.messageId }, "message") : `text ${one.number}`],
        ["Why", (one) => (one.reasons ?? []).map((reason) => name(reason, "RECALL_REASON_")).join(", ")],
        ["Rank", (one) => one.rank ?? "", "number"],
        ["Score", (one) => (one.score ? one.score.toFixed(2) : ""), "number"],
      ], sources)),
  ];
}

function leftOut(answer, threadId) {
  const cuts = answer.cuts ?? [];
  const omitted = answer.omitted ?? [];
  const label = (one) => KINDS[kindOf(one)] ?? one.kind;
  if (cuts.length === 0 && omitted.length === 0) return h("p", { class: "muted" }, "Nothing was left out.");
  return [
    cuts.map((cut) => h("p", { class: "note" }, h("strong", null, `${label(cut)}: `),
      Number(cut.itemCount ?? 0) ? `${count(cut.itemCount, "item")} of ${count(cut.tokenCount, "token")} did not fit.` : `${count(cut.tokenCount, "token")} were cut off.`)),
    omitted.length > 0 && h("details", null, h("summary", null, `${count(omitted.length, "candidate")} left out`),
      table("Left out", [
        ["Block", label],
        ["Item", (one) => one.messageId ? link(threadPath(threadId), { m: one.messageId }, short(one.messageId)) : one.memoryId ? link("/memories", { m: one.memoryId }, short(one.memoryId)) : `text ${one.number}`],
        ["Why", (one) => OMISSIONS[one.reason] ?? one.reason],
        ["Score", (one) => (one.score ? one.score.toFixed(2) : ""), "number"],
      ], omitted)),
  ];
}
