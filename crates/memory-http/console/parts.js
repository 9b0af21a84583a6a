// What several pages are built of.

import { call, Failure } from "./api.js";
import { announce, h, replace } from "./dom.js";
import { ago, count, date, fileName, pretty, role, who } from "./format.js";
import { address, appPath, go, threadPath, userPath } from "./route.js";

/** A link within the console. */
export function link(path, params, content, properties = {}) {
  return h("a", { href: address(path, params), ...properties }, content);
}

/** What went wrong, why, and what to do. */
export function failureCard(error, retry) {
  const known = error instanceof Failure;
  return h("section", { class: "card failure", role: "alert" },
    h("h1", null, "This did not work"),
    h("p", null, known ? sentence(error.message) : "The console failed. The browser's log has the details."),
    known && error.fields.map((field) => h("p", null, h("code", null, field.field), ` ${field.description}`)),
    known && h("p", null, error.advice),
    known && error.reason && h("p", { class: "muted" }, `Reason: ${error.reason}`),
    h("p", { class: "actions" },
      retry && h("button", { type: "button", class: "primary", onclick: retry }, "Try again"),
      link("/", {}, "Back to the overview")),
  );
}

/** The same within a page. */
export function failureNote(error) {
  if (!(error instanceof Failure)) throw error;
  const fields = error.fields.map((field) => `${field.field}: ${field.description}`).join("; ");
  return h("p", { class: "note bad", role: "alert" },
    h("strong", null, sentence(fields || error.message)), " ", error.advice);
}

/** A server's message as a sentence. */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

/** What to do where there is nothing. */
export function empty(title, ...hints) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), hints.map((hint) => h("p", null, hint)));
}

export function crumbs(...items) {
  return h("nav", { class: "crumbs", "aria-label": "Breadcrumbs" }, h("ol", null, items.map((item) => h("li", null, item))));
}

/** Links to the app, the user and the thread of something. */
export function whereabouts({ appId, userId }) {
  return [
    link("/", {}, "Apps"),
    link(appPath(appId), {}, appId),
    link(userPath(appId, userId ?? ""), {}, who(userId)),
  ];
}

/** A time as its age, with the exact one in a tooltip. */
export function when(time) {
  return time ? h("time", { datetime: time, title: date(time) }, ago(time)) : h("span", { class: "muted" }, "–");
}

export function chip(text, kind = "") {
  return h("span", { class: `chip ${kind}` }, text);
}

/** A table; columns are `[heading, cell of an item, class]`. */
export function table(label, columns, items) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", null,
    h("thead", null, h("tr", null, columns.map(([heading, , kind]) => h("th", { scope: "col", class: kind }, heading)))),
    h("tbody", null, items.map((item) => h("tr", null, columns.map(([, cell, kind]) => h("td", { class: kind }, cell(item)))))),
  ));
}

/**
 * A list that is read page by page. `read(token)` returns `{ items, next }`, `draw(items)` the
 * list of all that were read.
 */
export async function paged(read, draw, nothing) {
  const place = h("div", null);
  const items = [];
  let next = "";
  const more = h("button", { type: "button", onclick: () => load() }, "Load more");
  const problem = h("div", null);
  const load = async (options) => {
    more.disabled = true;
    try {
      const page = await read(next, options);
      items.push(...page.items);
      next = page.next ?? "";
      replace(problem);
    } catch (error) {
      if (options) throw error;
      replace(problem, failureNote(error));
    } finally {
      more.disabled = false;
    }
    replace(place, items.length === 0 && !next ? nothing() : draw(items), problem, next && h("p", { class: "more" }, more));
    if (!options) announce(`${count(items.length)} loaded`);
  };
  await load({ first: true });
  return place;
}

/** A number with a name, and what else is worth saying about it. */
export function tile(label, value, detail, kind = "") {
  return h("div", { class: `tile ${kind}` },
    h("dt", null, label),
    h("dd", null, h("span", { class: "value" }, value), detail && h("span", { class: "detail" }, detail)));
}

