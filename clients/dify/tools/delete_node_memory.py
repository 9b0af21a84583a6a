from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import CallError, MemoryTool


class DeleteNodeMemory(MemoryTool, Tool):
    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        deleted = 0
        try:
            request = {"node": self.node(tool_parameters)}
            answer = self.call("NodeMemoryService/DeleteNodeMemory", request)
            deleted = int(answer.get("deletedMessageCount", 0))
        except CallError as error:
            if error.code != "not_found":
                raise
        yield self.create_json_message({"deleted_messages": deleted})
        yield self.create_variable_message("deleted_messages", deleted)
