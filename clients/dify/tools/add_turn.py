from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import NO_PARENT, MemoryTool, answer_id, files, request_id, spoken, text


class AddTurn(MemoryTool, Tool):
    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        given = tool_parameters
        message = text(given, "message_id") or self.session.message_id or request_id()
        question: dict[str, Any] = {
            "role": "ROLE_USER",
            "external_id": message,
            "parts": _parts(spoken(given, "query"), files(given, "files")),
        }
        parent = text(given, "parent_message_id")
        if parent == NO_PARENT:
            question["root"] = {}
        elif parent:
            question["parent_message_id"] = answer_id(parent)
        answer = {
            "role": "ROLE_ASSISTANT",
            "external_id": answer_id(message),
            "parts": _parts(spoken(given, "answer"), files(given, "answer_files")),
        }
        stored = self.call(
            "MessageService/AppendMessages",
            {
                "thread": self.conversation(given),
                "messages": [question, answer],
                "request_id": request_id(),
            },
        )
        result = {"message_id": message, "thread_id": stored["threadId"]}
        yield self.create_json_message(result)
        yield self.create_variable_message("message_id", message)


def _parts(text: str, files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": text}] if text or not files else []
    return parts + [{"file": file} for file in files]
