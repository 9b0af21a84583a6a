// The data that the console's tests and pictures show, stored over the JSON API.

/** A caller of the API: `call("ThreadService/GetThread", { … })`. */
export function caller(base, key) {
  return async (method, request) => {
    const response = await fetch(`${base}/recollect.v1.${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) },
      body: JSON.stringify(request),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method}: ${JSON.stringify(answer)}`);
    return answer;
  };
}

const user = (text) => ({ role: "ROLE_USER", parts: [{ text }] });
const assistant = (text) => ({ role: "ROLE_ASSISTANT", parts: [{ text }] });

/** What the tests look for on the page in the place of an element. */
export const MARKUP = "<img src=x onerror=\"document.title='injected'\"><script>document.title='injected'</script>";

const MOVE = [
  ["Hi! I am Ada. We are moving from Hamburg to Lisbon in March, and I would like to plan it with you.",
    "Congratulations, Ada! A move between two countries has four parts: the home you leave, the home you find, the things you take, and the papers. Which of them worries you most?"],
  ["The papers. I am German, my husband Tomás is Portuguese, and our daughter Mia is six.",
    "Then it is simpler than most. As an EU citizen you register within four months at the town hall, with proof of an address. Tomás needs nothing. For Mia you need her birth certificate in the multilingual form, which Hamburg issues in about two weeks."],
  ["I will order the certificate today. Our dog Pixel comes with us. She is nine and hates cars.",
    "Pixel needs a microchip, a valid rabies vaccination that is older than 21 days, and an EU pet passport. For a dog who hates cars, two short days with a night in Biarritz are kinder than one long one. A vet can advise on something mild for the nerves."],
  ["Her rabies shot is from last May. And I am allergic to penicillin, so I need to register with a doctor there quickly.",
    "Last May is fine: the vaccination is valid for three years in most products, but look at the date in the passport. For your allergy: ask your doctor in Hamburg for an English summary, and register at the nearest Centro de Saúde with your number de utente as soon as you have an address."],
  ["We found a flat in Campo de Ourique, 1,450 euros a month, third floor without a lift.",
    "Campo de Ourique is a good choice with a child: flat streets, a market hall, and two schools within ten minutes. Ask for the energy certificate, the caderneta predial, and a contract that is registered with the tax office. Without a lift, ask the movers for an outside lift; the street needs a permit for it."],
  ["The movers want 3,900 euros for 38 cubic metres, with the outside lift. Is that a lot?",
    "For Hamburg to Lisbon, 90 to 120 euros a cubic metre is usual, so 38 cubic metres cost 3,400 to 4,600. With the lift included, 3,900 is fair. Check that the insurance covers the full value and not 300 euros a cubic metre."],
  ["Good. Mia starts school in September. Which one is closest to the flat, and can she learn Portuguese before?",
    "The Escola Básica Rainha Santa Isabel is four minutes on foot. Children who do not speak Portuguese get extra lessons there (PLNM). Until September, the library in Campo de Ourique has a reading hour on Saturdays, and Tomás could speak Portuguese with her at breakfast: twenty minutes a day is more than any course."],
  ["Tomás will love that. I work from home and need fast internet from the first day; I have a client call on 12 March at 9.",
    "Order fibre now: three providers reach that street, and installing takes five to ten working days. For 12 March at 9, have a second way: a prepaid SIM with unlimited data costs about 30 euros for a month, and the coworking space in Rua Saraiva de Carvalho opens at 8."],
  ["Then let us book the movers for 4 March. What have I forgotten?",
    "Cancel the flat in Hamburg three months ahead, deregister at the town hall in the last week, tell the tax office and the health insurance, forward the mail for a year, and sign Mia out of her school. And buy good shoes: Lisbon has hills."],
];

