"""Events of Google's Agent Development Kit as messages of a thread.

An event with content is a message with the event's id as its external_id. Its metadata has the
event itself, without the content if that can be restored from the message. What has no content,
such as a change of state, and what is too large for metadata, is in the thread's event log: an
entry with the message that it follows, or that it belongs to.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from google.adk.events.event import Event
from google.adk.sessions.state import State
from google.genai import types as genai
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import BaseModel

from recollect import types, v1
from recollect._adapters import add_metadata
from recollect._async.client import AsyncRecollect
from recollect._async.pages import pages
from recollect._requests import timestamp
from recollect.errors import AlreadyExistsError

_KEPT = "adk_event"
_LOGGED = "adk_event_key"
_TYPE = "adk_event"
_GEMINI = v1.PROVIDER_FORMAT_GEMINI
_LONGEST_KEPT = 12 * 1024
"""Bytes of JSON in the metadata of a message, which has at most 16 KiB."""
_LONGEST_PIECE = 120_000
"""ASCII characters of JSON in one entry of the log, which has at most 256 KiB of JSON; quoted,
they can be twice as long."""
_LONGEST_PART = 250_000
"""Bytes of a part of a message, which has at most 256 KiB."""
_LONGEST_MESSAGE = 1_000_000
"""Bytes of all parts of a message, which has at most 1 MiB."""
_PIECES = 10
_PARTS = 64
_FILES = {
    "image": v1.FILE_TYPE_IMAGE,
    "audio": v1.FILE_TYPE_AUDIO,
    "video": v1.FILE_TYPE_VIDEO,
}


async def append(client: AsyncRecollect, thread_id: str, event: Event) -> bool:
    """Stores an event at the end of a thread. False: it was stored before."""
    original = _dumped(event)
    changes = original.get("actions", {}).get("stateDelta", {})
    for key in [key for key in changes if key.startswith(State.TEMP_PREFIX)]:
        del changes[key]
    happened = timestamp(datetime.fromtimestamp(event.timestamp, timezone.utc))
    if not (event.content and event.content.parts):
        _, new = await _log(client, thread_id, event.id, original, happened)
        return new
    role = _role(event)
    message = v1.MessageInput(
        role=role,
        name="" if event.author == "user" else event.author[:256],
        parts=_parts(event.content.parts, role),
        external_id=event.id,
        create_time=happened,
    )
    kept = original
    if _dumped(content(message)) == original["content"]:
        kept = {name: value for name, value in original.items() if name != "content"}
    text = json.dumps(kept, ensure_ascii=False)
    if len(json.dumps(text)) > _LONGEST_KEPT:
        # Before the message: without it, these entries are not read.
        key, _ = await _log(client, thread_id, event.id, kept, happened, of_message=True)
        add_metadata(message, _LOGGED, key)
    else:
        add_metadata(message, _KEPT, text)
    thread = v1.ThreadRef(thread_id=thread_id)
    request = v1.AppendMessagesRequest(thread=thread, messages=[message])
    try:
        stored = await client.stubs.message.AppendMessages(request)
    except AlreadyExistsError:
        # Another event with the same id: the message gets an id of its own.
        request.messages[0].external_id = ""
        stored = await client.stubs.message.AppendMessages(request)
    return not stored.replayed


async def read(
    client: AsyncRecollect, thread_id: str, *, limit: int | None, after: float | None
) -> list[Event]:
    """The events on the path to the thread's head, oldest first: the newest `limit`, or all.
    Those before `after` may be left out."""
    messages: list[types.Message] = []
    size = 100 if limit is None else min(limit, 500)
    async for message in client.thread(thread_id).path(page_size=size):
        messages.append(message)
        if limit is not None and len(messages) >= limit:
            break
        if after is not None and message.created_at.timestamp() < after - 1:
            break
    messages.reverse()
    missing = {message.metadata[_LOGGED] for message in messages if _LOGGED in message.metadata}
    log = await _read_log(client, thread_id, limit=limit, missing=missing)
    following: dict[str, list[Event]] = {}
    for entry in log.values():
        if not entry.of_message:
            following.setdefault(entry.message_id, []).append(entry.event())
    events = following.pop("", [])
    for message in messages:
        events.append(_event(message, log.get(message.metadata.get(_LOGGED, ""))))
        events += following.pop(message.id, [])
    # What follows a deleted message takes its place by time.
    for event in (event for rest in following.values() for event in rest):
        index = len(events)
        while index and events[index - 1].timestamp > event.timestamp:
            index -= 1
        events.insert(index, event)
    return events if limit is None else events[-limit:]


def content(message: v1.Message | v1.MessageInput) -> genai.Content:
    """The content of a message, as far as its fields tell."""
    role = "model" if message.role == v1.ROLE_ASSISTANT else "user"
    return genai.Content(role=role, parts=[_restored(part) for part in message.parts])


def _event(message: types.Message, entry: _Entry | None) -> Event:
    kept = message.metadata.get(_KEPT)
    if isinstance(kept, str):
        data = json.loads(kept)
    elif entry is not None:
        data = entry.data()
    else:
        # Of another client.
        data = {
            "id": message.external_id or message.id,
            "author": message.name or ("user" if message.role == "user" else "model"),
            "timestamp": message.created_at.timestamp(),
        }
    if "content" not in data:
        data["content"] = _dumped(content(message.proto))
    return _loaded(data)


def _dumped(model: BaseModel) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _loaded(data: Any) -> Event:
    # By way of JSON, where bytes are base64.
    return Event.model_validate_json(json.dumps(data))


# --- the event log ---------------------------------------------------------------------------


@dataclass
class _Entry:
    """One event in the log, in one or several pieces."""

    message_id: str
    """The message that the event follows or, of_message, that it belongs to."""
    of_message: bool
    count: int
    pieces: dict[int, str] = field(default_factory=dict)

    def data(self) -> Any:
        return json.loads("".join(self.pieces[index] for index in range(self.count)))

    def event(self) -> Event:
        return _loaded(self.data())


async def _log(
    client: AsyncRecollect,
    thread_id: str,
    event_id: str,
    data: Any,
    happened: Timestamp,
    *,
    of_message: bool = False,
) -> tuple[str, bool]:
    """Stores an event in the log. Returns its key, and whether it is new."""
    text = json.dumps(data)
    digest = hashlib.sha256(text.encode()).hexdigest()
    key = f"{event_id} {digest}"
    pieces = [text[at : at + _LONGEST_PIECE] for at in range(0, len(text), _LONGEST_PIECE)]
    entries = []
    for index, piece in enumerate(pieces):
        described = {
            "key": key,
            "of_message": of_message,
            "index": index,
            "count": len(pieces),
            "text": piece,
        }
        entry = v1.AgentEvent(type=_TYPE, json=json.dumps(described), create_time=happened)
        if of_message:
            entry.message_id = event_id
        entries.append(entry)
    new = False
    for start in range(0, len(entries), _PIECES):
        # The same for the same event, so that repeating it stores nothing.
        request_id = uuid.uuid5(uuid.UUID(thread_id), f"{key} {digest} {start}")
        request = v1.AppendEventsRequest(
            thread=v1.ThreadRef(thread_id=thread_id),
            events=entries[start : start + _PIECES],
            request_id=str(request_id),
        )
        response = await client.stubs.event.AppendEvents(request)
        new = not response.replayed
    return key, new


async def _read_log(
    client: AsyncRecollect, thread_id: str, *, limit: int | None, missing: set[str]
) -> dict[str, _Entry]:
    """The entries by their keys, oldest first: the newest `limit` that follow a
    message, and those that belong to the messages in `missing`; or all."""
    entries: dict[str, _Entry] = {}
    following = 0
    request = v1.ListEventsRequest(
        thread=v1.ThreadRef(thread_id=thread_id),
        types=[_TYPE],
        order_by="number desc",
        page_size=100 if limit is None else min(limit + len(missing), 500),
    )
    async for page in pages(client.stubs.event.ListEvents, request, None):
        for logged in page.events:
            piece = json.loads(logged.json)
            entry = entries.get(piece["key"])
            if entry is None:
                entry = _Entry(logged.message_id, piece["of_message"], piece["count"])
                entries[piece["key"]] = entry
            entry.pieces[piece["index"]] = piece["text"]
            if len(entry.pieces) == entry.count:
                following += not entry.of_message
                missing.discard(piece["key"])
        if limit is not None and following >= limit and not missing:
            break
    whole = [(name, entry) for name, entry in entries.items() if len(entry.pieces) == entry.count]
    return dict(reversed(whole))


# --- content and parts -----------------------------------------------------------------------


def _role(event: Event) -> v1.Role.ValueType:
    parts = (event.content and event.content.parts) or []
    if all(part.function_response for part in parts):
        return v1.ROLE_TOOL
    return v1.ROLE_USER if event.author == "user" else v1.ROLE_ASSISTANT


def _parts(parts: list[genai.Part], role: v1.Role.ValueType) -> list[v1.Part]:
    """The parts that a message has room for."""
    made: list[v1.Part] = []
    size = 0
    for part in parts:
        converted = _part(part, role)
        if converted is None or size + converted.ByteSize() > _LONGEST_MESSAGE:
            continue
        size += converted.ByteSize()
        made.append(converted)
    return made[:_PARTS] or [v1.Part(text="")]


def _part(part: genai.Part, role: v1.Role.ValueType) -> v1.Part | None:
    data = _dumped(part)
    signature = data.pop("thoughtSignature", "")
    if part.text is not None and set(data) == {"text"}:
        return v1.Part(text=_storable(part.text), signature=signature)
    if part.text is not None and set(data) == {"text", "thought"} and role == v1.ROLE_ASSISTANT:
        thought = v1.Reasoning(provider=_GEMINI, text=_storable(part.text), signature=signature)
        return v1.Part(reasoning=thought)
    call, response = part.function_call, part.function_response
    if call and call.name and role == v1.ROLE_ASSISTANT:
        made = v1.ToolCall(
            tool_call_id=call.id or str(uuid.uuid4()),
            name=call.name,
            arguments=json.dumps(data["functionCall"].get("args", {}), ensure_ascii=False),
        )
        if len(made.arguments) <= _LONGEST_PART and "\0" not in str(call.args):
            return v1.Part(tool_call=made, signature=signature)
    if response and response.name and role == v1.ROLE_TOOL:
        text = json.dumps(data["functionResponse"].get("response", {}), ensure_ascii=False)
        piece = v1.ToolResultPart(json=text)
        if len(text) > _LONGEST_PART or len(text.encode()) > _LONGEST_PART:
            piece = v1.ToolResultPart(text=_storable(text))
        result = v1.ToolResult(
            tool_call_id=response.id or str(uuid.uuid4()), name=response.name, content=[piece]
        )
        return v1.Part(tool_result=result)
    uri = part.file_data and part.file_data.file_uri
    if part.file_data and uri and uri.startswith(("http://", "https://")):
        kind = (part.file_data.mime_type or "").partition("/")[0]
        return v1.Part(file=v1.FileRef(type=_FILES.get(kind, v1.FILE_TYPE_DOCUMENT), url=uri))
    text = json.dumps(_dumped(part), ensure_ascii=False)
    if len(text.encode()) > _LONGEST_PART:
        return None
    return v1.Part(opaque=v1.OpaquePart(provider=_GEMINI, type=next(iter(data), "part"), json=text))


def _storable(text: str) -> str:
    """The text without what Recollect does not store, cut to its limit."""
    return text.replace("\0", "").encode()[:_LONGEST_PART].decode(errors="ignore")


def _restored(part: v1.Part) -> genai.Part:
    signature = part.signature or part.reasoning.signature
    made = _unsigned(part)
    if signature:
        with contextlib.suppress(binascii.Error):
            made.thought_signature = base64.urlsafe_b64decode(signature)
    return made


def _unsigned(part: v1.Part) -> genai.Part:
    kind = part.WhichOneof("content")
    if kind == "reasoning":
        text = part.reasoning.text or "\n".join(part.reasoning.summaries)
        return genai.Part(text=text, thought=True)
    if kind == "tool_call":
        arguments = (
            json.loads(part.tool_call.arguments) if _is_object(part.tool_call.arguments) else {}
        )
        call = genai.FunctionCall(
            id=part.tool_call.tool_call_id, name=part.tool_call.name, args=arguments
        )
        return genai.Part(function_call=call)
    if kind == "tool_result":
        result = part.tool_result
        response = genai.FunctionResponse(
            id=result.tool_call_id, name=result.name, response=_response(result)
        )
        return genai.Part(function_response=response)
    if kind == "file" and part.file.url:
        mime = next((name for name, number in _FILES.items() if number == part.file.type), "")
        return genai.Part(
            file_data=genai.FileData(file_uri=part.file.url, mime_type=mime and f"{mime}/*")
        )
    if kind == "opaque" and part.opaque.provider == _GEMINI:
        return genai.Part.model_validate_json(part.opaque.json)
    if kind == "json":
        return genai.Part(text=part.json)
    return genai.Part(text=part.text)


def _response(result: v1.ToolResult) -> dict[str, Any]:
    if len(result.content) == 1 and _is_object(result.content[0].json):
        response: dict[str, Any] = json.loads(result.content[0].json)
        return response
    text = "\n".join(piece.text or piece.json for piece in result.content)
    return {"error" if result.is_error else "output": text}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
