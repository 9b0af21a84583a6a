"""The examples, as a person runs them."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

import pytest

from recollect import Recollect

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def run(name: str, *arguments: str, lines: list[str] | None = None, **env: str) -> str:
    """Runs an example with lines of input; what it printed."""
    finished = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        input="\n".join(lines or []) + "\n",
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **env},
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_chat_recalls_without_a_model(client: Recollect, app: str) -> None:
    chat = ["--app", app, "--user", "ada"]
    env = {name: value for name, value in os.environ.items() if name == "OPENAI_BASE_URL"}
    assert not env, "the test is for a terminal without a model"
    first = run(
        "chat.py", *chat, lines=["My dog is called Pixel.", "/remember Ada likes tea.", "/quit"]
    )
    assert "This chat has 0 recent messages" in first
    assert "I do not know anything about that yet." in first
    assert "Remembered: Ada likes tea." in first
    # Another chat of the same user, which then ends with the input.
    lines = ["What is my dog called?", "/memories", "/recall dog", "/history", "/help"]
    second = run("chat.py", *chat, "--chat", "other", lines=lines)
    assert "A model would be sent" in second
    assert "user: What is my dog called?" in second
    assert "You said: My dog is called Pixel." in second
    assert "  Ada likes tea." in second
    assert "user: My dog is called Pixel.  (match" in second
    assert "assistant: You said: My dog is called Pixel." in second
    assert "/remember TEXT" in second


class Model(http.server.BaseHTTPRequestHandler):
    """Answers as an API of OpenAI's form, and keeps what it was sent."""

    asked: list[tuple[str, str, dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, self.headers["Authorization"], body))
        answer = {"choices": [{"message": {"role": "assistant", "content": "It is Pixel."}}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: Any) -> None:
        pass


def test_the_chat_asks_a_model(client: Recollect, app: str) -> None:
    memory = client.session(app=app, user="ada", session="terminal")
    memory.append(user="My dog is called Pixel.", assistant="A fine name!")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            printed = run(
                *["chat.py", "--app", app, "--user", "ada", "--model", "small"],
                lines=["What is my dog called?"],
                OPENAI_BASE_URL=f"http://127.0.0.1:{server.server_port}/v1",
                OPENAI_API_KEY="secret",
            )
        finally:
            server.shutdown()
    assert "It is Pixel." in printed
    [(path, key, body)] = Model.asked
    assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer secret", "small")
    assert [of["content"] for of in body["messages"]][1:] == [
        "My dog is called Pixel.",
        "A fine name!",
        "What is my dog called?",
    ]
    assert [of.text for of in memory.history()][2:] == ["What is my dog called?", "It is Pixel."]


def test_a_missing_server_is_said_in_one_line() -> None:
    with pytest.raises(AssertionError) as raised:
        run("chat.py", lines=["Hello"], RECOLLECT_ADDR="127.0.0.1:1")
    said = str(raised.value)
    assert "Recollect: No Recollect server answers at 127.0.0.1:1" in said
    assert "Traceback" not in said


def test_the_turn(client: Recollect) -> None:
    memory = client.session(app="support", user="ada", session="42")
    try:
        printed = run("turn.py")
    finally:
        memory.delete()
    assert "{'role': 'user', 'content': 'What is my dog called?'}]" in printed
    assert "My dog is called Pixel. " in printed


def test_the_asynchronous_turn(client: Recollect) -> None:
    printed = run("async_turn.py")
    assert '"What is my dog called?"' in printed or "'What is my dog called?'" in printed
    assert "My dog is called Pixel." in printed
    client.session(app="async-example", user="ada", session="42").delete()
