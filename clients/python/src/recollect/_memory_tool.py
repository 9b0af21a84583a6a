"""The commands of Anthropic's memory tool (`memory_20250818`) as calls of MemoryFileService, and
the answers that the model reads, as Anthropic describes them:
https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
"""

from __future__ import annotations

import unicodedata
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from recollect import v1
from recollect._requests import precondition
from recollect.errors import RecollectError

_ROOT = "/memories"
_HELPED = frozenset(
    (
        *("NOT_A_MEMORY_FILE", "MEMORY_FILES_FULL", "TEXT_REFUSED"),
        *("INVALID_FIELD", "QUOTA_EXCEEDED"),
    )
)
"""Other errors whose messages say what the model can do."""
_LAST_LINE = 2**31 - 1
"""The largest number of a line."""
_HINT = "Please provide a valid path."


class Refused(Exception):
    """A command that was refused."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said
        """What the model reads."""


@dataclass(frozen=True)
class Call:
    """The call of a command."""

    method: str
    """Of MemoryFileService."""
    request: Any
    said: Callable[[Any], str]
    """What the model reads of the response; `Refused` if that is an error."""
    command: Mapping[str, Any]

    def refused(self, error: RecollectError) -> Refused | None:
        """An error that the model can do something about. None: it cannot."""
        said = _refusal(self.command, error)
        return Refused(said) if said else None


def call_of(command: Mapping[str, Any], user: v1.UserRef) -> Call:
    """The call of a command; `Refused` for a wrong one."""
    name = command.get("command")
    make = _CALLS.get(name) if isinstance(name, str) else None
    if make is None:
        names = ", ".join(_CALLS)
        raise Refused(f"Error: Unknown command: {name}. It must be one of: {names}")
    method, request, said = make(command, user)
    return Call(method, request, said, command)


_Made = tuple[str, Any, Callable[[Any], str]]


def _view(command: Mapping[str, Any], user: v1.UserRef) -> _Made:
    path = _path(command, "path")
    first, last = _range(command.get("view_range"))
    shown = str(command["path"]).rstrip("/")

    def said(response: v1.GetMemoryFileResponse) -> str:
        if response.HasField("directory"):
            return _listing(shown, response.directory)
        lines = response.file.lines
        if not lines.text and lines.first_line > 1:
            count = response.file.file.line_count
            raise Refused(
                f"Error: Invalid `view_range` parameter: {command['view_range']}: the file has "
                f"{count} line{'' if count == 1 else 's'}"
            )
        return f"Here's the content of {shown} with line numbers:\n{_lines(lines)}"

    request = v1.GetMemoryFileRequest(user=user, path=path, first_line=first, last_line=last)
    return "GetMemoryFile", request, said


def _create(command: Mapping[str, Any], user: v1.UserRef) -> _Made:
    request = v1.PutMemoryFileRequest(
        user=user,
        path=_path(command, "path"),
        text=_text(command, "file_text"),
        precondition=precondition("", absent=True),
    )
    return "PutMemoryFile", request, lambda _: f"File created successfully at: {command['path']}"


def _str_replace(command: Mapping[str, Any], user: v1.UserRef) -> _Made:
    path, old = _path(command, "path"), _text(command, "old_str")
    new = "" if command.get("new_str") is None else _text(command, "new_str")
    if not old:
        raise Refused("No replacement was performed: old_str is empty.")
    request = v1.ReplaceInMemoryFileRequest(user=user, path=path, old_text=old, new_text=new)

    def said(response: v1.ReplaceInMemoryFileResponse) -> str:
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            f"numbers):\n{_lines(response.lines)}"
        )

    return "ReplaceInMemoryFile", request, said


def _insert(command: Mapping[str, Any], user: v1.UserRef) -> _Made:
    path, text = _path(command, "path"), _text(command, "insert_text")
    line = command.get("insert_line")
    if type(line) is not int or not 0 <= line <= _LAST_LINE:
        raise Refused(
            f"Error: Invalid `insert_line` parameter: {line}. It takes the number of a line of the "
            "file, or 0"
        )
    # An empty text is an empty line, as the SDK's own tool inserts it.
    request = v1.InsertIntoMemoryFileRequest(user=user, path=path, line=line, text=text or "\n")
    return "InsertIntoMemoryFile", request, lambda _: f"The file {command['path']} has been edited."


def _delete(command: Mapping[str, Any], user: v1.UserRef) -> _Made:
    path = _path(command, "path")
    if path == "/":
        raise Refused("Error: Cannot delete the /memories directory itself")
    request = v1.DeleteMemoryFileRequest(user=user, path=path)
    return "DeleteMemoryFile", request, lambda _: f"Successfully deleted {command['path']}"


def _rename(command: Mapping[str, Any], user: v1.UserRef) -> _Made:
    old, new = _path(command, "old_path"), _path(command, "new_path")
    if old == "/":
        raise Refused("Error: Cannot rename the /memories directory itself")
    if new == "/":
        raise Refused("Error: The destination /memories already exists")
    request = v1.RenameMemoryFileRequest(user=user, path=old, new_path=new)
    done = f"Successfully renamed {command['old_path']} to {command['new_path']}"
    return "RenameMemoryFile", request, lambda _: done


_CALLS: dict[str, Callable[[Mapping[str, Any], v1.UserRef], _Made]] = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "delete": _delete,
    "rename": _rename,
}


# --- what commands have --------------------------------------------------------------------------


def _text(command: Mapping[str, Any], name: str) -> str:
    """A text of a command: what a model wrote was not checked before."""
    value = command.get(name)
    if not isinstance(value, str):
        raise Refused(f"Error: `{name}` is required and is a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Refused(f"Error: `{name}` has half of a surrogate pair") from error
    return value


def _path(command: Mapping[str, Any], name: str) -> str:
    """The path of the API for one of a command. A path that leads elsewhere is refused."""
    shown = _text(command, name)
    plain = shown
    # Also what another program would decode to the names of other directories.
    for _ in range(3):
        if any(unicodedata.category(char) == "Cc" for char in plain):
            raise Refused(
                f"Error: `{name}` must not have control characters, percent-encoded ones included"
            )
        names = plain.replace("\\", "/").split("/")
        if "." in names or ".." in names:
            raise Refused(f"Error: Path {shown} would escape /memories directory")
        plain = urllib.parse.unquote(plain)
    if shown != _ROOT and not shown.startswith(f"{_ROOT}/"):
        raise Refused(f"Error: Path must start with /memories, got: {shown}")
    return shown.removeprefix(_ROOT).removesuffix("/") or "/"


def _range(value: Any) -> tuple[int | None, int | None]:
    """The first and the last line to show."""
    if value is None:
        return None, None
    two = isinstance(value, (list, tuple)) and len(value) == 2
    if two and all(type(at) is int for at in value):
        first, last = max(value[0], 1), None if value[1] == -1 else value[1]
        if first <= (_LAST_LINE if last is None else last) <= _LAST_LINE:
            return first, last
    raise Refused(
        f"Error: Invalid `view_range` parameter: {value}. It takes the numbers of the first "
        "and the last line, and -1 for the end: [first, last]"
    )


# --- what the model reads ------------------------------------------------------------------------


def _refusal(command: Mapping[str, Any], error: RecollectError) -> str:
    """What an error of the server says to the model; empty if it is none of a command."""
    name = command["command"]
    path = command["old_path" if name == "rename" else "path"]
    reason, metadata = error.reason, error.metadata
    # A directory is no file that could be edited.
    is_missing = reason == "NOT_A_MEMORY_FILE" and name in ("str_replace", "insert")
    if reason == "MEMORY_FILE_NOT_FOUND" or is_missing:
        if name == "view":
            return f"The path {path} does not exist. {_HINT}"
        hint = f". {_HINT}" if name == "str_replace" else ""
        return f"Error: The path {path} does not exist{hint}"
    if reason == "ETAG_CHANGED":
        return f"Error: File {path} already exists"
    if reason == "MEMORY_FILE_ALREADY_EXISTS":
        return f"Error: The destination {command['new_path']} already exists"
    if reason == "TEXT_NOT_FOUND":
        return (
            f"No replacement was performed, old_str `{command['old_str']}` did not appear verbatim "
            f"in {path}."
        )
    if reason == "TEXT_NOT_UNIQUE":
        lines = metadata.get("lines", "").replace(",", ", ")
        return (
            f"No replacement was performed. Multiple occurrences of old_str `{command['old_str']}` "
            f"in lines: {lines}. Please ensure it is unique"
        )
    if "line_count" in metadata:
        return (
            f"Error: Invalid `insert_line` parameter: {command['insert_line']}. It should be "
            f"within the range of lines of the file: [0, {metadata['line_count']}]"
        )
    if reason in _HELPED:
        return f"Error: The memory does not take this: {error.message}"
    return ""


def _lines(lines: v1.MemoryFileLines) -> str:
    """Lines with their numbers, which are six characters wide."""
    # What follows the last line break is no line.
    texts = enumerate(lines.text.removesuffix("\n").split("\n"), lines.first_line or 1)
    return "\n".join(f"{number:6}\t{text}" for number, text in texts)


def _listing(shown: str, directory: v1.MemoryDirectory) -> str:
    """The files and directories in a directory, of two levels, with their sizes."""
    outer = 0 if directory.path == "/" else len(directory.path)
    lines = [
        f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden "
        "items and node_modules:",
        f"{_size(directory.size_bytes)}\t{shown}",
    ]
    for entry in directory.entries:
        names = entry.path[outer:].split("/")
        if not any(name.startswith(".") or name == "node_modules" for name in names):
            end = "/" if entry.is_directory else ""
            lines.append(f"{_size(entry.size_bytes)}\t{_ROOT}{entry.path}{end}")
    if directory.truncated:
        lines.append("There are more files; view one of the directories.")
    return "\n".join(lines)


def _size(size: int) -> str:
    """A number of bytes as people read it, such as 5.5K."""
    amount, unit = float(size), "B"
    for larger in "KMG":
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f}{unit}" if amount == int(amount) else f"{amount:.1f}{unit}"
