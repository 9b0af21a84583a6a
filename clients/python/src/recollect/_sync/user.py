# Written by clients/python/unasync from recollect/_async. Change that.
"""What is about a user: long-term memories, and all the user's threads."""

from __future__ import annotations

from collections.abc import Iterator, Iterable
from datetime import datetime

from recollect import _requests, _results, types, v1
from recollect._arguments import make
from recollect._sync.files import Files
from recollect._sync.pages import pages
from recollect._sync.threads import Threads
from recollect._connect import Channels
from recollect.types import UNCHANGED, Unchanged


class User(Threads):
    """A user of an app. `Recollect.user` makes it."""

    def __init__(self, channels: Channels, ref: v1.UserRef) -> None:
        self._channels = channels
        self.ref = ref
        """The user, for requests of the stubs."""

    def __repr__(self) -> str:
        user = f" user={self.ref.user_id!r}" if self.ref.user_id else ""
        return f"<User app={self.ref.app_id!r}{user}>"

    @property
    def _target(self) -> v1.Target:
        return v1.Target(user=self.ref)

    @property
    def files(self) -> Files:
        """The text files that agents keep for the user. No call is made."""
        return Files(self._channels, self.ref)

    def remember(
        self,
        text: str,
        *,
        type: types.MemoryType | None = None,
        topics: Iterable[str] = (),
        entities: Iterable[str] = (),
        event_time: datetime | None = None,
        external_id: str = "",
        source_message_ids: Iterable[str] = (),
        pinned: bool | None = None,
        metadata: types.JsonObject | None = None,
        kind: str = "",
        attributes: types.JsonObject | None = None,
        timeout: float | None = None,
    ) -> types.Memory:
        """Stores a long-term memory of the user. A text that the user has in memory already is
        not stored again: the known memory is returned.

        Args:
            text: the fact or preference: 1 to 4,096 characters.
            type: `semantic` for a lasting fact, `episodic` for an event. Default: `semantic`.
            topics: labels: at most 16, each at most 64 characters.
            entities: the people, places and things it names: at most 16, each at most 128
                characters.
            event_time: when the event happened.
            external_id: your own id, unique for the user: at most 128 characters. Storing it
                again updates the memory.
            source_message_ids: the messages that support it: at most 32.
            pinned: True: no policy deletes it. Default: as it is, or False for a new memory.
            metadata: your own data: at most 16 KiB as JSON.
            kind: the name of a kind in `memory_kinds` of the app's policy. Default: none.
            attributes: the values of the kind, which fit its schema: at most 4 KiB as JSON.
            timeout: the seconds the call may take. Default: the client's.
        """
        memory = _requests.memory_input(
            text,
            type,
            topics,
            entities,
            event_time,
            external_id,
            source_message_ids,
            pinned,
            metadata,
            kind,
            attributes,
        )
        request = make(v1.AddMemoriesRequest, user=self.ref, memories=[memory])
        response = self._channels.stubs().memory.AddMemories(request, timeout=timeout)
        return _results.memory(response.memories[0].memory)

    def memories(
        self,
        *,
        filter: types.MemoryFilter | None = None,
        page_size: int = 50,
        timeout: float | None = None,
    ) -> Iterator[types.Memory]:
        """The user's memories, newest first.

        Args:
            filter: selects memories. Default: all that are valid.
            page_size: the number of memories a call fetches: at most 500.
            timeout: the seconds each call may take. Default: the client's.
        """
        request = _requests.list_memories(self._target, filter, page_size)
        for page in pages(self._channels.stubs().memory.ListMemories, request, timeout):
            for memory in page.memories:
                yield _results.memory(memory)

    def search_memories(
        self,
        query: str,
        *,
        top_k: int | None = None,
        min_score: float | None = None,
        filter: types.MemoryFilter | None = None,
        method: types.Method | None = None,
        at_least_as_fresh: str = "",
        max_wait: types.Duration | None = None,
        timeout: float | None = None,
    ) -> list[types.Memory]:
        """The memories that match a query by meaning and by keyword, best first.

        Args:
            query: the text to match: 1 to 8,192 characters.
            top_k: the maximum number of memories: 1 to 100. Default: 10.
            min_score: excludes lower scores: 0.0 to 1.0. Default: 0.
            filter: selects memories. Default: all that are valid.
            method: how to match. Default: `hybrid`.
            at_least_as_fresh: the revision of a write to wait for. Empty: the newest memories
                are searched, indexed or not.
            max_wait: the longest wait for it: 0 to 30 seconds. Default: 2 seconds.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = _requests.search_memories(
            self._target,
            query,
            top_k,
            min_score,
            filter,
            method,
            at_least_as_fresh,
            max_wait,
        )
        response = self._channels.stubs().memory.SearchMemories(request, timeout=timeout)
        return [_results.memory(found.memory, found.score) for found in response.memories]

    def profile(
        self,
        *,
        max_tokens: int | None = None,
        model: str = "",
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        timeout: float | None = None,
    ) -> types.Profile:
        """What is known of the user, by default today, on one page of bounded size. Lines of
        `text` are stored text: give it to a model as data.

        Args:
            max_tokens: the largest size of the page: 1 to 10,000. Default: the policy's
                profile_tokens, or else 500.
            model: the model whose tokenizer counts. Default: `o200k_base`.
            as_of: the time at which the memories were true. Default: now.
            known_at: the time at which they were believed. Default: now.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(v1.GetProfileRequest, user=self.ref, max_tokens=max_tokens, model=model)
        _requests.fill(request, {"as_of": as_of, "known_at": known_at})
        response = self._channels.stubs().memory.GetProfile(request, timeout=timeout)
        return _results.profile(response)

    def get_memory(self, memory_id: str, *, timeout: float | None = None) -> types.Memory:
        """One memory by its UUID."""
        request = make(v1.GetMemoryRequest, memory_id=memory_id)
        response = self._channels.stubs().memory.GetMemory(request, timeout=timeout)
        return _results.memory(response.memory)

    def update_memory(
        self,
        memory_id: str,
        *,
        text: str | Unchanged = UNCHANGED,
        type: types.MemoryType | None | Unchanged = UNCHANGED,
        topics: Iterable[str] | None | Unchanged = UNCHANGED,
        entities: Iterable[str] | None | Unchanged = UNCHANGED,
        event_time: datetime | None | Unchanged = UNCHANGED,
        pinned: bool | None | Unchanged = UNCHANGED,
        metadata: types.JsonObject | None | Unchanged = UNCHANGED,
        kind: str | None | Unchanged = UNCHANGED,
        attributes: types.JsonObject | None | Unchanged = UNCHANGED,
        etag: str = "",
        timeout: float | None = None,
    ) -> types.Memory:
        """Changes a memory: what is passed is replaced, None clears, and what is not passed
        stays. Limits: as in `remember`.

        Args:
            memory_id: the memory's UUID.
            text: the new content.
            type: `semantic` for a lasting fact, `episodic` for an event.
            topics: all labels from now on.
            entities: all names from now on.
            event_time: when the event happened.
            pinned: whether policies leave it alone.
            metadata: all your own data from now on.
            kind: the name of its kind from now on. Without a kind it has no attributes.
            attributes: all values of the kind from now on.
            etag: the etag that the memory must have (`memory.proto.etag`), or ConflictError.
                Empty: any.
            timeout: the seconds the call may take. Default: the client's.
        """
        changes = _requests.passed(
            text=text,
            type=type,
            topics=topics,
            entities=entities,
            event_time=event_time,
            pinned=pinned,
            metadata=metadata,
            kind=kind,
            attributes=attributes,
        )
        request = make(
            v1.UpdateMemoryRequest,
            memory=_requests.fill(make(v1.Memory, memory_id=memory_id), changes),
            update_mask=_requests.mask(changes),
            precondition=_requests.precondition(etag),
        )
        response = self._channels.stubs().memory.UpdateMemory(request, timeout=timeout)
        return _results.memory(response.memory)

    def replace_memory(
        self,
        memory_id: str,
        text: str,
        *,
        kind: str = "",
        attributes: types.JsonObject | None = None,
        timeout: float | None = None,
    ) -> types.Memory:
        """Stores a newer memory that supersedes an older one, which is kept with the time until
        which it was valid. Returns the newer one.

        Args:
            memory_id: the older memory's UUID.
            text: the newer content: 1 to 4,096 characters.
            kind: the name of a kind in `memory_kinds` of the app's policy. Default: none.
            attributes: the values of the kind, which fit its schema: at most 4 KiB as JSON.
            timeout: the seconds the call may take. Default: the client's.
        """
        replacement = make(v1.MemoryInput, text=text, kind=kind)
        request = make(
            v1.SupersedeMemoryRequest,
            memory_id=memory_id,
            replacement=_requests.fill(replacement, {"attributes": attributes}),
        )
        response = self._channels.stubs().memory.SupersedeMemory(request, timeout=timeout)
        return _results.memory(response.memory)

    def forget(self, memory_id: str, *, timeout: float | None = None) -> bool:
        """Deletes a memory. Returns whether it existed."""
        request = make(v1.DeleteMemoryRequest, memory_id=memory_id)
        response = self._channels.stubs().memory.DeleteMemory(request, timeout=timeout)
        return response.deleted

    def threads(
        self,
        *,
        metadata: types.MetadataFilter | None = None,
        order_by: str = "create_time desc",
        page_size: int = 50,
        timeout: float | None = None,
    ) -> Iterator[types.ThreadInfo]:
        """The user's threads. Arguments: as in `Recollect.threads`."""
        request = _requests.list_threads(self._target, metadata, order_by, page_size)
        for page in pages(self._channels.stubs().thread.ListThreads, request, timeout):
            for thread in page.threads:
                yield _results.thread(thread)
