"""Callers of wrapped clients, for the tests of `recollect.wrap`."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import anthropic
import openai
from models import Models

import recollect

QUESTION = "What is my dog called?"
FACT = "My dog is called Pixel."
APIS = ["chat", "responses", "anthropic"]
MODES = ["sync", "async"]


@functools.cache
def client_of(kind: str, url: str) -> Any:
    """A client of a package. Making one reads certificates, which takes longer than a call."""
    package = anthropic if "Anthropic" in kind else openai
    return getattr(package, kind)(base_url=url, api_key="secret-key", max_retries=0)


class Caller:
    """Calls one API with a wrapped client of its package, of either kind."""

    def __init__(self, api: str, mode: str, models: Models) -> None:
        self.api, self.mode, self.models = api, mode, models
        self.kind = {"chat": "OpenAI", "responses": "OpenAI", "anthropic": "Anthropic"}[api]
        self.argument = "input" if api == "responses" else "messages"

    def wrapped(self, **settings: Any) -> Any:
        path = "" if self.api == "anthropic" else "/v1"
        kind = ("Async" if self.mode == "async" else "") + self.kind
        return recollect.wrap(client_of(kind, self.models.url + path), **settings)

    def arguments(self, messages: Any, **more: Any) -> dict[str, Any]:
        limit = {"max_tokens": 99} if self.api == "anthropic" else {}
        return {"model": "small", self.argument: messages, **limit, **more}

    def create(self, client: Any, messages: Any, **more: Any) -> Any:
        """The answer, or the events of a stream."""
        create = self.methods(client).create
        return self.run(lambda: create(**self.arguments(messages, **more)))

    def methods(self, client: Any) -> Any:
        """The methods of the API: `create`, `stream`."""
        return {
            "chat": lambda: client.chat.completions,
            "responses": lambda: client.responses,
            "anthropic": lambda: client.messages,
        }[self.api]()

    def run(self, call: Callable[[], Any]) -> Any:
        if self.mode == "sync":
            answer = call()
            return list(answer) if hasattr(answer, "__next__") else answer

        async def calls() -> Any:
            answer = await call()
            return [event async for event in answer] if hasattr(answer, "__anext__") else answer

        return asyncio.run(calls())

    def sent(self) -> list[Any]:
        """What the model was sent last: the texts of each message."""
        return [texts(message) for message in self.models.bodies[-1][self.argument]]


def texts(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def stored(session: recollect.Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in session.messages()]
