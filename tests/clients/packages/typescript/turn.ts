// One chat turn with the package in clients/typescript.

/** Stands in for a call of a model's API: prints what the model would be sent. */
function askModel(messages: unknown[]): string {
  console.log(JSON.stringify(messages));
  return "Your dog is called Pixel.";
}

// #region chat turn
import { Recollect } from "@recollect/client";

const memory = new Recollect().session({ app: "support", user: "ada", session: "typescript-package" });
const context = await memory.context("What is my dog called?", { format: "openai" });
const answer = askModel(context.messages);
await memory.append({ user: "What is my dog called?", assistant: answer });
// #endregion
