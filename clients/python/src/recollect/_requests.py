"""Messages of the contract, made of what callers pass."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.duration_pb2 import Duration as ProtoDuration
from google.protobuf.empty_pb2 import Empty
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message as ProtoMessage
from google.protobuf.timestamp_pb2 import Timestamp

from recollect import types, v1
from recollect._arguments import make, named, problem, spoken, user_id
from recollect._arguments import text as checked
from recollect.errors import InvalidArgumentError, invalid

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
    value = None
    if isinstance(name, str):
        value = enum.values_by_name.get(prefix(enum) + name.upper().replace("-", "_"))
    if value is None or value.number == 0:
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
    if not isinstance(value, datetime):
        raise ValueError(f"takes datetime, not {type(value).__name__}")
    if value.tzinfo is None:
        raise ValueError(f"needs a time zone, such as timezone.utc: {value!r}")
    stamp = Timestamp()
    stamp.FromDatetime(value)
    return stamp


def duration(value: types.Duration) -> ProtoDuration:
    if not isinstance(value, (timedelta, int, float)):
        raise ValueError(f"takes timedelta or seconds, not {type(value).__name__}")
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
    except (TypeError, ValueError) as error:
        description = str(error)
        if "float" in description:
            description = (
                "contains NaN or Infinity, and JSON has no such numbers: use None or a text"
            )
        raise invalid(name, description) from error


def precondition(etag: str, *, absent: bool = False) -> v1.Precondition | None:
    """What an object must be for a call to change it. None: anything."""
    if etag and absent:
        raise invalid("etag", "contradicts absent=True")
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


def session_ref(
    app: str, user: str | types.NoUser, session: str, agent_session: str
) -> v1.SessionRef:
    return v1.SessionRef(
        app_id=checked("app", app),
        user_id=user_id(user),
        session_key=checked("session", session),
        agent_session_key=checked("agent_session", agent_session),
    )


def user_ref(app: str, user: str | types.NoUser) -> v1.UserRef:
    return v1.UserRef(app_id=checked("app", app), user_id=user_id(user))


def passed(**arguments: Any) -> dict[str, Any]:
    """The arguments that are to change a value: all but UNCHANGED."""
    return {name: value for name, value in arguments.items() if value is not types.UNCHANGED}


def mask(changes: Mapping[str, Any]) -> FieldMask | None:
    """Names the fields to change. Those that are None are cleared."""
    return FieldMask(paths=list(changes)) if changes else None


def fill(message: M, values: Mapping[str, Any]) -> M:
    """Sets fields of a message by their names. None leaves a field unset."""
    fields = message.DESCRIPTOR.fields_by_name
    if not isinstance(values, Mapping):
        argument = message.DESCRIPTOR.name.removeprefix("Memory").removeprefix("Message").lower()
        raise invalid(argument, f"takes a dict, not {type(values).__name__}")
    for name, value in values.items():
        field = fields.get(name)
        if field is None:
            known = ", ".join(sorted(fields))
            raise invalid(str(name), f"is no field of {message.DESCRIPTOR.name}, which has {known}")
        if value is None:
            continue
        try:
            _set(message, field, value)
        except InvalidArgumentError:
            raise
        except (TypeError, ValueError) as error:
            raise invalid(name, problem(field, value, error)) from error
    return message


def _set(message: ProtoMessage, field: Any, value: Any) -> None:
    if field.is_repeated:
        if isinstance(value, (str, bytes)):
            raise TypeError
        items = getattr(message, field.name)
        for item in value:
            if field.message_type is not None and isinstance(item, Mapping):
                fill(items.add(), item)
            else:
                items.append(_value(field, item))
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(_value(field, value))
    else:
        setattr(message, field.name, _value(field, value))


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
    raise TypeError


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
    if name is None:
        return None
    return named("method", lambda of: enum_number(v1.SearchMethod.DESCRIPTOR, of), name)


def list_threads(
    target: v1.Target | None,
    metadata: types.MetadataFilter | None,
    order_by: str,
    page_size: int,
) -> v1.ListThreadsRequest:
    request = make(v1.ListThreadsRequest, target=target, page_size=page_size, order_by=order_by)
    return fill(request, {"metadata": metadata})


def list_memories(
    target: v1.Target, filter: types.MemoryFilter | None, page_size: int
) -> v1.ListMemoriesRequest:
    return make(
        v1.ListMemoriesRequest, target=target, filter=memory_filter(filter), page_size=page_size
    )


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
    return make(
        v1.SearchMemoriesRequest,
        target=target,
        query=query,
        top_k=top_k,
        min_score=min_score,
        filter=memory_filter(filter),
        method=search_method(method),
        freshness=freshness(at_least_as_fresh, max_wait),
    )


def query_time(reference_time: datetime | None, time_zone: str) -> v1.QueryTime | None:
    """When and where a query is asked. None: now, in UTC."""
    if reference_time is None and not time_zone:
        return None
    return fill(v1.QueryTime(), {"reference_time": reference_time, "time_zone": time_zone})


def recall(
    target: v1.Target,
    query: str,
    top_k: int | None,
    max_tokens: int | None,
    filter: types.Filter | None,
    method: types.Method | None,
    asked: v1.QueryTime | None,
) -> v1.RecallRequest:
    request = make(
        v1.RecallRequest,
        target=target,
        query=query,
        policy=policy({"top_k": top_k}),
        filter=message_filter(filter),
        method=search_method(method),
        query_time=asked,
    )
    return fill(request, {"max_tokens": max_tokens})


def search(
    target: v1.Target,
    query: str,
    top_k: int | None,
    min_score: float | None,
    filter: types.Filter | None,
    method: types.Method | None,
    asked: v1.QueryTime | None,
    all_branches: bool = False,
    freshness: v1.Freshness | None = None,
) -> v1.SearchRequest:
    return make(
        v1.SearchRequest,
        target=target,
        query=query,
        top_k=top_k,
        min_score=min_score,
        filter=message_filter(filter),
        method=search_method(method),
        query_time=asked,
        all_branches=all_branches,
        freshness=freshness,
    )


def format_number(name: types.Format) -> v1.ProviderFormat.ValueType:
    if name not in FORMATS:
        raise invalid("format", f"{name!r} is none of: {', '.join(FORMATS)}")
    return FORMATS[name]


def formats(given: types.Format | Sequence[types.Format] | None) -> list[types.Format]:
    """The formats to render, as a list."""
    if given is None:
        return []
    if not isinstance(given, Iterable):
        raise invalid("format", f"takes a name or a list of names, not {type(given).__name__}")
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
    said_by: str = "",
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
        said_by: the user who said it, where several take part: at most 256 characters, only of a
            message of a user. Facts in it belong to this user. Default: the session's user.
        metadata: your own data: at most 16 KiB as JSON.
        external_id: your own id, unique in the thread: at most 128 characters. Appending a
            message with the same id and content again stores nothing.
        created_at: when it was said. Default: now.
        message_id: the UUID of the message, for imports. Default: the server makes one.
        parent: the id of the message to follow; an earlier one starts a new branch, and the
            empty string a new root. Default: the message before it, or the thread's head.
    """
    content = [v1.Part(text=checked("text", text))] if text is not None else []
    made = make(
        v1.MessageInput,
        role=cast(Any, named("role", lambda of: enum_number(v1.Role.DESCRIPTOR, of), role)),
        parts=[*content, *parts],
        name=name,
        user_id=said_by,
        metadata=json_text("metadata", metadata) if metadata is not None else "",
        external_id=external_id,
        create_time=None if created_at is None else named("created_at", timestamp, created_at),
        message_id=message_id,
    )
    if parent:
        made.parent_message_id = checked("parent", parent)
    elif parent is not None:
        made.root.CopyFrom(EMPTY)
    return made


