// The chat message history for LangChain, with a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { textOf } from "@recollect/client";
import { RecollectChatMessageHistory } from "@recollect/client/langchain";
import { newApp, newSession, said } from "./support.js";

const json = (messages: BaseMessage[]) => messages.map((message) => JSON.parse(JSON.stringify(message.toDict())));

const DOT = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("messages come back as they were", async () => {
  const history = new RecollectChatMessageHistory(newSession());
  assert.deepEqual(await history.getMessages(), []);
  await history.clear();
  const call = { type: "tool_call" as const, id: "call_1", name: "weather", args: { city: "Oslo", days: [1, 2.5] } };
  const messages = [
    new SystemMessage("You help."),
    new HumanMessage({ content: "How warm is it in Oslo?", name: "Ada" }),
    new AIMessage({ content: "", tool_calls: [call], response_metadata: { model: "small" }, id: "run-1" }),
    new ToolMessage({ content: "12 degrees", tool_call_id: "call_1", name: "weather" }),
    new ToolMessage({ content: "no such city", tool_call_id: "call_2", status: "error" }),
    new AIMessage("Twelve degrees."),
    new HumanMessage({ content: [{ type: "text", text: "And here?" }, { type: "image_url", image_url: { url: DOT } }] }),
    new HumanMessage({ content: "Hidden", additional_kwargs: { hideFromUI: true } }),
    new AIMessage({
      content: [{ type: "thinking", thinking: "Hm.", signature: "c2ln" }, { type: "text", text: "Yes." }],
      invalid_tool_calls: [{ type: "invalid_tool_call", id: "call_3", name: "ask", args: "{not json", error: "bad" }],
    }),
    new HumanMessage(""),
  ];
  await history.addMessages(messages);
  assert.deepEqual(json(await history.getMessages()), json(messages));
  await history.addMessage(new HumanMessage("Thanks."));
  const all = await history.getMessages();
  assert.equal(all.at(-1)?.content, "Thanks.");

  const newest = new RecollectChatMessageHistory(history.memory, { maxMessages: 2 });
  const [system, ...others] = await newest.getMessages();
  assert.equal(system?.content, "You help.");
  assert.ok(others.length <= 2);
  await history.clear();
  assert.deepEqual(await history.getMessages(), []);
});

test("a chain remembers each user's conversation apart", async () => {
  const app = newApp();
  const sessions = new Map(["ada", "bob"].map((user) => [user, newSession({ app, user })]));
  const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]]);
  const asked: BaseMessage[][] = [];
  const model = new FakeListChatModel({ responses: ["A fine name!", "I do not know.", "Pixel."] });
  const chain = new RunnableWithMessageHistory({
    runnable: prompt.pipe((value) => (asked.push(value.toChatMessages()), value)).pipe(model),
    getMessageHistory: (user: string) => new RecollectChatMessageHistory(sessions.get(user)!),
    inputMessagesKey: "input",
    historyMessagesKey: "history",
  });
  const ask = (user: string, input: string) => chain.invoke({ input }, { configurable: { sessionId: user } });
  await ask("ada", "My dog is called Pixel.");
  await ask("bob", "What is the dog called?");
  await ask("ada", "What is my dog called?");
  assert.deepEqual(asked.map((messages) => messages.map(({ content }) => content)), [
    ["My dog is called Pixel."],
    ["What is the dog called?"],
    ["My dog is called Pixel.", "A fine name!", "What is my dog called?"],
  ]);
  assert.deepEqual(await said(sessions.get("bob")!), ["user: What is the dog called?", "assistant: I do not know."]);
  const { matches } = await sessions.get("ada")!.search("dog");
  assert.ok(matches.some(({ message }) => textOf(message) === "My dog is called Pixel."), "recall has them");
});
