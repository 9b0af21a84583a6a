# Written by clients/python/unasync from recollect/_async. Change that.
"""The text files that agents keep for a user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect import _memory_tool, _requests, _results, types, v1
from recollect._arguments import make
from recollect._connect import Channels
from recollect.errors import RecollectError, invalid


class Files:
    """A tree of text files of a user. `User.files` makes it.

    A path is absolute, such as `/projects/garden.md`: 1 to 15 names, each of 1 to 256 bytes after a
    `/`. Directories are those that files are in. Changes of one user's files happen one after the
    other, so none is lost. Texts are stored text: give them to a model as data.
    """

    def __init__(self, channels: Channels, ref: v1.UserRef) -> None:
        self._channels = channels
        self._ref = ref

    def __repr__(self) -> str:
        user = f" user={self._ref.user_id!r}" if self._ref.user_id else ""
        return f"<Files app={self._ref.app_id!r}{user}>"

    def view(
        self,
        path: str = "/",
        *,
        first_line: int | None = None,
        last_line: int | None = None,
        version: int = 0,
        depth: int = 2,
        timeout: float | None = None,
    ) -> types.FileContent | types.Directory:
        """A file with its text, or what is in a directory.

        Args:
            path: the path of a file or a directory; `/` has all files.
            first_line: the first line: 1 or more. Default: 1.
            last_line: the last line. Default: the last of the file.
            version: the version of the file. 0: the current one.
            depth: how many levels below a directory are listed: 1 to 15.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.GetMemoryFileRequest,
            user=self._ref,
            path=path,
            first_line=first_line,
            last_line=last_line,
            version=version,
            depth=depth,
        )
        response = self._channels.stubs().memory_file.GetMemoryFile(request, timeout=timeout)
        if response.HasField("directory"):
            return _results.directory(response.directory)
        return _results.file_content(response.file)

    def read(self, path: str, *, version: int = 0, timeout: float | None = None) -> str:
        """The text of a file. A directory is an InvalidArgumentError."""
        found = self.view(path, version=version, timeout=timeout)
        if isinstance(found, types.Directory):
            raise invalid("path", "names a directory")
        return found.text

    def put(
        self,
        path: str,
        text: str,
        *,
        etag: str = "",
        absent: bool = False,
        timeout: float | None = None,
    ) -> types.MemoryFile:
        """Creates a file, or replaces its text.

        Args:
            path: the path of the file.
            text: the whole text: at most 256 KiB. A user has at most 1,000 files, of together 16
                MiB.
            etag: the etag that the file must have, or ConflictError. `*`: it must exist. Empty:
                any.
            absent: whether the file must not exist yet.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.PutMemoryFileRequest,
            user=self._ref,
            path=path,
            text=text,
            precondition=_requests.precondition(etag, absent=absent),
        )
        response = self._channels.stubs().memory_file.PutMemoryFile(request, timeout=timeout)
        return _results.memory_file(response.file)

    def replace(
        self,
        path: str,
        old_text: str,
        new_text: str,
        *,
        etag: str = "",
        timeout: float | None = None,
    ) -> types.MemoryFile:
        """Replaces a text that occurs exactly once; else it is a PreconditionError, whose metadata
        has the `lines` of several places.

        Args:
            path: the path of the file.
            old_text: the text to replace, with its white space.
            new_text: the text in its place.
            etag: as in `put`.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.ReplaceInMemoryFileRequest,
            user=self._ref,
            path=path,
            old_text=old_text,
            new_text=new_text,
            precondition=_requests.precondition(etag),
        )
        files = self._channels.stubs().memory_file
        response = files.ReplaceInMemoryFile(request, timeout=timeout)
        return _results.memory_file(response.file)

    def insert(
        self, path: str, line: int, text: str, *, etag: str = "", timeout: float | None = None
    ) -> types.MemoryFile:
        """Inserts lines after a line; 0 is the beginning. Other arguments: as in `put`."""
        request = make(
            v1.InsertIntoMemoryFileRequest,
            user=self._ref,
            path=path,
            line=line,
            text=text,
            precondition=_requests.precondition(etag),
        )
        files = self._channels.stubs().memory_file
        response = files.InsertIntoMemoryFile(request, timeout=timeout)
        return _results.memory_file(response.file)

    def delete(
        self,
        path: str,
        *,
        erase_versions: bool = False,
        etag: str = "",
        timeout: float | None = None,
    ) -> int:
        """Deletes a file, or a directory with all files in it. Returns how many there were.

        Args:
            path: the path of a file or a directory; `/` deletes all files.
            erase_versions: whether the versions are erased too, also of files that were deleted
                before. False: `restore` brings a file back for 30 days.
            etag: as in `put`.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.DeleteMemoryFileRequest,
            user=self._ref,
            path=path,
            erase_versions=erase_versions,
            precondition=_requests.precondition(etag),
        )
        files = self._channels.stubs().memory_file
        return (files.DeleteMemoryFile(request, timeout=timeout)).deleted_count

    def rename(
        self, path: str, new_path: str, *, etag: str = "", timeout: float | None = None
    ) -> int:
        """Gives a file or a directory another path, at which nothing may be. Versions stay with the
        files. Returns how many files have another path."""
        request = make(
            v1.RenameMemoryFileRequest,
            user=self._ref,
            path=path,
            new_path=new_path,
            precondition=_requests.precondition(etag),
        )
        files = self._channels.stubs().memory_file
        return (files.RenameMemoryFile(request, timeout=timeout)).renamed_count

    def search(
        self,
        query: str,
        *,
        path: str = "/",
        top_k: int = 10,
        timeout: float | None = None,
    ) -> list[types.FoundFile]:
        """The files whose texts match a query by word and by meaning, best first.

        Args:
            query: the text to match: 1 to 8,192 characters.
            path: the directory that is searched.
            top_k: the maximum number of files: 1 to 100.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.SearchMemoryFilesRequest, user=self._ref, query=query, path=path, top_k=top_k
        )
        files = self._channels.stubs().memory_file
        response = files.SearchMemoryFiles(request, timeout=timeout)
        return [_results.found_file(found) for found in response.files]

    def versions(self, path: str, *, timeout: float | None = None) -> list[types.FileVersion]:
        """The versions of a file, the newest first: at most 50. Also of a file that was deleted in
        the last 30 days."""
        request = make(v1.ListMemoryFileVersionsRequest, user=self._ref, path=path)
        files = self._channels.stubs().memory_file
        response = files.ListMemoryFileVersions(request, timeout=timeout)
        return [_results.file_version(version) for version in response.versions]

    def diff(
        self,
        path: str,
        *,
        from_version: int = 0,
        to_version: int = 0,
        timeout: float | None = None,
    ) -> str:
        """What changed between two versions, as a unified diff.

        Args:
            path: the path of the file.
            from_version: the earlier version. 0: the one before to_version.
            to_version: the later version. 0: the newest.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.CompareMemoryFileVersionsRequest,
            user=self._ref,
            path=path,
            from_version=from_version,
            to_version=to_version,
        )
        files = self._channels.stubs().memory_file
        return (files.CompareMemoryFileVersions(request, timeout=timeout)).diff

    def restore(
        self, path: str, version: int = 0, *, etag: str = "", timeout: float | None = None
    ) -> types.MemoryFile:
        """Gives a file the text of a version, as a new version. 0: the newest, which brings a
        deleted file back. Other arguments: as in `put`."""
        request = make(
            v1.RestoreMemoryFileRequest,
            user=self._ref,
            path=path,
            version=version,
            precondition=_requests.precondition(etag),
        )
        files = self._channels.stubs().memory_file
        response = files.RestoreMemoryFile(request, timeout=timeout)
        return _results.memory_file(response.file)

    def handle(self, command: Mapping[str, Any]) -> str:
        """Carries out a command of Anthropic's memory tool, such as `{"command": "view", "path":
        "/memories"}`, and returns what the model reads, for an error too. Errors that the model
        cannot help, such as a server that is away, are raised."""
        try:
            return self._run(command)
        except _memory_tool.Refused as refused:
            return refused.said

    def _run(self, command: Mapping[str, Any]) -> str:
        """As `handle`, with `Refused` for an error that the model reads."""
        call = _memory_tool.call_of(command, self._ref)
        try:
            method = getattr(self._channels.stubs().memory_file, call.method)
            return call.said(method(call.request))
        except RecollectError as error:
            refused = call.refused(error)
            if refused is None:
                raise
            raise refused from error
