"""A database for Agno. It needs the extra `agno`.

    from agno.agent import Agent
    from recollect.agno import RecollectDb

    db = RecollectDb(app="support")
    agent = Agent(model=model, db=db, add_history_to_context=True)
    agent.run("My dog is called Pixel.", user_id="ada", session_id="42")

Sessions, runs and user memories live in Recollect. Each belongs to a user, so every call needs a
user_id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agno.db.base import SessionType
from agno.db.in_memory import InMemoryDb
from agno.db.schemas import UserMemory
from agno.session import AgentSession, Session, TeamSession, WorkflowSession

from recollect import event, types, v1
from recollect._adapters import data_url, session_key
from recollect._fragments import check_user, store_all
from recollect._sync import session as sync
from recollect._sync.client import Recollect
from recollect._sync.user import User
from recollect.errors import AlreadyExistsError, NotFoundError

_SESSION = "agno_session"
_RUN = "agno_run"
_MEMORY = "agno_memory"
_NO_USER = "default"
"""What Agno's memory manager calls a user that it was not told."""
_CHUNK = 60_000
"""Characters of a run's JSON in one event, which has at most 256 KiB with all escapes."""
_MOST_EVENTS = 12
"""Events in one request, which has at most 3 MiB."""
_ROLES = {"user": v1.ROLE_USER, "assistant": v1.ROLE_ASSISTANT, "tool": v1.ROLE_TOOL}
_FILES = {
    "images": (v1.FILE_TYPE_IMAGE, "image/png"),
    "audio": (v1.FILE_TYPE_AUDIO, "audio/wav"),
    "videos": (v1.FILE_TYPE_VIDEO, "video/mp4"),
    "files": (v1.FILE_TYPE_DOCUMENT, "application/octet-stream"),
}
_KINDS = {
    AgentSession: SessionType.AGENT,
    TeamSession: SessionType.TEAM,
    WorkflowSession: SessionType.WORKFLOW,
}


