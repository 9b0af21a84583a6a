from typing import Any

from dify_plugin import ToolProvider
from dify_plugin.errors.tool import ToolProviderCredentialValidationError
from memory import CallError, Server


class RecollectProvider(ToolProvider):
    def _validate_credentials(self, credentials: dict[str, Any]) -> None:
        try:
            Server(credentials).call("ThreadService/ListApps", {"page_size": 1})
        except CallError as error:
            raise ToolProviderCredentialValidationError(str(error)) from error
