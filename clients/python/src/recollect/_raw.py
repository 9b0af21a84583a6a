"""Raw responses of models, whose answers are stored when they are parsed."""

from __future__ import annotations

import inspect
from typing import Any

from recollect._client_memory import ClientMemory
from recollect._streams import AsyncStream, Stream
from recollect._turns import Turn


def remember(
    response: Any, turn: Turn, state: ClientMemory, *, is_stream: bool, is_read: bool
) -> Any:
    """The response itself. Its turn is stored now if its body was read, or else by `parse()`; that
    of a stream returns one that stores it."""
    if is_read and not is_stream:
        state.store(turn, turn.answer(response.parse()))
        return response
    parse = response.parse
    known: list[Any] = []

    def parsed(**options: Any) -> Any:
        answer = parse(**options)
        if options:
            # A type of the caller's.
            return answer
        if not known:
            if is_stream:
                answer = Stream(answer, turn, state)
            else:
                state.store(turn, turn.answer(answer))
            known.append(answer)
        return known[0]

    response.parse = parsed
    return response


async def aremember(
    response: Any, turn: Turn, state: ClientMemory, *, is_stream: bool, is_read: bool
) -> Any:
    """The same for asyncio."""
    parse = response.parse
    if is_read and not is_stream:
        answer = parse()
        await state.astore(
            turn, turn.answer(await answer if inspect.isawaitable(answer) else answer)
        )
        return response
    known: list[Any] = []

    def stream(answer: Any) -> Any:
        if not known:
            known.append(AsyncStream(answer, turn, state))
        return known[0]

    def parsed(**options: Any) -> Any:
        # Of OpenAI's responses that were read, `parse` is no coroutine.
        answer = parse(**options)
        return answer if options else stream(answer)

    async def aparsed(**options: Any) -> Any:
        answer = await parse(**options)
        if options:
            return answer
        if is_stream:
            return stream(answer)
        if not known:
            await state.astore(turn, turn.answer(answer))
            known.append(answer)
        return known[0]

    response.parse = aparsed if inspect.iscoroutinefunction(parse) else parsed
    return response
