"""The session, with the OpenAI Agents SDK's own package and a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, cast

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.memory.session import Session
from agents.memory.session_settings import SessionSettings
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from recollect import NO_USER, AsyncRecollect, types
from recollect.openai_agents import RecollectSession

IMAGE = "data:image/png;base64," + "A" * 20_000
PDF = "data:application/pdf;base64," + "A" * 300_000
LARGE: list[Any] = [
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": IMAGE, "detail": "high"},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "input_file", "filename": "a.pdf", "file_data": PDF}],
    },
]

ITEMS: list[Any] = [
    {"role": "user", "content": "What time is it?"},
    {"role": "user", "content": [{"type": "input_text", "text": "In Rome."}]},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "A clock helps."}],
        "encrypted_content": "xyz",
    },
    {"type": "function_call", "call_id": "c1", "name": "clock", "arguments": '{"zone": "Rome"}'},
    {
        "type": "function_call",
        "call_id": "c2",
        "name": "clock",
        "arguments": "{}",
        "id": "fc_1",
        "status": "completed",
    },
    {"type": "function_call_output", "call_id": "c1", "output": "13:00"},
    {"type": "function_call_output", "call_id": "c2", "output": ""},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "time"}},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It is one.", "annotations": []}],
    },
    {"role": "developer", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"},
            {"type": "input_file", "file_id": "file_1"},
        ],
    },
    {"role": "user", "content": []},
    {"role": "user", "content": ""},
]


def with_session(
    addr: str, app: str, use: Callable[[RecollectSession], Coroutine[Any, Any, None]]
) -> None:
    async def main() -> None:
        async with AsyncRecollect(addr) as client:
            await use(RecollectSession("42", app=app, user="ada", client=client))

    asyncio.run(main())


def test_large_files_come_back_as_they_were(addr: str, app: str) -> None:
    async def use(session: RecollectSession) -> None:
        await session.add_items(LARGE)
        assert await session.get_items() == LARGE
        for item in reversed(LARGE):
            assert await session.pop_item() == item

    with_session(addr, app, use)


def test_every_kind_of_item_comes_back_as_it_was(addr: str, app: str) -> None:
    async def use(session: RecollectSession) -> None:
        assert isinstance(session, Session)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.clear_session()
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS
        assert await session.get_items(limit=2) == ITEMS[-2:]
        assert await session.get_items(limit=0) == []
        session.session_settings = SessionSettings(limit=3)
        assert await session.get_items() == ITEMS[-3:]
        for item in reversed(ITEMS):
            assert await session.pop_item() == item
        assert await session.pop_item() is None
        await session.add_items(ITEMS[:1])
        assert await session.get_items() == ITEMS[:1]
        await session.clear_session()
        assert await session.get_items() == []

    with_session(addr, app, use)


def test_items_that_are_popped_at_the_same_time_are_different(addr: str, app: str) -> None:
    items: list[Any] = [{"role": "user", "content": f"Line {number}"} for number in range(60)]

    async def pop_all(session: RecollectSession) -> list[Any]:
        popped: list[Any] = []
        while (item := await session.pop_item()) is not None:
            popped.append(item)
        return popped

    async def use(session: RecollectSession) -> None:
        await session.add_items(items)
        async with AsyncRecollect(addr) as other_client:
            other = RecollectSession("42", app=app, user="ada", client=other_client)
            one, two = await asyncio.gather(pop_all(session), pop_all(other))
        contents = [item["content"] for item in one + two]
        assert sorted(contents) == sorted(item["content"] for item in items)
        # Each gets its items from the newest to the oldest.
        for popped in (one, two):
            numbers = [int(item["content"].removeprefix("Line ")) for item in popped]
            assert numbers and numbers == sorted(numbers, reverse=True)
        assert await session.get_items() == []

    with_session(addr, app, use)


def test_a_pop_is_not_empty_while_the_newest_item_is_deleted(addr: str, app: str) -> None:
    async def use(session: RecollectSession) -> None:
        await session.add_items(ITEMS[:4])
        heads = [of.id async for of in session.memory.path()]
        get, message = session.memory.get, session.memory.message

        async def deleted_after_get(**arguments: Any) -> Any:
            found = await get(**arguments)
            if found.head == heads[0]:
                await session.memory.delete_message(heads[0])
            return found

        async def deleted_after_read(message_id: str, **arguments: Any) -> Any:
            found = await message(message_id, **arguments)
            if message_id == heads[1]:
                await session.memory.delete_message(heads[1])
            return found

        session.memory.get = deleted_after_get  # type: ignore[method-assign]
        session.memory.message = deleted_after_read  # type: ignore[method-assign]
        assert await session.pop_item() == ITEMS[1]
        await session.add_items(ITEMS[4:5])
        heads = [of.id async for of in session.memory.path()][:1]
        # Reading a path does not depend on a head that was read before it.
        assert await session.get_items() == [*ITEMS[:1], *ITEMS[4:5]]

    with_session(addr, app, use)


def test_many_and_large_items(addr: str, app: str) -> None:
    async def use(session: RecollectSession) -> None:
        many: list[Any] = [{"role": "user", "content": f"Line {number}"} for number in range(300)]
        file = {"type": "input_file", "file_data": "x" * 20_000}
        large: list[Any] = [
            {"role": "user", "content": "word " * 10_000},
            {"type": "code_interpreter_call", "id": "ci_1", "code": "x" * 20_000},
            {"role": "user", "content": [file]},
        ]
        await session.add_items(many + large)
        assert await session.get_items() == many + large

    with_session(addr, app, use)


def test_users_do_not_see_each_other(addr: str, app: str) -> None:
    async def main() -> None:
        async with AsyncRecollect(addr) as client:

            users: list[str | types.NoUser] = ["alice", "bob", NO_USER]

            def of(user: str | types.NoUser, session_id: str) -> RecollectSession:
                return RecollectSession(session_id, app=app, user=user, client=client)

            # No session id has a meaning of its own.
            for session_id in ("42", "global", "user:bob", f"agent_memory:{app}", "thread:global"):
                for user in users:
                    assert await of(user, session_id).get_items() == []
                    item: Any = {"role": "user", "content": f"{user} in {session_id}"}
                    await of(user, session_id).add_items([item])
                for user in users:
                    [kept] = await of(user, session_id).get_items()
                    assert cast(Any, kept)["content"] == f"{user} in {session_id}"

    asyncio.run(main())


class ScriptedModel(Model):
    """Answers with scripted outputs, and keeps what it was sent."""

    def __init__(self, outputs: list[list[Any]]) -> None:
        self.outputs = outputs
        self.sent: list[list[Any]] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        sent = kwargs["input"] if "input" in kwargs else args[1]
        self.sent.append(list(sent) if isinstance(sent, list) else [sent])
        return ModelResponse(output=self.outputs.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def said(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="msg_1", type="message", role="assistant", status="completed", content=[content]
    )


def test_an_agent_remembers(addr: str, app: str) -> None:
    @function_tool
    def clock(zone: str) -> str:
        """The time."""
        return f"12:00 {zone}"

    call = ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="clock", arguments='{"zone": "UTC"}'
    )
    model = ScriptedModel([[said("A fine name!")], [call], [said("Noon.")], [said("Pixel.")]])
    config = RunConfig(tracing_disabled=True)

    async def use(session: RecollectSession) -> None:
        agent = Agent(name="Assistant", model=model, tools=[clock])

        async def ask(text: str) -> Any:
            run = Runner.run(agent, text, session=cast(Session, session), run_config=config)
            return (await run).final_output

        assert await ask("My dog is called Pixel.") == "A fine name!"
        assert await ask("What time is it?") == "Noon."
        assert await ask("What is my dog called?") == "Pixel."
        roles = [item.get("role") or item.get("type") for item in model.sent[-1]]
        assert roles == [
            "user",
            "assistant",
            "user",
            "function_call",
            "function_call_output",
            "assistant",
            "user",
        ]
        assert model.sent[-1][0]["content"] == "My dog is called Pixel."
        assert model.sent[-1][4]["output"] == "12:00 UTC"
        # It is a conversation like any other.
        recalled = await session.memory.recall("dog")
        assert any(found.text == "My dog is called Pixel." for found in recalled)
        context = await session.memory.context(
            "And now?", format="anthropic", policy={"mode": "window"}
        )
        assert "tool_use" in str(context.messages) and "12:00 UTC" in str(context.messages)

    with_session(addr, app, use)
