"""Spans of OpenTelemetry for memory operations. It needs the extra `opentelemetry`.

    from recollect import Recollect
    from recollect.opentelemetry import instrument

    client = instrument(Recollect())

Each call that searches, stores, changes or deletes what is remembered is a span, with its
repetitions. The names are those of the semantic conventions for generative AI, section Memory,
whose status is Development: they may change.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider, get_tracer

from recollect._async.client import AsyncRecollect
from recollect._connect import AsyncChannels, Channels
from recollect._sync.client import Recollect
from recollect.errors import RecollectError
from recollect.v1.stubs import AsyncStubs, Stubs

_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_Client = TypeVar("_Client", Recollect, AsyncRecollect)


class _Operation(NamedTuple):
    """What a method is called in the conventions."""

    name: str
    asked: str = ""
    """The repeated field of the request that has a record each."""
    answered: str = ""
    """The repeated field of the response that has a record each."""
    record: str = ""
    """The field of the request that names the one record."""


_OPERATIONS = {
    "ContextService/BuildContext": _Operation("search_memory"),
    "DocumentService/DeleteDocuments": _Operation("delete_memory", asked="documents"),
    "DocumentService/PutDocuments": _Operation("upsert_memory", asked="documents"),
    "DocumentService/SearchDocuments": _Operation("search_memory", answered="documents"),
    "MemoryFileService/DeleteMemoryFile": _Operation("delete_memory"),
    "MemoryFileService/InsertIntoMemoryFile": _Operation("update_memory"),
    "MemoryFileService/PutMemoryFile": _Operation("upsert_memory"),
    "MemoryFileService/RenameMemoryFile": _Operation("update_memory"),
    "MemoryFileService/ReplaceInMemoryFile": _Operation("update_memory"),
    "MemoryFileService/RestoreMemoryFile": _Operation("update_memory"),
    "MemoryFileService/SearchMemoryFiles": _Operation("search_memory", answered="files"),
    "MemoryService/AddMemories": _Operation("upsert_memory", asked="memories"),
    "MemoryService/DeleteMemories": _Operation("delete_memory"),
    "MemoryService/DeleteMemory": _Operation("delete_memory", record="memory_id"),
    "MemoryService/ExtractMemories": _Operation("upsert_memory"),
    "MemoryService/SearchMemories": _Operation("search_memory", answered="memories"),
    "MemoryService/SupersedeMemory": _Operation("update_memory", record="memory_id"),
    "MemoryService/UpdateMemory": _Operation("update_memory", record="memory.memory_id"),
    "MessageService/AppendMessages": _Operation("create_memory", answered="messages"),
    "MessageService/DeleteMessage": _Operation("delete_memory", record="message_id"),
    "MessageService/UpdateMessage": _Operation("update_memory", record="message_id"),
    "RecallService/Recall": _Operation("search_memory", answered="messages"),
    "RecallService/Search": _Operation("search_memory", answered="matches"),
}


def instrument(
    client: _Client,
    *,
    tracer_provider: TracerProvider | None = None,
    capture_content: bool | None = None,
) -> _Client:
    """Adds a span to each memory operation of a client, and of what it has made. Returns the
    client.

    A span is called like its operation: `search_memory` (recall, search, context),
    `create_memory` (append), `upsert_memory` (memories, documents), `update_memory` and
    `delete_memory`. `gen_ai.memory.store.id` is the app, unless the thread is named by its id,
    and `error.type` the gRPC code. Names of users, sessions and texts are not in it.

    Args:
        client: the client. Calling it again has no effect.
        tracer_provider: who makes the spans. Default: the global one.
        capture_content: True: `gen_ai.memory.query.text` is what was searched for, which may be
            personal. Default: whether OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is true.
    """
    if capture_content is None:
        capture_content = os.environ.get(_CONTENT, "").lower() == "true"
    channels: Channels | AsyncChannels = client._channels
    if getattr(channels, "_instrumented", False):
        return client
    spans = _Spans(tracer_provider, channels.connection.target, capture_content)
    connect = channels._connect
    # The channel is wrapped and not given an interceptor, so that a span has all attempts.
    setattr(channels, "_connect", lambda *given: _TracedChannel(connect(*given), spans))
    setattr(channels, "_instrumented", True)
    if isinstance(channels, Channels):
        with channels._lock:
            if channels._made is not None:
                traced: Any = _TracedChannel(channels._made[0], spans)
                channels._made = traced, Stubs(traced)
    else:
        with channels._lock:
            for loop, made in list(channels._made.items()):
                traced = _TracedChannel(made.channel, spans)
                channels._made[loop] = made._replace(channel=traced, stubs=AsyncStubs(traced))
    return client


class _Spans:
    """Makes the spans of one client."""

    def __init__(self, provider: TracerProvider | None, target: str, content: bool) -> None:
        self._tracer = get_tracer("recollect", tracer_provider=provider)
        self._content = content
        address, separator, port = target.rpartition(":")
        self._server: dict[str, Any] = {"server.address": target}
        if separator and port.isdecimal():
            self._server = {"server.address": address.strip("[]"), "server.port": int(port)}

    @contextlib.contextmanager
    def around(self, operation: _Operation, request: Any) -> Iterator[Span]:
        attributes = {"gen_ai.operation.name": operation.name, **self._server}
        if store := _app(request):
            attributes["gen_ai.memory.store.id"] = store
        if operation.record:
            named = request
            for field in operation.record.split("."):
                named = getattr(named, field)
            attributes["gen_ai.memory.record.id"] = named
        if operation.asked:
            attributes["gen_ai.memory.record.count"] = len(getattr(request, operation.asked))
        if self._content and (query := getattr(request, "query", "")):
            attributes["gen_ai.memory.query.text"] = query
        with self._tracer.start_as_current_span(
            operation.name,
            kind=SpanKind.CLIENT,
            attributes=attributes,
            # The message of an error may quote the request.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                code = error.code if isinstance(error, RecollectError) else type(error).__qualname__
                span.set_attribute("error.type", code)
                span.set_status(Status(StatusCode.ERROR, code))
                raise


def _app(request: Any) -> str:
    """The app that a request is about; empty if it does not say."""
    for field, value in request.ListFields():
        if field.name == "app_id":
            return str(value)
        if field.name in ("thread", "session", "target", "user", "app"):
            found = value if isinstance(value, str) else _app(value)
            if found:
                return found
    return ""


class _TracedChannel:
    """A channel whose memory operations have spans. All else is that of the channel."""

    def __init__(self, channel: Any, spans: _Spans) -> None:
        self._channel = channel
        self._spans = spans

    def unary_unary(self, path: str, *args: Any, **kwargs: Any) -> Any:
        method = self._channel.unary_unary(path, *args, **kwargs)
        operation = _OPERATIONS.get(path.removeprefix("/recollect.v1."))
        return _TracedMethod(method, operation, self._spans) if operation else method

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)


class _TracedMethod:
    """A method of a stub, of either kind of channel."""

    def __init__(self, method: Any, operation: _Operation, spans: _Spans) -> None:
        self._method = method
        self._operation = operation
        self._spans = spans

    def __call__(self, request: Any, **settings: Any) -> Any:
        if hasattr(self._method, "with_call"):
            with self._spans.around(self._operation, request) as span:
                return self._counted(span, self._method(request, **settings))
        return self._awaited(request, settings)

    async def _awaited(self, request: Any, settings: dict[str, Any]) -> Any:
        """For channels of asyncio, whose methods have no `with_call`."""
        with self._spans.around(self._operation, request) as span:
            return self._counted(span, await self._method(request, **settings))

    def _counted(self, span: Span, response: Any) -> Any:
        if self._operation.answered:
            count = len(getattr(response, self._operation.answered))
            span.set_attribute("gen_ai.memory.record.count", count)
        return response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)
