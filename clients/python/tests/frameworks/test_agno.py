"""The database, with Agno's own package and a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from agno.agent import Agent
from agno.db.schemas import UserMemory
from agno.media import Image
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.session import AgentSession
from readme import run_example

from recollect import Recollect
from recollect.agno import RecollectDb

CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "clock", "arguments": '{"zone": "Rome"}'},
}
SCRIPT: list[Any] = [[CALL], "It is one.", "Pixel."]


class ScriptedModel(Model):
    """Answers with scripted texts and calls, and keeps what it was sent."""

    def __init__(self, script: list[Any]) -> None:
        super().__init__(id="scripted")
        self.script = list(script)
        self.sent: list[list[Message]] = []

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.sent.append(list(kwargs["messages"]))
        if not self.script:
            raise RuntimeError("the model is down")
        answer = self.script.pop(0)
        calls = answer if isinstance(answer, list) else []
        return ModelResponse(role="assistant", content=None if calls else answer, tool_calls=calls)

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return self.invoke(*args, **kwargs)

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError

    def ainvoke_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ModelResponse]:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


def clock(zone: str) -> str:
    """The time."""
    return f"13:00 in {zone}"


def agent_with(model: ScriptedModel, db: RecollectDb, **more: Any) -> Agent:
    return Agent(
        id="helper", model=model, db=db, tools=[clock], add_history_to_context=True, **more
    )


def test_an_agent_continues_from_its_session(client: Recollect, app: str) -> None:
    db = RecollectDb(app=app, client=client)
    model = ScriptedModel(SCRIPT)
    image = Image(content=b"\xfb\xff" * 200_000, mime_type="image/png")
    agent = agent_with(model, db, session_state={"ticket": {"number": 17, "closed": None}})
    first = agent.run("What time is it?", user_id="ada", session_id="42", images=[image])
    assert first.content == "It is one."
    # A program that starts anew has the session too.
    other = agent_with(model, RecollectDb(app=app, client=client))
    second = asyncio.run(other.arun("What is my dog called?", user_id="ada", session_id="42"))
    assert second.content == "Pixel."
    sent = [(of.role, of.content) for of in model.sent[-1]]
    assert sent[:2] == [("user", "What time is it?"), ("assistant", None)]
    assert sent[2:] == [
        ("tool", "13:00 in Rome"),
        ("assistant", "It is one."),
        ("user", "What is my dog called?"),
    ]
    session = db.get_session("42", user_id="ada")
    assert isinstance(session, AgentSession) and session.runs is not None
    kept = [of.to_dict() for of in session.runs]
    assert [of["run_id"] for of in kept] == [first.run_id, second.run_id]
    assert kept[0]["messages"] == first.to_dict()["messages"]
    assert (session.session_data or {})["session_state"] == {
        "ticket": {"number": 17, "closed": None}
    }
    # It is a conversation like any other.
    memory = db.memory("42", "ada")
    roles = [of.role for of in memory.messages()]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    context = memory.context("And now?", policy={"mode": "window"})
    assert "13:00 in Rome" in str(context.messages)
    [listed] = db.get_sessions(user_id="ada")
    assert listed.session_id == "42" and len(listed.runs) == 2
    renamed = db.rename_session("42", None, "Travel", user_id="ada")
    assert renamed.session_data["session_name"] == "Travel"
    assert db.delete_session("42", user_id="ada")
    assert db.get_session("42", user_id="ada") is None
    assert db.get_sessions(user_id="ada") == [] and not db.delete_session("42", user_id="ada")
    assert list(memory.path()) == []


def test_a_run_that_fails_has_no_messages(client: Recollect, app: str) -> None:
    db = RecollectDb(app=app, client=client)
    failed = agent_with(ScriptedModel(SCRIPT[:1]), db).run("Hi", user_id="ada", session_id="42")
    assert str(failed.status) == "RunStatus.error"
    assert list(db.memory("42", "ada").path()) == []
    model = ScriptedModel(SCRIPT[1:])
    agent_with(model, db).run("What time is it?", user_id="ada", session_id="42")
    assert [of.content for of in model.sent[0]] == ["What time is it?"]


def test_user_memories_are_long_term_memories(client: Recollect, app: str) -> None:
    db = RecollectDb(app=app, client=client)
    given = UserMemory("Ada likes tea.", memory_id="m1", topics=["drinks"], user_id="ada")
    db.upsert_user_memory(given)
    db.upsert_user_memory(UserMemory("Bob likes rum.", memory_id="m2", user_id="bob"))
    [kept] = db.get_user_memories(user_id="ada")
    assert kept.to_dict() == given.to_dict()
    assert client.user(app=app, user="ada").search_memories("tea")[0].text == "Ada likes tea."
    given.memory = "Ada likes coffee."
    db.upsert_user_memory(given)
    assert db.get_user_memory("m1", user_id="ada").memory == "Ada likes coffee."
    assert db.get_all_memory_topics(user_id="ada") == ["drinks"]
    assert db.get_user_memories(user_id="ada", topics=["pets"]) == []
    db.delete_user_memory("m2", user_id="ada")
    db.delete_user_memory("m1", user_id="ada")
    assert db.get_user_memories(user_id="ada") == []
    assert [of.memory for of in db.get_user_memories(user_id="bob")] == ["Bob likes rum."]


def test_users_do_not_see_each_other(client: Recollect, app: str) -> None:
    db = RecollectDb(app=app, client=client)
    for user in ("alice", "bob"):
        model = ScriptedModel(SCRIPT[1:])
        agent_with(model, db).run(f"I am {user}.", user_id=user, session_id="global")
        assert len(model.sent[0]) == 1
    with pytest.raises(ValueError, match="user is empty"):
        agent_with(ScriptedModel(SCRIPT[1:]), db).run("Hi", session_id="42")
    for read in (db.get_sessions, db.get_user_memories):
        with pytest.raises(ValueError, match="user"):
            read()
    with pytest.raises(ValueError, match="no user"):
        db.get_user_memories(user_id="default")


def test_the_example_of_the_readme_works(
    addr: str, client: Recollect, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_ADDR", addr)
    names = {"Agent": Agent, "model": ScriptedModel(SCRIPT[1:])}
    asyncio.run(run_example("recollect.agno", app, names))
    assert len(list(client.session(app=app, user="ada", session="42").messages())) == 2
