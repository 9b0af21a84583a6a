// Metadata and data as JSON, and messages as texts. It needs no server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { jsonObject, jsonText, jsonValue, render } from "@recollect/client";
import { MessageSchema, RecalledMessageSchema, Role } from "@recollect/client/v1";

const LONG = 1234567890123456789n;

test("integers of any size keep their digits both ways", () => {
  const orders = { a: LONG, b: LONG - 1n, c: -LONG, small: 42, most: Number.MAX_SAFE_INTEGER, zero: 0 };
  const text = jsonText(orders);
  assert.equal(text, `{"a":${LONG},"b":${LONG - 1n},"c":-${LONG},"small":42,"most":9007199254740991,"zero":0}`);
  assert.deepEqual(jsonObject(text), orders);
  assert.deepEqual(jsonValue("[9007199254740991, 9007199254740992, -9007199254740993]"), [
    9007199254740991,
    9007199254740992n,
    -9007199254740993n,
  ]);
  assert.equal(jsonText([1n, { deep: [LONG] }]), `[1,{"deep":[${LONG}]}]`);
});

test("everything else is read as the platform reads it", () => {
  for (const text of [
    "{}",
    '{"a":1.5,"b":-2e3,"c":"x\\n\\"y\\u0041","d":[true,false,null],"e":{"f":{}}}',
    '{"a":1,"a":2}',
    '{"__proto__":{"polluted":true}}',
    '{"pi":3.14159265358979323846,"tiny":1e-20}',
    '{"long":"1234567890123456789","a":1,"a":2,"__proto__":{"polluted":true}}',
  ]) {
    assert.deepEqual(jsonObject(text), JSON.parse(text), text);
    assert.equal(jsonText(jsonObject(text)), JSON.stringify(JSON.parse(text)), text);
  }
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
  assert.deepEqual(jsonObject(""), {});
  for (const text of ["{", "{} {}", '{"a":1234567890123456789,}', "NaN"]) assert.throws(() => jsonObject(text), SyntaxError, text);
});

test("objects become JSON as the platform writes it, and text stays as it is", () => {
  const value = { date: new Date(0), missing: undefined, list: [undefined, "a\nb", 1.5], none: null, yes: true };
  assert.equal(jsonText(value), JSON.stringify(value));
  assert.equal(jsonText('{"a":  1.10}'), '{"a":  1.10}');
  assert.throws(() => jsonText(undefined, "data"), /data has no JSON/);
});

test("NaN and infinities are refused with the name of their field", () => {
  assert.throws(() => jsonText({ price: NaN }, "metadata"), /^RangeError: metadata\.price: JSON has no NaN/);
  assert.throws(() => jsonText({ a: [{ b: 1 }, { b: -Infinity }] }, "metadata"), /metadata\.a\[1\]\.b: JSON has no -Infinity/);
  assert.throws(() => jsonText(NaN, "data"), /data: JSON has no NaN/);
});

test("messages are rendered as texts, and what they contain is data", async () => {
  const part = (value: string) => ({ content: { case: "text", value } as const });
  const messages = [
    create(MessageSchema, {
      role: Role.USER,
      name: "Ada {text}",
      parts: [part("Costs {seq} $& $1 {{x}}"), part("Bye")],
      seq: 1n,
      createTime: { seconds: 1_714_557_600n },
    }),
    create(MessageSchema, { role: Role.ASSISTANT, parts: [part("Yes.")], seq: 2n }),
  ];
  assert.deepEqual(render(messages), ["Ada {text}: Costs {seq} $& $1 {{x}}\nBye", "assistant: Yes."]);
  const template = "{{{seq}}} {role} {name} {createTime}: {text}";
  const texts = ["{1} user Ada {text} 2024-05-01T10:00:00.000Z: Costs {seq} $& $1 {{x}}\nBye", "{2} assistant assistant : Yes."];
  assert.deepEqual(render(messages, template), texts);
  assert.deepEqual(render(messages.map((message) => create(RecalledMessageSchema, { message })), template), texts);
  async function* read() {
    yield* messages;
  }
  const streamed = [];
  for await (const text of render(read(), template)) streamed.push(text);
  assert.deepEqual(streamed, texts);
  for (const wrong of ["{content}", "{message.text}", "{constructor}", "{", "a } b", "{}"]) {
    assert.throws(() => render([], wrong), /the template has/, wrong);
  }
});
