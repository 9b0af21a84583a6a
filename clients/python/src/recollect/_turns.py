"""One call of a model's API: what of its arguments is new, where the memory goes, and what the
answer is. The APIs are OpenAI's chat completions and responses, and Anthropic's messages."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any, Literal

_TEXTS = ("text", "input_text", "output_text")
_UNFINISHED = ("queued", "in_progress", "failed", "cancelled")
"""The states of a response that has no answer, or none yet."""
_THOUGHTS = ("reasoning_content", "reasoning")
"""What compatible APIs call the model's reasoning in chat completions."""


class Turn:
    """A call with a conversation as its argument."""

    format: Literal["openai", "openai-responses", "anthropic"]
    _argument = "messages"

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        given = arguments.get(self._argument)
        if isinstance(given, str):
            given = [{"role": "user", "content": given}]
        self._items: list[Any] = list(given) if isinstance(given, (list, tuple)) else []
        texts = [_text(item) if _get(item, "role") == "user" else "" for item in self._items]
        spoken = [at for at, text in enumerate(texts) if text]
        self._at = spoken[-1] if spoken else None
        self.query = texts[spoken[-1]] if spoken else ""
        """The newest text of the user; empty without one."""
        self.failed = False
        """Whether the model has given no answer, so that nothing is stored."""
        self.said = ""
        """What the model has said since the user and tools did, once `to_store` was called; only of
        APIs that let it go on with it."""

    def new(self) -> list[Any]:
        """What the user and tools have said since the model spoke last. What is before that was
        stored with earlier calls."""
        return _since_model(self._items)

    def to_store(self, answer: Any | None, known: str) -> list[Any]:
        """The messages of the turn, with the answer. `known` is `said` of the turn that was stored
        before it."""
        return [*self.new(), *([] if answer is None else [answer])]

    def sent(self) -> list[str]:
        """The texts of the conversation, which the memory need not repeat: of messages, and of the
        results of tools."""
        return [text for item in self._items for text in (_text(item), *_results(item)) if text]

    def is_later_step(self) -> bool:
        """Whether the model has spoken since the newest text of the user, as in a loop of tools."""
        since = self._items[self._at + 1 :] if self._at is not None else []
        return any(_is_of_model(item) for item in since)

    def with_memory(self, block: str) -> dict[str, Any]:
        """The arguments with a block of memory before the newest text of the user."""
        if not block or self._at is None:
            return dict(self._arguments)
        items = list(self._items)
        items.insert(self._at, {"role": "user", "content": block})
        return {**self._arguments, self._argument: items}

    def answer(self, response: Any) -> Any | None:
        """What of a response is stored. None: nothing."""
        raise NotImplementedError

    def add(self, event: Any) -> bool:
        """Notes an event of a streamed answer. Returns whether the answer ends with it."""
        raise NotImplementedError

    def streamed(self, complete: bool) -> Any | None:
        """The answer that was streamed; of one that was not streamed to its end, the text."""
        raise NotImplementedError


class ChatTurn(Turn):
    """A call of chat completions."""

    format = "openai"

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)
        self._id = ""
        self._content = ""
        self._refusal = ""
        self._thoughts = ""
        self._calls: dict[int, dict[str, Any]] = {}

    def answer(self, response: Any) -> Any | None:
        message = response.choices[0].message if response.choices else None
        said = ("content", "refusal", "tool_calls", "function_call", "audio", *_THOUGHTS)
        if not any(_get(message, name) for name in said):
            return None
        return _completion(_get(response, "id"), message)

    def add(self, event: Any) -> bool:
        ends = False
        self._id = self._id or _get(event, "id") or ""
        for choice in event.choices or ():
            if choice.index:
                continue
            ends = ends or choice.finish_reason is not None
            if choice.delta is None:
                continue
            self._content += choice.delta.content or ""
            self._refusal += getattr(choice.delta, "refusal", None) or ""
            thoughts = (getattr(choice.delta, name, None) for name in _THOUGHTS)
            self._thoughts += next((of for of in thoughts if isinstance(of, str)), "")
            for piece in choice.delta.tool_calls or ():
                call = self._calls.setdefault(
                    piece.index,
                    {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
                )
                call["id"] = piece.id or call["id"]
                if piece.function:
                    call["function"]["name"] += piece.function.name or ""
                    call["function"]["arguments"] += piece.function.arguments or ""
        return ends

    def streamed(self, complete: bool) -> Any | None:
        message: dict[str, Any] = {"role": "assistant", "content": self._content or None}
        if self._refusal:
            message["refusal"] = self._refusal
        if complete and self._thoughts:
            message["reasoning_content"] = self._thoughts
        if complete and self._calls:
            message["tool_calls"] = [self._calls[at] for at in sorted(self._calls)]
        return _completion(self._id, message) if self._content or len(message) > 2 else None


class ResponsesTurn(Turn):
    """A call of responses."""

    format = "openai-responses"
    _argument = "input"

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)
        self._text = ""
        self._response: Any = None

    def answer(self, response: Any) -> Any | None:
        self.failed = _get(response, "status") in _UNFINISHED
        return response if response.output else None

    def add(self, event: Any) -> bool:
        if event.type == "response.output_text.delta":
            self._text += event.delta
        elif event.type in ("response.failed", "error"):
            self.failed = True
        elif event.type in ("response.completed", "response.incomplete"):
            self._response = event.response
        return self._response is not None

    def streamed(self, complete: bool) -> Any | None:
        if self._response is not None:
            return self.answer(self._response)
        return {"role": "assistant", "content": self._text} if self._text else None


