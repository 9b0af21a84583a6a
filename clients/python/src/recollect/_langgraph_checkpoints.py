"""Requests and answers of checkpoints, for LangGraph's checkpointers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from recollect import v1

_THREAD = "thread:"
_LARGEST_REQUEST = 3_500_000
"""Bytes of values in one request; the transport takes 4 MiB."""
_LONGEST_INLINE = 256
"""Characters of a text that is stored in the checkpoint itself."""
_MOST_WRITES = 1_000
FIRST_CHECKPOINT_WAITS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts to store writes in a thread that does not exist: LangGraph stores the
first checkpoint, which creates it, and the first writes at the same time."""


class Codec:
    """Translates between LangGraph and the contract, for one app and user."""

    def __init__(self, app: str, user: str, serde: SerializerProtocol) -> None:
        self.user = v1.UserRef(app_id=app, user_id=user)
        self._serde = serde

    def thread(self, thread_id: Any) -> v1.ThreadRef:
        session = v1.SessionRef(
            app_id=self.user.app_id,
            user_id=self.user.user_id,
            session_key=f"{_THREAD}{thread_id}",
        )
        return v1.ThreadRef(session=session)

    # --- writing -----------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> list[v1.PutCheckpointRequest]:
        """The requests that store a checkpoint: several if it has many new values."""
        names = config["configurable"]
        versions = checkpoint["channel_versions"]
        inline: dict[str, Any] = {}
        known: list[v1.CheckpointValue] = []
        new: list[v1.CheckpointValue] = []
        for channel, value in checkpoint["channel_values"].items():
            if channel not in versions or _is_small(value):
                inline[channel] = value
                continue
            version = str(versions[channel])
            if channel in new_versions:
                kind, data = self._serde.dumps_typed(value)
                new.append(
                    v1.CheckpointValue(channel=channel, version=version, type=kind, data=data)
                )
            else:
                known.append(v1.CheckpointValue(channel=channel, version=version))
        kind, data = self._serde.dumps_typed({**checkpoint, "channel_values": inline})
        described = get_serializable_checkpoint_metadata(config, metadata)
        requests = []
        for batch in _batches(new, lambda value: value.ByteSize()):
            request = v1.PutCheckpointRequest(
                thread=self.thread(names["thread_id"]),
                namespace=names.get("checkpoint_ns", ""),
                checkpoint_id=checkpoint["id"],
                parent_checkpoint_id=get_checkpoint_id(config) or "",
                type=kind,
                data=data,
                metadata=json.dumps(described, ensure_ascii=False, default=str),
                values=[*known, *batch],
            )
            requests.append(request)
            known += [
                v1.CheckpointValue(channel=value.channel, version=value.version) for value in batch
            ]
        return requests

    def stored_config(self, config: RunnableConfig, checkpoint: Checkpoint) -> RunnableConfig:
        names = config["configurable"]
        return _config(names["thread_id"], names.get("checkpoint_ns", ""), checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> list[v1.PutCheckpointWritesRequest]:
        names = config["configurable"]
        made: dict[int, v1.CheckpointWrite] = {}
        for position, (channel, value) in enumerate(writes):
            kind, data = self._serde.dumps_typed(value)
            index = WRITES_IDX_MAP.get(channel, position)
            made[index] = v1.CheckpointWrite(
                task_id=task_id,
                task_path=task_path,
                index=index,
                channel=channel,
                type=kind,
                data=data,
            )
        return [
            v1.PutCheckpointWritesRequest(
                thread=self.thread(names["thread_id"]),
                namespace=names.get("checkpoint_ns", ""),
                checkpoint_id=str(get_checkpoint_id(config)),
                writes=batch,
                replace=all(channel in WRITES_IDX_MAP for channel, _ in writes),
            )
            for batch in _batches(list(made.values()), lambda write: write.ByteSize())
            if batch
        ]

    # --- reading -----------------------------------------------------------------------------

    def get(self, config: RunnableConfig) -> v1.GetCheckpointRequest:
        names = config["configurable"]
        return v1.GetCheckpointRequest(
            thread=self.thread(names["thread_id"]),
            namespace=names.get("checkpoint_ns", ""),
            checkpoint_id=get_checkpoint_id(config) or "",
        )

    def list(
        self,
        config: RunnableConfig | None,
        filter: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> v1.ListCheckpointsRequest:
        request = v1.ListCheckpointsRequest(
            before=(get_checkpoint_id(before) or "") if before else "",
            metadata=json.dumps(filter, ensure_ascii=False, default=str) if filter else "",
            page_size=min(limit or 50, 50),
        )
        if config is None:
            request.target.user.CopyFrom(self.user)
            return request
        names = config["configurable"]
        request.target.thread.CopyFrom(self.thread(names["thread_id"]))
        if names.get("checkpoint_ns") is not None:
            request.namespace = names["checkpoint_ns"]
        request.checkpoint_id = get_checkpoint_id(config) or ""
        return request

    def tuple(self, stored: v1.Checkpoint) -> CheckpointTuple:
        thread_id = stored.session_key.removeprefix(_THREAD)
        checkpoint: Checkpoint = self._serde.loads_typed((stored.type, stored.data))
        for value in stored.values:
            checkpoint["channel_values"][value.channel] = self._serde.loads_typed(
                (value.type, value.data)
            )
        parent = stored.parent_checkpoint_id
        return CheckpointTuple(
            config=_config(thread_id, stored.namespace, stored.checkpoint_id),
            checkpoint=checkpoint,
            metadata=json.loads(stored.metadata),
            parent_config=_config(thread_id, stored.namespace, parent) if parent else None,
            pending_writes=[
                (
                    write.task_id,
                    write.channel,
                    self._serde.loads_typed((write.type, write.data)),
                )
                for write in stored.writes
            ],
        )

    # --- deleting ----------------------------------------------------------------------------

    def delete_threads(
        self, thread_ids: Sequence[str], *, keep_latest: bool = False
    ) -> Iterator[v1.DeleteCheckpointsRequest]:
        for start in range(0, len(thread_ids), 100):
            threads = [self.thread(thread_id) for thread_id in thread_ids[start : start + 100]]
            yield v1.DeleteCheckpointsRequest(threads=threads, keep_latest=keep_latest)

    def delete_runs(self, run_ids: Sequence[str]) -> Iterator[v1.DeleteCheckpointsRequest]:
        for start in range(0, len(run_ids), 100):
            wanted = [json.dumps({"run_id": str(run)}) for run in run_ids[start : start + 100]]
            yield v1.DeleteCheckpointsRequest(user=self.user, metadata=wanted)

    def copy(self, source: str, target: str) -> v1.CopyCheckpointsRequest:
        return v1.CopyCheckpointsRequest(source=self.thread(source), target=self.thread(target))


def next_version(current: str | int | float | None) -> str:
    """The version that follows. The random part keeps versions of branches apart."""
    number = 0 if current is None else int(str(current).split(".")[0])
    return f"{number + 1:032}.{random.random():016}"


def _config(thread_id: Any, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def _is_small(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_INLINE
    return value is None or isinstance(value, (bool, int, float))


def _batches(items: Sequence[Any], size_of: Callable[[Any], int]) -> Iterator[list[Any]]:
    """The items in requests that the transport takes; one empty batch if there are none."""
    batch: list[Any] = []
    size = 0
    for item in items:
        if batch and (size + size_of(item) > _LARGEST_REQUEST or len(batch) >= _MOST_WRITES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += size_of(item)
    yield batch
