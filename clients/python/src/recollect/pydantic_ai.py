"""Message histories and recall for Pydantic AI. It needs the extra `pydantic-ai`.

    from pydantic_ai import Agent
    from recollect.pydantic_ai import RecollectHistory, RecollectRecall

    history = RecollectHistory("42", app="support", user="ada")
    agent = Agent(model, capabilities=[RecollectRecall(history)])
    result = await agent.run("My dog is called Pixel.", message_history=await history.load())
    await history.save(result)

What a run adds is stored with `save`, so a run that fails stores nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    UserPromptPart,
)
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, RunContext

from recollect import types, v1
from recollect._adapters import data_url
from recollect._async.client import AsyncRecollect
from recollect._fragments import (
    Piece,
    Whole,
    checked_session_async,
    fragments,
    joined,
    recalled_async,
    store_all_async,
    whole_path_async,
)
from recollect.errors import NotFoundError

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestContext

_KEPT = "pydantic_ai_message"
_FILES = {
    "image": v1.FILE_TYPE_IMAGE,
    "audio": v1.FILE_TYPE_AUDIO,
    "video": v1.FILE_TYPE_VIDEO,
    "document": v1.FILE_TYPE_DOCUMENT,
}
_PROVIDERS = {
    "anthropic": v1.PROVIDER_FORMAT_ANTHROPIC_MESSAGES,
    "openai": v1.PROVIDER_FORMAT_OPENAI_RESPONSES,
    "google": v1.PROVIDER_FORMAT_GEMINI,
    "google-gla": v1.PROVIDER_FORMAT_GEMINI,
    "google-vertex": v1.PROVIDER_FORMAT_GEMINI,
}
_JSON = "$json"
"""Content that is not text is kept as the text that the message has of it."""


class RecollectHistory:
    """The message history of a conversation in Recollect."""

    def __init__(
        self, session_id: str, *, app: str, user: str, client: AsyncRecollect | None = None
    ) -> None:
        """
        Args:
            session_id: your id of the conversation: 1 to 505 characters.
            app: the app that it belongs to.
            user: the person in it: 1 to 256 characters. An empty one is a ValueError.
            client: the client to use. Default: one of its own, from RECOLLECT_ADDR and
                RECOLLECT_API_KEY, which `close` ends.
        """
        self._own = client is None
        self._client = client or AsyncRecollect()
        self.memory = checked_session_async(self._client, app, user, session_id)
        """The conversation, for recall, contexts and everything else."""

    async def load(self) -> list[ModelMessage]:
        """The messages that lead to the conversation's head, oldest first, for
        `message_history`."""
        return _read(await whole_path_async(self.memory))

    async def save(self, new: AgentRunResult[Any] | Sequence[ModelMessage]) -> list[str]:
        """Stores at the end what a run has added, all or nothing.

        Args:
            new: the result of a run, of which its `new_messages()` are stored, or messages.

        Returns:
            The ids of the stored messages. A message of Pydantic AI is one for each change of the
            speaker.
        """
        messages = new.new_messages() if isinstance(new, AgentRunResult) else new
        inputs = [stored for message in messages for stored in _stored(message)]
        return await store_all_async(self.memory, inputs) if inputs else []

    async def clear(self) -> None:
        """Deletes all messages."""
        try:
            await self.memory.clear()
        except NotFoundError:
            pass

    async def close(self) -> None:
        """Ends the connection, unless the client was given."""
        if self._own:
            await self._client.close()


@dataclass
class RecollectRecall(AbstractCapability[AgentDepsT]):
    """A capability that shows the model what Recollect knows about the user's request: long-term
    memories, and messages of all the user's conversations.

    Both are quoted before the request, in what the model is sent and not in the history.
    """

    history: RecollectHistory
    top_k: int = 5
    """The maximum number of messages, and of long-term memories: 1 to 100."""

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
        """One for each run, so that it recalls once for a request."""
        made = replace(self)
        made._known = {}
        return made

    def __post_init__(self) -> None:
        self._known: dict[str, str] = {}

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Adds the quotation to what is sent."""
        asked = [
            (at, text)
            for at, message in enumerate(request_context.messages)
            if isinstance(message, ModelRequest) and (text := _asked(message))
        ]
        if not asked:
            return request_context
        place, query = asked[-1]
        if query not in self._known:
            said = [text for message in request_context.messages for text in _texts(message)]
            self._known[query] = await recalled_async(self.history.memory, query, self.top_k, said)
        known = self._known[query]
        if known:
            messages = list(request_context.messages)
            request = messages[place]
            assert isinstance(request, ModelRequest)
            parts = [UserPromptPart(known), *request.parts]
            messages[place] = replace(request, parts=parts)
            request_context.messages = messages
        return request_context


