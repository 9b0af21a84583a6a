"""One chat turn with asyncio. RECOLLECT_ADDR and RECOLLECT_API_KEY name the server."""

import asyncio

from recollect import AsyncRecollect


async def main() -> None:
    async with AsyncRecollect() as client:
        memory = client.session(app="async-example", user="ada", session="42")
        await memory.append(user="My dog is called Pixel.", assistant="A fine name!")
        context, recalled = await asyncio.gather(
            memory.context("What is my dog called?", format="anthropic"),
            memory.recall("dog"),
        )
        print(context.request)  # anthropic.messages.create(model=…, **context.request)
        for found in recalled:
            print(found.text, found.score, found.why)


asyncio.run(main())
