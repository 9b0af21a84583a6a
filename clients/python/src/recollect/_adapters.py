"""What the adapters of frameworks share: storing their messages so that they come back as they
were."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any

from recollect import types, v1
from recollect._async.client import AsyncRecollect
from recollect._connect import AsyncChannels, Channels
from recollect._sync.client import Recollect
from recollect.errors import invalid

_LONGEST = 12 * 1024
"""Bytes of JSON that are kept beside a message; its metadata has at most 16 KiB."""
_SHORT = 256
"""Characters of strings that are kept as they are."""
_FILE = "$recollect_file"
_TEXT = "$recollect_text"
_PREFIX = "thread:"


def session_key(session_id: str) -> str:
    """The session key of a conversation that a framework names by session_id.

    A key like `global` or `user:bob` is a conversation of all users, or of another one. A session
    id of such a form gets a prefix, so that it is a conversation of its own user. One that has
    the prefix gets it too, so that no two session ids have the same key.
    """
    if not session_id:
        raise invalid("session_id", "is empty: without one, all sessions would be the same")
    special = session_id == "global" or session_id.startswith(("user:", "agent_memory:", _PREFIX))
    return _PREFIX + session_id if special else session_id


def keep_exact(
    stored: v1.MessageInput, name: str, original: Any, restore: Callable[[v1.Message], Any]
) -> v1.MessageInput:
    """Adds the original to the message's metadata if it cannot be restored from the message. Long
    texts and files that the message has are left out of it.

    Larger originals come back as they are restored.
    """
    proto = v1.Message(role=stored.role, name=stored.name, parts=stored.parts)
    if restore(proto) != original:
        keep(stored, name, original)
    return stored


def keep(stored: v1.MessageInput, name: str, original: Any) -> bool:
    """Adds the original to the message's metadata, without long texts and files that the message
    has. False: it is too large."""
    text = json.dumps(
        _without(original, _Parts(v1.Message(parts=stored.parts))), ensure_ascii=False
    )
    fits = len(json.dumps(text)) <= _LONGEST
    if fits:
        add_metadata(stored, name, text)
    return fits


def add_metadata(stored: v1.MessageInput, name: str, value: str) -> None:
    """Adds an entry to the message's metadata."""
    metadata = json.loads(stored.metadata) if stored.metadata else {}
    stored.metadata = json.dumps({**metadata, name: value}, ensure_ascii=False)


def exact(message: types.Message, name: str) -> Any:
    """The original that was kept beside a message; None without one, and of a message that
    lacks what was left out of it, such as one that was shortened to a budget."""
    text = message.metadata.get(name)
    if not isinstance(text, str):
        return None
    try:
        return _with(json.loads(text), _Parts(message.proto))
    except _Missing:
        return None


def include_files(messages: Iterable[types.Message], name: str, channels: Channels) -> None:
    """Puts the files that the server keeps apart into the messages, as far as restoring these
    needs them."""
    for file in _stored_files(messages, name):
        request = v1.GetFileContentRequest(url=file.url)
        _include(file, channels.stubs().file.GetFileContent(request))


async def include_files_async(
    messages: Iterable[types.Message], name: str, channels: AsyncChannels
) -> None:
    """The same for asyncio."""
    for file in _stored_files(messages, name):
        request = v1.GetFileContentRequest(url=file.url)
        _include(file, await channels.stubs().file.GetFileContent(request))


def _stored_files(messages: Iterable[types.Message], name: str) -> list[v1.FileRef]:
    """The files that the server keeps apart from messages, and that restoring these needs."""
    return [
        file
        for message in messages
        if _FILE in str(message.metadata.get(name, _FILE))
        for file in _Parts(message.proto).files
        if file.url.startswith("ni:")
    ]


def _include(file: v1.FileRef, response: v1.GetFileContentResponse) -> None:
    """Puts the content into the reference."""
    content = base64.b64encode(response.content).decode()
    file.url = data_url(file.mime_type, content)


def data_url(mime: str, content: str) -> str:
    """A URL that contains a file, from its content in base64."""
    return f"data:{mime or 'application/octet-stream'};base64,{content}"


class _Missing(Exception):
    """A message lacks what a reference stands for."""


class _Parts:
    """What the parts of a message have of the original that they were made of, each at a place
    that stays when texts are shortened and files are replaced by texts."""

    def __init__(self, message: v1.Message) -> None:
        self.files: list[v1.FileRef] = []
        self.texts: list[str] = []
        for part in message.parts:
            self.files.append(part.file)
            thought = part.reasoning
            self.texts += [part.text, part.tool_call.arguments, thought.text, thought.signature]
            self.texts += [thought.encrypted_content, *thought.summaries]
            for piece in part.tool_result.content:
                self.files.append(piece.file)
                self.texts.append(piece.text)

    def reference(self, text: str) -> dict[str, Any] | None:
        """Where a long string of the original is in the message."""
        for place, file in enumerate(self.files):
            if text == file.url:
                return {_FILE: place, "form": "url"}
            if text == content_of(file):
                return {_FILE: place, "form": "base64"}
        if text in self.texts:
            return {_TEXT: self.texts.index(text), "length": len(text)}
        return None

    def referred(self, reference: dict[str, Any]) -> str | None:
        """The string that a reference stands for; None if it is not one."""
        place = reference.get(_FILE)
        if type(place) is int and place >= 0 and reference.get("form") in ("url", "base64"):
            file = self.files[place] if place < len(self.files) else v1.FileRef()
            found = file.url if reference["form"] == "url" else content_of(file)
            if not found:
                raise _Missing
            return found
        place = reference.get(_TEXT)
        if type(place) is int and place >= 0 and type(reference.get("length")) is int:
            found = self.texts[place] if place < len(self.texts) else ""
            if len(found) != reference["length"]:
                raise _Missing
            return found
        return None


def _without(value: Any, parts: _Parts) -> Any:
    """A JSON value in which long strings that the message has are replaced by their place."""
    if isinstance(value, dict):
        kept = {key: _without(inner, parts) for key, inner in value.items()}
        return {_FILE: "literal", "value": kept} if _FILE in kept or _TEXT in kept else kept
    if isinstance(value, list):
        return [_without(inner, parts) for inner in value]
    if isinstance(value, str) and len(value) > _SHORT:
        return parts.reference(value) or value
    return value


def _with(value: Any, parts: _Parts) -> Any:
    """A JSON value with what `_without` has replaced."""
    if isinstance(value, dict):
        if value.get(_FILE) == "literal":
            value = value["value"]
        else:
            referred = parts.referred(value)
            if referred is not None:
                return referred
        return {key: _with(inner, parts) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with(inner, parts) for inner in value]
    return value


def quoted(values: dict[str, str]) -> str:
    """A line of JSON that closes no tag."""
    line = json.dumps(values, ensure_ascii=False)
    return line.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def content_of(file: v1.FileRef) -> str:
    """The base64 in the URL of a file; empty for another URL."""
    head, _, content = file.url.partition(";base64,")
    return content if head.startswith("data:") else ""


def both_clients(
    client: Recollect | None, async_client: AsyncRecollect | None
) -> tuple[Recollect, AsyncRecollect]:
    """A client for threads and one for asyncio. One that is missing has the settings of the
    other, and without both they come from the environment."""
    if client is None and async_client is None:
        client = Recollect()
    if client is None:
        assert async_client is not None
        client = Recollect.__new__(Recollect)
        client._channels = Channels(async_client._channels.connection)
    if async_client is None:
        async_client = AsyncRecollect.__new__(AsyncRecollect)
        async_client._channels = AsyncChannels(client._channels.connection)
    return client, async_client
