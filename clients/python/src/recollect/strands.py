"""A session manager and a memory store for Strands Agents. They need the extra `strands`.

    from strands import Agent
    from strands.memory import MemoryManager
    from recollect.strands import RecollectMemoryStore, RecollectSessionManager

    agent = Agent(
        model=model,
        session_manager=RecollectSessionManager("42", app="support", user="ada"),
        memory_manager=MemoryManager([RecollectMemoryStore(app="support", user="ada")]),
    )
    agent("My dog is called Pixel.")

The messages and the state of an agent are stored when an invocation succeeds, so one that fails
stores nothing.
"""

from __future__ import annotations

import json
from typing import Any

from strands.hooks.events import AfterInvocationEvent
from strands.hooks.registry import HookRegistry
from strands.memory.types import MemoryEntry, MemoryStore, Metadata, SearchOptions
from strands.session.repository_session_manager import RepositorySessionManager
from strands.session.session_repository import SessionRepository
from strands.types.agent import LocalAgent
from strands.types.exceptions import SessionException
from strands.types.session import (
    Session,
    SessionAgent,
    SessionMessage,
    SessionType,
    decode_bytes_values,
    encode_bytes_values,
)

from recollect import v1
from recollect._adapters import content_of, data_url
from recollect._async.client import AsyncRecollect
from recollect._fragments import (
    Piece,
    Whole,
    check_user,
    checked_session,
    fragments,
    joined,
    store_all,
    whole_path,
)
from recollect._sync import session as sync
from recollect._sync.client import Recollect
from recollect.errors import NotFoundError

_KEPT = "strands_message"
_AGENT = "strands_agent"
_FILES = {
    "image": (v1.FILE_TYPE_IMAGE, "image/"),
    "audio": (v1.FILE_TYPE_AUDIO, "audio/"),
    "video": (v1.FILE_TYPE_VIDEO, "video/"),
    "document": (v1.FILE_TYPE_DOCUMENT, "application/"),
}
_JSON = "$json"
"""JSON that is kept as the text that the message has of it."""
_LONGEST_QUERY = 8192


class RecollectSessionManager(RepositorySessionManager):
    """A session manager for one agent: the session is a conversation of the user, and the agent's
    state is in its working memory."""

    def __init__(
        self, session_id: str, *, app: str, user: str, client: Recollect | None = None
    ) -> None:
        """
        Args:
            session_id: your id of the conversation: 1 to 505 characters.
            app: the app that it belongs to.
            user: the person in it: 1 to 256 characters. An empty one is a ValueError.
            client: the client to use. Default: one from RECOLLECT_ADDR and RECOLLECT_API_KEY.
        """
        check_user(user)
        self.memory = checked_session(client or Recollect(), app, user, session_id)
        """The conversation, for recall, contexts and everything else."""
        self._stored = _Repository(self.memory)
        super().__init__(session_id, self._stored)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Adds the session's callbacks. Called by the agent."""
        # Of callbacks at an invocation's end, the first one that was added runs last.
        registry.add_callback(AfterInvocationEvent, self._ended)
        super().register_hooks(registry, **kwargs)

    def initialize(self, agent: LocalAgent, **kwargs: Any) -> None:
        """Gives an agent the messages and the state of the session. Called by the agent."""
        self._stored.new_agent = SessionAgent.from_agent(agent)
        super().initialize(agent, **kwargs)

    def _ended(self, event: AfterInvocationEvent) -> None:
        if event.result is not None:
            self._stored.flush()


