"""Sessions of the OpenAI Agents SDK. It needs the extra `openai-agents`.

    from agents import Agent, Runner
    from recollect.openai_agents import RecollectSession

    session = RecollectSession("42", app="support", user="ada")
    await Runner.run(Agent(name="Assistant"), "My dog is called Pixel.", session=session)

Each item of a run is a message of the conversation, so recall, contexts and long-term memories
have it too.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, cast

from agents.memory.session_settings import SessionSettings, resolve_session_limit

from recollect import types, v1
from recollect._adapters import exact, include_files_async, keep_exact, session_key
from recollect._async.client import AsyncRecollect
from recollect.errors import NotFoundError

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

_KEPT = "openai_agents_item"
_PROVIDER = v1.PROVIDER_FORMAT_OPENAI_RESPONSES
_ROLES = {"user": v1.ROLE_USER, "assistant": v1.ROLE_ASSISTANT}
_BATCH = 256


class RecollectSession:
    """A session whose items are the messages of a conversation in Recollect.

    What `limit` of get_items or of session_settings leaves out stays stored: ask
    `memory.recall(…)` for it.
    """

    def __init__(
        self,
        session_id: str,
        *,
        app: str,
        user: str | types.NoUser,
        client: AsyncRecollect | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        """
        Args:
            session_id: your id of the conversation: 1 to 505 characters.
            app: the app that it belongs to.
            user: the person in it: 1 to 256 characters. NO_USER: it belongs to no user.
            client: the client to use. Default: one of its own, from RECOLLECT_ADDR and
                RECOLLECT_API_KEY, which `close` ends.
            session_settings: the SDK's settings, such as the number of items a run gets.
        """
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._own = client is None
        self._client = client or AsyncRecollect()
        self.memory = self._client.session(app=app, user=user, session=session_key(session_id))
        """The conversation, for recall, contexts and everything else."""

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first: the newest `limit`, or all."""
        limit = resolve_session_limit(limit, self.session_settings)
        if limit is not None and limit <= 0:
            return []
        messages: list[types.Message] = []
        page_size = 100 if limit is None else min(limit, 500)
        async for message in self.memory.path(page_size=page_size):
            messages.append(message)
            if limit is not None and len(messages) >= limit:
                break
        return [await self._read(message) for message in reversed(messages)]

    async def _read(self, message: types.Message) -> Any:
        """A message as the item that it was made of, with the files that are kept apart."""
        await include_files_async([message], _KEPT, self._client._channels)
        return exact(message, _KEPT) or _restored(message.proto)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Stores items at the end."""
        inputs = [_message(cast(Any, item)) for item in items]
        for start in range(0, len(inputs), _BATCH):
            await self.memory.append(*inputs[start : start + _BATCH])

    async def pop_item(self) -> TResponseInputItem | None:
        """Deletes the newest item and returns it; None if no item is left. Callers that pop at the
        same time get different items."""
        while True:
            try:
                head = (await self.memory.get()).head
                if not head:
                    return None
                item = await self._read(await self.memory.message(head))
                deleted = await self.memory.delete_message(head)
            except NotFoundError as error:
                if error.reason == "MESSAGE_NOT_FOUND":
                    continue  # Another caller has deleted it: there is a new head.
                return None
            if deleted:
                return cast("TResponseInputItem", item)

    async def clear_session(self) -> None:
        """Deletes all items."""
        with contextlib.suppress(NotFoundError):
            await self.memory.clear()

    async def close(self) -> None:
        """Ends the connection, unless the client was given."""
        if self._own:
            await self._client.close()


def _message(item: dict[str, Any]) -> v1.MessageInput:
    """An item as a message."""
    role, parts = _content(item)
    made = v1.MessageInput(role=role, parts=parts)
    return keep_exact(made, _KEPT, item, _restored)


def _content(item: dict[str, Any]) -> tuple[v1.Role.ValueType, list[v1.Part]]:
    kind = item.get("type") or "message"
    if kind == "message" and "content" in item:
        role = _ROLES.get(item.get("role", "user"), v1.ROLE_SYSTEM)
        return role, _message_parts(item["content"])
    if kind == "function_call":
        call = v1.ToolCall(
            tool_call_id=item["call_id"], name=item["name"], arguments=item["arguments"]
        )
        return v1.ROLE_ASSISTANT, [v1.Part(tool_call=call)]
    if kind == "function_call_output" and isinstance(item["output"], str):
        pieces = [v1.ToolResultPart(text=item["output"])] if item["output"] else []
        result = v1.ToolResult(tool_call_id=item["call_id"], content=pieces)
        return v1.ROLE_TOOL, [v1.Part(tool_result=result)]
    if kind == "reasoning":
        reasoning = v1.Reasoning(
            provider=_PROVIDER,
            id=item.get("id") or "",
            summaries=[summary["text"] for summary in item.get("summary") or ()],
            encrypted_content=item.get("encrypted_content") or "",
        )
        return v1.ROLE_ASSISTANT, [v1.Part(reasoning=reasoning)]
    return v1.ROLE_ASSISTANT, [_opaque(kind, item)]


def _message_parts(content: Any) -> list[v1.Part]:
    if isinstance(content, str):
        return [v1.Part(text=content)]
    return [_message_part(piece) for piece in content] or [v1.Part(text="")]


def _message_part(piece: dict[str, Any]) -> v1.Part:
    kind = piece.get("type", "")
    if kind in ("input_text", "output_text"):
        return v1.Part(text=piece["text"])
    if kind == "refusal":
        return v1.Part(text=piece["refusal"])
    if kind == "input_image" and piece.get("image_url"):
        return v1.Part(file=v1.FileRef(type=v1.FILE_TYPE_IMAGE, url=piece["image_url"]))
    content = piece.get("file_data")
    if kind == "input_file" and isinstance(content, str) and content.startswith("data:"):
        name = piece.get("filename") or ""
        return v1.Part(file=v1.FileRef(type=v1.FILE_TYPE_DOCUMENT, url=content, name=name))
    return _opaque(kind or "unknown", piece)


def _opaque(kind: str, item: dict[str, Any]) -> v1.Part:
    text = json.dumps(item, ensure_ascii=False)
    return v1.Part(opaque=v1.OpaquePart(provider=_PROVIDER, type=kind, json=text))


def _restored(message: v1.Message) -> Any:
    """A message as an item, as far as its fields tell."""
    if len(message.parts) == 1:
        part = message.parts[0]
        # A user's opaque part is a piece of a message, such as a file.
        if part.HasField("opaque") and message.role == v1.ROLE_ASSISTANT:
            return json.loads(part.opaque.json)
        if part.HasField("tool_call"):
            return {
                "type": "function_call",
                "call_id": part.tool_call.tool_call_id,
                "name": part.tool_call.name,
                "arguments": part.tool_call.arguments,
            }
        if part.HasField("tool_result"):
            output = "\n".join(piece.text or piece.json for piece in part.tool_result.content)
            return {
                "type": "function_call_output",
                "call_id": part.tool_result.tool_call_id,
                "output": output,
            }
        if part.HasField("reasoning"):
            return {
                "type": "reasoning",
                "id": part.reasoning.id,
                "summary": [
                    {"type": "summary_text", "text": text} for text in part.reasoning.summaries
                ],
                "encrypted_content": part.reasoning.encrypted_content or None,
            }
        if part.HasField("text"):
            return {"role": _role(message), "content": part.text}
    pieces = [_piece(part, message.role == v1.ROLE_ASSISTANT) for part in message.parts]
    return {"role": _role(message), "content": pieces}


def _role(message: v1.Message) -> str:
    return {v1.ROLE_SYSTEM: "system", v1.ROLE_ASSISTANT: "assistant"}.get(message.role, "user")


def _piece(part: v1.Part, answered: bool) -> dict[str, Any]:
    if part.HasField("opaque"):
        piece: dict[str, Any] = json.loads(part.opaque.json)
        return piece
    if part.HasField("file") and part.file.url and part.file.type == v1.FILE_TYPE_IMAGE:
        return {"type": "input_image", "image_url": part.file.url, "detail": "auto"}
    if part.HasField("file") and part.file.url.startswith("data:"):
        return {"type": "input_file", "filename": part.file.name, "file_data": part.file.url}
    kind = "output_text" if answered else "input_text"
    return {"type": kind, "text": part.text or part.json}
