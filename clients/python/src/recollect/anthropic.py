"""Anthropic's memory tool with its files in Recollect. It needs the extra `anthropic`.

    from anthropic import Anthropic
    from recollect.anthropic import RecollectMemoryTool

    memory = RecollectMemoryTool(app="support", user="ada")
    Anthropic().beta.messages.tool_runner(tools=[memory], …).until_done()

A file is a document of the user, so it stays when a conversation is deleted and goes with the
user. Directories are those that files are in.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Generator
from typing import Any, NamedTuple

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

from recollect import v1
from recollect._async.client import AsyncRecollect
from recollect._fragments import check_user
from recollect._sync.client import Recollect
from recollect.errors import InvalidArgumentError, ResourceExhaustedError

_ROOT = "memories"
_NAMESPACE = "anthropic_memory"
"""The first name of the documents' namespace, which is not shared with documents of others."""
_MOST_LINES = 999_999
# Limits of the tool's paths, from those of a document's namespace and key.
_MOST_LABELS = 16
_LONGEST_LABEL = 256
_LONGEST_NAMESPACE = 1024
_LONGEST_KEY = 512
_MOST_DOCUMENTS = 500
_LARGEST_REQUEST = 3_000_000
_Calls = Generator[tuple[str, Any], Any, str]
_Search = Generator[tuple[str, Any], Any, list["_File"]]


class _File(NamedTuple):
    """A file, or the text of one that is yet to be stored."""

    path: tuple[str, ...]
    """The names of its directories, `memories` first, and its own."""
    text: str


class RecollectMemoryTool(BetaAbstractMemoryTool):
    """The memory tool, for `Anthropic().beta.messages.tool_runner`.

    A path has at most 16 names below `/memories`, each of at most 256 bytes and together at most
    1,008, and a file at most 1 MiB as JSON. Beyond a limit the model gets an error that names it.
    Of two commands that change a file at the same time, one may undo the other, because the
    contract has no precondition for documents. What shows afterwards is told to the model: a new
    file that took the place of another one, and a changed file that was deleted meanwhile.
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
        self._files = _Files(app, user)
        self._client = client or Recollect()

    def _run(self, calls: _Calls) -> str:
        """Makes the calls of a command."""
        answer: Any = None
        try:
            while True:
                method, request = calls.send(answer)
                with _Refused():
                    answer = getattr(self._client.stubs.document, method)(request)
        except StopIteration as end:
            return str(end.value)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Shows a file with the numbers of its lines, or the files of a directory."""
        return self._run(self._files.view(command))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Makes a file."""
        return self._run(self._files.create(command))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces a text that a file has once."""
        return self._run(self._files.str_replace(command))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Inserts a text after a line of a file."""
        return self._run(self._files.insert(command))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file, or a directory with its files."""
        return self._run(self._files.delete(command))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Renames a file, or a directory with its files."""
        return self._run(self._files.rename(command))

    def clear_all_memory(self) -> str:
        """Deletes all files of the user."""
        return self._run(self._files.clear())


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
        self._files = _Files(app, user)
        self._client = client or AsyncRecollect()

    async def _run(self, calls: _Calls) -> str:
        """Makes the calls of a command."""
        answer: Any = None
        try:
            while True:
                method, request = calls.send(answer)
                with _Refused():
                    answer = await getattr(self._client.stubs.document, method)(request)
        except StopIteration as end:
            return str(end.value)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Shows a file with the numbers of its lines, or the files of a directory."""
        return await self._run(self._files.view(command))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Makes a file."""
        return await self._run(self._files.create(command))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces a text that a file has once."""
        return await self._run(self._files.str_replace(command))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Inserts a text after a line of a file."""
        return await self._run(self._files.insert(command))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file, or a directory with its files."""
        return await self._run(self._files.delete(command))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Renames a file, or a directory with its files."""
        return await self._run(self._files.rename(command))

    async def clear_all_memory(self) -> str:
        """Deletes all files of the user."""
        return await self._run(self._files.clear())


class _Refused:
    """What the server refuses becomes an error that the model reads."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (InvalidArgumentError, ResourceExhaustedError)):
            raise ToolError(f"The memory does not take this: {error.message}") from error


