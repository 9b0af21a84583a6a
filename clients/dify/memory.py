"""Calls of a Recollect server as JSON over HTTP, and what its tools have in common."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Mapping
from typing import Any

import httpx
from dify_plugin.core.runtime import Session
from dify_plugin.entities.tool import ToolInvokeMessage, ToolRuntime
from dify_plugin.file.file import File

NO_PARENT = "00000000-0000-0000-0000-000000000000"
"""Dify's parent_message_id of a message without a parent."""
_ATTEMPTS = 4
_REPEATED = {"unavailable", "resource_exhausted"}
_ROLES = {
    "ROLE_USER": "user",
    "ROLE_ASSISTANT": "assistant",
    "ROLE_SYSTEM": "system",
    "ROLE_TOOL": "tool",
}
_LABELS = {"user": "Human", "assistant": "Assistant", "system": "System", "tool": "Tool"}
_FILE_TYPES = {"image", "audio", "video", "document"}


class CallError(Exception):
    """A call that failed, with the server's code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"Recollect: {message} ({code})")
        self.code = code


class Server:
    """A server by a provider's credentials."""

    def __init__(self, credentials: Mapping[str, Any]) -> None:
        address = str(credentials.get("address") or "").strip().rstrip("/")
        if "://" not in address:
            address = f"http://{address}"
        self._address = address
        key = str(credentials.get("api_key") or "").strip()
        self._headers = {"authorization": f"Bearer {key}"} if key else {}

    def call(self, method: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Calls a method such as `MessageService/GetHistory`. The methods that the tools use
        may be repeated: they read, have a request_id, or leave the same result each time."""
        url = f"{self._address}/recollect.v1.{method}"
        for attempt in range(1, _ATTEMPTS + 1):
            error = CallError("unavailable", f"no answer from {self._address}")
            try:
                response = httpx.post(url, json=request, headers=self._headers, timeout=30)
            except httpx.HTTPError as failed:
                error = CallError("unavailable", f"{self._address} does not answer: {failed}")
            else:
                if response.is_success:
                    answer: dict[str, Any] = response.json()
                    return answer
                error = _error(response)
            if error.code not in _REPEATED or attempt == _ATTEMPTS:
                raise error
            time.sleep(0.2 * 2**attempt)
        raise AssertionError("unreachable")


def _error(response: httpx.Response) -> CallError:
    try:
        body = response.json()
        return CallError(str(body["code"]), str(body.get("message", "")))
    except (ValueError, KeyError, TypeError):
        return CallError(f"HTTP {response.status_code}", f"{response.url} is no Recollect server")


class MemoryTool:
    """What tools about a conversation have in common. It is no Tool itself, because Dify expects
    one tool in a module."""

    runtime: ToolRuntime
    session: Session
    create_text_message: Callable[[str], ToolInvokeMessage]
    create_json_message: Callable[[Mapping[str, Any]], ToolInvokeMessage]
    create_variable_message: Callable[[str, Any], ToolInvokeMessage]

    def call(self, method: str, request: Mapping[str, Any]) -> dict[str, Any]:
        return Server(self.runtime.credentials).call(method, request)

    def names(self, given: Mapping[str, Any]) -> tuple[str, str]:
        """The app and the user."""
        app = text(given, "app") or self.session.app_id
        if not app:
            raise ValueError("There is no app: set the parameter app.")
        user = text(given, "user") or self.runtime.user_id or ""
        return app, user

    def conversation(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The conversation as a ThreadRef."""
        conversation = text(given, "conversation_id") or self.session.conversation_id
        if not conversation:
            raise ValueError(
                "There is no conversation: memory needs a Chatflow, or conversation_id must be set."
            )
        app, user = self.names(given)
        # With the prefix no conversation has a meaning of its own, as `global` would have.
        key = f"thread:{conversation}"
        return {"session": {"app_id": app, "user_id": user, "session_key": key}}

    def node(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A node of the conversation as a NodeRef."""
        node = text(given, "node_id")
        if not node:
            raise ValueError("node_id is missing.")
        return {"thread": self.conversation(given), "node_id": node}

    def result(
        self, found: Mapping[str, Any], messages: list[dict[str, Any]]
    ) -> Generator[ToolInvokeMessage, None, None]:
        """Messages as text, as JSON and as variables. In the text, only the beginning of a
        message begins a line, so that no message can imitate another speaker."""
        lines = "\n".join(_line(message) for message in messages)
        described = {
            "messages": messages,
            "total_tokens": found.get("totalTokens", 0),
            "truncated": found.get("truncated", False),
        }
        yield self.create_text_message(lines)
        yield self.create_json_message(described)
        yield self.create_variable_message("history", lines)
        yield self.create_variable_message("messages", messages)


def _line(message: Mapping[str, Any]) -> str:
    spoken = f"{message['name'] or _LABELS[message['role']]}: {message['content']}"
    return "\n  ".join(spoken.splitlines())


def text(given: Mapping[str, Any], name: str) -> str:
    return str(given.get(name) or "").strip()


def spoken(given: Mapping[str, Any], name: str) -> str:
    """A text that is stored as it is."""
    return str(given.get(name) or "")


def number(given: Mapping[str, Any], name: str, default: int) -> int:
    value = given.get(name)
    return default if value in (None, "") else int(value)


def answer_id(message_id: str) -> str:
    """The external_id of the answer in a Dify message, which has question and answer."""
    return f"{message_id}:answer"


def request_id() -> str:
    return str(uuid.uuid4())


def files(given: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Dify's files as references."""
    value = given.get(name) or []
    return [_file(file) for file in (value if isinstance(value, list) else [value])]


def _file(file: File | Mapping[str, Any]) -> dict[str, Any]:
    values = file.model_dump(mode="json") if isinstance(file, File) else dict(file)
    kind = values.get("type")
    kind = kind if kind in _FILE_TYPES else "custom"
    reference = {
        "type": f"FILE_TYPE_{kind.upper()}",
        "name": values.get("filename") or "",
        "mime_type": values.get("mime_type") or "",
        "size_bytes": max(int(values.get("size") or 0), 0),
    }
    for location in ("upload_file_id", "tool_file_id", "url"):
        if values.get(location):
            return {**reference, location: values[location]}
    raise ValueError(f"a file needs a url, an upload_file_id or a tool_file_id: {values}")


def shown(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of a conversation, or of a node, for a workflow."""
    parts = message.get("parts", [])
    content = message.get("content") or "\n".join(
        part["text"] for part in parts if part.get("text")
    )
    references = message.get("files") or [part["file"] for part in parts if "file" in part]
    return {
        "id": message.get("externalId") or message["messageId"],
        "role": _ROLES[message["role"]],
        "name": message.get("name", ""),
        "content": content,
        "files": [_shown_file(file) for file in references],
        "created_at": message.get("createTime"),
    }


def _shown_file(file: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "url": "url",
        "uploadFileId": "upload_file_id",
        "toolFileId": "tool_file_id",
        "name": "filename",
        "mimeType": "mime_type",
    }
    shown = {to: file[name] for name, to in names.items() if file.get(name)}
    return {"type": file["type"].removeprefix("FILE_TYPE_").lower(), **shown}
