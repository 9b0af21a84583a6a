"""Messages of the contract, made of what callers pass."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.duration_pb2 import Duration as ProtoDuration
from google.protobuf.empty_pb2 import Empty
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message as ProtoMessage
from google.protobuf.timestamp_pb2 import Timestamp

from recollect import types, v1

EMPTY = Empty()
M = TypeVar("M", bound=ProtoMessage)

FORMATS: dict[types.Format, v1.ProviderFormat.ValueType] = {
    "openai": v1.PROVIDER_FORMAT_OPENAI_CHAT,
    "openai-responses": v1.PROVIDER_FORMAT_OPENAI_RESPONSES,
    "anthropic": v1.PROVIDER_FORMAT_ANTHROPIC_MESSAGES,
    "gemini": v1.PROVIDER_FORMAT_GEMINI,
    "text": v1.PROVIDER_FORMAT_TEXT,
}


def prefix(enum: EnumDescriptor) -> str:
    """What the names of the values of an enum begin with, such as `MEMORY_MODE_`."""
    return enum.values[0].name.removesuffix("UNSPECIFIED")


def enum_number(enum: EnumDescriptor, name: str) -> int:
    """The number of a value by its short name, such as `window`."""
    value = enum.values_by_name.get(prefix(enum) + name.upper().replace("-", "_"))
    if value is None:
        names = ", ".join(enum_name(enum, of.number) for of in enum.values[1:])
        raise ValueError(f"{name!r} is none of: {names}")
    return value.number


def enum_name(enum: EnumDescriptor, number: int) -> str:
    """The short name of a value; empty if it is not specified."""
    value = enum.values_by_number.get(number)
    if value is None:
        return str(number)
    return "" if number == 0 else value.name.removeprefix(prefix(enum)).lower()


def timestamp(value: datetime) -> Timestamp:
    if value.tzinfo is None:
        raise ValueError(f"a time needs a time zone, such as timezone.utc: {value!r}")
    stamp = Timestamp()
    stamp.FromDatetime(value)
    return stamp


def duration(value: types.Duration) -> ProtoDuration:
    made = ProtoDuration()
    made.FromTimedelta(value if isinstance(value, timedelta) else timedelta(seconds=value))
    return made


def json_text(name: str, value: Any) -> str:
    """The JSON text of a value. Text is taken as JSON, and passed on as it is."""
    if isinstance(value, str):
        return value
    value = dict(value) if isinstance(value, Mapping) else value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        if "float" not in str(error):
            raise
        raise ValueError(
            f"{name} contains NaN or Infinity, and JSON has no such numbers: use None or a text"
        ) from None


def precondition(etag: str, *, absent: bool = False) -> v1.Precondition | None:
    """What an object must be for a call to change it. None: anything."""
    if etag and absent:
        raise ValueError("etag and absent=True contradict each other")
    if absent:
        return v1.Precondition(absent=EMPTY)
    return v1.Precondition(etag=etag) if etag else None


def freshness(
    at_least_as_fresh: str, max_wait: types.Duration | None = None
) -> v1.Freshness | None:
    """Which changes that wait to be indexed a search includes. None: the newest."""
    if not at_least_as_fresh and max_wait is None:
        return None
    values = {"at_least_as_fresh": at_least_as_fresh or None, "max_wait": max_wait}
    return fill(v1.Freshness(), values)


def passed(**arguments: Any) -> dict[str, Any]:
    """The arguments that are to change a value: all but UNCHANGED."""
    return {name: value for name, value in arguments.items() if value is not types.UNCHANGED}


def mask(changes: Mapping[str, Any]) -> FieldMask | None:
    """Names the fields to change. Those that are None are cleared."""
    return FieldMask(paths=list(changes)) if changes else None


def fill(message: M, values: Mapping[str, Any]) -> M:
    """Sets fields of a message by their names. None leaves a field unset."""
    fields = message.DESCRIPTOR.fields_by_name
    for name, value in values.items():
        field = fields.get(name)
        if field is None:
            known = ", ".join(sorted(fields))
            raise TypeError(f"{message.DESCRIPTOR.name} has no field {name!r}; it has {known}")
        if value is None:
            continue
        if field.is_repeated:
            if isinstance(value, str):
                raise TypeError(f"{name} takes a list, not a string")
            getattr(message, name).extend(_value(field, item) for item in value)
        elif field.message_type is not None:
            getattr(message, name).CopyFrom(_value(field, value))
        else:
            setattr(message, name, _value(field, value))
    return message


def _value(field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        return enum_number(field.enum_type, value) if isinstance(value, str) else value
    if field.type == field.TYPE_STRING and isinstance(value, Mapping):
        return json_text(field.name, value)
    if field.message_type is None or isinstance(value, ProtoMessage):
        return value
    kind = field.message_type.full_name
    if kind == "google.protobuf.Timestamp":
        return timestamp(value)
    if kind == "google.protobuf.Duration":
        return duration(value)
    raise TypeError(f"{field.name} takes a {kind}")


def policy(values: types.Policy | v1.MemoryPolicy | None) -> v1.MemoryPolicy | None:
    if values is None or isinstance(values, v1.MemoryPolicy):
        return values
    return fill(v1.MemoryPolicy(), values)


def policy_mask(values: types.Policy) -> FieldMask:
    """Names the fields of a policy to change, those to clear included."""
    return FieldMask(paths=[f"policy.{name}" for name in values])


def message_filter(values: types.Filter | None) -> v1.MessageFilter | None:
    return None if values is None else fill(v1.MessageFilter(), values)


def memory_filter(values: types.MemoryFilter | None) -> v1.MemoryFilter | None:
    return None if values is None else fill(v1.MemoryFilter(), values)


def search_method(name: types.Method | None) -> Any:
    return name and enum_number(v1.SearchMethod.DESCRIPTOR, name)


def list_threads(
    target: v1.Target | None,
    metadata: types.MetadataFilter | None,
    order_by: str,
    page_size: int,
) -> v1.ListThreadsRequest:
    request = v1.ListThreadsRequest(target=target, page_size=page_size, order_by=order_by)
    return fill(request, {"metadata": metadata})


def list_memories(
    target: v1.Target, filter: types.MemoryFilter | None, page_size: int
) -> v1.ListMemoriesRequest:
    return v1.ListMemoriesRequest(target=target, filter=memory_filter(filter), page_size=page_size)


def search_memories(
    target: v1.Target,
    query: str,
    top_k: int | None,
    min_score: float | None,
    filter: types.MemoryFilter | None,
    method: types.Method | None,
    at_least_as_fresh: str,
    max_wait: types.Duration | None,
) -> v1.SearchMemoriesRequest:
    return v1.SearchMemoriesRequest(
        target=target,
        query=query,
        top_k=top_k,
        min_score=min_score,
        filter=memory_filter(filter),
        method=search_method(method),
        freshness=freshness(at_least_as_fresh, max_wait),
    )


def recall(
    target: v1.Target,
    query: str,
    top_k: int | None,
    max_tokens: int | None,
    filter: types.Filter | None,
    method: types.Method | None,
) -> v1.RecallRequest:
    request = v1.RecallRequest(
        target=target,
        query=query,
        policy=policy({"top_k": top_k}),
        filter=message_filter(filter),
        method=search_method(method),
    )
    return fill(request, {"max_tokens": max_tokens})


def format_number(name: types.Format) -> v1.ProviderFormat.ValueType:
    if name not in FORMATS:
        raise ValueError(f"format {name!r} is none of: {', '.join(FORMATS)}")
    return FORMATS[name]


def formats(given: types.Format | Sequence[types.Format] | None) -> list[types.Format]:
    """The formats to render, as a list."""
    if given is None:
        return []
    names: list[types.Format] = [given] if isinstance(given, str) else list(given)
    for name in names:
        format_number(name)
    return names


def message(
    role: types.Role,
    text: str | None = None,
    *,
    parts: Iterable[v1.Part] = (),
    name: str = "",
    metadata: types.JsonObject | None = None,
    external_id: str = "",
    created_at: datetime | None = None,
    message_id: str = "",
    parent: str | None = None,
) -> v1.MessageInput:
    """A message for `append`.

    Args:
        role: the speaker.
        text: the content, at most 256 KiB; it comes before parts.
        parts: further content, such as `v1.Part(file=…)`: 1 to 64 parts with the text, together
            at most 1 MiB.
        name: the speaker's name: at most 256 characters.
        metadata: your own data: at most 16 KiB as JSON.
        external_id: your own id, unique in the thread: at most 128 characters. Appending a
            message with the same id and content again stores nothing.
        created_at: when it was said. Default: now.
        message_id: the UUID of the message, for imports. Default: the server makes one.
        parent: the id of the message to follow; an earlier one starts a new branch, and the
            empty string a new root. Default: the message before it, or the thread's head.
    """
    content = [v1.Part(text=text)] if text is not None else []
    made = v1.MessageInput(
        role=v1.Role.Value(f"ROLE_{role.upper()}"),
        parts=[*content, *parts],
        name=name,
        metadata=json_text("metadata", metadata) if metadata is not None else "",
        external_id=external_id,
        create_time=timestamp(created_at) if created_at is not None else None,
        message_id=message_id,
    )
    if parent:
        made.parent_message_id = parent
    elif parent is not None:
        made.root.CopyFrom(EMPTY)
    return made


def provider_json(value: Any) -> str:
    """A provider's messages as JSON text: of dicts and lists, or of a package's own objects."""
    if isinstance(value, str):
        return value
    if hasattr(value, "model_dump_json"):
        # Pydantic: the packages of OpenAI, Anthropic and Google. Gemini's aliases are its JSON.
        return str(value.model_dump_json(by_alias=True, exclude_none=True))
    return json.dumps(value, default=_jsonable)


def _jsonable(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    raise TypeError(f"{type(value).__name__} is no message of a provider's API")


def _spoken(role: str, text: str, format: types.ProviderFormat) -> str:
    """A message of one text in a provider's format."""
    if format == "gemini":
        role = {"assistant": "model"}.get(role, role)
        return json.dumps({"role": role, "parts": [{"text": text}]})
    return json.dumps({"role": role, "content": text})


