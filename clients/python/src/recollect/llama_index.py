"""Memory of LlamaIndex. It needs the extra `llama-index`.

    from recollect.llama_index import RecollectMemory

    memory = RecollectMemory("42", app="support", user="ada")
    await agent.run("My dog is called Pixel.", memory=memory)

LlamaIndex's messages are messages of the conversation, so recall, contexts and long-term memories
have them too.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, TypeAdapter
from llama_index.core.memory import BaseMemory, BaseMemoryBlock

from recollect import types, v1
from recollect._adapters import (
    both_clients,
    data_url,
    exact,
    include_files,
    include_files_async,
    keep_exact,
    quoted,
    session_key,
)
from recollect._arguments import user_id
from recollect._async.client import AsyncRecollect
from recollect._async.session import AsyncSession
from recollect._sync.client import Recollect
from recollect._sync.session import Session
from recollect.errors import NotFoundError, RecollectError

_KEPT = "llama_index_message"
_BATCH = 256
_NEWEST = 500
_LONGEST_QUERY = 8192
_ROLES = {
    MessageRole.USER: v1.ROLE_USER,
    MessageRole.ASSISTANT: v1.ROLE_ASSISTANT,
    MessageRole.CHATBOT: v1.ROLE_ASSISTANT,
    MessageRole.MODEL: v1.ROLE_ASSISTANT,
    MessageRole.SYSTEM: v1.ROLE_SYSTEM,
    MessageRole.DEVELOPER: v1.ROLE_SYSTEM,
    MessageRole.TOOL: v1.ROLE_TOOL,
    MessageRole.FUNCTION: v1.ROLE_TOOL,
}
_RESTORED_ROLES = {
    v1.ROLE_ASSISTANT: MessageRole.ASSISTANT,
    v1.ROLE_SYSTEM: MessageRole.SYSTEM,
    v1.ROLE_TOOL: MessageRole.TOOL,
}
_FILES = {
    "image": v1.FILE_TYPE_IMAGE,
    "audio": v1.FILE_TYPE_AUDIO,
    "video": v1.FILE_TYPE_VIDEO,
    "document": v1.FILE_TYPE_DOCUMENT,
}
_BLOCK: TypeAdapter[Any] = TypeAdapter(ContentBlock)


class RecollectMemory(BaseMemory):
    """A memory whose messages are those of a conversation in Recollect."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    session_id: str
    """Your id of the conversation."""
    app: str
    """The app that it belongs to."""
    user: str = ""
    """The person in it; empty for none."""
    token_limit: int | None = Field(default=None, ge=1, le=10_000_000)
    """`get` returns the newest whole turns of at most this many tokens. None: all messages."""

    _session: Session = PrivateAttr()
    _async_session: AsyncSession = PrivateAttr()

    def __init__(
        self,
        session_id: str,
        *,
        app: str,
        user: str | types.NoUser,
        token_limit: int | None = None,
        client: Recollect | None = None,
        async_client: AsyncRecollect | None = None,
        **data: Any,
    ) -> None:
        """
        Args:
            session_id: your id of the conversation: 1 to 505 characters.
            app: the app that it belongs to.
            user: the person in it: 1 to 256 characters. NO_USER: it belongs to no user.
            token_limit: `get` returns the newest whole turns of at most this many tokens: 1 to
                10,000,000. Default: all messages.
            client: the client of methods without `a`. Default: like async_client, or else from
                RECOLLECT_ADDR and RECOLLECT_API_KEY.
            async_client: the client of asynchronous methods. Default: like client.
        """
        data |= {
            "session_id": session_id,
            "app": app,
            "user": user_id(user),
            "token_limit": token_limit,
        }
        super().__init__(**data)
        both = both_clients(client, async_client)
        key = session_key(session_id)
        self._session = both[0].session(app=app, user=user, session=key)
        self._async_session = both[1].session(app=app, user=user, session=key)

    @classmethod
    def class_name(cls) -> str:
        """The name of the class."""
        return "RecollectMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> RecollectMemory:
        """A memory of the arguments of the constructor. chat_history are its first messages."""
        chat_history = kwargs.pop("chat_history", None)
        made = cls(**kwargs)
        if chat_history:
            made.put_messages(chat_history)
        return made

    @property
    def memory(self) -> Session:
        """The conversation, for recall, contexts and everything else."""
        return self._session

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The messages for the model: all, or the newest turns within token_limit."""
        if self.token_limit is None:
            return self.get_all()
        history = self._session.history(max_tokens=self.token_limit, max_messages=_NEWEST)
        return self._read(list(history))

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The messages for the model: all, or the newest turns within token_limit."""
        if self.token_limit is None:
            return await self.aget_all()
        limit = self.token_limit
        history = await self._async_session.history(max_tokens=limit, max_messages=_NEWEST)
        return await self._aread(list(history))

    def get_all(self) -> list[ChatMessage]:
        """The messages that lead to the conversation's head, oldest first."""
        return self._read(list(self._session.path())[::-1])

    async def aget_all(self) -> list[ChatMessage]:
        """The messages that lead to the conversation's head, oldest first."""
        return await self._aread([message async for message in self._async_session.path()][::-1])

    def _read(self, messages: list[types.Message]) -> list[ChatMessage]:
        include_files(messages, _KEPT, self._session._channels)
        return [_llama(message) for message in messages]

    async def _aread(self, messages: list[types.Message]) -> list[ChatMessage]:
        await include_files_async(messages, _KEPT, self._async_session._channels)
        return [_llama(message) for message in messages]

    def put(self, message: ChatMessage) -> None:
        """Stores a message at the end."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """Stores a message at the end."""
        await self.aput_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Stores messages at the end."""
        for batch in _batches(messages):
            self._session.append(*batch)

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Stores messages at the end."""
        for batch in _batches(messages):
            await self._async_session.append(*batch)

    def set(self, messages: list[ChatMessage]) -> None:
        """Deletes all messages and stores others. If one of these cannot be stored, the former
        messages stay and the error says why."""
        batches = _batches(messages)
        if not batches:
            return self.reset()
        batches[0][0].root.SetInParent()
        former: list[str] = []
        head = ""
        with contextlib.suppress(NotFoundError):
            head = self._session.get().head
            former = [message.id for message in self._session.messages()]
        stored: list[str] = []
        try:
            for batch in batches:
                stored += self._session.append(*batch).message_ids
        except BaseException:
            with contextlib.suppress(RecollectError):
                if head and stored:
                    self._session.set_head(head)
                for message_id in reversed(stored):
                    self._session.delete_message(message_id)
            raise
        for message_id in reversed(former):
            self._session.delete_message(message_id)

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Deletes all messages and stores others. If one of these cannot be stored, the former
        messages stay and the error says why."""
        batches = _batches(messages)
        if not batches:
            return await self.areset()
        batches[0][0].root.SetInParent()
        session = self._async_session
        former: list[str] = []
        head = ""
        with contextlib.suppress(NotFoundError):
            head = (await session.get()).head
            former = [message.id async for message in session.messages()]
        stored: list[str] = []
        try:
            for batch in batches:
                stored += (await session.append(*batch)).message_ids
        except BaseException:
            with contextlib.suppress(RecollectError):
                if head and stored:
                    await session.set_head(head)
                for message_id in reversed(stored):
                    await session.delete_message(message_id)
            raise
        for message_id in reversed(former):
            await session.delete_message(message_id)

    def reset(self) -> None:
        """Deletes all messages."""
        try:
            self._session.clear()
        except NotFoundError:
            pass

    async def areset(self) -> None:
        """Deletes all messages."""
        try:
            await self._async_session.clear()
        except NotFoundError:
            pass


