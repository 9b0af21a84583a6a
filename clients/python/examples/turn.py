"""Stores a turn, builds a context, and recalls. RECOLLECT_ADDR and RECOLLECT_API_KEY name the
server (default: 127.0.0.1:50051)."""

from recollect import Recollect

memory = Recollect().session(app="support", user="ada", session="42")
memory.append(user="My dog is called Pixel.", assistant="A fine name!")

context = memory.context("What is my dog called?", system="You help.")
print(context.messages)  # chat.completions.create(model=…, messages=context.messages)

for found in memory.recall("dog"):
    print(found.text, found.score, found.why)