def append(
    request: v1.AppendMessagesRequest,
    messages: Sequence[Any],
    user: str | None,
    assistant: str | None,
    format: types.ProviderFormat,
) -> v1.AppendMessagesRequest:
    """Adds the messages of an append, in the order: user, messages, assistant."""
    inputs = [item for item in messages if isinstance(item, v1.MessageInput)]
    if inputs and len(inputs) < len(messages):
        raise TypeError(
            "one append takes messages of recollect.message() or a provider's, not both"
        )
    before = [("user", user)] if user is not None else []
    after = [("assistant", assistant)] if assistant is not None else []
    if not (messages or before or after):
        raise TypeError("append needs a message: user=…, assistant=…, or a provider's messages")
    if inputs or not messages:
        request.messages.extend(message(role, text) for role, text in before)  # type: ignore[arg-type]
        request.messages.extend(inputs)
        request.messages.extend(message(role, text) for role, text in after)  # type: ignore[arg-type]
        return request
    texts = [_spoken(role, text, format) for role, text in before]
    texts += [provider_json(item) for item in messages]
    texts += [_spoken(role, text, format) for role, text in after]
    number = format_number(format)
    request.provider_messages.extend(
        v1.ProviderMessages(format=number, json=text) for text in texts
    )
    return request


def memory_input(
    text: str,
    type: types.MemoryType | None,
    topics: Iterable[str],
    entities: Iterable[str],
    event_time: datetime | None,
    external_id: str,
    source_message_ids: Iterable[str],
    pinned: bool | None,
    metadata: types.JsonObject | None,
) -> v1.MemoryInput:
    return fill(
        v1.MemoryInput(text=text, external_id=external_id, pinned=pinned),
        {
            "type": type,
            "topics": topics,
            "entities": entities,
            "event_time": event_time,
            "source_message_ids": source_message_ids,
            "metadata": metadata,
        },
    )


