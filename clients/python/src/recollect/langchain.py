"""Chat message histories of LangChain. It needs the extra `langchain`.

    from langchain_core.messages import HumanMessage
    from recollect.langchain import RecollectChatMessageHistory

    history = RecollectChatMessageHistory("42", app="support", user="ada")
    question = HumanMessage("My dog is called Pixel.")
    answer = model.invoke([*history.messages, question])
    history.add_messages([question, answer])

RunnableWithMessageHistory takes it too; LangChain deprecates that for the persistence of LangGraph,
which `recollect.langgraph` has.

LangChain's messages are messages of the conversation, so recall, contexts and long-term memories
have them too.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import uuid
from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langchain_core.messages.tool import invalid_tool_call, tool_call

from recollect import types, v1
from recollect._adapters import (
    content_of,
    data_url,
    exact,
    include_files,
    keep_exact,
    session_key,
)
from recollect._sync.client import Recollect
from recollect.errors import NotFoundError

_KEPT = "langchain_message"
_FILES = {
    "image": v1.FILE_TYPE_IMAGE,
    "audio": v1.FILE_TYPE_AUDIO,
    "video": v1.FILE_TYPE_VIDEO,
    "file": v1.FILE_TYPE_DOCUMENT,
}
_BATCH = 256
_NEWEST = 500
_ANY_TOKENS = 10_000_000


class RecollectChatMessageHistory(BaseChatMessageHistory):
    """A history whose messages are those of a conversation in Recollect."""

    def __init__(
        self,
        session_id: str,
        *,
        app: str,
        user: str | types.NoUser,
        client: Recollect | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
    ) -> None:
        """
        Args:
            session_id: your id of the conversation: 1 to 505 characters.
            app: the app that it belongs to.
            user: the person in it: 1 to 256 characters. NO_USER: it belongs to no user.
            client: the client to use. Default: one that all histories of the process share,
                from RECOLLECT_ADDR and RECOLLECT_API_KEY.
            max_messages: `messages` has the newest turns with at most this many messages, besides
                the system messages that the conversation begins with: 1 to 500. Default: all
                messages.
            max_tokens: `messages` has the newest turns of at most this many tokens:
                1 to 10,000,000. Default: no limit.
        """
        client = client or shared_client()
        self.memory = client.session(app=app, user=user, session=session_key(session_id))
        """The conversation, for recall, contexts and everything else."""
        self._max_messages = max_messages
        self._max_tokens = max_tokens

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The messages that lead to the conversation's head, oldest first."""
        if self._max_messages is None and self._max_tokens is None:
            return self._read(list(self.memory.path())[::-1])
        history = self.memory.history(
            max_messages=self._max_messages or _NEWEST, max_tokens=self._max_tokens or _ANY_TOKENS
        )
        return self._read(list(history))

    def _read(self, messages: list[types.Message]) -> list[BaseMessage]:
        """Messages as they were added, with the files that are kept apart."""
        include_files(messages, _KEPT, self.memory._channels)
        return [_langchain(message) for message in messages]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Stores messages at the end."""
        inputs = [_message(message) for message in messages]
        for start in range(0, len(inputs), _BATCH):
            self.memory.append(*inputs[start : start + _BATCH])

    def clear(self) -> None:
        """Deletes all messages."""
        with contextlib.suppress(NotFoundError):
            self.memory.clear()


def shared_client(addr: str | None = None, api_key: str | None = None) -> Recollect:
    """A client that histories of this process share. Arguments: as in Recollect."""
    # Not that of a process that has forked into this one.
    return _client_of(os.getpid(), addr, api_key)


@functools.lru_cache(maxsize=64)
def _client_of(pid: int, addr: str | None, api_key: str | None) -> Recollect:
    return Recollect(addr, api_key=api_key)


def _message(message: BaseMessage) -> v1.MessageInput:
    """A message of LangChain as one of Recollect."""
    if isinstance(message, AIMessage):
        role, parts = v1.ROLE_ASSISTANT, _parts(message.content) + _calls(message)
    elif isinstance(message, ToolMessage):
        pieces = [_result_piece(part) for part in _parts(message.content)]
        result = v1.ToolResult(
            tool_call_id=message.tool_call_id or message.name or "tool",
            name=message.name or "",
            content=pieces,
            is_error=message.status == "error",
        )
        role, parts = v1.ROLE_TOOL, [v1.Part(tool_result=result)]
    else:
        role = v1.ROLE_SYSTEM if isinstance(message, SystemMessage) else v1.ROLE_USER
        parts = _parts(message.content)
    name = "" if isinstance(message, ToolMessage) else message.name or ""
    made = v1.MessageInput(role=role, name=name, parts=parts or [v1.Part(text="")])
    # Through JSON, so that it compares as it will be read.
    original = json.loads(json.dumps(message_to_dict(message), default=str))
    return keep_exact(made, _KEPT, original, lambda proto: message_to_dict(_restored(proto)))


def _parts(content: str | list[Any]) -> list[v1.Part]:
    if isinstance(content, str):
        return [v1.Part(text=content)] if content else []
    return [part for block in content for part in _block(block)]


def _block(block: str | dict[str, Any]) -> list[v1.Part]:
    """What is in a block of content. Calls of tools are elsewhere too."""
    if isinstance(block, str):
        return [v1.Part(text=block)]
    kind = block.get("type", "")
    if kind == "text":
        return [v1.Part(text=block["text"])]
    if kind in ("tool_use", "tool_call", "function_call"):
        return []
    if kind in ("thinking", "redacted_thinking") or kind.startswith("reasoning"):
        thought = _reasoning(kind, block)
        return [v1.Part(reasoning=thought)] if thought else []
    url = block.get("url")
    if kind == "image_url":
        image = block.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
    if kind in ("image", "image_url") and isinstance(url, str):
        return [v1.Part(file=v1.FileRef(type=v1.FILE_TYPE_IMAGE, url=url))]
    file = _inline_file(kind, block)
    if file is not None:
        return [v1.Part(file=file)]
    return [v1.Part(json=json.dumps(block, default=str, ensure_ascii=False))]


def _reasoning(kind: str, block: dict[str, Any]) -> v1.Reasoning | None:
    """A thought that its provider takes back; None for one in another form, which is only kept
    beside the message."""
    if kind in ("thinking", "redacted_thinking"):
        thought = v1.Reasoning(
            provider=v1.PROVIDER_FORMAT_ANTHROPIC_MESSAGES,
            text=_string(block, "thinking"),
            signature=_string(block, "signature"),
            encrypted_content=_string(block, "data"),
        )
        return thought if thought.signature or thought.encrypted_content else None
    summary = block.get("summary")
    if kind != "reasoning" or not isinstance(summary, list) or not _string(block, "id"):
        return None
    return v1.Reasoning(
        provider=v1.PROVIDER_FORMAT_OPENAI_RESPONSES,
        id=_string(block, "id"),
        summaries=[_string(one, "text") for one in summary if isinstance(one, dict)],
        encrypted_content=_string(block, "encrypted_content"),
    )


def _string(block: dict[str, Any], key: str) -> str:
    value = block.get(key)
    return value if isinstance(value, str) else ""


def _reasoning_block(thought: v1.Reasoning) -> dict[str, Any]:
    """A thought in its provider's form."""
    if thought.provider == v1.PROVIDER_FORMAT_OPENAI_RESPONSES:
        summary = [{"type": "summary_text", "text": text} for text in thought.summaries]
        block: dict[str, Any] = {"type": "reasoning", "id": thought.id, "summary": summary}
        if thought.encrypted_content:
            block["encrypted_content"] = thought.encrypted_content
        return block
    if thought.encrypted_content:
        return {"type": "redacted_thinking", "data": thought.encrypted_content}
    return {"type": "thinking", "thinking": thought.text, "signature": thought.signature}