def provider_json(argument: str, value: Any) -> str:
    """A provider's messages as JSON text: of dicts and lists, or of a package's own objects."""
    if isinstance(value, str):
        if value.lstrip()[:1] not in ("{", "["):
            raise invalid(
                argument,
                "is a text, and no message as JSON: append(user=…) stores what the user said, "
                "append(assistant=…) what the model answered",
            )
        return checked(argument, value)
    try:
        if hasattr(value, "model_dump_json"):
            # Pydantic: the packages of OpenAI, Anthropic and Google. Gemini's aliases are its JSON.
            return str(value.model_dump_json(by_alias=True, exclude_none=True))
        return checked(argument, json.dumps(value, default=_jsonable, ensure_ascii=False))
    except InvalidArgumentError:
        raise
    except (TypeError, ValueError) as error:
        raise invalid(argument, str(error)) from error


def _jsonable(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    raise TypeError(f"has {type(value).__name__}, which is no message of a provider's API")


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
    said_by: str,
    assistant: str | None,
    format: types.ProviderFormat,
) -> v1.AppendMessagesRequest:
    """Adds the messages of an append, in the order: user, messages, assistant."""
    number = format_number(format)
    inputs = [item for item in messages if isinstance(item, v1.MessageInput)]
    if inputs and len(inputs) < len(messages):
        raise invalid(
            "messages", "are of recollect.message() and of a provider: one append takes either"
        )
    before = [("user", spoken("user", user))] if user is not None else []
    after = [("assistant", spoken("assistant", assistant))] if assistant is not None else []
    if not (messages or before or after):
        raise invalid("messages", "are missing: pass user=…, assistant=…, or a provider's messages")
    if said_by and (user is None or len(messages) > len(inputs)):
        raise invalid(
            "said_by",
            "goes with user=…; of other messages, recollect.message(…, said_by=…) names who said it",
        )
    if inputs or not messages:
        request.messages.extend(message("user", text, said_by=said_by) for _, text in before)
        request.messages.extend(inputs)
        request.messages.extend(message(role, text) for role, text in after)  # type: ignore[arg-type]
        return request
    texts = [_spoken(role, text, format) for role, text in before]
    texts += [provider_json(f"messages[{at}]", item) for at, item in enumerate(messages)]
    texts += [_spoken(role, text, format) for role, text in after]
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
    kind: str,
    attributes: types.JsonObject | None,
) -> v1.MemoryInput:
    return fill(
        make(v1.MemoryInput, text=text, external_id=external_id, pinned=pinned, kind=kind),
        {
            "type": type,
            "topics": topics,
            "entities": entities,
            "event_time": event_time,
            "source_message_ids": source_message_ids,
            "metadata": metadata,
            "attributes": attributes,
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
    return make(
        v1.AgentEvent,
        type=type,
        json=checked("data", json_text("data", data)) if data is not None else "",
        create_time=None if created_at is None else named("created_at", timestamp, created_at),
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


def _working_message(given: types.Message | v1.MessageInput | v1.Message) -> v1.Message:
    """A message of a working memory: a stored one as it is, or a new one."""
    if isinstance(given, types.Message):
        return given.proto
    if isinstance(given, v1.Message):
        return given
    if given.WhichOneof("parent"):
        raise invalid(
            "messages", "of a working memory follow the one before: leave parent out of them"
        )
    return v1.Message(
        message_id=given.message_id,
        role=given.role,
        name=given.name,
        parts=given.parts,
        metadata=given.metadata,
        create_time=given.create_time if given.HasField("create_time") else None,
        external_id=given.external_id,
        user_id=given.user_id,
    )


def _working_record(given: str | types.Memory | v1.MemoryInput | v1.Memory) -> v1.Memory:
    """A memory of a working memory: a text, a stored one as it is, or a new one."""
    if isinstance(given, str):
        return v1.Memory(text=given)
    if isinstance(given, types.Memory):
        return given.proto
    if isinstance(given, v1.Memory):
        return given
    return v1.Memory(
        external_id=given.external_id,
        text=given.text,
        type=given.type,
        topics=given.topics,
        entities=given.entities,
        event_time=given.event_time if given.HasField("event_time") else None,
        source_message_ids=given.source_message_ids,
        pinned=given.pinned if given.HasField("pinned") else None,
        metadata=given.metadata,
        kind=given.kind,
        attributes=given.attributes,
    )
