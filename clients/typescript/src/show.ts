import type { SessionNames } from "./session.js";
import { isNoUser } from "./user.js";

/** The method that Node.js calls to print an object. */
export const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom") as never;

/** The names of a conversation or of a user, for people. */
export function shown(names: Readonly<Partial<SessionNames> & { threadId?: string }>): string {
  const entries = Object.entries(names).filter(([, value]) => value !== undefined);
  return entries.map(([name, value]) => `${name}: ${isNoUser(value) ? "NO_USER" : JSON.stringify(value)}`).join(", ");
}
