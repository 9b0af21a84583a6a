"""A stand-in for the APIs of OpenAI and Anthropic."""

from __future__ import annotations

import http.server
import json
import re
import threading
from typing import Any

ANSWER = "It is Pixel."


class Models:
    """Answers calls of chat completions, responses and messages, as a whole or as a stream, and
    keeps what it was sent. One server is for all tests; `reset` makes it as it was."""

    def __init__(self) -> None:
        self.reset()
        models = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                models.bodies.append(body)
                api = self.path.partition("?")[0].rpartition("/")[2]
                answer = getattr(models, f"_{api}")(body.get("stream"))
                self.send_response(200)
                kind = "text/event-stream" if body.get("stream") else "application/json"
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def reset(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.tool: dict[str, Any] | None = None
        """The arguments that the next answer calls the tool `clock` with."""
        self.breaks = False
        """Whether streams end in the middle, with an error."""
        self.status = "completed"
        """The status of responses."""
        self.ends = True
        """Whether streams of chat completions have the event that ends the answer."""
        self.content = ANSWER
        """The text of chat completions."""

    def __enter__(self) -> Models:
        # It looks as often whether it is to stop, and stopping waits for that.
        serve = {"poll_interval": 0.02}
        threading.Thread(target=self._server.serve_forever, kwargs=serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _events(self, events: list[dict[str, Any]], last: str = "") -> str:
        events = events[: len(events) // 2] if self.breaks else events
        shown = [
            (f"event: {of['type']}\n" if "type" in of else "") + f"data: {json.dumps(of)}\n\n"
            for of in events
        ]
        if self.breaks:
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
            return "".join(shown) + f"event: error\ndata: {json.dumps(error)}\n\n"
        return "".join(shown) + last

    def _completions(self, stream: bool) -> str:
        base: dict[str, Any] = {"id": "c1", "created": 1, "model": "small"}
        tool, self.tool = self.tool, None
        message: dict[str, Any] = {"role": "assistant", "content": None if tool else self.content}
        if tool:
            function = {"name": "clock", "arguments": json.dumps(tool)}
            message["tool_calls"] = [{"id": "t1", "type": "function", "function": function}]
        if not stream:
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return json.dumps({**base, "object": "chat.completion", "choices": [choice]})
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if tool:
            [call] = message["tool_calls"]
            cut = {**call, "function": {"name": "clock", "arguments": '{"zone"'}}
            rest = {"function": {"arguments": call["function"]["arguments"][7:]}}
            deltas += [
                {"tool_calls": [{"index": 0, **cut}]},
                {"tool_calls": [{"index": 0, **rest}]},
            ]
        else:
            deltas += [{"content": piece} for piece in re.findall(r"\S+ ?", self.content)]
        chunks = [
            {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
            for delta in deltas
        ]
        ended = {"index": 0, "delta": {}, "finish_reason": "stop"}
        if self.ends:
            chunks.append({**base, "object": "chat.completion.chunk", "choices": [ended]})
        usage = {**base, "object": "chat.completion.chunk", "choices": []}
        return self._events([*chunks, usage], "data: [DONE]\n\n")

    def _responses(self, stream: bool) -> str:
        text = {"type": "output_text", "text": ANSWER, "annotations": []}
        item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
        response = {
            **{"id": "r1", "object": "response", "created_at": 1, "model": "small"},
            **{
                "status": self.status,
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
            },
            "output": [{**item, "content": [text]}],
        }
        if not stream:
            return json.dumps(response)
        place = {"item_id": "m1", "output_index": 0, "content_index": 0, "logprobs": []}
        part = {"type": "output_text", "text": "", "annotations": []}
        events: list[dict[str, Any]] = [
            {
                "type": "response.created",
                "response": {**response, "status": "in_progress", "output": []},
            },
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {**item, "content": []},
            },
            {"type": "response.content_part.added", **place, "part": part},
        ]
        events += [
            {"type": "response.output_text.delta", **place, "delta": piece}
            for piece in ("It ", "is ", "Pixel.")
        ]
        if self.status != "queued":
            events += [{"type": f"response.{self.status}", "response": response}]
        return self._events([{**of, "sequence_number": at} for at, of in enumerate(events)])

    def _messages(self, stream: bool) -> str:
        tool, self.tool = self.tool, None
        usage = {"input_tokens": 1, "output_tokens": 1}
        base = {
            "id": "a1",
            "type": "message",
            "role": "assistant",
            "model": "small",
            "usage": usage,
        }
        block: dict[str, Any] = {"type": "text", "text": ANSWER}
        if tool:
            block = {"type": "tool_use", "id": "t1", "name": "clock", "input": tool}
        ended = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
        if not stream:
            return json.dumps({**base, **ended, "content": [block]})
        if tool:
            text = json.dumps(tool)
            empty = {**block, "input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": of} for of in (text[:5], text[5:])
            ]
        else:
            empty = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": of} for of in ("It ", "is ", "Pixel.")]
        started = {**base, "content": [], "stop_reason": None, "stop_sequence": None}
        return self._events(
            [
                {"type": "message_start", "message": started},
                {"type": "content_block_start", "index": 0, "content_block": empty},
                *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": ended, "usage": usage},
                {"type": "message_stop"},
            ]
        )
