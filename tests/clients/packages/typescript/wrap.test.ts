// Wrapped clients of models: the packages openai and @anthropic-ai/sdk, a stand-in for their APIs, and a
// real server.
import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import Anthropic from "@anthropic-ai/sdk";
import { ConnectError, type Interceptor } from "@connectrpc/connect";
import OpenAI from "openai";
import { Code, NO_USER, Recollect, RecollectError, wrap, type Session, type WrapOptions } from "@recollect/client";
import { anthropic, anthropicEvents, chat, chatEvents, Provider, responses, responsesEvents, said as saidItem } from "./provider.js";
import { newApp, nowhere, recollect, said } from "./support.js";

const provider = await Provider.start();
after(() => provider.stop());

const openai = new OpenAI({ baseURL: `${provider.url}/v1`, apiKey: "sk", maxRetries: 0 });
const claude = new Anthropic({ baseURL: provider.url, apiKey: "sk", maxRetries: 0 });
const model = "m";
const DOG = "My dog is called Pixel.";
const QUESTION = "What is my dog called?";

/** A new conversation of a user with another one, in which the dog was named. */
async function acquainted(options: WrapOptions = {}) {
  const names = { app: newApp(), user: "ada", session: "42" };
  await recollect.session({ ...names, session: "41" }).append({ user: DOG, assistant: "A fine name!" });
  return { names: { ...names, timeoutMs: 60_000, ...options }, memory: recollect.session(names) };
}

/** The stored calls of tools. */
async function calls(memory: Session): Promise<string[]> {
  const found: string[] = [];
  for await (const { parts } of memory.messages()) {
    for (const { content } of parts) if (content.case === "toolCall") found.push(`${content.value.name}(${content.value.arguments})`);
  }
  return found;
}

type Sent = { role: string; content: unknown };

/** The places of the messages that quote memory, whole or in a part, and the quotations. */
function quotes(items: Sent[]): [number, string][] {
  return items.flatMap(({ content }, place) => {
    const texts = Array.isArray(content) ? content.map(({ text }) => text as unknown) : [content];
    const quoting = texts.filter((text): text is string => typeof text === "string" && text.startsWith("Each line below quotes"));
    return quoting.map((text): [number, string] => [place, text]);
  });
}

test("a chat completion has memory in one message before the newest input, and its turn is stored", async () => {
  const { names, memory } = await acquainted();
  const client = recollect.wrap(openai, names);
  provider.answers(chat("It is called Pixel."));
  const messages = [{ role: "system" as const, content: "You help." }, { role: "user" as const, content: QUESTION }];
  const completion = await client.chat.completions.create({ model, messages, temperature: 0.5 });
  assert.equal(completion.choices[0]!.message.content, "It is called Pixel.");
  const { body } = provider.last;
  assert.deepEqual([body.model, body.temperature, body.messages.length], [model, 0.5, 3]);
  const [[place, text]] = quotes(body.messages) as [[number, string]];
  assert.equal(place, 1);
  assert.equal(body.messages[1].role, "user");
  assert.ok(text.includes(DOG));
  assert.deepEqual([body.messages[0], body.messages[2]], messages);
  assert.deepEqual(await said(memory), [`user: ${QUESTION}`, "assistant: It is called Pixel."]);
});

test("calls with the whole history store nothing twice, and are not told again what they send", async () => {
  const { names, memory } = await acquainted();
  const client = recollect.wrap(openai, names);
  const history: OpenAI.ChatCompletionMessageParam[] = [];
  for (const [question, answer] of [[QUESTION, "Pixel."], ["And my cat?", "You did not say."], ["What is my dog called again?", "Pixel!"]]) {
    history.push({ role: "user", content: question! });
    provider.answers(chat(answer!));
    const { choices } = await client.chat.completions.create({ model, messages: history });
    history.push(choices[0]!.message);
    // What another conversation says about it, if anything.
    const quoted = quotes(provider.last.body.messages);
    assert.ok(quoted.length <= 1);
    for (const [place, text] of quoted) {
      assert.equal(place, history.length - 2);
      for (const { content } of history) assert.ok(!text.includes(JSON.stringify(content)), String(content));
    }
  }
  const stored = history.map(({ role, content }) => `${role}: ${String(content)}`);
  assert.deepEqual(await said(memory), stored);
});