/** A labelled input; `properties` are the control's. */
export function field(label, control, hint) {
  const id = control.id || `field-${label.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  control.id = id;
  const shown = hint && h("span", { class: "hint", id: `${id}-hint` }, hint);
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, shown);
}

/** A select of `[value, label]`. */
export function choice(options, selected, properties = {}) {
  return h("select", properties, options.map(([value, label]) => h("option", { value, selected: value === selected }, label)));
}

/** The list of what to suggest in an input: `[value, label]`s that are read when it gets the focus. */
export function suggestions(control, id, read, options) {
  const list = h("datalist", { id });
  control.setAttribute("list", id);
  control.addEventListener("focus", async () => {
    try {
      replace(list, (await read()).map(([value, label]) => h("option", { value }, label)));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  }, options);
  return list;
}

/**
 * The thread, or app and user, that a page is about, as inputs with suggestions. `value()`
 * returns the parameters.
 */
export function scopeFields(params, { threads = true } = {}) {
  const app = h("input", { value: params.get("app") ?? "", autocomplete: "off", spellcheck: "false" });
  const user = h("input", { value: params.get("user") ?? "", autocomplete: "off", spellcheck: "false" });
  const thread = h("input", { value: params.get("thread") ?? "", autocomplete: "off", spellcheck: "false" });
  const lists = [
    suggestions(app, "apps", async () => ((await call("ThreadService/ListApps", {}, { quiet: true })).apps ?? []).map((one) => [one.appId]), { once: true }),
    suggestions(user, "users", async () => {
      if (!app.value) return [];
      const { users = [] } = await call("ThreadService/ListUsers", { appId: app.value }, { quiet: true });
      return users.filter((one) => one.userId).map((one) => [one.userId]);
    }),
    suggestions(thread, "threads", async () => {
      const target = user.value ? { user: { appId: app.value, userId: user.value } } : { app: { appId: app.value } };
      const answer = await call("ThreadService/ListThreads", app.value ? { target } : {}, { quiet: true });
      return (answer.threads ?? []).map((one) => [one.threadId, `${one.title || one.sessionKey} (${one.appId}, ${who(one.userId)})`]);
    }),
  ];
  return {
    nodes: [
      field("App", app),
      field("User", user),
      threads && field("Thread", thread, "A thread's id; app and user then follow from it."),
      lists,
    ],
    value: () => ({ app: app.value.trim(), user: user.value.trim(), thread: threads ? thread.value.trim() : "" }),
  };
}

/** A form that leads to a page with what was entered. */
export function searchForm(path, value, ...content) {
  const submit = (event) => {
    event.preventDefault();
    const params = value();
    if (address(path, params) === location.hash) window.dispatchEvent(new Event("hashchange"));
    else go(path, params);
  };
  return h("form", { class: "card form", onsubmit: submit, role: "search" }, content);
}

/** What a response lacks because a part of the server was unavailable or behind. */
export function degradations(list) {
  return (list ?? []).map((one) => h("p", { class: "note warn", role: "status" },
    h("strong", null, "Degraded: "), one.message || one.reason));
}

/** The speaker: the name, the role, and the user who said it where several take part. */
export function speaker(message) {
  const who = [role(message.role), message.userId].filter(Boolean).join(" ");
  return h("span", { class: `who ${role(message.role)}` },
    h("span", { class: "mark", "aria-hidden": "true" }), message.name ? `${message.name} (${who})` : who);
}

export function json(value) {
  return h("pre", { class: "json" }, typeof value === "string" ? pretty(value) : JSON.stringify(value, null, 2));
}

/** All of a message's content. */
export function content(parts) {
  return (parts ?? []).map((part) => {
    if (part.text !== undefined) return h("p", { class: "text" }, part.text);
    if (part.json !== undefined) return json(part.json);
    if (part.toolCall) {
      return h("div", { class: "part" }, h("p", { class: "part-title" }, "calls ", h("code", null, part.toolCall.name)),
        part.toolCall.arguments && json(part.toolCall.arguments));
    }
    if (part.toolResult) {
      const { name, isError, content: pieces } = part.toolResult;
      return h("div", { class: "part" },
        h("p", { class: "part-title" }, isError ? "error of " : "result of ", h("code", null, name || part.toolResult.toolCallId)),
        content(pieces));
    }
    if (part.file) return h("p", { class: "part" }, "file ", h("code", null, fileName(part.file)));
    if (part.reasoning) {
      return h("div", { class: "part" }, h("p", { class: "part-title" }, "reasoning"),
        h("p", { class: "text" }, part.reasoning.text || (part.reasoning.summaries ?? []).join("\n") || "not shown by its provider"));
    }
    if (part.opaque) return h("div", { class: "part" }, h("p", { class: "part-title" }, h("code", null, part.opaque.type)), json(part.opaque.json));
    return null;
  });
}

/** Name and value pairs; those without a value are left out. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value || value === 0)
    .map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

export function threadLink(thread) {
  return link(threadPath(thread.threadId), {}, thread.title || thread.sessionKey || thread.threadId);
}

/** Asks before something is done; resolves to whether to do it. */
export function confirm(title, text, action) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    } },
      h("form", { method: "dialog" },
        h("h2", { id: "dialog-title" }, title),
        h("p", null, text),
        h("p", { class: "actions" },
          h("button", { value: "no", autofocus: true }, "Cancel"),
          h("button", { value: "yes", class: "danger" }, action))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
