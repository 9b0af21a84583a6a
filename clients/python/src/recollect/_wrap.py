"""Clients of models that remember."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

from recollect import types
from recollect._adapters import both_clients
from recollect._async.client import AsyncRecollect
from recollect._calls import seconds
from recollect._client_memory import ClientMemory
from recollect._retry import Retry
from recollect._streams import (
    AnthropicManager,
    AsyncAnthropicManager,
    AsyncOpenAIManager,
    AsyncStream,
    OpenAIManager,
    Stream,
)
from recollect._sync.client import Recollect
from recollect._turns import AnthropicTurn, ChatTurn, ResponsesTurn, Turn
from recollect.errors import invalid

C = TypeVar("C")

_WRAPPED: dict[str, list[tuple[tuple[str, ...], tuple[str, ...], type[Turn]]]] = {
    "openai": [
        (("chat", "completions"), ("create", "parse"), ChatTurn),
        (("responses",), ("create", "parse"), ResponsesTurn),
    ],
    "anthropic": [(("messages",), ("create", "parse"), AnthropicTurn)],
}
"""The methods of each package: where they are, their names, and what their calls are."""
_ORIGINAL = "_recollect_original"


def wrap(
    model: C,
    /,
    *,
    app: str,
    session: str,
    user: str | types.NoUser,
    client: Recollect | AsyncRecollect | None = None,
    timeout: float = 5.0,
    raise_on_error: bool = False,
) -> C:
    """A client like the given one that remembers a conversation:

        client = recollect.wrap(OpenAI(), app="support", user="ada", session="42")

    Before a call, long-term memories, earlier messages that match the newest text of the user and
    the newest messages of the conversation go into the request, as one message of quotations
    before that text (with Anthropic, as a text of the same message); those that the request has
    anyway are left out. The policy of the conversation applies. All steps of a turn with tools have
    the same quotations. After the call, the messages
    since the model's last one, without system prompts, and the answer are appended to the
    conversation, so that a caller may send the whole history each time. Streams are passed on
    as they come. An answer is stored before its last event is passed on; of one that is closed
    before, the text.

    It covers `chat.completions` and `responses` of `openai.OpenAI` and `AsyncOpenAI`, and
    `messages` of `anthropic.Anthropic` and `AsyncAnthropic`: `create`, `parse` and `stream`.
    Everything else is as it was, also `with_raw_response`, `batches` and `beta`. The given
    client stays as it is, and both share its connections. Wrapping is cheap: do it for each
    conversation.

    If Recollect fails, the call of the model goes on without it, the logger `recollect` warns, and
    `recollect.memory_of(client).error` has the reason. A server that does not answer in time is not
    called again for 5 seconds.

    Args:
        model: a client of the package `openai` or `anthropic`.
        app: the app that the conversation belongs to.
        session: your key for the conversation.
        user: the person in it: 1 to 256 characters. NO_USER: it belongs to no user.
        client: the client of Recollect to use. Default: one that all wrapped clients share, from
            RECOLLECT_ADDR and RECOLLECT_API_KEY.
        timeout: the seconds that recalling may take, and then storing: above 0.
        raise_on_error: True: a failure of Recollect is raised. After the model has answered, its
            answer is lost then.
    """
    package, is_async = _kind(model)
    # One that remembers already gets another conversation.
    model = vars(model).get(_ORIGINAL, model)
    if seconds("timeout", timeout) is None:
        raise invalid("timeout", "takes seconds, not NoneType")
    sync_memory, async_memory = _memories(client)
    state = ClientMemory(
        sync_memory.session(app=app, user=user, session=session),
        async_memory.session(app=app, user=user, session=session),
        timeout,
        raise_on_error,
    )
    return _wrapped(model, package, is_async, state)


def memory_of(client: object) -> ClientMemory:
    """What a client that `wrap` returned remembers with."""
    state = getattr(client, "__dict__", {}).get("recollect")
    if not isinstance(state, ClientMemory):
        raise invalid("client", "is not one that recollect.wrap returned")
    return state


def _kind(client: object) -> tuple[str, bool]:
    """The package of a client, and whether it is for asyncio."""
    for kind in type(client).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in _WRAPPED and kind.__name__ in ("SyncAPIClient", "AsyncAPIClient"):
            return package, kind.__name__ == "AsyncAPIClient"
    raise invalid("model", f"takes a client of openai or anthropic, not {type(client).__name__}")


def _memories(given: Recollect | AsyncRecollect | None) -> tuple[Recollect, AsyncRecollect]:
    if given is None:
        # Not those of a process that has forked into this one.
        return _shared(os.getpid())
    if isinstance(given, Recollect):
        return both_clients(given, None)
    if isinstance(given, AsyncRecollect):
        return both_clients(None, given)
    raise invalid("client", f"takes a Recollect or AsyncRecollect, not {type(given).__name__}")


@functools.lru_cache(maxsize=1)
def _shared(pid: int) -> tuple[Recollect, AsyncRecollect]:
    return both_clients(Recollect(retry=Retry(attempts=3)), None)


def _wrapped(client: C, package: str, is_async: bool, state: ClientMemory) -> C:
    """A copy of a client, with copies of the resources whose methods remember."""
    made: Any = copy.copy(client)
    for path, names, kind in _WRAPPED[package]:
        owner = made
        for name in path:
            resource = copy.copy(getattr(owner, name))
            vars(owner)[name] = resource
            owner = resource
        for name in names:
            if hasattr(owner, name):
                remember = _async_method if is_async else _method
                setattr(owner, name, remember(getattr(owner, name), kind, state))
        if package == "anthropic":
            manager = AsyncAnthropicManager if is_async else AnthropicManager
            owner.stream = functools.partial(manager, owner.stream, state)
        elif hasattr(owner, "stream"):
            helper = AsyncOpenAIManager if is_async else OpenAIManager
            owner.stream = functools.partial(helper, owner.stream)

    def with_options(**options: Any) -> Any:
        return _wrapped(client.copy(**options), package, is_async, state)  # type: ignore[attr-defined]

    vars(made).update({_ORIGINAL: client, "recollect": state})
    made.copy = made.with_options = with_options
    return made  # type: ignore[no-any-return]


def _is_raw(arguments: dict[str, Any]) -> bool:
    """Whether the caller wants the HTTP response, as `with_raw_response` does."""
    headers = arguments.get("extra_headers") or {}
    return any(name.lower() == "x-stainless-raw-response" for name in headers)


def _method(original: Callable[..., Any], kind: type[Turn], state: ClientMemory) -> Any:
    @functools.wraps(original)
    def call(*args: Any, **arguments: Any) -> Any:
        if _is_raw(arguments):
            return original(*args, **arguments)
        turn = kind(arguments)
        answer = original(*args, **turn.with_memory(state.recall(turn)))
        if arguments.get("stream") is True:
            return Stream(answer, turn, state)
        state.store(turn, turn.answer(answer))
        return answer

    return call


def _async_method(original: Callable[..., Any], kind: type[Turn], state: ClientMemory) -> Any:
    @functools.wraps(original)
    async def call(*args: Any, **arguments: Any) -> Any:
        if _is_raw(arguments):
            return await original(*args, **arguments)
        turn = kind(arguments)
        answer = await original(*args, **turn.with_memory(await state.arecall(turn)))
        if arguments.get("stream") is True:
            return AsyncStream(answer, turn, state)
        await state.astore(turn, turn.answer(answer))
        return answer

    return call