test("a call that sends the newest message alone is told the conversation", async () => {
  const { names, memory } = await acquainted();
  await memory.append({ user: "I moved to Oslo.", assistant: "Welcome to Norway!" });
  provider.answers(responses(saidItem("Oslo.")));
  const { output_text } = await recollect.wrap(openai, names).responses.create({ model, input: "Where do I live?", instructions: "You help." });
  assert.equal(output_text, "Oslo.");
  const { input, instructions } = provider.last.body;
  assert.equal(instructions, "You help.");
  assert.deepEqual(input.map(({ role }: Sent) => role), ["user", "user"]);
  for (const text of ["I moved to Oslo.", "Welcome to Norway!"]) assert.ok(input[0].content.includes(text), text);
  assert.deepEqual(input[1], { role: "user", content: "Where do I live?" });
  assert.deepEqual((await said(memory)).slice(2), ["user: Where do I live?", "assistant: Oslo."]);
});

test("a loop of tools is stored with its calls, and has the same memory in each step", async () => {
  const { names, memory } = await acquainted();
  const client = recollect.wrap(claude, names);
  const tool = { name: "search", input_schema: { type: "object" as const } };
  provider.answers(anthropic({ type: "text", text: "I look." }, { type: "tool_use", id: "toolu_1", name: "search", input: { q: "dog" } }));
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: [{ type: "text", text: QUESTION }] }];
  const step = await client.messages.create({ model, max_tokens: 9, messages, tools: [tool] });
  const first = provider.last.body.messages as Sent[];
  messages.push({ role: "assistant", content: step.content });
  messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "Pixel" }] });
  provider.answers(anthropic({ type: "text", text: "Pixel." }));
  await client.messages.create({ model, max_tokens: 9, messages, tools: [tool] });
  const second = provider.last.body.messages as Sent[];
  assert.equal(quotes(second).length, 1);
  assert.deepEqual(second.slice(0, first.length), first, "the prompt only grows at its end");
  // A text of the same message, because roles take turns.
  const [question, ...later] = second as { role: string; content: object[] }[];
  assert.deepEqual([{ ...question, content: question!.content.slice(1) }, ...later], messages);
  assert.deepEqual(await said(memory), [`user: ${QUESTION}`, "assistant: I look.", "tool: ", "assistant: Pixel."]);
  const { request } = await memory.history({ format: "anthropic" });
  assert.deepEqual(request.messages[1].content[1], { type: "tool_use", id: "toolu_1", name: "search", input: { q: "dog" } });
});

test("the items of the responses API are told apart", async () => {
  const { names, memory } = await acquainted();
  const client = recollect.wrap(openai, names);
  const call = { type: "function_call", id: "fc_00000000000000000001", call_id: "call_1", name: "search", arguments: "{}", status: "completed" };
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: [{ type: "input_text", text: QUESTION }] }];
  provider.answers(responses(call), responses(saidItem("Pixel.")));
  const step = await client.responses.create({ model, input });
  input.push(...(step.output as OpenAI.Responses.ResponseInput), { type: "function_call_output", call_id: "call_1", output: "Pixel" });
  await client.responses.create({ model, input });
  assert.deepEqual(provider.last.body.input.slice(1), input);
  assert.equal(quotes(provider.last.body.input).length, 1);
  assert.deepEqual(await said(memory), [`user: ${QUESTION}`, "assistant: ", "tool: ", "assistant: Pixel."]);
});

