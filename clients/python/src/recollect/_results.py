"""What callers get, made of messages of the contract."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any, cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from recollect import types, v1
from recollect._requests import FORMATS, enum_name

_FORMAT_NAMES = {number: name for name, number in FORMATS.items()}


def _time(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=timezone.utc)


def _time_or_none(proto: Any, name: str) -> datetime | None:
    return _time(getattr(proto, name)) if proto.HasField(name) else None


def _metadata(proto: Any) -> dict[str, Any]:
    if not proto.HasField("metadata"):
        return {}
    values: dict[str, Any] = _whole(MessageToDict(proto.metadata))
    return values


def _whole(value: Any) -> Any:
    """The value with whole numbers as int: the contract has doubles only."""
    if isinstance(value, dict):
        return {key: _whole(of) for key, of in value.items()}
    if isinstance(value, list):
        return [_whole(of) for of in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def part_text(parts: Iterable[v1.Part]) -> str:
    return "\n".join(part.text for part in parts if part.WhichOneof("content") == "text")


def message(proto: v1.Message) -> types.Message:
    return types.Message(
        id=proto.message_id,
        role=cast(types.Role, enum_name(v1.Role.DESCRIPTOR, proto.role)),
        text=part_text(proto.parts),
        name=proto.name,
        created_at=_time(proto.create_time),
        metadata=_metadata(proto),
        external_id=proto.external_id,
        thread_id=proto.thread_id,
        parent_id=proto.parent_message_id,
        seq=proto.seq,
        tokens=proto.token_count,
        proto=proto,
    )


def appended(proto: v1.AppendMessagesResponse) -> types.Appended:
    return types.Appended(
        message_ids=tuple(of.message_id for of in proto.messages),
        thread_id=proto.thread_id,
        thread_created=proto.thread_created,
        replayed=proto.replayed,
        revision=proto.revision,
        proto=proto,
    )


def history(proto: v1.GetHistoryResponse) -> types.History:
    return types.History(
        items=tuple(message(of) for of in proto.messages),
        total_tokens=proto.total_tokens,
        truncated=proto.truncated,
        omitted_messages=proto.omitted_message_count,
        proto=proto,
    )


def _degradations(proto: Any) -> tuple[types.Degradation, ...]:
    enum = v1.DegradationReason.DESCRIPTOR
    return tuple(
        types.Degradation(reason=enum_name(enum, of.reason), message=of.message)
        for of in proto.degradations
    )


def context(proto: v1.BuildContextResponse) -> types.Context:
    rendered = {_FORMAT_NAMES[of.format]: of.body for of in proto.rendered}
    format = next((name for name in rendered if name != "text"), next(iter(rendered), None))
    kinds = v1.ContextBlockKind.DESCRIPTOR
    return types.Context(
        format=format,
        request=json.loads(rendered[format]) if format and format != "text" else {},
        total_tokens=proto.total_tokens,
        max_tokens=proto.max_tokens,
        cuts=tuple(
            types.Cut(kind=enum_name(kinds, of.kind), items=of.item_count, tokens=of.token_count)
            for of in proto.cuts
        ),
        degradations=_degradations(proto),
        rendered=rendered,
        proto=proto,
    )


def _recalled(proto: v1.RecalledMessage) -> types.Recalled:
    reasons = v1.RecallReason.DESCRIPTOR
    return types.Recalled(
        message=message(proto.message),
        why=cast(Any, tuple(enum_name(reasons, reason) for reason in proto.reasons)),
        score=proto.score,
        rank=proto.rank,
        dense_score=proto.dense_score if proto.HasField("dense_score") else None,
        lexical_score=proto.lexical_score if proto.HasField("lexical_score") else None,
    )


def recall(proto: v1.RecallResponse | v1.SearchResponse) -> types.RecallResult:
    found = proto.messages if isinstance(proto, v1.RecallResponse) else proto.matches
    reasons = v1.RecallReason.DESCRIPTOR
    return types.RecallResult(
        items=tuple(_recalled(of) for of in found),
        cuts=tuple(
            types.Cut(
                kind=enum_name(reasons, of.reason), items=of.message_count, tokens=of.token_count
            )
            for of in proto.cuts
        ),
        degradations=_degradations(proto),
        method=cast(Any, enum_name(v1.SearchMethod.DESCRIPTOR, proto.method) or None),
        proto=proto,
    )


def memory(proto: v1.Memory, score: float | None = None) -> types.Memory:
    return types.Memory(
        id=proto.memory_id,
        text=proto.text,
        type=cast(types.MemoryType, enum_name(v1.MemoryType.DESCRIPTOR, proto.type)),
        topics=tuple(proto.topics),
        entities=tuple(proto.entities),
        pinned=proto.pinned,
        metadata=_metadata(proto),
        record_id=proto.record_id,
        origin=enum_name(v1.MemoryOrigin.DESCRIPTOR, proto.origin),
        thread_id=proto.thread_id,
        created_at=_time(proto.create_time),
        event_time=_time_or_none(proto, "event_time"),
        valid_until=_time_or_none(proto, "valid_until"),
        score=score,
        proto=proto,
    )


def thread(proto: v1.Thread) -> types.ThreadInfo:
    return types.ThreadInfo(
        id=proto.thread_id,
        app=proto.app_id,
        user=proto.user_id,
        session=proto.session_key,
        title=proto.title,
        metadata=_metadata(proto),
        message_count=proto.message_count,
        head=proto.head_message_id,
        created_at=_time(proto.create_time),
        updated_at=_time(proto.update_time),
        expires_at=_time_or_none(proto, "expire_time"),
        ephemeral=proto.ephemeral,
        etag=proto.etag,
        proto=proto,
    )


def branch(proto: v1.Branch) -> types.Branch:
    return types.Branch(
        number=proto.branch,
        head=proto.head_message_id,
        fork=proto.fork_message_id,
        message_count=proto.message_count,
        active=proto.active,
        created_at=_time(proto.create_time),
        proto=proto,
    )


def user(proto: v1.User) -> types.UserInfo:
    return types.UserInfo(
        id=proto.user_id,
        thread_count=proto.thread_count,
        message_count=proto.message_count,
        memory_count=proto.memory_count,
        last_activity=_time_or_none(proto, "last_activity_time"),
        proto=proto,
    )


def policy_values(proto: v1.MemoryPolicy) -> dict[str, Any]:
    """The fields that a policy sets, in the words of types.Policy."""
    return {field.name: _plain(field, value) for field, value in proto.ListFields()}


def _plain(field: Any, value: Any) -> Any:
    if isinstance(value, Duration):
        return value.ToTimedelta().total_seconds()
    if field.enum_type is None:
        return value
    if field.is_repeated:
        return [enum_name(field.enum_type, number) for number in value]
    return enum_name(field.enum_type, value)


def effective_policy(proto: v1.EffectivePolicy) -> types.EffectivePolicy:
    levels = v1.PolicyLevel.DESCRIPTOR
    return types.EffectivePolicy(
        values=policy_values(proto.policy),
        origins={origin.field: enum_name(levels, origin.level) for origin in proto.origins},
        proto=proto,
    )