class AnthropicTurn(Turn):
    """A call of Anthropic's messages."""

    format = "anthropic"

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)
        self._id = ""
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        # A last message of the model's with a text alone is the beginning of its answer.
        last = self._items[-1] if self._items else None
        self._begun = last if _is_of_model(last) and _has_text_alone(last) else None

    def new(self) -> list[Any]:
        return _since_model(self._items if self._begun is None else self._items[:-1])

    def to_store(self, answer: Any | None, known: str) -> list[Any]:
        begun = _text(self._begun)
        self.said = begun + _text(answer)
        if self._begun is None:
            return super().to_store(answer, known)
        if begun.rstrip() == known.rstrip():
            # The model goes on with an answer that was stored, with what is before it.
            return [] if answer is None else [answer]
        blocks = [_plain(block) for block in _get(answer, "content") or []]
        if blocks and blocks[0].get("type") == "text":
            blocks[0] = {**blocks[0], "text": begun + blocks[0]["text"]}
        else:
            blocks.insert(0, {"type": "text", "text": begun})
        return [*self.new(), _message(_get(answer, "id"), blocks)]

    def is_later_step(self) -> bool:
        return self._begun is None and super().is_later_step()

    def with_memory(self, block: str) -> dict[str, Any]:
        if not block or self._at is None:
            return dict(self._arguments)
        # A text of the same message, because roles take turns.
        message = self._items[self._at]
        content = _get(message, "content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        first = next(at for at, part in enumerate(parts) if _get(part, "type") == "text")
        parts.insert(first, {"type": "text", "text": block})
        items = list(self._items)
        items[self._at] = {**message, "content": parts}
        return {**self._arguments, self._argument: items}

    def answer(self, response: Any) -> Any | None:
        return response if response.content else None

    def add(self, event: Any) -> bool:
        if event.type == "message_start":
            self._id = event.message.id
        elif event.type == "content_block_start":
            self._blocks[event.index] = event.content_block.model_dump(exclude_none=True)
        elif event.type == "content_block_delta":
            block, delta = self._blocks.setdefault(event.index, {}), event.delta
            if delta.type == "input_json_delta":
                self._inputs[event.index] = self._inputs.get(event.index, "") + delta.partial_json
            elif delta.type in ("text_delta", "thinking_delta", "signature_delta"):
                field = delta.type.removesuffix("_delta")
                block[field] = block.get(field, "") + getattr(delta, field)
        elif event.type == "content_block_stop" and self._inputs.get(event.index):
            # A model may break off inside of the JSON.
            with contextlib.suppress(ValueError):
                self._blocks[event.index]["input"] = json.loads(self._inputs[event.index])
        return bool(event.type == "message_stop")

    def streamed(self, complete: bool) -> Any | None:
        return self.message(self._id, list(self._blocks.values()), complete)

    def message(self, id: str, blocks: list[Any], complete: bool) -> Any | None:
        """A message of the model with these blocks of content."""
        if not complete:
            blocks = [block for block in blocks if _get(block, "type") == "text"]
        blocks = [block for block in blocks if _get(block, "type") != "text" or _get(block, "text")]
        return _message(id, blocks) if blocks else None


def _get(item: Any, name: str) -> Any:
    """A field of a dict, or of an object of a provider's package."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _text(item: Any) -> str:
    """The texts of a message."""
    content = _get(item, "content")
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        return ""
    texts = [_get(part, "text") for part in content if _get(part, "type") in _TEXTS]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _has_text_alone(item: Any) -> bool:
    content = _get(item, "content")
    parts = content if isinstance(content, (list, tuple)) else []
    return bool(_text(item)) and all(_get(part, "type") == "text" for part in parts)


def _completion(id: Any, message: Any) -> dict[str, Any]:
    """An answer of chat completions. The server keeps its id."""
    return {"id": id, "choices": [{"index": 0, "message": message}]}


def _message(id: Any, blocks: list[Any]) -> dict[str, Any]:
    """An answer of Anthropic's messages. The server keeps its id."""
    return {"id": id, "type": "message", "role": "assistant", "content": blocks}


def _plain(block: Any) -> dict[str, Any]:
    """A block of content as a dict."""
    return dict(block) if isinstance(block, Mapping) else dict(block.model_dump(exclude_none=True))


def _results(item: Any) -> list[str]:
    """The texts of a message's results of tools: Anthropic's are parts, of responses items."""
    content = _get(item, "content")
    parts = content if isinstance(content, (list, tuple)) else []
    results = [{"content": _get(item, "output")}]
    results += [part for part in parts if _get(part, "type") == "tool_result"]
    return [_text(result) for result in results]


def _since_model(items: list[Any]) -> list[Any]:
    """What the user and tools have said since the model spoke last."""
    spoken = [at for at, item in enumerate(items) if _is_of_model(item)]
    since = items[spoken[-1] + 1 :] if spoken else items
    return [item for item in since if _is_of_caller(item)]


def _is_of_model(item: Any) -> bool:
    """Whether the model has said it. Items of responses may have a type and no role. One that names
    a stored item may stand for one of the user."""
    role, kind = _get(item, "role"), _get(item, "type")
    if role is not None or not isinstance(kind, str):
        return bool(role == "assistant")
    return not _is_result(kind) and kind != "item_reference"


def _is_of_caller(item: Any) -> bool:
    """Whether the user has said it, or a tool."""
    role, kind = _get(item, "role"), _get(item, "type")
    if role is not None:
        return role in ("user", "tool", "function")
    return isinstance(kind, str) and _is_result(kind)


def _is_result(kind: str) -> bool:
    """Whether an item of responses is what a caller returns of a tool."""
    return kind.endswith(("_output", "_response"))
