// Graphs with the checkpointer, with a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Command, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { NO_USER } from "@recollect/client";
import { RecollectSaver } from "@recollect/client/langgraph";
import { newApp, recollect } from "./support.js";

/** A graph that asks the person before it answers. */
function graphOf(checkpointer: RecollectSaver) {
  return new StateGraph(MessagesAnnotation)
    .addNode("ask", () => ({ messages: [new AIMessage(`Really ${interrupt("sure?")}?`)] }))
    .addNode("answer", ({ messages }) => ({ messages: [new AIMessage(`I have ${messages.length} messages.`)] }))
    .addEdge(START, "ask")
    .addEdge("ask", "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}

const texts = (messages: { text: string }[]) => messages.map(({ text }) => text);

test("a graph goes on in another process, and from an earlier step", async () => {
  const app = newApp();
  const config = { configurable: { thread_id: "42" } };
  const first = graphOf(new RecollectSaver(recollect, { app, user: "ada" }));
  await first.invoke({ messages: [new HumanMessage("x".repeat(10_000))] }, config);
  assert.deepEqual((await first.getState(config)).next, ["ask"]);

  const second = graphOf(new RecollectSaver(recollect, { app, user: "ada" }));
  const { messages } = await second.invoke(new Command({ resume: "blue" }), config);
  assert.deepEqual(texts(messages).slice(1), ["Really blue?", "I have 2 messages."]);

  const history = [];
  for await (const state of second.getStateHistory(config)) history.push(state);
  const waiting = history.find(({ next }) => next[0] === "ask")!;
  const fork = await second.updateState(waiting.config, { messages: [new HumanMessage("Or not.")] }, START);
  await second.invoke(null, fork);
  const other = await second.invoke(new Command({ resume: "red" }), config);
  assert.deepEqual(texts(other.messages).slice(1), ["Or not.", "Really red?", "I have 3 messages."]);
  // The branches do not share the values of their channels.
  const blue = await second.getState(history[0]!.config);
  assert.deepEqual(texts(blue.values.messages).slice(1), ["Really blue?", "I have 2 messages."]);
});

test("users and apps do not see each other's checkpoints", async () => {
  const app = newApp();
  const config = { configurable: { thread_id: "42" } };
  const ada = new RecollectSaver(recollect, { app, user: "ada" });
  await graphOf(ada).invoke({ messages: [new HumanMessage("Secret")] }, config);
  assert.ok(await ada.getTuple(config));
  for (const names of [{ app, user: "bob" }, { app, user: NO_USER }, { app: newApp(), user: "ada" }]) {
    const other = new RecollectSaver(recollect, names);
    assert.equal(await other.getTuple(config), undefined);
    for await (const found of other.list({})) assert.fail(JSON.stringify(found));
  }
  await new RecollectSaver(recollect, { app, user: "bob" }).deleteThread("42");
  assert.ok(await ada.getTuple(config), "another user's thread of the same id");
  await ada.deleteThread("42");
  assert.equal(await ada.getTuple(config), undefined);
});

test("values of several megabytes are stored in several requests", async () => {
  const saver = new RecollectSaver(recollect, { app: newApp(), user: "ada" });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("say", () => ({ messages: ["a", "b"].map((letter) => new AIMessage(letter.repeat(1_500_000))) }))
    .addEdge(START, "say")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "42" } };
  await graph.invoke({ messages: [new HumanMessage("Go")] }, config);
  const { values } = await graph.getState(config);
  assert.deepEqual(values.messages.map(({ text }: { text: string }) => text.length), [2, 1_500_000, 1_500_000]);
});