def event(
    type: str,
    data: Any = None,
    *,
    created_at: datetime | None = None,
    message_id: str | None = None,
) -> v1.AgentEvent:
    """An event for `append_events`.

    Args:
        type: the kind of event, in your own words, such as `execution_failed`: 1 to 128
            characters.
        data: what belongs to it: a value to send as JSON, or JSON text, which is sent as it is;
            at most 256 KiB, 32 levels deep. Default: nothing.
        created_at: when it happened. Default: now.
        message_id: the message that it belongs to, by its id or external id; empty for none.
            Default: the thread's head.
    """
    return v1.AgentEvent(
        type=type,
        json=json_text("data", data) if data is not None else "",
        create_time=timestamp(created_at) if created_at is not None else None,
        message_id=message_id,
    )


def working_memory(changes: Mapping[str, Any]) -> dict[str, Any]:
    """What replaces parts of a working memory, as the contract has it."""
    return {
        **changes,
        "messages": [_working_message(of) for of in changes.get("messages") or ()],
        "memories": [_working_record(of) for of in changes.get("memories") or ()],
        "policy": policy(changes.get("policy")),
    }


def _working_message(
    given: types.Message | v1.MessageInput | v1.WorkingMessage,
) -> v1.WorkingMessage:
    """A message of a working memory: a stored one as it is, or a new one."""
    if isinstance(given, v1.WorkingMessage):
        return given
    stored = given.proto if isinstance(given, types.Message) else given
    if isinstance(stored, v1.MessageInput) and stored.WhichOneof("parent"):
        raise ValueError(
            "a message of a working memory follows the one before it: leave parent out"
        )
    return v1.WorkingMessage(
        message_id=stored.message_id,
        role=stored.role,
        name=stored.name,
        parts=stored.parts,
        metadata=stored.metadata,
        create_time=stored.create_time if stored.HasField("create_time") else None,
        external_id=stored.external_id,
    )


def _working_record(given: str | types.Memory | v1.MemoryInput) -> v1.MemoryInput:
    """A memory of a working memory: a text, a stored one as it is, or a new one."""
    if isinstance(given, v1.MemoryInput):
        return given
    if isinstance(given, str):
        return v1.MemoryInput(text=given)
    stored = given.proto
    return v1.MemoryInput(
        external_id=stored.external_id,
        text=stored.text,
        type=stored.type,
        topics=stored.topics,
        entities=stored.entities,
        event_time=stored.event_time if stored.HasField("event_time") else None,
        source_message_ids=stored.source_message_ids,
        pinned=stored.pinned if stored.HasField("pinned") else None,
        metadata=stored.metadata,
    )
