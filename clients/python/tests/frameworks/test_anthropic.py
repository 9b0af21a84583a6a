"""The memory tool, with Anthropic's own SDK and a real server. Its models' API is scripted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from readme import run_example

from recollect import AsyncRecollect, Recollect, v1
from recollect.anthropic import AsyncRecollectMemoryTool, RecollectMemoryTool

HEADER = (
    "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and "
    "node_modules:\n"
)


def commands(tool: RecollectMemoryTool) -> Callable[..., str]:
    def run(command: str, path: str | None = None, **more: Any) -> str:
        return str(tool.call({"command": command, "path": path, **more}))

    return run


def refused(run: Callable[..., str], *given: Any, **more: Any) -> str:
    with pytest.raises(ToolError) as error:
        run(*given, **more)
    return str(error.value)


def test_every_command_does_what_it_says(client: Recollect, app: str) -> None:
    run = commands(RecollectMemoryTool(app=app, user="ada", client=client))
    assert run("view", "/memories") == HEADER.format("/memories") + "0B\t/memories"
    created = run("create", "/memories/pets.md", file_text="# Pets\nPixel, a dog\nRex, a dog\n")
    assert created == "File created successfully at: /memories/pets.md"
    assert "already exists" in refused(run, "create", "/memories/pets.md", file_text="")
    viewed = run("view", "/memories/pets.md")
    assert viewed == (
        "Here's the content of /memories/pets.md with line numbers:\n"
        "     1\t# Pets\n     2\tPixel, a dog\n     3\tRex, a dog"
    )
    assert run("view", "/memories/pets.md", view_range=[2, 2]).endswith(":\n     2\tPixel, a dog")
    assert "     3\tRex" in run("view", "/memories/pets.md", view_range=[2, -1])
    # A text that occurs twice is not replaced, nor one that does not occur.
    twice = refused(run, "str_replace", "/memories/pets.md", old_str="dog", new_str="cat")
    assert "in lines: 2, 3" in twice
    absent = refused(run, "str_replace", "/memories/pets.md", old_str="fish", new_str="cat")
    assert "did not appear verbatim in /memories/pets.md" in absent
    edited = run("str_replace", "/memories/pets.md", old_str="Rex, a dog", new_str="Tom, a cat")
    assert "     3\tTom, a cat" in edited
    run("insert", "/memories/pets.md", insert_line=1, insert_text="They live with Ada.\n")
    assert "     2\tThey live with Ada.\n     3\tPixel" in run("view", "/memories/pets.md")
    beyond = refused(run, "insert", "/memories/pets.md", insert_line=5, insert_text="x")
    assert "within the range of lines of the file: [0, 4]" in beyond
    wrong = refused(run, "insert", "/memories/pets.md", insert_line=-1, insert_text="x")
    assert "Invalid `insert_line` parameter: -1" in wrong
    # Directories are those that files are in.
    run("create", "/memories/work/2026/plan.md", file_text="x" * 1536)
    run("create", "/memories/work/2026/q1/a.md", file_text="deep")
    run("create", "/memories/work/.hidden/a.md", file_text="")
    run("create", "/memories/work/100%.md", file_text="")
    assert run("view", "/memories/work/") == HEADER.format("/memories/work") + "\n".join(
        [
            "1.5K\t/memories/work",
            "0B\t/memories/work/100%.md",
            "1.5K\t/memories/work/2026/",
            "1.5K\t/memories/work/2026/plan.md",
            "4B\t/memories/work/2026/q1/",
        ]
    )
    assert run("view", "/memories").endswith("\n1.5K\t/memories/work/2026/")
    assert "plan.md" not in run("view", "/memories")
    below = refused(run, "create", "/memories/pets.md/a", file_text="")
    assert "the path leads through a file" in below
    assert "names a directory" in refused(run, "create", "/memories/work", file_text="")
    for edit in ({"old_str": "x", "new_str": "y"}, {"insert_line": 0, "insert_text": "x"}):
        name = "str_replace" if "old_str" in edit else "insert"
        assert "does not exist" in refused(run, name, "/memories/work", **edit)
    # A directory is renamed and deleted with its files.
    names = {"old_path": "/memories/work", "new_path": "/memories/archive/work"}
    assert run("rename", **names).startswith("Successfully renamed")
    assert run("view", "/memories/archive/work/2026/q1/a.md").endswith("     1\tdeep")
    assert "does not exist" in refused(run, "rename", **names)
    names = {"old_path": "/memories/archive", "new_path": "/memories/archive/inner"}
    assert "must not be in the directory that is renamed" in refused(run, "rename", **names)
    names = {"old_path": "/memories/archive", "new_path": "/memories/pets.md"}
    assert "already exists" in refused(run, "rename", **names)
    assert run("delete", "/memories/archive") == "Successfully deleted /memories/archive"
    for command in ("view", "delete"):
        assert "does not exist" in refused(run, command, "/memories/archive")
    assert "itself" in refused(run, "delete", "/memories")
    tool = RecollectMemoryTool(app=app, user="ada", client=client)
    assert tool.clear_all_memory() == "All memory cleared"
    assert run("view", "/memories").endswith("0B\t/memories")


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "memories/a", "/memoriesx", "/memories/../a", "/memories/..", ""),
        *("/memories/a/../../b", "/memories/%2e%2e/a", "/memories/%252e%252e/a", "/memories/..\\a"),
        *("/memories//a", "/memories/./a", "/memories/a\0b", "/memories/a\nb"),
        *("/memories" + "/d" * 16, "/memories/" + "d" * 300 + "/a", "/memories/" + "f" * 600),
    ],
)
def test_a_path_that_leads_elsewhere_or_is_too_long_is_refused(
    client: Recollect, app: str, path: str
) -> None:
    run = commands(RecollectMemoryTool(app=app, user="ada", client=client))
    for command in ("view", "delete", "create", "str_replace", "insert"):
        more = {"file_text": "", "old_str": "x", "new_str": "", "insert_line": 0, "insert_text": ""}
        refused(run, command, path=path, **more)
    refused(run, "rename", old_path=path, new_path="/memories/a")


def test_files_keep_what_they_are_given_up_to_a_limit(client: Recollect, app: str) -> None:
    run = commands(RecollectMemoryTool(app=app, user="ada", client=client))
    text = 'é🐶\t"</memory>"\r\n' * 1000
    run("create", "/memories/é.md", file_text=text)
    files = client.user(app=app, user="ada").files
    assert files.read("/é.md") == text
    assert [found.file.path for found in files.search("memory")] == ["/é.md"]
    assert "The memory does not take this" in refused(
        run, "create", "/memories/large.md", file_text="x" * 300_000
    )
    assert "does not take" in refused(run, "create", "/memories/nul.md", file_text="a\0b")
    assert "`file_text` is required" in refused(run, "create", "/memories/none.md")
    half = refused(run, "create", "/memories/half.md", file_text="\ud83d")
    assert "`file_text` has half of a surrogate pair" in half
    lines: Any = [["one", "two"], [1], "1-2"]
    for view_range in lines:
        said = refused(run, "view", "/memories/é.md", view_range=view_range)
        assert "Invalid `view_range` parameter" in said
    assert "`new_str` is" in refused(run, "str_replace", "/memories/é.md", old_str="é", new_str=7)
    old = {"old_path": "/memories/é.md"}
    assert "`new_path` is required" in refused(run, "rename", **old, new_path=None)
    same = refused(run, "rename", **old, new_path="/memories/é.md")
    assert "The destination /memories/é.md already exists" in same
    assert "large" not in run("view", "/memories")


def test_users_do_not_see_each_other(client: Recollect, app: str) -> None:
    ada = commands(RecollectMemoryTool(app=app, user="ada", client=client))
    bob = commands(RecollectMemoryTool(app=app, user="bob", client=client))
    ada("create", "/memories/secret.md", file_text="Pixel")
    assert bob("view", "/memories").endswith("0B\t/memories")
    assert "does not exist" in refused(bob, "view", "/memories/secret.md")
    # Files are no documents of other programs, which do not see them.
    user_ref = v1.UserRef(app_id=app, user_id="ada")
    put = v1.DocumentInput(namespace=["memories"], key="k1", json='{"text": "x"}')
    client.stubs.document.PutDocuments(v1.PutDocumentsRequest(user=user_ref, documents=[put]))
    found = client.stubs.document.SearchDocuments(v1.SearchDocumentsRequest(user=user_ref))
    assert [of.document.key for of in found.documents] == ["k1"]
    assert ada("view", "/memories").endswith("5B\t/memories/secret.md")
    assert "does not exist" in refused(ada, "view", "/memories/k1")
    assert RecollectMemoryTool(app=app, user="ada", client=client).clear_all_memory()
    found = client.stubs.document.SearchDocuments(v1.SearchDocumentsRequest(user=user_ref))
    assert [of.document.key for of in found.documents] == ["k1"]
    for user in ("", " "):
        with pytest.raises(ValueError, match="user is empty"):
            RecollectMemoryTool(app=app, user=user, client=client)


class Scripted:
    """Answers of the API, and what it was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(json.loads(request.content))
        use = {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "memory",
            "input": {"command": "create", "path": "/memories/pet.md", "file_text": "Pixel"},
        }
        first = len(self.sent) == 1
        body = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [use if first else {"type": "text", "text": "Noted."}],
            "stop_reason": "tool_use" if first else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return httpx2.Response(200, json=body)


