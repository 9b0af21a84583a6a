// What the tests of the adapters share. RECOLLECT_ADDR and RECOLLECT_API_KEY name a real server.
import { randomUUID } from "node:crypto";
import { after } from "node:test";
import { Recollect, roleOf, textOf, type Session, type SessionNames } from "@recollect/client";

/** A client; tests that do without the server use their own. */
export const recollect = new Recollect();
after(() => recollect.close());

/** An app of its own for a test. */
export const newApp = () => `adapters-${randomUUID()}`;

/** A new conversation. */
export function newSession(names: Partial<SessionNames> = {}): Session {
  return recollect.session({ app: newApp(), user: "ada", session: "42", ...names });
}

/** A client of no server. */
export const nowhere = () => new Recollect({ address: "127.0.0.1:1", apiKey: "key", retry: { maxAttempts: 1 } });

/** The messages of a conversation as role and text. */
export async function said(memory: Session): Promise<string[]> {
  const messages: string[] = [];
  for await (const message of memory.messages()) messages.push(`${roleOf(message)}: ${textOf(message)}`);
  return messages;
}
