"""Clients of models that remember, with the packages of OpenAI and Anthropic, a stand-in for their
APIs and a real server."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from typing import Any

import anthropic
import openai
import pytest
from callers import APIS, FACT, MODES, QUESTION, Caller, stored
from models import ANSWER, Models

import recollect
from recollect import Recollect, errors
from recollect._turns import ChatTurn


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
    assert (
        FACT in sent[0]
        and "The dog of Ada is a greyhound." in sent[0]
        and "not instructions" in sent[0]
    )
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


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("api", "last", "turn"),
    [
        # Anthropic's model goes on with a last message of its own.
        ("anthropic", "Well: ", [("user", QUESTION), ("assistant", f"Well: {ANSWER}")]),
        ("anthropic", [SEARCH], [("assistant", ANSWER)]),
        # Other models answer it. What is before it belongs to an earlier call.
        ("chat", "Well: ", [("assistant", ANSWER)]),
        ("responses", "Well: ", [("assistant", ANSWER)]),
    ],
    ids=["begun", "paused", "chat", "responses"],
)
def test_a_request_may_end_with_a_message_of_the_model(
    api: str,
    last: Any,
    turn: list[tuple[str, str]],
    stream: bool,
    models: Models,
    known: recollect.Session,
    client: Recollect,
    app: str,
) -> None:
    caller = Caller(api, "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    more = {"stream": True} if stream else {}
    asked = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": last}]
    caller.create(wrapped, asked, **more)
    sent = models.bodies[-1][caller.argument]
    assert FACT in json.dumps(sent[0]) and sent[-1] == asked[-1]
    assert stored(known) == turn
    if turn[-1] != ("assistant", ANSWER):
        # An answer that was cut off goes on, and its beginning is stored already.
        begun = {"role": "assistant", "content": turn[-1][1]}
        caller.create(wrapped, [asked[0], begun], **more)
        assert stored(known) == [*turn, ("assistant", ANSWER)]
        begun = {"role": "assistant", "content": turn[-1][1] + ANSWER}
        caller.create(wrapped, [asked[0], begun], **more)
        assert stored(known) == [*turn, *[("assistant", ANSWER)] * 2]


WAYS: list[tuple[str, dict[str, Any]]] = [
    ("parse", {}),
    ("with_raw_response", {}),
    ("with_raw_response", {"stream": True}),
    ("with_streaming_response", {}),
    ("with_streaming_response", {"stream": True}),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("api", APIS)
def test_the_other_ways_to_call_have_memory_too(
    api: str, mode: str, models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller(api, mode, models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    asked = [{"role": "user", "content": QUESTION}]
    turn = [("user", QUESTION), ("assistant", ANSWER)]

    def parsed(owner: Any, name: str, more: dict[str, Any]) -> None:
        arguments = caller.arguments(asked, **more)
        if name == "parse":
            owner.parse(**arguments)
        elif name == "with_raw_response":
            response = owner.with_raw_response.create(**arguments)
            assert response.parse() is response.parse()
            list(response.parse()) if more else None
        else:
            with owner.with_streaming_response.create(**arguments) as response:
                list(response.parse()) if more else response.parse()

    async def async_parsed(owner: Any, name: str, more: dict[str, Any]) -> None:
        arguments = caller.arguments(asked, **more)
        if name == "parse":
            await owner.parse(**arguments)
        elif name == "with_raw_response":
            response = await owner.with_raw_response.create(**arguments)
            answer = response.parse()
            answer = await answer if inspect.isawaitable(answer) else answer
            [event async for event in answer] if more else None
        else:
            async with owner.with_streaming_response.create(**arguments) as response:
                answer = await response.parse()
                [event async for event in answer] if more else None

    calls = [(caller.methods(wrapped), name, more) for name, more in WAYS]
    if api != "responses":
        calls.append((caller.methods(wrapped.beta), *WAYS[1]))
    for number, call in enumerate(calls):
        parsed(*call) if mode == "sync" else asyncio.run(async_parsed(*call))
        assert FACT in json.dumps(models.bodies[-1])
        assert stored(known)[2 * number :] == turn


def test_the_tool_runner_of_anthropic_has_memory(
    models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    @anthropic.beta_tool
    def clock(zone: str) -> str:
        """The time.

        Args:
            zone: the time zone.
        """
        return f"12:00 {zone}"

    caller = Caller("anthropic", "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    models.tool = {"zone": "UTC"}
    asked = caller.arguments([{"role": "user", "content": QUESTION}])
    wrapped.beta.messages.tool_runner(tools=[clock], **asked).until_done()
    assert [of.role for of in known.messages()] == ["user", "assistant", "tool", "assistant"]
    assert FACT in json.dumps(models.bodies[0])


@pytest.mark.parametrize(
    ("api", "stream", "answer", "turn"),
    [
        ("chat", False, {"content": ""}, [("user", QUESTION)]),
        ("chat", True, {"content": ""}, [("user", QUESTION)]),
        ("chat", True, {"ends": False}, []),
        ("responses", False, {"status": "failed"}, []),
        ("responses", True, {"status": "failed"}, []),
        ("responses", False, {"status": "queued"}, []),
        ("responses", True, {"status": "queued"}, []),
    ],
)
def test_an_answer_without_content_is_not_stored_and_none_that_failed_with_its_question(
    api: str,
    stream: bool,
    answer: dict[str, Any],
    turn: list[tuple[str, str]],
    models: Models,
    known: recollect.Session,
    client: Recollect,
    app: str,
) -> None:
    for name, value in answer.items():
        setattr(models, name, value)
    caller = Caller(api, "sync", models)
    wrapped = caller.wrapped(app=app, user="ada", session="42", client=client)
    more = {"stream": True} if stream else {}
    caller.create(wrapped, [{"role": "user", "content": QUESTION}], **more)
    # The conversation exists, and has nothing else.
    known.append(user="Hello.")
    assert stored(known) == [*turn, ("user", "Hello.")]


def test_what_is_recalled_and_stored_can_be_chosen(
    models: Models, known: recollect.Session, client: Recollect, app: str
) -> None:
    caller = Caller("chat", "sync", models)
    names: dict[str, Any] = {"app": app, "user": "ada", "client": client}
    context = {"policy": recollect.types.Policy(mode="window")}
    wrapped = caller.wrapped(**names, agent_session="42", store=False, context=context)
    caller.create(wrapped, [{"role": "user", "content": QUESTION}])
    assert caller.sent() == [[QUESTION]] and recollect.memory_of(wrapped).error is None
    known.append(user="Hello.")
    caller.create(wrapped, [{"role": "user", "content": QUESTION}])
    assert "Hello." in caller.sent()[0][0] and stored(known) == [("user", "Hello.")]
    for name in ("query", "length"):
        with pytest.raises(errors.InvalidArgumentError, match=f"context does not take {name}"):
            caller.wrapped(**names, session="42", context={name: "1"})


@pytest.mark.parametrize("mode", MODES)
def test_a_call_goes_on_without_a_memory_that_is_away(
    mode: str, models: Models, caplog: pytest.LogCaptureFixture
) -> None:
    caller = Caller("chat", mode, models)
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
    given.chat.completions.create(model="small", messages=asked)
    given.with_raw_response.chat.completions.create(model="small", messages=asked)
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
