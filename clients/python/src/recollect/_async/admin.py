"""What operators do: deleting users, and reading the audit log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from recollect import _requests, _results, types, v1
from recollect._arguments import make, user_id
from recollect._async.pages import pages
from recollect._connect import AsyncChannels
from recollect.errors import invalid


class AsyncAdmin:
    """What operators do in a tenant. `AsyncRecollect.admin` is one."""

    def __init__(self, channels: AsyncChannels) -> None:
        self._channels = channels

    def __repr__(self) -> str:
        return "<AsyncAdmin>"

    async def delete_user(
        self,
        user: str | types.NoUser,
        *,
        app: str | None = None,
        all_apps: bool = False,
        timeout: float | None = None,
    ) -> types.Deletion:
        """Deletes everything of a user, in one app or in all. The user's data can no longer be
        read when it returns, or within moments; `deletion` says when all of it is deleted. A
        second call returns the deletion in progress.

        Args:
            user: the user: 1 to 256 characters; NO_USER with app: what belongs to no user of it.
            app: the app that the user belongs to.
            all_apps: True: the user of this name in all apps of the tenant, instead of one app.
            timeout: the seconds the call may take. Default: the client's.
        """
        if all_apps == (app is not None):
            raise invalid("app", "names the user's app, or all_apps=True stands for all of them")
        if all_apps and user is types.NO_USER:
            raise invalid("user", "is NO_USER, which takes an app")
        if app is None:
            request = v1.DeleteUserRequest(user_of_all_apps=user_id(user))
        else:
            request = v1.DeleteUserRequest(user=_requests.user_ref(app, user))
        response = await self._channels.stubs().admin.DeleteUser(request, timeout=timeout)
        return _results.deletion(response.deletion)

    async def deletions(
        self, *, page_size: int = 50, timeout: float | None = None
    ) -> AsyncIterator[types.Deletion]:
        """The deletions of users, of apps and of the tenant whose receipts are kept, newest
        first, without `places`.

        Args:
            page_size: the number of deletions a call fetches: at most 500.
            timeout: the seconds each call may take. Default: the client's.
        """
        request = make(v1.ListDeletionsRequest, page_size=page_size)
        async for page in pages(self._channels.stubs().admin.ListDeletions, request, timeout):
            for deletion in page.deletions:
                yield _results.deletion(deletion)

    async def deletion(self, deletion_id: str, *, timeout: float | None = None) -> types.Deletion:
        """The receipt of a deletion, with what is left counted again."""
        request = make(v1.GetDeletionRequest, deletion_id=deletion_id)
        response = await self._channels.stubs().admin.GetDeletion(request, timeout=timeout)
        return _results.deletion(response.deletion)

    async def transactions(
        self,
        *,
        thread: v1.ThreadRef | None = None,
        actor: str = "",
        actions: Sequence[str] = (),
        start_time: datetime | None = None,
        end_time: datetime | None = None,
        page_size: int = 50,
        timeout: float | None = None,
    ) -> AsyncIterator[types.Transaction]:
        """The audit log, newest first: committed changes, and refused calls that would have made
        one. It needs a key with the scope `admin`.

        Args:
            thread: selects changes of one thread, such as `session.ref`. Default: all.
            actor: selects changes made by one actor, such as an API key's name: at most 128
                characters. Empty: all.
            actions: selects changes of any of these kinds, such as `delete_message`: at most 32.
                TransactionAction in docs/api.md has all. Default: all.
            start_time: the earliest time of a change, included.
            end_time: the latest time of a change, excluded.
            page_size: the number of changes a call fetches: at most 500.
            timeout: the seconds each call may take. Default: the client's.
        """
        request = make(v1.ListTransactionsRequest, thread=thread, actor=actor, page_size=page_size)
        values = {"actions": actions, "start_time": start_time, "end_time": end_time}
        _requests.fill(request, values)
        async for page in pages(self._channels.stubs().admin.ListTransactions, request, timeout):
            for transaction in page.transactions:
                yield _results.transaction(transaction)
