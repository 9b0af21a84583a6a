"""A server in this process whose failures are scripted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from recollect import v1
from recollect.v1 import (
    context_service_pb2_grpc,
    event_service_pb2_grpc,
    memory_service_pb2_grpc,
    message_service_pb2_grpc,
    subscription_service_pb2_grpc,
    thread_service_pb2_grpc,
    working_memory_service_pb2_grpc,
)

Failure = Callable[[grpc.ServicerContext], None]


def fail(
    code: grpc.StatusCode,
    message: str = "scripted",
    reason: str = "",
    retry_after: float | None = None,
    fields: dict[str, str] | None = None,
    after: float = 0.0,
    **metadata: str,
) -> Failure:
    """Ends a call as a Recollect server does, after these seconds."""
    details: list[Any] = []
    if reason:
        details.append(
            error_details_pb2.ErrorInfo(reason=reason, domain="recollect.dev", metadata=metadata)
        )
    if fields:
        violation = error_details_pb2.BadRequest.FieldViolation
        violations = [violation(field=field, description=text) for field, text in fields.items()]
        details.append(error_details_pb2.BadRequest(field_violations=violations))
    if retry_after is not None:
        delay = Duration()
        delay.FromNanoseconds(int(retry_after * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))

    def end(context: grpc.ServicerContext) -> None:
        status = status_pb2.Status(code=code.value[0], message=message)
        for detail in details:
            packed = AnyMessage()
            packed.Pack(detail)
            status.details.append(packed)
        if details:
            trailer = ("grpc-status-details-bin", status.SerializeToString())
            context.set_trailing_metadata((trailer,))
        time.sleep(after)
        context.abort(code, message)

    return end


class ScriptedServer:
    """Stores appended messages, once for each request id, and fails as scripted.

    `before` and `after` have the failures of the next calls, before and after the call did its
    work. A call takes one of each.
    """

    def __init__(self, credentials: grpc.ServerCredentials | None = None, port: int = 0) -> None:
        self.before: list[Failure | None] = []
        self.after: list[Failure | None] = []
        self.calls: list[tuple[str, Any, dict[str, Any], float | None]] = []
        """The name, request, metadata and remaining time of each call."""
        self.stored: list[v1.MessageInput] = []
        self.requests: dict[str, v1.AppendMessagesResponse] = {}
        self.events: list[list[Any]] = []
        """The events of each stream; a stream ends as `after` says."""
        self._lock = threading.Lock()
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
        # Methods that they do not have answer UNIMPLEMENTED.
        messages = _Messages(self)  # type: ignore[abstract]
        message_service_pb2_grpc.add_MessageServiceServicer_to_server(messages, self._server)
        memories = _Memories(self)  # type: ignore[abstract]
        memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(memories, self._server)
        contexts = _Contexts(self)
        context_service_pb2_grpc.add_ContextServiceServicer_to_server(contexts, self._server)
        subscriptions = _Subscriptions(self)  # type: ignore[abstract]
        subscription_service_pb2_grpc.add_SubscriptionServiceServicer_to_server(
            subscriptions, self._server
        )
        threads = _Threads(self)  # type: ignore[abstract]
        thread_service_pb2_grpc.add_ThreadServiceServicer_to_server(threads, self._server)
        events = _Events(self)
        event_service_pb2_grpc.add_EventServiceServicer_to_server(events, self._server)
        working = _WorkingMemories(self)  # type: ignore[abstract]
        working_memory_service_pb2_grpc.add_WorkingMemoryServiceServicer_to_server(
            working, self._server
        )
        if credentials is None:
            port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        else:
            port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self.addr = f"127.0.0.1:{port}"

    def __enter__(self) -> ScriptedServer:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(None).wait()

    def handle(self, name: str, request: Any, context: Any, answer: Callable[[], Any]) -> Any:
        with self._lock:
            metadata = dict(context.invocation_metadata())
            self.calls.append((name, request, metadata, context.time_remaining()))
            before = self.before.pop(0) if self.before else None
            after = self.after.pop(0) if self.after else None
            if before:
                before(context)
            response = answer()
        if after:
            after(context)
        return response

    def stream(self, name: str, request: Any, context: Any) -> Any:
        self.calls.append((name, request, dict(context.invocation_metadata()), None))
        yield from self.events.pop(0)
        after = self.after.pop(0) if self.after else None
        if after:
            after(context)

    def append(self, request: v1.AppendMessagesRequest) -> v1.AppendMessagesResponse:
        known = self.requests.get(request.request_id)
        if request.request_id and known:
            return v1.AppendMessagesResponse(messages=known.messages, replayed=True)
        first = len(self.stored) + 1
        self.stored.extend(request.messages)
        response = v1.AppendMessagesResponse(
            messages=[
                v1.AppendedMessage(message_id=str(first + index), seq=first + index)
                for index in range(len(request.messages))
            ]
        )
        self.requests[request.request_id] = response
        return response


class _Messages(message_service_pb2_grpc.MessageServiceServicer):
    def __init__(self, server: ScriptedServer) -> None:
        self.server = server

    def AppendMessages(self, request: Any, context: Any) -> Any:
        return self.server.handle("append", request, context, lambda: self.server.append(request))

    def GetHistory(self, request: Any, context: Any) -> Any:
        return self.server.handle("history", request, context, v1.GetHistoryResponse)

    def ListMessages(self, request: Any, context: Any) -> Any:
        def page() -> v1.ListMessagesResponse:
            first = int(request.page_token or 1)
            shown = self.server.stored[first - 1 : first - 1 + request.page_size]
            rest = first + len(shown) <= len(self.server.stored)
            return v1.ListMessagesResponse(
                messages=[
                    v1.Message(seq=first + index, role=of.role, parts=of.parts)
                    for index, of in enumerate(shown)
                ],
                next_page_token=str(first + len(shown)) if rest else "",
            )

        return self.server.handle("messages", request, context, page)


class _Memories(memory_service_pb2_grpc.MemoryServiceServicer):
    def __init__(self, server: ScriptedServer) -> None:
        self.server = server

    def UpdateMemory(self, request: Any, context: Any) -> Any:
        answer = lambda: v1.UpdateMemoryResponse(memory=request.memory)
        return self.server.handle("update", request, context, answer)

    def GetProfile(self, request: Any, context: Any) -> Any:
        return self.server.handle("profile", request, context, v1.GetProfileResponse)

    def DeleteMemory(self, request: Any, context: Any) -> Any:
        return self.server.handle("forget", request, context, v1.DeleteMemoryResponse)


class _Threads(thread_service_pb2_grpc.ThreadServiceServicer):
    def __init__(self, server: ScriptedServer) -> None:
        self.server = server

    def UpdateThread(self, request: Any, context: Any) -> Any:
        answer = lambda: v1.UpdateThreadResponse(thread=request.thread)
        return self.server.handle("update", request, context, answer)

    def DeleteThread(self, request: Any, context: Any) -> Any:
        return self.server.handle("delete", request, context, v1.DeleteThreadResponse)

    def WatchThread(self, request: Any, context: Any) -> Any:
        return self.server.stream("watch", request, context)


class _Contexts(context_service_pb2_grpc.ContextServiceServicer):
    def __init__(self, server: ScriptedServer) -> None:
        self.server = server

    def BuildContext(self, request: Any, context: Any) -> Any:
        return self.server.handle("context", request, context, v1.BuildContextResponse)


class _Subscriptions(subscription_service_pb2_grpc.SubscriptionServiceServicer):
    def __init__(self, server: ScriptedServer) -> None:
        self.server = server

    def UpdateSubscription(self, request: Any, context: Any) -> Any:
        answer = lambda: v1.UpdateSubscriptionResponse(subscription=request.subscription)
        return self.server.handle("update", request, context, answer)

    def StreamEvents(self, request: Any, context: Any) -> Any:
        return self.server.stream("stream", request, context)

    def AcknowledgeEvents(self, request: Any, context: Any) -> Any:
        # Without a step of `after`: those are of the streams.
        self.server.calls.append(("acknowledge", request, {}, None))
        return v1.AcknowledgeEventsResponse()


class _Events(event_service_pb2_grpc.EventServiceServicer):
    def __init__(self, server: ScriptedServer) -> None:
        self.server = server

    def AppendEvents(self, request: Any, context: Any) -> Any:
        answer = lambda: v1.AppendEventsResponse(first_number=1, event_count=len(request.events))
        return self.server.handle("append_events", request, context, answer)

    def ListEvents(self, request: Any, context: Any) -> Any:
        """Two pages of one event each."""
        number = int(request.page_token or 1)
        event = v1.AgentEvent(number=number, type="run", json='{"id": 9007199254740993}')
        rest = "2" if number == 1 else ""
        answer = lambda: v1.ListEventsResponse(events=[event], next_page_token=rest)
        return self.server.handle("events", request, context, answer)


class _WorkingMemories(working_memory_service_pb2_grpc.WorkingMemoryServiceServicer):
    def __init__(self, server: ScriptedServer) -> None:
        self.server = server

    def PutWorkingMemory(self, request: Any, context: Any) -> Any:
        """Answers with what was put, as far as it is text."""
        warning = v1.WorkingMemoryWarning(field="messages[0].create_time", message="now")
        stored = v1.WorkingMemory(summary=request.summary, data=request.data, etag="1")
        answer = lambda: v1.PutWorkingMemoryResponse(working_memory=stored, warnings=[warning])
        return self.server.handle("put", request, context, answer)

    def UpdateWorkingMemoryData(self, request: Any, context: Any) -> Any:
        answer = lambda: v1.UpdateWorkingMemoryDataResponse(data=request.patch)
        return self.server.handle("patch", request, context, answer)