test("streams pass byte for byte, and their turns are stored when their loops end", async () => {
  const { names, memory } = await acquainted();
  const deltas = [
    { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "search", arguments: "" } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"q": ' } }] },
    { tool_calls: [{ index: 0, function: { arguments: "12345678901234567890}" } }] },
  ];
  const client = recollect.wrap(openai, names);
  const asked = { model, messages: [{ role: "user" as const, content: QUESTION }], stream: true as const };
  const answer = chatEvents([{ role: "assistant", content: "" }, { content: "I löök 🐕" }, { content: "." }, ...deltas], "tool_calls");
  provider.answers(answer);
  let chunks = 0;
  for await (const chunk of await client.chat.completions.create(asked)) chunks += chunk.choices.length;
  assert.equal(chunks, 7);
  assert.deepEqual(await said(memory), [`user: ${QUESTION}`, "assistant: I löök 🐕."]);
  assert.deepEqual(await calls(memory), ['search({"q": 12345678901234567890})']);

  const bytes = chatEvents([{ role: "assistant", content: "Pixel 🐕" }]);
  provider.answers(bytes);
  const raw = await client.chat.completions.create(asked).asResponse();
  assert.equal(await raw.text(), bytes.events.join(""));
  assert.equal((await said(memory)).at(-1), "assistant: Pixel 🐕");
});

test("streams of the responses API and of Anthropic are stored", async () => {
  const { names, memory } = await acquainted();
  provider.answers(responsesEvents("Pixel."));
  for await (const _ of await recollect.wrap(openai, names).responses.create({ model, input: QUESTION, stream: true }));
  assert.deepEqual(await said(memory), [`user: ${QUESTION}`, "assistant: Pixel."]);

  const other = await acquainted();
  const call = { id: "toolu_1", name: "search", input: ['{"q": "d', 'og"}'] };
  provider.answers(anthropicEvents(["I l", "ook."], call));
  const stream = await recollect.wrap(claude, other.names).messages.create({
    model,
    max_tokens: 9,
    messages: [{ role: "user", content: QUESTION }],
    stream: true,
  });
  const types: string[] = [];
  for await (const { type } of stream) types.push(type);
  assert.deepEqual([types[0], types.at(-1), types.length], ["message_start", "message_stop", 11]);
  assert.deepEqual(await said(other.memory), [`user: ${QUESTION}`, "assistant: I look."]);
  assert.deepEqual(await calls(other.memory), ['search({"q":"dog"})']);
});

test("helpers of the packages have memory too", async () => {
  const { names, memory } = await acquainted();
  provider.answers(anthropicEvents(["Pixel."]), chatEvents([{ role: "assistant", content: "Still Pixel." }]));
  const messages = [{ role: "user" as const, content: QUESTION }];
  const final = await recollect.wrap(claude, names).messages.stream({ model, max_tokens: 9, messages }).finalMessage();
  assert.equal((final.content[0] as Anthropic.TextBlock).text, "Pixel.");
  assert.equal(quotes(provider.last.body.messages).length, 1);
  const { data } = await recollect.wrap(openai, names).chat.completions.create({ model, messages, stream: true }).withResponse();
  for await (const _ of data);
  assert.deepEqual(await said(memory), [`user: ${QUESTION}`, "assistant: Pixel.", `user: ${QUESTION}`, "assistant: Still Pixel."]);
});

test("everything else of the client is as it was", async () => {
  const { names, memory } = await acquainted();
  const client = recollect.wrap(openai, names);
  assert.ok(client instanceof OpenAI);
  assert.deepEqual([client.apiKey, client.baseURL, client.maxRetries], [openai.apiKey, openai.baseURL, 0]);
  await client.models.list();
  await client.embeddings.create({ model, input: QUESTION });
  assert.deepEqual(provider.last.body.input, QUESTION);
  provider.answers(chat("Hello."));
  await openai.chat.completions.create({ model, messages: [{ role: "user", content: QUESTION }] });
  assert.equal(provider.last.body.messages.length, 1, "the original client has no memory");
  assert.deepEqual(await said(memory), []);
  assert.throws(() => recollect.wrap({} as OpenAI, names), /openai or @anthropic-ai\/sdk/);
  assert.throws(() => recollect.wrap(openai, { ...names, user: "" }), /user: is empty or missing.*NO_USER/);
  wrap(openai, { ...names, user: NO_USER });
});

