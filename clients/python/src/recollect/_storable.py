"""Messages of a model's API as far as the server stores them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LONGEST = 256 * 1024
"""The bytes of a part (Part in docs/api.md)."""
_TEXTS = ("text", "content", "output", "arguments", "thinking", "refusal")
"""The fields whose texts become parts."""
_REFUSED = re.compile("[\0\ud800-\udfff]")


def well_formed(text: str) -> str:
    """A text without what the server refuses: NUL characters and halves of surrogate pairs."""
    return _REFUSED.sub("\ufffd", text)


def storable(value: Any, field: str = "") -> Any:
    """A message as JSON values whose texts are well formed. Those that are longer than a part may
    be end with a note that says so."""
    if isinstance(value, str):
        text = well_formed(value)
        return _cut(text) if field in _TEXTS else text
    if isinstance(value, Mapping):
        return {well_formed(str(name)): storable(of, str(name)) for name, of in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(of, field) for of in value]
    if hasattr(value, "model_dump"):
        try:
            return storable(value.model_dump(mode="json", by_alias=True, exclude_none=True))
        except ValueError:
            # Pydantic writes no halves of surrogate pairs as JSON.
            return storable(value.model_dump(by_alias=True, exclude_none=True))
    return value


def _cut(text: str) -> str:
    if len(text) * 4 <= _LONGEST:
        return text
    whole = text.encode()
    if len(whole) <= _LONGEST:
        return text
    note = f"\n[The end is not stored: the text has {len(whole)} bytes.]"
    return whole[: _LONGEST - len(note)].decode(errors="ignore") + note
