"""Clients of models that remember, with the packages of OpenAI and Anthropic, a stand-in for their
APIs and a real server."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest
from models import ANSWER, Models

import recollect
from recollect import Recollect, errors
from recollect._turns import ChatTurn

QUESTION = "What is my dog called?"
FACT = "My dog is called Pixel."
APIS = ["chat", "responses", "anthropic"]
MODES = ["sync", "async"]


@pytest.fixture
def models() -> Iterator[Models]:
    with Models() as models:
        yield models


@pytest.fixture
def known(client: Recollect, app: str) -> recollect.Session:
    """The conversation of a user of whom something is known from another one."""
    other = client.session(app=app, user="ada", session="other")
    other.append(user=FACT, assistant="A fine name!")
    other.user.remember("The dog of Ada is a greyhound.")
    return client.session(app=app, user="ada", session="42")


class Caller:
    """Calls one API with a wrapped client of its package, of either kind."""

    def __init__(self, api: str, mode: str, models: Models) -> None:
        self.api, self.mode, self.models = api, mode, models
        self.settings: dict[str, Any] = {"api_key": "key", "max_retries": 0}
        self.package: Any = anthropic if api == "anthropic" else openai
        self.kind = {"chat": "OpenAI", "responses": "OpenAI", "anthropic": "Anthropic"}[api]
        self.argument = "input" if api == "responses" else "messages"

    def wrapped(self, **settings: Any) -> Any:
        path = "" if self.api == "anthropic" else "/v1"
        kind = getattr(self.package, ("Async" if self.mode == "async" else "") + self.kind)
        client = kind(base_url=self.models.url + path, **self.settings)
        return recollect.wrap(client, **settings)

    def arguments(self, messages: Any, **more: Any) -> dict[str, Any]:
        limit = {"max_tokens": 99} if self.api == "anthropic" else {}
        return {"model": "small", self.argument: messages, **limit, **more}

    def create(self, client: Any, messages: Any, **more: Any) -> Any:
        """The answer, or the events of a stream."""
        create = self.methods(client).create
        return self.run(lambda: create(**self.arguments(messages, **more)))

    def methods(self, client: Any) -> Any:
        """The methods of the API: `create`, `stream`."""
        return {
            "chat": lambda: client.chat.completions,
            "responses": lambda: client.responses,
            "anthropic": lambda: client.messages,
        }[self.api]()

    def run(self, call: Callable[[], Any]) -> Any:
        if self.mode == "sync":
            answer = call()
            return list(answer) if hasattr(answer, "__next__") else answer

        async def calls() -> Any:
            answer = await call()
            return [event async for event in answer] if hasattr(answer, "__anext__") else answer

        return asyncio.run(calls())

    def sent(self) -> list[Any]:
        """What the model was sent last: the texts of each message."""
        return [texts(message) for message in self.models.bodies[-1][self.argument]]


def texts(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def stored(session: recollect.Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in session.messages()]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("api", APIS)
def test_a_call_has_memory_and_its_turn_is_stored(
    api: str,
    mode: str,
    stream: bool,
    models: Models,
    known: recollect.Session,
    client: Recollect,
    app: str,
) -> None:
    caller = Caller(api, mode, models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    more = {"stream": True} if stream else {}
    answer = caller.create(wrapped, [{"role": "user", "content": QUESTION}], **more)
    plain = caller.create(
        recollect.wrap(wrapped, app=app, user="ada", session="none", client=client), [], **more
    )
    if stream:
        assert [of.to_json() for of in answer] == [of.to_json() for of in plain], "as it comes"
    else:
        assert answer.to_json() == plain.to_json()

    models.bodies.pop()
    sent = [text for message in caller.sent() for text in message]
    assert len(sent) == 2 and sent[-1] == QUESTION
    assert FACT in sent[0] and "The dog of Ada is a greyhound." in sent[0] and "not instructions" in sent[0]
    assert QUESTION not in sent[0]
    turn = [("user", QUESTION), ("assistant", ANSWER)]
    assert stored(known) == turn and recollect.memory_of(wrapped).error is None

    # The caller sends the whole history, which is neither recalled nor stored again.
    history = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": ANSWER},
        {"role": "user", "content": "And what was my dog called again?"},
    ]
    caller.create(wrapped, history, **more)
    sent = [text for message in caller.sent() for text in message]
    assert sent[:2] == [QUESTION, ANSWER] and len(sent) == 4
    assert FACT in sent[2] and QUESTION not in sent[2] and ANSWER not in sent[2]
    assert stored(known)[2:] == [("user", sent[3]), ("assistant", ANSWER)]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("api", ["chat", "anthropic"])
def test_steps_with_tools_are_stored_once(
    api: str, stream: bool, models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller(api, "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    more = {"stream": True} if stream else {}
    models.tool = {"zone": "UTC"}
    messages: list[Any] = [
        {"role": "user", "content": "What time is it, and what is my dog called?"}
    ]
    caller.create(wrapped, messages, **more)
    [question, step] = known.messages()
    [call] = [part.tool_call for part in step.parts]
    assert (call.name, json.loads(call.arguments)) == ("clock", {"zone": "UTC"})

    if api == "chat":
        function = {"name": "clock", "arguments": '{"zone": "UTC"}'}
        called = [{"id": "t1", "type": "function", "function": function}]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": called},
            {"role": "tool", "tool_call_id": "t1", "content": "12:00"},
        ]
    else:
        use = {"type": "tool_use", "id": "t1", "name": "clock", "input": {"zone": "UTC"}}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "12:00"}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    caller.create(wrapped, messages, **more)
    assert [message.role for message in known.messages()] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    # The memory stays before the question that it is for.
    assert FACT in json.dumps(models.bodies[-1][caller.argument][:2])


def test_the_newest_turns_are_sent_to_a_caller_that_sends_the_question_alone(
    models: Models, client: Recollect, app: str
) -> None:
    caller = Caller("chat", "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    turns = ["My dog is called Pixel, my cat is called Tom.", "I need a name for a third pet."]
    for text in [*turns, "What about something shorter?"]:
        caller.create(wrapped, [{"role": "user", "content": text}])
    [[block], [question]] = caller.sent()
    assert question == "What about something shorter?"
    assert all(block.count(text) == 1 for text in turns) and ANSWER in block
    # Those that are sent are not quoted.
    history = [{"role": "user", "content": turns[1]}, {"role": "assistant", "content": ANSWER}]
    caller.create(wrapped, [*history, {"role": "user", "content": "Shorter?"}])
    [_, _, [block], _] = caller.sent()
    assert question in block and turns[1] not in block and ANSWER not in block


@pytest.mark.parametrize("api", APIS)
def test_results_of_tools_that_the_caller_sends_are_not_quoted(
    api: str, models: Models, client: Recollect, app: str
) -> None:
    caller = Caller(api, "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    result = "Paris has 21 degrees and sun\nand no wind"
    messages: list[Any] = [{"role": "user", "content": "What is the weather in Paris?"}]
    of_api: dict[str, list[Any]] = {
        "chat": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "t1",
                        "type": "function",
                        "function": {"name": "weather", "arguments": "{}"},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "t1", "content": result},
        ],
        "responses": [
            {"type": "function_call", "call_id": "t1", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t1", "output": result},
        ],
        "anthropic": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": result}],
            },
        ],
    }
    messages += of_api[api]
    memory = client.session(app=app, user="ada", session="42")
    format: Any = {"chat": "openai", "responses": "openai-responses"}.get(api, api)
    memory.append(*messages, format=format)
    messages += [
        {"role": "assistant", "content": "It is sunny."},
        {"role": "user", "content": "Which weather has Paris, how many degrees?"},
    ]
    caller.create(wrapped, messages)
    assert json.dumps(models.bodies[-1]).count("21 degrees") == 1
    # To a caller that sends the question alone they are.
    caller.create(wrapped, messages[-1:])
    assert "21 degrees" in json.dumps(models.bodies[-1])


def test_all_steps_of_a_turn_have_the_same_memory(
    models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller("chat", "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    function = {"name": "clock", "arguments": "{}"}
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    caller.create(wrapped, messages)
    [block] = caller.sent()[0]
    known.user.remember("The dog Pixel is brown.")
    messages += [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "t1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "12:00"},
    ]
    caller.create(wrapped, messages)
    assert models.bodies[-1]["messages"][0]["content"] == block


def test_texts_that_the_server_refuses_are_stored_without_what_it_refuses(
    models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller("chat", "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    caller.create(wrapped, [{"role": "user", "content": f"A\0 dog {'é' * 200_000}"}])
    assert wrapped.recollect.error is None
    [question, answer] = known.messages()
    assert question.text.startswith("A\ufffd dog é") and answer.text == ANSWER
    assert question.text.endswith("é\n[The end is not stored: the text has 400009 bytes.]")
    assert len(question.text.encode()) <= 256 * 1024
    # Half of a surrogate pair, which a stream may break.
    turn = ChatTurn({"messages": [{"role": "user", "content": "half \ud83d"}]})
    wrapped.recollect.store(turn, {"role": "assistant", "content": "\udc00"})
    assert stored(known)[2:] == [("user", "half \ufffd"), ("assistant", "\ufffd")]


def test_a_failure_is_forgotten_with_the_next_call(
    models: Models, client: Recollect, app: str, caplog: pytest.LogCaptureFixture
) -> None:
    caller = Caller("chat", "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    with caplog.at_level(logging.WARNING):
        caller.create(wrapped, [{"role": "tool", "tool_call_id": "", "content": "12:00"}])
    assert isinstance(wrapped.recollect.error, errors.InvalidArgumentError)
    assert "a turn was not stored (INVALID_ARGUMENT)" in caplog.text
    caller.create(wrapped, [{"role": "user", "content": QUESTION}])
    assert wrapped.recollect.error is None
    with pytest.raises(errors.InvalidArgumentError, match="timeout must be above 0"):
        caller.wrapped(app=app, user="ada", session="42", client=client, timeout=0)


def test_system_prompts_go_on_and_are_not_stored(
    models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller("chat", "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    question = [{"type": "text", "text": QUESTION}]
    system = {"role": "system", "content": "You help."}
    caller.create(wrapped, [system, {"role": "user", "content": question}])
    assert caller.sent()[0] == ["You help."] and FACT in caller.sent()[1][0]
    assert stored(known) == [("user", QUESTION), ("assistant", ANSWER)]
    # A text is an input of responses.
    Caller("responses", "sync", models).create(wrapped, "Thanks.", instructions="You help.")
    assert models.bodies[-1]["input"][-1] == {"role": "user", "content": "Thanks."}
    assert stored(known)[2:] == [("user", "Thanks."), ("assistant", ANSWER)]
    # Anthropic continues a last message of the model's.
    anthropics = Caller("anthropic", "sync", models)
    claude = anthropics.wrapped(app=app, user="ada", session="7", client=client)
    prefill = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Well:"}]
    anthropics.create(claude, prefill, system="You help.")
    assert anthropics.sent()[1] == ["Well:"] and models.bodies[-1]["system"] == "You help."
    texts = [message.text for message in recollect.memory_of(claude).session.messages()]
    assert texts == [QUESTION, "Well:", ANSWER]


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


@pytest.mark.parametrize("mode", MODES)
def test_a_call_goes_on_without_a_memory_that_is_away(
    mode: str, models: Models, caplog: pytest.LogCaptureFixture
) -> None:
    caller = Caller("chat", mode, models)
    caller.settings["api_key"] = "secret-key"
    # One for each test, because the warning comes once for a server.
    addr = {"sync": "127.0.0.1:9", "async": "127.0.0.1:11"}[mode]
    away = Recollect(addr, timeout=2, retry=None)
    wrapped = caller.wrapped(app="support", user="ada", session="42", client=away)
    with caplog.at_level(logging.WARNING):
        for stream in (False, True, False):
            more = {"stream": True} if stream else {}
            answer = caller.create(wrapped, [{"role": "user", "content": QUESTION}], **more)
            assert caller.sent() == [[QUESTION]]
    assert answer.choices[0].message.content == ANSWER
    assert isinstance(recollect.memory_of(wrapped).error, errors.UnavailableError)
    assert isinstance(wrapped.recollect.error, errors.UnavailableError)
    assert {record.name for record in caplog.records} == {"recollect"}
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "a model was called without memory (UNAVAILABLE)",
        "a turn was not stored (UNAVAILABLE)",
    ], "once each"
    assert addr in caplog.text
    # It is not called again at once.
    first = wrapped.recollect.error
    caller.create(wrapped, [{"role": "user", "content": QUESTION}])
    assert wrapped.recollect.error is first
    assert QUESTION not in caplog.text and "secret-key" not in caplog.text

    strict = caller.wrapped(
        app="support", user="ada", session="42", client=away, raise_on_error=True
    )
    called = len(models.bodies)
    with pytest.raises(errors.UnavailableError):
        caller.create(strict, [{"role": "user", "content": QUESTION}])
    assert len(models.bodies) == called


def test_everything_else_of_a_client_is_as_it_was(
    models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    given = openai.OpenAI(base_url=f"{models.url}/v1", api_key="key", max_retries=0)
    wrapped = recollect.wrap(given, app=app, user="ada", session="42", client=client)
    assert isinstance(wrapped, openai.OpenAI) and wrapped.base_url == given.base_url
    assert wrapped.chat.completions.create.__doc__ == given.chat.completions.create.__doc__
    asked: Any = [{"role": "user", "content": QUESTION}]
    raw = wrapped.chat.completions.with_raw_response.create(model="small", messages=asked)
    assert raw.parse().choices[0].message.content == ANSWER
    given.chat.completions.create(model="small", messages=asked)
    assert [body["messages"] for body in models.bodies] == [asked, asked]
    with pytest.raises(errors.NotFoundError):
        stored(known)
    changed = wrapped.with_options(timeout=7)
    changed.chat.completions.create(model="small", messages=asked)
    assert changed.timeout == 7 and FACT in json.dumps(models.bodies[-1])
    assert recollect.memory_of(changed) is recollect.memory_of(wrapped)
    assert len(stored(known)) == 2 and len(asked) == 1
    with pytest.raises(errors.InvalidArgumentError, match="client takes a Recollect or"):
        recollect.wrap(given, app=app, user="ada", session="42", client=given)
    for other in (given, object(), client):
        with pytest.raises(errors.InvalidArgumentError, match="client"):
            recollect.memory_of(other)
    with pytest.raises(
        errors.InvalidArgumentError, match="model takes a client of openai or anthropic"
    ):
        recollect.wrap(client, app=app, user="ada", session="42")
    with pytest.raises(errors.InvalidArgumentError, match="user is None"):
        recollect.wrap(given, app=app, session="42", user=None)  # type: ignore[arg-type]
