// The answers of models, which are collected while their bytes pass.
import { jsonValue } from "../json.js";
import type { Api, Body } from "./apis.js";

/** An answer that is being collected. */
export interface Answer {
  /** Adds bytes of the response. Returns whether they end the answer. */
  add(bytes: Uint8Array): boolean;
  /** The response; undefined: it has nothing to store. Of a stream that is not complete, its text. */
  content(): Body | undefined;
  /** Whether the model has finished its answer, which may have nothing to store. */
  readonly isComplete: boolean;
  /** Whether it is stored as far as it came, if its reader leaves. */
  readonly isPartial: boolean;
}

/** Collects the answer of a response by its content type. */
export function answerOf(api: Api, { headers }: Response): Answer {
  const isStream = headers.get("content-type")?.includes("text/event-stream") ?? false;
  return isStream ? new StreamedAnswer(EVENTS[api.format]()) : new WholeAnswer();
}

/** The states of an answer of the responses API that failed, or is not there yet. */
const UNFINISHED = new Set<unknown>(["queued", "in_progress", "failed", "cancelled"]);

class WholeAnswer implements Answer {
  readonly isPartial = false;
  readonly #decoder = new TextDecoder();
  #text = "";

  add(bytes: Uint8Array): boolean {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    return false;
  }

  get isComplete(): boolean {
    const body = objectOf(this.#text);
    return body !== undefined && !UNFINISHED.has(body.status);
  }

  content(): Body | undefined {
    const body = objectOf(this.#text);
    return body && hasContent(body) ? oneChoice(body) : undefined;
  }
}

/** What the events of a stream say. */
interface Events {
  /** Adds the data of an event. Returns whether it is the last one. */
  add(data: Body): boolean;
  readonly isComplete: boolean;
  /** The response that the events make up; of one that is not complete, its text. */
  response(): Body | undefined;
}

class StreamedAnswer implements Answer {
  readonly #events: Events;
  readonly #decoder = new TextDecoder();
  #rest = "";
  #data: string[] = [];
  #failed = false;

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
      const data = objectOf(this.#data.join("\n")) ?? {};
      this.#data = [];
      if (data.error || data.type === "error" || data.type === "response.failed") this.#failed = true;
      isLast = this.#events.add(data) || isLast;
    }
    return isLast && !this.#failed;
  }

  get isComplete(): boolean {
    return this.#events.isComplete && !this.#failed;
  }

  get isPartial(): boolean {
    return !this.#failed;
  }

  content(): Body | undefined {
    const response = this.#events.response();
    return response && hasContent(response) ? response : undefined;
  }
}

/** Chunks of a chat completion, of which the first choice counts. */
class ChatEvents implements Events {
  #head: Body = {};
  readonly #message: Body = { role: "assistant", content: null };
  #finish: unknown;

  add(chunk: Body): boolean {
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
    return typeof this.#finish === "string";
  }

  response(): Body {
    const { role, content, refusal } = this.#message;
    const message = this.isComplete ? this.#message : { role, content, ...(refusal ? { refusal } : {}) };
    const choice = { index: 0, message, finish_reason: this.#finish ?? null };
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
  #text = "";

  add({ type, response, delta }: Body): boolean {
    if (type === "response.output_text.delta") this.#text += String(delta);
    if (type !== "response.completed" && type !== "response.incomplete") return false;
    this.#response = response as Body;
    return true;
  }

  get isComplete(): boolean {
    return this.#response !== undefined;
  }

  response(): Body {
    return this.#response ?? { role: "assistant", content: this.#text };
  }
}

/** Events of Anthropic's messages API. */
class AnthropicEvents implements Events {
  #message: Body = {};
  readonly #content: Body[] = [];
  readonly #inputs = new Map<number, string>();
  #stopped = false;

  add(event: Body): boolean {
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
    const content = this.#content.flatMap((block, index) => {
      if (block.type === "text" ? !block.text : !this.#stopped) return [];
      const input = this.#inputs.get(index);
      return [input ? { ...block, input: objectOf(input) ?? {} } : block];
    });
    return { ...this.#message, content };
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
  if (typeof content === "string") return content !== "";
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
