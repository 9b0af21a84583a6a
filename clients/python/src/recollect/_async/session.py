"""What is about one conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import grpc
import grpc.aio
from google.protobuf.field_mask_pb2 import FieldMask

from recollect import _requests, _results, types, v1
from recollect._async.pages import pages
from recollect._async.user import AsyncUser
from recollect._calls import stream_error
from recollect.errors import NotFoundError

if TYPE_CHECKING:
    from recollect._async.client import AsyncRecollect

_WATCH = "/recollect.v1.ThreadService/WatchThread"


class AsyncSession:
    """A conversation, named by its session or by its thread's id. `AsyncRecollect.session` and
    `AsyncRecollect.thread` make it.

    Every method takes `timeout`: the seconds that each of its calls may take. Default: the
    client's.
    """

    def __init__(
        self, client: AsyncRecollect, *, session: v1.SessionRef | None = None, thread_id: str = ""
    ) -> None:
        self._client = client
        self.ref = session
        """The session, for requests of the stubs. None: it is named by its thread_id."""
        self.thread_id = thread_id
        """The thread's UUID. Empty: it is named by its session."""
        self._target: dict[str, Any] = {"session": session} if session else {"thread_id": thread_id}

    def __repr__(self) -> str:
        if self.ref is None:
            return f"<Session thread_id={self.thread_id!r}>"
        ref = self.ref
        return f"<Session app={ref.app_id!r} user={ref.user_id!r} session={ref.session_key!r}>"

    @property
    def user(self) -> AsyncUser:
        """The user of the session, with the long-term memories."""
        if self.ref is None:
            raise ValueError("this session is named by a thread id: use client.user(app=…, user=…)")
        return AsyncUser(self._client, v1.UserRef(app_id=self.ref.app_id, user_id=self.ref.user_id))

    # --- what a model is given, and what is stored -------------------------------------------

    async def context(
        self,
        input: str | Sequence[v1.Part] | None = None,
        *,
        format: types.Format | Sequence[types.Format] | None = "openai",
        system: str = "",
        max_tokens: int | None = None,
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
            timeout: the seconds the call may take. Default: the client's.
        """
        request = v1.BuildContextRequest(
            **self._target,
            head_message_id=head,
            system_prompt=system,
            input=[v1.Part(text=input)] if isinstance(input, str) else input,
            input_name=input_name,
            query=query,
            max_tokens=max_tokens,
            model=model,
            policy=_requests.policy(policy),
            node_id=node,
            filter=_requests.message_filter(filter),
            method=_requests.search_method(method),
            all_branches=all_branches,
            formats=[_requests.format_number(name) for name in _requests.formats(format)],
        )
        _requests.fill(
            request,
            {
                "oversized_turn": oversized,
                "max_wait": max_wait,
                "at_least_as_fresh": at_least_as_fresh or None,
            },
        )
        response = await self._client.stubs.context.BuildContext(request, timeout=timeout)
        return _results.context(response)

    async def append(
        self,
        *messages: Any,
        user: str | None = None,
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
            user: what the user said.
            assistant: what the model answered.
            format: the API that the provider's messages are of.
            expected_head: the message that must be the thread's head, or ConflictError; empty
                for a thread without messages. Default: any.
            request_id: a UUID that makes repeating the call safe, also after a restart of your
                process; the server remembers it for 24 hours. Default: a new one, which covers
                the repetitions of this call.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = v1.AppendMessagesRequest(
            **self._target, expected_head=expected_head, request_id=request_id
        )
        _requests.append(request, messages, user, assistant, format)
        return _results.appended(
            await self._client.stubs.message.AppendMessages(request, timeout=timeout)
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
        timeout: float | None = None,
    ) -> types.RecallResult:
        """The newest messages, and the best matches with their neighbors, in conversation order.
        Where it searches, the policy's scope says: by default all threads of the user.

        Args:
            query: the text to match: at most 8,192 characters. Empty: the newest messages only.
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
            timeout: the seconds the call may take. Default: the client's.
        """
        request = v1.RecallRequest(
            **self._target,
            query=query,
            policy=_requests.policy(policy),
            filter=_requests.message_filter(filter),
            model=model,
            method=_requests.search_method(method),
            all_branches=all_branches,
        )
        if top_k is not None:
            request.policy.top_k = top_k
        _requests.fill(
            request,
            {
                "max_tokens": max_tokens,
                "max_wait": max_wait,
                "at_least_as_fresh": at_least_as_fresh or None,
            },
        )
        return _results.recall(await self._client.stubs.recall.Recall(request, timeout=timeout))

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
            timeout: the seconds the call may take. Default: the client's.
        """
        request = v1.SearchRequest(
            **self._target,
            query=query,
            top_k=top_k,
            min_score=min_score,
            filter=_requests.message_filter(filter),
            method=_requests.search_method(method),
            all_branches=all_branches,
        )
        _requests.fill(
            request,
            {
                "scope": scope,
                "max_wait": max_wait,
                "at_least_as_fresh": at_least_as_fresh or None,
            },
        )
        return _results.recall(await self._client.stubs.recall.Search(request, timeout=timeout))

    async def history(
        self,
        *,
        max_tokens: int | None = None,
        max_messages: int | None = None,
        head: str = "",
        model: str = "",
        oversized: Literal["truncate_content", "drop", "fail"] | None = None,
        timeout: float | None = None,
    ) -> types.History:
        """The newest turns of the conversation, as one would give them to a model. `messages`
        lists all of them.

        Args:
            max_tokens: the budget: 1 to 10,000,000. Default: 2,000.
            max_messages: 1 to 500. Default: 100.
            head: the last message of the conversation. Default: the thread's head.
            model: the model whose tokenizer counts, such as `gpt-4o`.
            oversized: what becomes of a newest turn that alone exceeds the budget. Default:
                `truncate_content`.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = v1.GetHistoryRequest(
            **self._target,
            head_message_id=head,
            max_tokens=max_tokens,
            max_messages=max_messages,
            model=model,
        )
        _requests.fill(request, {"oversized_turn": oversized})
        return _results.history(
            await self._client.stubs.message.GetHistory(request, timeout=timeout)
        )

    async def messages(
        self,
        *,
        order: types.Order = "ascending",
        filter: types.Filter | None = None,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Message]:
        """All messages, on all branches, by `seq`; the next page is fetched when it is needed.
        NotFoundError if the session does not exist.

        Args:
            order: `ascending` for the oldest first.
            filter: selects messages.
            page_size: the number of messages a call fetches: at most 500.
            timeout: the seconds each call may take. Default: the client's.
        """
        request = v1.ListMessagesRequest(
            **self._target, filter=_requests.message_filter(filter), page_size=page_size
        )
        _requests.fill(request, {"order": order})
        async for page in pages(self._client.stubs.message.ListMessages, request, timeout):
            for message in page.messages:
                yield _results.message(message)

    async def path(
        self, *, head: str = "", page_size: int = 100, timeout: float | None = None
    ) -> AsyncIterator[types.Message]:
        """The messages that lead to the head, newest first, to the beginning of the
        conversation; the next page is fetched when it is needed. Other branches are left out. It
        ends early where a branch starts at an erased message.

        Args:
            head: the message to start at, by its id. Default: the thread's head.
            page_size: the number of messages a call fetches: at most 500.
            timeout: the seconds each call may take. Default: the client's.
        """
        try:
            wanted = head or (await self.get(timeout=timeout)).head
        except NotFoundError:
            return
        last: v1.Message | None = None
        async for message in self.messages(
            order="descending", page_size=page_size, timeout=timeout
        ):
            proto = message.proto
            # What is deeper on the same branch comes after it, and its parent may be erased.
            if message.id == wanted or (last is not None and proto.branch == last.branch):
                last, wanted = proto, message.parent_id
                yield message

    async def message(self, message_id: str, *, timeout: float | None = None) -> types.Message:
        """One message by its id or its external id."""
        request = v1.GetMessageRequest(**self._target, message_id=message_id)
        response = await self._client.stubs.message.GetMessage(request, timeout=timeout)
        return _results.message(response.message)

    async def delete_message(self, message_id: str, *, timeout: float | None = None) -> None:
        """Erases a message, what was derived from it, and memories that nothing else supports."""
        request = v1.DeleteMessageRequest(**self._target, message_id=message_id)
        await self._client.stubs.message.DeleteMessage(request, timeout=timeout)

    # --- the thread --------------------------------------------------------------------------

    async def create(
        self,
        *,
        title: str = "",
        metadata: Mapping[str, Any] | None = None,
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
            ephemeral: True: the thread is erased when it is idle, by default for an hour.
            timeout: the seconds the call may take. Default: the client's.
        """
        if self.ref is None:
            raise ValueError("a thread is created by its session: use client.session(…)")
        request = v1.ResolveThreadRequest(
            session=self.ref,
            title=title,
            policy=_requests.policy(policy),
            ephemeral=ephemeral,
        )
        _requests.fill(request, {"metadata": metadata, "ttl": ttl})
        response = await self._client.stubs.thread.ResolveThread(request, timeout=timeout)
        return _results.thread(response.thread)

    async def get(self, *, timeout: float | None = None) -> types.ThreadInfo:
        """The thread; NotFoundError if there is none."""
        request = v1.GetThreadRequest(**self._target)
        response = await self._client.stubs.thread.GetThread(request, timeout=timeout)
        return _results.thread(response.thread)

    async def update(
        self,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        ttl: types.Duration | None = None,
        etag: str = "",
        timeout: float | None = None,
    ) -> types.ThreadInfo:
        """Changes the thread; what is None stays.

        Args:
            title: a label for display: at most 512 characters.
            metadata: all your own data from now on: at most 16 KiB as JSON.
            ttl: the lifetime from now: 1 second to 10 years.
            etag: the etag that the thread must have, or ConflictError. Empty: any.
            timeout: the seconds the call may take. Default: the client's.
        """
        changes = {"title": title, "metadata": metadata, "ttl": ttl}
        request = v1.UpdateThreadRequest(
            thread=_requests.fill(self._named(etag), changes),
            update_mask=FieldMask(
                paths=[name for name, value in changes.items() if value is not None]
            ),
        )
        response = await self._client.stubs.thread.UpdateThread(request, timeout=timeout)
        return _results.thread(response.thread)

    async def clear(self, *, timeout: float | None = None) -> int:
        """Erases all messages and what was derived from them, and keeps the thread. Returns the
        number of messages."""
        request = v1.ClearThreadRequest(**self._target)
        response = await self._client.stubs.thread.ClearThread(request, timeout=timeout)
        return response.deleted_message_count

    async def delete(self, *, timeout: float | None = None) -> int:
        """Erases the thread and everything in it. Returns the number of messages."""
        request = v1.DeleteThreadRequest(**self._target)
        response = await self._client.stubs.thread.DeleteThread(request, timeout=timeout)
        return response.deleted_message_count

    async def branches(self, *, timeout: float | None = None) -> list[types.Branch]:
        """The branches, oldest first."""
        request = v1.ListBranchesRequest(**self._target, page_size=500)
        found = []
        async for page in pages(self._client.stubs.thread.ListBranches, request, timeout):
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
        request = v1.SetHeadRequest(
            **self._target, head_message_id=message_id, expected_head=expected_head
        )
        response = await self._client.stubs.thread.SetHead(request, timeout=timeout)
        return _results.thread(response.thread)

    async def policy(
        self,
        request: types.Policy | v1.MemoryPolicy | None = None,
        *,
        timeout: float | None = None,
    ) -> types.EffectivePolicy:
        """The policy that applies to the conversation, with the fields of a request if given."""
        wanted = v1.GetEffectivePolicyRequest(**self._target, policy=_requests.policy(request))
        response = await self._client.stubs.policy.GetEffectivePolicy(wanted, timeout=timeout)
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
        thread = self._named(etag)
        thread.policy.CopyFrom(_requests.fill(v1.MemoryPolicy(), policy))
        request = v1.UpdateThreadRequest(thread=thread, update_mask=_requests.policy_mask(policy))
        response = await self._client.stubs.thread.UpdateThread(request, timeout=timeout)
        return _results.thread(response.thread)

    def _named(self, etag: str) -> v1.Thread:
        """The thread by its names, for an update."""
        if self.ref is None:
            return v1.Thread(thread_id=self.thread_id, etag=etag)
        return v1.Thread(
            app_id=self.ref.app_id,
            user_id=self.ref.user_id,
            session_key=self.ref.session_key,
            etag=etag,
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
        request = v1.WatchThreadRequest(
            **self._target, cursor=cursor, include_content=include_content
        )
        settings = self._client._connection.settings
        failures = 0
        while True:
            stream = self._client.stubs.thread.WatchThread(request)
            try:
                async for event in stream:
                    failures = 0
                    request.cursor = event.cursor
                    yield event
                return
            except grpc.RpcError as failed:
                error = stream_error(failed, settings, _WATCH)
                failures += 1
                if not error.may_resume or failures >= settings.retry.attempts:
                    raise error from failed
            finally:
                stream.cancel()
            await asyncio.sleep(settings.retry.pause(failures, error.retry_after))