ASKED: dict[str, Any] = {
    "model": "scripted",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "My dog is called Pixel."}],
}


def test_the_runner_of_the_sdk_calls_the_tool(client: Recollect, app: str) -> None:
    api = Scripted()
    tool = RecollectMemoryTool(app=app, user="ada", client=client)
    with httpx2.Client(transport=httpx2.MockTransport(api.answer)) as http:
        anthropic = Anthropic(api_key="none", http_client=http)
        final = anthropic.beta.messages.tool_runner(tools=[tool], **ASKED).until_done()
    assert final.content[0].type == "text"
    assert api.sent[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    [result] = api.sent[1]["messages"][-1]["content"]
    assert "File created successfully at: /memories/pet.md" in str(result["content"])
    assert "Pixel" in commands(tool)("view", "/memories/pet.md")


def test_the_example_of_the_readme_works(
    addr: str, client: Recollect, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_ADDR", addr)
    with httpx2.Client(transport=httpx2.MockTransport(Scripted().answer)) as http:
        anthropic = Anthropic(api_key="none", http_client=http)
        names = {"anthropic": anthropic, "model": "scripted", "messages": ASKED["messages"]}
        asyncio.run(run_example("recollect.anthropic", app, names))
    tool = RecollectMemoryTool(app=app, user="ada", client=client)
    assert "pet.md" in commands(tool)("view", "/memories")


def test_the_asynchronous_runner_calls_the_tool(addr: str, app: str) -> None:
    async def main() -> None:
        api = Scripted()
        transport = httpx2.MockTransport(api.answer)
        async with AsyncRecollect(addr) as client, httpx2.AsyncClient(transport=transport) as http:
            tool = AsyncRecollectMemoryTool(app=app, user="ada", client=client)
            anthropic = AsyncAnthropic(api_key="none", http_client=http)
            await anthropic.beta.messages.tool_runner(tools=[tool], **ASKED).until_done()
            for given in (
                {"command": "insert", "insert_line": 0, "insert_text": "A dog:"},
                {"command": "str_replace", "old_str": "Pixel", "new_str": "Rex"},
                {"command": "view"},
            ):
                said = await tool.call({"path": "/memories/pet.md", **given})
            assert str(said).endswith("     1\tA dog:\n     2\tRex")
            names = {"old_path": "/memories/pet.md", "new_path": "/memories/rex.md"}
            await tool.call({"command": "rename", **names})
            await tool.call({"command": "delete", "path": "/memories/rex.md"})
            with pytest.raises(ToolError, match="does not exist"):
                await tool.call({"command": "view", "path": "/memories/rex.md"})
            assert await tool.clear_all_memory() == "All memory cleared"

    asyncio.run(main())
