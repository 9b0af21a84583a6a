"""What the adapters of frameworks share: storing their messages so that they come back as they
were."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from recollect import types, v1
from recollect._async.client import AsyncRecollect
from recollect._connect import AsyncChannels, Channels
from recollect._sync.client import Recollect

_LONGEST = 12 * 1024
"""Bytes of JSON that are kept beside a message; its metadata has at most 16 KiB."""
_PREFIX = "thread:"


def session_key(session_id: str) -> str:
    """The session key of a conversation that a framework names by session_id.

    A key like `global` or `user:bob` is a conversation of all users, or of another one. A session
    id of such a form gets a prefix, so that it is a conversation of its own user. One that has
    the prefix gets it too, so that no two session ids have the same key.
    """
    if not session_id:
        raise ValueError("session_id is empty: without one, all sessions would be the same")
    special = session_id == "global" or session_id.startswith(("user:", "agent_memory:", _PREFIX))
    return _PREFIX + session_id if special else session_id


def keep_exact(
    stored: v1.MessageInput, name: str, original: Any, restore: Callable[[v1.Message], Any]
) -> v1.MessageInput:
    """Adds the original to the message's metadata if it cannot be restored from the message.

    Larger originals come back as they are restored.
    """
    proto = v1.Message(role=stored.role, name=stored.name, parts=stored.parts)
    if restore(proto) != original:
        text = json.dumps(original, ensure_ascii=False)
        if len(json.dumps(text)) <= _LONGEST:
            add_metadata(stored, name, text)
    return stored


def add_metadata(stored: v1.MessageInput, name: str, value: str) -> None:
    """Adds an entry to the message's metadata."""
    metadata = json.loads(stored.metadata) if stored.metadata else {}
    stored.metadata = json.dumps({**metadata, name: value}, ensure_ascii=False)


def exact(message: types.Message, name: str) -> Any:
    """The original that was kept beside a message, or None."""
    text = message.metadata.get(name)
    return json.loads(text) if isinstance(text, str) else None


def both_clients(
    client: Recollect | None, async_client: AsyncRecollect | None
) -> tuple[Recollect, AsyncRecollect]:
    """A client for threads and one for asyncio. One that is missing has the settings of the
    other, and without both they come from the environment."""
    if client is None and async_client is None:
        client = Recollect()
    if client is None:
        assert async_client is not None
        client = Recollect.__new__(Recollect)
        client._channels = Channels(async_client._channels.connection)
    if async_client is None:
        async_client = AsyncRecollect.__new__(AsyncRecollect)
        async_client._channels = AsyncChannels(client._channels.connection)
    return client, async_client
