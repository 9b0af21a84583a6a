"""Streams of clients that remember, with the packages of OpenAI and Anthropic, a stand-in for their
APIs and a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest
from callers import APIS, FACT, MODES, QUESTION, Caller, stored
from models import ANSWER, Models

import recollect
from recollect import Recollect, errors


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("api", APIS)
def test_the_packages_own_streams_are_remembered(
    api: str, mode: str, models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller(api, mode, models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    owner = caller.methods(wrapped)
    arguments = caller.arguments([{"role": "user", "content": QUESTION}])

    def streamed() -> list[str]:
        with owner.stream(**arguments) as stream:
            return [event.type for event in stream]

    async def async_streamed() -> list[str]:
        async with owner.stream(**arguments) as stream:
            return [event.type async for event in stream]

    kinds = streamed() if mode == "sync" else asyncio.run(async_streamed())
    assert any("delta" in kind or "text" in kind for kind in kinds)
    assert FACT in json.dumps(models.bodies[-1])
    assert stored(known) == [("user", QUESTION), ("assistant", ANSWER)]


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_is_closed_early_stores_what_came(
    api: str, models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller(api, "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    caller.run = lambda call: call()  # type: ignore[method-assign]
    stream = caller.create(wrapped, [{"role": "user", "content": QUESTION}], stream=True)
    with stream:
        for event in stream:
            if "is " in event.to_json():
                break
    stream.close()
    assert stored(known) == [("user", QUESTION), ("assistant", "It is ")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("api", APIS)
def test_a_reader_may_leave_after_the_event_that_ends_the_answer(
    api: str, mode: str, models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller(api, mode, models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    ends: dict[str, Callable[[Any], bool]] = {
        "chat": lambda event: any(of.finish_reason for of in event.choices),
        "responses": lambda event: event.type == "response.completed",
        "anthropic": lambda event: event.type == "message_stop",
    }
    last = ends[api]

    def left() -> None:
        for event in caller.create(wrapped, asked, stream=True):
            if last(event):
                return
        raise AssertionError("no event ends the answer")

    async def async_left() -> None:
        async for event in await caller.create(wrapped, asked, stream=True):
            if last(event):
                return
        raise AssertionError("no event ends the answer")

    asked = [{"role": "user", "content": QUESTION}]
    caller.run = lambda call: call()  # type: ignore[method-assign]
    if mode == "sync":
        left()
    else:
        asyncio.run(async_left())
    assert stored(known) == [("user", QUESTION), ("assistant", ANSWER)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("api", APIS)
def test_a_stream_of_the_packages_own_that_is_left_early_stores_what_came(
    api: str, mode: str, models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller(api, mode, models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    owner = caller.methods(wrapped)
    arguments = caller.arguments([{"role": "user", "content": QUESTION}])

    def left() -> None:
        with owner.stream(**arguments) as stream:
            for event in stream:
                if "is " in str(event):
                    return

    async def async_left() -> None:
        async with owner.stream(**arguments) as stream:
            async for event in stream:
                if "is " in str(event):
                    return

    left() if mode == "sync" else asyncio.run(async_left())
    [question, answer] = stored(known)
    assert question == ("user", QUESTION) and answer == ("assistant", "It is ")


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_breaks_stores_nothing(
    api: str, models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller(api, "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    models.breaks = True
    with pytest.raises((openai.APIError, anthropic.APIError)):
        caller.create(wrapped, [{"role": "user", "content": QUESTION}], stream=True)
    with pytest.raises(errors.NotFoundError):
        stored(known)
