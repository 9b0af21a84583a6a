"""Messages as texts."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter

from recollect import types
from recollect.errors import invalid


def render(
    messages: Iterable[types.Message | types.Recalled], template: str = "{name}: {text}"
) -> list[str]:
    """Messages as texts, one for each. What they contain is inserted as it is, and never
    evaluated.

    Args:
        messages: what `messages`, `path`, `history` or `recall` of a session returns.
        template: the text of one message, with the fields `{role}`, `{name}` (of the speaker, or
            else the role), `{text}`, `{seq}` and `{create_time}`. `{{` and `}}` are braces.
    """
    try:
        pieces = list(Formatter().parse(template))
    except ValueError as error:
        raise invalid("template", f"is not well-formed: {error}") from error
    made = []
    for given in messages:
        message = given.message if isinstance(given, types.Recalled) else given
        values = {
            "role": message.role,
            "name": message.name or message.role,
            "text": message.text,
            "seq": str(message.seq),
            "create_time": message.created_at.isoformat(),
        }
        texts = []
        for before, field, format, conversion in pieces:
            texts.append(before)
            if field is None:
                continue
            if field not in values or format or conversion:
                names = ", ".join(values)
                raise invalid("template", f"has {{{field}}}; a field is one of: {names}")
            texts.append(values[field])
        made.append("".join(texts))
    return made
