"""Lists, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any


async def pages(call: Any, request: Any, timeout: float | None) -> AsyncIterator[Any]:
    """Calls with the request until there is no next page."""
    while True:
        page = await call(request, timeout=timeout)
        yield page
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token
