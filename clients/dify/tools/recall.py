from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import MemoryTool, number, shown, text


class Recall(MemoryTool, Tool):
    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        given = tool_parameters
        app, user = self.names(given)
        request: dict[str, Any] = {
            "target": {"user": {"app_id": app, "user_id": user}},
            "query": text(given, "query"),
            "top_k": number(given, "top_k", 5),
        }
        if given.get("scope") == "conversation":
            request["target"] = {"thread": self.conversation(given)}
            request["scope"] = "RECALL_SCOPE_THREAD"
        found = self.call("RecallService/Search", request)
        messages = [
            {**shown(match["message"]), "score": match.get("score", 0.0)}
            for match in found.get("matches", [])
        ]
        yield from self.result(found, messages)