test("what is not complete is not stored, and an answer without content not with its question", async () => {
  const { names, memory } = await acquainted();
  const client = recollect.wrap(openai, names);
  const asked = { model, messages: [{ role: "user" as const, content: QUESTION }] };
  provider.answers({ status: 500 });
  await assert.rejects(client.chat.completions.create(asked), OpenAI.InternalServerError);
  provider.answers(chatEvents([{ role: "assistant", content: "Pix" }], null));
  for await (const _ of await client.chat.completions.create({ ...asked, stream: true }));
  const broken = [...chatEvents([{ content: "Pix" }], null).events, 'data: {"error": {"message": "busy"}}\n\n'];
  provider.answers({ events: broken });
  await assert.rejects(async () => {
    for await (const _ of await client.chat.completions.create({ ...asked, stream: true }));
  }, OpenAI.APIError);
  for (const status of ["failed", "queued"]) {
    provider.answers({ json: { ...responses(saidItem("Pixel.")).json, status } });
    await client.responses.create({ model, input: QUESTION });
  }
  provider.answers(responses());
  await client.responses.create({ model, input: "Say nothing." });
  assert.deepEqual(await said(memory), ["user: Say nothing."]);
  provider.answers(chat("Pixel."));
  await recollect.wrap(openai, { ...names, store: false }).chat.completions.create(asked);
  assert.ok(quotes(provider.last.body.messages).length === 1 && (await said(memory)).length === 1);
});

test("of a stream that is left or aborted, the text so far is stored", async () => {
  const { names, memory } = await acquainted();
  const [client, anthropicClient] = [recollect.wrap(openai, names), recollect.wrap(claude, names)];
  const messages = [{ role: "user" as const, content: QUESTION }];
  const call = { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "search", arguments: "{}" } }] };
  const pieces = ["Pi", "xel", ...Array<string>(200).fill(".")];
  const left: [() => Promise<AsyncIterable<unknown>>, { events: string[] }][] = [
    [() => client.chat.completions.create({ model, messages, stream: true }), chatEvents([call, ...pieces.map((content) => ({ content }))])],
    [() => anthropicClient.messages.create({ model, max_tokens: 9, messages, stream: true }), anthropicEvents(pieces)],
    [async () => anthropicClient.messages.stream({ model, max_tokens: 9, messages }), anthropicEvents(pieces)],
  ];
  for (const [number, [open, answer]] of left.entries()) {
    provider.answers(answer);
    let seen = "";
    for await (const event of await open()) {
      seen += JSON.stringify(event);
      if (seen.includes('"xel"')) break;
    }
    // An abort does not wait for what is stored.
    const stored = 2 * (number + 1);
    for (let tries = 0; tries < 1_000 && (await said(memory)).length < stored; tries++) await setTimeout(10);
    const [question, text] = (await said(memory)).slice(-2);
    assert.equal(question, `user: ${QUESTION}`);
    assert.match(text!, /^assistant: Pixel\.*$/);
    assert.equal((await said(memory)).length, stored);
  }
  assert.deepEqual(await calls(memory), []);
});

