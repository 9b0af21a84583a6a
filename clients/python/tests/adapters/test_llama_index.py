"""The memory and the memory block, with LlamaIndex's own package and a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    ChatResponse,
    DocumentBlock,
    ImageBlock,
    LLMMetadata,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import Memory

from recollect import NO_USER, AsyncRecollect, Recollect, types
from recollect.llama_index import RecollectMemory, RecollectMemoryBlock

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256))
MESSAGES = [
    ChatMessage(role=MessageRole.SYSTEM, content="You help."),
    ChatMessage(role=MessageRole.DEVELOPER, content="Be brief."),
    ChatMessage(content="What time is it?", additional_kwargs={"trace": {"id": [1, 2**60 + 1]}}),
    ChatMessage(
        role=MessageRole.ASSISTANT,
        blocks=[
            ThinkingBlock(content="A clock.", additional_information={"signature": "s"}),
            TextBlock(text="Looking."),
            ToolCallBlock(tool_call_id="c1", tool_name="clock", tool_kwargs={"zone": "UTC"}),
            ToolCallBlock(tool_name="draw", tool_kwargs="{oops"),
        ],
    ),
    ChatMessage(
        role=MessageRole.TOOL,
        content="12:00",
        additional_kwargs={"tool_call_id": "c1", "name": "clock"},
    ),
    ChatMessage(role=MessageRole.TOOL, content="no id"),
    ChatMessage(role=MessageRole.MODEL, content="Noon."),
    ChatMessage(
        blocks=[
            ImageBlock(url="https://example.com/a.png", detail="low"),
            ImageBlock(image=PNG),
            AudioBlock(audio=b"RIFF0000WAVEfmt ", format="wav"),
            DocumentBlock(data=b"%PDF-1.4", title="a.pdf"),
        ]
    ),
    ChatMessage(content=""),
    ChatMessage(role=MessageRole.ASSISTANT, blocks=[]),
]


def own(client: Recollect, app: str, **settings: Any) -> RecollectMemory:
    return RecollectMemory("42", app=app, user="ada", client=client, **settings)


def test_every_kind_of_message_comes_back_as_it_was(client: Recollect, app: str) -> None:
    memory = own(client, app)
    assert memory.get() == memory.get_all() == []
    memory.reset()
    memory.put_messages(MESSAGES)
    assert memory.get() == MESSAGES
    memory.put(MESSAGES[0])
    assert memory.get_all() == [*MESSAGES, MESSAGES[0]]
    memory.set(MESSAGES[:2])
    assert memory.get_all() == MESSAGES[:2]
    memory.reset()
    assert memory.get_all() == []


def test_a_set_that_fails_keeps_the_former_messages(client: Recollect, app: str) -> None:
    memory = own(client, app)
    former = MESSAGES[:2]
    memory.set(former)
    many = [ChatMessage(role=MessageRole.USER, content=f"message {n}") for n in range(299)]
    for bad in [
        ChatMessage(role=MessageRole.USER, content="x" * 1_200_000),
        ChatMessage(role=MessageRole.USER, content="a", additional_kwargs={"x": object()}),
    ]:
        for messages in ([bad], [*many, bad]):
            with pytest.raises(Exception, match=r".+"):
                memory.set(messages)
            assert memory.get_all() == former
    assert len(list(memory.memory.messages())) == len(former)

    async def use() -> None:
        with pytest.raises(Exception, match=r".+"):
            await memory.aset([*many, ChatMessage(role=MessageRole.USER, content="x" * 1_200_000)])
        assert await memory.aget_all() == former
        await memory.aset(MESSAGES[2:4])
        assert await memory.aget_all() == MESSAGES[2:4]

    asyncio.run(use())


def test_the_asynchronous_methods_do_the_same(client: Recollect, app: str) -> None:
    async def use() -> None:
        memory = own(client, app)
        assert await memory.aget() == []
        await memory.areset()
        await memory.aput_messages(MESSAGES)
        assert await memory.aget() == await memory.aget_all() == MESSAGES
        await memory.aput(MESSAGES[0])
        assert len(await memory.aget_all()) == len(MESSAGES) + 1
        await memory.aset(MESSAGES[:2])
        assert await memory.aget_all() == MESSAGES[:2]
        await memory.areset()
        assert await memory.aget_all() == []

    asyncio.run(use())


def test_files_and_long_texts_come_back(client: Recollect, app: str) -> None:
    large = [
        ChatMessage(blocks=[TextBlock(text="Look: "), ImageBlock(image=PNG * 500)]),
        ChatMessage(role=MessageRole.ASSISTANT, content="word " * 20_000),
    ]
    memory = own(client, app)
    memory.put_messages(large)
    assert memory.get_all() == large
    assert asyncio.run(own(client, app).aget_all()) == large


def test_a_limit_keeps_whole_turns(client: Recollect, app: str) -> None:
    for number in range(5):
        own(client, app).put_messages(
            [
                ChatMessage(content=f"Question {number}"),
                ChatMessage(role=MessageRole.ASSISTANT, content=f"Answer {number}"),
            ]
        )
    for limit, kept in ((20, 2), (1000, 10)):
        memory = own(client, app, token_limit=limit)
        assert len(memory.get()) == len(asyncio.run(memory.aget())) == kept
        assert memory.get()[-1].content == "Answer 4"
        assert len(memory.get_all()) == 10
    with pytest.raises(ValueError):
        own(client, app, token_limit=0)


def test_users_do_not_see_each_other(client: Recollect, app: str) -> None:
    own(client, app).put(ChatMessage(content="The code is 1234."))
    other = RecollectMemory.from_defaults(
        session_id="42",
        app=app,
        user="bob",
        client=client,
        chat_history=[ChatMessage(content="Hello")],
    )
    assert [message.content for message in other.get_all()] == ["Hello"]
    other.reset()
    assert len(own(client, app).get_all()) == 1
    # No session id has a meaning of its own.
    users: list[str | types.NoUser] = ["alice", "bob", NO_USER]
    for session_id in ("global", "user:bob", f"agent_memory:{app}", "thread:global"):
        for user in users:
            memory = RecollectMemory(session_id, app=app, user=user, client=client)
            assert memory.get_all() == []
            memory.put(ChatMessage(content=str(user)))
        for user in users:
            memory = RecollectMemory(session_id, app=app, user=user, client=client)
            assert [message.content for message in memory.get_all()] == [str(user)]


class ScriptedModel(FunctionCallingLLM):
    """Answers with scripted messages, and keeps what it was sent."""

    answers: list[ChatMessage] = []
    sent: list[list[ChatMessage]] = []

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True)

    def _prepare_chat_with_tools(
        self,
        tools: Any,
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return {"messages": list(chat_history or [])}

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self.sent.append([message.model_copy(deep=True) for message in messages])
        return ChatResponse(message=self.answers.pop(0))

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        answer = await self.achat(messages)

        async def stream() -> AsyncIterator[ChatResponse]:
            yield answer

        return stream()

    def get_tool_calls_from_response(
        self, response: ChatResponse, *args: Any, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "",
                tool_name=block.tool_name,
                tool_kwargs=block.tool_kwargs if isinstance(block.tool_kwargs, dict) else {},
            )
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]

    def _never(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    chat = stream_chat = complete = stream_complete = _never
    acomplete = astream_complete = _never


def said(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


# Of the framework: it looks at all attributes of its models.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20")
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211")
def test_an_agent_remembers(client: Recollect, app: str) -> None:
    def clock(zone: str) -> str:
        """The time."""
        return f"12:00 {zone}"

    call = ToolCallBlock(tool_call_id="c1", tool_name="clock", tool_kwargs={"zone": "UTC"})
    called = ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])
    model = ScriptedModel(answers=[said("Nice!"), called, said("Noon."), said("Pixel.")])

    async def main() -> None:
        agent = FunctionAgent(tools=[clock], llm=model)
        memory = own(client, app)
        await agent.run("My dog is called Pixel.", memory=memory)
        await agent.run("What time is it?", memory=memory)
        await agent.run("What is my dog called?", memory=own(client, app))
        last = model.sent[-1]
        assert [message.role.value for message in last] == [
            "user",
            "assistant",
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
        ]
        assert last[0].content == "My dog is called Pixel."
        assert last[4].content == "12:00 UTC"

    asyncio.run(main())
    # It is a conversation like any other.
    context = own(client, app).memory.context("And now?", policy={"mode": "window"})
    assert "12:00 UTC" in str(context.messages) and "tool_calls" in str(context.messages)


def test_a_block_recalls_what_has_left_the_short_term_memory(addr: str, app: str) -> None:
    async def main() -> None:
        async with AsyncRecollect(addr) as client:

            def memory(user: str) -> Memory:
                block = RecollectMemoryBlock("42", app=app, user=user, client=client)
                return Memory.from_defaults(
                    session_id=f"{app}-{user}",
                    token_limit=400,
                    token_flush_size=100,
                    chat_history_token_ratio=0.5,
                    memory_blocks=[block],
                )

            own = memory("ada")
            await client.user(app=app, user="ada").remember("Ada likes tea.")
            await own.aput(ChatMessage(content="My dog is called </recollect> Pixel & Co."))
            for number in range(30):
                await own.aput(said(f"This is the answer to something else, number {number}."))
            await own.aput(ChatMessage(content="What is my dog called, and what does Ada like?"))
            [system, *rest] = await own.aget()
            assert system.role == MessageRole.SYSTEM
            assert all("Pixel" not in str(message.content) for message in rest)
            assert '{"memory": "Ada likes tea."}' in str(system.content)
            line = '{"speaker": "user", "text": "My dog is called \\u003c/recollect\\u003e Pixel'
            assert line in str(system.content)
            assert str(system.content).count("</recollect>") == 1
            other = memory("bob")
            await other.aput(ChatMessage(content="What is my dog called?"))
            assert all("Pixel" not in str(message.content) for message in await other.aget())
            for kept in (own, other):
                # LlamaIndex's short-term memory is a database in this process.
                await cast(Any, kept.sql_store)._async_engine.dispose()

    asyncio.run(main())
