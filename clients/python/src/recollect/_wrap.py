"""Clients of models that remember."""

from __future__ import annotations

import copy
import functools
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from recollect import _raw, types
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
from recollect._sync.session import Session
from recollect._turns import AnthropicTurn, ChatTurn, ResponsesTurn, Turn
from recollect.errors import invalid

C = TypeVar("C")

_WRAPPED: dict[str, list[tuple[str, type[Turn]]]] = {
    "openai": [
        ("chat.completions", ChatTurn),
        ("responses", ResponsesTurn),
        ("beta.chat.completions", ChatTurn),
        ("beta.responses", ResponsesTurn),
    ],
    "anthropic": [("messages", AnthropicTurn), ("beta.messages", AnthropicTurn)],
}
"""Where the methods of each package are, and what their calls are. Versions have some of them."""
_METHODS = ("create", "parse")
_RAW = ("with_raw_response", "with_streaming_response")
_RAW_HEADER = "x-stainless-raw-response"
_OWN_CONTEXT = ("input", "format", "system", "query", "timeout")
"""The arguments of `context` that are not the caller's."""
_ORIGINAL = "_recollect_original"


def wrap(
    model: C,
    /,
    *,
    app: str,
    user: str | types.NoUser,
    session: str = "",
    agent_session: str = "",
    client: Recollect | AsyncRecollect | None = None,
    context: Mapping[str, Any] | None = None,
    store: bool = True,
    timeout: float = 5.0,
    raise_on_error: bool = False,
) -> C:
    """A client like the given one that remembers a conversation:

        client = recollect.wrap(OpenAI(), app="support", user="ada", session="42")

    Before a call, long-term memories, earlier messages that match the newest text of the user and
    the newest messages of the conversation go into the request, as one message of quotations
    before that text (with Anthropic, as a text of the same message); those that the request has
    anyway are left out. The policy of the conversation applies. All steps of a turn with tools have
    the same quotations. After the call, what the user and tools have said since the model's last
    message, and the answer are appended to the conversation, so that a caller may send the whole
    history each time. The beginning of an answer that a request to Anthropic ends with is stored as
    a part of the answer. Streams are passed on as they come. An answer is stored before its last
    event is passed on; of one that is closed before, the text.

    It covers `chat.completions` and `responses` of `openai.OpenAI` and `AsyncOpenAI`, and
    `messages` of `anthropic.Anthropic` and `AsyncAnthropic`, also below `beta`: `create`, `parse`,
    `stream` and what calls them, such as `tool_runner`. With `with_raw_response` and
    `with_streaming_response`, a turn that is streamed or not read yet is stored by way of `parse()`.
    Everything else is as it was, such as `batches`. The given client stays as it is, and both share
    its connections. Wrapping is cheap: do it for each conversation.

    If Recollect fails, the call of the model goes on without it, the logger `recollect` warns, and
    `recollect.memory_of(client).error` has the reason. A server that does not answer in time is not
    called again for 5 seconds.

    Args:
        model: a client of the package `openai` or `anthropic`.
        app: the app that the conversation belongs to.
        user: the person in it: 1 to 256 characters. NO_USER: it belongs to no user.
        session: your key for the conversation: at most 512 characters. Empty: the default session
            of the app's policy.
        agent_session: the key that an agent supplies, used if session is empty.
        client: the client of Recollect to use. Default: one that all wrapped clients share, from
            RECOLLECT_ADDR and RECOLLECT_API_KEY.
        context: arguments of `Session.context` that say what is recalled, such as
            `{"max_tokens": 2000}`. Default: as the policy says.
        store: False: turns are not stored.
        timeout: the seconds that recalling may take, and then storing: above 0.
        raise_on_error: True: a failure of Recollect is raised. After the model has answered, its
            answer is lost then.
    """
    package, is_async = _kind(model)
    # One that remembers already gets another conversation.
    model = vars(model).get(_ORIGINAL, model)
    if seconds("timeout", timeout) is None:
        raise invalid("timeout", "takes seconds, not NoneType")
    asked = dict(context or {})
    for name in asked:
        if name in _OWN_CONTEXT or name not in inspect.signature(Session.context).parameters:
            raise invalid("context", f"does not take {name}")
    sync_memory, async_memory = _memories(client)
    names: Any = {"app": app, "user": user, "session": session, "agent_session": agent_session}
    state = ClientMemory(
        sync_memory.session(**names),
        async_memory.session(**names),
        context=asked,
        store=store,
        timeout=timeout,
        raise_on_error=raise_on_error,
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
    made: Any = _copy(client)
    for path, kind in _WRAPPED[package]:
        owner = made
        for name in path.split("."):
            if not hasattr(owner, name):
                break
            resource = _copy(getattr(owner, name))
            # What a resource calls by way of its client, as Anthropic's tool runner does, has
            # memory too.
            resource._client = made
            vars(owner)[name] = resource
            owner = resource
        else:
            _wrap_methods(owner, package, is_async, kind, state)

    def with_options(**options: Any) -> Any:
        return _wrapped(client.copy(**options), package, is_async, state)  # type: ignore[attr-defined]

    vars(made).update({_ORIGINAL: client, "recollect": state})
    made.copy = made.with_options = with_options
    return made  # type: ignore[no-any-return]


def _copy(value: Any) -> Any:
    """A copy of a client or resource. What it has made for raw responses calls the original."""
    made = copy.copy(value)
    for name in _RAW:
        vars(made).pop(name, None)
    return made


def _wrap_methods(
    owner: Any, package: str, is_async: bool, kind: type[Turn], state: ClientMemory
) -> None:
    for name in _METHODS:
        if hasattr(owner, name):
            remember = _async_method if is_async else _method
            setattr(owner, name, remember(getattr(owner, name), kind, state))
    if not hasattr(owner, "stream"):
        return
    if package == "anthropic":
        manager = AsyncAnthropicManager if is_async else AnthropicManager
        owner.stream = functools.partial(manager, owner.stream, state)
    else:
        helper = AsyncOpenAIManager if is_async else OpenAIManager
        owner.stream = functools.partial(helper, owner.stream)


def _raw_kind(arguments: dict[str, Any]) -> str | None:
    """Which raw response the caller wants: `stream` for one whose body is not read yet. None: the
    answer itself."""
    headers = arguments.get("extra_headers") or {}
    return next((of for name, of in headers.items() if name.lower() == _RAW_HEADER), None)


def _method(original: Callable[..., Any], kind: type[Turn], state: ClientMemory) -> Any:
    @functools.wraps(original)
    def call(*args: Any, **arguments: Any) -> Any:
        turn, raw = kind(arguments), _raw_kind(arguments)
        is_stream = arguments.get("stream") is True
        answer = original(*args, **turn.with_memory(state.recall(turn)))
        if raw:
            return _raw.remember(answer, turn, state, is_stream=is_stream, is_read=raw != "stream")
        if is_stream:
            return Stream(answer, turn, state)
        state.store(turn, turn.answer(answer))
        return answer

    return call


def _async_method(original: Callable[..., Any], kind: type[Turn], state: ClientMemory) -> Any:
    @functools.wraps(original)
    async def call(*args: Any, **arguments: Any) -> Any:
        turn, raw = kind(arguments), _raw_kind(arguments)
        is_stream = arguments.get("stream") is True
        answer = await original(*args, **turn.with_memory(await state.arecall(turn)))
        if raw:
            is_read = raw != "stream"
            return await _raw.aremember(answer, turn, state, is_stream=is_stream, is_read=is_read)
        if is_stream:
            return AsyncStream(answer, turn, state)
        await state.astore(turn, turn.answer(answer))
        return answer

    return call
