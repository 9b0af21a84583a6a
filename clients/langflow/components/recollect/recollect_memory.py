"""Chat memory in Recollect, for Langflow's Message History and Agent components."""

from __future__ import annotations

from typing import Any

from lfx.base.memory.model import LCChatMemoryComponent
from lfx.field_typing.constants import Memory
from lfx.inputs.inputs import IntInput, MessageTextInput, SecretStrInput, StrInput
from recollect import NO_USER
from recollect.langchain import RecollectChatMessageHistory, shared_client


class SessionHistory(RecollectChatMessageHistory):
    """A history whose session can be changed, as the Message History component does."""

    def __init__(self, default: str, **settings: Any) -> None:
        self._default = default
        self._settings = settings
        self.context_id: str | None = None
        self._session_id = default
        super().__init__(default, **settings)

    @property
    def session_id(self) -> str:
        """The session. Setting none selects the default one."""
        return self._session_id

    @session_id.setter
    def session_id(self, value: str | None) -> None:
        self._session_id = str(value or self._default)
        super().__init__(self._session_id, **self._settings)


class RecollectChatMemory(LCChatMemoryComponent):
    display_name = "Recollect Chat Memory"
    description = "Stores and retrieves chat messages in a Recollect server."
    documentation = (
        "https://github.com/recollect-memory/recollect/blob/main/clients/langflow/README.md"
    )
    name = "RecollectChatMemory"
    icon = "brain"

    inputs = [
        StrInput(
            name="address",
            display_name="Address",
            value="127.0.0.1:50051",
            required=True,
            info="The Recollect server: host:port, http://host:port or, with TLS, https://host:port.",
        ),
        SecretStrInput(
            name="api_key",
            display_name="API Key",
            value="",
            info="Default: RECOLLECT_API_KEY, or else none, for a server without keys.",
        ),
        MessageTextInput(
            name="session_id",
            display_name="Session ID",
            info="The conversation. Default: that of the chat, or else the flow's ID.",
            advanced=True,
        ),
        MessageTextInput(
            name="user",
            display_name="User",
            info="The person in the conversation. Users do not see each other's messages. "
            "Default: the sessions belong to no user.",
            advanced=True,
        ),
        StrInput(
            name="app",
            display_name="App",
            info="Flows with the same app share sessions. Default: the flow's ID, so that each "
            "flow has its own.",
            advanced=True,
        ),
        IntInput(
            name="max_messages",
            display_name="Number of Messages",
            info="The newest whole turns with at most this many messages: 1 to 500. 0: all.",
            value=0,
            advanced=True,
        ),
        IntInput(
            name="max_tokens",
            display_name="Number of Tokens",
            info="The newest whole turns of at most this many tokens. 0: no limit.",
            value=0,
            advanced=True,
        ),
    ]

    def build_message_history(self) -> Memory:
        flow = _of_graph(self, "flow_id")
        app = self.app or flow
        if not app:
            raise ValueError("There is no flow: set App.")
        session = self.session_id or _of_graph(self, "session_id") or flow or app
        return SessionHistory(
            session,
            app=app,
            user=self.user or NO_USER,
            client=shared_client(self.address, self.api_key or None),
            max_messages=self.max_messages or None,
            max_tokens=self.max_tokens or None,
        )


def _of_graph(component: Any, name: str) -> str:
    """A value of the flow that runs; empty outside of one."""
    try:
        return str(getattr(component.graph, name, None) or "")
    except AttributeError:
        return ""
