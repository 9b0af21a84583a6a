"""Session and memory services of Google's Agent Development Kit. They need the extra `adk`.

    from google.adk.runners import Runner
    from recollect.adk import RecollectMemoryService, RecollectSessionService

    runner = Runner(
        app_name="support",
        agent=agent,
        session_service=RecollectSessionService(),
        memory_service=RecollectMemoryService(),
    )

A session is a conversation, and each event with content is a message of it, so recall, contexts
and long-term memories have it too.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from google.adk.errors.already_exists_error import AlreadyExistsError as SessionExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.adk.sessions.state import State
from google.genai import types as genai

from recollect import _adk_events, types, v1
from recollect._adk_state import StateStore
from recollect._async.client import AsyncRecollect
from recollect._async.pages import pages
from recollect._async.session import AsyncSession
from recollect.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from google.adk.events.event import Event

_THREAD = "thread:"
_LONGEST_ID = 256
_LONGEST_QUERY = 8192
_KNOWN_THREADS = 10_000
_NO_SESSION = "adk:events"


class _Service:
    def __init__(self, client: AsyncRecollect | None) -> None:
        self._own = client is None
        self._client = client or AsyncRecollect()

    def conversation(self, *, app_name: str, user_id: str, session_id: str) -> AsyncSession:
        """The conversation of a session, for recall, contexts and everything else."""
        return self._client.session(app=app_name, user=user_id, session=_THREAD + session_id)

    async def close(self) -> None:
        """Ends the connection, unless the client was given."""
        if self._own:
            await self._client.close()


class RecollectSessionService(_Service, BaseSessionService):
    """Sessions whose events are stored in Recollect.

    The session `42` is the conversation with the session key `thread:42`. State has the
    scopes of ADK: `app:` for all users of an app, `user:` for all sessions of a user, `temp:`
    for the session object alone, everything else for the session. A value is JSON of at most
    1 MiB. Of concurrent events that change the same value, the last counts. An event is stored
    before its changes of state.
    """

    def __init__(self, client: AsyncRecollect | None = None) -> None:
        """
        Args:
            client: the client to use. Default: one of its own, from RECOLLECT_ADDR and
                RECOLLECT_API_KEY, which `close` ends.
        """
        super().__init__(client)
        self._state = StateStore(self._client)
        # UUIDs of threads, so that an append does not create a deleted session again.
        self._threads: dict[tuple[str, str, str], str] = {}

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Creates a session.

        Args:
            app_name: the app: 1 to 128 characters.
            user_id: the user: at most 256 characters.
            state: the first values of the state, with prefixes.
            session_id: your id: at most 256 bytes. Default: a new UUID. AlreadyExistsError if
                the user has a session with it.
        """
        session_id = (session_id or "").strip() or str(uuid.uuid4())
        if len(session_id.encode()) > _LONGEST_ID:
            raise ValueError(f"session_id must have at most {_LONGEST_ID} bytes")
        ref = v1.SessionRef(app_id=app_name, user_id=user_id, session_key=_THREAD + session_id)
        try:
            created = await self._client.stubs.thread.CreateThread(
                v1.CreateThreadRequest(session=ref)
            )
        except AlreadyExistsError as error:
            raise SessionExistsError(f"Session with id {session_id} already exists.") from error
        self._remember((app_name, user_id, session_id), created.thread.thread_id)
        await self._state.change(app_name, user_id, session_id, _lasting(state or {}))
        return Session(
            app_name=app_name,
            user_id=user_id,
            id=session_id,
            state=await self._state.read(app_name, user_id, session_id),
            last_update_time=_seconds(created.thread.create_time.ToDatetime(timezone.utc)),
        )

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """A session with its events, oldest first. None: the session does not exist."""
        session_id = session_id.strip()
        conversation = self.conversation(app_name=app_name, user_id=user_id, session_id=session_id)
        try:
            thread = await conversation.get()
        except NotFoundError:
            return None
        config = config or GetSessionConfig()
        recent = config.num_recent_events
        # At least the newest one, for the time of the session.
        wanted = None if recent is None else max(recent, 1)
        events = await _adk_events.read(
            self._client, thread.id, limit=wanted, after=config.after_timestamp
        )
        changed = _seconds(thread.created_at)
        if events:
            changed = events[-1].timestamp
        if recent is not None:
            events = events[-recent:] if recent > 0 else []
        if config.after_timestamp is not None:
            first = len(events)
            while first and events[first - 1].timestamp >= config.after_timestamp:
                first -= 1
            events = events[first:]
        return Session(
            app_name=app_name,
            user_id=user_id,
            id=session_id,
            state=await self._state.read(app_name, user_id, session_id),
            events=events,
            last_update_time=changed,
        )

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """The sessions of a user, or of all users of an app, with their state and without
        events, by the time of the server's last change, the oldest first."""
        target = v1.Target(app=v1.AppRef(app_id=app_name))
        if user_id is not None:
            target = v1.Target(user=v1.UserRef(app_id=app_name, user_id=user_id))
        request = v1.ListThreadsRequest(target=target, page_size=500, order_by="update_time")
        threads = [
            thread
            async for page in pages(self._client.stubs.thread.ListThreads, request, None)
            for thread in page.threads
            if thread.session_key.startswith(_THREAD)
        ]
        states = self._state.reader(app_name)
        return ListSessionsResponse(
            sessions=[
                Session(
                    app_name=app_name,
                    user_id=thread.user_id,
                    id=(session_id := thread.session_key.removeprefix(_THREAD)),
                    state=await states(thread.user_id, session_id),
                    last_update_time=_seconds(thread.update_time.ToDatetime(timezone.utc)),
                )
                for thread in threads
            ]
        )

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Deletes a session with its events and its own state. A second call completes one that
        was interrupted."""
        session_id = session_id.strip()
        self._threads.pop((app_name, user_id, session_id), None)
        conversation = self.conversation(app_name=app_name, user_id=user_id, session_id=session_id)
        await conversation.delete()
        await self._state.delete_session(app_name, user_id, session_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Stores an event, and adds it to the session object. A partial event, and an equal
        event with a known id, is not stored. SessionNotFoundError if there is no such session."""
        if event.partial:
            return event
        names = (session.app_name, session.user_id, session.id)
        try:
            new = await _adk_events.append(self._client, await self._thread_id(names), event)
        except NotFoundError:
            # Deleted, or deleted and created again elsewhere.
            self._threads.pop(names, None)
            new = await _adk_events.append(self._client, await self._thread_id(names), event)
        if not new:
            return event
        event = await super().append_event(session=session, event=event)
        session.last_update_time = event.timestamp
        if event.actions and event.actions.state_delta:
            await self._state.change(*names, _lasting(event.actions.state_delta))
        return event

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """The values that all sessions of a user share, without the prefix `user:`."""
        return await self._state.of_user(app_name, user_id)

    async def _thread_id(self, names: tuple[str, str, str]) -> str:
        known = self._threads.get(names)
        if known is not None:
            return known
        app_name, user_id, session_id = names
        conversation = self.conversation(app_name=app_name, user_id=user_id, session_id=session_id)
        try:
            thread = await conversation.get()
        except NotFoundError as error:
            raise SessionNotFoundError(f"Session {session_id} not found.") from error
        self._remember(names, thread.id)
        return thread.id

    def _remember(self, names: tuple[str, str, str], thread_id: str) -> None:
        if len(self._threads) >= _KNOWN_THREADS:
            self._threads.clear()
        self._threads[names] = thread_id