class RecollectMemoryBlock(BaseMemoryBlock[str]):
    """A block for LlamaIndex's own Memory: what Recollect knows about the newest message.

    Messages that leave the short-term memory are stored in the conversation. For a model, the
    block has the user's long-term memories and the messages of all the user's conversations that
    match, one a line as JSON, so that stored text cannot pass for anything else.
    """

    name: str = "recollect"
    top_k: int = Field(default=5, ge=1, le=100)
    """The maximum number of messages, and of long-term memories."""

    _session: AsyncSession = PrivateAttr()

    def __init__(
        self,
        session_id: str,
        *,
        app: str,
        user: str,
        client: AsyncRecollect | None = None,
        **data: Any,
    ) -> None:
        """
        Args:
            session_id: your id of the conversation: 1 to 505 characters.
            app: the app that it belongs to.
            user: the person in it: 1 to 256 characters.
            client: the client to use. Default: one from RECOLLECT_ADDR and RECOLLECT_API_KEY.
            data: name, description, priority, accept_short_term_memory and top_k.
        """
        super().__init__(**data)
        made = client or AsyncRecollect()
        self._session = made.session(app=app, user=user, session=session_key(session_id))

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = [message for message in messages or () if message.role == MessageRole.USER]
        query = (asked[-1].content or "").strip() if asked else ""
        if not query:
            return ""
        query = query[:_LONGEST_QUERY]
        known = await self._session.user.search_memories(query, top_k=self.top_k)
        found = await self._session.search(query, top_k=self.top_k, scope="user")
        seen = {message.content for message in messages or ()}
        said = [result.message for result in found if result.text and result.text not in seen]
        lines = [quoted({"memory": memory.text}) for memory in known]
        lines += [
            quoted({"speaker": message.name or message.role, "text": message.text})
            for message in said
        ]
        return "\n".join(lines)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for batch in _batches(messages):
            await self._session.append(*batch)


def _batches(messages: Sequence[ChatMessage]) -> list[list[v1.MessageInput]]:
    inputs = [_message(message) for message in messages]
    return [inputs[start : start + _BATCH] for start in range(0, len(inputs), _BATCH)]


