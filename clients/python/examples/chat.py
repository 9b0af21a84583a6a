"""A chat in the terminal that remembers, also after it was closed.

    pip install recollect-client
    python chat.py --user ada

Without a language model it shows what a model would be sent and answers with what it recalls.
With one, it calls an API that is compatible with OpenAI's chat completions:

    OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=… python chat.py --model llama3.2

RECOLLECT_ADDR and RECOLLECT_API_KEY name the server (default: 127.0.0.1:50051).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

from recollect import Context, Recollect, RecollectError, Session

SYSTEM = "You are a friendly assistant. Use what you remember of the user."
COMMANDS = """  /remember TEXT   store a fact about you
  /memories        list what is stored about you
  /recall QUERY    find earlier messages, in all of your chats
  /history         show the newest turns
  /quit            leave; the chat continues next time"""


def main() -> int:
    parser = argparse.ArgumentParser(description="A chat in the terminal that remembers.")
    parser.add_argument("--app", default="chat-example", help="the app that the chat belongs to")
    parser.add_argument("--user", default=os.environ.get("USER", "me"), help="who you are")
    parser.add_argument("--chat", default="terminal", help="the name of the chat")
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "gpt-4o-mini"))
    arguments = parser.parse_args()

    with Recollect() as client:
        memory = client.session(app=arguments.app, user=arguments.user, session=arguments.chat)
        try:
            known = len(memory.history())
            print(
                f"Hello {arguments.user}. This chat has {known} recent messages; /help lists commands."
            )
            return chat(memory, arguments.model)
        except RecollectError as error:
            print(f"Recollect: {error}", file=sys.stderr)
            return 1


def chat(memory: Session, model: str) -> int:
    while True:
        try:
            line = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return 0
        if line == "/quit":
            return 0
        if line.startswith("/"):
            command(memory, line)
        elif line:
            turn(memory, line, model)


def turn(memory: Session, question: str, model: str) -> None:
    """One chat turn: build the context, ask, store both messages."""
    context = memory.context(question, system=SYSTEM)
    try:
        answer = (
            ask(context, model)
            if "OPENAI_BASE_URL" in os.environ
            else recite(memory, question, context)
        )
    except OSError as error:
        print(f"The model did not answer ({error}); nothing was stored.", file=sys.stderr)
        return
    memory.append(user=question, assistant=answer)
    print(answer)


def ask(context: Context, model: str) -> str:
    """Calls an API of OpenAI's form."""
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions",
        data=json.dumps({"model": model, **context.request}).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}",
        },
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        body: Any = json.load(response)
    return str(body["choices"][0]["message"]["content"])


def recite(memory: Session, question: str, context: Context) -> str:
    """Shows what a model would be sent, and answers with the best matches."""
    print(f"  A model would be sent {context.total_tokens} of at most {context.max_tokens} tokens:")
    for message in context.messages:
        print(f"    {message['role']}: {message['content']}")
    for cut in context.cuts:
        print(f"    (left out: {cut.items} of {cut.kind}, {cut.tokens} tokens)")
    said = [match.text for match in memory.search(question, top_k=2, filter={"roles": ["user"]})]
    return "You said: " + " / ".join(said) if said else "I do not know anything about that yet."


def command(memory: Session, line: str) -> None:
    name, _, text = line.partition(" ")
    if name == "/remember" and text:
        print(f"Remembered: {memory.user.remember(text).text}")
    elif name == "/memories":
        for known in memory.user.memories():
            print(f"  {known.created_at:%Y-%m-%d}  {known.text}")
    elif name == "/recall" and text:
        for found in memory.recall(text):
            print(
                f"  {found.score:.2f}  {found.message.role}: {found.text}  ({', '.join(found.why)})"
            )
    elif name == "/history":
        for message in memory.history():
            print(f"  {message.role}: {message.text}")
    else:
        print(COMMANDS)


if __name__ == "__main__":
    sys.exit(main())
