"""What a wrapped client of a model remembers with."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from recollect._async.session import AsyncSession
from recollect._quotes import memory_block
from recollect._storable import storable, well_formed
from recollect._sync.session import Session
from recollect._turns import Turn
from recollect.errors import RecollectError

_LOG = logging.getLogger("recollect")
_LONGEST_QUERY = 8192
_AWAY = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
_PAUSE = 5.0
"""The seconds for which a server that did not answer is not called."""
_RECALLING = "a model was called without memory"
_STORING = "a turn was not stored"


class _Outage(NamedTuple):
    """A server that does not answer."""

    until: float
    """The time from which it is called again, of time.monotonic."""
    error: RecollectError
    logged: frozenset[str]
    """What was logged since it last answered."""


_outages: dict[str, _Outage] = {}
"""The servers that do not answer, by address."""


class _Recalled(NamedTuple):
    """The memory of one turn, which its later steps have too."""

    query: str
    block: str


class ClientMemory:
    """What a wrapped client remembers with: its attribute `recollect`, which `recollect.memory_of`
    returns with its type."""

    def __init__(
        self,
        session: Session,
        async_session: AsyncSession,
        *,
        context: Mapping[str, Any],
        store: bool,
        timeout: float,
        raise_on_error: bool,
    ) -> None:
        self.session = session
        """The conversation."""
        self.async_session = async_session
        """The same for asyncio."""
        self.error: RecollectError | None = None
        """Why the newest call went without memory, or was not stored. None: all went well."""
        self._context = {**context, "format": "text", "timeout": timeout}
        self._stores = store
        self._timeout = timeout
        self._raise = raise_on_error
        self._newest: _Recalled | None = None
        self._said = ""

    def __repr__(self) -> str:
        return f"<ClientMemory {self.session!r} error={self.error!r}>"

    def recall(self, turn: Turn) -> str:
        """The block of memory for a call."""
        known = self._before_recall(turn)
        if known is not None:
            return known
        try:
            context = self.session.context(query=_query(turn), **self._context)
        except RecollectError as error:
            self._failed(error, _RECALLING)
            return ""
        return self._recalled(turn, memory_block(context, turn.sent()))

    async def arecall(self, turn: Turn) -> str:
        """The same for asyncio."""
        known = self._before_recall(turn)
        if known is not None:
            return known
        try:
            context = await self.async_session.context(query=_query(turn), **self._context)
        except RecollectError as error:
            self._failed(error, _RECALLING)
            return ""
        return self._recalled(turn, memory_block(context, turn.sent()))

    def store(self, turn: Turn, answer: Any | None) -> None:
        """Appends what is new, and the answer."""
        messages = self._to_store(turn, answer)
        if messages:
            try:
                self.session.append(*messages, format=turn.format, timeout=self._timeout)
            except RecollectError as error:
                self._failed(error, _STORING)
            else:
                self._stored(turn)

    async def astore(self, turn: Turn, answer: Any | None) -> None:
        """The same for asyncio."""
        messages = self._to_store(turn, answer)
        if messages:
            try:
                await self.async_session.append(
                    *messages, format=turn.format, timeout=self._timeout
                )
            except RecollectError as error:
                self._failed(error, _STORING)
            else:
                self._stored(turn)

    @property
    def _addr(self) -> str:
        return self.session._channels.connection.addr

    def _before_recall(self, turn: Turn) -> str | None:
        """The block of memory, if it takes no call."""
        self.error = None
        if not turn.query.strip():
            return ""
        # The same block in all steps of a turn, so that the prompt only grows at its end.
        if turn.is_later_step() and self._newest and self._newest.query == turn.query:
            return self._newest.block
        return "" if self._is_away(_RECALLING) else None

    def _recalled(self, turn: Turn, block: str) -> str:
        self._answered()
        self._newest = _Recalled(turn.query, block)
        return block

    def _to_store(self, turn: Turn, answer: Any | None) -> list[Any]:
        if not self._stores or turn.failed:
            return []
        messages = turn.to_store(answer, self._said)
        if not messages or self._is_away(_STORING):
            return []
        return [storable(message) for message in messages]

    def _stored(self, turn: Turn) -> None:
        self._answered()
        self._said = turn.said

    def _answered(self) -> None:
        _outages.pop(self._addr, None)

    def _is_away(self, lost: str) -> bool:
        """Whether the server is not called, because it has not answered just now."""
        outage = _outages.get(self._addr)
        if self._raise or outage is None or time.monotonic() >= outage.until:
            return False
        self.error = outage.error
        self._warn(outage, lost)
        return True

    def _failed(self, error: RecollectError, lost: str) -> None:
        self.error = error
        if self._raise:
            raise error
        if error.code not in _AWAY:
            _LOG.warning("%s (%s): %s", lost, error.code, error.reason or "not sent")
            return
        before = _outages.get(self._addr)
        logged = before.logged if before else frozenset()
        self._warn(_Outage(time.monotonic() + _PAUSE, error, logged), lost)

    def _warn(self, outage: _Outage, lost: str) -> None:
        """Keeps an outage, and logs once in it that something is lost."""
        _outages[self._addr] = outage._replace(logged=outage.logged | {lost})
        if lost not in outage.logged:
            _LOG.warning(
                "%s (%s): %s does not answer. This is logged once until it does",
                lost,
                outage.error.code,
                self._addr,
            )


def _query(turn: Turn) -> str:
    return well_formed(turn.query)[:_LONGEST_QUERY]
