// What the blocks of the README of clients/typescript take for granted; tests/clients/readme imports it.
import { randomUUID } from "node:crypto";
import type { StateGraph } from "@langchain/langgraph";
import { wrapLanguageModel as wrapped } from "ai";
import type OpenAIClient from "openai";
import { Recollect } from "@recollect/client";
import { ExtractionStrategy, ThreadService } from "@recollect/client/v1";

export { HumanMessage } from "@langchain/core/messages";
export { MastraCompositeStore } from "@mastra/core/storage";
export { Memory } from "@mastra/memory";
export { generateText, wrapLanguageModel } from "ai";
export { OpenAI } from "openai";
export { jsonText, RecollectError, render, textOf } from "@recollect/client";

export const address = process.env.RECOLLECT_ADDR;
export const apiKey = process.env.RECOLLECT_API_KEY;
export const app = `readme-${randomUUID()}`;
export const recollect = new Recollect();
const names = { appId: `${app}-2`, userId: "ada", sessionKey: "1" };
await recollect.service(ThreadService).resolveThread({ session: names, policy: { extraction: ExtractionStrategy.DISCRETE } });
/** Of another app, because a block deletes the user of this one. */
export const memory = recollect.session({ app: names.appId, user: names.userId, session: names.sessionKey });
export const question = "What is my dog called?";

const completion = { choices: [{ message: { role: "assistant", content: "Your dog is called Pixel." } }] };
type Model = Parameters<typeof wrapped>[0]["model"];
/** The client of OpenAI, and the provider of the AI SDK of the same name. */
export const openai = { chat: { completions: { create: async () => completion } } } as unknown as OpenAIClient &
  ((model: string) => Model);

const stored = await memory.append({ user: question, assistant: "Your dog is called Pixel." });
/** A message that is not the head. */
export const messageId = stored.messages[0]!.messageId;
export const expectedHead = messageId;
/** A thread to delete. */
export const threadId = (await recollect.session({ app, user: "ada", session: "2" }).append({ user: question })).threadId;
export const other = recollect;

let moved: string | undefined;
export const retryFrom = (head?: string) => (moved = head);
// Of blocks that are only compiled.
export const session = { token: () => "" };
export const workflow = {} as StateGraph<{}>;
export const input = {};

/** Fails unless a block has learned the head. */
export const close = () => {
  recollect.close();
  if (moved === undefined) throw new Error("the append with another head was not refused");
};
