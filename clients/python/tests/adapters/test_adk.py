"""The session and memory services, with the Agent Development Kit's own package and a real
server. The behavior is that of the Kit's tests of its own services."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from recollect import AsyncRecollect
from recollect.adk import RecollectMemoryService, RecollectSessionService

Use = Callable[[BaseSessionService, str], Coroutine[Any, Any, None]]


def with_service(addr: str, app: str, use: Use) -> None:
    """Uses ADK's own service and then Recollect's, so that the expectations hold for both."""

    async def main() -> None:
        await use(InMemorySessionService(), app)
        async with AsyncRecollect(addr) as client:
            await use(RecollectSessionService(client), app)

    asyncio.run(main())


def said(text: str, author: str = "user", **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(author=author, invocation_id="i1", content=content, **fields)


def changed(**delta: Any) -> Event:
    changes = {name.replace("__", ":"): value for name, value in delta.items()}
    return Event(author="agent", actions=EventActions(state_delta=changes))


async def read(service: BaseSessionService, session: Session, **config: Any) -> Session:
    found = await service.get_session(
        app_name=session.app_name,
        user_id=session.user_id,
        session_id=session.id,
        config=GetSessionConfig(**config) if config else None,
    )
    assert found is not None
    return found


def test_a_session_is_created_read_and_deleted(addr: str, app: str) -> None:
    async def use(service: BaseSessionService, app: str) -> None:
        names: Any = {"app_name": app, "user_id": "ada"}
        assert await service.get_session(**names, session_id="1") is None
        state = {"key": "value", "none": None, "big": 2**60 + 1, "list": [1, {"a": 0.1}]}
        session = await service.create_session(**names, state=state)
        assert session.id and session.state == state and session.events == []
        assert abs(session.last_update_time - time.time()) < 60
        assert await read(service, session) == session
        # A padded id is the same one, and an empty one is made up.
        padded = await service.create_session(**names, session_id=" 2 ")
        assert padded.id == "2"
        found = await service.get_session(**names, session_id=" 2")
        assert found is not None and found.id == "2"
        assert (await service.create_session(**names, session_id=" ")).id.strip()
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**names, session_id="2")
        await service.delete_session(**names, session_id=session.id)
        await service.delete_session(**names, session_id=session.id)
        assert await service.get_session(**names, session_id=session.id) is None
        with pytest.raises(SessionNotFoundError):
            await service.append_event(session, said("Hello"))
        # A new session of the same id has nothing of the old one.
        again = await service.create_session(**names, session_id=session.id)
        assert (await read(service, again)).state == {}

    with_service(addr, app, use)


COMPLETE = Event(
    invocation_id="invocation",
    author="user",
    branch="a.b",
    content=types.Content(role="user", parts=[types.Part(text="test\x00 text")]),
    turn_complete=True,
    partial=False,
    actions=EventActions(artifact_delta={"file": 0}, transfer_to_agent="agent", escalate=True),
    long_running_tool_ids={"tool1"},
    error_code="error_code",
    error_message="error_message",
    interrupted=True,
    grounding_metadata=types.GroundingMetadata(
        web_search_queries=["query1"],
        search_entry_point=types.SearchEntryPoint(sdk_blob=b"\xff\x00blob"),
    ),
    usage_metadata=types.GenerateContentResponseUsageMetadata(
        prompt_token_count=1, candidates_token_count=1, total_token_count=2
    ),
    citation_metadata=types.CitationMetadata(),
    custom_metadata={"custom_key": "custom_value"},
    timestamp=1700000000.123,
    input_transcription=types.Transcription(text="input", finished=True),
)


def parts() -> list[types.Part]:
    return [
        types.Part(text="Look.", thought=True, thought_signature=b"\x01\xff\xfe"),
        types.Part(text="Calling.", thought_signature=b"abc"),
        types.Part(
            function_call=types.FunctionCall(id="c1", name="clock", args={"zone": "UTC", "n": 1})
        ),
        types.Part(function_call=types.FunctionCall(name="no_id", args={})),
        types.Part.from_bytes(data=b"\x89PNG\x00", mime_type="image/png"),
        types.Part.from_uri(file_uri="https://example.com/a.png", mime_type="image/png"),
        types.Part.from_uri(file_uri="gs://bucket/a.pdf", mime_type="application/pdf"),
        types.Part.from_executable_code(code="print(1)", language=types.Language.PYTHON),
        types.Part(text=""),
    ]


def test_every_kind_of_event_comes_back_as_it_was(addr: str, app: str) -> None:
    answer = types.Part(
        function_response=types.FunctionResponse(id="c1", name="clock", response={"now": "12:00"})
    )
    big = b"\x00\x01\x02" * 200_000
    events = [
        COMPLETE,
        changed(first=1),
        Event(author="agent", content=types.Content(role="model", parts=parts())),
        Event(author="agent", content=types.Content(role="user", parts=[answer])),
        Event(author="user", content=types.Content(role="user", parts=[answer, parts()[0]])),
        changed(large="x" * 900_000, small="\x00\N{GRINNING FACE}"),
        Event(author="agent", custom_metadata={"large": '"x' * 200_000}),
        said("word " * 100_000, "agent"),
        Event(
            author="user",
            content=types.Content(
                role="user", parts=[types.Part.from_bytes(data=big, mime_type="image/png")]
            ),
        ),
        Event(author="agent", content=types.Content(role="model", parts=[])),
        Event(author="agent", turn_complete=True),
    ]

    async def use(service: BaseSessionService, app: str) -> None:
        session = await service.create_session(app_name=app, user_id="ada", session_id="1")
        for event in events:
            await service.append_event(session, event.model_copy(deep=True))
        found = await read(service, session)
        assert found.events == session.events == events
        assert found == session
        assert found.last_update_time == events[-1].timestamp

    with_service(addr, app, use)


def test_state_has_the_scopes_of_app_user_and_session(addr: str, app: str) -> None:
    async def use(service: BaseSessionService, app: str) -> None:
        first = {"app:k1": 1, "user:k1": 2, "k1": 3, "temp:k1": 4}
        one = await service.create_session(
            app_name=app, user_id="ada", session_id="s1", state=first
        )
        assert {key: one.state[key] for key in ("app:k1", "user:k1", "k1")} == {
            "app:k1": 1,
            "user:k1": 2,
            "k1": 3,
        }
        event = changed(app__k2="a", user__k2="u", k2="s", temp__k2="t")
        await service.append_event(one, event)
        # Temporary state is there for the invocation alone.
        assert one.state["temp:k2"] == "t"
        assert event.actions.state_delta == {"app:k2": "a", "user:k2": "u", "k2": "s"}
        stored = await read(service, one)
        kept = {"app:k1": 1, "app:k2": "a", "user:k1": 2, "user:k2": "u", "k1": 3, "k2": "s"}
        assert stored.state == kept
        assert stored.events[0].actions.state_delta == event.actions.state_delta
        two = await service.create_session(app_name=app, user_id="ada", session_id="s2")
        assert two.state == {"app:k1": 1, "app:k2": "a", "user:k1": 2, "user:k2": "u"}
        other = await service.create_session(app_name=app, user_id="bob", session_id="s1")
        assert other.state == {"app:k1": 1, "app:k2": "a"}
        elsewhere = await service.create_session(app_name=f"{app}-2", user_id="ada")
        assert elsewhere.state == {}
        assert await service.get_user_state(app_name=app, user_id="ada") == {"k1": 2, "k2": "u"}
        assert await service.get_user_state(app_name=app, user_id="eve") == {}
        await service.append_event(one, changed(k1=None, user__k1=None))
        again = await read(service, one)
        assert (again.state["k1"], again.state["user:k1"]) == (None, None)
        await service.delete_session(app_name=app, user_id="ada", session_id="s1")
        assert (await read(service, two)).state["user:k2"] == "u"

    with_service(addr, app, use)


def test_sessions_are_listed_with_state_and_without_events(addr: str, app: str) -> None:
    async def use(service: BaseSessionService, app: str) -> None:
        assert (await service.list_sessions(app_name=app, user_id="ada")).sessions == []
        names = [("ada", "1"), ("ada", "2"), ("bob", "1")]
        sessions = [
            await service.create_session(
                app_name=app, user_id=user, session_id=session, state={"of": user + session}
            )
            for user, session in names
        ]
        await service.append_event(sessions[0], said("Hello"))
        of_ada = (await service.list_sessions(app_name=app, user_id="ada")).sessions
        assert [(one.id, one.state, one.events) for one in of_ada] == [
            ("2", {"of": "ada2"}, []),
            ("1", {"of": "ada1"}, []),
        ]
        everything = (await service.list_sessions(app_name=app)).sessions
        assert [(one.user_id, one.id) for one in everything] == [
            ("ada", "2"),
            ("bob", "1"),
            ("ada", "1"),
        ]

    with_service(addr, app, use)


def test_a_session_id_has_a_limit(addr: str, app: str) -> None:
    async def main() -> None:
        async with AsyncRecollect(addr) as client:
            service = RecollectSessionService(client)
            longest = "\N{LATIN SMALL LETTER E WITH ACUTE}" * 128
            session = await service.create_session(
                app_name=app, user_id="ada", session_id=longest, state={"k": 1}
            )
            assert (await read(service, session)).state == {"k": 1}
            with pytest.raises(ValueError, match="256 bytes"):
                await service.create_session(app_name=app, user_id="ada", session_id=longest + "x")

    asyncio.run(main())


def test_users_do_not_see_each_other(addr: str, app: str) -> None:
    async def use(service: BaseSessionService, app: str) -> None:
        # Some names have a meaning of their own in Recollect, and none here.
        for name in ("42", "global", "user:bob", f"agent_memory:{app}"):
            mine = await service.create_session(app_name=app, user_id="ada", session_id=name)
            await service.append_event(mine, said("The code is 1234."))
            assert await service.get_session(app_name=app, user_id="bob", session_id=name) is None
            theirs = await service.create_session(app_name=app, user_id="bob", session_id=name)
            assert (await read(service, theirs)).events == []
            await service.delete_session(app_name=app, user_id="bob", session_id=name)
            assert len((await read(service, mine)).events) == 1

    with_service(addr, app, use)


def test_a_part_of_the_events_is_read(addr: str, app: str) -> None:
    async def use(service: BaseSessionService, app: str) -> None:
        session = await service.create_session(app_name=app, user_id="ada")
        for number in range(1, 6):
            event = said(str(number)) if number % 2 else changed(step=number)
            event.timestamp = float(number)
            await service.append_event(session, event)

        async def times(**config: Any) -> list[float]:
            return [event.timestamp for event in (await read(service, session, **config)).events]

        assert await times() == [1, 2, 3, 4, 5]
        assert await times(num_recent_events=0) == []
        assert await times(num_recent_events=3) == [3, 4, 5]
        assert await times(num_recent_events=50) == [1, 2, 3, 4, 5]
        assert await times(after_timestamp=4.0) == [4, 5]
        assert await times(after_timestamp=50.0) == []
        assert await times(after_timestamp=4.0, num_recent_events=3) == [4, 5]
        assert (await read(service, session, num_recent_events=0)).last_update_time == 5.0

    with_service(addr, app, use)


def test_events_are_stored_once(addr: str, app: str) -> None:
    async def use(service: BaseSessionService, app: str) -> None:
        session = await service.create_session(app_name=app, user_id="ada")
        partial = said("Hel")
        partial.partial = True
        await service.append_event(session, partial)
        assert (await read(service, session)).events == session.events == []
        for event in (said("Hello"), changed(count=1)):
            await service.append_event(session, event)
            await service.append_event(session, event.model_copy(deep=True))
        await service.append_event(session, changed(count=2))
        await service.append_event(session, session.events[1].model_copy(deep=True))
        found = await read(service, session)
        assert found.events == session.events and len(found.events) == 3
        assert found.state == {"count": 2}
        # Another event with the id of the first one.
        await service.append_event(session, said("Other", id=session.events[0].id))
        assert len((await read(service, session)).events) == 4

    with_service(addr, app, use)


def test_concurrent_events_are_all_kept(addr: str, app: str) -> None:
    async def use(service: BaseSessionService, app: str) -> None:
        session = await service.create_session(app_name=app, user_id="ada")
        events = [said(f"Line {number}", "agent") for number in range(8)]
        events += [changed(**{f"key{number}": number}) for number in range(8)]
        await asyncio.gather(*(service.append_event(session, event) for event in events))
        found = await read(service, session)
        assert {event.id for event in found.events} == {event.id for event in events}
        assert found.state == {f"key{number}": number for number in range(8)}

    with_service(addr, app, use)


class ScriptedModel(BaseLlm):
    """Answers with scripted contents, and keeps what it was sent."""

    answers: list[types.Part]
    sent: list[list[types.Content]] = []

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.sent.append([content.model_copy(deep=True) for content in llm_request.contents])
        yield LlmResponse(content=types.Content(role="model", parts=[self.answers.pop(0)]))


def test_an_agent_remembers(addr: str, app: str) -> None:
    def clock(zone: str, tool_context: ToolContext) -> dict[str, str]:
        """The time."""
        tool_context.state["user:zone"] = zone
        return {"now": f"12:00 {zone}"}

    call = types.Part(function_call=types.FunctionCall(name="clock", args={"zone": "UTC"}))
    model = ScriptedModel(
        model="scripted",
        answers=[types.Part(text="Nice!"), call, types.Part(text="Noon."), types.Part(text="!")],
    )

    async def main() -> None:
        async with AsyncRecollect(addr) as client:
            sessions, memories = RecollectSessionService(client), RecollectMemoryService(client)
            runner = Runner(
                app_name=app,
                agent=LlmAgent(name="helper", model=model, tools=[clock], output_key="last"),
                session_service=sessions,
                memory_service=memories,
            )
            await sessions.create_session(app_name=app, user_id="ada", session_id="42")

            async def ask(text: str) -> None:
                message = types.Content(role="user", parts=[types.Part(text=text)])
                run = runner.run_async(user_id="ada", session_id="42", new_message=message)
                async for _ in run:
                    pass

            await ask("My dog is called Pixel.")
            await ask("What time is it?")
            await ask("What is my dog called?")
            last = model.sent[-1]
            assert [content.role for content in last] == [
                "user",
                "model",
                "user",
                "model",
                "user",
                "model",
                "user",
            ]
            assert last[0].parts and last[0].parts[0].text == "My dog is called Pixel."
            assert last[4].parts and last[4].parts[0].function_response
            found = await sessions.get_session(app_name=app, user_id="ada", session_id="42")
            assert found is not None
            assert (found.state["user:zone"], found.state["last"]) == ("UTC", "!")
            # It is a conversation like any other.
            conversation = sessions.conversation(app_name=app, user_id="ada", session_id="42")
            context = await conversation.context(
                "And now?", format="openai", policy={"mode": "window"}
            )
            assert "12:00 UTC" in str(context.messages) and "tool_calls" in str(context.messages)
            remembered = await memories.search_memory(app_name=app, user_id="ada", query="dog")
            assert "My dog is called Pixel." in texts(remembered.memories)
            foreign = await memories.search_memory(app_name=app, user_id="bob", query="dog")
            assert foreign.memories == []

    asyncio.run(main())


def texts(memories: list[MemoryEntry]) -> list[str | None]:
    return [part.text for memory in memories for part in memory.content.parts or ()]


def test_messages_of_other_clients_are_events(addr: str, app: str) -> None:
    async def main() -> None:
        async with AsyncRecollect(addr) as client:
            conversation = client.session(app=app, user="ada", session="thread:42")
            await conversation.append(
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
            service = RecollectSessionService(client)
            found = await service.get_session(app_name=app, user_id="ada", session_id="42")
            assert found is not None
            question, call, result, answer = found.events
            assert (question.author, answer.author) == ("user", "model")
            assert call.get_function_calls()[0].args == {"zone": "UTC"}
            assert result.get_function_responses()[0].response == {"output": "12:00"}
            assert answer.content and answer.content.parts
            assert answer.content.parts[0].text == "Noon."

    asyncio.run(main())


def test_memory_of_sessions_that_are_kept_elsewhere(addr: str, app: str) -> None:
    async def main() -> None:
        async with AsyncRecollect(addr) as client:
            kept, service = InMemorySessionService(), RecollectMemoryService(client)
            session = await kept.create_session(app_name=app, user_id="ada", session_id="1")
            await kept.append_event(session, said("My dog is called Pixel."))
            await kept.append_event(session, changed(key=1))
            names: Any = {"app_name": app, "user_id": "ada"}
            assert (await service.search_memory(**names, query="dog")).memories == []
            assert (await service.search_memory(**names, query=" ")).memories == []
            await service.add_session_to_memory(session)
            await kept.append_event(session, said("Pixel likes cheese.", "agent"))
            await service.add_session_to_memory(session)
            await service.add_session_to_memory(session)
            event = said("Rex is a cat.")
            await service.add_events_to_memory(**names, events=[event, event])
            await service.add_events_to_memory(**names, events=[event], session_id="2")
            found = (await service.search_memory(**names, query="Pixel cheese")).memories
            assert texts(found).count("Pixel likes cheese.") == 1
            assert texts(found).count("My dog is called Pixel.") == 1
            spoken = {texts([memory])[0]: memory for memory in found}
            assert spoken["Pixel likes cheese."].author == "agent"
            assert spoken["My dog is called Pixel."].author == "user"
            content = types.Content(parts=[types.Part(text="Ada likes tea.")])
            entry = MemoryEntry(
                id="m1", content=content, author="notes", timestamp="2026-01-01T12:00:00"
            )
            await service.add_memory(**names, memories=[entry], custom_metadata={"source": "test"})
            [known, *_] = (await service.search_memory(**names, query="tea")).memories
            assert texts([known]) == ["Ada likes tea."]
            assert (known.author, known.timestamp) == ("notes", "2026-01-01T12:00:00+00:00")
            assert known.id is not None
            # Another user can neither find nor delete it.
            others: Any = {"app_name": app, "user_id": "bob"}
            assert (await service.search_memory(**others, query="tea")).memories == []
            for memory_id in (known.id, "m1", "unknown"):
                await service.delete_memory(**others, memory_id=memory_id)
            [still, *_] = (await service.search_memory(**names, query="tea")).memories
            assert still.id == known.id
            await service.delete_memory(**names, memory_id="m1")
            left = (await service.search_memory(**names, query="tea")).memories
            assert "Ada likes tea." not in texts(left)
            await service.add_memory(**names, memories=[entry])
            [known, *_] = (await service.search_memory(**names, query="tea")).memories
            assert known.id is not None
            await service.delete_memory(**names, memory_id=known.id)
            left = (await service.search_memory(**names, query="tea")).memories
            assert "Ada likes tea." not in texts(left)

    asyncio.run(main())
