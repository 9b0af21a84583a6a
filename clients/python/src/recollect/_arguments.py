"""Checks what callers pass, so that an error names the argument and what it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from google.protobuf.message import Message as ProtoMessage

from recollect.errors import InvalidArgumentError, invalid
from recollect.types import NO_USER, NoUser

P = ParamSpec("P")
M = TypeVar("M", bound=ProtoMessage)
T = TypeVar("T")
R = TypeVar("R")

_ARGUMENTS = {
    "app_id": "app",
    "external_ids": "external_id",
    "formats": "format",
    "head_message_id": "head",
    "node_id": "node",
    "oversized_turn": "oversized",
    "system_prompt": "system",
}
"""The arguments whose fields in the contract have other names."""


def make(message: Callable[P, M], /, *_: P.args, **fields: P.kwargs) -> M:
    """A message of the contract with these fields."""
    try:
        return message(*_, **fields)
    except (TypeError, ValueError) as error:
        one: Any = message
        for name, value in fields.items():
            try:
                one(**{name: value})
            except (TypeError, ValueError) as failed:
                field = one.DESCRIPTOR.fields_by_name.get(name)
                argument = _ARGUMENTS.get(name, name)
                raise invalid(argument, problem(field, value, failed)) from error
        raise


def problem(field: Any, value: Any, error: Exception) -> str:
    """What is wrong with a value for a field."""
    if isinstance(error, UnicodeEncodeError):
        return _no_text(error)
    if isinstance(error, ValueError) or field is None:
        return str(error)
    expected = _EXPECTED.get(field.cpp_type, "")
    if field.message_type is not None:
        expected = f"v1.{field.message_type.name}"
    if field.is_repeated:
        return f"takes a list of {expected}, not {_kind(value)}"
    return f"takes {expected}, not {_kind(value)}"


_EXPECTED = {
    1: "int",
    2: "int",
    3: "int",
    4: "int",
    5: "float",
    6: "float",
    7: "bool",
    8: "str",
    9: "str",
}
"""The Python types of FieldDescriptor.CPPTYPE_…; enums are passed by their names."""


def _kind(value: Any) -> str:
    if isinstance(value, (list, tuple)) and value:
        return f"a {type(value).__name__} of {type(value[0]).__name__}"
    return "None" if value is None else type(value).__name__


def _no_text(error: UnicodeEncodeError) -> str:
    return (
        f"is no valid text: character {error.start} is half of a surrogate pair, such as is left "
        "when a text is cut"
    )


def named(argument: str, convert: Callable[[T], R], value: T) -> R:
    """A converted argument."""
    try:
        return convert(value)
    except InvalidArgumentError:
        raise
    except (TypeError, ValueError) as error:
        raise invalid(argument, str(error)) from error


def text(argument: str, value: Any) -> str:
    """A text that can be sent."""
    if not isinstance(value, str):
        raise invalid(argument, f"takes str, not {_kind(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise invalid(argument, _no_text(error)) from error
    return value


def spoken(argument: str, value: Any) -> str:
    """A text of a speaker."""
    if not text(argument, value):
        raise invalid(argument, "is empty: leave it out if nothing was said")
    return str(value)


def user_id(value: str | NoUser, argument: str = "user") -> str:
    """The id of a user in the contract. That of data without a user is empty there, and asked for
    with NO_USER only, since a user that was not found must not get the data that has none."""
    if value is NO_USER:
        return ""
    if value is None or not text(argument, value).strip():
        raise invalid(
            argument,
            f"is {'None' if value is None else 'empty'}: pass the id of a user, or "
            "recollect.NO_USER for data that belongs to no user",
        )
    return value
