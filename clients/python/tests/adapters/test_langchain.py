"""The chat message history, with LangChain's own package and a real server."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

from recollect import NO_USER, Recollect, types
from recollect.langchain import RecollectChatMessageHistory

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 80
KINDS: list[BaseMessage] = [
    SystemMessage("You help."),
    HumanMessage("What time is it?", name="Ada"),
    AIMessage(
        "",
        id="run-1",
        tool_calls=[{"name": "clock", "args": {"zone": "UTC", "n": 1}, "id": "c1"}],
        response_metadata={"model_name": "small", "token_usage": {"details": {"cached": 1}}},
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
    ),
    ToolMessage("12:00", tool_call_id="c1", name="clock", artifact={"raw": [1, 2]}),
    ToolMessage([{"type": "text", "text": "no"}], tool_call_id="c2", status="error"),
    AIMessage(
        [
            {"type": "thinking", "thinking": "Noon.", "signature": "s"},
            {"type": "text", "text": "It is noon."},
        ]
    ),
    HumanMessage(
        [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            {"type": "custom", "data": {"x": [1]}},
        ]
    ),
    AIMessage(
        "A cat.",
        invalid_tool_calls=[{"name": "draw", "args": "{oops", "id": "c3", "error": "bad"}],
    ),
    ChatMessage(content="Over to me.", role="critic"),
    HumanMessage(""),
]


def history(client: Recollect, app: str, **settings: Any) -> RecollectChatMessageHistory:
    return RecollectChatMessageHistory("42", app=app, user="ada", client=client, **settings)


def test_every_kind_of_message_comes_back_as_it_was(client: Recollect, app: str) -> None:
    own = history(client, app)
    assert own.messages == []
    own.add_messages(KINDS)
    assert own.messages == KINDS
    assert [type(message) for message in own.messages] == [type(message) for message in KINDS]
    own.clear()
    assert own.messages == []


def test_a_message_too_large_to_keep_beside_itself_keeps_its_content(
    client: Recollect, app: str
) -> None:
    more = {"many": list(range(10_000))}
    long = AIMessage("word " * 10_000, id="run-1", name="Bot", additional_kwargs=more)
    history(client, app).add_messages([long])
    [read] = history(client, app).messages
    assert (read.content, read.name, read.id) == (long.content, "Bot", None)


def test_images_of_every_form_and_size_come_back_and_count_as_images(
    client: Recollect, app: str
) -> None:
    small, large = base64.b64encode(b"\x89PNG" * 9).decode(), base64.b64encode(PNG).decode()
    for content in (small, large):
        forms: list[Any] = [
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{content}"}},
            {"type": "image", "base64": content, "mime_type": "image/png"},
            {
                "type": "image",
                "source_type": "base64",
                "data": content,
                "mime_type": "image/png",
            },
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": content},
            },
            {"type": "file", "base64": content, "mime_type": "application/pdf"},
        ]
        messages: list[BaseMessage] = [
            HumanMessage([{"type": "text", "text": "see"}, form]) for form in forms
        ]
        messages.append(ToolMessage([forms[0]], tool_call_id="c1"))
        history = RecollectChatMessageHistory(f"{len(content)}", app=app, user="ada", client=client)
        history.add_messages(messages)
        assert history.messages == messages
        for message in history.memory.messages():
            assert message.proto.token_count < 2_000


def test_files_beside_long_texts_keep_their_kind(client: Recollect, app: str) -> None:
    content = base64.b64encode(PNG).decode()
    block = {"type": "file", "base64": content, "mime_type": "application/pdf"}
    message = HumanMessage([{"type": "text", "text": "x" * 13_000}, block])
    history = RecollectChatMessageHistory("42", app=app, user="ada", client=client)
    history.add_messages([message])
    assert history.messages == [message]


def test_long_messages_keep_their_ids_and_what_belongs_to_them(client: Recollect, app: str) -> None:
    long = "word " * 3_000
    messages: list[BaseMessage] = [
        HumanMessage(long, id="h1", additional_kwargs={"page": 1}),
        AIMessage(
            [
                {"type": "thinking", "thinking": long, "signature": "c2ln" * 200},
                {"type": "redacted_thinking", "data": "ZGF0YQ==" * 200},
                {"type": "text", "text": long},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"file": "a"}},
            ],
            id="run-1",
            tool_calls=[{"name": "read", "args": {"file": "a"}, "id": "c1"}],
            response_metadata={"model_name": "small"},
            usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        ),
        ToolMessage(long, tool_call_id="c1", artifact={"raw": [1]}),
        AIMessage(long, id="run-2", response_metadata={"model_name": "small"}),
    ]
    history = RecollectChatMessageHistory("42", app=app, user="ada", client=client)
    history.add_messages(messages)
    assert history.messages == messages


def test_signed_thoughts_go_back_to_their_provider(client: Recollect, app: str) -> None:
    thought = {"type": "thinking", "thinking": "The file says it.", "signature": "c2ln"}
    call = {"name": "read", "args": {"file": "a"}, "id": "c1"}
    use = {"type": "tool_use", "id": "c1", "name": "read", "input": {"file": "a"}}
    history = RecollectChatMessageHistory("42", app=app, user="ada", client=client)
    history.add_messages(
        [
            HumanMessage("What is in it?"),
            AIMessage([thought, {"type": "text", "text": "I look."}, use], tool_calls=[call]),
            ToolMessage("A cat.", tool_call_id="c1"),
        ]
    )
    request = history.memory.history(format="anthropic").request
    assert request is not None
    assert request["messages"][1]["content"] == [thought, {"type": "text", "text": "I look."}, use]


@pytest.mark.parametrize(
    "like",
    [{"$recollect_text": 0}, {"$recollect_text": "x"}, {"$recollect_file": "literal", "value": 1}],
)
def test_what_looks_like_a_place_of_a_text_comes_back_as_it_was(
    client: Recollect, app: str, like: dict[str, Any]
) -> None:
    message = HumanMessage("word " * 100, id="h1", additional_kwargs={"like": like})
    history = RecollectChatMessageHistory("42", app=app, user="ada", client=client)
    history.add_messages([message])
    assert history.messages == [message]


@pytest.mark.parametrize("place", [0, -1, True, "literal", None, {"$recollect_file": 0}])
def test_what_looks_like_a_place_of_a_file_comes_back_as_it_was(
    client: Recollect, app: str, place: Any
) -> None:
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    message = AIMessage(
        [{"type": "image_url", "image_url": {"url": url}}],
        id="run-1",
        tool_calls=[{"name": "f", "args": {"$recollect_file": place, "form": "url"}, "id": "c1"}],
    )
    history = RecollectChatMessageHistory("42", app=app, user="ada", client=client)
    history.add_messages([message])
    assert history.messages == [message]


def test_messages_of_other_clients_are_read_too(client: Recollect, app: str) -> None:
    own = history(client, app)
    own.memory.append(
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "clock", "arguments": '{"zone": "UTC"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "12:00"},
        user="What time is it?",
        assistant="Noon.",
    )
    human, call, result, answer = own.messages
    assert human == HumanMessage("What time is it?")
    assert isinstance(call, AIMessage) and isinstance(result, ToolMessage)
    assert call.tool_calls[0]["args"] == {"zone": "UTC"}
    assert (result.tool_call_id, result.content) == ("c1", "12:00")
    assert answer == AIMessage("Noon.")


def test_limits_keep_whole_turns(client: Recollect, app: str) -> None:
    for number in range(5):
        turn = [HumanMessage(f"Question {number}"), AIMessage(f"Answer {number}")]
        history(client, app).add_messages(turn)
    newest = history(client, app, max_messages=3).messages
    assert [message.content for message in newest] == ["Question 4", "Answer 4"]
    assert len(history(client, app, max_tokens=30).messages) in (2, 4)
    assert len(history(client, app).messages) == 10


def test_only_the_branch_of_the_head_is_read(client: Recollect, app: str) -> None:
    own = history(client, app)
    own.add_messages([HumanMessage("Where to?"), AIMessage("Paris.")])
    first, second = [message.id for message in own.memory.messages()]
    own.memory.set_head(first)
    own.add_messages([AIMessage("Rome."), HumanMessage("Why?"), AIMessage("It is warm.")])
    texts = ["Where to?", "Rome.", "Why?", "It is warm."]
    assert [message.content for message in own.messages] == texts
    # The path goes on where a message of it was deleted.
    newest = list(own.memory.path())
    own.memory.delete_message(newest[1].id)
    assert [message.content for message in own.messages] == ["Where to?", "Rome.", "It is warm."]
    assert [message.text for message in own.memory.path(head=second)] == ["Paris.", "Where to?"]


def test_a_model_is_called_with_the_history_and_the_turn_is_added(
    client: Recollect, app: str
) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("A fine name!"), AIMessage("Pixel.")]))
    for text in ("My dog is called Pixel.", "What is my dog called?"):
        own = history(client, app)
        question = HumanMessage(text)
        answer = model.invoke([*own.messages, question])
        own.add_messages([question, answer])
    assert [message.content for message in history(client, app).messages] == [
        "My dog is called Pixel.",
        "A fine name!",
        "What is my dog called?",
        "Pixel.",
    ]


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_a_runnable_remembers(client: Recollect, app: str) -> None:
    seen: list[list[BaseMessage]] = []

    class Model(GenericFakeChatModel):
        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            seen.append(messages)
            return super()._generate(messages, *args, **kwargs)

    model = Model(messages=iter([AIMessage("A fine name!"), AIMessage("Pixel."), AIMessage("!")]))
    prompt = ChatPromptTemplate.from_messages(
        [("system", "You help."), MessagesPlaceholder("history"), ("human", "{question}")]
    )
    chain = RunnableWithMessageHistory(
        prompt | model,
        lambda session_id: RecollectChatMessageHistory(
            session_id, app=app, user="ada", client=client
        ),
        input_messages_key="question",
        history_messages_key="history",
    )
    config: Any = {"configurable": {"session_id": "42"}}
    chain.invoke({"question": "My dog is called Pixel."}, config)
    answer = chain.invoke({"question": "What is my dog called?"}, config)
    assert answer.content == "Pixel."
    assert [message.content for message in seen[1]] == [
        "You help.",
        "My dog is called Pixel.",
        "A fine name!",
        "What is my dog called?",
    ]
    asyncio.run(chain.ainvoke({"question": "Thanks"}, config))
    assert [message.content for message in seen[2]][1:5] == [
        "My dog is called Pixel.",
        "A fine name!",
        "What is my dog called?",
        "Pixel.",
    ]
    recalled = client.user(app=app, user="ada").recall("My dog is called Pixel", top_k=1)
    assert any(found.text == "My dog is called Pixel." for found in recalled)


def test_users_do_not_see_each_other(client: Recollect, app: str) -> None:
    users: list[str | types.NoUser] = ["alice", "bob", NO_USER]

    def of(user: str | types.NoUser, session_id: str) -> RecollectChatMessageHistory:
        return RecollectChatMessageHistory(session_id, app=app, user=user, client=client)

    # No session id has a meaning of its own.
    for session_id in ("42", "global", "user:bob", f"agent_memory:{app}", "thread:global"):
        for user in users:
            assert of(user, session_id).messages == []
            of(user, session_id).add_user_message(f"{user} in {session_id}")
        for user in users:
            [kept] = of(user, session_id).messages
            assert kept.content == f"{user} in {session_id}"


def test_histories_share_a_client(addr: str, app: str) -> None:
    first = RecollectChatMessageHistory("1", app=app, user="ada")
    second = RecollectChatMessageHistory("2", app=app, user="ada")
    assert first.memory._channels is second.memory._channels
    first.add_user_message("Hello")
    assert (len(first.messages), len(second.messages)) == (1, 0)