class _Files:
    """The commands, each as a generator that yields the methods and requests of its calls and is
    sent the responses."""

    def __init__(self, app: str, user: str) -> None:
        check_user(user)
        self._user = v1.UserRef(app_id=app, user_id=user)

    # --- commands ----------------------------------------------------------------------------

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> _Calls:
        path = _path(command.path)
        _check_range(command.view_range)
        found = yield from self._file(path)
        if found is not None:
            return _numbered(command.path, found.text, command.view_range)
        inside = yield from self._inside(path)
        if not inside and len(path) > 1:
            raise _missing(command.path)
        return _listing(command.path.rstrip("/"), len(path), inside)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> _Calls:
        path = _path(command.path, is_file=True)
        _check_text("file_text", command.file_text)
        yield from self._check_free(path, command.path)
        created = yield from self._put([_File(path, command.file_text)])
        return f"File created successfully at: {command.path}{_replaced(1 - created)}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> _Calls:
        path, old = _path(command.path), command.old_str
        _check_text("old_str", old)
        new = "" if command.new_str is None else command.new_str
        _check_text("new_str", new)
        found = yield from self._existing(path, command.path)
        if not old:
            raise ToolError("No replacement was performed: old_str is empty.")
        places = _places(found.text, old)
        if not places:
            raise ToolError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in "
                f"{command.path}."
            )
        lines = [found.text.count("\n", 0, place) + 1 for place in places]
        if len(places) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(map(str, lines))}. Please ensure it is unique"
            )
        text = found.text.replace(old, new, 1)
        created = yield from self._put([_File(path, text)])
        shown = range(max(lines[0] - 3, 0), lines[0] + 2)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            f"numbers):\n{_lines(text, shown)}{_restored(created)}"
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> _Calls:
        path = _path(command.path)
        _check_text("insert_text", command.insert_text)
        found = yield from self._existing(path, command.path)
        lines = found.text.removesuffix("\n").split("\n") if found.text else []
        if type(command.insert_line) is not int or not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the "
                f"range of lines of the file: [0, {len(lines)}]"
            )
        lines.insert(command.insert_line, command.insert_text.removesuffix("\n"))
        created = yield from self._put([_File(path, "\n".join(lines) + "\n")])
        return f"The file {command.path} has been edited.{_restored(created)}"

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> _Calls:
        path = _path(command.path)
        if len(path) == 1:
            raise ToolError("Cannot delete the /memories directory itself")
        found = yield from self._file(path)
        inside = [found] if found else (yield from self._inside(path))
        if not inside:
            raise _missing(command.path)
        yield from self._remove(inside)
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> _Calls:
        old = _path(command.old_path, name="old_path")
        new = _path(command.new_path, name="new_path")
        if len(old) == 1:
            raise ToolError("Cannot rename the /memories directory itself")
        found = yield from self._file(old)
        inside = [found] if found else (yield from self._inside(old))
        if not inside:
            raise _missing(command.old_path)
        if found is None and new[: len(old)] == old:
            raise ToolError(f"Cannot move {command.old_path} into itself")
        moved = [_File(new + of.path[len(old) :], of.text) for of in inside]
        for of in moved:
            _check_lengths(of.path, command.new_path)
        yield from self._check_free(new, command.new_path, "The destination")
        # First stored, then deleted: nothing is lost in between.
        created = yield from self._put(moved)
        yield from self._remove(inside)
        replaced = _replaced(len(moved) - created)
        return f"Successfully renamed {command.old_path} to {command.new_path}{replaced}"

    def clear(self) -> _Calls:
        yield from self._remove((yield from self._inside((_ROOT,))))
        return "All memory cleared"

    # --- documents ---------------------------------------------------------------------------

    def _file(self, path: tuple[str, ...]) -> Generator[tuple[str, Any], Any, _File | None]:
        """The file at a path; None without one."""
        if len(path) == 1:
            return None
        response = yield (
            "GetDocuments",
            v1.GetDocumentsRequest(user=self._user, documents=[_ref(path)]),
        )
        return _of(response.documents[0]) if response.documents else None

    def _existing(
        self, path: tuple[str, ...], shown: str
    ) -> Generator[tuple[str, Any], Any, _File]:
        found = yield from self._file(path)
        if found is None:
            raise _missing(shown)
        return found

    def _inside(self, path: tuple[str, ...]) -> _Search:
        """All files of a directory, by path."""
        request = v1.SearchDocumentsRequest(
            user=self._user, namespace_prefix=_namespace(path), page_size=_MOST_DOCUMENTS
        )
        files: list[_File] = []
        while True:
            page = yield "SearchDocuments", request
            found = (_of(match.document) for match in page.documents)
            files += [file for file in found if file is not None]
            if not page.next_page_token:
                return sorted(files)
            request.page_token = page.next_page_token

    def _check_free(
        self, path: tuple[str, ...], shown: str, what: str = "File"
    ) -> Generator[tuple[str, Any], Any, None]:
        """Refuses a path at which there is a file or directory, or that leads through a file."""
        if len(path) == 1:
            raise ToolError(f"{what} {shown} already exists")
        above = [path[:length] for length in range(2, len(path))]
        refs = [_ref(of) for of in [path, *above]]
        response = yield "GetDocuments", v1.GetDocumentsRequest(user=self._user, documents=refs)
        for document in response.documents:
            at = _path_of(document)
            if at == path:
                raise ToolError(f"{what} {shown} already exists")
            raise ToolError(f"/{'/'.join(at)} is a file, not a directory")
        request = v1.SearchDocumentsRequest(
            user=self._user, namespace_prefix=_namespace(path), page_size=1
        )
        if (yield "SearchDocuments", request).documents:
            raise ToolError(f"{what} {shown} already exists and is a directory")

    def _put(self, files: list[_File]) -> Generator[tuple[str, Any], Any, int]:
        """Stores files, and returns how many did not exist."""
        created: int = 0
        request = v1.PutDocumentsRequest(user=self._user)
        for of in files:
            document = v1.DocumentInput(
                namespace=_namespace(of.path[:-1]),
                key=of.path[-1],
                json=json.dumps({"text": of.text}, ensure_ascii=False),
                index_fields=["text"],
            )
            full = len(request.documents) == _MOST_DOCUMENTS
            if full or request.ByteSize() + document.ByteSize() > _LARGEST_REQUEST:
                created += (yield "PutDocuments", request).created_count
                request = v1.PutDocumentsRequest(user=self._user)
            request.documents.append(document)
        created += (yield "PutDocuments", request).created_count
        return created

    def _remove(self, files: list[_File]) -> Generator[tuple[str, Any], Any, None]:
        for start in range(0, len(files), _MOST_DOCUMENTS):
            refs = [_ref(of.path) for of in files[start : start + _MOST_DOCUMENTS]]
            yield "DeleteDocuments", v1.DeleteDocumentsRequest(user=self._user, documents=refs)


