"""What searches the threads of a user or of an app."""

from __future__ import annotations

from datetime import datetime

from recollect import _requests, _results, types, v1
from recollect._connect import AsyncChannels


class AsyncThreads:
    """The threads of a user, or of all users of an app."""

    _channels: AsyncChannels

    @property
    def _target(self) -> v1.Target:
        raise NotImplementedError

    async def recall(
        self,
        query: str,
        *,
        top_k: int | None = None,
        max_tokens: int | None = None,
        filter: types.Filter | None = None,
        method: types.Method | None = None,
        reference_time: datetime | None = None,
        time_zone: str = "",
        timeout: float | None = None,
    ) -> types.RecallResult:
        """The best matches among the messages of all these threads, with their neighbors.

        Args:
            query: the text to match: at most 8,192 characters. Empty: with a time in filter, the
                newest messages of that time match; without one, none do.
            top_k: the maximum number of matches: 0 to 100. Default: the policy's, 5.
            max_tokens: the budget of all messages in tokens. Default: none.
            filter: selects matches.
            method: how to match. Default: `hybrid`.
            reference_time: when the query is asked, for times in it such as "yesterday". Default:
                now.
            time_zone: where it is asked, such as `Europe/Berlin`. Default: UTC.
            timeout: the seconds the call may take. Default: the client's.
        """
        asked = _requests.query_time(reference_time, time_zone)
        request = _requests.recall(self._target, query, top_k, max_tokens, filter, method, asked)
        return _results.recall(await self._channels.stubs().recall.Recall(request, timeout=timeout))

    async def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        min_score: float | None = None,
        filter: types.Filter | None = None,
        method: types.Method | None = None,
        reference_time: datetime | None = None,
        time_zone: str = "",
        timeout: float | None = None,
    ) -> types.RecallResult:
        """Only the best matches among the messages of all these threads, best first.

        Args:
            query: the text to match: 1 to 8,192 characters.
            top_k: the maximum number of matches: 1 to 100. Default: 10.
            min_score: excludes lower scores: 0.0 to 1.0. Default: 0.
            filter: selects matches.
            method: how to match. Default: `hybrid`.
            reference_time: when the query is asked, for times in it such as "yesterday". Default:
                now.
            time_zone: where it is asked, such as `Europe/Berlin`. Default: UTC.
            timeout: the seconds the call may take. Default: the client's.
        """
        asked = _requests.query_time(reference_time, time_zone)
        request = _requests.search(self._target, query, top_k, min_score, filter, method, asked)
        return _results.recall(await self._channels.stubs().recall.Search(request, timeout=timeout))
