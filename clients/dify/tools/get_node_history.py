from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import CallError, MemoryTool, number, shown, text


class GetNodeHistory(MemoryTool, Tool):
    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        given = tool_parameters
        request = {
            "node": self.node(given),
            "current_message_id": text(given, "message_id"),
            "max_tokens": number(given, "max_tokens", 2000),
            "max_messages": number(given, "max_messages", 100),
            "model": text(given, "model"),
        }
        try:
            found = self.call("NodeMemoryService/GetNodeHistory", request)
        except CallError as error:
            # A conversation without messages, or a node that has not run.
            if error.code != "not_found":
                raise
            found = {}
        yield from self.result(found, [shown(message) for message in found.get("messages", [])])
