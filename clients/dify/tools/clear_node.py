from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import CallError, MemoryTool


class ClearNode(MemoryTool, Tool):
    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        deleted = 0
        try:
            request = {"node": self.node(tool_parameters)}
            cleared = self.call("NodeMemoryService/ClearNodeMemory", request)
            deleted = int(cleared.get("deletedMessageCount", 0))
        except CallError as error:
            if error.code != "not_found":
                raise
        yield self.create_json_message({"deleted_messages": deleted})
        yield self.create_variable_message("deleted_messages", deleted)
