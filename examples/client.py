"""Stores a message and recalls it. docs/clients.md says how to run it."""

import grpc
from recollect.v1 import message_pb2, message_service_pb2, message_service_pb2_grpc
from recollect.v1 import recall_service_pb2, recall_service_pb2_grpc
from recollect.v1 import thread_pb2

channel = grpc.insecure_channel("127.0.0.1:50051")
messages = message_service_pb2_grpc.MessageServiceStub(channel)
recall = recall_service_pb2_grpc.RecallServiceStub(channel)

session = thread_pb2.SessionRef(app_id="support", user_id="ada", session_key="42")
thread = thread_pb2.ThreadRef(session=session)

messages.AppendMessages(
    message_service_pb2.AppendMessagesRequest(
        thread=thread,
        messages=[
            message_pb2.MessageInput(
                role=message_pb2.ROLE_USER,
                parts=[message_pb2.Part(text="My dog is called Pixel.")],
            )
        ],
    )
)

answer = recall.Recall(
    recall_service_pb2.RecallRequest(
        target=thread_pb2.Target(thread=thread),
        query="What is my dog called?",
    )
)
for recalled in answer.messages:
    print(recalled.message.parts[0].text)