test("a request may end with a message of the model", async () => {
  const asked = { role: "user" as const, content: QUESTION };
  const search = [{ type: "server_tool_use" as const, id: "srvtoolu_1", name: "web_search" as const, input: {} }];
  const whole = ["user: " + QUESTION, "assistant: Well: Pixel."];
  for (const [content, first] of [["Well: ", whole], [search, ["assistant: Pixel."]]] as const) {
    for (const answer of [anthropic({ type: "text", text: "Pixel." }), anthropicEvents(["Pix", "el."])]) {
      const { names, memory } = await acquainted();
      const client = recollect.wrap(claude, names);
      provider.answers(answer);
      const request = { model, max_tokens: 9, messages: [asked, { role: "assistant" as const, content: content as string }] };
      const stream = await client.messages.create({ ...request, stream: "events" in answer });
      if ("controller" in stream) for await (const _ of stream);
      assert.equal(quotes(provider.last.body.messages)[0]![0], 0);
      assert.deepEqual(provider.last.body.messages[1], request.messages[1]);
      assert.deepEqual(await said(memory), first);
      if (content !== "Well: ") continue;
      // An answer that was cut off goes on, and its beginning is stored already.
      provider.answers(anthropic({ type: "text", text: " A dog." }));
      request.messages[1]!.content = "Well: Pixel.";
      await client.messages.create(request);
      assert.deepEqual(await said(memory), [...first, "assistant:  A dog."]);
    }
  }
  const { names, memory } = await acquainted();
  provider.answers(chat("Pixel."));
  await recollect.wrap(openai, names).chat.completions.create({ model, messages: [asked, { role: "assistant", content: "Well: " }] });
  assert.deepEqual(await said(memory), ["assistant: Pixel."]);
});

test("methods below beta and raw responses have memory too, and a wrapped client gets another conversation", async () => {
  const { names, memory } = await acquainted();
  const elsewhere = { ...names, session: "43" };
  const client = recollect.wrap(recollect.wrap(claude, elsewhere), names);
  const request = { model, max_tokens: 9, messages: [{ role: "user" as const, content: QUESTION }] };
  const ways = [
    () => client.beta.messages.create(request),
    () => client.messages.create(request).withResponse(),
    async () => (await client.messages.create(request).asResponse()).text(),
  ];
  for (const way of ways) {
    provider.answers(anthropic({ type: "text", text: "Pixel." }));
    await way();
    assert.equal(quotes(provider.last.body.messages).length, 1);
  }
  assert.deepEqual(await said(memory), Array(3).fill([`user: ${QUESTION}`, "assistant: Pixel."]).flat());
  assert.deepEqual(await said(recollect.session({ ...elsewhere })), []);
});

test("results of tools that the caller sends are not quoted", async () => {
  const { names, memory } = await acquainted();
  const result = "Paris has 21 degrees and sun\nand no wind";
  const input = [
    { role: "user", content: "What is the weather in Paris?" },
    { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: result },
  ];
  await memory.append(input, { format: "openai-responses" });
  const question = { role: "user", content: "Which weather has Paris, how many degrees?" };
  const client = recollect.wrap(openai, names);
  const history = [...input, { role: "assistant", content: "It is sunny." }, question];
  for (const items of [history, [question]]) {
    provider.answers(responses(saidItem("21.")));
    await client.responses.create({ model, input: items as OpenAI.Responses.ResponseInput });
    // To a caller that sends the question alone they are.
    assert.equal(provider.last.text.split("21 degrees").length, 2);
  }
});

test("texts that the server refuses are stored without what it refuses", async () => {
  const { names, memory } = await acquainted();
  provider.answers(chat("a\0b \\u0000"));
  await recollect.wrap(openai, names).chat.completions.create({ model, messages: [{ role: "user", content: "cut \ud83d, whole 🐕, \0" }] });
  assert.deepEqual(await said(memory), ["user: cut \ufffd, whole 🐕, \ufffd", "assistant: a\ufffdb \\u0000"]);
  provider.answers(chat("Pixel."));
  await recollect.wrap(openai, names).chat.completions.create({ model, messages: [{ role: "user", content: "é".repeat(200_000) }] });
  const [question] = (await said(memory)).slice(-2);
  assert.match(question!, /é\n\[The end is not stored: the text has 400000 bytes\.\]$/);
});

/** What was warned of during a call. */
async function warnings(context: TestContext, call: () => Promise<unknown>): Promise<string[]> {
  const warn = context.mock.method(console, "warn", () => {});
  await call();
  const texts = warn.mock.calls.map((entry) => entry.arguments.join(" "));
  warn.mock.restore();
  return texts;
}

