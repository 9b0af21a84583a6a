"""Key, timeout, request ids, retries and errors of each call, as interceptors of a channel."""

from __future__ import annotations

import asyncio
import logging
import os
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import grpc
import grpc.aio

from recollect._contract import METHODS
from recollect._retry import Retry
from recollect.errors import PreconditionError, RecollectError, from_call, invalid

_LOG = logging.getLogger("recollect")


@dataclass(frozen=True)
class CallSettings:
    """What applies to all calls of a client."""

    target: str
    tls: bool
    api_key: str = field(repr=False)
    timeout: float | None
    retry: Retry

    def metadata(self, given: Any) -> list[tuple[str, str | bytes]]:
        """The metadata of a call: what it was given, and the key."""
        metadata = list(given or ())
        if self.api_key and all(key != "authorization" for key, _ in metadata):
            metadata.append(("authorization", f"Bearer {self.api_key}"))
        return metadata


class Attempts:
    """One call with its repetitions."""

    def __init__(self, settings: CallSettings, path: str, timeout: float | None, request: Any):
        self._settings = settings
        self._path = path
        self._method = METHODS.get(path)
        self._number = 1
        self._last: RecollectError | None = None
        timeout = settings.timeout if timeout is None else seconds("timeout", timeout)
        self._end = None if timeout is None else time.monotonic() + timeout
        if self._method is not None and self._method.takes_request_id and not request.request_id:
            # The caller's request stays as it is: it may be sent again as a new one.
            copied = type(request)()
            copied.CopyFrom(request)
            copied.request_id = str(uuid.uuid4())
            request = copied
        self.request = request

    def timeout(self) -> float | None:
        """The seconds that are left for the next attempt."""
        return None if self._end is None else max(self._end - time.monotonic(), 0.001)

    def pause(self, failed: Any) -> float:
        """The seconds to wait before the next attempt; raises if there is none."""
        error = call_error(failed, self._settings, self._path)
        retry = self._settings.retry
        if self._number >= retry.attempts or not self._may_repeat(error, failed):
            self._give_up(error, failed)
        pause = retry.pause(self._number, error.retry_after)
        if self._end is not None and time.monotonic() + pause >= self._end:
            self._give_up(error, failed)
        self._number += 1
        self._last = error
        _LOG.info(
            "%s failed (%s %s); attempt %d in %.2f seconds",
            self._path,
            error.code,
            error.reason,
            self._number,
            pause,
        )
        return pause

    def _may_repeat(self, error: RecollectError, failed: Any) -> bool:
        if error.code == "RESOURCE_EXHAUSTED":
            return error.retry_after is not None
        if error.code == "UNAVAILABLE":
            # gRPC's own words for a call that was never sent.
            if (failed.details() or "").startswith("failed to connect to all addresses"):
                return True
            return self._method is not None and self._method.may_repeat(self.request)
        return False

    def _give_up(self, error: RecollectError, failed: Any) -> NoReturn:
        error.attempts = self._number
        if error.code == "DEADLINE_EXCEEDED" and self._last is not None:
            error.message += f". The attempt before failed: {self._last.message}"
        raise error from failed


def seconds(argument: str, value: float | None) -> float | None:
    """A time limit: seconds above 0, or None."""
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise invalid(argument, f"takes seconds, not {type(value).__name__}")
    if value <= 0:
        raise invalid(argument, "must be above 0")
    return value


class Open:
    """Whether a connection may be used."""

    closed = False

    def check(self) -> None:
        if self.closed:
            raise PreconditionError(
                "this client is closed: make a new one, or make the calls before close() or the "
                "end of its `with`",
                code="FAILED_PRECONDITION",
            )


class _Details(NamedTuple):
    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: Any
    compression: Any


class _ClientCallDetails(_Details, grpc.ClientCallDetails):
    pass


class SyncInterceptor(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """For channels of `grpc`."""

    def __init__(self, settings: CallSettings, open: Open):
        self._settings = settings
        self._open = open
        self._pid = os.getpid()

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        if os.getpid() != self._pid:
            raise PreconditionError(
                "this client was made before the process forked, and gRPC does not work across a "
                "fork: make one client in each process, after the fork",
                code="FAILED_PRECONDITION",
            )
        self._open.check()
        attempts = Attempts(self._settings, details.method, details.timeout, request)
        while True:
            call = continuation(self._changed(details, attempts.timeout()), attempts.request)
            error = call.exception()
            if error is None:
                return call
            if not isinstance(error, grpc.RpcError):
                self._open.check()
                raise error
            time.sleep(attempts.pause(error))

    def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
        self._open.check()
        return continuation(self._changed(details, details.timeout), request)

    def intercept_stream_stream(self, continuation: Any, details: Any, requests: Any) -> Any:
        self._open.check()
        return continuation(self._changed(details, details.timeout), requests)

    def _changed(self, details: Any, timeout: float | None) -> _ClientCallDetails:
        return _ClientCallDetails(
            details.method,
            timeout,
            self._settings.metadata(details.metadata),
            details.credentials,
            details.wait_for_ready,
            details.compression,
        )


class _AsyncInterceptor:
    def __init__(self, settings: CallSettings, open: Open):
        self._settings = settings
        self._open = open

    def _changed(self, details: Any, timeout: float | None) -> grpc.aio.ClientCallDetails:
        return grpc.aio.ClientCallDetails(
            details.method,
            timeout,
            grpc.aio.Metadata(*self._settings.metadata(details.metadata)),
            details.credentials,
            details.wait_for_ready,
        )


class _AsyncUnary(_AsyncInterceptor, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        path = details.method
        path = path.decode() if isinstance(path, bytes) else path
        attempts = Attempts(self._settings, path, details.timeout, request)
        while True:
            self._open.check()
            changed = self._changed(details, attempts.timeout())
            try:
                call = await continuation(changed, attempts.request)
                await call
                return call
            except grpc.aio.AioRpcError as error:
                pause = attempts.pause(error)
            await asyncio.sleep(pause)


class _AsyncUnaryStream(_AsyncInterceptor, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
        self._open.check()
        return await continuation(self._changed(details, details.timeout), request)


class _AsyncStreamStream(_AsyncInterceptor, grpc.aio.StreamStreamClientInterceptor):
    async def intercept_stream_stream(self, continuation: Any, details: Any, requests: Any) -> Any:
        self._open.check()
        return await continuation(self._changed(details, details.timeout), requests)


def async_interceptors(settings: CallSettings, open: Open) -> Sequence[grpc.aio.ClientInterceptor]:
    """For channels of `grpc.aio`."""
    kinds = (_AsyncUnary, _AsyncUnaryStream, _AsyncStreamStream)
    return [kind(settings, open) for kind in kinds]


def call_error(failed: Any, settings: CallSettings, path: str) -> RecollectError:
    """The exception for a call, or a stream, that has failed."""
    return from_call(failed, target=settings.target, method=path, tls=settings.tls)
