import type { MessageInitShape } from "@bufbuild/protobuf";
import { invalid } from "./errors.js";
import type { TargetSchema } from "./gen/recollect/v1/thread_pb.js";

/** See {@link NO_USER}. */
export interface NoUser {
  readonly noUser: true;
}

/**
 * Stands for no user, where a conversation or memories belong to none, such as those of a public page.
 * An empty or missing user is refused instead, since it may be a look-up that failed: all whose
 * look-up fails would share one conversation.
 */
export const NO_USER: NoUser = Object.freeze({ noUser: true });

/** A person, by your own id: 1 to 256 characters; or {@link NO_USER}. */
export type User = string | NoUser;

/** Whether a user stands for none. */
export function isNoUser(user: unknown): user is NoUser {
  return typeof user === "object" && user !== null && "noUser" in user && user.noUser === true;
}

/** The user of a request. It throws if the user is empty or missing. */
export function userId(user: User): string {
  if (isNoUser(user)) return "";
  if (typeof user === "string" && user !== "") return user;
  throw invalid("user", "is empty or missing: pass the id of the user, or NO_USER for what belongs to no user");
}

/** What belongs to a user of an app, or to all its users; undefined: all of the tenant. */
export function ownerTarget(app: string | undefined, user: User | undefined): MessageInitShape<typeof TargetSchema> | undefined {
  if (app === undefined) {
    if (user !== undefined) throw new TypeError("a user belongs to an app: name it too");
    return undefined;
  }
  if (user === undefined) return { target: { case: "app", value: { appId: app } } };
  return { target: { case: "user", value: { appId: app, userId: userId(user) } } };
}
