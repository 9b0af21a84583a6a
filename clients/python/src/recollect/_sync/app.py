# Written by clients/python/unasync from recollect/_async. Change that.
"""What is about an app."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recollect import _requests, _results, types, v1
from recollect._arguments import make
from recollect._sync.pages import pages
from recollect._sync.threads import Threads
from recollect._connect import Channels


class App(Threads):
    """An app: a bot, flow or workflow. `Recollect.app` makes it."""

    def __init__(self, channels: Channels, app: str) -> None:
        self._channels = channels
        self.id = app
        """The app's id."""
        self.ref = make(v1.AppRef, app_id=app)
        """The app, for requests of the stubs."""

    def __repr__(self) -> str:
        return f"<App {self.id!r}>"

    @property
    def _target(self) -> v1.Target:
        return v1.Target(app=self.ref)

    def policy(self, *, timeout: float | None = None) -> dict[str, Any]:
        """The fields that the app's policy sets, named as in `Policy`; durations in seconds."""
        request = make(v1.GetAppPolicyRequest, app_id=self.id)
        response = self._channels.stubs().policy.GetAppPolicy(request, timeout=timeout)
        return _results.policy_values(response.app_policy.policy)

    def set_policy(
        self, policy: types.Policy, *, etag: str = "", timeout: float | None = None
    ) -> dict[str, Any]:
        """Changes fields of the app's policy; None clears a field, and the others stay.

        It applies from the next request on. Returns the whole policy, as `policy` does.

        Args:
            policy: the fields to change: at least one.
            etag: the etag that the policy must have (`v1.AppPolicy.etag`), or ConflictError.
                Empty: any.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.UpdateAppPolicyRequest,
            app_policy=v1.AppPolicy(app_id=self.id, policy=_requests.policy(policy)),
            update_mask=_requests.policy_mask(policy),
            precondition=_requests.precondition(etag),
        )
        response = self._channels.stubs().policy.UpdateAppPolicy(request, timeout=timeout)
        return _results.policy_values(response.app_policy.policy)

    def delete_policy(self, *, timeout: float | None = None) -> bool:
        """Deletes the app's policy, so that the defaults apply. Returns whether it had one."""
        request = make(v1.DeleteAppPolicyRequest, app_id=self.id)
        response = self._channels.stubs().policy.DeleteAppPolicy(request, timeout=timeout)
        return response.deleted

    def users(self, *, timeout: float | None = None) -> Iterator[types.UserInfo]:
        """The users that have threads or memories, by id."""
        request = make(v1.ListUsersRequest, app_id=self.id, page_size=500)
        for page in pages(self._channels.stubs().thread.ListUsers, request, timeout):
            for user in page.users:
                yield _results.user(user)

    def threads(
        self,
        *,
        metadata: types.MetadataFilter | None = None,
        order_by: str = "create_time desc",
        page_size: int = 50,
        timeout: float | None = None,
    ) -> Iterator[types.ThreadInfo]:
        """The threads of all users of the app. Arguments: as in `Recollect.threads`."""
        request = _requests.list_threads(self._target, metadata, order_by, page_size)
        for page in pages(self._channels.stubs().thread.ListThreads, request, timeout):
            for thread in page.threads:
                yield _results.thread(thread)

    def memories(
        self,
        *,
        filter: types.MemoryFilter | None = None,
        page_size: int = 50,
        timeout: float | None = None,
    ) -> Iterator[types.Memory]:
        """The memories of all users of the app, newest first; `user` says whose they are.
        Arguments: as in `User.memories`."""
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
        """The memories of all users that match a query by meaning and by keyword, best first;
        `user` says whose they are. Arguments: as in `User.search_memories`."""
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
