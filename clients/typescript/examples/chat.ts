// A chat in the terminal that remembers: each line of standard input is a message.
//
// Usage: chat [APP [USER [SESSION]]]
//
// With OPENAI_API_KEY or OPENAI_BASE_URL a model answers, by any API like OpenAI's; OPENAI_MODEL
// names it. Without them the program shows what the model would be sent.
import { createInterface } from "node:readline";
import { Recollect, type ProviderMessage } from "@recollect/client";

const SYSTEM = "You are a friendly assistant. Use what you know about the user.";

const { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: key, OPENAI_MODEL: model = "gpt-4o-mini" } = process.env;
const [app = "chat", user = "ada", session = "chat"] = process.argv.slice(2);

async function askModel(messages: ProviderMessage[]): Promise<string> {
  const response = await fetch(`${baseUrl || "https://api.openai.com/v1"}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages }),
  });
  if (!response.ok) throw new Error(`the model: HTTP ${response.status}: ${await response.text()}`);
  return (await response.json()).choices[0].message.content;
}

using recollect = new Recollect();
const memory = recollect.session({ app, user, session });

for await (const line of createInterface({ input: process.stdin })) {
  const question = line.trim();
  if (question === "") continue;
  const context = await memory.context(question, { system: SYSTEM, format: "openai" });
  if (baseUrl || key) {
    const answer = await askModel(context.messages);
    console.log(answer);
    await memory.append({ user: question, assistant: answer });
  } else {
    console.log(`The model would be sent ${context.totalTokens} tokens:`);
    for (const message of context.messages) console.log(`  ${message.role}: ${message.content}`);
    await memory.append({ user: question });
  }
}