def _message(message: ChatMessage) -> v1.MessageInput:
    """A message of LlamaIndex as one of Recollect."""
    role = _ROLES[message.role]
    parts = [part for block in message.blocks for part in _block(block, role)]
    if role == v1.ROLE_TOOL:
        pieces = [_result_piece(part) for part in parts]
        result = v1.ToolResult(
            tool_call_id=str(message.additional_kwargs.get("tool_call_id") or uuid.uuid4()),
            name=str(message.additional_kwargs.get("name") or ""),
            content=pieces,
        )
        parts = [v1.Part(tool_result=result)]
    made = v1.MessageInput(role=role, parts=parts or [v1.Part(text="")])
    return keep_exact(made, _KEPT, _dumped(message), lambda proto: _dumped(_restored(proto)))


def _dumped(message: ChatMessage) -> Any:
    return json.loads(message.model_dump_json(exclude_none=True))


def _block(block: Any, role: v1.Role.ValueType) -> list[v1.Part]:
    """What is in a block of content. Thoughts are only for the model that had them."""
    if isinstance(block, TextBlock):
        return [v1.Part(text=block.text)]
    if isinstance(block, ToolCallBlock) and role == v1.ROLE_ASSISTANT:
        arguments = block.tool_kwargs
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False, default=str)
        call = v1.ToolCall(
            tool_call_id=block.tool_call_id or str(uuid.uuid4()),
            name=block.tool_name,
            arguments=arguments,
        )
        return [v1.Part(tool_call=call)]
    if isinstance(block, ThinkingBlock) or block.block_type == "cache":
        return []
    if isinstance(block, (ImageBlock, AudioBlock, VideoBlock, DocumentBlock)):
        reference = _file(block)
        if reference is not None:
            return [v1.Part(file=reference)]
    return [v1.Part(json=block.model_dump_json(exclude_none=True))]


def _file(block: Any) -> v1.FileRef | None:
    """A reference to a file at a URL, or one with the file itself. None: it is in a local file."""
    kind = block.block_type
    mime = getattr(block, f"{kind}_mimetype", None) or ""
    if isinstance(block, AudioBlock) and block.format:
        mime = f"audio/{block.format}"
    content = block.data if isinstance(block, DocumentBlock) else getattr(block, kind)
    if isinstance(content, bytes):
        # LlamaIndex keeps files as base64.
        url = data_url(mime, content.decode())
    elif block.url:
        url = str(block.url)
    else:
        return None
    name = block.title or "" if isinstance(block, DocumentBlock) else ""
    return v1.FileRef(type=_FILES[kind], url=url, mime_type=mime, name=name)


def _result_piece(part: v1.Part) -> v1.ToolResultPart:
    kind = part.WhichOneof("content")
    if kind == "file":
        return v1.ToolResultPart(file=part.file)
    if kind == "json":
        return v1.ToolResultPart(json=part.json)
    return v1.ToolResultPart(text=part.text)


def _llama(message: types.Message) -> ChatMessage:
    """A message of Recollect as the one of LlamaIndex that it was made of."""
    kept = exact(message, _KEPT)
    return ChatMessage.model_validate(kept) if kept else _restored(message.proto)


def _restored(message: v1.Message) -> ChatMessage:
    """A message of LlamaIndex, as far as the fields of Recollect's tell."""
    parts: Sequence[v1.Part | v1.ToolResultPart] = message.parts
    additional: dict[str, Any] = {}
    if message.role == v1.ROLE_TOOL and message.parts:
        result = message.parts[0].tool_result
        parts = result.content
        additional["tool_call_id"] = result.tool_call_id
        if result.name:
            additional["name"] = result.name
    blocks = [block for part in parts if (block := _restored_block(part)) is not None]
    role = _RESTORED_ROLES.get(message.role, MessageRole.USER)
    return ChatMessage(role=role, blocks=blocks, additional_kwargs=additional)


def _restored_block(part: v1.Part | v1.ToolResultPart) -> Any:
    kind = part.WhichOneof("content")
    if kind == "text":
        return TextBlock(text=part.text)
    if kind == "json":
        try:
            return _BLOCK.validate_json(part.json)
        except ValueError:
            return TextBlock(text=part.json)
    if kind == "file" and part.file.url:
        return _restored_file(part.file)
    if kind == "tool_call" and isinstance(part, v1.Part):
        call = part.tool_call
        return ToolCallBlock(
            tool_call_id=call.tool_call_id,
            tool_name=call.name,
            tool_kwargs=_arguments(call.arguments),
        )
    return None


def _restored_file(file: v1.FileRef) -> Any:
    kind = next((name for name, number in _FILES.items() if number == file.type), "document")
    location: dict[str, Any] = {"url": file.url}
    header, separator, content = file.url.partition(";base64,")
    if separator and header.startswith("data:"):
        location = {"data" if kind == "document" else kind: content.encode()}
    if kind == "image":
        return ImageBlock(image_mimetype=file.mime_type or None, **location)
    if kind == "audio":
        return AudioBlock(format=file.mime_type.removeprefix("audio/") or None, **location)
    if kind == "video":
        return VideoBlock(video_mimetype=file.mime_type or None, **location)
    return DocumentBlock(
        document_mimetype=file.mime_type or None, title=file.name or None, **location
    )


def _arguments(text: str) -> dict[str, Any] | str:
    try:
        arguments = json.loads(text)
    except ValueError:
        return text
    return arguments if isinstance(arguments, dict) else text