class RecollectDb(InMemoryDb):
    """Agno's database: a session is a conversation of its user, and a user memory is a long-term
    memory of the user.

    The fields of a session are in the working memory's data, and its runs in the event log. Once a
    run is completed, its messages are messages of the conversation, for recall, contexts and
    memories. Metrics, evaluations and knowledge are kept in this process, as in Agno's InMemoryDb.
    """

    def __init__(self, *, app: str, client: Recollect | None = None) -> None:
        """
        Args:
            app: the app that the sessions and memories belong to.
            client: the client to use. Default: one from RECOLLECT_ADDR and RECOLLECT_API_KEY.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self._app = app
        self._client = client or Recollect()

    def memory(self, session_id: str, user_id: str | None) -> sync.Session:
        """The conversation of a session, for recall, contexts and everything else."""
        user, key = _user(user_id), session_key(session_id)
        return self._client.session(app=self._app, user=user, session=key)

    # --- sessions ----------------------------------------------------------------------------

    def upsert_session(self, session: Session, deserialize: bool | None = True) -> Any:
        """Stores the fields of a session, and of a new one its runs."""
        memory = self.memory(session.session_id, session.user_id)
        row = session.to_dict(include_runs=False)
        row["session_type"] = next(of for kind, of in _KINDS.items() if isinstance(session, kind))
        stored = self._row(memory)
        scratch = InMemoryDb()
        if stored is not None:
            scratch._sessions[session.session_id] = stored
        answer = scratch.upsert_session(session, deserialize)
        row = {**scratch._sessions[session.session_id], "runs": None}
        if stored is None:
            memory.create()
        memory.update_working_data({_SESSION: _text(row)})
        if stored is None:
            for run in session.runs or ():
                self.upsert_run(run, session.session_id, session.user_id)
        return answer

    def upsert_sessions(
        self,
        sessions: list[Session],
        deserialize: bool | None = True,
        preserve_updated_at: bool = False,
    ) -> list[Any]:
        """Stores sessions, one after the other."""
        return [self.upsert_session(session, deserialize) for session in sessions]

    def get_session(
        self,
        session_id: str,
        session_type: SessionType | None = None,
        user_id: str | None = None,
        deserialize: bool | None = True,
        runs_limit: int | None = None,
    ) -> Any:
        """A session with its runs, or the newest runs_limit of them; None for an unknown one."""
        memory = self.memory(session_id, user_id)
        scratch = InMemoryDb()
        if (row := self._row(memory)) is not None:
            scratch._sessions[session_id] = {**row, "runs": _runs(memory) or None}
        return scratch.get_session(session_id, session_type, user_id, deserialize, runs_limit)

    def get_sessions(
        self,
        session_type: SessionType | None = None,
        user_id: str | None = None,
        *args: Any,
        include_runs: bool = True,
        **filters: Any,
    ) -> Any:
        """The sessions of a user. Arguments: as in Agno."""
        scratch: Any = InMemoryDb()
        for thread in self._client.user(app=self._app, user=_user(user_id)).threads():
            memory = self._client.thread(thread.id)
            if (row := self._row(memory)) is not None:
                runs = _runs(memory) if include_runs else []
                scratch._sessions[row["session_id"]] = {**row, "runs": runs or None}
        given = (session_type, user_id, *args)
        return scratch.get_sessions(*given, include_runs=include_runs, **filters)

    def rename_session(
        self,
        session_id: str,
        session_type: SessionType | None,
        session_name: str,
        user_id: str | None = None,
        deserialize: bool | None = True,
    ) -> Any:
        """Sets the name of a session and returns it; None for an unknown one."""
        memory = self.memory(session_id, user_id)
        row = self._row(memory)
        if row is None:
            return None
        row["session_data"] = {**(row.get("session_data") or {}), "session_name": session_name}
        memory.update_working_data({_SESSION: _text(row)})
        return self.get_session(session_id, session_type, user_id, deserialize)

    def delete_session(self, session_id: str, user_id: str | None = None) -> bool:
        """Deletes a session with its runs and messages. False: it is unknown."""
        return self.memory(session_id, user_id).delete()

    def delete_sessions(self, session_ids: list[str], user_id: str | None = None) -> None:
        """Deletes sessions of a user."""
        for session_id in session_ids:
            self.delete_session(session_id, user_id)

    def _row(self, memory: sync.Session) -> dict[str, Any] | None:
        """The fields of a session, without its runs."""
        try:
            kept = memory.working_memory().data.get(_SESSION)
        except NotFoundError:
            return None
        return json.loads(kept) if isinstance(kept, str) else None

    # --- runs --------------------------------------------------------------------------------

    def upsert_run(
        self,
        run: Any,
        session_id: str,
        user_id: str | None = None,
        run_index: int | None = None,
    ) -> None:
        """Stores a run. One that is stored already is replaced."""
        memory = self.memory(session_id, user_id or getattr(run, "user_id", None))
        dumped = json.loads(_text(run if isinstance(run, dict) else run.to_dict()))
        if run_index is not None:
            dumped.setdefault("run_index", run_index)
        if dumped.get("status") == "COMPLETED" and not dumped.get("parent_run_id"):
            inputs = [made for of in dumped.get("messages") or () if (made := _message(of))]
            try:
                store_all(memory, inputs)
            except AlreadyExistsError:
                pass  # A message has changed since it was stored; the run has it as it is now.
        text = _text(dumped)
        chunks = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
        about = {"run_id": dumped["run_id"], "chunks": len(chunks)}
        events = [
            event(_RUN, {**about, "chunk": number, "text": chunk}, message_id="")
            for number, chunk in enumerate(chunks)
        ]
        for start in range(0, len(events), _MOST_EVENTS):
            memory.append_events(*events[start : start + _MOST_EVENTS])

    # --- user memories -----------------------------------------------------------------------

    def upsert_user_memory(self, memory: UserMemory, deserialize: bool | None = True) -> Any:
        """Stores a user memory."""
        dumped = memory.to_dict()
        known = self._memory_user(memory.user_id).remember(
            memory.memory,
            topics=memory.topics or (),
            external_id=memory.memory_id or "",
            metadata={_MEMORY: _text({**dumped, "memory": "", "topics": []})},
        )
        made = _user_memory(known, memory.user_id)
        return UserMemory.from_dict(made) if deserialize else made

    def upsert_memories(
        self,
        memories: list[UserMemory],
        deserialize: bool | None = True,
        preserve_updated_at: bool = False,
    ) -> list[Any]:
        """Stores user memories, one after the other."""
        return [self.upsert_user_memory(memory, deserialize) for memory in memories]

    def get_user_memory(
        self, memory_id: str, deserialize: bool | None = True, user_id: str | None = None
    ) -> Any:
        """A memory of a user; None for an unknown one."""
        return self._memories_of(user_id).get_user_memory(memory_id, deserialize, user_id)

    def get_user_memories(self, user_id: str | None = None, *args: Any, **filters: Any) -> Any:
        """The memories of a user. Arguments: as in Agno."""
        return self._memories_of(user_id).get_user_memories(user_id, *args, **filters)

    def get_all_memory_topics(self, user_id: str | None = None) -> list[str]:
        """The topics of a user's memories."""
        return self._memories_of(user_id).get_all_memory_topics(user_id=user_id)

    def get_user_memory_stats(
        self, limit: int | None = None, page: int | None = None, user_id: str | None = None
    ) -> Any:
        """The number of a user's memories."""
        return self._memories_of(user_id).get_user_memory_stats(limit, page, user_id=user_id)

    def delete_user_memory(self, memory_id: str, user_id: str | None = None) -> None:
        """Deletes a memory of a user."""
        self.delete_user_memories([memory_id], user_id)

    def delete_user_memories(self, memory_ids: list[str], user_id: str | None = None) -> None:
        """Deletes memories of a user."""
        user = self._memory_user(user_id)
        for memory in list(user.memories()):
            if _memory_id(memory) in memory_ids:
                user.forget(memory.id)

    def clear_memories(self) -> None:
        """Raises NotImplementedError: it names no user."""
        raise NotImplementedError("delete the memories of each user with delete_user_memories")

    def _memory_user(self, user_id: str | None) -> User:
        return self._client.user(app=self._app, user=_user(user_id))

    def _memories_of(self, user_id: str | None) -> InMemoryDb:
        """The memories of a user, for the filters of Agno."""
        scratch = InMemoryDb()
        known = self._memory_user(user_id).memories()
        scratch._memories = [_user_memory(memory, user_id) for memory in known]
        return scratch


