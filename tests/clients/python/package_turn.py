"""One chat turn with the package in clients/python."""

from typing import Any


def ask_model(messages: list[Any]) -> str:
    """Stands in for a call of a model's API: prints what the model would be sent."""
    print(messages)
    return "Your dog is called Pixel."


# region chat turn
from recollect import Recollect

memory = Recollect().session(app="support", user="ada", session="python-package")
context = memory.context("What is my dog called?", format="openai")
answer = ask_model(context.messages)
memory.append(user="What is my dog called?", assistant=answer)
# endregion