_RESTORED = (v1.PROVIDER_FORMAT_ANTHROPIC_MESSAGES, v1.PROVIDER_FORMAT_OPENAI_RESPONSES)
"""The providers whose thoughts LangChain's messages have as blocks."""


def _inline_file(kind: str, block: dict[str, Any]) -> v1.FileRef | None:
    """The file in a block of LangChain's own forms, or in one of Anthropic's images."""
    if kind not in _FILES:
        return None
    source = block.get("source")
    if isinstance(source, dict):
        content, mime = source.get("data"), source.get("media_type")
        if isinstance(source.get("url"), str):
            return v1.FileRef(type=_FILES[kind], url=source["url"])
    else:
        content = block.get("base64") or (
            block.get("data") if block.get("source_type") == "base64" else None
        )
        mime = block.get("mime_type")
    if not isinstance(content, str):
        return None
    mime = mime if isinstance(mime, str) else ""
    return v1.FileRef(type=_FILES[kind], url=data_url(mime, content), mime_type=mime)


def _calls(message: AIMessage) -> list[v1.Part]:
    calls = [
        (call["id"], call["name"], json.dumps(call["args"], ensure_ascii=False))
        for call in message.tool_calls
    ]
    calls += [
        (call["id"], call["name"] or "unknown", call["args"] or "")
        for call in message.invalid_tool_calls
    ]
    return [
        v1.Part(
            tool_call=v1.ToolCall(
                tool_call_id=call_id or str(uuid.uuid4()), name=name, arguments=arguments
            )
        )
        for call_id, name, arguments in calls
    ]


