"""Uses each kind of memory once. docs/clients.md says how to run it."""

import json

import grpc
from recollect.v1 import context_service_pb2, context_service_pb2_grpc
from recollect.v1 import memory_pb2, memory_service_pb2, memory_service_pb2_grpc
from recollect.v1 import message_pb2, message_service_pb2, message_service_pb2_grpc
from recollect.v1 import node_memory_service_pb2, node_memory_service_pb2_grpc
from recollect.v1 import plan_pb2, plan_service_pb2, plan_service_pb2_grpc
from recollect.v1 import policy_pb2, precondition_pb2
from recollect.v1 import thread_pb2, thread_service_pb2, thread_service_pb2_grpc
from recollect.v1 import working_memory_service_pb2, working_memory_service_pb2_grpc

channel = grpc.insecure_channel("127.0.0.1:50051")
threads = thread_service_pb2_grpc.ThreadServiceStub(channel)
messages = message_service_pb2_grpc.MessageServiceStub(channel)
contexts = context_service_pb2_grpc.ContextServiceStub(channel)
memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
nodes = node_memory_service_pb2_grpc.NodeMemoryServiceStub(channel)
plans = plan_service_pb2_grpc.PlanServiceStub(channel)
working_memories = working_memory_service_pb2_grpc.WorkingMemoryServiceStub(channel)


def say(role, text):
    return message_pb2.MessageInput(role=role, parts=[message_pb2.Part(text=text)])


session = thread_pb2.SessionRef(app_id="support", user_id="ada", session_key="43")
thread = thread_pb2.ThreadRef(session=session)
messages.AppendMessages(
    message_service_pb2.AppendMessagesRequest(
        thread=thread,
        messages=[
            say(message_pb2.ROLE_USER, "My dog is called Pixel."),
            say(message_pb2.ROLE_ASSISTANT, "A fine name!"),
        ],
    )
)

# Conversation memory
history = messages.GetHistory(
    message_service_pb2.GetHistoryRequest(thread=thread, max_tokens=2000)
)
print([message.parts[0].text for message in history.messages])

# Window memory
context = contexts.BuildContext(
    context_service_pb2.BuildContextRequest(
        thread=thread,
        input=[message_pb2.Part(text="And how old is he?")],
        policy=policy_pb2.MemoryPolicy(mode=policy_pb2.MEMORY_MODE_WINDOW, window_size=10),
        formats=[message_pb2.PROVIDER_FORMAT_OPENAI_CHAT],
    )
)
request = json.loads(context.rendered[0].body)
print(request["messages"])  # chat.completions.create(model=…, **request)
for cut in context.cuts:
    print(context_service_pb2.ContextBlockKind.Name(cut.kind), cut.item_count, cut.token_count)

# Hybrid memory
later = thread_pb2.SessionRef(app_id="support", user_id="ada", session_key="44")
context = contexts.BuildContext(
    context_service_pb2.BuildContextRequest(
        thread=thread_pb2.ThreadRef(session=later),
        system_prompt="You help people with their pets.",
        input=[message_pb2.Part(text="What is my dog called?")],
        formats=[message_pb2.PROVIDER_FORMAT_ANTHROPIC_MESSAGES],
    )
)
request = json.loads(context.rendered[0].body)
print(request["system"], request["messages"])  # messages.create(model=…, **request)

# Node memory
node = node_memory_service_pb2.NodeRef(thread=thread, node_id="planner")
nodes.AddNodeTurn(
    node_memory_service_pb2.AddNodeTurnRequest(
        node=node,
        user=node_memory_service_pb2.NodeMessageInput(content="Plan his week."),
        assistant=node_memory_service_pb2.NodeMessageInput(content="Monday: a long walk."),
    )
)
nodes.FlushNodeMemory(node_memory_service_pb2.FlushNodeMemoryRequest(node=node))
dialogue = nodes.GetNodeHistory(node_memory_service_pb2.GetNodeHistoryRequest(node=node))
print([message.content for message in dialogue.messages])

# Working memory
working = working_memories.GetWorkingMemory(
    working_memory_service_pb2.GetWorkingMemoryRequest(thread=thread, model="gpt-4o")
).working_memory
working_memories.UpdateWorkingMemoryData(
    working_memory_service_pb2.UpdateWorkingMemoryDataRequest(
        thread=thread,
        patch=json.dumps({"open_ticket": 17}),
        precondition=precondition_pb2.Precondition(etag=working.etag),
    )
)
print(working.summary, len(working.messages), working.context_percentage_until_summarization)

# Observational memory
agents = thread_pb2.SessionRef(app_id="agents", session_key="run:7")
threads.ResolveThread(
    thread_service_pb2.ResolveThreadRequest(
        session=agents,
        policy=policy_pb2.MemoryPolicy(mode=policy_pb2.MEMORY_MODE_OBSERVATIONAL),
    )
)
context = contexts.BuildContext(
    context_service_pb2.BuildContextRequest(
        thread=thread_pb2.ThreadRef(session=agents),
        system_prompt="You keep the build green.",
        input=[message_pb2.Part(text="Go on.")],
        formats=[message_pb2.PROVIDER_FORMAT_OPENAI_CHAT],
    )
)
request = json.loads(context.rendered[0].body)
print(request["messages"])  # chat.completions.create(model=…, **request)

# Plans and briefings
plan = plan_pb2.Plan(
    goal="Teach Pixel to sit",
    steps=[plan_pb2.PlanStep(step_id="1", title="Find a treat that he likes")],
)
plans.PutPlan(plan_service_pb2.PutPlanRequest(thread=thread, plan=plan))
plans.AppendAttempt(
    plan_service_pb2.AppendAttemptRequest(
        thread=thread,
        attempt=plan_pb2.Attempt(
            task="treats", action="Offered him cheese.", error="He left it.", fix="Try fish."
        ),
    )
)
briefing = plans.BuildBriefing(
    plan_service_pb2.BuildBriefingRequest(
        thread=thread, task="Choose the next treat.", task_name="treats"
    )
)
print(briefing.text)

# Long-term memory
ada = thread_pb2.UserRef(app_id="support", user_id="ada")
memories.AddMemories(
    memory_service_pb2.AddMemoriesRequest(
        user=ada,
        memories=[memory_pb2.MemoryInput(text="Her dog Pixel gets no grain.", topics=["pets"])],
    )
)
known = memories.SearchMemories(
    memory_service_pb2.SearchMemoriesRequest(
        target=thread_pb2.Target(user=ada),
        query="Which food does her dog get?",
    )
)
print([found.memory.text for found in known.memories])

# Ephemeral memory
session = thread_pb2.SessionRef(app_id="support", user_id="ada", session_key="trial")
trial = threads.ResolveThread(
    thread_service_pb2.ResolveThreadRequest(session=session, ephemeral=True)
).thread
print(trial.ephemeral)
