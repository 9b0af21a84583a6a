// The frame of the console: signing in, the pages by their addresses, errors and loading.

import { activity, call, Failure, session } from "./api.js";
import { announce, h, replace } from "./dom.js";
import { contextPage } from "./context.js";
import { memoriesPage } from "./memories.js";
import { forgetReadings, operationsPage } from "./operations.js";
import { appPage, overviewPage, userPage } from "./overview.js";
import { failureCard, link } from "./parts.js";
import { recallPage } from "./recall.js";
import { address, decoded, scopeOf } from "./route.js";
import { threadPage } from "./thread.js";

const PAGES = [
  [/^\/?$/, overviewPage],
  [/^\/app\/([^/]*)$/, appPage],
  [/^\/app\/([^/]*)\/user\/([^/]*)$/, userPage],
  [/^\/thread\/([^/]+)$/, threadPage],
  [/^\/recall$/, recallPage],
  [/^\/context$/, contextPage],
  [/^\/memories$/, memoriesPage],
  [/^\/operations$/, operationsPage],
];
const NAVIGATION = [
  ["Overview", "/"],
  ["Recall", "/recall"],
  ["Context", "/context"],
  ["Memories", "/memories"],
  ["Operations", "/operations"],
];
const LOADING_AFTER = 300;
const THEMES = ["auto", "light", "dark"];
const THEME = "recollect.theme";

const main = document.getElementById("main");
let current = new AbortController();
let server = null;
let firstPage = true;

function place() {
  const [path, query = ""] = location.hash.slice(1).split("?");
  return { path: path || "/", params: new URLSearchParams(query) };
}

/** Shows the page of the address. */
async function show() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const { path, params } = place();
  main.setAttribute("aria-busy", "true");
  try {
    server ??= await call("AdminService/GetServerInfo", {}, { signal });
    drawTop(path, params);
    const [page, groups] = pageOf(path);
    const shown = await page({ groups, params, signal, server, reload: show });
    if (signal.aborted) return;
    put(shown.title, shown.body, shown.onshow);
    // A page that reads on, such as one that refreshes itself, does so until it is left.
    shown.start?.(signal);
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof Failure && error.code === "unauthenticated") return signIn(error);
    if (!(error instanceof Failure)) console.error(error);
    drawTop(path, params);
    put("Error", failureCard(error, show));
  } finally {
    if (!signal.aborted) main.removeAttribute("aria-busy");
  }
}

function pageOf(path) {
  for (const [pattern, page] of PAGES) {
    const match = pattern.exec(path);
    if (match) return [page, match.slice(1).map(decoded)];
  }
  throw new Failure("not_found", `The console has no page ${path}.`);
}

function put(title, body, onshow) {
  document.title = `${title} · Recollect`;
  replace(main, body);
  if (onshow) onshow();
  else if (!firstPage) {
    main.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }
  firstPage = false;
  announce(title);
}

function drawTop(path, params) {
  const scope = scopeOf(path, params);
  const entries = NAVIGATION.map(([label, target]) => {
    const here = target === path || (target === "/" && /^\/(app|thread)\//.test(path));
    const kept = target === "/" || target === "/operations" ? {} : scope;
    return h("li", null, h("a", { href: address(target, kept), "aria-current": here && "page" }, label));
  });
  const signOut = session.key && h("button", { type: "button", class: "plain", onclick: () => signIn() }, "Sign out");
  const tenant = server && h("span", { class: "tenant", title: "The tenant of your key" }, server.tenant);
  replace(
    document.getElementById("top"),
    link("/", {}, [h("span", { class: "logo", "aria-hidden": "true" }), "Recollect"], { class: "brand" }),
    server && h("nav", { "aria-label": "Pages" }, h("ul", null, entries)),
    h("div", { class: "end" }, tenant, themeButton(), signOut),
  );
}

function themeButton() {
  const theme = localStorage.getItem(THEME) ?? "auto";
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  const change = () => {
    localStorage.setItem(THEME, next);
    document.documentElement.dataset.theme = next;
    const button = themeButton();
    document.querySelector(".theme").replaceWith(button);
    button.focus();
  };
  return h("button", { type: "button", class: "plain theme", onclick: change, title: `Switch to ${next}` }, `Theme: ${theme}`);
}

/** Ends the page and forgets the key and what was read with it; then asks for a key. */
function signIn(failure) {
  current.abort();
  const refused = session.key && failure;
  session.key = "";
  server = null;
  forgetReadings();
  drawTop("", new URLSearchParams());
  const input = h("input", {
    id: "key", type: "password", autocomplete: "off", required: true, spellcheck: "false",
    "aria-describedby": "key-hint",
  });
  const submit = (event) => {
    event.preventDefault();
    session.key = input.value.trim();
    show();
  };
  put("Sign in", h("form", { class: "card sign-in", onsubmit: submit },
    h("h1", null, "Sign in"),
    refused && h("p", { class: "bad", role: "alert" }, `The server refused the key: ${failure.message}.`),
    h("label", { for: "key" }, "API key or token"),
    input,
    h("p", { id: "key-hint", class: "muted" },
      "It selects the tenant and what you may do here. This tab keeps it until you close it or sign out."),
    h("button", { type: "submit", class: "primary" }, "Sign in"),
  ), () => input.focus());
  main.removeAttribute("aria-busy");
}

let timer = 0;
activity.addEventListener("change", ({ detail: calls }) => {
  const bar = document.getElementById("progress");
  clearTimeout(timer);
  if (calls === 0) bar.hidden = true;
  else if (bar.hidden) timer = setTimeout(() => (bar.hidden = false), LOADING_AFTER);
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.documentElement.dataset.theme = localStorage.getItem(THEME) ?? "auto";
window.addEventListener("hashchange", show);
show();