class RecollectMemoryService(_Service, BaseMemoryService):
    """What a user has said and what is known about the user, over all sessions.

    A search finds messages of all conversations of the user, and the user's long-term
    memories. Sessions of a RecollectSessionService are conversations already, and need not be
    added; of other session services, add_session_to_memory stores the events that are new.
    """

    def __init__(self, client: AsyncRecollect | None = None, *, top_k: int = 10) -> None:
        """
        Args:
            client: the client to use. Default: one of its own, from RECOLLECT_ADDR and
                RECOLLECT_API_KEY, which `close` ends.
            top_k: the maximum number of messages, and of long-term memories, that a search
                returns: 1 to 100.
        """
        super().__init__(client)
        self._top_k = top_k

    async def add_session_to_memory(self, session: Session) -> None:
        """Stores the events of a session that are not stored yet."""
        conversation = self.conversation(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id
        )
        await self._add(conversation, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Stores events that are not stored yet. custom_metadata is not used."""
        if session_id is None:
            conversation = self._client.session(app=app_name, user=user_id, session=_NO_SESSION)
        else:
            conversation = self.conversation(
                app_name=app_name, user_id=user_id, session_id=session_id
            )
        await self._add(conversation, events)

    async def _add(self, conversation: AsyncSession, events: Sequence[Event]) -> None:
        events = [event for event in events if event.content and event.content.parts]
        if not events:
            return
        known: set[str] = set()
        try:
            async for message in conversation.messages(page_size=500):
                known.add(message.external_id)
        except NotFoundError:
            await conversation.create()
        thread = await conversation.get()
        for event in events:
            if event.id not in known:
                known.add(event.id)
                await _adk_events.append(self._client, thread.id, event)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Stores long-term memories of the user. Text is stored, at most 4,096 characters each;
        a memory with a known id is updated."""
        user = self._client.user(app=app_name, user=user_id)
        for memory in memories:
            metadata = {**(custom_metadata or {}), **memory.custom_metadata}
            if memory.author:
                metadata["author"] = memory.author
            await user.remember(
                _text(memory.content),
                external_id=memory.id or "",
                metadata=metadata or None,
                event_time=_time(memory.timestamp),
            )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """The long-term memories and the messages that match, the former first, each best
        first."""
        if not query.strip():
            return SearchMemoryResponse()
        query = query[:_LONGEST_QUERY]
        user = self._client.user(app=app_name, user=user_id)
        known = await user.search_memories(query, top_k=self._top_k)
        target = v1.Target(user=user.ref)
        request = v1.SearchRequest(target=target, query=query, top_k=self._top_k)
        found = await self._client.stubs.recall.Search(request)
        return SearchMemoryResponse(
            memories=[_known(memory) for memory in known]
            + [_said(match.message) for match in found.matches]
        )

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Deletes a long-term memory of the user, by the id that a search returned or that
        add_memory was given. One that does not exist, or is another user's, is left alone."""
        if not memory_id:
            return
        user = self._client.user(app=app_name, user=user_id)
        with contextlib.suppress(NotFoundError, InvalidArgumentError):
            memory = await user.get_memory(memory_id)
            if (memory.proto.app_id, memory.proto.user_id) == (app_name, user_id):
                await user.forget(memory_id)
            return
        async for memory in user.memories(page_size=500):
            if memory.external_id == memory_id:
                await user.forget(memory.id)


def _known(memory: types.Memory) -> MemoryEntry:
    return MemoryEntry(
        id=memory.id,
        content=genai.Content(role="user", parts=[genai.Part(text=memory.text)]),
        author=memory.metadata.get("author"),
        timestamp=(memory.event_time or memory.created_at).isoformat(),
        custom_metadata={"kind": "memory", "score": memory.score},
    )


def _said(message: v1.Message) -> MemoryEntry:
    content = _adk_events.content(message)
    return MemoryEntry(
        content=content,
        author=message.name or content.role,
        timestamp=message.create_time.ToDatetime(timezone.utc).isoformat(),
        custom_metadata={"kind": "message"},
    )


def _text(content: genai.Content) -> str:
    texts = [part.text for part in content.parts or () if part.text]
    if not texts:
        raise ValueError("a long-term memory needs text")
    return "\n".join(texts)


def _time(timestamp: str | None) -> datetime | None:
    if not timestamp:
        return None
    time = datetime.fromisoformat(timestamp)
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _seconds(time: datetime) -> float:
    return time.timestamp()


def _lasting(state: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored of a change of state."""
    return {key: value for key, value in state.items() if not key.startswith(State.TEMP_PREFIX)}
