// The same calls by each protocol that the server speaks. Prints each one's name.

import assert from "node:assert/strict";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { Role } from "./gen/recollect/v1/message_pb.js";
import { MessageService } from "./gen/recollect/v1/message_service_pb.js";
import { ThreadService } from "./gen/recollect/v1/thread_service_pb.js";
import { TransferService } from "./gen/recollect/v1/transfer_service_pb.js";

const baseUrl = `http://${process.env.RECOLLECT_ADDR}`;
const headers = { authorization: `Bearer ${process.env.RECOLLECT_API_KEY}` };
const http1 = { baseUrl, httpVersion: "1.1" } as const;
const http2 = { baseUrl, httpVersion: "2" } as const;

const transports: Record<string, Transport> = {
  "connect json": createConnectTransport({ ...http1, useBinaryFormat: false }),
  "connect proto": createConnectTransport({ ...http1, useBinaryFormat: true }),
  "connect get": createConnectTransport({ ...http1, useHttpGet: true }),
  "connect http2": createConnectTransport({ ...http2, useBinaryFormat: false }),
  "grpc-web": createGrpcWebTransport(http1),
  "grpc-web http2": createGrpcWebTransport(http2),
  grpc: createGrpcTransport({ baseUrl }),
};

async function calls(name: string, transport: Transport) {
  const messages = createClient(MessageService, transport);
  const threads = createClient(ThreadService, transport);
  const transfers = createClient(TransferService, transport);
  const session = { appId: process.env.RECOLLECT_APP!, userId: "ada", sessionKey: name };
  const thread = { thread: { case: "session", value: session } } as const;
  // Long enough to be compressed.
  const long = "My dog is called Pixel. ".repeat(200);
  const text = { content: { case: "text", value: long } } as const;
  const appended = await messages.appendMessages(
    { thread, messages: [{ role: Role.USER, parts: [text] }] },
    { headers },
  );
  assert.equal(appended.messages[0].seq, 1n);

  const history = await messages.getHistory({ thread, maxTokens: 100_000 }, { headers });
  assert.equal(history.messages[0].parts[0].content.value, long);

  const wrong = messages.getHistory({ thread, maxTokens: -1 }, { headers });
  const error = await wrong.then(() => assert.fail("not refused"), ConnectError.from);
  assert.equal(error.code, Code.InvalidArgument);
  const details = error.details.map((detail) => ("type" in detail ? detail.type : ""));
  assert.ok(details.includes("google.rpc.ErrorInfo"), String(details));
  assert.ok(details.includes("google.rpc.BadRequest"), String(details));

  const noKey = await threads.listApps({}).then(() => assert.fail("let in"), ConnectError.from);
  assert.equal(noKey.code, Code.Unauthenticated);

  let exported = 0;
  const stored = { thread: { case: "threadId", value: appended.threadId } } as const;
  for await (const _ of transfers.exportRecords(
    { target: { target: { case: "thread", value: stored } } },
    { headers },
  )) {
    exported += 1;
  }
  assert.ok(exported > 0);

  const stop = new AbortController();
  const watch = threads.watchThread({ thread }, { headers, signal: stop.signal });
  for await (const event of watch) {
    assert.notEqual(event.cursor, "");
    break;
  }
  stop.abort();
}

for (const [name, transport] of Object.entries(transports)) {
  await calls(name, transport);
  console.log(name);
}
// Connections that are kept open would keep the process running.
process.exit(0);