test("without a server the call goes on, is warned of once, and the server is not called at once", async (context) => {
  const away = nowhere();
  context.after(() => away.close());
  const names = { app: "support", user: "ada", session: "42" };
  const messages = [{ role: "user" as const, content: QUESTION }];
  const client = away.wrap(openai, names);
  provider.answers(...Array(2).fill(chat("I do not know.")), chatEvents([{ role: "assistant", content: "I do not know." }]));
  const warned = await warnings(context, async () => {
    for (let call = 0; call < 2; call++) {
      const { choices } = await client.chat.completions.create({ model, messages });
      assert.equal(choices[0]!.message.content, "I do not know.");
    }
  });
  assert.equal(warned.length, 2, "once for recalling and once for storing");
  assert.match(warned[1]!, /^Recollect: A turn was not stored: UNAVAILABLE/);
  assert.match(warned[0]!, /^Recollect: A model was called without memory: UNAVAILABLE: No Recollect server answers at http:\/\/127\.0\.0\.1:1/);
  assert.ok(!warned[0]!.includes(QUESTION));
  assert.deepEqual(provider.last.body.messages, messages);

  const failures: [string, string][] = [];
  const causes = new Set<unknown>();
  const onError = (error: unknown, during: string) => {
    failures.push([during, (error as RecollectError).status]);
    causes.add(error);
  };
  const quiet = await warnings(context, async () => {
    const stream = await away.wrap(openai, { ...names, onError }).chat.completions.create({ model, messages, stream: true });
    for await (const _ of stream);
  });
  assert.deepEqual(quiet, []);
  assert.deepEqual(failures, [["context", "UNAVAILABLE"], ["store", "UNAVAILABLE"]]);
  assert.equal(causes.size, 1, "the server was not called again");
});

test("failures of memory are thrown if that is wanted", async (context) => {
  const away = nowhere();
  context.after(() => away.close());
  const { names } = await acquainted({ throwOnError: true });
  const isUnavailable = (error: unknown) => error instanceof RecollectError && error.status === "UNAVAILABLE";
  const asked = provider.asked.length;
  // Also where the client repeats failed requests.
  const patient = away.wrap(openai.withOptions({ maxRetries: 2 }), names);
  const messages = [{ role: "user" as const, content: QUESTION }];
  await assert.rejects(patient.chat.completions.create({ model, messages }), isUnavailable);
  await assert.rejects(async () => {
    for await (const _ of await patient.responses.create({ model, input: QUESTION, stream: true }));
  }, isUnavailable);
  await assert.rejects(away.wrap(claude, names).messages.create({ model, max_tokens: 9, messages }), isUnavailable);
  assert.equal(provider.asked.length, asked, "no model was called");

  // A turn that cannot be stored.
  const refuse: Interceptor = (next) => (call) => {
    if (call.method.name === "AppendMessages") throw new ConnectError("no room", Code.ResourceExhausted);
    return next(call);
  };
  const full = new Recollect({ interceptors: [refuse] });
  context.after(() => full.close());
  const isFull = (error: unknown) => error instanceof RecollectError && error.status === "RESOURCE_EXHAUSTED";
  provider.answers(chat("Pixel."), anthropicEvents(["Pixel."]), chat("Pixel."));
  await assert.rejects(full.wrap(openai, names).chat.completions.create({ model, messages }), isFull);
  let last = "";
  await assert.rejects(async () => {
    const stream = await full.wrap(claude, names).messages.create({ model, max_tokens: 9, messages, stream: true });
    for await (const { type } of stream) last = type;
  }, isFull);
  assert.ok(last.startsWith("content_block") || last === "message_delta", last);
  const warned = await warnings(context, () =>
    full.wrap(openai, { ...names, throwOnError: false }).chat.completions.create({ model, messages }),
  );
  assert.deepEqual(warned, ["Recollect: A turn was not stored: RESOURCE_EXHAUSTED: no room"]);
});