def _ref(path: tuple[str, ...]) -> v1.DocumentRef:
    return v1.DocumentRef(namespace=_namespace(path[:-1]), key=path[-1])


def _namespace(directory: tuple[str, ...]) -> tuple[str, ...]:
    return (_NAMESPACE, *directory[1:])


def _path_of(document: v1.Document) -> tuple[str, ...]:
    return (_ROOT, *document.namespace[1:], document.key)


def _of(document: v1.Document) -> _File | None:
    """The file that a document is; None if it has no text."""
    stored = json.loads(document.json)
    text = stored.get("text") if isinstance(stored, dict) else None
    return _File(_path_of(document), text) if isinstance(text, str) else None


# --- paths ------------------------------------------------------------------------------------


def _path(shown: str, is_file: bool = False, name: str = "path") -> tuple[str, ...]:
    """The names of a path, `memories` first. A path that leads elsewhere is refused."""
    _check_text(name, shown)
    plain = shown
    # Also what another program would decode to the names of other directories.
    for _ in range(3):
        names = plain.replace("\\", "/").split("/")
        if "." in names or ".." in names or not all(c.isprintable() for c in plain):
            raise ToolError(f"Path {shown} would escape /memories directory")
        plain = urllib.parse.unquote(plain)
    if shown != "/memories" and not shown.startswith("/memories/"):
        raise ToolError(f"Path must start with /memories, got: {shown}")
    path = tuple((shown if is_file else shown.removesuffix("/")).split("/")[1:])
    if "" in path:
        raise ToolError(f"The path {shown} has an empty name")
    _check_lengths(path, shown)
    return path


