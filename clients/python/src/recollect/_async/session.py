"""What is about one conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from time import monotonic
from typing import Any, Literal

import grpc
import grpc.aio

from recollect import _requests, _results, types, v1
from recollect._arguments import make, text
from recollect._async.pages import pages
from recollect._async.user import AsyncUser
from recollect._calls import call_error
from recollect._connect import AsyncChannels
from recollect.errors import NotFoundError, invalid
from recollect.types import UNCHANGED, Unchanged

_WATCH = "/recollect.v1.ThreadService/WatchThread"


class AsyncSession:
    """A conversation, named by its session or by its thread's id. `AsyncRecollect.session` and
    `AsyncRecollect.thread` make it.

    Every method takes `timeout`: the seconds that each of its calls may take. Default: the
    client's.
    """

    def __init__(
        self, channels: AsyncChannels, *, session: v1.SessionRef | None = None, thread_id: str = ""
    ) -> None:
        self._channels = channels
        self._session = session
        self.ref = v1.ThreadRef(session=session) if session else v1.ThreadRef(thread_id=thread_id)
        """The thread, for requests of the stubs."""
        self.thread_id = thread_id
        """The thread's UUID. Empty: it is named by its session."""

    def __repr__(self) -> str:
        if self._session is None:
            return f"<AsyncSession thread_id={self.thread_id!r}>"
        names = self._session
        user = f" user={names.user_id!r}" if names.user_id else ""
        return f"<AsyncSession app={names.app_id!r}{user} session={names.session_key!r}>"

    @property
    def _target(self) -> v1.Target:
        return v1.Target(thread=self.ref)

    @property
    def user(self) -> AsyncUser:
        """The user of the session, with the long-term memories."""
        if self._session is None:
            raise invalid("session", "is named by a thread id: use client.user(app=…, user=…)")
        app, user = self._session.app_id, self._session.user_id
        return AsyncUser(self._channels, v1.UserRef(app_id=app, user_id=user))

    # --- what a model is given, and what is stored -------------------------------------------

    async def context(
        self,
        input: str | Sequence[v1.Part] | None = None,
        *,
        format: types.Format | Sequence[types.Format] | None = "openai",
        system: str = "",
        max_tokens: int | None = None,
        reserve_tokens: int | None = None,
        model: str = "",
        query: str = "",
        policy: types.Policy | v1.MemoryPolicy | None = None,
        filter: types.Filter | None = None,
        method: types.Method | None = None,
        head: str = "",
        node: str = "",
        input_name: str = "",
        all_branches: bool = False,
        oversized: Literal["truncate_content", "drop", "fail"] | None = None,
        at_least_as_fresh: str = "",
        max_wait: types.Duration | None = None,
        reference_time: datetime | None = None,
        time_zone: str = "",
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        explain: bool = False,
        timeout: float | None = None,
    ) -> types.Context:
        """Builds what the model is to be sent: system prompt, memory and input, in a token
        budget. It stores nothing. A session that does not exist has no messages.

        Args:
            input: the user's message, which comes last. None: it was appended already.
            format: the format of the model's API, `text`, several of them, or None.
            system: the system prompt, which comes first: at most 256 KiB.
            max_tokens: the budget of the whole context: 1 to 10,000,000. Default: the
                policy's context_tokens, or a part of the model's window.
            reserve_tokens: the part of the budget to keep free for what you add, such as tools,
                and for the model's answer: 0 to 10,000,000. Default: 0.
            model: the model whose tokenizer counts, such as `gpt-4o`.
            query: what memory is searched for: at most 8,192 characters. Default: the input.
            policy: what this request sets differently from the thread and the app.
            filter: selects matches.
            method: how to match. Default: `hybrid`.
            head: the last message of the conversation. Default: the thread's head.
            node: the node whose dialogue is used, in mode `node`.
            input_name: the name of the input's speaker: at most 256 characters.
            all_branches: True: also finds messages of inactive branches.
            oversized: what becomes of a newest turn that alone exceeds the budget. Default:
                `truncate_content`.
            at_least_as_fresh: the revision of a write to wait for. Empty: the newest messages
                are searched, indexed or not.
            max_wait: the longest wait for it: 0 to 30 seconds. Default: 2 seconds.
            reference_time: when the query is asked, for times in it such as "yesterday". Default:
                now.
            time_zone: where it is asked, such as `Europe/Berlin`. Default: UTC.
            as_of: the time at which the long-term memories were true. Default: now.
            known_at: the time at which they were believed. Default: now.
            explain: True: the result has the `policy` that applied and what was `omitted`.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.BuildContextRequest,
            thread=self.ref,
            head_message_id=head,
            system_prompt=system,
            input=[v1.Part(text=text("input", input))] if isinstance(input, str) else input,
            input_name=input_name,
            query=query,
            max_tokens=max_tokens,
            reserve_tokens=reserve_tokens,
            model=model,
            policy=_requests.policy(policy),
            node_id=node,
            filter=_requests.message_filter(filter),
            method=_requests.search_method(method),
            freshness=_requests.freshness(at_least_as_fresh, max_wait),
            query_time=_requests.query_time(reference_time, time_zone),
            all_branches=all_branches,
            formats=[_requests.format_number(name) for name in _requests.formats(format)],
            explain=explain,
        )
        _requests.fill(
            request, {"oversized_turn": oversized, "as_of": as_of, "known_at": known_at}
        )
        response = await self._channels.stubs().context.BuildContext(request, timeout=timeout)
        return _results.context(response)

    async def append(
        self,
        *messages: Any,
        user: str | None = None,
        said_by: str = "",
        assistant: str | None = None,
        format: types.ProviderFormat = "openai",
        expected_head: str | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> types.Appended:
        """Stores messages at the end of the conversation: all or none. A session that does not
        exist is created.

        The order is: user, messages, assistant.

        Args:
            messages: messages of `recollect.message`, or what a provider's API takes and
                returns: a message, a list, a request or a response, as a dict, as JSON text or
                as an object of the provider's package. 1 to 256 messages, at most 3 MiB.
            user: what the user said; not empty.
            said_by: the user who said it, where several take part. Facts in it belong to this
                user. Default: the session's user.
            assistant: what the model answered; not empty.
            format: the API that the provider's messages are of.
            expected_head: the message that must be the thread's head, or ConflictError; empty
                for a thread without messages. Default: any.
            request_id: a UUID that makes repeating the call safe, also after a restart of your
                process; the server remembers it for 24 hours. Default: a new one, which covers
                the repetitions of this call.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.AppendMessagesRequest,
            thread=self.ref,
            expected_head=expected_head,
            request_id=request_id,
        )
        _requests.append(request, messages, user, said_by, assistant, format)
        return _results.appended(
            await self._channels.stubs().message.AppendMessages(request, timeout=timeout)
        )

    # --- finding and reading -----------------------------------------------------------------

    async def recall(
        self,
        query: str,
        *,
        top_k: int | None = None,
        max_tokens: int | None = None,
        policy: types.Policy | v1.MemoryPolicy | None = None,
        filter: types.Filter | None = None,
        method: types.Method | None = None,
        model: str = "",
        all_branches: bool = False,
        at_least_as_fresh: str = "",
        max_wait: types.Duration | None = None,
        reference_time: datetime | None = None,
        time_zone: str = "",
        explain: bool = False,
        timeout: float | None = None,
    ) -> types.RecallResult:
        """The newest messages, and the best matches with their neighbors, in conversation order.
        Where it searches, the policy's scope says: by default all threads of the user.

        Args:
            query: the text to match: at most 8,192 characters. Empty: with a time in filter, the
                newest messages of that time match; without one, only the newest messages of the
                conversation are returned.
            top_k: the maximum number of matches: 0 to 100. Default: the policy's, 5.
            max_tokens: the budget of all messages in tokens. Default: none.
            policy: what this request sets differently from the thread and the app.
            filter: selects matches.
            method: how to match. Default: `hybrid`.
            model: the model whose tokenizer counts.
            all_branches: True: also finds messages of inactive branches.
            at_least_as_fresh: the revision of a write to wait for. Empty: the newest messages
                are searched, indexed or not.
            max_wait: the longest wait for it: 0 to 30 seconds. Default: 2 seconds.
            reference_time: when the query is asked, for times in it such as "yesterday". Default:
                now.
            time_zone: where it is asked, such as `Europe/Berlin`. Default: UTC.
            explain: True: the result has the `policy` that applied and what was `omitted`.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.RecallRequest,
            target=self._target,
            query=query,
            policy=_requests.policy(policy),
            filter=_requests.message_filter(filter),
            model=model,
            method=_requests.search_method(method),
            freshness=_requests.freshness(at_least_as_fresh, max_wait),
            query_time=_requests.query_time(reference_time, time_zone),
            all_branches=all_branches,
            explain=explain,
        )
        if top_k is not None:
            _requests.fill(request.policy, {"top_k": top_k})
        _requests.fill(request, {"max_tokens": max_tokens})
        return _results.recall(await self._channels.stubs().recall.Recall(request, timeout=timeout))

    async def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        scope: types.Scope | None = None,
        min_score: float | None = None,
        filter: types.Filter | None = None,
        method: types.Method | None = None,
        all_branches: bool = False,
        at_least_as_fresh: str = "",
        max_wait: types.Duration | None = None,
        reference_time: datetime | None = None,
        time_zone: str = "",
        timeout: float | None = None,
    ) -> types.RecallResult:
        """Only the matches, best first.

        Args:
            query: the text to match: 1 to 8,192 characters.
            top_k: the maximum number of matches: 1 to 100. Default: 10.
            scope: the threads to search. Default: the policy's, all of the user.
            min_score: excludes lower scores: 0.0 to 1.0. Default: 0.
            filter: selects matches.
            method: how to match. Default: `hybrid`.
            all_branches: True: also finds messages of inactive branches.
            at_least_as_fresh: the revision of a write to wait for. Empty: the newest messages
                are searched, indexed or not.
            max_wait: the longest wait for it: 0 to 30 seconds. Default: 2 seconds.
            reference_time: when the query is asked, for times in it such as "yesterday". Default:
                now.
            time_zone: where it is asked, such as `Europe/Berlin`. Default: UTC.
            timeout: the seconds the call may take. Default: the client's.
        """
        fresh = _requests.freshness(at_least_as_fresh, max_wait)
        asked = _requests.query_time(reference_time, time_zone)
        request = _requests.search(
            self._target, query, top_k, min_score, filter, method, asked, all_branches, fresh
        )
        _requests.fill(request, {"scope": scope})
        return _results.recall(await self._channels.stubs().recall.Search(request, timeout=timeout))

    async def history(
        self,
        *,
        max_tokens: int | None = None,
        max_messages: int | None = None,
        head: str = "",
        model: str = "",
        oversized: Literal["truncate_content", "drop", "fail"] | None = None,
        include_events: bool = False,
        format: types.Format | Sequence[types.Format] | None = None,
        timeout: float | None = None,
    ) -> types.History:
        """The newest turns of the conversation, as one would give them to a model. `messages`
        lists all of them, and `context` adds what was recalled.

        Args:
            max_tokens: the budget: 1 to 10,000,000. Default: 2,000.
            max_messages: the most messages besides the system messages that the conversation
                begins with: 1 to 500. Default: 100.
            head: the last message of the conversation. Default: the thread's head.
            model: the model whose tokenizer counts, such as `gpt-4o`.
            oversized: what becomes of a newest turn that alone exceeds the budget. Default:
                `truncate_content`.
            include_events: True: the result has the `events` that belong to its messages.
            format: the format of the model's API that the result has the messages in as well,
                `text`, or several of them. Default: none.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.GetHistoryRequest,
            thread=self.ref,
            head_message_id=head,
            max_tokens=max_tokens,
            max_messages=max_messages,
            model=model,
            include_events=include_events,
            formats=[_requests.format_number(name) for name in _requests.formats(format)],
        )
        _requests.fill(request, {"oversized_turn": oversized})
        return _results.history(
            await self._channels.stubs().message.GetHistory(request, timeout=timeout)
        )

    async def messages(
        self,
        *,
        order_by: types.MessageOrder = "seq",
        filter: types.Filter | None = None,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Message]:
        """All messages, on all branches, by `seq`; the next page is fetched when it is needed.
        NotFoundError if the session does not exist. `recollect.render` makes texts of them.

        Args:
            order_by: `seq`, or `seq desc` for the newest first.
            filter: selects messages.
            page_size: the number of messages a call fetches: at most 500.
            timeout: the seconds each call may take. Default: the client's.
        """
        request = make(
            v1.ListMessagesRequest,
            target=self._target,
            filter=_requests.message_filter(filter),
            order_by=order_by,
            page_size=page_size,
        )
        async for page in pages(self._channels.stubs().message.ListMessages, request, timeout):
            for message in page.messages:
                yield _results.message(message)

    async def path(
        self, *, head: str = "", page_size: int = 100, timeout: float | None = None
    ) -> AsyncIterator[types.Message]:
        """The messages that lead to the head, newest first, to the beginning of the
        conversation, without other branches; the next page is fetched when it is needed. All
        are of the path that the first page found, also if messages are stored or deleted
        meanwhile. A session that does not exist has none.

        Args:
            head: the message to start at, by its id or external id. Default: the thread's head.
            page_size: the number of messages a call fetches: at most 500.
            timeout: the seconds each call may take. Default: the client's.
        """
        request = make(
            v1.ListMessagesRequest,
            target=self._target,
            path=make(v1.MessagePath, head_message_id=head),
            order_by="seq desc",
            page_size=page_size,
        )
        try:
            async for page in pages(self._channels.stubs().message.ListMessages, request, timeout):
                for message in page.messages:
                    yield _results.message(message)
        except NotFoundError:
            if head:
                raise

    async def message(self, message_id: str, *, timeout: float | None = None) -> types.Message:
        """One message by its id or its external id."""
        request = make(v1.GetMessageRequest, thread=self.ref, message_id=message_id)
        response = await self._channels.stubs().message.GetMessage(request, timeout=timeout)
        return _results.message(response.message)

    async def update_message(
        self,
        message_id: str,
        metadata: types.JsonObject | None,
        *,
        timeout: float | None = None,
    ) -> types.Message:
        """Replaces the metadata of a message. Everything else of a message stays as it was
        stored.

        Args:
            message_id: the message's id or external id.
            metadata: all your own data from now on: at most 16 KiB as JSON. None clears it.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.UpdateMessageRequest,
            thread=self.ref,
            message_id=message_id,
            metadata="" if metadata is None else _requests.json_text("metadata", metadata),
        )
        response = await self._channels.stubs().message.UpdateMessage(request, timeout=timeout)
        return _results.message(response.message)

    async def delete_message(self, message_id: str, *, timeout: float | None = None) -> bool:
        """Deletes a message by its id or its external id, what was derived from it, and memories
        that nothing else supports. Returns whether the conversation had the message.
        NotFoundError if the session does not exist."""
        request = make(v1.DeleteMessageRequest, thread=self.ref, message_id=message_id)
        response = await self._channels.stubs().message.DeleteMessage(request, timeout=timeout)
        return response.deleted

    # --- events of an agent ------------------------------------------------------------------

    async def append_events(
        self, *events: v1.AgentEvent, request_id: str = "", timeout: float | None = None
    ) -> types.AppendedEvents:
        """Adds events of an agent to the conversation's event log: all or none. Events are no
        messages: no history, search, context or memory contains them. NotFoundError if the
        session does not exist.

        Args:
            events: events of `recollect.event`: 1 to 256, together at most 3 MiB.
            request_id: a UUID that makes repeating the call safe, as in `append`.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.AppendEventsRequest, thread=self.ref, events=events, request_id=request_id
        )
        response = await self._channels.stubs().event.AppendEvents(request, timeout=timeout)
        return _results.appended_events(response)

    async def events(
        self,
        *,
        types: Sequence[str] = (),
        start_time: datetime | None = None,
        end_time: datetime | None = None,
        order_by: types.EventOrder = "number",
        page_size: int = 100,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Event]:
        """The event log; the next page is fetched when it is needed. NotFoundError if the session
        does not exist.

        Args:
            types: selects events of any of these types: at most 32. Default: all.
            start_time: the earliest time of an event, included.
            end_time: the latest time of an event, excluded.
            order_by: `number`, or `number desc` for the newest first.
            page_size: the number of events a call fetches: at most 500.
            timeout: the seconds each call may take. Default: the client's.
        """
        request = make(
            v1.ListEventsRequest,
            thread=self.ref,
            types=types,
            order_by=order_by,
            page_size=page_size,
        )
        _requests.fill(request, {"start_time": start_time, "end_time": end_time})
        async for page in pages(self._channels.stubs().event.ListEvents, request, timeout):
            for event in page.events:
                yield _results.event(event)

    # --- working memory ----------------------------------------------------------------------

    async def working_memory(
        self, *, model: str = "", timeout: float | None = None
    ) -> types.WorkingMemory:
        """The working memory: the messages that are still in full, a summary of those before
        them, and data of the conversation. NotFoundError if the session does not exist.

        Args:
            model: the model that will read it, such as `gpt-4o`. Default: the one that
                `put_working_memory` named last.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(v1.GetWorkingMemoryRequest, thread=self.ref, model=model)
        response = await self._channels.stubs().working_memory.GetWorkingMemory(
            request, timeout=timeout
        )
        return _results.working_memory(response.working_memory)

    async def put_working_memory(
        self,
        *,
        messages: Sequence[types.Message | v1.MessageInput | v1.Message]
        | None
        | Unchanged = UNCHANGED,
        summary: str | None | Unchanged = UNCHANGED,
        memories: Sequence[str | types.Memory | v1.MemoryInput | v1.Memory]
        | None
        | Unchanged = UNCHANGED,
        data: types.JsonObject | None | Unchanged = UNCHANGED,
        ttl: types.Duration | None | Unchanged = UNCHANGED,
        model: str | None | Unchanged = UNCHANGED,
        policy: types.Policy | v1.MemoryPolicy | None | Unchanged = UNCHANGED,
        ttl_deletes_thread: bool = False,
        etag: str = "",
        absent: bool = False,
        timeout: float | None = None,
    ) -> types.WorkingMemory:
        """Replaces parts of the working memory: what is passed is replaced, None clears, and what
        is not passed stays. A session that does not exist is created.

        Args:
            messages: all messages of the working memory: at most 500, at most 3.5 MiB. Those of
                `working_memory` are kept, new ones of `recollect.message` are appended to the
                conversation, and those that are left out leave the working memory only.
            summary: the summary of the messages before them: at most 64 KiB.
            memories: the long-term memories to list: at most 256; a text is stored as a new one.
                Those that are left out stay in long-term memory.
            data: all data of the conversation: at most 256 KiB as JSON.
            ttl: the lifetime of the working memory from now: 1 second to 10 years. None: it does
                not expire.
            model: the model that will read it, such as `gpt-4o`; its window and tokenizer apply
                from now on.
            policy: fields of the thread's policy to set.
            ttl_deletes_thread: True: the thread expires with the working memory.
            etag: the etag that the working memory must have, or ConflictError. Empty: any.
            absent: True: the working memory must be empty, or ConflictError.
            timeout: the seconds the call may take. Default: the client's.
        """
        changes = _requests.passed(
            messages=messages,
            summary=summary,
            memories=memories,
            data=data,
            ttl=ttl,
            model=model,
            policy=policy,
        )
        request = make(
            v1.PutWorkingMemoryRequest,
            thread=self.ref,
            ttl_deletes_thread=ttl_deletes_thread,
            precondition=_requests.precondition(etag, absent=absent),
            update_mask=_requests.mask(changes),
        )
        _requests.fill(request, _requests.working_memory(changes))
        response = await self._channels.stubs().working_memory.PutWorkingMemory(
            request, timeout=timeout
        )
        return _results.working_memory(response.working_memory, response.warnings)

    async def update_working_data(
        self, patch: types.JsonObject, *, etag: str = "", timeout: float | None = None
    ) -> dict[str, Any]:
        """Changes the data of the working memory: a member that is None is removed, a dict is
        merged, any other value is replaced (RFC 7396). Returns all data.

        Args:
            patch: the changes. The result has at most 256 KiB as JSON.
            etag: the etag that the working memory must have, or ConflictError. Empty: any.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.UpdateWorkingMemoryDataRequest,
            thread=self.ref,
            patch=_requests.json_text("patch", patch),
            precondition=_requests.precondition(etag),
        )
        response = await self._channels.stubs().working_memory.UpdateWorkingMemoryData(
            request, timeout=timeout
        )
        return _results.json_object(response.data)

    async def delete_working_memory(self, *, timeout: float | None = None) -> bool:
        """Deletes the working memory: its data and its list of memories. The messages and the
        long-term memories stay. Returns whether it had any content."""
        request = make(v1.DeleteWorkingMemoryRequest, thread=self.ref)
        response = await self._channels.stubs().working_memory.DeleteWorkingMemory(
            request, timeout=timeout
        )
        return response.deleted

    # --- long-term memories ------------------------------------------------------------------

    async def extract_memories(
        self, max_wait: types.Duration | None = None, *, timeout: float | None = None
    ) -> types.Extraction:
        """Extracts long-term memories of the user from the newest messages now. Without it they
        are extracted too, when the thread has been quiet for some seconds, or when many messages
        wait. PreconditionError if the thread has no user, or its policy extracts nothing.

        Args:
            max_wait: the longest wait for the extraction: 0 to 30 seconds. Default: the call
                does not wait.
            timeout: the seconds the call may take; it does not wait for longer. Default: the
                client's.
        """
        request = make(v1.ExtractMemoriesRequest, thread=self.ref)
        _requests.fill(request, {"max_wait": max_wait})
        response = await self._channels.stubs().memory.ExtractMemories(request, timeout=timeout)
        return _results.extraction(response)

    # --- the thread --------------------------------------------------------------------------

    async def create(
        self,
        *,
        title: str = "",
        metadata: types.JsonObject | None = None,
        ttl: types.Duration | None = None,
        policy: types.Policy | v1.MemoryPolicy | None = None,
        ephemeral: bool = False,
        timeout: float | None = None,
    ) -> types.ThreadInfo:
        """Creates the thread of the session, or returns it as it is if it exists. `append`
        creates it too, without these.

        Args:
            title: a label for display: at most 512 characters.
            metadata: your own data: at most 16 KiB as JSON.
            ttl: the lifetime: 1 second to 10 years. Default: the app's, or none.
            policy: what the thread sets differently from its app.
            ephemeral: True: the thread is deleted when it is idle, by default for an hour.
            timeout: the seconds the call may take. Default: the client's.
        """
        if self._session is None:
            raise invalid("session", "is named by a thread id: only client.session(…) creates one")
        request = make(
            v1.ResolveThreadRequest,
            session=self._session,
            title=title,
            policy=_requests.policy(policy),
            ephemeral=ephemeral,
        )
        _requests.fill(request, {"metadata": metadata, "ttl": ttl})
        response = await self._channels.stubs().thread.ResolveThread(request, timeout=timeout)
        return _results.thread(response.thread)

    async def get(self, *, timeout: float | None = None) -> types.ThreadInfo:
        """The thread; NotFoundError if there is none."""
        request = make(v1.GetThreadRequest, thread=self.ref)
        response = await self._channels.stubs().thread.GetThread(request, timeout=timeout)
        return _results.thread(response.thread)

    async def update(
        self,
        *,
        title: str | None | Unchanged = UNCHANGED,
        metadata: types.JsonObject | None | Unchanged = UNCHANGED,
        ttl: types.Duration | None | Unchanged = UNCHANGED,
        etag: str = "",
        timeout: float | None = None,
    ) -> types.ThreadInfo:
        """Changes the thread: what is passed is replaced, None clears, and what is not passed
        stays.

        Args:
            title: a label for display: at most 512 characters.
            metadata: all your own data from now on: at most 16 KiB as JSON.
            ttl: the lifetime from now: 1 second to 10 years. None: it does not expire.
            etag: the etag that the thread must have, or ConflictError. Empty: any.
            timeout: the seconds the call may take. Default: the client's.
        """
        changes = _requests.passed(title=title, metadata=metadata, ttl=ttl)
        request = make(
            v1.UpdateThreadRequest,
            thread=_requests.fill(self._named(), changes),
            update_mask=_requests.mask(changes),
            precondition=_requests.precondition(etag),
        )
        response = await self._channels.stubs().thread.UpdateThread(request, timeout=timeout)
        return _results.thread(response.thread)

    async def clear(self, *, timeout: float | None = None) -> int:
        """Deletes all messages and what was derived from them, and keeps the thread. Returns the
        number of messages. NotFoundError if the session does not exist."""
        request = make(v1.ClearThreadRequest, thread=self.ref)
        response = await self._channels.stubs().thread.ClearThread(request, timeout=timeout)
        return response.deleted_message_count

    async def delete(self, *, timeout: float | None = None) -> bool:
        """Deletes the thread and everything in it. Returns whether it existed."""
        request = make(v1.DeleteThreadRequest, thread=self.ref)
        response = await self._channels.stubs().thread.DeleteThread(request, timeout=timeout)
        return response.deleted

    async def branches(self, *, timeout: float | None = None) -> list[types.Branch]:
        """The branches, oldest first."""
        request = make(v1.ListBranchesRequest, thread=self.ref, page_size=500)
        found = []
        async for page in pages(self._channels.stubs().thread.ListBranches, request, timeout):
            found += [_results.branch(branch) for branch in page.branches]
        return found

    async def set_head(
        self, message_id: str, *, expected_head: str | None = None, timeout: float | None = None
    ) -> types.ThreadInfo:
        """Makes a message the head, which the next append and every history follow.

        Args:
            message_id: the message's id or external id.
            expected_head: the message that must be the head now, or ConflictError. Default: any.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.SetHeadRequest,
            thread=self.ref,
            head_message_id=message_id,
            expected_head=expected_head,
        )
        response = await self._channels.stubs().thread.SetHead(request, timeout=timeout)
        return _results.thread(response.thread)

    async def policy(
        self,
        request: types.Policy | v1.MemoryPolicy | None = None,
        *,
        timeout: float | None = None,
    ) -> types.EffectivePolicy:
        """The policy that applies to the conversation, with the fields of a request if given."""
        wanted = make(
            v1.GetEffectivePolicyRequest, target=self._target, policy=_requests.policy(request)
        )
        response = await self._channels.stubs().policy.GetEffectivePolicy(wanted, timeout=timeout)
        return _results.effective_policy(response.effective_policy)

    async def set_policy(
        self, policy: types.Policy, *, etag: str = "", timeout: float | None = None
    ) -> types.ThreadInfo:
        """Changes fields of the thread's own policy; None clears a field, and the others stay.

        Args:
            policy: the fields to change: at least one.
            etag: the etag that the thread must have, or ConflictError. Empty: any.
            timeout: the seconds the call may take. Default: the client's.
        """
        thread = self._named()
        thread.policy.CopyFrom(_requests.fill(v1.MemoryPolicy(), policy))
        request = make(
            v1.UpdateThreadRequest,
            thread=thread,
            update_mask=_requests.policy_mask(policy),
            precondition=_requests.precondition(etag),
        )
        response = await self._channels.stubs().thread.UpdateThread(request, timeout=timeout)
        return _results.thread(response.thread)

    def _named(self) -> v1.Thread:
        """The thread by its names, for an update."""
        if self._session is None:
            return v1.Thread(thread_id=self.thread_id)
        return v1.Thread(
            app_id=self._session.app_id,
            user_id=self._session.user_id,
            session_key=self._session.session_key,
        )

    async def watch(
        self, *, cursor: str = "", include_content: bool = False
    ) -> AsyncIterator[v1.WatchThreadResponse]:
        """The thread's changes as they are committed, until it is deleted. A lost connection is
        made again and continued where it ended; some events may then come twice.

        Args:
            cursor: the cursor of the last event that was seen. Empty: new changes only.
            include_content: True: events have the content of what was made.
        """
        request = make(
            v1.WatchThreadRequest, thread=self.ref, cursor=cursor, include_content=include_content
        )
        settings = self._channels.connection.settings
        failures = 0
        while True:
            opened = monotonic()
            stream = self._channels.stubs().thread.WatchThread(request)
            try:
                async for event in stream:
                    failures = 0
                    request.cursor = event.cursor
                    yield event
                return
            except grpc.RpcError as failed:
                error = call_error(failed, settings, _WATCH)
                lasted = monotonic() - opened
                failures = settings.retry.failures(failures, error.code, lasted)
                if not error.may_resume or failures >= settings.retry.attempts:
                    raise error from failed
            finally:
                stream.cancel()
            await asyncio.sleep(settings.retry.pause(failures, error.retry_after))
