"""One chat turn with the Python client that `make generate` writes."""


def ask_model(messages: str) -> str:
    """Stands in for a call of a model's API: prints what the model would be sent."""
    print(messages)
    return "Your dog is called Pixel."


# region chat turn
import os

import grpc
from recollect.v1.context_service_pb2 import BuildContextRequest
from recollect.v1.context_service_pb2_grpc import ContextServiceStub
from recollect.v1.message_pb2 import (
    PROVIDER_FORMAT_TEXT,
    ROLE_ASSISTANT,
    ROLE_USER,
    MessageInput,
    Part,
)
from recollect.v1.message_service_pb2 import AppendMessagesRequest
from recollect.v1.message_service_pb2_grpc import MessageServiceStub
from recollect.v1.thread_pb2 import SessionRef, ThreadRef

channel = grpc.insecure_channel(os.environ["RECOLLECT_ADDR"])
key = (("authorization", "Bearer " + os.environ["RECOLLECT_API_KEY"]),)
session = SessionRef(app_id="support", user_id="ada", session_key="python")
thread = ThreadRef(session=session)
question = [Part(text="What is my dog called?")]

context = ContextServiceStub(channel).BuildContext(
    BuildContextRequest(thread=thread, input=question, formats=[PROVIDER_FORMAT_TEXT]),
    metadata=key,
)
answer = ask_model(context.rendered[0].body)
MessageServiceStub(channel).AppendMessages(
    AppendMessagesRequest(
        thread=thread,
        messages=[
            MessageInput(role=ROLE_USER, parts=question),
            MessageInput(role=ROLE_ASSISTANT, parts=[Part(text=answer)]),
        ],
    ),
    metadata=key,
)
# endregion
