// A stand-in for the APIs of OpenAI and Anthropic, which records requests and answers as it is told.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** An answer: JSON, or the events of a stream, or a refusal with a status. */
export type Answer = { json: unknown } | { events: string[] } | { status: number };

/** A request as it came. */
export interface Asked {
  path: string;
  text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
}

export class Provider {
  readonly asked: Asked[] = [];
  readonly #answers: Answer[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Provider> {
    const provider: Provider = new Provider(
      createServer(async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const text = Buffer.concat(chunks).toString();
        provider.asked.push({ path: request.url!, text, body: text === "" ? undefined : JSON.parse(text) });
        const answer = provider.#answers.shift() ?? { json: { object: "list", data: [] } };
        if ("status" in answer) return response.writeHead(answer.status, { "content-type": "application/json" }).end('{"error": {}}');
        if ("json" in answer) {
          return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer.json));
        }
        response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
        // In pieces that end within events and characters.
        const bytes = Buffer.from(answer.events.join(""));
        for (let at = 0; at < bytes.length; at += 37) {
          response.write(bytes.subarray(at, at + 37));
          await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      }),
    );
    await new Promise<void>((resolve) => provider.#server.listen(0, "127.0.0.1", resolve));
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The answers to the next requests. */
  answers(...answers: Answer[]): void {
    this.#answers.push(...answers);
  }

  /** The newest request. */
  get last(): Asked {
    return this.asked.at(-1)!;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

let ids = 0;
const newId = (prefix: string) => `${prefix}_${Date.now()}_${String(++ids).padStart(20, "0")}`;
const event = (data: unknown, name?: string) => `${name ? `event: ${name}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** Chat completions: a text, or calls of tools. */
export function chat(content: string | null, calls: object[] = []): { json: object } {
  const message = { role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) };
  const choice = { index: 0, message, finish_reason: calls.length > 0 ? "tool_calls" : "stop" };
  return { json: { id: newId("chatcmpl"), object: "chat.completion", created: 1, model: "m", choices: [choice] } };
}

export function chatEvents(deltas: object[], finish_reason: string | null = "stop"): { events: string[] } {
  const head = { id: newId("chatcmpl"), object: "chat.completion.chunk", created: 1, model: "m" };
  const chunks = deltas.map((delta) => event({ ...head, choices: [{ index: 0, delta, finish_reason: null }] }));
  if (finish_reason === null) return { events: chunks };
  const end = event({ ...head, choices: [{ index: 0, delta: {}, finish_reason }] });
  return { events: [...chunks, end, event("[DONE]")] };
}

const response = (output: object[]) => ({ id: newId("resp"), object: "response", created_at: 1, model: "m", status: "completed", output });

export const said = (text: string) => ({
  type: "message",
  id: newId("msg"),
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

export const responses = (...output: object[]) => ({ json: response(output) });

export function responsesEvents(text: string): { events: string[] } {
  const done = response([said(text)]);
  const created = { type: "response.created", sequence_number: 0, response: { ...done, status: "in_progress", output: [] } };
  const delta = { type: "response.output_text.delta", sequence_number: 1, item_id: "x", output_index: 0, content_index: 0, delta: text };
  const completed = { type: "response.completed", sequence_number: 2, response: done };
  return { events: [created, delta, completed].map((data) => event(data, data.type)) };
}

const message = (content: object[], stop_reason: string | null) => ({
  id: newId("msg"),
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
});

export const anthropic = (...content: object[]) => ({ json: message(content, "end_turn") });

/** Events of a message: a text, and then a call of a tool. */
export function anthropicEvents(text: string[], call?: { id: string; name: string; input: string[] }): { events: string[] } {
  const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
  const delta = (index: number, delta: object) => ({ type: "content_block_delta", index, delta });
  const stop = (index: number) => ({ type: "content_block_stop", index });
  const list: { type: string }[] = [
    { type: "message_start", message: message([], null) } as never,
    start(0, { type: "text", text: "" }),
    ...text.map((piece) => delta(0, { type: "text_delta", text: piece })),
    stop(0),
  ];
  if (call) {
    list.push(start(1, { type: "tool_use", id: call.id, name: call.name, input: {} }));
    list.push(...call.input.map((partial_json) => delta(1, { type: "input_json_delta", partial_json })), stop(1));
  }
  list.push({ type: "message_delta", delta: { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 2 } } as never);
  list.push({ type: "message_stop" });
  return { events: list.map((data) => event(data, data.type)) };
}
