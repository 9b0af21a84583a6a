// Addresses of pages: `#/recall?app=support&q=…`.

/** The hash of a page with its parameters; empty ones are left out. */
export function address(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return `#${path}${text ? `?${text}` : ""}`;
}

export function go(path, params) {
  location.hash = address(path, params);
}

export const appPath = (app) => `/app/${encodeURIComponent(app)}`;
export const userPath = (app, user) => `${appPath(app)}/user/${encodeURIComponent(user)}`;
export const threadPath = (id) => `/thread/${encodeURIComponent(id)}`;

/** What a page is about, so that the next one begins there. */
export function scopeOf(path, params) {
  const scope = {};
  for (const name of ["app", "user", "thread"]) scope[name] = params.get(name) ?? "";
  const parts = path.split("/").map(decoded);
  if (parts[1] === "app") {
    scope.app = parts[2];
    scope.user = parts[4] ?? "";
  }
  if (parts[1] === "thread") scope.thread = parts[2];
  return scope;
}

/** A part of a path as it was before `encodeURIComponent`. */
export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