class _Repository(SessionRepository):
    """What a conversation has of a session. What an invocation adds waits until it succeeds."""

    def __init__(self, memory: sync.Session) -> None:
        self._memory = memory
        self._messages: dict[int, SessionMessage] = {}
        self._agent: SessionAgent | None = None
        self.new_agent: SessionAgent | None = None
        """The agent as it is without what is stored."""
        self._agent_id = ""

    def flush(self) -> None:
        """Stores what waits: first the messages, all or none, then the agent."""
        waiting = [self._messages[index] for index in sorted(self._messages)]
        inputs = [of for message in waiting for of in _stored(message)]
        if inputs:
            store_all(self._memory, inputs)
            self._messages.clear()
        if self._agent is not None:
            # As text: in a JSON merge patch, null would remove what the state has.
            self._memory.update_working_data({_AGENT: json.dumps(self._agent.to_dict())})
            self._agent = None

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        try:
            self._memory.get()
        except NotFoundError:
            return None
        return Session(session_id=session_id, session_type=SessionType.AGENT)

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        self.update_agent(session_id, session_agent)

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        if self._agent_id and agent_id != self._agent_id:
            raise SessionException("each agent needs a RecollectSessionManager with its own id")
        self._agent_id = agent_id
        kept = self._memory.working_memory().data.get(_AGENT)
        if isinstance(kept, str):
            return SessionAgent.from_dict(json.loads(kept))
        return self.new_agent  # The conversation is of another program.

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        if self._agent_id and session_agent.agent_id != self._agent_id:
            raise SessionException("each agent needs a RecollectSessionManager with its own id")
        self._agent_id = session_agent.agent_id
        self._agent = session_agent

    def create_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        self._messages[session_message.message_id] = session_message

    def update_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        """Replaces a message. Of one that is stored, what it said is deleted; the replacement is
        stored only in the place of the newest."""
        index = session_message.message_id
        if index in self._messages:
            self._messages[index] = session_message
            return
        wholes = self._wholes()
        if index >= len(wholes):
            raise SessionException("the message to redact is not stored")
        for message_id in reversed(wholes[index].ids):
            self._memory.delete_message(message_id)
        if index == len(wholes) - 1:
            store_all(self._memory, _stored(session_message))

    def read_message(
        self, session_id: str, agent_id: str, message_id: int, **kwargs: Any
    ) -> SessionMessage | None:
        found = self.list_messages(session_id, agent_id, limit=1, offset=message_id)
        return found[0] if found else None

    def list_messages(
        self,
        session_id: str,
        agent_id: str,
        limit: int | None = None,
        offset: int = 0,
        **kwargs: Any,
    ) -> list[SessionMessage]:
        made = [
            SessionMessage.from_message(_message(whole), index)
            for index, whole in enumerate(self._wholes())
        ]
        made += [self._messages[index] for index in sorted(self._messages)]
        return made[offset:] if limit is None else made[offset : offset + limit]

    def _wholes(self) -> list[Whole]:
        return joined(whole_path(self._memory), _KEPT, _restored)


class RecollectMemoryStore(MemoryStore):
    """What Recollect knows of a user, for Strands' MemoryManager: long-term memories, and messages
    of all the user's conversations. What is added is a long-term memory."""

    def __init__(
        self,
        *,
        app: str,
        user: str,
        client: AsyncRecollect | None = None,
        name: str = "recollect",
        description: str | None = "What is known about the user, and what the user has said.",
        max_search_results: int | None = None,
        writable: bool = True,
    ) -> None:
        """
        Args:
            app: the app that is searched.
            user: the person whose memories they are: 1 to 256 characters. An empty one is a
                ValueError.
            client: the client to use. Default: one from RECOLLECT_ADDR and RECOLLECT_API_KEY.
            name: the name of the store, for the tools of the manager.
            description: what the tools say of it.
            max_search_results: the maximum number of memories, and of messages, of a search that
                names none: 1 to 100. Default: 5.
            writable: whether the manager may add memories.
        """
        check_user(user)
        self.name, self.description = name, description
        self.max_search_results, self.writable = max_search_results, writable
        self.extraction = False
        self._user = (client or AsyncRecollect()).user(app=app, user=user)

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """What matches, long-term memories first. A message is a line of JSON, so that it cannot
        pass for anything else."""
        top_k = (options or {}).get("max_search_results") or self.max_search_results or 5
        query = query.strip()[:_LONGEST_QUERY]
        if not query:
            return []
        known = await self._user.search_memories(query, top_k=top_k)
        entries = [
            MemoryEntry(of.text, self.name, {"memory_id": of.id, "score": of.score}) for of in known
        ]
        for found in await self._user.recall(query, top_k=top_k):
            said = found.message
            if said.text and "match" in found.why:
                line = {"speaker": said.name or said.role, "text": said.text}
                about = {"message_id": said.id, "score": found.score}
                text = json.dumps(line, ensure_ascii=False)
                entries.append(MemoryEntry(text, self.name, about))
        return entries[:top_k]

    async def add(self, content: str, metadata: Metadata | None = None) -> str:
        """Stores a long-term memory and returns its id. A text that is known is not stored
        again."""
        return (await self._user.remember(content, metadata=metadata)).id


# --- a message of Strands as messages of Recollect --------------------------------------------


def _stored(session_message: SessionMessage) -> list[v1.MessageInput]:
    dumped = encode_bytes_values(dict(session_message.to_message()))
    content = dumped.pop("content")
    role = v1.ROLE_ASSISTANT if dumped["role"] == "assistant" else v1.ROLE_USER
    pieces = [_piece(block, role) for block in content] or [Piece(role, [], None)]
    return fragments(_KEPT, dumped, pieces)