def _check_text(name: str, value: object) -> None:
    """Refuses a command without a field that it needs: the SDK does not check what the model wrote."""
    if not isinstance(value, str):
        raise ToolError(f"`{name}` is required and is a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"`{name}` has half of a surrogate pair") from error


def _check_range(value: object) -> None:
    """Refuses a range of lines that is not two numbers."""
    two = isinstance(value, list) and len(value) == 2 and all(type(at) is int for at in value)
    if value is not None and not two:
        raise ToolError(
            f"Invalid `view_range` parameter: {value}. It takes the numbers of the first and the "
            "last line, and -1 for the end: [first, last]"
        )


def _check_lengths(path: tuple[str, ...], shown: str) -> None:
    lengths = [len(name.encode()) for name in (*_namespace(path[:-1]), path[-1])]
    if len(path) > _MOST_LABELS + 1:
        raise ToolError(f"The path {shown} has more than {_MOST_LABELS} names below /memories")
    if max(lengths[:-1], default=0) > _LONGEST_LABEL or lengths[-1] > _LONGEST_KEY:
        raise ToolError(
            f"The path {shown} has a directory of more than {_LONGEST_LABEL} bytes, or a file "
            f"name of more than {_LONGEST_KEY}"
        )
    if sum(lengths[:-1]) > _LONGEST_NAMESPACE:
        most = _LONGEST_NAMESPACE - len(_NAMESPACE)
        raise ToolError(f"The directories of {shown} have more than {most} bytes")


def _missing(shown: str) -> ToolError:
    return ToolError(f"The path {shown} does not exist. Please provide a valid path.")


# --- what the model reads ---------------------------------------------------------------------


def _replaced(count: int) -> str:
    """What follows the answer of a command that stored new files, of which some existed. A call that
    was repeated may count its own."""
    if not count:
        return ""
    return (
        f"\nAt the same time, another program stored {count} of these files; this command may have "
        "replaced what it stored."
    )


def _restored(created: int) -> str:
    """What follows the answer of a command that changed a file, if it made the file anew."""
    if not created:
        return ""
    return "\nMeanwhile, another program had deleted the file; this command stored it again."


def _places(text: str, old: str) -> list[int]:
    """Where a text is, also where its occurrences overlap."""
    places = []
    place = text.find(old)
    while place != -1:
        places.append(place)
        place = text.find(old, place + 1)
    return places


def _numbered(shown: str, text: str, view_range: list[int] | None) -> str:
    count = text.count("\n") + 1
    if count > _MOST_LINES:
        raise ToolError(f"File {shown} exceeds maximum line limit of 999,999 lines.")
    lines = range(count)
    if view_range:
        end = count if view_range[1] == -1 else view_range[1]
        lines = range(max(view_range[0], 1) - 1, end)
    return f"Here's the content of {shown} with line numbers:\n{_lines(text, lines)}"


def _lines(text: str, shown: range) -> str:
    """Lines with their numbers, which are six characters wide."""
    lines = text.split("\n")
    return "\n".join(f"{at + 1:6}\t{lines[at]}" for at in shown if at < len(lines))


def _listing(shown: str, depth: int, files: list[_File]) -> str:
    """The files and directories in a directory, of two levels, with their sizes."""
    sizes: dict[tuple[str, ...], int] = {}
    directories: set[tuple[str, ...]] = set()
    total = 0
    for of in files:
        inner = of.path[depth:]
        size = len(of.text.encode())
        total += size
        if any(name.startswith(".") or name == "node_modules" for name in inner):
            continue
        for length in range(1, min(len(inner), 2) + 1):
            sizes[inner[:length]] = sizes.get(inner[:length], 0) + size
            if length < len(inner):
                directories.add(inner[:length])
    header = (
        f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden "
        "items and node_modules:"
    )
    lines = [f"{_size(total)}\t{shown}"]
    for names in sorted(sizes):
        end = "/" if names in directories else ""
        lines.append(f"{_size(sizes[names])}\t{shown}/{'/'.join(names)}{end}")
    return "\n".join([header, *lines])


def _size(size: int) -> str:
    """A number of bytes as people read it, such as 5.5K."""
    amount, unit = float(size), "B"
    for larger in "KMG":
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f}{unit}" if amount == int(amount) else f"{amount:.1f}{unit}"