def _asked(message: ModelRequest) -> str:
    """The words of the user in a request."""
    return "\n".join(
        piece
        for part in message.parts
        if isinstance(part, UserPromptPart)
        for piece in ([part.content] if isinstance(part.content, str) else part.content)
        if isinstance(piece, str)
    ).strip()


def _texts(message: ModelMessage) -> list[str]:
    return [
        piece
        for part in message.parts
        if isinstance(content := getattr(part, "content", ""), (str, list))
        for piece in ([content] if isinstance(content, str) else content)
        if isinstance(piece, str)
    ]


# --- a message of Pydantic AI as messages of Recollect ----------------------------------------


def _stored(message: ModelMessage) -> list[v1.MessageInput]:
    [dumped] = json.loads(ModelMessagesTypeAdapter.dump_json([message]))
    parts = dumped.pop("parts")
    answered = dumped["kind"] == "response"
    pieces = [_answered(part) if answered else _asked_piece(part) for part in parts]
    role = v1.ROLE_ASSISTANT if answered else v1.ROLE_USER
    return fragments(_KEPT, _set(dumped), pieces or [Piece(role, [], None)])


def _set(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that have a value: the others have None by default."""
    return {name: value for name, value in fields.items() if value is not None}


def _asked_piece(part: dict[str, Any]) -> Piece:
    """A part of a request."""
    kind, content = part["part_kind"], part.get("content")
    if kind == "system-prompt":
        return Piece(v1.ROLE_SYSTEM, [v1.Part(text=part["content"])], _set(part))
    if kind == "tool-return":
        return _returned(part)
    if kind == "retry-prompt" and part.get("tool_name"):
        text = content if isinstance(content, str) else _text(content)
        return Piece(v1.ROLE_TOOL, [_result(part, text, failed=True)], _set(part))
    if kind in ("user-prompt", "retry-prompt", "retry-feedback"):
        given = content if isinstance(content, list) else [content]
        made = [found for piece in given if (found := _user_part(piece)) is not None]
        return Piece(v1.ROLE_USER, made, _set(part))
    return Piece(v1.ROLE_USER, [], _set(part))


def _user_part(piece: Any) -> v1.Part | None:
    if isinstance(piece, str):
        return v1.Part(text=piece) if piece else None
    kind = piece.get("kind", "") if isinstance(piece, dict) else ""
    if kind == "text-content":
        return v1.Part(text=piece["content"])
    if kind == "cache-point":
        return None
    file = _file(piece)
    return v1.Part(file=file) if file else v1.Part(json=_text(piece))


def _file(piece: Any) -> v1.FileRef | None:
    """A file at a URL, or in a URL of its own."""
    if not isinstance(piece, dict):
        return None
    kind, mime = piece.get("kind", ""), piece.get("media_type") or ""
    if kind == "binary":
        # Pydantic's alphabet of base64 is that of URLs; it reads both.
        piece["data"] = piece["data"].replace("-", "+").replace("_", "/")
        url = data_url(mime, piece["data"])
        kind = mime.partition("/")[0]
    elif kind.endswith("-url"):
        url, kind = piece["url"], kind.removesuffix("-url")
    else:
        return None
    return v1.FileRef(type=_FILES.get(kind, v1.FILE_TYPE_DOCUMENT), url=url, mime_type=mime)


def _returned(part: dict[str, Any]) -> Piece:
    """The result of a tool."""
    content = part.get("content")
    failed = part.get("outcome", "success") not in ("success",)
    if isinstance(content, str):
        return Piece(v1.ROLE_TOOL, [_result(part, content, failed)], _set(part))
    text = _text(content)
    original = {**_set(part), "content": {_JSON: text}}
    return Piece(v1.ROLE_TOOL, [_result(part, text, failed)], original)


def _result(part: dict[str, Any], text: str, failed: bool) -> v1.Part:
    result = v1.ToolResult(
        tool_call_id=part["tool_call_id"], name=part["tool_name"], is_error=failed
    )
    if text:
        result.content.append(v1.ToolResultPart(text=text))
    return v1.Part(tool_result=result)


def _answered(part: dict[str, Any]) -> Piece:
    """A part of a response."""
    kind, role = part["part_kind"], v1.ROLE_ASSISTANT
    if kind == "text":
        made = [v1.Part(text=part["content"])] if part["content"] else []
        return Piece(role, made, _set(part))
    if kind == "thinking":
        provider = _PROVIDERS.get(part.get("provider_name") or "")
        if provider is None:
            return Piece(role, [], _set(part))
        thought = v1.Reasoning(provider=provider, text=part["content"])
        signature = part.get("signature") or ""
        if provider == v1.PROVIDER_FORMAT_OPENAI_RESPONSES:
            thought.id, thought.encrypted_content = part.get("id") or "", signature
            thought.text, summaries = "", [part["content"]] if part["content"] else []
            thought.summaries.extend(summaries)
        else:
            thought.signature = signature
        return Piece(role, [v1.Part(reasoning=thought)], _set(part))
    if kind == "tool-call":
        arguments, original = part.get("args"), _set(part)
        if arguments is not None and not isinstance(arguments, str):
            arguments = _text(arguments)
            original["args"] = {_JSON: arguments}
        call = v1.ToolCall(
            tool_call_id=part["tool_call_id"], name=part["tool_name"], arguments=arguments or ""
        )
        return Piece(role, [v1.Part(tool_call=call)], original)
    if kind == "file" and (file := _file(part.get("content"))):
        return Piece(role, [v1.Part(file=file)], _set(part))
    # What a provider did on its own, and what only its models read.
    return Piece(role, [], _set(part))


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- messages of Recollect as messages of Pydantic AI -----------------------------------------


def _read(messages: list[types.Message]) -> list[ModelMessage]:
    wholes = joined(messages, _KEPT, _restored)
    dumped = [
        {**of.header, "parts": [_unpacked(part) for part in of.parts if part is not None]}
        for of in wholes
    ]
    return ModelMessagesTypeAdapter.validate_python(dumped)


def _unpacked(part: dict[str, Any]) -> dict[str, Any]:
    for name in ("content", "args"):
        value = part.get(name)
        if isinstance(value, dict) and list(value) == [_JSON]:
            part = {**part, name: json.loads(value[_JSON])}
    return part


def _restored(message: v1.Message) -> Whole:
    """A message of Pydantic AI, as far as the fields of Recollect's tell."""
    if message.role == v1.ROLE_ASSISTANT:
        parts = [made for part in message.parts if (made := _restored_answer(part))]
        return Whole({"kind": "response"}, parts)
    if message.role == v1.ROLE_SYSTEM:
        texts = [part.text or part.json for part in message.parts]
        return Whole(
            {"kind": "request"}, [{"part_kind": "system-prompt", "content": "\n".join(texts)}]
        )
    if message.role == v1.ROLE_TOOL:
        results = [part.tool_result for part in message.parts]
        return Whole({"kind": "request"}, [_restored_result(result) for result in results])
    content = [_restored_piece(part) for part in message.parts]
    one = content[0] if len(content) == 1 and isinstance(content[0], str) else content
    return Whole({"kind": "request"}, [{"part_kind": "user-prompt", "content": one}])


def _restored_answer(part: v1.Part) -> dict[str, Any] | None:
    if part.HasField("tool_call"):
        call = part.tool_call
        return {
            "part_kind": "tool-call",
            "tool_name": call.name,
            "args": call.arguments,
            "tool_call_id": call.tool_call_id,
        }
    if part.HasField("text") or part.HasField("json"):
        return {"part_kind": "text", "content": part.text or part.json}
    return None


def _restored_result(result: v1.ToolResult) -> dict[str, Any]:
    return {
        "part_kind": "tool-return",
        "tool_name": result.name,
        "content": "\n".join(piece.text or piece.json for piece in result.content),
        "tool_call_id": result.tool_call_id,
        "outcome": "failed" if result.is_error else "success",
    }


def _restored_piece(part: v1.Part) -> Any:
    if not part.HasField("file") or not part.file.url:
        return part.text or part.json
    header, separator, content = part.file.url.partition(";base64,")
    if separator and header.startswith("data:"):
        mime = header.removeprefix("data:")
        return {"kind": "binary", "data": content, "media_type": part.file.mime_type or mime}
    kind = next((name for name, of in _FILES.items() if of == part.file.type), "document")
    made = {"kind": f"{kind}-url", "url": part.file.url}
    return {**made, "media_type": part.file.mime_type} if part.file.mime_type else made
