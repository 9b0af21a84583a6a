// The answers of models, which are collected while their bytes pass.
import { jsonText, jsonValue } from "../json.js";
import type { Api, Body } from "./apis.js";

/** An answer that is being collected. */
export interface Answer {
  /** Adds bytes of the response. Returns whether they end the answer. */
  add(bytes: Uint8Array): boolean;
  /** The whole response as JSON; undefined: it failed, is incomplete or has nothing to store. */
  json(): string | undefined;
  /** Whether the model has finished its answer, which may have nothing to store. */
  readonly isComplete: boolean;
}

/** Collects the answer of a response by its content type. */
export function answerOf(api: Api, { headers }: Response): Answer {
  const isStream = headers.get("content-type")?.includes("text/event-stream") ?? false;
  return isStream ? new StreamedAnswer(EVENTS[api.format]()) : new WholeAnswer(api);
}

class WholeAnswer implements Answer {
  readonly #api: Api;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(api: Api) {
    this.#api = api;
  }

  add(bytes: Uint8Array): boolean {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    return false;
  }

  get isComplete(): boolean {
    const body = objectOf(this.#text);
    if (!body) return false;
    // An answer of the responses API that is made in the background is not there yet.
    return this.#api.format !== "openai-responses" || body.status === "completed" || body.status === "incomplete";
  }

  json(): string | undefined {
    const body = objectOf(this.#text);
    return this.isComplete && body && hasContent(body) ? jsonText(oneChoice(body)) : undefined;
  }
}

/** What the events of a stream say. */
interface Events {
  /** Adds the data of an event. Returns whether it is the last one. */
  add(data: string): boolean;
  readonly isComplete: boolean;
  /** The response that the events make up. */
  response(): Body | undefined;
}

class StreamedAnswer implements Answer {
  readonly #events: Events;
  readonly #decoder = new TextDecoder();
  #rest = "";
  #data: string[] = [];

  constructor(events: Events) {
    this.#events = events;
  }

  add(bytes: Uint8Array): boolean {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split(/\r\n|[\n\r]/);
    this.#rest = lines.pop()!;
    let isLast = false;
    for (const line of lines) {
      if (line.startsWith("data:")) this.#data.push(line.slice(5).trimStart());
      if (line !== "" || this.#data.length === 0) continue;
      isLast = this.#events.add(this.#data.join("\n")) || isLast;
      this.#data = [];
    }
    return isLast;
  }

  get isComplete(): boolean {
    return this.#events.isComplete;
  }

  json(): string | undefined {
    const response = this.isComplete ? this.#events.response() : undefined;
    return response && hasContent(response) ? jsonText(response) : undefined;
  }
}

/** Chunks of a chat completion, of which the first choice counts. */
class ChatEvents implements Events {
  #head: Body = {};
  readonly #message: Body = { role: "assistant", content: null };
  #finish: unknown;
  #failed = false;

  add(data: string): boolean {
    if (data === "[DONE]") return true;
    const chunk = objectOf(data) ?? {};
    if (chunk.error) this.#failed = true;
    const choice = listOf(chunk.choices).find(({ index }) => (index ?? 0) === 0);
    if (!choice) return false;
    const { choices: _, ...head } = chunk;
    this.#head = { ...head, ...this.#head };
    merge(this.#message, (choice.delta ?? {}) as Body);
    this.#finish = choice.finish_reason ?? this.#finish;
    // Many readers leave here, before the end of the stream.
    return this.isComplete;
  }

  get isComplete(): boolean {
    return !this.#failed && typeof this.#finish === "string";
  }

  response(): Body {
    const choice = { index: 0, message: this.#message, finish_reason: this.#finish };
    return { ...this.#head, object: "chat.completion", choices: [choice] };
  }
}

/** Fields of a delta that are whole. Other texts are continued. */
const WHOLE = new Set(["id", "type", "role", "name", "format", "signature"]);

function merge(into: Body, delta: Body): void {
  for (const [name, value] of Object.entries(delta)) {
    const known = into[name];
    if (value === null || value === undefined) continue;
    if (typeof value === "string") {
      if (!WHOLE.has(name)) into[name] = (typeof known === "string" ? known : "") + value;
      else if (value !== "") into[name] = value;
    } else if (Array.isArray(value)) {
      const list = (into[name] ??= []) as Body[];
      for (const { index, ...entry } of listOf(value)) {
        const place = typeof index === "number" ? index : list.length;
        merge((list[place] ??= {}), entry);
      }
    } else if (typeof value === "object") {
      merge((into[name] ??= {}) as Body, value as Body);
    } else {
      into[name] = value;
    }
  }
}

/** Events of the responses API, of which the last one has the whole response. */
class ResponsesEvents implements Events {
  #response: Body | undefined;

  add(data: string): boolean {
    const { type, response } = objectOf(data) ?? {};
    if (type !== "response.completed" && type !== "response.incomplete") return false;
    this.#response = response as Body;
    return true;
  }

  get isComplete(): boolean {
    return this.#response !== undefined;
  }

  response(): Body | undefined {
    return this.#response;
  }
}

/** Events of Anthropic's messages API. */
class AnthropicEvents implements Events {
  #message: Body = {};
  readonly #content: Body[] = [];
  readonly #inputs = new Map<number, string>();
  #stopped = false;

  add(data: string): boolean {
    const event = objectOf(data) ?? {};
    const index = Number(event.index ?? 0);
    switch (event.type) {
      case "message_start":
        this.#message = { ...(event.message as Body) };
        break;
      case "content_block_start":
        this.#content[index] = { ...(event.content_block as Body) };
        break;
      case "content_block_delta":
        this.#continue(index, event.delta as Body);
        break;
      case "message_delta":
        Object.assign(this.#message, event.delta);
        break;
      case "message_stop":
        this.#stopped = true;
        break;
    }
    return this.#stopped;
  }

  #continue(index: number, delta: Body): void {
    const block = (this.#content[index] ??= {});
    for (const name of ["text", "thinking", "signature"]) {
      if (typeof delta[name] === "string") block[name] = String(block[name] ?? "") + delta[name];
    }
    if (delta.type === "input_json_delta") {
      this.#inputs.set(index, (this.#inputs.get(index) ?? "") + String(delta.partial_json));
    }
  }

  get isComplete(): boolean {
    return this.#stopped;
  }

  response(): Body {
    const content = this.#content.map((block, index) => {
      const input = this.#inputs.get(index);
      return input ? { ...block, input: objectOf(input) ?? {} } : block;
    });
    return { ...this.#message, content: content.filter((block) => block !== undefined) };
  }
}

const EVENTS: Record<Api["format"], () => Events> = {
  openai: () => new ChatEvents(),
  "openai-responses": () => new ResponsesEvents(),
  anthropic: () => new AnthropicEvents(),
};

/** Of several choices, the first one is stored. */
function oneChoice(body: Body): Body {
  const choices = listOf(body.choices);
  return choices.length > 1 ? { ...body, choices: choices.slice(0, 1) } : body;
}

/** Whether a response has a text, a call or anything else of the model. */
function hasContent({ choices, content, output }: Body): boolean {
  const [choice] = listOf(choices);
  if (choice) {
    const { role: _, ...said } = (choice.message ?? {}) as Body;
    return Object.values(said).some((value) => (Array.isArray(value) ? value.length > 0 : Boolean(value)));
  }
  const blocks = [...listOf(content), ...listOf(output)];
  return blocks.some(({ type, text }) => type !== "text" || text !== "");
}

function listOf(value: unknown): Body[] {
  return Array.isArray(value) ? (value as Body[]) : [];
}

/** The object of a JSON text, with all digits of its numbers. */
function objectOf(json: string): Body | undefined {
  try {
    const value = jsonValue(json);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
