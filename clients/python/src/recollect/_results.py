"""What callers get, made of messages of the contract."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any, cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from recollect import types, v1
from recollect._requests import FORMATS, enum_name

_FORMAT_NAMES = {number: name for name, number in FORMATS.items()}


def _time(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=timezone.utc)


def _time_or_none(proto: Any, name: str) -> datetime | None:
    return _time(getattr(proto, name)) if proto.HasField(name) else None


def json_object(text: str) -> dict[str, Any]:
    """The object that JSON text has; empty text has none."""
    values: dict[str, Any] = json.loads(text) if text else {}
    return values


def part_text(parts: Iterable[v1.Part]) -> str:
    return "\n".join(part.text for part in parts if part.WhichOneof("content") == "text")


def message(proto: v1.Message) -> types.Message:
    return types.Message(
        id=proto.message_id,
        role=cast(types.Role, enum_name(v1.Role.DESCRIPTOR, proto.role)),
        text=part_text(proto.parts),
        name=proto.name,
        said_by=proto.user_id,
        created_at=_time(proto.create_time),
        metadata=json_object(proto.metadata),
        external_id=proto.external_id,
        thread_id=proto.thread_id,
        parent_id=proto.parent_message_id,
        seq=proto.seq,
        tokens=proto.token_count,
        proto=proto,
    )


def event(proto: v1.AgentEvent) -> types.Event:
    return types.Event(
        number=proto.number,
        type=proto.type,
        data=json.loads(proto.json) if proto.json else None,
        created_at=_time(proto.create_time),
        message_id=proto.message_id,
        proto=proto,
    )


def appended_events(proto: v1.AppendEventsResponse) -> types.AppendedEvents:
    return types.AppendedEvents(
        first_number=proto.first_number,
        count=proto.event_count,
        replayed=proto.replayed,
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


def _rendered(proto: v1.GetHistoryResponse | v1.BuildContextResponse) -> dict[str, Any]:
    """The bodies by their formats, the first one of a provider, and what it is as a request."""
    rendered = {_FORMAT_NAMES[of.format]: of.body for of in proto.rendered}
    format = next((name for name in rendered if name != "text"), next(iter(rendered), None))
    request = json.loads(rendered[format]) if format and format != "text" else {}
    return {"format": format, "request": request, "rendered": rendered}


def history(proto: v1.GetHistoryResponse) -> types.History:
    return types.History(
        items=tuple(message(of) for of in proto.messages),
        **_rendered(proto),
        total_tokens=proto.total_tokens,
        truncated=proto.truncated,
        omitted_messages=proto.omitted_message_count,
        events=tuple(event(of) for of in proto.events),
        proto=proto,
    )


def working_memory(
    proto: v1.WorkingMemory, warnings: Iterable[v1.WorkingMemoryWarning] = ()
) -> types.WorkingMemory:
    return types.WorkingMemory(
        thread_id=proto.thread_id,
        summary=proto.summary,
        messages=tuple(message(of) for of in proto.messages),
        omitted_messages=proto.omitted_message_count,
        memories=tuple(memory(of) for of in proto.memories),
        data=json_object(proto.data),
        model=proto.model,
        expires_at=_time_or_none(proto, "expire_time"),
        etag=proto.etag,
        warnings=tuple(f"{of.field}: {of.message}" for of in warnings),
        proto=proto,
    )


def _degradations(proto: Any) -> tuple[types.Degradation, ...]:
    enum = v1.DegradationReason.DESCRIPTOR
    return tuple(
        types.Degradation(reason=enum_name(enum, of.reason), message=of.message)
        for of in proto.degradations
    )


def _named_times(proto: Any) -> tuple[types.NamedTime, ...]:
    return tuple(
        types.NamedTime(text=of.text, start_time=_time(of.start_time), end_time=_time(of.end_time))
        for of in proto.named_times
    )


def _omitted(kind: str, proto: v1.ContextOmission | v1.OmittedMessage) -> types.Omitted:
    return types.Omitted(
        kind=kind,
        reason=enum_name(v1.OmissionReason.DESCRIPTOR, proto.reason),
        score=proto.score,
        message_id=proto.message_id,
        memory_id=getattr(proto, "memory_id", ""),
        number=getattr(proto, "number", 0),
    )


def _explained(proto: Any) -> types.EffectivePolicy | None:
    explained = proto.HasField("effective_policy")
    return effective_policy(proto.effective_policy) if explained else None


def context(proto: v1.BuildContextResponse) -> types.Context:
    kinds = v1.ContextBlockKind.DESCRIPTOR
    return types.Context(
        **_rendered(proto),
        total_tokens=proto.total_tokens,
        max_tokens=proto.max_tokens,
        cuts=tuple(
            types.Cut(kind=enum_name(kinds, of.kind), items=of.item_count, tokens=of.token_count)
            for of in proto.cuts
        ),
        degradations=_degradations(proto),
        named_times=_named_times(proto),
        pending_count=proto.pending_count,
        policy=_explained(proto),
        omitted=tuple(_omitted(enum_name(kinds, of.kind), of) for of in proto.omitted),
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
    explained = proto if isinstance(proto, v1.RecallResponse) else v1.RecallResponse()
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
        named_times=_named_times(proto),
        policy=_explained(explained),
        omitted=tuple(_omitted("", of) for of in explained.omitted),
        proto=proto,
    )


def memory(proto: v1.Memory, score: float | None = None) -> types.Memory:
    return types.Memory(
        id=proto.memory_id,
        user=proto.user_id,
        text=proto.text,
        type=cast(types.MemoryType, enum_name(v1.MemoryType.DESCRIPTOR, proto.type)),
        topics=tuple(proto.topics),
        entities=tuple(proto.entities),
        pinned=proto.pinned,
        metadata=json_object(proto.metadata),
        kind=proto.kind,
        attributes=json_object(proto.attributes),
        external_id=proto.external_id,
        origin=enum_name(v1.MemoryOrigin.DESCRIPTOR, proto.origin),
        thread_id=proto.thread_id,
        created_at=_time(proto.create_time),
        event_time=_time_or_none(proto, "event_time"),
        valid_until=_time_or_none(proto, "valid_until"),
        known_until=_time_or_none(proto, "known_until"),
        score=score,
        proto=proto,
    )


def profile(proto: v1.GetProfileResponse) -> types.Profile:
    def entry(of: v1.ProfileEntry) -> types.ProfileEntry:
        return types.ProfileEntry(
            text=of.text,
            topic=of.topic,
            memory_ids=tuple(of.memory_ids),
            pinned=of.pinned,
            event_time=_time_or_none(of, "event_time"),
            valid_from=_time(of.valid_from),
            proto=of,
        )

    return types.Profile(
        text=proto.text,
        entries=tuple(entry(of) for of in proto.entries),
        total_tokens=proto.total_tokens,
        omitted=proto.omitted_count,
        hash=proto.hash,
        proto=proto,
    )


def memory_file(proto: v1.MemoryFile) -> types.MemoryFile:
    return types.MemoryFile(
        path=proto.path,
        size=proto.size_bytes,
        line_count=proto.line_count,
        version=proto.version,
        etag=proto.etag,
        created_at=_time_or_none(proto, "create_time"),
        updated_at=_time_or_none(proto, "update_time"),
        proto=proto,
    )


def file_content(proto: v1.MemoryFileContent) -> types.FileContent:
    return types.FileContent(
        file=memory_file(proto.file),
        text=proto.lines.text,
        first_line=proto.lines.first_line,
    )


def directory(proto: v1.MemoryDirectory) -> types.Directory:
    def entry(of: v1.MemoryDirectoryEntry) -> types.DirectoryEntry:
        return types.DirectoryEntry(
            path=of.path,
            is_directory=of.is_directory,
            size=of.size_bytes,
            updated_at=_time(of.update_time),
        )

    return types.Directory(
        path=proto.path,
        size=proto.size_bytes,
        file_count=proto.file_count,
        entries=tuple(entry(of) for of in proto.entries),
        truncated=proto.truncated,
    )


def found_file(proto: v1.FoundMemoryFile) -> types.FoundFile:
    return types.FoundFile(
        file=memory_file(proto.file),
        score=proto.score,
        lines=tuple(types.FileLines(of.first_line, of.text) for of in proto.lines),
    )


def file_version(proto: v1.MemoryFileVersion) -> types.FileVersion:
    return types.FileVersion(
        version=proto.version,
        change=enum_name(v1.MemoryFileChange.DESCRIPTOR, proto.change),
        size=proto.size_bytes,
        created_at=_time(proto.create_time),
        expires_at=_time_or_none(proto, "expire_time"),
    )


def thread(proto: v1.Thread) -> types.ThreadInfo:
    return types.ThreadInfo(
        id=proto.thread_id,
        app=proto.app_id,
        user=proto.user_id,
        session=proto.session_key,
        title=proto.title,
        metadata=json_object(proto.metadata),
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


def extraction(proto: v1.ExtractMemoriesResponse) -> types.Extraction:
    return types.Extraction(
        complete=proto.complete,
        waiting_messages=proto.waiting_message_count,
        last_error=proto.last_error,
        proto=proto,
    )


def deletion(proto: v1.Deletion) -> types.Deletion:
    return types.Deletion(
        id=proto.deletion_id,
        app=proto.app_id,
        user=proto.user_id if proto.HasField("user_id") else None,
        finished=proto.state == v1.DELETION_STATE_FINISHED,
        places=tuple(
            types.DeletionPlace(of.name, of.deleted_count, of.remaining_count)
            for of in proto.places
        ),
        last_error=proto.last_error,
        created_at=_time(proto.create_time),
        finished_at=_time_or_none(proto, "finish_time"),
        proto=proto,
    )


def transaction(proto: v1.Transaction) -> types.Transaction:
    return types.Transaction(
        actor=proto.actor,
        action=enum_name(v1.TransactionAction.DESCRIPTOR, proto.action),
        thread_id=proto.thread_id,
        subject=proto.subject,
        items=proto.item_count,
        result=cast(Any, enum_name(v1.TransactionResult.DESCRIPTOR, proto.result)),
        created_at=_time(proto.create_time),
        proto=proto,
    )


def policy_values(
    proto: v1.MemoryPolicy | v1.MemoryKind | v1.MemoryKindExample,
) -> dict[str, Any]:
    """The fields that a policy or a part of it sets, in the words of types.Policy."""
    return {field.name: _plain(field, value) for field, value in proto.ListFields()}


def _plain(field: Any, value: Any) -> Any:
    if isinstance(value, Duration):
        return value.ToTimedelta().total_seconds()
    if field.message_type is not None and field.is_repeated:
        return [policy_values(item) for item in value]
    if field.enum_type is None:
        return list(value) if field.is_repeated else value
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
