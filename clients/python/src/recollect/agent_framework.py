"""Providers for the Microsoft Agent Framework. They need the extra `agent-framework`.

    from agent_framework import Agent
    from recollect.agent_framework import RecollectContextProvider, RecollectHistoryProvider

    history = RecollectHistoryProvider(app="support", user="ada")
    memories = RecollectContextProvider(app="support", user="ada")
    agent = Agent(client, context_providers=[memories, history])
    await agent.run("My dog is called Pixel.", session=agent.create_session(session_id="42"))

What a run is given and what it answers is stored when it ends, so a run that fails stores nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent_framework import (
    AgentSession,
    ContextProvider,
    HistoryProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)

from recollect import v1
from recollect._async.client import AsyncRecollect
from recollect._async.session import AsyncSession
from recollect._fragments import (
    Piece,
    Whole,
    check_user,
    checked_session_async,
    fragments,
    joined,
    recalled_async,
    store_all_async,
    whole_path_async,
)
from recollect.errors import NotFoundError

_KEPT = "agent_framework_message"
_ROLES = {
    "user": v1.ROLE_USER,
    "assistant": v1.ROLE_ASSISTANT,
    "system": v1.ROLE_SYSTEM,
    "developer": v1.ROLE_SYSTEM,
    "tool": v1.ROLE_TOOL,
}
_NAMES = {
    v1.ROLE_ASSISTANT: "assistant",
    v1.ROLE_SYSTEM: "system",
    v1.ROLE_TOOL: "tool",
}
_FILES = {
    "image": v1.FILE_TYPE_IMAGE,
    "audio": v1.FILE_TYPE_AUDIO,
    "video": v1.FILE_TYPE_VIDEO,
}
_JSON = "$json"
"""Arguments that are not text are kept as the text that the message has of them."""


class RecollectHistoryProvider(HistoryProvider):
    """The history of sessions: the session `42` is the conversation of the user with the session
    key `42`."""

    def __init__(
        self,
        *,
        app: str,
        user: str,
        client: AsyncRecollect | None = None,
        source_id: str = "recollect_history",
        load_messages: bool = True,
        store_inputs: bool = True,
        store_context_messages: bool = False,
        store_context_from: set[str] | None = None,
        store_outputs: bool = True,
    ) -> None:
        """
        Args:
            app: the app that the sessions belong to.
            user: the person in them: 1 to 256 characters. An empty one is a ValueError.
            client: the client to use. Default: one from RECOLLECT_ADDR and RECOLLECT_API_KEY.
            source_id: the name of the provider in the agent.
            load_messages: whether a run gets the stored messages.
            store_inputs: whether what a run is given is stored.
            store_context_messages: whether what other providers add is stored.
            store_context_from: the providers of which it is stored. Default: all.
            store_outputs: whether what a run answers is stored.
        """
        check_user(user)
        super().__init__(
            source_id,
            load_messages=load_messages,
            store_inputs=store_inputs,
            store_context_messages=store_context_messages,
            store_context_from=store_context_from,
            store_outputs=store_outputs,
        )
        self._app, self._user = app, user
        self._client = client or AsyncRecollect()

    def memory(self, session_id: str | None) -> AsyncSession:
        """The conversation of a session, for recall, contexts and everything else."""
        if not session_id:
            raise ValueError("the run has no session: pass session=agent.create_session()")
        return checked_session_async(self._client, self._app, self._user, session_id)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """The messages that lead to the conversation's head, oldest first."""
        messages = await whole_path_async(self.memory(session_id))
        return [_message(whole) for whole in joined(messages, _KEPT, _restored)]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Stores messages at the end, all or nothing."""
        inputs = [stored for message in messages for stored in _stored(message)]
        await store_all_async(self.memory(session_id), inputs)

    async def clear(self, session_id: str) -> None:
        """Deletes all messages of a session."""
        try:
            await self.memory(session_id).clear()
        except NotFoundError:
            pass


class RecollectContextProvider(ContextProvider):
    """What Recollect knows about what a run is given: long-term memories, and messages of all the
    user's sessions. Both are quoted in a message of the user before it, which is not stored."""

    def __init__(
        self,
        *,
        app: str,
        user: str,
        top_k: int = 5,
        client: AsyncRecollect | None = None,
        source_id: str = "recollect_context",
    ) -> None:
        """
        Args:
            app: the app that is searched.
            user: the person whose memories and sessions are searched: 1 to 256 characters. An
                empty one is a ValueError.
            top_k: the maximum number of messages, and of long-term memories: 1 to 100.
            client: the client to use. Default: one from RECOLLECT_ADDR and RECOLLECT_API_KEY.
            source_id: the name of the provider in the agent.
        """
        check_user(user)
        super().__init__(source_id)
        self._app, self._user, self._top_k = app, user, top_k
        self._client = client or AsyncRecollect()

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Adds the quotation."""
        query = "\n".join(of.text for of in context.input_messages if of.role == "user")
        memory = checked_session_async(self._client, self._app, self._user, session.session_id)
        seen = [of.text for of in context.get_messages(include_input=True)]
        known = await recalled_async(memory, query, self._top_k, seen)
        if known:
            context.extend_messages(self, [Message("user", [known])])


# --- a message of the framework as messages of Recollect --------------------------------------


def _stored(message: Message) -> list[v1.MessageInput]:
    dumped = json.loads(message.to_json())
    contents = dumped.pop("contents")
    role = _ROLES.get(message.role, v1.ROLE_USER)
    pieces = [_piece(content, role) for content in contents] or [Piece(role, [], None)]
    return fragments(_KEPT, dumped, pieces, message.author_name or "")


def _piece(content: dict[str, Any], role: v1.Role.ValueType) -> Piece:
    kind = content["type"]
    if kind == "text":
        made = [v1.Part(text=content["text"])] if content.get("text") else []
        return Piece(v1.ROLE_USER if role == v1.ROLE_TOOL else role, made, content)
    if kind in ("data", "uri") and content.get("uri"):
        mime = content.get("media_type") or ""
        of = _FILES.get(mime.partition("/")[0], v1.FILE_TYPE_DOCUMENT)
        file = v1.FileRef(type=of, url=content["uri"], mime_type=mime)
        role = v1.ROLE_USER if role == v1.ROLE_TOOL else role
        return Piece(role, [v1.Part(file=file)], content)
    if kind == "function_call" and content.get("call_id"):
        arguments, original = content.get("arguments"), content
        if arguments is not None and not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
            original = {**content, "arguments": {_JSON: arguments}}
        call = v1.ToolCall(
            tool_call_id=content["call_id"], name=content["name"], arguments=arguments or ""
        )
        return Piece(v1.ROLE_ASSISTANT, [v1.Part(tool_call=call)], original)
    if kind == "function_result" and content.get("call_id"):
        text = content.get("result")
        text = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        result = v1.ToolResult(
            tool_call_id=content["call_id"],
            content=[v1.ToolResultPart(text=text)] if text else [],
            is_error="exception" in content,
        )
        for item in content.get("items") or ():
            if item.get("type") in ("data", "uri") and item.get("uri"):
                mime = item.get("media_type") or ""
                of = _FILES.get(mime.partition("/")[0], v1.FILE_TYPE_DOCUMENT)
                file = v1.FileRef(type=of, url=item["uri"], mime_type=mime)
                result.content.append(v1.ToolResultPart(file=file))
        return Piece(v1.ROLE_TOOL, [v1.Part(tool_result=result)], content)
    # Thoughts, approvals, and what a provider did on its own: only the framework reads these.
    return Piece(role, [], content)


# --- messages of Recollect as messages of the framework ---------------------------------------


def _message(whole: Whole) -> Message:
    contents = [_unpacked(content) for content in whole.parts if content is not None]
    return Message.from_dict({**whole.header, "contents": contents})


def _unpacked(content: dict[str, Any]) -> dict[str, Any]:
    arguments = content.get("arguments")
    if isinstance(arguments, dict) and list(arguments) == [_JSON]:
        return {**content, "arguments": json.loads(arguments[_JSON])}
    return content


def _restored(message: v1.Message) -> Whole:
    """A message of the framework, as far as the fields of Recollect's tell."""
    header: dict[str, Any] = {"type": "message", "role": _NAMES.get(message.role, "user")}
    if message.name:
        header["author_name"] = message.name
    return Whole(header, [made for part in message.parts if (made := _restored_part(part))])


def _restored_part(part: v1.Part) -> dict[str, Any] | None:
    kind = part.WhichOneof("content")
    if kind in ("text", "json"):
        return {"type": "text", "text": part.text or part.json}
    if kind == "file" and part.file.url:
        location = "data" if part.file.url.startswith("data:") else "uri"
        return {"type": location, "uri": part.file.url, "media_type": part.file.mime_type or None}
    if kind == "tool_call":
        call = part.tool_call
        of = {"call_id": call.tool_call_id, "name": call.name, "arguments": call.arguments}
        return {"type": "function_call", **of}
    if kind == "tool_result":
        result = part.tool_result
        text = "\n".join(piece.text or piece.json for piece in result.content)
        return {"type": "function_result", "call_id": result.tool_call_id, "result": text}
    return None
