"""Anthropic's memory tool with its files in Recollect. It needs the extra `anthropic`.

    from anthropic import Anthropic
    from recollect.anthropic import RecollectMemoryTool

    memory = RecollectMemoryTool(app="support", user="ada")
    Anthropic().beta.messages.tool_runner(tools=[memory], …).until_done()

A file belongs to the user, so it stays when a conversation is deleted and goes with the user. What
the model sees as `/memories/notes.md` is `/notes.md` for `user.files`, which has its versions too.
"""

from __future__ import annotations

from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from recollect._async.client import AsyncRecollect
from recollect._fragments import check_user
from recollect._memory_tool import Refused
from recollect._sync.client import Recollect

_FIELDS = (
    *("command", "path", "view_range", "file_text", "old_str", "new_str"),
    *("insert_line", "insert_text", "old_path", "new_path"),
)


class RecollectMemoryTool(BetaAbstractMemoryTool):
    """The memory tool, for `Anthropic().beta.messages.tool_runner`.

    A path has at most 15 names below `/memories`, each of at most 256 bytes and together at most
    1,000, and a file at most 256 KiB; a user has at most 1,000 files. Beyond a limit the model gets
    an error that names it. Of commands that change files at the same time none is lost.
    """

    def __init__(
        self,
        *,
        app: str,
        user: str,
        client: Recollect | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """
        Args:
            app: the app that the files belong to.
            user: the person that they belong to: 1 to 256 characters. An empty one is a
                ValueError.
            client: the client to use. Default: one from RECOLLECT_ADDR and RECOLLECT_API_KEY.
            cache_control: where Anthropic's API caches the prompt up to.
        """
        super().__init__(cache_control=cache_control)
        check_user(user)
        self._files = (client or Recollect()).user(app=app, user=user).files

    def _run(self, command: Any) -> str:
        try:
            return self._files._run(_given(command))
        except Refused as refused:
            raise _tool_error(refused) from refused

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Shows a file with the numbers of its lines, or the files of a directory."""
        return self._run(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Makes a file."""
        return self._run(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces a text that a file has once."""
        return self._run(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Inserts a text after a line of a file."""
        return self._run(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file, or a directory with its files."""
        return self._run(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Renames a file, or a directory with its files."""
        return self._run(command)

    def clear_all_memory(self) -> str:
        """Deletes all files of the user."""
        self._files.delete("/")
        return "All memory cleared"


class AsyncRecollectMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool, for `AsyncAnthropic().beta.messages.tool_runner`. As RecollectMemoryTool."""

    def __init__(
        self,
        *,
        app: str,
        user: str,
        client: AsyncRecollect | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Arguments: as in RecollectMemoryTool, with a client for asyncio."""
        super().__init__(cache_control=cache_control)
        check_user(user)
        self._files = (client or AsyncRecollect()).user(app=app, user=user).files

    async def _run(self, command: Any) -> str:
        try:
            return await self._files._run(_given(command))
        except Refused as refused:
            raise _tool_error(refused) from refused

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Shows a file with the numbers of its lines, or the files of a directory."""
        return await self._run(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Makes a file."""
        return await self._run(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces a text that a file has once."""
        return await self._run(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Inserts a text after a line of a file."""
        return await self._run(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file, or a directory with its files."""
        return await self._run(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Renames a file, or a directory with its files."""
        return await self._run(command)

    async def clear_all_memory(self) -> str:
        """Deletes all files of the user."""
        await self._files.delete("/")
        return "All memory cleared"


def _given(command: Any) -> dict[str, Any]:
    """A command as the SDK read it: the SDK does not check what the model wrote."""
    return {name: getattr(command, name, None) for name in _FIELDS}


def _tool_error(refused: Refused) -> ToolError:
    return ToolError(refused.said.removeprefix("Error: "))
