"""Streams of models whose answers are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect._client_memory import ClientMemory
from recollect._turns import AnthropicTurn, Turn


class _Read:
    """A stream that is read, with the turn that it answers."""

    def __init__(self, stream: Any, turn: Turn, state: ClientMemory) -> None:
        self._stream = stream
        self._turn = turn
        self._state = state
        self._ended = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Stream(_Read):
    """A stream whose events are passed on as they come."""

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        try:
            event = next(self._stream)
        except BaseException:
            # Also where it ends without the event that ends an answer.
            self._ended = True
            raise
        if self._turn.add(event):
            # Before the caller has it, who may leave then.
            self.end(complete=True)
        return event

    def __enter__(self) -> Stream:
        self._stream.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._stream.__exit__(kind, error, traceback)
        if kind is None:
            self.end(complete=False)

    def close(self) -> None:
        """Ends the stream, and stores what came so far."""
        self._stream.close()
        self.end(complete=False)

    def end(self, complete: bool) -> None:
        """Stores the answer, unless that is done."""
        if not self._ended:
            self._ended = True
            self._state.store(self._turn, self._turn.streamed(complete))


class AsyncStream(_Read):
    """The same for asyncio."""

    def __aiter__(self) -> AsyncStream:
        return self

    async def __anext__(self) -> Any:
        try:
            event = await anext(self._stream)
        except BaseException:
            # Also where it ends without the event that ends an answer.
            self._ended = True
            raise
        if self._turn.add(event):
            # Before the caller has it, who may leave then.
            await self.end(complete=True)
        return event

    async def __aenter__(self) -> AsyncStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        await self._stream.__aexit__(kind, error, traceback)
        if kind is None:
            await self.end(complete=False)

    async def close(self) -> None:
        """Ends the stream, and stores what came so far."""
        await self._stream.close()
        await self.end(complete=False)

    aclose = close

    async def end(self, complete: bool) -> None:
        """Stores the answer, unless that is done."""
        if not self._ended:
            self._ended = True
            await self._state.astore(self._turn, self._turn.streamed(complete))


class _AnthropicCall:
    """A call of Anthropic's `messages.stream`, which begins when its manager is entered."""

    def __init__(self, original: Callable[..., Any], state: ClientMemory, **arguments: Any) -> None:
        self._original = original
        self._state = state
        self._arguments = arguments


class AnthropicManager(_AnthropicCall):
    """What Anthropic's `messages.stream` returns."""

    def __enter__(self) -> Any:
        self._turn = AnthropicTurn(self._arguments)
        block = self._state.recall(self._turn)
        self._manager = self._original(**self._turn.with_memory(block))
        self._stream = self._manager.__enter__()
        return self._stream

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._manager.__exit__(kind, error, traceback)
        answer, complete = _snapshot(self._turn, self._stream)
        if kind is None or complete:
            self._state.store(self._turn, answer)


class AsyncAnthropicManager(_AnthropicCall):
    """The same for asyncio."""

    async def __aenter__(self) -> Any:
        self._turn = AnthropicTurn(self._arguments)
        block = await self._state.arecall(self._turn)
        self._manager = self._original(**self._turn.with_memory(block))
        self._stream = await self._manager.__aenter__()
        return self._stream

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        await self._manager.__aexit__(kind, error, traceback)
        answer, complete = _snapshot(self._turn, self._stream)
        if kind is None or complete:
            await self._state.astore(self._turn, answer)


def _snapshot(turn: AnthropicTurn, stream: Any) -> tuple[Any | None, bool]:
    """The answer so far of a stream of Anthropic's, and whether it is whole."""
    try:
        message = stream.current_message_snapshot
    except AssertionError:
        return None, False
    complete = message.stop_reason is not None
    return turn.message(message.id, message.content, complete), complete


class _OpenAICall:
    """A call of one of OpenAI's `stream` methods."""

    def __init__(self, original: Callable[..., Any], *args: Any, **arguments: Any) -> None:
        self._manager = original(*args, **arguments)


class OpenAIManager(_OpenAICall):
    """What OpenAI's `stream` methods return. Their streams read one of `create`."""

    def __enter__(self) -> Any:
        self._stream = self._manager.__enter__()
        return self._stream

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._manager.__exit__(kind, error, traceback)
        read = getattr(self._stream, "_raw_stream", None)
        if kind is None and isinstance(read, Stream):
            read.end(complete=False)


class AsyncOpenAIManager(_OpenAICall):
    """The same for asyncio."""

    async def __aenter__(self) -> Any:
        self._stream = await self._manager.__aenter__()
        return self._stream

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        await self._manager.__aexit__(kind, error, traceback)
        read = getattr(self._stream, "_raw_stream", None)
        if kind is None and isinstance(read, AsyncStream):
            await read.end(complete=False)
