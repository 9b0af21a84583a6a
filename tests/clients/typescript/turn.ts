// One chat turn with the TypeScript client that `make generate` writes.

/** Stands in for a call of a model's API: prints what the model would be sent. */
function askModel(messages: string): string {
  console.log(messages);
  return "Your dog is called Pixel.";
}

// #region chat turn
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ContextService } from "./gen/recollect/v1/context_service_pb.js";
import { ProviderFormat, Role } from "./gen/recollect/v1/message_pb.js";
import { MessageService } from "./gen/recollect/v1/message_service_pb.js";

const transport = createGrpcTransport({ baseUrl: `http://${process.env.RECOLLECT_ADDR}` });
const options = { headers: { authorization: `Bearer ${process.env.RECOLLECT_API_KEY}` } };
const session = { appId: "support", userId: "ada", sessionKey: "typescript" };
const thread = { thread: { case: "session", value: session } } as const;
const text = (value: string) => ({ content: { case: "text", value } as const });
const question = [text("What is my dog called?")];

const context = await createClient(ContextService, transport).buildContext(
  { thread, input: question, formats: [ProviderFormat.TEXT] },
  options,
);
const answer = askModel(context.rendered[0].body);
await createClient(MessageService, transport).appendMessages(
  {
    thread,
    messages: [
      { role: Role.USER, parts: question },
      { role: Role.ASSISTANT, parts: [text(answer)] },
    ],
  },
  options,
);
// #endregion
