from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import MemoryTool, answer_id, number, shown, text


class GetHistory(MemoryTool, Tool):
    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        given = tool_parameters
        request: dict[str, Any] = {
            "thread": self.conversation(given),
            "max_tokens": number(given, "max_tokens", 2000),
            "max_messages": number(given, "max_messages", 100),
            "model": text(given, "model"),
        }
        message = text(given, "message_id")
        if message:
            request["head_message_id"] = answer_id(message)
        found = self.call("MessageService/GetHistory", request)
        yield from self.result(found, [shown(message) for message in found.get("messages", [])])
