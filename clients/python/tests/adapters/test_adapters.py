"""What the adapters of frameworks share, without a server."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from recollect import NO_USER, AsyncRecollect, Recollect, message, v1
from recollect._adapters import add_metadata, session_key
from recollect.langchain import RecollectChatMessageHistory
from recollect.llama_index import RecollectMemory, RecollectMemoryBlock
from recollect.openai_agents import RecollectSession

SPECIAL = ["global", "user:bob", "user:", "agent_memory:support", "agent_memory:other"]
PLAIN = ["42", "globals", "Global", " global", "session:1", "users:bob", "support", "é"]


def test_no_two_session_ids_have_the_same_key() -> None:
    ids = [*SPECIAL, *PLAIN]
    for _ in range(3):
        ids += [f"thread:{name}" for name in ids if f"thread:{name}" not in ids]
    ids.append("thread:")
    keys = [session_key(name) for name in ids]
    assert len(set(keys)) == len(set(ids)) == len(ids)
    assert not set(keys) & set(SPECIAL)
    assert [session_key(name) for name in PLAIN] == PLAIN
    assert session_key("global") == "thread:global"
    assert session_key("thread:global") == "thread:thread:global"


def langchain(session_id: str, user: Any) -> v1.SessionRef:
    client = Recollect("127.0.0.1:1")
    made = RecollectChatMessageHistory(session_id, app="support", user=user, client=client)
    return made.memory.ref.session


def openai_agents(session_id: str, user: Any) -> v1.SessionRef:
    client = AsyncRecollect("127.0.0.1:1")
    made = RecollectSession(session_id, app="support", user=user, client=client)
    assert made.session_id == session_id
    return made.memory.ref.session


def llama_index(session_id: str, user: Any) -> v1.SessionRef:
    client = Recollect("127.0.0.1:1")
    made = RecollectMemory(session_id, app="support", user=user, client=client)
    assert made.session_id == session_id
    assert made._async_session.ref == made.memory.ref
    return made.memory.ref.session


def llama_index_block(session_id: str, user: Any) -> v1.SessionRef:
    client = AsyncRecollect("127.0.0.1:1")
    made = RecollectMemoryBlock(session_id, app="support", user=user, client=client)
    return made._session.ref.session


@pytest.mark.parametrize("adapter", [langchain, openai_agents, llama_index, llama_index_block])
def test_each_user_has_a_conversation_whatever_the_session_id(
    adapter: Callable[[str, Any], v1.SessionRef],
) -> None:
    for session_id, user in itertools.product([*SPECIAL, *PLAIN], ["alice", "bob", NO_USER]):
        session = adapter(session_id, user)
        assert (session.app_id, session.user_id) == ("support", "" if user is NO_USER else user)
        # The server takes the key for one of this user, and of no user without one.
        key = session.session_key
        assert key == session_key(session_id)
        assert key not in ("", "global") and not key.startswith(("user:", "agent_memory:"))
    with pytest.raises(ValueError, match="session_id is empty"):
        adapter("", "alice")


def test_metadata_is_added_to_what_is_there() -> None:
    stored = message("user", "Hi", metadata={"n": 9007199254740993})
    add_metadata(stored, "kept", '{"a": "\\u0000"}')
    add_metadata(stored, "more", "é")
    expected: dict[str, Any] = {"n": 9007199254740993, "kept": '{"a": "\\u0000"}', "more": "é"}
    assert json.loads(stored.metadata) == expected
