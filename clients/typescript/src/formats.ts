import { ProviderFormat } from "./gen/recollect/v1/message_pb.js";

/** The message format of a provider's API, or plain text. */
export type Format = "openai" | "openai-responses" | "anthropic" | "gemini" | "text";

/** The format of messages that can be stored. */
export type MessageFormat = Exclude<Format, "text">;

/** The format's number in the contract. */
export const FORMATS: Readonly<Record<Format, ProviderFormat>> = {
  openai: ProviderFormat.OPENAI_CHAT,
  "openai-responses": ProviderFormat.OPENAI_RESPONSES,
  anthropic: ProviderFormat.ANTHROPIC_MESSAGES,
  gemini: ProviderFormat.GEMINI,
  text: ProviderFormat.TEXT,
};

/**
 * A message in a provider's own format. It is `any` so that it can be passed to each version
 * of the provider's SDK without a cast.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type ProviderMessage = any;

/** The fields of a provider's request that hold the conversation. */
export interface Bodies {
  /** OpenAI chat completions and compatible APIs. */
  openai: { messages: ProviderMessage[] };
  /** OpenAI responses. `instructions` is missing without a system prompt. */
  "openai-responses": { instructions?: string; input: ProviderMessage[] };
  /** Anthropic messages. `system` is missing without a system prompt. */
  anthropic: { system?: string; messages: ProviderMessage[] };
  /** Gemini generateContent. `systemInstruction` is missing without a system prompt. */
  gemini: { systemInstruction?: ProviderMessage; contents: ProviderMessage[] };
  /** Completion models. */
  text: { text: string };
}
