from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import MemoryTool, files, request_id, spoken, text


class AddNodeTurn(MemoryTool, Tool):
    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        given = tool_parameters
        node = self.node(given)
        # A node may run before the first message of its conversation is stored.
        self.call("ThreadService/ResolveThread", {"session": node["thread"]["session"]})
        request: dict[str, Any] = {
            "node": node,
            "user": {"content": spoken(given, "query"), "files": files(given, "files")},
            "assistant": {
                "content": spoken(given, "answer"),
                "files": files(given, "answer_files"),
            },
            "request_id": request_id(),
        }
        message = text(given, "message_id") or self.session.message_id
        if message:
            request["message_id"] = message
        if text(given, "parent_message_id"):
            request["parent_message_id"] = text(given, "parent_message_id")
        added = self.call("NodeMemoryService/AddNodeTurn", request)
        if given.get("flush") in (None, "", True, "true"):
            self.call("NodeMemoryService/FlushNodeMemory", {"node": node})
        result = {
            "user_message_id": added["userMessageId"],
            "assistant_message_id": added["assistantMessageId"],
        }
        yield self.create_json_message(result)
        yield self.create_variable_message("assistant_message_id", result["assistant_message_id"])
