"""The commands of the memory tool, as a model may write them, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from recollect import v1
from recollect._memory_tool import Call, Refused, call_of

USER = v1.UserRef(app_id="support", user_id="ada")


def call(command: str, path: str = "/memories/a.md", **more: Any) -> Call:
    return call_of({"command": command, "path": path, **more}, USER)


def refused(command: str, path: str = "/memories/a.md", **more: Any) -> str:
    with pytest.raises(Refused) as error:
        call(command, path, **more)
    return error.value.said


@pytest.mark.parametrize(
    "name",
    ["../a", "./a", "..\\a", "%2e%2e/x", "%2E./x", "%252e%252e/x", "a%2f..%2fb"],
)
def test_a_path_that_would_lead_elsewhere_is_refused(name: str) -> None:
    path = f"/memories/{name}"
    assert refused("view", path) == f"Error: Path {path} would escape /memories directory"


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "a\x85b", "a%00b"])
def test_control_characters_have_an_error_of_their_own(name: str) -> None:
    said = refused("view", f"/memories/{name}")
    assert said.startswith("Error: `path` must not have control characters")


@pytest.mark.parametrize(
    "name", ["a\u00a0b.md", "\u3000.md", "👩\u200d🔬.md", "100%.md", "%zz", "%ff", "..a"]
)
def test_names_may_have_any_other_character(name: str) -> None:
    assert call("view", f"/memories/{name}").request.path == f"/{name}"


def viewed(text: str, first: int, count: int, view_range: list[int] | None = None) -> str:
    lines = v1.MemoryFileLines(first_line=first, text=text)
    file = v1.MemoryFileContent(file=v1.MemoryFile(line_count=count), lines=lines)
    return call("view", view_range=view_range).said(v1.GetMemoryFileResponse(file=file))


def test_lines_beyond_the_end_of_a_file_are_an_error() -> None:
    for count, shown in ((3, "3 lines"), (1, "1 line"), (0, "0 lines")):
        with pytest.raises(Refused) as error:
            viewed("", 10, count, [10, 20])
        invalid = "Error: Invalid `view_range` parameter: [10, 20]"
        assert error.value.said == f"{invalid}: the file has {shown}"
    assert viewed("c\n", 3, 3, [3, -1]).endswith(":\n     3\tc")
    assert viewed("", 1, 0).endswith(":\n     1\t")


def test_a_listing_says_when_there_is_more() -> None:
    entries = [v1.MemoryDirectoryEntry(path="/a.md", size_bytes=1536)]

    def listed(truncated: bool) -> str:
        directory = v1.MemoryDirectory(
            path="/", size_bytes=1536, entries=entries, truncated=truncated
        )
        response = v1.GetMemoryFileResponse(directory=directory)
        return call("view", "/memories").said(response)

    assert listed(False).endswith("\n1.5K\t/memories/a.md")
    more = "There are more files; view one of the directories."
    assert listed(True).endswith(f"\n1.5K\t/memories/a.md\n{more}")


def test_an_empty_text_is_inserted_as_an_empty_line() -> None:
    assert call("insert", insert_line=0, insert_text="").request.text == "\n"
    assert call("insert", insert_line=2, insert_text="x").request.text == "x"


def test_what_a_command_needs_is_required_with_its_type() -> None:
    assert "`path` is required" in refused("view", path=7)  # type: ignore[arg-type]
    assert "`file_text` is required" in refused("create")
    assert "`old_str` is required" in refused("str_replace", new_str="x")
    assert "`insert_text` is required" in refused("insert", insert_line=0)
    lines: list[Any] = [None, 1.5, "x", "1", -1, 2**31, True]
    for line in lines:
        said = refused("insert", insert_line=line, insert_text="x")
        assert f"Invalid `insert_line` parameter: {line}" in said
    ranges: list[Any] = [[1], ["one", "two"], "1-2", [3, 2], [1, 1.5], [2, -2], [2**31, -1], {}]
    for view_range in ranges:
        assert "Invalid `view_range` parameter" in refused("view", view_range=view_range)
