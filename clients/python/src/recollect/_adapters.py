"""What the adapters of frameworks share: storing their messages so that they come back as they
were."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from recollect import types, v1

_LONGEST = 12 * 1024
"""Bytes of JSON that are kept beside a message; its metadata has at most 16 KiB."""


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
            stored.metadata.update({name: text})
    return stored


def exact(message: types.Message, name: str) -> Any:
    """The original that was kept beside a message, or None."""
    text = message.metadata.get(name)
    return json.loads(text) if isinstance(text, str) else None
