"""The component, loaded and run by Langflow's executor, with a real server."""

from __future__ import annotations

import asyncio
import os
import pathlib
import uuid
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from lfx.components.input_output import ChatInput, ChatOutput
from lfx.components.models_and_agents.memory import MemoryComponent
from lfx.custom.custom_component.component import Component
from lfx.custom.eval import eval_custom_component_code
from lfx.custom.utils import abuild_custom_components
from lfx.graph.graph.base import Graph
from lfx.schema.message import Message
from lfx.template.field.base import Output
from recollect import NO_USER, Recollect

COMPONENTS = pathlib.Path(__file__).resolve().parent.parent / "components"
CODE = (COMPONENTS / "recollect" / "recollect_memory.py").read_text()


@pytest.fixture(scope="module")
def addr() -> str:
    given = os.environ.get("RECOLLECT_ADDR")
    if not given:
        pytest.skip("RECOLLECT_ADDR names no server")
    return given


@pytest.fixture
def flow() -> str:
    return str(uuid.uuid4())


def component(addr: str, **settings: Any) -> Component:
    """The component, made of its code as Langflow makes it."""
    return eval_custom_component_code(CODE)(_code=CODE).set(address=addr, **settings)


def history(addr: str, **settings: Any) -> Any:
    return component(addr, **settings).build_message_history()


def test_langflow_finds_the_component_in_its_directory() -> None:
    found = asyncio.run(abuild_custom_components([str(COMPONENTS)]))
    assert list(found) == ["recollect"]
    template = found["recollect"]["RecollectChatMemory"]
    assert template["display_name"] == "Recollect Chat Memory"
    assert template["outputs"][0]["types"] == ["Memory"]
    fields = set(template["template"])
    assert {"address", "api_key", "session_id", "user", "app", "max_messages"} <= fields
    assert template["template"]["api_key"]["password"] is True


def run(graph: Graph, flow: str, session: str, text: str = "") -> None:
    graph.flow_id = flow
    graph.session_id = session

    async def main() -> None:
        async for _ in graph.async_start(inputs=[{"input_value": text}] if text else None):
            pass

    asyncio.run(main())


class StoringMemory(MemoryComponent):
    """Message History in the mode Store, in which Langflow gives it this output."""

    outputs = [
        Output(display_name="Stored Messages", name="stored_messages", method="store_message")
    ]


def store(addr: str, flow: str, session: str, text: str, sender: str = "User", **own: Any) -> None:
    """Runs a flow that stores a message."""
    said = ChatInput(_id="in").set(input_value=text, sender=sender, session_id=session)
    memory = component(addr, **own)
    kept = StoringMemory(_id="kept").set(
        mode="Store",
        message=said.message_response,
        memory=memory.build_message_history,
        session_id=session,
        sender=sender,
    )
    out = ChatOutput(_id="out").set(input_value=kept.store_message, should_store_message=False)
    run(Graph(said, out), flow, session, text)


def retrieve(addr: str, flow: str, session: str, n_messages: int = 100, **own: Any) -> str:
    """Runs a flow that retrieves messages as text."""
    memory = component(addr, **own)
    kept = MemoryComponent(_id="kept").set(
        mode="Retrieve",
        memory=memory.build_message_history,
        session_id=session,
        n_messages=n_messages,
    )
    out = ChatOutput(_id="out").set(
        input_value=kept.retrieve_messages_as_text, should_store_message=False
    )
    run(Graph(kept, out), flow, session)
    result = out.get_output_by_method(out.message_response).value
    assert isinstance(result, Message)
    return str(result.text)


def test_a_flow_stores_and_retrieves_messages(addr: str, flow: str) -> None:
    store(addr, flow, "abc", "My dog is called Pixel.")
    store(addr, flow, "abc", "A fine name!", sender="Machine")
    text = retrieve(addr, flow, "abc")
    assert text.splitlines() == ["User: My dog is called Pixel.", "AI: A fine name!"]
    assert retrieve(addr, flow, "abc", n_messages=1) == "AI: A fine name!"
    # It is a conversation like any other, of the flow.
    with Recollect(addr) as client:
        kept = client.session(app=flow, user=NO_USER, session="abc")
        assert [message.role for message in kept.messages()] == ["user", "assistant"]
        assert kept.recall("dog")[0].text == "My dog is called Pixel."


def test_sessions_users_and_flows_are_apart(addr: str, flow: str) -> None:
    store(addr, flow, "abc", "The code is 1234.", user="ada")
    assert "1234" in retrieve(addr, flow, "abc", user="ada")
    for session, settings, where in (
        ("abc", {"user": "bob"}, flow),
        ("abd", {"user": "ada"}, flow),
        ("abc", {}, flow),
        ("abc", {"user": "ada"}, str(uuid.uuid4())),
    ):
        assert "1234" not in retrieve(addr, where, session, **settings)
    # No session ID has a meaning of its own.
    for number, session in enumerate(("global", "user:bob", f"agent_memory:{flow}")):
        store(addr, flow, session, f"The code is 567{number}.", user="ada")
        assert f"567{number}" in retrieve(addr, flow, session, user="ada")
        for other in ({"user": "bob"}, {}):
            assert "567" not in retrieve(addr, flow, session, **other)
    # Flows share what belongs to one app.
    shared = f"shared-{flow}"
    store(addr, flow, "abc", "Shared.", user="ada", app=shared)
    assert "Shared." in retrieve(addr, str(uuid.uuid4()), "abc", user="ada", app=shared)


def test_the_default_session_is_the_flow(addr: str, flow: str) -> None:
    store(addr, flow, flow, "Hello")
    with Recollect(addr) as client:
        session = client.session(app=flow, user=NO_USER, session=flow)
        texts = [message.text for message in session.messages()]
    assert texts == ["Hello"]
    memory = history(addr, app=flow)
    assert memory.session_id == flow
    assert [message.content for message in memory.messages] == ["Hello"]
    memory.session_id = "other"
    assert memory.messages == []
    memory.session_id = ""
    assert len(memory.messages) == 1
    with pytest.raises(ValueError, match="There is no flow"):
        history(addr)


def test_limits_keep_whole_turns(addr: str, flow: str) -> None:
    own = history(addr, app=flow, session_id="abc")
    for number in range(5):
        own.add_messages([HumanMessage(f"Question {number}"), AIMessage(f"Answer {number}")])
    newest = history(addr, app=flow, session_id="abc", max_messages=3)
    assert [message.content for message in newest.messages] == ["Question 4", "Answer 4"]
    newest = history(addr, app=flow, session_id="abc", max_tokens=20)
    assert [message.content for message in newest.messages] == ["Question 4", "Answer 4"]
    own.clear()
    assert own.messages == []


def test_flows_share_a_connection(addr: str, flow: str) -> None:
    first, second = history(addr, app=flow), history(addr, app=flow)
    assert first.memory._channels is second.memory._channels