/** Stores everything, waits until it is searchable and distilled, and returns the ids. */
export async function seed(call, app) {
  const session = { appId: app, userId: "ada", sessionKey: "thread:move" };
  await call("PolicyService/UpdateAppPolicy", { appPolicy: { appId: app, policy: { mode: "MEMORY_MODE_WORKING", contextWindow: 1500, summarizationThreshold: 0.5, extraction: "EXTRACTION_STRATEGY_DISCRETE" } } });
  const { thread } = await call("ThreadService/ResolveThread", { session, title: "Moving to Lisbon", metadata: "{\"channel\": \"web\"}" });
  const { threadId } = thread;
  const stored = [];
  let revision = "";
  const append = async (messages) => {
    const answer = await call("MessageService/AppendMessages", { thread: { threadId }, messages });
    stored.push(...answer.messages);
    revision = answer.revision;
  };
  for (const [said, answered] of MOVE) await append([user(said), assistant(answered)]);
  // A regenerated answer, and a conversation that went on from there.
  const forked = stored.at(-8).messageId;
  await append([
    { ...user("What would the move cost if we rented a van and drove ourselves?"), parentMessageId: forked },
    assistant("A van for three days, one-way, costs about 1,100 euros, diesel 380, tolls in France and Spain 160, and one night for three with a dog 140: 1,780 in all. You would save 2,100 euros and carry everything to the third floor yourselves."),
    user("Then we take the movers."),
  ]);
  const side = stored.at(-1).messageId;
  await call("ThreadService/SetHead", { thread: { threadId }, headMessageId: stored[MOVE.length * 2 - 1].messageId });
  await append([user("Remind me: what about Pixel and the drive?")]);
  const head = stored.at(-1).messageId;

  const order = await call("MessageService/AppendMessages", {
    thread: { session: { appId: app, userId: "ada", sessionKey: "thread:order-1138" } },
    messages: [
      user("My order 1138 has not arrived. It is the dog bed for Pixel."),
      { role: "ROLE_ASSISTANT", parts: [{ toolCall: { toolCallId: "call_1", name: "find_order", arguments: "{\"number\": 1138}" } }] },
      { role: "ROLE_TOOL", parts: [{ toolResult: { toolCallId: "call_1", name: "find_order", content: [{ json: "{\"number\": 1138, \"state\": \"in customs\", \"days\": 3}" }] } }] },
      assistant("Order 1138, the dog bed, is in customs and should arrive within three days."),
      { ...user("Thank you! Please remember that I prefer messages to calls."), name: "Ada", metadata: "{\"satisfied\": true}" },
    ],
  });
  await call("ThreadService/UpdateThread", { thread: { threadId: order.threadId, title: "Order 1138" } });
  const hostile = await call("MessageService/AppendMessages", {
    thread: { session: { appId: app, userId: `mallory ${MARKUP}`, sessionKey: `thread:${MARKUP}` } },
    messages: [
      { ...user(`Hello ${MARKUP}`), name: MARKUP.slice(0, 200), metadata: JSON.stringify({ note: MARKUP }), externalId: MARKUP.slice(0, 120) },
      { role: "ROLE_ASSISTANT", parts: [{ toolCall: { toolCallId: "call_2", name: "<b>tool</b>", arguments: MARKUP } }] },
    ],
  });
  const owner = { appId: app, userId: "ada" };
  const first = await call("MemoryService/AddMemories", { user: owner, memories: [
    { text: "Ada lives in Hamburg.", topics: ["home"], entities: ["Hamburg"], sourceMessageIds: [stored[0].messageId] },
    { text: "Ada is allergic to penicillin.", topics: ["health"], pinned: true, sourceMessageIds: [stored[6].messageId] },
    { text: "Ada's dog is called Pixel; she is nine and hates cars.", topics: ["family"], entities: ["Pixel"], sourceMessageIds: [stored[4].messageId] },
    { text: "Mia starts school in September.", topics: ["family"], entities: ["Mia"], sourceMessageIds: [stored[12].messageId] },
  ] });
  const moved = await call("MemoryService/SupersedeMemory", { memoryId: first.memories[0].memory.memoryId,
    replacement: { text: "Ada lives in Lisbon, in Campo de Ourique.", topics: ["home"], entities: ["Lisbon"], sourceMessageIds: [stored[8].messageId] } });
  await call("MemoryService/AddMemories", { user: { appId: app, userId: `mallory ${MARKUP}` }, memories: [{ text: `Knows ${MARKUP}`, topics: ["<i>x</i>"], metadata: JSON.stringify({ a: MARKUP }) }] });
  // A user whose deletion leaves a receipt.
  await call("MessageService/AppendMessages", { thread: { session: { appId: app, userId: "bob", sessionKey: "thread:1" } }, messages: [user("Please forget me.")] });
  const { deletion } = await call("AdminService/DeleteUser", { user: { appId: app, userId: "bob" } });

  const agent = await observed(call, `${app}-agent`);
  await call("RecallService/Recall", { target: { thread: { threadId } }, query: "Pixel", freshness: { atLeastAsFresh: revision, maxWait: "20s" } });
  await until("a summary", async () => {
    const { ranges } = await call("LedgerService/ListLedger", { thread: { threadId }, kind: "LEDGER_KIND_SUMMARY" });
    return ranges.some((range) => range.state === "LEDGER_STATE_SUMMARIZED");
  });
  await until("an observation", async () => {
    const { ranges } = await call("LedgerService/ListLedger", { thread: { threadId: agent }, kind: "LEDGER_KIND_OBSERVATION" });
    return ranges.some((range) => range.state === "LEDGER_STATE_OBSERVED");
  });
  await until("the end of distilling", async () => Number((await call("AdminService/GetDistillStatus", {})).waitingThreadCount ?? 0) === 0);
  await until("the deletion", async () => (await call("AdminService/GetDeletion", { deletionId: deletion.deletionId })).deletion.state === "DELETION_STATE_FINISHED");
  return { app, threadId, head, side, order: order.threadId, hostile: hostile.threadId, agent, memoryId: moved.memory.memoryId, deletionId: deletion.deletionId };
}

