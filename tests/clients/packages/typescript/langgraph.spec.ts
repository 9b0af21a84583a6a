// LangGraph's own suite for checkpointers, run by vitest against a real server.
import { randomUUID } from "node:crypto";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { Recollect } from "@recollect/client";
import { RecollectSaver } from "@recollect/client/langgraph";

const recollect = new Recollect();
const initializer = {
  checkpointerName: "RecollectSaver",
  // An app of its own for each, because checkpoints are also listed without a thread.
  createCheckpointer: () => new RecollectSaver(recollect, { app: `langgraph-${randomUUID()}`, user: "ada" }),
  afterAll: () => recollect.close(),
};
validate(initializer);
deltaChannelHistoryTests(initializer);
