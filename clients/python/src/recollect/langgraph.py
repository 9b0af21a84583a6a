"""Checkpointer and store of LangGraph. They need the extra `langgraph`.

    from recollect.langgraph import RecollectSaver, RecollectStore

    graph = builder.compile(
        checkpointer=RecollectSaver(app="support", user="ada"),
        store=RecollectStore(app="support", user="ada"),
    )
    graph.invoke(state, {"configurable": {"thread_id": "42"}})

Both work in threads and in asyncio.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.store.base import BaseStore, Op, Result, TTLConfig

from recollect._adapters import both_clients
from recollect._arguments import user_id
from recollect._async.client import AsyncRecollect
from recollect._async.pages import pages as async_pages
from recollect._langgraph_checkpoints import FIRST_CHECKPOINT_WAITS, Codec, next_version
from recollect._langgraph_documents import Documents
from recollect._sync.client import Recollect
from recollect._sync.pages import pages
from recollect.errors import NotFoundError
from recollect.types import NoUser


class RecollectSaver(BaseCheckpointSaver[str]):
    """Checkpoints of graphs, in threads of Recollect.

    The thread `42` is the conversation with the session key `thread:42`; it need not have
    messages. Of a value that grows with each step, a step stores only what is new.

    A saver stores checkpoints alone: the messages in the state of a graph are in no history,
    recall or context. A node that appends them to the conversation makes them findable.
    """

    def __init__(
        self,
        *,
        app: str,
        user: str | NoUser,
        client: Recollect | None = None,
        async_client: AsyncRecollect | None = None,
        serde: SerializerProtocol | None = None,
    ) -> None:
        """
        Args:
            app: the app that the threads belong to.
            user: the user that they belong to: 1 to 256 characters. NO_USER: they belong to no
                user. Savers of different users do not see each other's threads.
            client: the client of methods without `a`. Default: like async_client, or else from
                RECOLLECT_ADDR and RECOLLECT_API_KEY.
            async_client: the client of asynchronous methods. Default: like client.
            serde: how values are encoded. Default: LangGraph's.
        """
        super().__init__(serde=serde)
        self._client, self._async_client = both_clients(client, async_client)
        self._app = app
        self._user = user_id(user)

    @property
    def _codec(self) -> Codec:
        # LangGraph copies savers to change their serde.
        return Codec(self._app, self._user, self.serde)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint, with the values that are new since its parent.

        Raises:
            RecollectError: `CHECKPOINT_PARENT_NOT_FOUND`: the thread was deleted during the run.
        """
        for request in self._codec.put(config, checkpoint, metadata, new_versions):
            self._client.stubs.checkpoint.PutCheckpoint(request)
        return self._codec.stored_config(config, checkpoint)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint, with the values that are new since its parent.

        Raises:
            RecollectError: `CHECKPOINT_PARENT_NOT_FOUND`: the thread was deleted during the run.
        """
        for request in self._codec.put(config, checkpoint, metadata, new_versions):
            await self._async_client.stubs.checkpoint.PutCheckpoint(request)
        return self._codec.stored_config(config, checkpoint)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Stores what a task has written after a checkpoint.

        Raises:
            NotFoundError: the thread was deleted.
        """
        for request in self._codec.put_writes(config, writes, task_id, task_path):
            for wait in FIRST_CHECKPOINT_WAITS:
                try:
                    self._client.stubs.checkpoint.PutCheckpointWrites(request)
                    break
                except NotFoundError as error:
                    if error.reason != "THREAD_NOT_FOUND":
                        raise
                    time.sleep(wait)
            else:
                self._client.stubs.checkpoint.PutCheckpointWrites(request)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Stores what a task has written after a checkpoint.

        Raises:
            NotFoundError: the thread was deleted.
        """
        for request in self._codec.put_writes(config, writes, task_id, task_path):
            for wait in FIRST_CHECKPOINT_WAITS:
                try:
                    await self._async_client.stubs.checkpoint.PutCheckpointWrites(request)
                    break
                except NotFoundError as error:
                    if error.reason != "THREAD_NOT_FOUND":
                        raise
                    await asyncio.sleep(wait)
            else:
                await self._async_client.stubs.checkpoint.PutCheckpointWrites(request)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that config names, or the latest of its thread."""
        response = self._client.stubs.checkpoint.GetCheckpoint(self._codec.get(config))
        return self._codec.tuple(response.checkpoint) if response.HasField("checkpoint") else None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that config names, or the latest of its thread."""
        request = self._codec.get(config)
        response = await self._async_client.stubs.checkpoint.GetCheckpoint(request)
        return self._codec.tuple(response.checkpoint) if response.HasField("checkpoint") else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread, or of all threads of the user, the newest first."""
        if limit == 0:
            return
        left = limit
        request = self._codec.list(config, filter, before, limit)
        try:
            for page in pages(self._client.stubs.checkpoint.ListCheckpoints, request, None):
                for checkpoint in page.checkpoints:
                    yield self._codec.tuple(checkpoint)
                    if left is not None:
                        left -= 1
                        if not left:
                            return
        except NotFoundError:
            return

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints of a thread, or of all threads of the user, the newest first."""
        if limit == 0:
            return
        left = limit
        request = self._codec.list(config, filter, before, limit)
        method = self._async_client.stubs.checkpoint.ListCheckpoints
        try:
            async for page in async_pages(method, request, None):
                for checkpoint in page.checkpoints:
                    yield self._codec.tuple(checkpoint)
                    if left is not None:
                        left -= 1
                        if not left:
                            return
        except NotFoundError:
            return

    def delete_thread(self, thread_id: str) -> None:
        """Deletes the checkpoints of a thread; its messages stay."""
        for request in self._codec.delete_threads([thread_id]):
            self._client.stubs.checkpoint.DeleteCheckpoints(request)

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes the checkpoints of a thread; its messages stay."""
        for request in self._codec.delete_threads([thread_id]):
            await self._async_client.stubs.checkpoint.DeleteCheckpoints(request)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of runs, in all threads of the user."""
        for request in self._codec.delete_runs(run_ids):
            self._client.stubs.checkpoint.DeleteCheckpoints(request)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of runs, in all threads of the user."""
        for request in self._codec.delete_runs(run_ids):
            await self._async_client.stubs.checkpoint.DeleteCheckpoints(request)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints of a thread into another one."""
        request = self._codec.copy(source_thread_id, target_thread_id)
        self._client.stubs.checkpoint.CopyCheckpoints(request)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints of a thread into another one."""
        request = self._codec.copy(source_thread_id, target_thread_id)
        await self._async_client.stubs.checkpoint.CopyCheckpoints(request)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Deletes the checkpoints of threads: all but the latest, or with the strategy `delete`
        all. Not `keep_latest` for threads of graphs with a DeltaChannel, whose values are made
        of earlier checkpoints."""
        keep_latest = _keeps_latest(strategy)
        for request in self._codec.delete_threads(thread_ids, keep_latest=keep_latest):
            self._client.stubs.checkpoint.DeleteCheckpoints(request)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Deletes the checkpoints of threads: all but the latest, or with the strategy `delete`
        all. Not `keep_latest` for threads of graphs with a DeltaChannel, whose values are made
        of earlier checkpoints."""
        keep_latest = _keeps_latest(strategy)
        for request in self._codec.delete_threads(thread_ids, keep_latest=keep_latest):
            await self._async_client.stubs.checkpoint.DeleteCheckpoints(request)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The version of a channel that follows."""
        return next_version(current)


def _keeps_latest(strategy: str) -> bool:
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"strategy must be keep_latest or delete: {strategy!r}")
    return strategy == "keep_latest"


class RecollectStore(BaseStore):
    """JSON documents of a user, by namespace and key, found by their fields and by meaning.

    Documents are embedded by the server; a search with a query needs no model of yours.
    """

    supports_ttl = True

    def __init__(
        self,
        *,
        app: str,
        user: str | NoUser,
        client: Recollect | None = None,
        async_client: AsyncRecollect | None = None,
        index: Sequence[str] | Literal[False] = ("$",),
        ttl: TTLConfig | None = None,
    ) -> None:
        """
        Args:
            app: the app that the documents belong to.
            user: the user that they belong to: 1 to 256 characters. NO_USER: documents of the
                app. Stores of different users do not see each other's documents.
            client: as in RecollectSaver.
            async_client: as in RecollectSaver.
            index: the paths whose texts a query matches, unless `put` names its own; `$` is
                the whole value. False: none.
            ttl: default_ttl in minutes, and refresh_on_read. Default: documents do not expire,
                and reading one that does prolongs it.
        """
        self._client, self._async_client = both_clients(client, async_client)
        self._documents = Documents(app, user_id(user), index)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations: first all that read, then all that write."""
        steps = self._documents.run(list(ops))
        stubs = self._client.stubs.document
        try:
            method, request = next(steps)
            while True:
                method, request = steps.send(getattr(stubs, method)(request))
        except StopIteration as done:
            results: list[Result] = done.value
            return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations: first all that read, then all that write."""
        steps = self._documents.run(list(ops))
        stubs = self._async_client.stubs.document
        try:
            method, request = next(steps)
            while True:
                method, request = steps.send(await getattr(stubs, method)(request))
        except StopIteration as done:
            results: list[Result] = done.value
            return results