def _result_piece(part: v1.Part) -> v1.ToolResultPart:
    kind = part.WhichOneof("content")
    if kind == "file":
        return v1.ToolResultPart(file=part.file)
    return (
        v1.ToolResultPart(json=part.json) if kind == "json" else v1.ToolResultPart(text=part.text)
    )


def _langchain(message: types.Message) -> BaseMessage:
    """A message of Recollect as the one of LangChain that it was made of."""
    kept = exact(message, _KEPT)
    return messages_from_dict([kept])[0] if kept else _restored(message.proto)


def _restored(message: v1.Message) -> BaseMessage:
    """A message of LangChain, as far as the fields of Recollect's tell."""
    name = message.name or None
    if message.role == v1.ROLE_TOOL and message.parts:
        result = message.parts[0].tool_result
        return ToolMessage(
            content=_content(result.content),
            tool_call_id=result.tool_call_id,
            name=result.name or None,
            status="error" if result.is_error else "success",
        )
    content = _content(message.parts)
    if message.role == v1.ROLE_ASSISTANT:
        calls = [part.tool_call for part in message.parts if part.HasField("tool_call")]
        parsed = [(call, _arguments(call.arguments)) for call in calls]
        return AIMessage(
            content=content,
            name=name,
            tool_calls=[
                tool_call(name=call.name, args=arguments, id=call.tool_call_id)
                for call, arguments in parsed
                if arguments is not None
            ],
            invalid_tool_calls=[
                invalid_tool_call(name=call.name, args=call.arguments, id=call.tool_call_id)
                for call, arguments in parsed
                if arguments is None
            ],
        )
    if message.role == v1.ROLE_SYSTEM:
        return SystemMessage(content=content, name=name)
    return HumanMessage(content=content, name=name)


def _content(parts: Sequence[v1.Part] | Sequence[v1.ToolResultPart]) -> Any:
    """One text as a string, everything else as blocks."""
    blocks: list[Any] = []
    for part in parts:
        if part.HasField("text"):
            blocks.append({"type": "text", "text": part.text})
        elif part.HasField("json"):
            blocks.append(json.loads(part.json))
        elif part.HasField("file") and part.file.url:
            blocks.append(_file_block(part.file))
        elif isinstance(part, v1.Part) and part.reasoning.provider in _RESTORED:
            blocks.append(_reasoning_block(part.reasoning))
    if all(isinstance(block, dict) and block.get("type") == "text" for block in blocks):
        if len(blocks) <= 1:
            return blocks[0]["text"] if blocks else ""
    return blocks


def _file_block(file: v1.FileRef) -> dict[str, Any]:
    kind = next((kind for kind, other in _FILES.items() if other == file.type), "file")
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": file.url}}
    content = content_of(file)
    block = {"type": kind, "base64": content} if content else {"type": kind, "url": file.url}
    return {**block, "mime_type": file.mime_type} if file.mime_type else block


def _arguments(text: str) -> dict[str, Any] | None:
    try:
        arguments = json.loads(text)
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None