/** An agent's thread whose older steps are condensed to observations. */
async function observed(call, app) {
  await call("PolicyService/UpdateAppPolicy", { appPolicy: { appId: app, policy: { mode: "MEMORY_MODE_OBSERVATIONAL", observerTokens: 1000, reflectorTokens: 1000 } } });
  const session = { appId: app, userId: "", sessionKey: "run:7" };
  const { thread } = await call("ThreadService/ResolveThread", { session, title: "Nightly report" });
  await call("MessageService/AppendMessages", { thread: { threadId: thread.threadId }, messages: [user("Write the nightly report: check each service, and describe what is unusual.")] });
  for (let step = 1; step <= 14; step += 1) {
    const service = ["billing", "search", "mail", "login"][step % 4];
    const id = `step_${step}`;
    await call("MessageService/AppendMessages", { thread: { threadId: thread.threadId }, messages: [
      { role: "ROLE_ASSISTANT", parts: [{ text: `Step ${step}: I read the numbers of ${service}.` }, { toolCall: { toolCallId: id, name: "read_metrics", arguments: JSON.stringify({ service, hour: step }) } }] },
      { role: "ROLE_TOOL", parts: [{ toolResult: { toolCallId: id, name: "read_metrics", content: [{ text: `${service} at ${step}:00. ${1000 + step * 37} requests, ${step} errors. The 99th percentile was ${120 + step * 3} ms. The queue had ${step * 11} entries, and the slowest request took ${2 + step} seconds, in the report of the customer number ${4000 + step}. One replica restarted ${step % 3} times, and its memory was at ${50 + step} percent. The certificate is valid for ${90 - step} days.` }] } }] },
    ] });
  }
  return thread.threadId;
}

/** Waits until something holds, at most two minutes. */
export async function until(what, holds) {
  for (const end = Date.now() + 120_000; Date.now() < end; await new Promise((done) => setTimeout(done, 250))) {
    if (await holds()) return;
  }
  throw new Error(`${what} did not come within two minutes`);
}