def _user(user_id: str | None) -> str:
    if user_id == _NO_USER:
        raise ValueError("the run has no user: pass user_id=…")
    check_user(user_id or "")
    return user_id or ""


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _runs(memory: sync.Session) -> list[dict[str, Any]]:
    """The runs of a session, each as it was stored last, in the order of their beginnings."""
    runs: dict[str, dict[str, Any]] = {}
    chunks: dict[str, list[str]] = {}
    for stored in memory.events(types=[_RUN]):
        data = stored.data
        if data["chunk"] == 0:
            chunks[data["run_id"]] = []
        found = chunks.get(data["run_id"], [])
        found.append(data["text"])
        # One of which a chunk is missing was not stored.
        if len(found) == data["chunks"] == data["chunk"] + 1:
            run = json.loads("".join(found))
            if (before := runs.get(data["run_id"])) is not None and "run_index" in before:
                run["run_index"] = before["run_index"]
            runs[data["run_id"]] = run
    return list(runs.values())


def _memory_id(memory: types.Memory) -> str:
    return memory.proto.external_id or memory.id


def _user_memory(memory: types.Memory, user_id: str | None) -> dict[str, Any]:
    kept = memory.metadata.get(_MEMORY)
    fields = json.loads(kept) if isinstance(kept, str) else {}
    fields |= {"memory": memory.text, "memory_id": _memory_id(memory), "user_id": user_id}
    fields.setdefault("created_at", memory.proto.create_time.ToDatetime().isoformat())
    if memory.proto.topics:
        fields["topics"] = list(memory.proto.topics)
    else:
        fields.pop("topics", None)
    return fields


# --- a message of a run as a message of Recollect ---------------------------------------------


def _message(message: dict[str, Any]) -> v1.MessageInput | None:
    """None: it is of an earlier run, or an instruction of the agent."""
    role = _ROLES.get(message.get("role", ""))
    if role is None or message.get("from_history"):
        return None
    content = message.get("content")
    text = content if isinstance(content, str) else _text(content) if content else ""
    made = v1.MessageInput(role=role, external_id=str(message.get("id") or ""))
    if role == v1.ROLE_TOOL:
        result = v1.ToolResult(
            tool_call_id=str(message.get("tool_call_id") or message.get("tool_name") or "tool"),
            name=str(message.get("tool_name") or ""),
            content=[v1.ToolResultPart(text=text)] if text else [],
            is_error=bool(message.get("tool_call_error")),
        )
        made.parts.append(v1.Part(tool_result=result))
        return made
    if text:
        made.parts.append(v1.Part(text=text))
    made.parts.extend(v1.Part(file=file) for file in _files(message))
    for call in message.get("tool_calls") or () if role == v1.ROLE_ASSISTANT else ():
        function = call.get("function") or {}
        if call.get("id") and function.get("name"):
            arguments = function.get("arguments") or ""
            text = arguments if isinstance(arguments, str) else _text(arguments)
            of = {"tool_call_id": call["id"], "name": function["name"], "arguments": text}
            made.parts.append(v1.Part(tool_call=v1.ToolCall(**of)))
    return made if made.parts else None


def _files(message: dict[str, Any]) -> Iterable[v1.FileRef]:
    for name, (kind, mime) in _FILES.items():
        for media in message.get(name) or ():
            mime = media.get("mime_type") or mime
            content = media.get("content")
            url = data_url(mime, content) if isinstance(content, str) else media.get("url")
            if url:
                yield v1.FileRef(type=kind, url=url, mime_type=mime)