def _piece(block: dict[str, Any], role: v1.Role.ValueType) -> Piece:
    if "text" in block:
        return Piece(role, [v1.Part(text=block["text"])] if block["text"] else [], block)
    if "toolUse" in block:
        use = block["toolUse"]
        text = json.dumps(use.get("input"), ensure_ascii=False)
        call = v1.ToolCall(tool_call_id=use["toolUseId"], name=use["name"], arguments=text)
        original = {**block, "toolUse": {**use, "input": {_JSON: text}}}
        return Piece(v1.ROLE_ASSISTANT, [v1.Part(tool_call=call)], original)
    if "toolResult" in block:
        return _result(block)
    thought = (block.get("reasoningContent") or {}).get("reasoningText") or {}
    if thought.get("signature") and role == v1.ROLE_ASSISTANT:
        reasoning = v1.Reasoning(
            provider=v1.PROVIDER_FORMAT_ANTHROPIC_MESSAGES,  # Only its models sign thoughts.
            text=thought.get("text", ""),
            signature=thought["signature"],
        )
        return Piece(role, [v1.Part(reasoning=reasoning)], block)
    file = _file(block)
    return Piece(role, [v1.Part(file=file)] if file else [], block)


def _result(block: dict[str, Any]) -> Piece:
    result = block["toolResult"]
    made = v1.ToolResult(tool_call_id=result["toolUseId"], is_error=result.get("status") == "error")
    kept = []
    for piece in result.get("content") or ():
        file = _file(piece)
        if file:
            made.content.append(v1.ToolResultPart(file=file))
        elif piece.get("text"):
            made.content.append(v1.ToolResultPart(text=piece["text"]))
        elif "json" in piece:
            text = json.dumps(piece["json"], ensure_ascii=False)
            made.content.append(v1.ToolResultPart(text=text))
            piece = {**piece, "json": {_JSON: text}}
        kept.append(piece)
    original = {**block, "toolResult": {**result, "content": kept}}
    return Piece(v1.ROLE_TOOL, [v1.Part(tool_result=made)], original)


def _file(block: dict[str, Any]) -> v1.FileRef | None:
    """A file in the message, or where it is in S3."""
    for kind, (number, mime) in _FILES.items():
        media = block.get(kind)
        if not isinstance(media, dict):
            continue
        source = media.get("source") or {}
        mime += media.get("format") or "octet-stream"
        content, place = source.get("bytes"), source.get("location") or {}
        if isinstance(content, dict):
            url = data_url(mime, content["data"])
        elif place.get("uri"):
            url = place["uri"]
        else:
            return None
        name = media.get("name") or ""
        return v1.FileRef(type=number, url=url, mime_type=mime, name=name)
    return None


# --- messages of Recollect as messages of Strands ---------------------------------------------


def _message(whole: Whole) -> Any:
    content = [_unpacked(block) for block in whole.parts if block is not None]
    return decode_bytes_values({**whole.header, "content": content})


def _unpacked(block: dict[str, Any]) -> dict[str, Any]:
    use, result = block.get("toolUse"), block.get("toolResult")
    if use:
        return {**block, "toolUse": {**use, "input": _json(use.get("input"))}}
    if result:
        content = [
            {**piece, "json": _json(piece["json"])} if "json" in piece else piece
            for piece in result.get("content") or ()
        ]
        return {**block, "toolResult": {**result, "content": content}}
    return block


def _json(value: Any) -> Any:
    packed = isinstance(value, dict) and list(value) == [_JSON]
    return json.loads(value[_JSON]) if packed else value


def _restored(message: v1.Message) -> Whole:
    """A message of Strands, as far as the fields of Recollect's tell."""
    answered = message.role == v1.ROLE_ASSISTANT
    blocks = [made for part in message.parts if (made := _restored_block(part))]
    return Whole({"role": "assistant" if answered else "user"}, blocks or [{"text": ""}])


def _restored_block(part: v1.Part) -> dict[str, Any] | None:
    kind = part.WhichOneof("content")
    if kind in ("text", "json"):
        return {"text": part.text or part.json}
    if kind == "file":
        data, name = content_of(part.file), part.file.mime_type.partition("/")[2]
        if data and part.file.type == v1.FILE_TYPE_IMAGE:
            source = {"bytes": {"__bytes_encoded__": True, "data": data}}
            return {"image": {"format": name, "source": source}}
        return {"text": part.file.url} if part.file.url else None
    if kind == "tool_call":
        call = part.tool_call
        use = {"toolUseId": call.tool_call_id, "name": call.name}
        return {"toolUse": {**use, "input": {_JSON: call.arguments or "{}"}}}
    if kind == "tool_result":
        result = part.tool_result
        status = "error" if result.is_error else "success"
        content = [{"text": of.text or of.json} for of in result.content if not of.HasField("file")]
        return {
            "toolResult": {"toolUseId": result.tool_call_id, "status": status, "content": content}
        }
    if kind == "reasoning" and part.reasoning.text:
        thought = {"text": part.reasoning.text}
        if part.reasoning.signature:
            thought["signature"] = part.reasoning.signature
        return {"reasoningContent": {"reasoningText": thought}}
    return None
